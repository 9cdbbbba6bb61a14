//! The assistants' door: driven by the official SDK over both transports and in both revisions, and judged by the official scenarios.

mod conformance;
mod over_http;
mod over_stdio;

use std::path::PathBuf;

use punctual_testkit::process::output;
use punctual_testkit::wait::until;
use punctual_testkit::{judges, report};
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Ran, Server};

const SESSION: &str = include_str!("session.py");

/// A key of `alice`, who is in Berlin and whom a reminder named `waiting` has asked for an answer.
async fn alice(server: &Server) -> String {
    let berlin = json!({ "timezone": "Europe/Berlin", "addresses": [{ "channel": "console", "address": "" }] });
    let (status, user) = server.call(Method::PUT, "/v1/users/alice", Some(berlin)).await;
    assert!(status.is_success(), "{user}");
    let reminder = json!({ "user": "alice", "name": "waiting", "message": "Lunch", "require_ack": true, "schedule": { "type": "once", "at": "1s" } });
    let reminder = server.create(reminder).await;
    let path = format!("/v1/reminders/{}", reminder["id"].as_str().unwrap());
    until("a reminder waits for an answer", async || server.get(&path).await["last_status"] == "awaiting_ack").await;
    key(server, json!({ "name": "assistant", "user": "alice" })).await
}

async fn key(server: &Server, body: Value) -> String {
    let (status, key) = server.call(Method::POST, "/v1/keys", Some(body)).await;
    assert_eq!(status, 201, "{key}");
    key["key"].as_str().unwrap().to_owned()
}

/// The session with the official SDK, which it prints.
async fn session(transport: &str, mode: &str) {
    let Some(programs) = judges::programs("sessions of PyPI's mcp") else { return };
    let home = Home::new();
    let server = home.serve();
    let key = alice(&server).await;
    let mut command = std::process::Command::new(programs.join("python"));
    command.args(["-c", SESSION, transport, mode]).env("PUNCTUAL_URL", &server.url).env("PUNCTUAL_API_KEY", &key);
    command.env("PROGRAM", env!("CARGO_BIN_EXE_punctual")).env("HOME", home.path());
    let ran = tokio::task::spawn_blocking(move || Ran::of(output(&mut command))).await.unwrap();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.ends_with("the session went as it should\n"), "{}", ran.out);
    if let Some(file) = std::env::var_os("PUNCTUAL_TEST_TRANSCRIPTS") {
        std::fs::write(PathBuf::from(file).join(format!("{transport}-{mode}.txt")), &ran.out).unwrap();
    }
    report::ran(&format!("a session of PyPI's mcp over {transport} ({mode})"));
    let made = server.get("/v1/reminders?user=alice&q=medicine").await;
    assert_eq!(made["reminders"][0]["created_via"], "mcp", "{made}");
}

#[tokio::test]
async fn the_official_sdk_uses_reminders_over_stdio_with_a_handshake() {
    session("stdio", "legacy").await;
}

#[tokio::test]
async fn the_official_sdk_uses_reminders_over_stdio_without_a_handshake() {
    session("stdio", "2026-07-28").await;
}

#[tokio::test]
async fn the_official_sdk_uses_reminders_over_http_with_a_handshake() {
    session("http", "legacy").await;
}

#[tokio::test]
async fn the_official_sdk_uses_reminders_over_http_without_a_handshake() {
    session("http", "2026-07-28").await;
}
