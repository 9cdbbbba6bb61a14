//! The WebSocket.

mod ends;
mod foreign;
mod journal;
mod messages;
mod same;
pub(crate) mod socket;

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::Server;

const LATER: &str = "2099-01-01T00:00:00Z";

fn reminder(user: &str) -> Value {
    json!({ "user": user, "message": "m", "schedule": { "type": "once", "at": LATER } })
}

async fn new_key(server: &Server, body: Value) -> (String, String) {
    let (status, key) = server.call(Method::POST, "/v1/keys", Some(body)).await;
    assert_eq!(status, 201, "{key}");
    (key["id"].as_str().unwrap().to_owned(), key["key"].as_str().unwrap().to_owned())
}
