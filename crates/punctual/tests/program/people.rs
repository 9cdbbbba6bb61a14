//! Quiet hours, pauses and admins, as the API and the command line have them.

use axum::http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::SystemClock;
use punctual_testkit::wait::until_some;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Receiver, Server};

fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M").to_string()
}

fn instant(value: &Value) -> Timestamp {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value} is no instant"))
}

/// The one run of a reminder.
async fn run_of(server: &Server, id: &str) -> Value {
    server.get(&format!("/v1/reminders/{id}/occurrences")).await["occurrences"][0].clone()
}

/// The run of a reminder as soon as it waits.
async fn waiting(server: &Server, id: &str) -> Value {
    until_some("the run waits", async || Some(run_of(server, id).await).filter(|run| run["state"] == "waiting")).await
}

#[tokio::test]
async fn a_reminder_in_quiet_hours_waits_and_is_sent_when_they_end() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    // Quiet since an hour ago, for two more.
    let now = SystemClock::read();
    let hours = |hours| clock(now + SignedDuration::from_hours(hours));
    let mut user = json!({
        "timezone": "UTC",
        "addresses": [{ "channel": "webhook", "address": receiver.url }],
        "quiet_hours": { "from": hours(-1), "to": hours(2), "except": "high", "digest": false },
    });
    let (_, put) = server.call(Method::PUT, "/v1/users/alice", Some(user.clone())).await;
    assert_eq!(put["quiet_hours"], user["quiet_hours"]);
    let normal = json!({ "user": "alice", "message": "later", "schedule": { "type": "once", "at": "0s" } });
    let created = server.create(normal).await;
    let id = created["id"].as_str().unwrap();
    let urgent =
        json!({ "user": "alice", "message": "now", "priority": "high", "schedule": { "type": "once", "at": "0s" } });
    server.create(urgent).await;
    assert_eq!(receiver.next().await.1["data"]["message"], "now", "what matters is not held back");
    let waiting = waiting(&server, id).await;
    assert_eq!((waiting["why"].as_str(), &waiting["until"]), (Some("quiet"), &waiting["due_at"]));
    assert_eq!(clock(instant(&waiting["until"])), hours(2));
    assert_eq!(waiting["audit"][0]["kind"], "reminder.waiting");
    assert_eq!(waiting["audit"][0]["data"]["why"], "quiet");
    assert_eq!(server.get(&format!("/v1/reminders/{id}")).await["next_run_at"], waiting["until"]);
    let shown = home.run(&["show", id]).ok();
    assert!(shown.contains("waiting for the end of quiet hours"), "{shown}");
    // Without quiet hours there is nothing to wait for.
    user["quiet_hours"] = Value::Null;
    server.call(Method::PUT, "/v1/users/alice", Some(user)).await;
    assert_eq!(receiver.next().await.1["data"]["message"], "later");
}

#[tokio::test]
async fn a_pause_holds_everything_until_it_is_over() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let to = format!("webhook:{}", receiver.url);
    home.run(&["users", "set", "alice", "--timezone", "Europe/Berlin", "--to", &to]).ok();
    let said = home.run(&["users", "pause", "alice", "until", "next", "monday"]).ok();
    assert!(said.contains("nothing is sent to alice until"), "{said}");
    let alice = server.get("/v1/users/alice").await;
    let until = instant(&alice["paused_until"]).to_zoned(jiff::tz::TimeZone::get("Europe/Berlin").unwrap());
    assert_eq!(until.weekday(), jiff::civil::Weekday::Monday, "in her own zone");
    assert_eq!(alice["timezone"], "Europe/Berlin", "the rest stays");
    assert!(home.run(&["users"]).ok().contains("Mon "), "the table shows it");
    let urgent =
        json!({ "user": "alice", "message": "m", "priority": "critical", "schedule": { "type": "once", "at": "0s" } });
    let created = server.create(urgent).await;
    let id = created["id"].as_str().unwrap();
    let run = waiting(&server, id).await;
    assert_eq!((run["why"].as_str(), instant(&run["until"])), (Some("paused"), until.timestamp()));
    assert!(receiver.is_quiet());
    assert!(home.run(&["users", "resume", "alice"]).ok().contains("told again"));
    assert_eq!(receiver.next().await.1["data"]["message"], "m");
    assert_eq!(server.get("/v1/users/alice").await["paused_until"], Value::Null);
    // A pause that is removed with its user is over, too.
    home.run(&["users", "pause", "alice", "2099-01-01T00:00"]).fails(1, &["paused_until", "ten years"]);
    for until in ["friday at 8", "3d"] {
        home.run(&["users", "pause", "alice", until]).ok();
    }
    let urgent = json!({ "user": "alice", "message": "again", "to": [to], "schedule": { "type": "once", "at": "0s" } });
    let id = server.create(urgent).await["id"].as_str().unwrap().to_owned();
    waiting(&server, &id).await;
    home.run(&["users", "delete", "alice"]).ok();
    assert_eq!(receiver.next().await.1["data"]["message"], "again");
}

