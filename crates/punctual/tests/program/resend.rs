//! What has failed is sent again: one run, or many, with a count first.

use axum::http::StatusCode;
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Receiver, Server};

async fn resend(server: &Server, body: Value) -> Value {
    let (status, resent) = server.call(Method::POST, "/v1/resend", Some(body)).await;
    assert_eq!(status, 200, "{resent}");
    resent
}

/// A reminder that is tried once, at once.
fn now(receiver: &Receiver, user: &str, tags: &[&str]) -> Value {
    json!({ "user": user, "message": format!("for {user}"), "schedule": { "type": "once", "at": "1s" }, "max_retries": 0, "tags": tags,
        "to": [{ "channel": "webhook", "address": receiver.url }], "only": true })
}

async fn ended(server: &Server, reminder: &Value, status: &str) {
    let path = format!("/v1/reminders/{}", reminder["id"].as_str().unwrap());
    until(status, async || server.get(&path).await["last_status"] == status).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_runs_are_counted_and_sent_again_under_their_own_keys() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let (says, mut receiver) = Receiver::changing(StatusCode::NOT_FOUND).await;
        let mut made = Vec::new();
        for (user, tags) in [("ann", &["home"][..]), ("bob", &[]), ("eve", &[])] {
            made.push(server.create(now(&receiver, user, tags)).await);
        }
        let mut keys = Vec::new();
        for reminder in &made {
            ended(&server, reminder, "failed").await;
            keys.push(receiver.next().await.0["webhook-id"].clone());
        }
        let listed = home.run(&["list", "--failed", "--everybody", "--json"]).json();
        assert_eq!(listed["reminders"].as_array().unwrap().len(), 3, "{listed}");

        let count = async |more: Value| {
            let mut body = json!({ "since": "2h", "count_only": true });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            resend(&server, body).await["count"].as_u64().unwrap()
        };
        assert_eq!(count(json!({})).await, 3);
        assert_eq!(count(json!({ "user": "ann" })).await, 1);
        assert_eq!(count(json!({ "tag": "HOME" })).await, 1);
        assert_eq!(count(json!({ "channel": "webhook" })).await, 3);
        assert_eq!(count(json!({ "channel": "console" })).await, 0);
        let fields =
            |resent: &Value| ["count", "resent", "left_out", "held"].map(|field| resent[field].as_u64().unwrap());
        says.send(StatusCode::OK).unwrap();
        assert_eq!(fields(&resend(&server, json!({ "since": "2h", "user": "ann" })).await), [1, 1, 0, 0]);
        assert_eq!(fields(&resend(&server, json!({ "failed": true, "since": "2h" })).await), [2, 2, 0, 0]);
        let mut again = Vec::new();
        for reminder in &made {
            ended(&server, reminder, "delivered").await;
            let (headers, _) = receiver.next().await;
            again.push(headers["webhook-id"].clone());
        }
        keys.sort_unstable();
        again.sort_unstable();
        assert_eq!(keys, again, "a receiver that had got them would know them");
        assert_eq!(fields(&resend(&server, json!({ "since": "2h" })).await), [0, 0, 0, 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_sends_one_or_many_again() {
    let home = Home::new();
    let server = home.serve();
    let (says, mut receiver) = Receiver::changing(StatusCode::NOT_FOUND).await;
    let (anns, bobs) =
        (server.create(now(&receiver, "ann", &[])).await, server.create(now(&receiver, "bob", &[])).await);
    ended(&server, &anns, "failed").await;
    ended(&server, &bobs, "failed").await;
    let mut first = vec![receiver.next().await.0["webhook-id"].clone(), receiver.next().await.0["webhook-id"].clone()];
    home.run(&["resend"]).fails(2, &["<REMINDER>"]);
    home.run(&["resend", "--failed"]).fails(2, &["--since"]);
    home.run(&["resend", "--failed", "--since", "2h"])
        .fails(2, &["Failed since then: 2 runs", "--yes sends them again"]);
    says.send(StatusCode::OK).unwrap();
    let said = home.run(&["resend", "--failed", "--since", "2h", "--user", "ann", "--yes"]).ok();
    assert!(said.contains("Sending 1 run again"), "{said}");
    ended(&server, &anns, "delivered").await;
    let said = home.run(&["resend", bobs["id"].as_str().unwrap()]).ok();
    assert!(said.contains("sending again"), "{said}");
    ended(&server, &bobs, "delivered").await;
    let mut again = vec![receiver.next().await.0["webhook-id"].clone(), receiver.next().await.0["webhook-id"].clone()];
    first.sort_unstable();
    again.sort_unstable();
    assert_eq!(first, again, "a receiver that had got them would know them");
    home.run(&["resend", bobs["id"].as_str().unwrap()]).fails(1, &["run 1 is delivered; only a run that failed"]);
    let counted = home.run(&["resend", "--failed", "--since", "2h", "--json"]).json();
    assert_eq!(counted["count"], 0, "{counted}");
    let path = format!("/v1/occurrences/{}-1", bobs["id"].as_str().unwrap());
    let run = server.get(&path).await;
    assert_eq!(run["attempts"].as_array().unwrap().len(), 2, "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_resend_is_refused_with_its_field() {
    let home = Home::new();
    let server = home.serve();
    for (body, status, field) in [
        (json!({}), 422, "since"),
        (json!({ "since": "someday" }), 422, "since"),
        (json!({ "since": "2999-01-01T00:00:00Z" }), 422, "since"),
        (json!({ "since": "2h", "failed": false }), 422, "failed"),
        (json!({ "since": "2h", "held": "yes" }), 422, "held"),
        (json!({ "since": "2h", "users": "ann" }), 422, "users"),
    ] {
        let (found, problem) = server.call(Method::POST, "/v1/resend", Some(body.clone())).await;
        assert_eq!((found.as_u16(), &problem["field"]), (status, &json!(field)), "{body}: {problem}");
    }
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "k", "user": "bob" }))).await;
    let bobs = key["key"].as_str().unwrap();
    let others = json!({ "since": "2h", "user": "ann" });
    assert_eq!(server.call_with(bobs, Method::POST, "/v1/resend", Some(others)).await.0, 403);
    assert_eq!(server.call_with(bobs, Method::POST, "/v1/resend", Some(json!({ "since": "2h" }))).await.0, 200);
    let made =
        server.create(json!({ "user": "bob", "message": "m", "schedule": { "type": "once", "at": "1h" } })).await;
    let path = format!("/v1/reminders/{}/resend", made["id"].as_str().unwrap());
    let (status, problem) = server.call(Method::POST, &path, Some(json!({ "minutes": 5 }))).await;
    assert_eq!((status.as_u16(), &problem["field"]), (422, &json!("minutes")), "{problem}");
    assert_eq!(server.call(Method::POST, &path, Some(json!({ "run": 1 }))).await.0, 409);
}
