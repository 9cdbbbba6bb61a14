//! Requests that say they come from Slack.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::channel::SendError;
use punctual_core::channel::receive::{Call, Ended, Inbound, Inlet, NotRead, Place, Reaction, Receive, Reply, Way};
use serde_json::{Value, json};

use super::{Slack, receive};
use crate::common::http::pairs;
use crate::common::signatures;

/// How far the time of a signature may be off.
const TOLERANCE: Duration = Duration::from_secs(300);

#[async_trait]
impl Receive for Slack {
    fn way(&self) -> Way {
        self.way.unwrap_or(Way::Webhook)
    }

    async fn connect(&self, _place: Option<Place>, inlet: &dyn Inlet) -> Ended {
        self.keep_socket(inlet).await
    }

    fn read(&self, call: &Call<'_>, now: Timestamp) -> Result<Vec<Inbound>, NotRead> {
        self.check(call, now)?;
        let is_form =
            call.header("content-type").is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
        let malformed = |problem: String| NotRead::Malformed(problem);
        let read = if is_form {
            let payload = pairs(call.body).into_iter().find(|(name, _)| name == "payload").map(|(_, value)| value);
            // A command's form has none.
            let Some(payload) = payload else { return Ok(Vec::new()) };
            let payload =
                serde_json::from_str(&payload).map_err(|error| malformed(format!("payload: is no JSON: {error}")))?;
            receive::press(&payload, &self.api_url)
        } else {
            let body: Value =
                serde_json::from_slice(call.body).map_err(|error| malformed(format!("is no JSON: {error}")))?;
            match body["type"].as_str() {
                Some("url_verification") => {
                    return Err(NotRead::Answer(Reply::json(&json!({"challenge": body["challenge"]}))));
                }
                Some("event_callback") => receive::words(&body),
                _ => Ok(None),
            }
        };
        Ok(read.map_err(malformed)?.into_iter().collect())
    }

    async fn react(&self, inbound: &Inbound, reaction: &Reaction) -> Result<(), SendError> {
        self.tell_one(inbound, reaction).await
    }
}

impl Slack {
    fn check(&self, call: &Call<'_>, now: Timestamp) -> Result<(), NotRead> {
        let Some(secret) = &self.signing_secret else { return Err(NotRead::Forged) };
        let header = |name: &str| call.header(name).unwrap_or_default();
        let (time, signature) = (header("x-slack-request-timestamp"), header("x-slack-signature"));
        let is_signed = |tolerance| signatures::slack(secret.expose(), time, call.body, signature, now, tolerance);
        match (is_signed(Duration::MAX), is_signed(TOLERANCE)) {
            (true, true) => Ok(()),
            (true, false) => Err(NotRead::Stale),
            _ => Err(NotRead::Forged),
        }
    }
}
