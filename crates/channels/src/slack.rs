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
//! The text is sent as rich text, which Slack shows letter by letter: its older markup has no way to write a `*` that is one.

mod address;
mod answer;
mod rich;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use punctual_core::channel::{Channel, Limits, Message, Rate, Receipt, SendError};
use punctual_core::invalid::Invalid;
use reqwest::RequestBuilder;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::common::buttons::{Verb, buttons};
use crate::common::crowd::Crowd;
use crate::common::fields::Fields;
use crate::common::http::{self, Answer, Http};
use crate::common::links::Links;
use crate::common::template::{Template, plain};
use crate::common::token::Token;
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
    crowd: Crowd,
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
        Ok(Self {
            http: Http::new(fields.span("timeout")?.unwrap_or(http::TIMEOUT))?,
            api_url: fields.url("api_url", "https://slack.com/api")?,
            token,
            template: fields.template("template", plain)?.unwrap_or_else(|| Template::fixed(TEMPLATE, plain)),
            limits: fields.limits(defaults)?,
            links: server.links.clone(),
            crowd: Crowd::default(),
        })
    }

    async fn post(&self, channel: &str, called: Option<&str>, message: &Message) -> Result<Receipt, SendError> {
        let token = self.token.as_ref().ok_or_else(|| SendError::Unavailable(NO_TOKEN.into()))?;
        let mut body =
            self.body(called, message, |verb, data| json!({"action_id": format!("punctual_{verb}"), "value": data}));
        body["channel"] = channel.into();
        // The text is only read out and shown in notifications; there nothing is to be made of it.
        body["mrkdwn"] = false.into();
        body["parse"] = "none".into();
        // For finding it again: Slack knows no key that keeps a message from being posted twice.
        let key = json!({"idempotency_key": message.idempotency_key});
        body["metadata"] = json!({"event_type": "punctual_reminder", "event_payload": key});
        let request = self.http.post(&format!("{}/chat.postMessage", self.api_url)).bearer_auth(token.expose());
        let answer = self.ask(request, &body).await?;
        answer::read(&answer, self.reading(message, token))
    }

    async fn post_to_webhook(&self, url: &str, secret: &Token, message: &Message) -> Result<Receipt, SendError> {
        // A webhook need not belong to an application that hears of buttons; a link works for all.
        let links = self.links.as_ref();
        let mut body = self.body(None, message, |verb, _| match links.zip(verb.parse().ok()) {
            Some((links, verb)) => json!({"url": links.link(verb, message.occurrence)}),
            None => Value::Null,
        });
        if links.is_none()
            && let Some(blocks) = body["blocks"].as_array_mut()
        {
            blocks.truncate(1);
        }
        let answer = self.ask(self.http.post(url), &body).await?;
        answer::read_webhook(&answer, self.reading(message, secret))
    }

    /// What every message has. `press` says what a button does.
    fn body(&self, called: Option<&str>, message: &Message, press: impl Fn(&str, &str) -> Value) -> Value {
        let rich = rich::said(&self.template, message);
        let mut blocks = vec![rich::block(&rich, called)];
        let elements: Vec<Value> = buttons(message)
            .into_iter()
            .map(|button| {
                let mut element = press(button.verb.as_str(), &button.data);
                element["type"] = "button".into();
                element["text"] = json!({"type": "plain_text", "text": button.label, "emoji": false});
                if button.verb == Verb::Ack {
                    element["style"] = "primary".into();
                }
                element
            })
            .collect();
        if !elements.is_empty() {
            blocks.push(json!({"type": "actions", "elements": elements}));
        }
        json!({"text": rich::fallback(&rich), "blocks": blocks, "unfurl_links": false, "unfurl_media": false})
    }

    async fn ask(&self, request: RequestBuilder, body: &Value) -> Result<Answer, SendError> {
        self.http.ask(request.header(CONTENT_TYPE, JSON).json(body), PLATFORM).await
    }

    fn reading<'a>(&'a self, message: &'a Message, secret: &'a Token) -> answer::Reading<'a> {
        answer::Reading { crowd: &self.crowd, address: &message.to.address, sent_at: message.sent_at, secret }
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
        match place {
            Place::Channel { channel, user } => self.post(&channel, user.as_deref(), message).await,
            Place::Webhook { url, secret } => self.post_to_webhook(&url, &secret, message).await,
        }
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        match Place::parse(address, &self.api_url)? {
            Place::Webhook { .. } => Ok(()),
            _ if self.token.is_some() => Ok(()),
            _ => Err(Invalid::new("address", NO_TOKEN)),
        }
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn gathers(&self) -> Option<usize> {
        Some(1_400)
    }

    fn receiver(&self, _address: &str) -> String {
        PLATFORM.to_lowercase()
    }
}
