//! Requests that say they come from Meta, and what a person is told.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::channel::SendError;
use punctual_core::channel::receive::{Call, Inbound, NotRead, Reaction, Receive, Reply, Way};
use punctual_core::phrase::Lang;
use serde_json::{Value, json};

use super::receive::{self, Back};
use super::{BODY_UNITS_MAX, PLATFORM, TEXT_UNITS_MAX, Whatsapp, answer};
use crate::common::buttons::data;
use crate::common::fit::{Unit, fit};
use crate::common::http::pairs;
use crate::common::reactions::{Said, is_confirmation, said};
use crate::common::signatures;

/// How many buttons a message has; more choices are the rows of a list.
const BUTTONS_MAX: usize = 3;
const ROWS_MAX: usize = 10;
/// The longest label of a button, of a row, and of what stands below a row.
const BUTTON_UNITS_MAX: usize = 20;
const ROW_UNITS_MAX: usize = 24;
const DESCRIPTION_UNITS_MAX: usize = 72;
/// The longest challenge that is repeated.
const CHALLENGE_BYTES_MAX: usize = 256;

#[async_trait]
impl Receive for Whatsapp {
    fn way(&self) -> Way {
        Way::Webhook
    }

    fn read(&self, call: &Call<'_>, _now: Timestamp) -> Result<Vec<Inbound>, NotRead> {
        if call.is_get {
            return Err(self.challenge(call));
        }
        let signature = call.header("x-hub-signature-256").unwrap_or_default();
        let secret = self.app_secret.as_ref();
        if !secret.is_some_and(|secret| signatures::meta(secret.expose().as_bytes(), call.body, signature)) {
            return Err(NotRead::Forged);
        }
        let notification: Value =
            serde_json::from_slice(call.body).map_err(|error| NotRead::Malformed(format!("is no JSON: {error}")))?;
        Ok(receive::read(&notification, &self.phone_number_id))
    }

    /// The person has just written, so free text is taken.
    async fn react(&self, inbound: &Inbound, reaction: &Reaction) -> Result<(), SendError> {
        let (Some(back), Some(said)) = (Back::of(&inbound.handle), said(reaction, self.clock.now())) else {
            return Ok(());
        };
        if is_confirmation(reaction) && !self.confirms {
            return Ok(());
        }
        let mut body = said_body(&said);
        body["messaging_product"] = "whatsapp".into();
        body["recipient_type"] = "individual".into();
        body["to"] = back.to.into();
        body["context"] = json!({"message_id": back.message});
        let request = self.http.post(&self.url).bearer_auth(self.token.expose()).json(&body);
        let answer = self.http.ask(request, PLATFORM).await?;
        match answer::read(&answer, &self.token, self.clock.now()) {
            Ok(_) => Ok(()),
            Err(answer::Said::Failed(error)) => Err(error),
            Err(answer::Said::SessionOver(said)) => Err(SendError::Refused(said)),
        }
    }
}

impl Whatsapp {
    /// Meta asks once, when it is told the URL, whether the server there knows the token.
    fn challenge(&self, call: &Call<'_>) -> NotRead {
        let query = call.path_and_query.split_once('?').map(|(_, query)| query).unwrap_or_default();
        let pairs = pairs(query.as_bytes());
        let value = |name: &str| pairs.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str());
        let is_known =
            self.verify_token.as_ref().is_some_and(|token| signatures::same(token.expose(), value("hub.verify_token")));
        let challenge = value("hub.challenge");
        let is_plain =
            challenge.len() <= CHALLENGE_BYTES_MAX && challenge.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match is_known && is_plain && value("hub.mode") == "subscribe" {
            true => NotRead::Answer(Reply { status: 200, content_type: "text/plain", body: challenge.to_owned() }),
            false => NotRead::Forged,
        }
    }
}

fn said_body(said: &Said<'_>) -> Value {
    let short = |text: &str, max| fit(text, max, Unit::Utf16, Lang::En, str::to_owned);
    if said.choices.is_empty() {
        return json!({"type": "text", "text": {"preview_url": false, "body": short(&said.text, TEXT_UNITS_MAX)}});
    }
    let body = json!({"text": short(&said.text, BODY_UNITS_MAX)});
    let value = |n: usize| data(said.choices[n].pressed);
    let interactive = if said.choices.len() <= BUTTONS_MAX {
        let buttons: Vec<Value> = said
            .choices
            .iter()
            .enumerate()
            .map(|(n, choice)| {
                let title = short(&choice.label, BUTTON_UNITS_MAX);
                json!({"type": "reply", "reply": {"id": value(n), "title": title}})
            })
            .collect();
        json!({"type": "button", "body": body, "action": {"buttons": buttons}})
    } else {
        let rows: Vec<Value> = said
            .choices
            .iter()
            .take(ROWS_MAX)
            .enumerate()
            .map(|(n, choice)| {
                let (title, more) = (short(&choice.label, ROW_UNITS_MAX), short(&choice.label, DESCRIPTION_UNITS_MAX));
                json!({"id": value(n), "title": title, "description": more})
            })
            .collect();
        json!({"type": "list", "body": body, "action": {"button": "…", "sections": [{"rows": rows}]}})
    };
    json!({"type": "interactive", "interactive": interactive})
}
