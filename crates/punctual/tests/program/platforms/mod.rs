//! Answers from the platforms: the real program, and the platforms on the loopback.

mod cuts;
mod discord;
mod email;
mod links;
mod ntfy;
mod slack;
mod telegram;
mod twilio;
mod webpush;
mod whatsapp;

use punctual_testkit::platforms::signed::Signed;
use punctual_testkit::wait::until_some;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Server, soon};

/// The table in docs/channels.md names a test for each tick.
#[test]
fn every_test_that_the_docs_name_is_there() {
    let docs = include_str!("../../../../../docs/channels.md");
    let table = docs.split("## How answers come back").nth(1).unwrap().split("\n## ").next().unwrap();
    let files = [
        ("telegram", include_str!("telegram.rs")),
        ("slack", include_str!("slack.rs")),
        ("discord", include_str!("discord.rs")),
        ("whatsapp", include_str!("whatsapp.rs")),
        ("twilio", include_str!("twilio.rs")),
        ("ntfy", include_str!("ntfy.rs")),
        ("email", include_str!("email.rs")),
        ("webpush", include_str!("webpush.rs")),
        ("cuts", include_str!("cuts.rs")),
        ("links", include_str!("links.rs")),
    ];
    let mut n_named = 0;
    for (file, name) in table.split('`').filter_map(|piece| piece.split_once("::")) {
        let (_, text) = files.iter().find(|(known, _)| *known == file).unwrap_or_else(|| panic!("no file {file}"));
        assert!(text.contains(&format!("async fn {name}()")), "{file}::{name} is not there");
        n_named += 1;
    }
    assert_eq!(n_named, table.matches("::").count());
    let without = table.split('|').filter(|cell| cell.contains('✓') && !cell.contains("::"));
    assert_eq!(without.collect::<Vec<_>>(), Vec::<&str>::new(), "ticks without a test");
    assert!(n_named > 30, "{n_named} tests");
}

/// Sends a reminder of ann's that wants an answer by the channel `chat`, and waits until it is asked. Returns the id of its run.
async fn asked(server: &Server, message: &str, address: &str) -> String {
    let made = server
        .create(json!({
            "user": "ann", "message": message, "schedule": { "type": "once", "at": "0s" }, "require_ack": true,
            "to": [{ "channel": "chat", "address": address }],
        }))
        .await;
    let path = format!("/v1/reminders/{}/occurrences", made["id"].as_str().unwrap());
    until_some("the run awaits an answer", async || {
        let run = server.get(&path).await["occurrences"][0].clone();
        (run["state"] == "awaiting_ack").then(|| run["id"].as_str().unwrap().to_owned())
    })
    .await
}

async fn run(server: &Server, id: &str) -> Value {
    server.get(&format!("/v1/occurrences/{id}")).await
}

/// Waits until a run was answered, and returns the answers.
async fn answers(server: &Server, id: &str) -> Vec<Value> {
    until_some("the run is answered", async || {
        let run = run(server, id).await;
        run["responses"].as_array().filter(|all| !all.is_empty()).cloned()
    })
    .await
}

/// How the answers of `chat` come, as `GET /v1/channels` says it.
async fn receives(server: &Server) -> Value {
    let all = server.get("/v1/channels").await;
    let chat = all["channels"].as_array().unwrap().iter().find(|channel| channel["name"] == "chat").unwrap();
    chat["receives"].clone()
}

/// Waits until the channel's connection is open.
async fn connected(server: &Server) {
    until_some("the channel is connected", async || (receives(server).await["state"] == "connected").then_some(()))
        .await;
}

/// A request of a platform; returns status and body.
async fn post(server: &Server, query: &str, request: &Signed) -> (u16, String) {
    let mut builder = server.client.post(format!("{}/v1/inbound/chat{query}", server.url)).body(request.body.clone());
    for (name, value) in &request.headers {
        builder = builder.header(*name, value);
    }
    let response = soon(builder.send()).await.unwrap();
    (response.status().as_u16(), soon(response.text()).await.unwrap())
}

/// Gives ann an address, so that she is known there.
async fn known(server: &Server, user: &str, address: &str) {
    let body = json!({ "addresses": [{ "channel": "chat", "address": address }] });
    let (status, said) = server.call(Method::PUT, &format!("/v1/users/{user}"), Some(body)).await;
    assert!(status.is_success(), "{said}");
}

/// The second of the present, for requests that sign it.
fn second() -> i64 {
    use punctual_core::clock::Clock;
    punctual_engine::SystemClock::start().now().as_second()
}
