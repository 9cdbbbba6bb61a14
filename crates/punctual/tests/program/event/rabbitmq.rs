//! `game.reminder_due` from a server through a real RabbitMQ to a consumer, asked for by HTTP and by SQL.

use jiff::{SignedDuration, Timestamp};
use lapin::message::BasicGetMessage;
use lapin::options::{BasicGetOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Connection, ConnectionProperties, ExchangeKind};
use punctual_engine::SystemClock;
use punctual_testkit::servers::{Postgres, RabbitMq};
use serde_json::{Value, json};

use super::put;
use crate::common::{Home, Server, soon};
use crate::sql::Sql;

const EXCHANGE: &str = "games";
const QUEUE: &str = "bot";
const ROUTING_KEY: &str = "game.reminder_due";

/// The application: it has an exchange and a queue, and reads the queue.
struct Application {
    channel: lapin::Channel,
    _connection: Connection,
}

/// A message as the application reads it.
struct Read {
    id: String,
    routing_key: String,
    body: Value,
    headers: FieldTable,
}

impl Application {
    async fn start(rabbitmq: &RabbitMq) -> Self {
        let connection = soon(Connection::connect(&rabbitmq.url(), ConnectionProperties::default())).await.unwrap();
        let channel = soon(connection.create_channel()).await.unwrap();
        let (durable, none) =
            (QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() }, FieldTable::default());
        channel.queue_declare(QUEUE.into(), durable, none.clone()).await.unwrap();
        let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        channel.exchange_declare(EXCHANGE.into(), ExchangeKind::Topic, options, none.clone()).await.unwrap();
        let options = QueueBindOptions::default();
        channel.queue_bind(QUEUE.into(), EXCHANGE.into(), "game.*".into(), options, none).await.unwrap();
        Self { channel, _connection: connection }
    }

    async fn get(&self) -> Option<BasicGetMessage> {
        soon(self.channel.basic_get(QUEUE.into(), BasicGetOptions { no_ack: true })).await.unwrap()
    }

    /// The next message of the queue.
    async fn next(&self) -> Read {
        let got = soon(async {
            loop {
                if let Some(got) = self.get().await {
                    return got;
                }
            }
        })
        .await;
        let properties = &got.delivery.properties;
        Read {
            id: properties.message_id().as_ref().unwrap().to_string(),
            routing_key: got.delivery.routing_key.to_string(),
            body: serde_json::from_slice(&got.delivery.data).unwrap(),
            headers: properties.headers().clone().unwrap_or_default(),
        }
    }
}

impl Read {
    #[track_caller]
    fn check(&self, key: &str, starts_at: Timestamp, minutes: i64, game_id: i64) {
        let metadata = json!({ "game_id": game_id, "title": "Chess" });
        let event =
            json!({ "key": key, "starts_at": starts_at.to_string(), "offset_minutes": minutes, "metadata": metadata });
        assert_eq!(
            (&self.body["type"], &self.body["data"]["event"]),
            (&json!("reminder.due"), &event),
            "{}",
            self.body
        );
        assert_eq!(self.body["data"]["message"], format!("Chess in {minutes} min"));
        assert_eq!(self.body["data"]["user"], format!("event:{key}"));
        assert_eq!(self.routing_key, ROUTING_KEY);
        let header = |name: &str| self.headers.inner().get(name).cloned();
        let text = |text: &str| Some(AMQPValue::LongString(text.into()));
        let number = |number: i64| Some(AMQPValue::LongLongInt(number));
        assert_eq!((header("event_key"), header("event_starts_at")), (text(key), text(&starts_at.to_string())));
        assert_eq!((header("event_offset_minutes"), header("reminder_minutes")), (number(minutes), number(minutes)));
        assert_eq!((header("game_id"), header("title")), (number(game_id), text("Chess")));
    }
}

/// A server that publishes to `rabbitmq`.
fn serve(home: &Home, rabbitmq: &RabbitMq, database: Option<&str>) -> Server {
    let config = home.path().join("config.toml");
    let url = rabbitmq.url();
    let text = format!("[channels.games]\nkind = 'rabbitmq'\nurl = '{url}'\nexchange = '{EXCHANGE}'\n");
    std::fs::write(&config, text).unwrap();
    let mut env = vec![("PUNCTUAL_CONFIG", config.to_str().unwrap())];
    env.extend(database.map(|url| ("PUNCTUAL_DATABASE_URL", url)));
    home.serve_with(&env)
}

/// Reminders at 60 and 15 minutes, which are due a second and two after `now`.
fn starts(now: Timestamp) -> [(Timestamp, i64); 2] {
    let due = |seconds: i64, minutes: i64| (now + SignedDuration::from_secs(seconds + minutes * 60), minutes);
    [due(1, 60), due(2, 15)]
}

fn event(starts_at: Timestamp, minutes: i64, game_id: i64) -> Value {
    json!({
        "starts_at": starts_at.to_string(), "offsets": [minutes], "to": [format!("games:{ROUTING_KEY}")],
        "message": "{title} in {minutes} min", "metadata": { "game_id": game_id, "title": "Chess" },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_put_by_http_or_by_sql_is_published_with_its_key_its_minutes_and_its_metadata() {
    let Some(rabbitmq) = RabbitMq::start() else { return };
    let application = Application::start(&rabbitmq).await;

    // SQLite, by HTTP. The server is killed while the first is published: it comes once all the same.
    let home = Home::new();
    let server = serve(&home, &rabbitmq, None);
    let now = Timestamp::from_second(SystemClock::read().as_second()).unwrap();
    for (game_id, (starts_at, minutes)) in (1..).zip(starts(now)) {
        let (status, answer) = put(&server, &format!("game:{game_id}"), event(starts_at, minutes, game_id)).await;
        assert_eq!(status, 201, "{answer}");
    }
    let first = application.next().await;
    drop(server);
    let server = serve(&home, &rabbitmq, None);
    let [(one, _), (two, _)] = starts(now);
    first.check("game:1", one, 60, 1);
    let mut second = application.next().await;
    if second.id == first.id {
        // It was published, and the server was killed before it had written that down; the key is the same.
        second = application.next().await;
    }
    second.check("game:2", two, 15, 2);
    // What was sent for a start is not sent again for it.
    assert_eq!(put(&server, "game:1", event(one, 60, 1)).await.0, 200);
    drop(server);

    // PostgreSQL, by SQL: also moved before it is due.
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let home = Home::new();
    let _server = serve(&home, &rabbitmq, Some(&postgres.url(&database)));
    let sql = Sql::new(&postgres, &database);
    let starts_at = Timestamp::from_second(SystemClock::read().as_second()).unwrap() + SignedDuration::from_secs(3602);
    let put_event = |starts_at: Timestamp| {
        let arguments = format!(
            "'game:7', '{starts_at}', '{{60}}', message => '{{title}} in {{minutes}} min', \
             \"to\" => '[\"games:{ROUTING_KEY}\"]', metadata => '{{\"game_id\": 7, \"title\": \"Chess\"}}'"
        );
        sql.call("put_event", &arguments).unwrap()
    };
    assert_eq!(put_event(starts_at + SignedDuration::from_hours(1)), "true");
    assert_eq!(put_event(starts_at), "false");
    application.next().await.check("game:7", starts_at, 60, 7);
    assert!(application.get().await.is_none(), "each once");
}
