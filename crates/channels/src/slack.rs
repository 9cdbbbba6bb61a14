//! Slack: a bot's messages in channels and to people, and incoming webhooks.
//!
//! | Address | Where it goes |
//! | --- | --- |
//! | `C0123456789` | a channel, by its id (also `G…`, `D…`) |
//! | `C0123456789@U0123456789` | a channel, where that user is called |
//! | `U0123456789` | the user's own messages |
//! | `#general` | a public channel by its name |
//! | `https://hooks.slack.com/services/…` | the webhook's channel; no bot is needed |
//!
//! Answers come over a WebSocket (Socket Mode) or by requests of Slack's (`receive`).
//!
//! The text is sent as rich text, which Slack shows letter by letter: its older markup has no way to write a `*` that is one.

mod address;
mod answer;
mod receive;
#[cfg(test)]
mod receive_tests;
mod rich;
mod socket;
mod tell;
#[cfg(test)]
mod tests;
mod webhook;

use std::sync::Arc;

use async_trait::async_trait;
use punctual_core::channel::receive::{Edits, Receive, Way};
use punctual_core::channel::{AddressRule, Bucket, Channel, Limits, Message, Rate, Receipt, SendError};
use punctual_core::clock::Clock;
use punctual_core::invalid::Invalid;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::common::buttons::{Button, Verb, buttons};
use crate::common::fields::Fields;
use crate::common::http::{self, Http};
use crate::common::links::Links;
use crate::common::receiving;
use crate::common::template::{Template, plain};
use crate::common::token::Token;
use crate::common::waiting::WaitingAddresses;
use crate::setup::Server;
use address::Place;

const PLATFORM: &str = "Slack";
const TEMPLATE: &str = "{mention} ⏰ *{word}:* {message}";
/// Slack warns where the charset is missing.
const JSON: &str = "application/json; charset=utf-8";

/// Sends reminders through Slack.
#[derive(Debug)]
pub struct Slack {
    http: Http,
    api_url: String,
    token: Option<Token>,
    template: Template,
    limits: Limits,
    links: Option<Links>,
    waiting: WaitingAddresses,
    clock: Arc<dyn Clock>,
    /// How answers come; none if they do not.
    way: Option<Way>,
    /// For Socket Mode.
    app_token: Option<Token>,
    /// Proves that a request comes from Slack.
    signing_secret: Option<Token>,
}

pub(crate) fn make(fields: &mut Fields, server: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    Ok(Arc::new(Slack::new(fields, server)?))
}

impl Slack {
    fn new(fields: &mut Fields, server: &Server) -> Result<Self, Invalid> {
        // Published: one message a second to one channel, and several hundred a minute to one workspace.
        let defaults =
            Limits { rate: Some(Rate::per_second(5)), address_rate: Some(Rate::per_second(1)), ..Limits::default() };
        let token = fields.secret("token")?;
        token.iter().try_for_each(|token| http::check_header("token", token))?;
        let (app_token, signing_secret) = (fields.secret("app_token")?, fields.secret("signing_secret")?);
        app_token.iter().try_for_each(|token| http::check_header("app_token", token))?;
        let default = match (&app_token, &signing_secret) {
            (Some(_), _) => Some(Way::Connection),
            (None, Some(_)) => Some(Way::Webhook),
            (None, None) => None,
        };
        let way = receiving::way(fields, default)?;
        match way {
            Some(Way::Connection) if app_token.is_none() => {
                return Err(receiving::needs(Way::Connection, "app_token", "an app-level token, xapp-…"));
            }
            Some(Way::Webhook) if signing_secret.is_none() => {
                let what = "the app's signing secret, from its basic information";
                return Err(receiving::needs(Way::Webhook, "signing_secret", what));
            }
            _ => {}
        }
        Ok(Self {
            http: Http::new(fields.timeout(http::TIMEOUT, 1)?)?,
            api_url: fields.url("api_url", "https://slack.com/api")?,
            token,
            template: fields.template("template", plain)?.unwrap_or_else(|| Template::fixed(TEMPLATE, plain)),
            limits: fields.limits(defaults)?,
            links: server.links.clone(),
            waiting: WaitingAddresses::default(),
            clock: server.clock.clone(),
            way,
            app_token,
            signing_secret,
        })
    }

