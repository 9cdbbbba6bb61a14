//! Telegram: a bot's messages to people, groups and channels.
//!
//! | Address | Where it goes |
//! | --- | --- |
//! | `123456789` | a person who has written to the bot |
//! | `-100123456789` | a group or a channel |
//! | `-100123456789/7` | topic 7 of a group |
//! | `@name` | a public channel |
//!
//! Answers come by long polling, or to a webhook that the channel sets by itself (`receive`).
//!
//! A group that becomes a supergroup gets another id. Telegram says which, and the message goes there at once.

mod address;
mod answer;
mod edit;
mod markup;
mod poll;
mod receive;
#[cfg(test)]
mod receive_tests;
#[cfg(test)]
mod tests;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::channel::receive::{Edits, Receive, Way};
use punctual_core::channel::{AddressRule, Bucket, Channel, Limits, Message, Rate, Receipt, SendError};
use punctual_core::clock::Clock;
use punctual_core::invalid::Invalid;
use serde_json::{Value, json};

use crate::common::buttons::buttons;
use crate::common::fields::Fields;
use crate::common::http::{self, Http};
use crate::common::kept::Kept;
use crate::common::links::Door;
use crate::common::receiving;
use crate::common::template::Template;
use crate::common::token::Token;
use crate::common::waiting::WaitingAddresses;
use crate::common::whole::whole;
use crate::setup::Server;
use address::{Chat, Place};
use answer::Said;

/// The longest message, in UTF-16 code units, without its markup. It is shortened to that, visibly.
pub const TEXT_UNITS_MAX: usize = 4096;
/// How many moved groups are remembered; another is found out again.
const MOVED_MAX: usize = 10_000;
const PLATFORM: &str = "Telegram";
const TEMPLATE: &str = "⏰ <b>{word}:</b> {message}";

/// Sends reminders as a Telegram bot.
#[derive(Debug)]
pub struct Telegram {
    http: Http,
    api_url: String,
    /// Stands in the path of every URL, so no URL is ever shown.
    token: Token,
    template: Template,
    limits: Limits,
    /// How fast to one group or channel.
    group_rate: Option<Rate>,
    /// Where groups have gone.
    moved: Kept<Chat, Chat>,
    waiting: WaitingAddresses,
    clock: Arc<dyn Clock>,
    /// How answers come; none if they do not.
    way: Option<Way>,
    /// Where Telegram's requests come in.
    door: Option<Door>,
    /// For questions that Telegram holds.
    polling: Http,
    held_for: Duration,
    conflicts: poll::Conflicts,
}

pub(crate) fn make(fields: &mut Fields, server: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    Ok(Arc::new(Telegram::new(fields, server)?))
}

impl Telegram {
    fn new(fields: &mut Fields, server: &Server) -> Result<Self, Invalid> {
        // Published: 30 messages a second in all, one a second to one chat, and 20 a minute to one group. What the operator sets
        // for one address is for both.
        let defaults =
            Limits { rate: Some(Rate::per_second(30)), address_rate: Some(Rate::per_second(1)), ..Limits::default() };
        let token = fields.needed_secret("token", "the bot's token, which @BotFather gives")?;
        if !is_token(token.expose()) {
            return Err(Invalid::new("token", "is no bot's token; @BotFather gives one such as 123456789:AAE…"));
        }
        let limits = fields.limits(defaults)?;
        let is_set = fields.text("address_rate").is_some();
        let held_for = match fields.span("poll_timeout")? {
            None => poll::HELD_FOR,
            Some(span) if (Duration::from_secs(1)..=poll::HELD_FOR).contains(&span) => span,
            Some(_) => return Err(Invalid::new("poll_timeout", "must be from 1s to 50s")),
        };
        Ok(Self {
            http: Http::new(fields.timeout(http::TIMEOUT, 2)?)?,
            api_url: fields.url("api_url", "https://api.telegram.org")?,
            token,
            template: fields
                .template("template", markup::escape)?
                .unwrap_or_else(|| Template::fixed(TEMPLATE, markup::escape)),
            limits,
            group_rate: if is_set { limits.address_rate } else { Some(Rate::per_minute(20)) },
            moved: Kept::new(MOVED_MAX),
            waiting: WaitingAddresses::default(),
            clock: server.clock.clone(),
            way: receiving::way(fields, Some(Way::Connection))?,
            door: server.door.clone(),
            // Longer than Telegram holds it: an answer may be on its way.
            polling: Http::new(held_for + (held_for / 5).max(Duration::from_secs(2)))?.reading(poll::BODY_BYTES_MAX),
            held_for,
            conflicts: poll::Conflicts::default(),
        })
    }

