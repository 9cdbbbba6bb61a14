//! An event that is moved twice, and whose scope changes: the journal tells it, in the order in which it happened.

use jiff::{SignedDuration, Timestamp};
use punctual_engine::SystemClock;
use punctual_testkit::servers::Postgres;
use reqwest::Method;
use serde_json::{Value, json};

use super::{planned, put};
use crate::common::{Home, Server};
use crate::sql::Sql;

/// How soon a move takes effect. It is aimed at a fiftieth of it.
const WITHIN: SignedDuration = SignedDuration::from_secs(1);

/// What the journal has of events and scopes: who did it, the kind, and what is said about it.
const TOLD: &str = "\
admin api scope.changed {\"scope\":\"guild:1\",\"offsets\":[60,15],\"events\":0}
admin api event.changed {\"event\":\"game:42\",\"starts_at\":\"2099-06-01T18:00:00Z\",\"new\":true}
admin api event.planned {\"event\":\"game:42\",\"starts_at\":\"2099-06-01T18:00:00Z\",\"planned\":4,\"made\":4}
admin api event.changed {\"event\":\"game:42\",\"starts_at\":\"2099-06-01T19:00:00Z\",\"was\":\"2099-06-01T18:00:00Z\"}
admin api event.planned {\"event\":\"game:42\",\"starts_at\":\"2099-06-01T19:00:00Z\",\"planned\":4,\"moved\":4}
admin api event.changed {\"event\":\"game:42\",\"starts_at\":\"2099-06-02T19:00:00Z\",\"was\":\"2099-06-01T19:00:00Z\"}
admin api event.planned {\"event\":\"game:42\",\"starts_at\":\"2099-06-02T19:00:00Z\",\"planned\":4,\"moved\":4}
admin api scope.changed {\"scope\":\"guild:1\",\"offsets\":[60],\"events\":1}
engine - event.planned {\"event\":\"game:42\",\"starts_at\":\"2099-06-02T19:00:00Z\",\"planned\":2,\"withdrawn\":2}
";

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_tells_of_an_event_that_moved_twice_and_whose_scope_changed() {
    let home = Home::new();
    tells(&home, &home.serve()).await;
    let Some(postgres) = Postgres::start() else { return };
    let home = Home::new();
    let database = postgres.new_database(None);
    tells(&home, &home.serve_with(&[("PUNCTUAL_DATABASE_URL", &postgres.url(&database))])).await;
}

async fn tells(home: &Home, server: &Server) {
    let scope = async |offsets: Value| {
        let (status, answer) =
            server.call(Method::PUT, "/v1/scopes/guild:1", Some(json!({ "offsets": offsets }))).await;
        assert!(status.is_success(), "{answer}");
    };
    scope(json!([60, 15])).await;
    for starts_at in ["2099-06-01T18:00:00Z", "2099-06-01T19:00:00Z", "2099-06-02T19:00:00Z"] {
        let body = json!({
            "starts_at": starts_at, "scope": "guild:1/channel:2", "users": ["ann", "bob"], "message": "{title} in {minutes} min",
            "metadata": { "game_id": 42, "title": "Chess" },
        });
        let (status, event) = put(server, "game:42", body.clone()).await;
        assert!(status < 300, "{event}");
        // The same again is not told, because nothing happens.
        assert_eq!(put(server, "game:42", body).await.0, 200);
    }
    scope(json!([60])).await;
    let event = planned(server, "game:42").await;
    assert_eq!(event["reminders"].as_array().unwrap().len(), 2, "{event}");
    let kinds = "event.changed,event.planned,event.failed,scope.changed";
    let told = home.run(&["audit", "--kind", kinds, "--json"]).ok();
    let line = |line: &str| {
        let entry: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}\n", text("actor"), text("via"), text("kind"), ordered(&entry["data"]))
    };
    assert_eq!(told.lines().map(line).collect::<String>(), TOLD);
    // The same for people.
    let shown = home.run(&["audit", "--kind", kinds]).ok();
    assert!(shown.contains("2099-06-02T19:00:00Z") && shown.contains("game:42"), "{shown}");
}

/// The data with its fields in the order in which a reader wants them.
fn ordered(data: &Value) -> String {
    const ORDER: [&str; 11] =
        ["event", "scope", "starts_at", "was", "new", "offsets", "events", "planned", "made", "moved", "withdrawn"];
    let fields = data.as_object().unwrap();
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort_by_key(|name| ORDER.iter().position(|known| known == name));
    let field = |name: &&String| format!("{}:{}", json!(name), fields[*name]);
    format!("{{{}}}", names.iter().map(field).collect::<Vec<_>>().join(","))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_takes_effect_within_a_second_over_http_and_in_sql() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &postgres.url(&database))]);
    let start: Timestamp = "2099-06-01T18:00:00Z".parse().unwrap();
    let body = |starts_at: Timestamp| json!({ "starts_at": starts_at.to_string(), "offsets": [60], "users": ["ann"], "message": "x" });
    let has_moved = async |starts_at: Timestamp, since: Timestamp| {
        let event = planned(&server, "game").await;
        let took = SystemClock::read().duration_since(since);
        let due_at: Timestamp = event["reminders"][0]["due_at"].as_str().unwrap().parse().unwrap();
        assert_eq!(due_at, starts_at - SignedDuration::from_hours(1), "{event}");
        assert!(took <= WITHIN, "{took:?}");
        took
    };
    let sql = Sql::new(&postgres, &database);
    put(&server, "game", body(start)).await;
    for day in 1..=5 {
        let over_http = start + SignedDuration::from_hours(24 * day);
        let since = SystemClock::read();
        assert_eq!(put(&server, "game", body(over_http)).await.0, 200);
        let http = has_moved(over_http, since).await;
        let in_sql = over_http + SignedDuration::from_hours(1);
        sql.call("put_event", &format!("'game', '{in_sql}', '{{60}}', message => 'x', users => '{{ann}}'")).unwrap();
        let since = SystemClock::read();
        println!("moved: {http:?} over HTTP, {:?} after a commit in SQL", has_moved(in_sql, since).await);
    }
}
