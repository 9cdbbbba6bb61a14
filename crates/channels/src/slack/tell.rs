//! Tells a person about their answer, and lets the message show it.

use async_trait::async_trait;
use punctual_core::channel::SendError;
use punctual_core::channel::receive::{Edit, Edits, Inbound, Reaction};
use punctual_core::phrase::Lang;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::address::Place;
use super::receive::Back;
use super::{JSON, NO_TOKEN, PLATFORM, Slack, answer, rich};
use crate::common::buttons::{Verb, data};
use crate::common::fit::{Unit, fit};
use crate::common::reactions::{Said, line, said};
use crate::common::template::Piece;
use crate::common::token::Token;

/// The longest label of a button.
const LABEL_CHARS_MAX: usize = 75;
/// How many buttons stand in a row; Slack takes no message with more.
const ROW_MAX: usize = 25;

impl Slack {
    /// Tells the person what was made of their answer. A press that was taken shows in the message itself.
    pub(super) async fn tell_one(&self, inbound: &Inbound, reaction: &Reaction) -> Result<(), SendError> {
        let (Some(back), Some(said)) = (Back::of(&inbound.handle), said(reaction, self.clock.now())) else {
            return Ok(());
        };
        match back {
            Back::Response(url) if said.is_no => {
                let body = json!({"response_type": "ephemeral", "replace_original": false, "text": escape(&said.text)});
                // Anybody who knows this URL can write to the person.
                let secret = Token::new(url.rsplit('/').next().unwrap_or_default());
                let request = self.http.post(&url).header(CONTENT_TYPE, JSON).json(&body);
                let answer = self.http.ask(request, PLATFORM).await?;
                match answer.status.is_success() {
                    true => Ok(()),
                    false => Err(SendError::Unavailable(format!("Slack {}", answer.said(&[&secret])))),
                }
            }
            Back::Response(_) => Ok(()),
            Back::Channel { channel, thread } => {
                let mut body = said_body(&said);
                body["channel"] = channel.as_str().into();
                if let Some(thread) = thread {
                    body["thread_ts"] = thread.into();
                }
                self.call("chat.postMessage", &body, &channel).await
            }
        }
    }

    /// Calls a method as the bot.
    async fn call(&self, method: &str, body: &Value, channel: &str) -> Result<(), SendError> {
        let token = self.token.as_ref().ok_or_else(|| SendError::Unavailable(NO_TOKEN.into()))?;
        let request = self.http.post(&format!("{}/{method}", self.api_url)).bearer_auth(token.expose());
        let answer = self.http.ask(request.header(CONTENT_TYPE, JSON).json(body), PLATFORM).await?;
        let reading =
            answer::Reading { waiting: &self.waiting, bucket: channel, sent_at: self.clock.now(), secret: token };
        answer::read(&answer, reading).map(drop)
    }
}

#[async_trait]
impl Edits for Slack {
    async fn edit(&self, edit: &Edit) -> Result<(), SendError> {
        let Some((channel, ts)) = edit.message_id.split_once('/') else {
            return Err(SendError::Refused("the message's id is none of Slack's".into()));
        };
        let called = match Place::parse(&edit.message.to.address, &self.api_url) {
            Ok(Place::Channel { user, .. }) => user,
            _ => None,
        };
        let pieces = rich::ended(&self.template, &edit.message, &line(edit));
        let body = json!({
            "channel": channel,
            "ts": ts,
            "text": rich::fallback(&pieces),
            "blocks": [rich::block(&pieces, called.as_deref())],
        });
        match self.call("chat.update", &body, channel).await {
            Err(SendError::Refused(said)) if is_done(&said) => Ok(()),
            edited => edited,
        }
    }
}

/// Whether nothing is left to be changed: the message is gone, or too old to be edited.
fn is_done(said: &str) -> bool {
    ["message_not_found", "edit_window_closed", "cant_update_message"].iter().any(|word| said.ends_with(word))
}

fn said_body(said: &Said<'_>) -> Value {
    let text = fit(&said.text, rich::TEXT_UNITS_MAX, Unit::Utf16, Lang::En, str::to_owned);
    let pieces = [Piece::Value(text)];
    let mut blocks = vec![rich::block(&pieces, None)];
    let elements: Vec<Value> = said
        .choices
        .iter()
        .take(ROW_MAX)
        .enumerate()
        .map(|(n, choice)| {
            let label = fit(&choice.label, LABEL_CHARS_MAX, Unit::Utf16, Lang::En, str::to_owned);
            let pressed = choice.pressed;
            // An id may stand in a message once.
            let id = match pressed.verb {
                Verb::Ack => format!("punctual_ack_{n}"),
                Verb::Snooze => format!("punctual_snooze_{n}"),
                Verb::Dismiss => format!("punctual_dismiss_{n}"),
            };
            let text = json!({"type": "plain_text", "text": label, "emoji": false});
            let value = data(pressed);
            json!({"type": "button", "action_id": id, "value": value, "text": text})
        })
        .collect();
    if !elements.is_empty() {
        blocks.push(json!({"type": "actions", "elements": elements}));
    }
    json!({
        "text": rich::fallback(&pieces), "blocks": blocks, "unfurl_links": false, "unfurl_media": false,
        "mrkdwn": false, "parse": "none",
    })
}

/// Plain words in Slack's older markup.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
