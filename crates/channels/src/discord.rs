//! Discord: a bot's messages in channels and to people, and webhooks of channels.
//!
//! | Address | Where it goes |
//! | --- | --- |
//! | `CHANNEL_ID` | a channel |
//! | `CHANNEL_ID@USER_ID` | a channel, where that user is called |
//! | `dm:USER_ID` | the user's own messages |
//! | `https://discord.com/api/webhooks/ID/TOKEN` | the webhook's channel; no bot is needed |
//!
//! Answers come over the gateway, or by requests of Discord's (`receive`).
//!
//! A message has a `nonce` made of its idempotency key: Discord shows a message once that is sent again within minutes. A webhook's has none.

mod address;
mod answer;
mod edit;
mod gateway;
mod interaction;
mod invalid;
mod markup;
mod places;
mod receive;
#[cfg(test)]
mod receive_tests;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use punctual_core::channel::receive::{Edits, Receive, Way};
use punctual_core::channel::{AddressRule, Bucket, Channel, Limits, Message, Rate, Receipt, SendError, Whom};
use punctual_core::clock::Clock;
use punctual_core::invalid::Invalid;
use reqwest::header::{AUTHORIZATION, USER_AGENT};
use reqwest::{RequestBuilder, Url};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::common::buttons::{Verb, buttons};
use crate::common::fields::Fields;
use crate::common::fit::Unit;
use crate::common::http::{self, Answer, Http};
use crate::common::kept::Kept;
use crate::common::link::Link;
use crate::common::links::Links;
use crate::common::receiving;
use crate::common::template::Template;
use crate::common::token::Token;
use crate::common::whole::whole;
use crate::setup::Server;
use address::Place;
use invalid::Invalids;
use places::Places;

/// The longest message, in Unicode characters. It is shortened to that, visibly.
pub const CONTENT_CHARS_MAX: usize = 2000;
/// How many people's message channels are remembered; another is asked for again.
const DMS_MAX: usize = 10_000;
/// 24 characters, of the 25 that a nonce may have.
const NONCE_BYTES: usize = 18;
const PLATFORM: &str = "Discord";
const TEMPLATE: &str = "{mention} ⏰ **{word}:** {message}";

/// Sends reminders through Discord.
#[derive(Debug)]
pub struct Discord {
    http: Http,
    api_url: String,
    token: Option<Token>,
    user_agent: String,
    template: Template,
    limits: Limits,
    /// Over all requests; the engine keeps `limits`, which count messages.
    places: Places,
    links: Option<Links>,
    invalids: Arc<Invalids>,
    invalid_max: usize,
    /// The channels of people's own messages.
    dms: Kept<u64, Arc<Link<u64>>>,
    /// Before this no message channel is opened: Discord has asked for a pause.
    no_dm_before: Mutex<Timestamp>,
    clock: Arc<dyn Clock>,
    /// How answers come; none if they do not.
    way: Option<Way>,
    /// Where the gateway is, if not where Discord's own is.
    gateway_url: Option<String>,
    gateway: gateway::Gateway,
    /// The application's key, in hexadecimal: proves that a request comes from Discord.
    public_key: Option<String>,
}

pub(crate) fn make(fields: &mut Fields, server: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    Ok(Arc::new(Discord::new(fields, server)?))
}

impl Discord {
    fn new(fields: &mut Fields, server: &Server) -> Result<Self, Invalid> {
        // Published: 50 requests a second for a bot. How fast one channel takes messages is only told in its answers; 5 in
        // 5 seconds is what it has been for years.
        let defaults = Limits {
            rate: Some(Rate::per_second(50)),
            address_rate: Some(Rate { n: 5, per: Duration::from_secs(5) }),
            ..Limits::default()
        };
        let api_url = fields.url("api_url", "https://discord.com/api/v10")?;
        let token = fields.secret("token")?;
        token.iter().try_for_each(|token| http::check_header("token", token))?;
        let limits = fields.limits(defaults)?;
        let invalid_max = fields.number("invalid_requests_max", 1..=9_900)?.unwrap_or(invalid::INVALID_MAX);
        let (public_key, gateway_url) = (public_key(fields)?, gateway_url(fields)?);
        // A server in place of Discord's API says nothing about where the gateway is.
        let is_discords = api_url.starts_with("https://discord.com/");
        let default = (token.is_some() && (is_discords || gateway_url.is_some())).then_some(Way::Connection);
        let way = receiving::way(fields, default)?;
        match way {
            Some(Way::Connection) if token.is_none() => {
                return Err(receiving::needs(Way::Connection, "token", "the bot's token"));
            }
            Some(Way::Webhook) if public_key.is_none() => {
                let what = "the application's public key, from its general information";
                return Err(receiving::needs(Way::Webhook, "public_key", what));
            }
            _ => {}
        }
        Ok(Self {
            http: Http::new(fields.timeout(http::TIMEOUT, 2)?)?,
            token,
            // Discord asks for this form.
            user_agent: format!(
                "DiscordBot ({}, {})",
                server.public_url.as_deref().and_then(ascii).as_deref().unwrap_or("punctual"),
                env!("CARGO_PKG_VERSION")
            ),
            template: fields
                .template("template", markup::escape)?
                .unwrap_or_else(|| Template::fixed(TEMPLATE, markup::escape)),
            limits,
            places: Places::new(limits.rate, server.clock.clone()),
            links: server.links.clone(),
            invalids: Invalids::of(&api_url),
            invalid_max: invalid_max as usize,
            dms: Kept::new(DMS_MAX),
            no_dm_before: Mutex::new(Timestamp::MIN),
            clock: server.clock.clone(),
            way,
            gateway_url,
            gateway: gateway::Gateway::default(),
            public_key,
            api_url,
        })
    }