#[tokio::test]
async fn quiet_hours_are_set_piece_by_piece() {
    let home = Home::new();
    let server = home.serve();
    home.run(&["users", "set", "bob", "--digest"]).fails(2, &["--digest", "--quiet 22:00-07:00"]);
    home.run(&["users", "set", "bob", "--quiet-except", "high"]).fails(2, &["--quiet-except"]);
    home.run(&["users", "set", "bob", "--quiet", "22:00-07:00", "--quiet-except", "high"]).ok();
    home.run(&["users", "set", "bob", "--digest", "true"]).ok();
    home.run(&["users", "set", "bob", "--quiet", "23:00-06:30"]).ok();
    let hours = json!({ "from": "23:00", "to": "06:30", "except": "high", "digest": true });
    assert_eq!(server.get("/v1/users/bob").await["quiet_hours"], hours, "what is not said stays");
    let table = home.run(&["users"]).ok();
    assert!(table.contains("23:00-06:30 but high, digest"), "{table}");
    home.run(&["users", "set", "bob", "--quiet-except", "low"]).fails(1, &["quiet_hours.except", "critical, high"]);
    home.run(&["users", "set", "bob", "--quiet", "none"]).ok();
    assert_eq!(server.get("/v1/users/bob").await["quiet_hours"], Value::Null);
}

#[tokio::test]
async fn a_critical_reminder_that_fails_everywhere_is_told_to_the_admin() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let refusing = Receiver::answering(StatusCode::GONE).await;
    let to = format!("webhook:{}", receiver.url);
    home.run(&["users", "set", "root", "--admin", "--language", "de", "--to", &to]).ok();
    let created = server
        .create(json!({
            "user": "alice", "message": "Take your medicine", "priority": "critical",
            "to": [{ "channel": "webhook", "address": refusing.url }],
            "schedule": { "type": "once", "at": "0s" },
        }))
        .await;
    let (_, body) = receiver.next().await;
    let text = body["data"]["message"].as_str().unwrap();
    assert!(text.contains("alice wurde nicht zugestellt: „Take your medicine“"), "{text}");
    assert!(text.contains("webhook:127.0.0.1"), "{text}");
    let about = &body["data"]["metadata"]["about"];
    assert_eq!((about["reminder_id"].as_str(), about["user"].as_str()), (created["id"].as_str(), Some("alice")));
    let run = run_of(&server, created["id"].as_str().unwrap()).await;
    let attempt = &run["attempts"][0];
    let key = attempt["idempotency_key"].as_str().unwrap();
    assert!(key.starts_with(run["id"].as_str().unwrap()), "{attempt}");
    assert_eq!(attempt["attempt_key"], format!("{}-1-{}", run["id"].as_str().unwrap(), &key[key.len() - 8..]));
    let kinds: Vec<_> = run["audit"].as_array().unwrap().iter().map(|entry| &entry["kind"]).collect();
    assert!(kinds.iter().any(|kind| *kind == "reminder.alerted"), "{kinds:?}");
}
