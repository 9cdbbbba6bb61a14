//! Events of applications: every door leads to the same reminders, and what is published names the event.

mod cases;
mod doors;
mod moves;
mod rabbitmq;
mod routes;

use reqwest::Method;
use serde_json::Value;

use crate::common::{Server, soon};

/// Writes an event over HTTP; returns the answer's status and the event.
async fn put(server: &Server, key: &str, body: Value) -> (u16, Value) {
    let (status, answer) = server.call(Method::PUT, &format!("/v1/events/{key}"), Some(body)).await;
    (status.as_u16(), answer)
}

/// The event once its reminders are as it says.
pub(crate) async fn planned(server: &Server, key: &str) -> Value {
    soon(async {
        loop {
            let event = server.get(&format!("/v1/events/{key}")).await;
            if event["planned"] == true {
                return event;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}