    /// Posts to a channel as the bot.
    async fn post(&self, channel: u64, called: Option<u64>, message: &Message) -> Result<Receipt, SendError> {
        let mut body = self.body(called, message);
        body["nonce"] = nonce(&message.idempotency_key).into();
        body["enforce_nonce"] = true.into();
        let rows = buttons(message).into_iter().map(|button| {
            // Green for the answer that is hoped for, grey for the others.
            let style = if button.verb == Verb::Ack { 3 } else { 2 };
            json!({"type": 2, "style": style, "label": button.label, "custom_id": button.data})
        });
        put_buttons(&mut body, rows.collect());
        let url = format!("{}/channels/{channel}/messages", self.api_url);
        receipt(&self.ask(self.bot(self.http.post(&url))?.json(&body), message.sent_at, "").await?)
    }

    /// Posts through a webhook. A webhook that belongs to no application can only show buttons that are links.
    async fn execute(
        &self,
        (id, token): (u64, &Token),
        thread: Option<u64>,
        message: &Message,
    ) -> Result<Receipt, SendError> {
        let mut body = self.body(None, message);
        let mut query = vec![("wait", "true".to_owned())];
        if let Some(links) = &self.links {
            let row: Vec<Value> = buttons(message)
                .into_iter()
                .map(|button| {
                    let link = links.link(button.verb, message.occurrence);
                    json!({"type": 2, "style": 5, "label": button.label, "url": link})
                })
                .collect();
            if !row.is_empty() {
                query.push(("with_components", "true".to_owned()));
            }
            put_buttons(&mut body, row);
        }
        query.extend(thread.map(|thread| ("thread_id", thread.to_string())));
        let request =
            self.http.post(&format!("{}/webhooks/{id}/{}", self.api_url, token.expose())).query(&query).json(&body);
        receipt(&self.ask(request, message.sent_at, token.expose()).await?)
    }

    /// The channel of a person's own messages, opened if it is not known: once, however many messages need it.
    async fn dm(&self, user: u64, sent_at: Timestamp) -> Result<u64, SendError> {
        let link = self.dms.get_or(user, || Arc::new(Link::new()));
        link.get(|_| true, self.open_dm(user, sent_at)).await.map(|channel| *channel)
    }

    async fn open_dm(&self, user: u64, sent_at: Timestamp) -> Result<u64, SendError> {
        // Opening has one limit for all persons: Discord would only refuse requests for others, too.
        let not_before = *self.no_dm_before.lock().unwrap_or_else(PoisonError::into_inner);
        if sent_at < not_before {
            let wait = not_before.duration_since(sent_at).unsigned_abs();
            return Err(SendError::Throttled { wait, whom: Whom::Address });
        }
        let request = self.bot(self.http.post(&format!("{}/users/@me/channels", self.api_url)))?;
        let request = request.json(&json!({"recipient_id": user.to_string()}));
        let opened = self.ask(request, sent_at, "").await.map_err(|error| match error {
            SendError::Unknown(said) => SendError::Unavailable(format!("no message was sent yet: {said}")),
            SendError::Throttled { wait, whom } => {
                let mut no_dm_before = self.no_dm_before.lock().unwrap_or_else(PoisonError::into_inner);
                *no_dm_before = (*no_dm_before).max(sent_at.saturating_add(wait).unwrap_or(sent_at));
                SendError::Throttled { wait, whom }
            }
            other => other,
        })?;
        let channel = opened.json()["id"].as_str().and_then(|id| id.parse().ok());
        channel.ok_or_else(|| SendError::Unavailable("Discord named no channel for this person".into()))
    }

    /// The fields of every message. It calls no user but `called`.
    fn body(&self, called: Option<u64>, message: &Message) -> Value {
        let mention = called.map(|user| format!("<@{user}>")).unwrap_or_default();
        let count = |text: &str| Unit::Chars.count(text);
        let content = whole(&self.template, message, &mention, CONTENT_CHARS_MAX, count);
        let mut allowed = json!({"parse": []});
        if let Some(user) = called {
            allowed["users"] = json!([user.to_string()]);
        }
        json!({"content": content, "allowed_mentions": allowed})
    }

