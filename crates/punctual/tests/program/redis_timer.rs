//! The Redis timer behind `serve`.

use jiff::{SignedDuration, Timestamp};
use punctual_engine::SystemClock;
use punctual_testkit::process::output;
use punctual_testkit::servers::{Postgres, Redis};
use punctual_testkit::wait::until;
use redis::aio::MultiplexedConnection;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Receiver, Server, soon};

async fn connect(redis: &Redis) -> MultiplexedConnection {
    redis::Client::open(redis.url()).unwrap().get_multiplexed_async_connection().await.unwrap()
}

async fn pttl(connection: &mut MultiplexedConnection, id: &str) -> i64 {
    redis::cmd("PTTL").arg(format!("reminder:{id}")).query_async(connection).await.unwrap()
}

/// Waits until the key of a reminder is there, or is gone.
async fn key(connection: &mut MultiplexedConnection, id: &str, wanted: bool) {
    until("the key is as wanted", async || (pttl(connection, id).await >= 0) == wanted).await;
}

fn reminder(at: &str, receiver: &Receiver) -> Value {
    let to = json!([{ "channel": "webhook", "address": receiver.url }]);
    json!({ "user": "alice", "message": "m", "schedule": { "type": "once", "at": at }, "to": to })
}

fn id(reminder: &Value) -> String {
    reminder["id"].as_str().unwrap().to_owned()
}

async fn metrics(server: &Server) -> String {
    soon(soon(server.request(Method::GET, "/metrics").send()).await.unwrap().text()).await.unwrap()
}