    /// The URL of a method.
    fn method(&self, name: &str) -> String {
        format!("{}/bot{}/{name}", self.api_url, self.token.expose())
    }

    async fn send_to(&self, chat: &Chat, place: &Place, message: &Message) -> Result<Receipt, Said> {
        let mut body = json!({
            "chat_id": chat.to_json(),
            "text": whole(&self.template, message, "", TEXT_UNITS_MAX, markup::units),
            "parse_mode": "HTML",
            "link_preview_options": {"is_disabled": true},
        });
        if let Some(topic) = place.topic {
            body["message_thread_id"] = topic.into();
        }
        // One below the other, so that no label is cut on a narrow screen.
        let rows = buttons(message).into_iter();
        let rows: Vec<Value> =
            rows.map(|button| json!([{"text": button.label, "callback_data": button.data}])).collect();
        if !rows.is_empty() {
            body["reply_markup"] = json!({"inline_keyboard": rows});
        }
        let request = self.http.post(&self.method("sendMessage")).json(&body);
        let answer = self.http.ask(request, PLATFORM).await.map_err(Said::Failed)?;
        let whom = |wait: Duration| self.waiting.whom(&place.chat.bucket(), message.sent_at, wait);
        answer::read(&answer, chat, &self.token, message.sent_at, whom)
    }
}

#[async_trait]
impl Channel for Telegram {
    fn kind(&self) -> &'static str {
        "telegram"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let place: Place =
            message.to.address.parse().map_err(|invalid: Invalid| SendError::Refused(invalid.to_string()))?;
        let chat = self.moved.get(&place.chat).unwrap_or_else(|| place.chat.clone());
        let new = match self.send_to(&chat, &place, message).await {
            Ok(receipt) => return Ok(receipt),
            Err(Said::Failed(error)) => return Err(error),
            Err(Said::Moved(new)) => new,
        };
        self.moved.put(place.chat.clone(), new.clone());
        match self.send_to(&new, &place, message).await {
            Ok(receipt) => Ok(receipt),
            Err(Said::Failed(error)) => Err(error),
            Err(Said::Moved(_)) => Err(SendError::Unavailable("the group has moved twice at once".into())),
        }
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        address.parse::<Place>().map(drop)
    }

    fn address_rule(&self) -> AddressRule {
        address::rule()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn digest_max(&self) -> Option<usize> {
        Some(1_900)
    }

    fn bucket(&self, address: &str) -> Bucket {
        match address.parse::<Place>() {
            Ok(Place { chat, .. }) => {
                let rate = if chat.is_person() { self.limits.address_rate } else { self.group_rate };
                Bucket { name: chat.bucket(), rate }
            }
            // An address that cannot be called needs no bucket of its own.
            Err(_) => Bucket { name: "invalid".into(), rate: self.limits.address_rate },
        }
    }

    fn receiver(&self, _address: &str) -> String {
        PLATFORM.to_lowercase()
    }

    fn receives(&self) -> Option<&dyn Receive> {
        self.way.is_some().then_some(self)
    }

    fn edits(&self) -> Option<&dyn Edits> {
        Some(self)
    }
}

/// Such as `123456789:AAE…`: only these characters, so that nothing in it can change the URL.
fn is_token(text: &str) -> bool {
    let is_secret = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    text.split_once(':').is_some_and(|(bot, secret)| {
        !bot.is_empty() && bot.bytes().all(|byte| byte.is_ascii_digit()) && secret.len() >= 8 && is_secret(secret)
    })
}
