//! Pages on which a list is as full as it gets.

use jiff::{Timestamp, ToSpan};
use punctual_engine::SystemClock;
use punctual_testkit::wait::until;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::world::World;
use crate::common::Server;

/// Fills lists of a server to their brim. Returns the pages that show them.
pub(super) async fn fill(world: &World) -> Vec<String> {
    let server = &world.server;
    late_in_every_quarter(world);
    scopes(server).await;
    for n in 0..100 {
        let silence = json!({ "user": "me", "tag": format!("chores-{n}"), "until": "2035-01-01T00:00:00Z" });
        put(server, Method::POST, "/v1/silences", silence).await;
    }
    let answered = answered(server, 10).await;
    let yesterday = SystemClock::read().in_tz("Europe/Berlin").unwrap().checked_sub(1.day()).unwrap().date();
    vec![
        "/health".into(),
        format!("/health?day={yesterday}"),
        "/scopes".into(),
        "/scopes?at=club%3A1".into(),
        "/scopes?at=club%3A1&preview=1&offsets=30".into(),
        format!("/reminders/{answered}"),
        "/people/me".into(),
    ]
}

async fn put(server: &Server, method: Method, path: &str, body: Value) -> Value {
    let (status, answer) = server.call(method, path, Some(body)).await;
    assert!(status.is_success(), "{path}: {answer}");
    answer
}

/// Sends in each quarter of an hour of two days, as late as can be and in every step of the scale.
fn late_in_every_quarter(world: &World) {
    const QUARTER: i64 = 15 * 60;
    let db = world.database();
    let counts: Vec<String> = (0..60).map(|n| format!("{}:{}", 10 + n * 4, 1000 + n)).collect();
    let last = SystemClock::read().as_second() / QUARTER;
    db.execute_batch("begin").unwrap();
    let mut row =
        db.prepare("insert into lateness values (?, 'node-of-long-ago', 0, 4000000000, ?, 123, 45, 6789)").unwrap();
    for quarter in 0..200 {
        row.execute((Timestamp::from_second((last - quarter) * QUARTER).unwrap().as_microsecond(), counts.join(" ")))
            .unwrap();
    }
    db.execute_batch("commit").unwrap();
}

/// 500 scopes, most of them below one that 100 events inherit from.
async fn scopes(server: &Server) {
    let offsets = json!({ "offsets": [1440, 60, 15] });
    put(server, Method::PUT, "/v1/scopes/club:1", offsets.clone()).await;
    for n in 0..400 {
        put(server, Method::PUT, &format!("/v1/scopes/club:1/channel:{n}"), offsets.clone()).await;
    }
    for n in 0..98 {
        put(server, Method::PUT, &format!("/v1/scopes/company:{n}"), offsets.clone()).await;
    }
    for n in 0..100 {
        let event = json!({ "starts_at": "2031-05-06T18:30:00Z", "scope": "club:1", "message": "Training in {minutes} min", "users": ["user-1"] });
        put(server, Method::PUT, &format!("/v1/events/training-of-the-club-{n}"), event).await;
    }
}

/// A reminder with so many runs that were asked about and answered.
async fn answered(server: &Server, n: usize) -> String {
    let schedule = json!({ "type": "daily", "time": "09:00" });
    let asked = json!({ "user": "user-1", "message": "Have you locked the door of the shop?", "require_ack": true, "schedule": schedule });
    let made = server.create(asked).await;
    let path = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
    for _ in 0..n {
        let (status, fired) = server.call(Method::POST, &format!("{path}/fire"), None).await;
        assert_eq!(status, StatusCode::OK, "{fired}");
        until("it waits for an answer", async || server.get(&path).await["last_status"] == "awaiting_ack").await;
        let (status, answer) = server.call(Method::POST, &format!("{path}/ack"), Some(json!({}))).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
    }
    made["id"].as_str().unwrap().to_owned()
}