    async fn post(&self, place: &Place, message: &Message) -> Result<Receipt, SendError> {
        let (request, body, secret) = match place {
            Place::Channel { channel, user } => {
                let token = self.token.as_ref().ok_or_else(|| SendError::Unavailable(NO_TOKEN.into()))?;
                let request = self.http.post(&format!("{}/chat.postMessage", self.api_url));
                (request.bearer_auth(token.expose()), self.bot_body(channel, user.as_deref(), message), token)
            }
            Place::Webhook { url, secret, .. } => (self.http.post(url), self.webhook_body(message), secret),
        };
        let answer = self.http.ask(request.header(CONTENT_TYPE, JSON).json(&body), PLATFORM).await?;
        let reading =
            answer::Reading { waiting: &self.waiting, bucket: place.bucket(), sent_at: message.sent_at, secret };
        match place {
            Place::Channel { .. } => answer::read(&answer, reading),
            Place::Webhook { .. } => answer::read_webhook(&answer, reading),
        }
    }

    fn bot_body(&self, channel: &str, called: Option<&str>, message: &Message) -> Value {
        let press =
            |button: &Button| json!({"action_id": format!("punctual_{}", button.verb.as_str()), "value": button.data});
        let mut body = self.body(called, message, Some(press));
        body["channel"] = channel.into();
        // The text is only read out and shown in notifications; there nothing is to be made of it.
        body["mrkdwn"] = false.into();
        body["parse"] = "none".into();
        // For finding it again: Slack knows no key that keeps a message from being posted twice.
        let key = json!({"idempotency_key": message.idempotency_key});
        body["metadata"] = json!({"event_type": "punctual_reminder", "event_payload": key});
        body
    }

    /// A webhook need not belong to an application that hears of buttons; a link works for all.
    fn webhook_body(&self, message: &Message) -> Value {
        let link = |links: &Links, button: &Button| json!({"url": links.link(button.verb, message.occurrence)});
        self.body(None, message, self.links.as_ref().map(|links| move |button: &Button| link(links, button)))
    }

    /// The fields of every message. `press` says what a button does; without it there are no buttons.
    fn body(&self, called: Option<&str>, message: &Message, press: Option<impl Fn(&Button) -> Value>) -> Value {
        let rich = rich::said(&self.template, message);
        let mut blocks = vec![rich::block(&rich, called)];
        let buttons = press.map(|press| (press, buttons(message))).filter(|(_, buttons)| !buttons.is_empty());
        if let Some((press, buttons)) = buttons {
            let element = |button: &Button| {
                let mut element = press(button);
                element["type"] = "button".into();
                element["text"] = json!({"type": "plain_text", "text": button.label, "emoji": false});
                if button.verb == Verb::Ack {
                    element["style"] = "primary".into();
                }
                element
            };
            let elements: Vec<Value> = buttons.iter().map(element).collect();
            blocks.push(json!({"type": "actions", "elements": elements}));
        }
        json!({"text": rich::fallback(&rich), "blocks": blocks, "unfurl_links": false, "unfurl_media": false})
    }
}

const NO_TOKEN: &str = "the channel has no token; write the bot's token, or use an incoming webhook's URL as address";

#[async_trait]
impl Channel for Slack {
    fn kind(&self) -> &'static str {
        "slack"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let place = Place::parse(&message.to.address, &self.api_url)
            .map_err(|invalid| SendError::Refused(invalid.to_string()))?;
        self.post(&place, message).await
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        match Place::parse(address, &self.api_url)? {
            Place::Webhook { .. } => Ok(()),
            _ if self.token.is_some() => Ok(()),
            _ => Err(Invalid::new("address", NO_TOKEN)),
        }
    }

    fn address_rule(&self) -> AddressRule {
        address::rule(&self.api_url, self.token.is_some())
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn digest_max(&self) -> Option<usize> {
        Some(1_400)
    }

    fn bucket(&self, address: &str) -> Bucket {
        // An address that cannot be called needs no bucket of its own, and must not be repeated.
        let place = Place::parse(address, &self.api_url);
        let name = place.map_or_else(|_| "invalid".into(), |place| place.bucket().to_owned());
        Bucket { name, rate: self.limits.address_rate }
    }

    fn receiver(&self, _address: &str) -> String {
        PLATFORM.to_lowercase()
    }

    fn receives(&self) -> Option<&dyn Receive> {
        self.way.is_some().then_some(self)
    }

    fn edits(&self) -> Option<&dyn Edits> {
        self.token.is_some().then_some(self)
    }
}
