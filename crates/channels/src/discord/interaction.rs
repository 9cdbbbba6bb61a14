//! Presses that come as requests, what a person is told, and messages that show their answer.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::channel::SendError;
use punctual_core::channel::receive::{
    Call, Choice, Edit, Ended, Inbound, Inlet, NotRead, Place, Reaction, Receive, Reply, Way,
};
use punctual_core::phrase::Lang;
use serde_json::{Value, json};

use super::receive::{self, Back};
use super::{CONTENT_CHARS_MAX, Discord, markup, put_buttons};
use crate::common::buttons::data;
use crate::common::fit::{Unit, fit};
use crate::common::reactions::said;
use crate::common::signatures;
use crate::common::texts::texts;

/// How far the time of a signature may be off.
const TOLERANCE: Duration = Duration::from_secs(300);
/// When a press is acknowledged although its answer is not recorded yet: Discord waits for three seconds.
pub(super) const DEFER_AFTER: Duration = Duration::from_millis(1500);
/// Only the person who pressed sees it.
const EPHEMERAL: u64 = 64;
/// The longest label of a button.
const LABEL_CHARS_MAX: usize = 80;
/// How many buttons stand in a row.
const ROW_MAX: usize = 5;

#[async_trait]
impl Receive for Discord {
    fn way(&self) -> Way {
        self.way.unwrap_or(Way::Connection)
    }

    async fn connect(&self, place: Option<Place>, inlet: &dyn Inlet) -> Ended {
        self.keep_gateway(place, inlet).await
    }

    fn read(&self, call: &Call<'_>, now: Timestamp) -> Result<Vec<Inbound>, NotRead> {
        self.check(call, now)?;
        let interaction: Value =
            serde_json::from_slice(call.body).map_err(|error| NotRead::Malformed(format!("is no JSON: {error}")))?;
        if interaction["type"] == 1 {
            return Err(NotRead::Answer(Reply::json(&json!({"type": 1}))));
        }
        Ok(receive::press(&interaction).map_err(NotRead::Malformed)?.into_iter().collect())
    }

    fn reply(&self, taken: &[(Inbound, Reaction)]) -> Reply {
        let (_, reaction) = match taken.first() {
            Some(taken) => taken,
            None => return Reply::json(&json!({"type": 6})),
        };
        Reply::json(&self.callback(reaction))
    }

    fn edits_in_reply(&self) -> bool {
        true
    }
}

impl Discord {
    fn check(&self, call: &Call<'_>, now: Timestamp) -> Result<(), NotRead> {
        let Some(key) = &self.public_key else { return Err(NotRead::Forged) };
        let header = |name: &str| call.header(name).unwrap_or_default();
        let (time, signature) = (header("x-signature-timestamp"), header("x-signature-ed25519"));
        let is_signed = |tolerance| signatures::discord(key, time, call.body, signature, now, tolerance);
        match (is_signed(Duration::MAX), is_signed(TOLERANCE)) {
            (true, true) => Ok(()),
            (true, false) => Err(NotRead::Stale),
            _ => Err(NotRead::Forged),
        }
    }

    /// The reply to an interaction: the message that shows the answer, words that only the person sees, or a reply that shows nothing.
    fn callback(&self, reaction: &Reaction) -> Value {
        if let Some(edit) = edit_of(reaction) {
            return json!({"type": 7, "data": self.edited(edit)});
        }
        match self.said_body(Some(reaction)) {
            Some(mut data) => {
                data["flags"] = EPHEMERAL.into();
                json!({"type": 4, "data": data})
            }
            None => json!({"type": 6}),
        }
    }

    /// The words for a reaction, or for none: then it did not work.
    fn said_body(&self, reaction: Option<&Reaction>) -> Option<Value> {
        let (text, choices): (String, &[Choice]) = match reaction {
            Some(reaction) => {
                let said = said(reaction, self.clock.now())?;
                (said.text, said.choices)
            }
            None => (texts(Lang::En).try_again.to_owned(), &[]),
        };
        let content = fit(&text, CONTENT_CHARS_MAX, Unit::Chars, Lang::En, markup::escape);
        let mut body = json!({"content": content, "allowed_mentions": {"parse": []}});
        let buttons = choices.iter().take(ROW_MAX).map(|choice| {
            let label = fit(&choice.label, LABEL_CHARS_MAX, Unit::Chars, Lang::En, str::to_owned);
            let data = data(choice.pressed);
            json!({"type": 2, "style": 2, "label": label, "custom_id": data})
        });
        put_buttons(&mut body, buttons.collect());
        Some(body)
    }

    /// Acknowledges a press whose answer takes long to be recorded. Returns whether that was taken.
    pub(super) async fn defer(&self, inbound: &Inbound) -> bool {
        let Some(Back::Interaction { id, token, .. }) = Back::of(&inbound.handle) else { return false };
        self.answer_interaction(&id, &token, &json!({"type": 6})).await.is_ok()
    }

    /// Tells a person what was made of their answer; `None`: that it could not be recorded. The answer itself stands, whether they
    /// are told or not.
    pub(super) async fn tell_quietly(&self, inbound: Inbound, reaction: Option<Reaction>, is_deferred: bool) {
        if let Err(error) = self.tell_one(&inbound, reaction.as_ref(), is_deferred).await {
            tracing::debug!("Discord did not take what a person was to be told: {error}");
        }
    }

    async fn tell_one(
        &self,
        inbound: &Inbound,
        reaction: Option<&Reaction>,
        is_deferred: bool,
    ) -> Result<(), SendError> {
        match (Back::of(&inbound.handle), reaction) {
            (Some(Back::Interaction { id, token, .. }), Some(reaction)) if !is_deferred => {
                let told = self.answer_interaction(&id, &token, &self.callback(reaction)).await;
                match (told, edit_of(reaction)) {
                    // The token is void after three seconds, or another program has answered: the bot edits the message by itself.
                    (Err(SendError::Refused(_)), Some(edit)) => self.edit_message(edit).await,
                    (told, _) => told,
                }
            }
            (Some(Back::Interaction { token, application, .. }), reaction) => {
                let url = format!("{}/webhooks/{application}/{token}", self.api_url);
                if let Some(edit) = reaction.and_then(edit_of) {
                    let request = self.http.patch(&format!("{url}/messages/@original")).json(&self.edited(edit));
                    return self.ask_freely(request, &token).await;
                }
                let Some(mut body) = self.said_body(reaction) else { return Ok(()) };
                body["flags"] = EPHEMERAL.into();
                self.ask_freely(self.http.post(&url).json(&body), &token).await
            }
            (Some(Back::Channel { channel, message }), reaction) => {
                let Some(mut body) = self.said_body(reaction) else { return Ok(()) };
                body["message_reference"] = json!({"message_id": message, "fail_if_not_exists": false});
                let request = self.bot(self.http.post(&format!("{}/channels/{channel}/messages", self.api_url)))?;
                self.ask(request.json(&body), self.clock.now(), "").await.map(drop)
            }
            (None, _) => Ok(()),
        }
    }

    async fn answer_interaction(&self, id: &str, token: &str, body: &Value) -> Result<(), SendError> {
        let url = format!("{}/interactions/{id}/{token}/callback", self.api_url);
        self.ask_freely(self.http.post(&url).json(body), token).await
    }
}

fn edit_of(reaction: &Reaction) -> Option<&Edit> {
    match reaction {
        Reaction::Answered { edit, .. } | Reaction::Already { edit, .. } => edit.as_deref(),
        _ => None,
    }
}