    /// A request as the bot.
    fn bot(&self, request: RequestBuilder) -> Result<RequestBuilder, SendError> {
        let token = self.token.as_ref().ok_or_else(|| SendError::Unavailable(NO_TOKEN.into()))?;
        Ok(request.header(AUTHORIZATION, format!("Bot {}", token.expose())))
    }

    /// Sends a request, counts it if it was invalid, and turns any answer but success into an error. `secret` stood in the URL.
    async fn ask(&self, request: RequestBuilder, sent_at: Timestamp, secret: &str) -> Result<Answer, SendError> {
        if let Some(wait) = self.invalids.wait(sent_at, self.invalid_max) {
            return Err(SendError::Throttled { wait, whom: Whom::Receiver });
        }
        self.places.wait().await?;
        self.ask_now(request, sent_at, secret).await
    }

    /// The same for a request that answers a press: those do not count in the bot's rate, and cannot wait.
    async fn ask_freely(&self, request: RequestBuilder, secret: &str) -> Result<(), SendError> {
        let now = self.clock.now();
        if let Some(wait) = self.invalids.wait(now, self.invalid_max) {
            return Err(SendError::Throttled { wait, whom: Whom::Receiver });
        }
        self.ask_now(request, now, secret).await.map(drop)
    }

    async fn ask_now(&self, request: RequestBuilder, sent_at: Timestamp, secret: &str) -> Result<Answer, SendError> {
        let answer = self.http.ask(request.header(USER_AGENT, &self.user_agent), PLATFORM).await?;
        self.invalids.count_if_invalid(&answer, sent_at);
        if answer.status.is_success() {
            return Ok(answer);
        }
        let secret = Token::new(secret);
        let secrets: Vec<&Token> = self.token.iter().chain([&secret]).collect();
        Err(answer::name(&answer, &secrets, sent_at))
    }
}

const NO_TOKEN: &str = "the channel has no token; write the bot's token, or use a webhook's URL as address";

#[async_trait]
impl Channel for Discord {
    fn kind(&self) -> &'static str {
        "discord"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let place = Place::parse(&message.to.address, &self.api_url)
            .map_err(|invalid| SendError::Refused(invalid.to_string()))?;
        match place {
            Place::Channel { channel, user } => self.post(channel, user, message).await,
            Place::Webhook { id, token, thread } => self.execute((id, &token), thread, message).await,
            Place::Dm { user } => {
                let channel = self.dm(user, message.sent_at).await?;
                match self.post(channel, None, message).await {
                    // The channel is gone, not the person: next time another is opened.
                    Err(SendError::Gone(said)) => {
                        self.dms.forget(&user);
                        Err(SendError::Unavailable(said))
                    }
                    sent => sent,
                }
            }
        }
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
        Some(900)
    }

    fn bucket(&self, address: &str) -> Bucket {
        // An address that cannot be called needs no bucket of its own, and must not be repeated.
        let name = Place::parse(address, &self.api_url).map_or_else(|_| "invalid".into(), |place| place.bucket());
        Bucket { name, rate: self.limits.address_rate }
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

/// The application's public key: 32 bytes.
fn public_key(fields: &mut Fields) -> Result<Option<String>, Invalid> {
    let Some(key) = fields.text("public_key") else { return Ok(None) };
    match key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(Some(key)),
        false => Err(Invalid::new(
            "public_key",
            "is no public key; write the 64 hex digits that the application's page shows",
        )),
    }
}

fn gateway_url(fields: &mut Fields) -> Result<Option<String>, Invalid> {
    let Some(text) = fields.text("gateway_url") else { return Ok(None) };
    match Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "ws" | "wss") && url.host().is_some() && url.query().is_none() => {
            Ok(Some(text.trim_end_matches('/').to_owned()))
        }
        _ => Err(Invalid::new("gateway_url", "is no ws or wss URL; write one such as wss://gateway.discord.gg")),
    }
}

/// Fewer than 25 characters, the same for every attempt, and with 144 bits never the same for two messages.
fn nonce(idempotency_key: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(&Sha256::digest(idempotency_key)[..NONCE_BYTES])
}

/// A URL in the only letters that a header can have.
fn ascii(url: &str) -> Option<String> {
    Url::parse(url).ok().map(|url| url.as_str().trim_end_matches('/').to_owned())
}

fn put_buttons(body: &mut Value, row: Vec<Value>) {
    if !row.is_empty() {
        body["components"] = json!([{"type": 1, "components": row}]);
    }
}

/// The receipt is `CHANNEL/MESSAGE`: a message is found again, to be changed, only in its channel.
fn receipt(answer: &Answer) -> Result<Receipt, SendError> {
    // Without an id it is no answer of the API itself, but of something before it.
    let nobody = || SendError::Unknown(format!("no answer of Discord itself ({}); it may have arrived", answer.status));
    let body = answer.json();
    let id = body["id"].as_str().ok_or_else(nobody)?;
    Ok(Receipt::of(body["channel_id"].as_str().map_or_else(|| id.to_owned(), |channel| format!("{channel}/{id}"))))
}
