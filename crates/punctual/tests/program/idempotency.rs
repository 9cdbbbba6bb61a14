//! The same request answered the same.

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Server, answer};

async fn post(server: &Server, api_key: &str, path: &str, key: &str, body: &Value) -> (u16, Value, bool) {
    let request = server.request(Method::POST, path).bearer_auth(api_key).header("Idempotency-Key", key).json(body);
    let response = request.send().await.unwrap();
    let replayed = response.headers().contains_key("idempotency-replayed");
    let (status, body) = answer(response).await;
    (status.as_u16(), body, replayed)
}

fn reminder(message: &str) -> Value {
    json!({ "message": message, "schedule": { "type": "once", "at": "1h" } })
}

#[tokio::test]
async fn the_same_key_and_body_are_answered_the_same_and_another_body_is_a_conflict() {
    let home = Home::new();
    let server = home.serve();
    let admin = server.key.clone();
    let (status, first, replayed) = post(&server, &admin, "/v1/reminders", "k1", &reminder("a")).await;
    assert_eq!((status, replayed), (201, false));
    assert_eq!(post(&server, &admin, "/v1/reminders", "k1", &reminder("a")).await, (201, first.clone(), true));
    let (status, problem, _) = post(&server, &admin, "/v1/reminders", "k1", &reminder("b")).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("key_reused")));
    let batch = json!({ "reminders": [reminder("a")] });
    assert_eq!(post(&server, &admin, "/v1/reminders/batch", "k1", &batch).await.0, 409);

    let (status, made, _) = post(&server, &admin, "/v1/reminders/batch", "k2", &batch).await;
    assert_eq!(status, 201);
    assert_eq!(post(&server, &admin, "/v1/reminders/batch", "k2", &batch).await, (201, made, true));

    let shown = server.get(&format!("/v1/reminders/{}", first["id"].as_str().unwrap())).await;
    assert_eq!(shown, first, "what was answered is what was written");
    assert_eq!(server.get("/v1/reminders").await["reminders"].as_array().unwrap().len(), 2);
    assert_eq!(post(&server, &admin, "/v1/reminders", &"x".repeat(256), &reminder("a")).await.0, 400);
}

#[tokio::test]
async fn a_refused_request_does_not_use_up_its_key() {
    let home = Home::new();
    let server = home.serve();
    let admin = server.key.clone();
    assert_eq!(post(&server, &admin, "/v1/reminders", "k", &reminder("")).await.0, 422);
    assert_eq!(post(&server, &admin, "/v1/reminders", "k", &reminder("a")).await.0, 201);
}

#[tokio::test]
async fn keys_of_different_callers_do_not_meet() {
    let home = Home::new();
    let server = home.serve();
    let (_, alice) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "a", "user": "alice" }))).await;
    let alice = alice["key"].as_str().unwrap();
    let (_, admins, _) = post(&server, &server.key, "/v1/reminders", "k", &reminder("a")).await;
    let (status, alices, replayed) = post(&server, alice, "/v1/reminders", "k", &reminder("a")).await;
    assert_eq!((status, replayed), (201, false));
    assert_ne!(admins["id"], alices["id"]);
}

#[tokio::test]
async fn the_same_request_many_times_at_once_makes_one_reminder() {
    let home = Home::new();
    let server = home.serve();
    let body = reminder("once");
    let calls = (0..16).map(|_| post(&server, &server.key, "/v1/reminders", "race", &body));
    let answers = futures_util::future::join_all(calls).await;
    for (status, answer, _) in &answers {
        assert_eq!((*status, &answer["id"]), (201, &answers[0].1["id"]));
    }
    assert_eq!(server.get("/v1/reminders").await["reminders"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_answer_survives_a_restart() {
    let home = Home::new();
    let server = home.serve();
    let admin = server.key.clone();
    let (_, first, _) = post(&server, &admin, "/v1/reminders", "k", &reminder("a")).await;
    server.stop();
    let server = home.serve();
    assert_eq!(post(&server, &admin, "/v1/reminders", "k", &reminder("a")).await, (201, first, true));
}