async fn says(server: &Server, words: &str) {
    until(words, async || server.get("/readyz").await["redis"].as_str().unwrap().contains(words)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_set_moved_and_deleted_with_their_reminders() {
    let Some(redis) = Redis::start() else { return };
    let mut connection = connect(&redis).await;
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_REDIS_URL", &redis.url())]);
    let receiver = Receiver::listen().await;
    let created = server.create(reminder("10m", &receiver)).await;
    let id = id(&created);
    key(&mut connection, &id, true).await;
    let value: String = redis::cmd("GET").arg(format!("reminder:{id}")).query_async(&mut connection).await.unwrap();
    assert_eq!(value, "alice:webhook");
    let due: Timestamp = created["next_run_at"].as_str().unwrap().parse().unwrap();
    let left = due.duration_since(SystemClock::read()).as_millis() as i64;
    let ttl = pttl(&mut connection, &id).await;
    assert!((ttl - left).abs() < 2000, "{ttl} ms in Redis, {left} ms to go");

    let path = format!("/v1/reminders/{id}");
    let later = json!({ "schedule": { "type": "once", "at": "2h" } });
    assert_eq!(server.call(Method::PATCH, &path, Some(later)).await.0, 200);
    until("the key has moved", async || pttl(&mut connection, &id).await >= 3_600_000).await;
    assert_eq!(server.call(Method::POST, &format!("{path}/pause"), None).await.0, 200);
    key(&mut connection, &id, false).await;
    assert_eq!(server.call(Method::POST, &format!("{path}/resume"), None).await.0, 200);
    key(&mut connection, &id, true).await;
    let far = json!({ "schedule": { "type": "once", "at": "8d" } });
    assert_eq!(server.call(Method::PATCH, &path, Some(far)).await.0, 200);
    key(&mut connection, &id, false).await;
    let near = json!({ "schedule": { "type": "once", "at": "6d" } });
    assert_eq!(server.call(Method::PATCH, &path, Some(near)).await.0, 200);
    key(&mut connection, &id, true).await;
    assert_eq!(server.call(Method::DELETE, &path, None).await.0, 200);
    key(&mut connection, &id, false).await;
    let index: usize = redis::cmd("ZCARD").arg("punctual:due").query_async(&mut connection).await.unwrap();
    assert_eq!(index, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_event_does_nothing() {
    let Some(redis) = Redis::start() else { return };
    let mut connection = connect(&redis).await;
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_REDIS_URL", &redis.url())]);
    says(&server, "up").await;
    let mut receiver = Receiver::listen().await;
    let first = id(&server.create(reminder("1s", &receiver)).await);
    receiver.next().await;
    for key in [format!("reminder:{first}"), "reminder:nonsense".into(), "reminder:".into()] {
        let told = redis::cmd("PUBLISH").arg("__keyevent@0__:expired").arg(key).query_async(&mut connection).await;
        assert_eq!(told, Ok(1));
    }
    let second = id(&server.create(reminder("1s", &receiver)).await);
    let (_, event) = receiver.next().await;
    assert_eq!(event["data"]["reminder_id"], second, "nothing came in between");
    assert!(receiver.is_quiet());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_that_only_redis_knew_is_delivered_and_counted_so() {
    let Some(redis) = Redis::start() else { return };
    let mut connection = connect(&redis).await;
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_REDIS_URL", &redis.url())]);
    says(&server, "up").await;
    let mut receiver = Receiver::listen().await;
    let moved = id(&server.create(reminder("2h", &receiver)).await);
    key(&mut connection, &moved, true).await;
    // Somebody moves it behind everybody's back; only the key in Redis says when it is due now.
    let database = rusqlite::Connection::open(home.data_dir().join("punctual.db")).unwrap();
    let due = (SystemClock::read() + SignedDuration::from_secs(1)).as_microsecond();
    assert_eq!(database.execute("UPDATE occurrence SET due_at = ?1, wake_at = ?1", [due]).unwrap(), 1);
    let set = redis::cmd("SET").arg(format!("reminder:{moved}")).arg("alice:webhook").arg("PX").arg(1000).to_owned();
    set.exec_async(&mut connection).await.unwrap();
    let (_, event) = receiver.next().await;
    assert_eq!(event["data"]["reminder_id"], moved);
    let delivered = "punctual_occurrences_total{state=\"delivered\",via=\"redis\"} 1";
    until(delivered, async || metrics(&server).await.contains(delivered)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_start_puts_the_keys_back_and_delivers_what_is_late() {
    let Some(redis) = Redis::start() else { return };
    let Some(postgres) = Postgres::start() else { return };
    let mut connection = connect(&redis).await;
    let on_postgres = postgres.url(&postgres.new_database(None));
    for database in [None, Some(on_postgres.as_str())] {
        let home = Home::new();
        let url = redis.url();
        let mut env = vec![("PUNCTUAL_REDIS_URL", url.as_str())];
        env.extend(database.map(|url| ("PUNCTUAL_DATABASE_URL", url)));
        redis::cmd("DEL").arg("punctual:filled").exec_async(&mut connection).await.unwrap();
        let server = home.serve_with(&env);
        // Killed while it sets everything, it would keep others from doing so for half a minute.
        let is_filled = redis::cmd("EXISTS").arg("punctual:filled").to_owned();
        until("everything is set", async || is_filled.query_async(&mut connection).await.unwrap()).await;
        let mut receiver = Receiver::listen().await;
        let late = id(&server.create(reminder("1s", &receiver)).await);
        let coming = id(&server.create(reminder("1h", &receiver)).await);
        drop(server);
        redis::cmd("DEL").arg(format!("reminder:{coming}")).exec_async(&mut connection).await.unwrap();
        let server = home.serve_with(&env);
        assert_eq!(receiver.next().await.1["data"]["reminder_id"], late);
        key(&mut connection, &coming, true).await;
        // And again when Redis is flushed.
        says(&server, "up").await;
        redis::cmd("FLUSHALL").exec_async(&mut connection).await.unwrap();
        key(&mut connection, &coming, true).await;
        let armed = "punctual_redis_armed 1\n";
        until(armed, async || metrics(&server).await.contains(armed)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_may_go_and_come_back() {
    let Some(mut redis) = Redis::start() else { return };
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_REDIS_URL", &redis.url())]);
    says(&server, "up").await;
    assert!(metrics(&server).await.contains("punctual_redis_up 1\n"));
    let mut receiver = Receiver::listen().await;
    let before = id(&server.create(reminder("1h", &receiver)).await);
    for _ in 0..2 {
        redis.stop_immediately();
        says(&server, "down").await;
        assert!(metrics(&server).await.contains("punctual_redis_up 0\n"));
        // The server does not wait for Redis.
        let soon_due = server.create(reminder("1s", &receiver)).await;
        let later = id(&server.create(reminder("1h", &receiver)).await);
        let (_, event) = receiver.next().await;
        assert_eq!(event["data"]["reminder_id"], soon_due["id"]);
        assert!(event["data"]["late_seconds"].as_f64().unwrap() < 5.0, "{event}");
        redis.start_again();
        says(&server, "up").await;
        let mut connection = connect(&redis).await;
        key(&mut connection, &before, true).await;
        key(&mut connection, &later, true).await;
    }
    let (status, lines) = server.stop();
    assert!(status.success());
    let complaints = lines.iter().filter(|line| line.contains("the Redis timer does not work")).count();
    assert!(complaints <= 4, "said when it changes, and not again and again: {lines:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_from_the_start_everything_works() {
    let Some(mut redis) = Redis::start() else { return };
    redis.stop_immediately();
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_REDIS_URL", &redis.url())]);
    let mut receiver = Receiver::listen().await;
    let later = id(&server.create(reminder("1h", &receiver)).await);
    server.create(reminder("1s", &receiver)).await;
    receiver.next().await;
    says(&server, "refused").await;
    assert_eq!(server.get("/readyz").await["status"], "ready");
    let looked = output(home.command(["doctor"]).env("PUNCTUAL_REDIS_URL", redis.url()));
    let looked = String::from_utf8(looked.stdout).unwrap();
    assert!(looked.contains("– redis") && looked.contains("nothing is late without it"), "{looked}");
    redis.start_again();
    key(&mut connect(&redis).await, &later, true).await;
    says(&server, "up").await;
    let looked = output(home.command(["doctor"]).env("PUNCTUAL_REDIS_URL", redis.url()));
    let looked = String::from_utf8(looked.stdout).unwrap();
    assert!(looked.contains("✓ redis") && looked.contains("timers are set"), "{looked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_can_be_switched_off() {
    let Some(redis) = Redis::start() else { return };
    let home = Home::new();
    let env = [("PUNCTUAL_REDIS_URL", redis.url()), ("ENABLE_REDIS_REMINDER_TTL", "false".into())];
    let server = home.serve_with(&env.each_ref().map(|(name, value)| (*name, value.as_str())));
    let mut receiver = Receiver::listen().await;
    server.create(reminder("1s", &receiver)).await;
    receiver.next().await;
    assert_eq!(server.get("/readyz").await["redis"], Value::Null);
    assert!(!metrics(&server).await.contains("punctual_redis"));
    let n_keys: usize = redis::cmd("DBSIZE").query_async(&mut connect(&redis).await).await.unwrap();
    assert_eq!(n_keys, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_used_and_not_shown() {
    let Some(redis) = Redis::start_with(&["--requirepass", "hush"]) else { return };
    let home = Home::new();
    for (password, word) in [("hush", "up"), ("hush-not", "down")] {
        let url = redis.url().replace("redis://", &format!("redis://:{password}@"));
        let server = home.serve_with(&[("PUNCTUAL_REDIS_URL", &url)]);
        says(&server, word).await;
        let told = server.get("/readyz").await.to_string();
        assert!(!told.contains("hush"), "{told}");
        let (_, lines) = server.stop();
        assert!(!lines.concat().contains("hush"), "{lines:#?}");
    }
    let refused = output(home.command(["serve"]).env("PUNCTUAL_REDIS_URL", "redis://:hush@h/zero"));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("PUNCTUAL_REDIS_URL") && !said.contains("hush"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_made_in_sql_has_a_key_as_long_as_it_is_to_come() {
    let Some(redis) = Redis::start() else { return };
    let Some(postgres) = Postgres::start() else { return };
    let mut connection = connect(&redis).await;
    let database = postgres.new_database(None);
    let (url, store) = (redis.url(), postgres.url(&database));
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_REDIS_URL", &url), ("PUNCTUAL_DATABASE_URL", &store)]);
    says(&server, "up").await;
    let sql = |text: &str| postgres.sql(&database, text).trim().to_owned();
    let remind = "select punctual.remind(user_id => 'ann', message => 'm', at => now() + interval '1 hour', \
                  \"to\" => '[{\"channel\": \"console\", \"address\": \"ann\"}]')";
    let id = sql(remind);
    key(&mut connection, &id, true).await;
    let value: String = redis::cmd("GET").arg(format!("reminder:{id}")).query_async(&mut connection).await.unwrap();
    assert_eq!(value, "ann:console");
    assert_eq!(sql(&format!("select punctual.cancel('{id}')")), "t");
    key(&mut connection, &id, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_that_hear_the_same_ring_send_once() {
    let Some(redis) = Redis::start() else { return };
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.url(&postgres.new_database(None));
    let url = redis.url();
    let env = [("PUNCTUAL_REDIS_URL", url.as_str()), ("PUNCTUAL_DATABASE_URL", database.as_str())];
    let homes = [Home::new(), Home::new()];
    let nodes = homes.each_ref().map(|home| home.serve_with(&env));
    for node in &nodes {
        says(node, "up").await;
    }
    let mut receiver = Receiver::listen().await;
    let many: Vec<_> = (0..200).map(|_| reminder("2s", &receiver)).collect();
    let (status, _) = nodes[0].call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": many }))).await;
    assert_eq!(status, 201);
    let mut keys = std::collections::HashSet::new();
    for _ in 0..200 {
        let (headers, _) = receiver.next().await;
        assert!(keys.insert(headers["webhook-id"].to_str().unwrap().to_owned()), "sent twice");
    }
    // A message that is sent a second time would arrive before this last one.
    let last = id(&nodes[1].create(reminder("1s", &receiver)).await);
    assert_eq!(receiver.next().await.1["data"]["reminder_id"], last);
    assert!(receiver.is_quiet());
}
