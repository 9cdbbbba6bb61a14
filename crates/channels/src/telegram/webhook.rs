//! Requests that say they come from Telegram, and what a person is told.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::channel::SendError;
use punctual_core::channel::Whom;
use punctual_core::channel::receive::{Call, Ended, Inbound, Inlet, NotRead, Place, Reaction, Receive, Reply, Way};
use serde_json::Value;

use super::answer::{self, Said};
use super::{PLATFORM, Telegram, receive};
use crate::common::signatures;

#[async_trait]
impl Receive for Telegram {
    fn way(&self) -> Way {
        self.way.unwrap_or(Way::Connection)
    }

    async fn connect(&self, place: Option<Place>, inlet: &dyn Inlet) -> Ended {
        self.poll(place, inlet).await
    }

    async fn register(&self) -> Result<(), Ended> {
        self.set_webhook().await
    }

    fn read(&self, call: &Call<'_>, _now: Timestamp) -> Result<Vec<Inbound>, NotRead> {
        let secret = call.header("x-telegram-bot-api-secret-token").unwrap_or_default();
        if !self.door.as_ref().is_some_and(|door| signatures::telegram(door.secret.expose(), secret)) {
            return Err(NotRead::Forged);
        }
        let update: Value =
            serde_json::from_slice(call.body).map_err(|error| NotRead::Malformed(format!("is no JSON: {error}")))?;
        Ok(receive::read(&update).map_err(NotRead::Malformed)?.into_iter().collect())
    }

    /// Telegram takes one call of a method in the reply.
    fn reply(&self, taken: &[(Inbound, Reaction)]) -> Reply {
        let now = self.clock.now();
        let telling = taken.first().and_then(|(inbound, reaction)| receive::telling(inbound, reaction, now));
        let Some((method, mut body)) = telling else { return Reply::empty(200) };
        body["method"] = method.into();
        Reply::json(&body)
    }
}

impl Telegram {
    /// Calls a method whose answer says only whether it worked.
    pub(super) async fn call(&self, method: &str, body: &Value) -> Result<(), SendError> {
        let request = self.http.post(&self.method(method)).json(body);
        let answer = self.http.ask(request, PLATFORM).await?;
        let chat = super::address::Chat::Id(0);
        match answer::read(&answer, &chat, &self.token, self.clock.now(), |_| Whom::Receiver) {
            Ok(_) => Ok(()),
            Err(Said::Failed(error)) => Err(error),
            // A group that has moved takes its old messages with it under other numbers.
            Err(Said::Moved(_)) => Ok(()),
        }
    }

    /// Tells a person what was made of their answer. It is recorded whether they are told or not.
    pub(super) async fn tell_quietly(&self, inbound: Inbound, reaction: Reaction) {
        let Some((method, body)) = receive::telling(&inbound, &reaction, self.clock.now()) else { return };
        if let Err(error) = self.call(method, &body).await {
            // Such as a press whose notice comes too late, because the server was down when it was made.
            tracing::debug!("Telegram did not take what a person was to be told: {error}");
        }
    }
}
