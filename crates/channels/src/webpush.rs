//! Push notifications of browsers (RFC 8030), encrypted for each (RFC 8291) and signed by this server (RFC 8292).
//!
//! A browser is an address. It subscribes at the push service of its maker, and hands this server the service's URL and its keys. So
//! nothing is set up at any platform.
//!
//! | Answer | Meaning |
//! | --- | --- |
//! | 200, 201, 202 | sent: the push service keeps it until the browser is there, for a day |
//! | 404, 410 | gone: the browser has ended its subscription |
//! | 429, 503 with `Retry-After` | throttled |
//! | other 4xx, such as 400, 401, 403, 413 | refused: it was made for another key, or is not taken |
//! | 408, 5xx, a redirect | unavailable |
//!
//! A push service knows no idempotency key. Each reminder is a topic of its own, so a message that comes twice is shown once.

mod address;
mod encrypt;
mod payload;
#[cfg(test)]
mod tests;
mod vapid;

use std::time::Duration;

use async_trait::async_trait;
use punctual_core::channel::receive::{Edit, Edits};
use punctual_core::channel::{AddressRule, Channel, Message, Receipt, SendError, Whom};
use punctual_core::clock::Machine;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::Priority;
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};

use self::address::Browser;
use self::encrypt::{Fresh, encrypt};
use self::vapid::Proof;
use crate::common::guard::Guard;
use crate::common::http::{Answer, Http, TIMEOUT};
use crate::common::kept::Kept;
use crate::common::links::Links;
use crate::common::quote::quote;
use crate::webhook::address::redact;
pub(crate) use address::EXAMPLE as ADDRESS_EXAMPLE;
pub use vapid::{VapidKey, check_contact};

/// How long a push service keeps a message for a browser that is not there: a phone that was off for a night shows it in the morning.
const KEPT_FOR: Duration = Duration::from_secs(86_400);
/// How many push services the proofs are kept for. There are about four.
const PROOFS_MAX: usize = 64;

/// How browsers are reached.
#[derive(Clone)]
pub struct Config {
    /// Signs every push.
    pub key: VapidKey,
    /// Where the maker of a push service reaches the people who run this server: `mailto:…` or `https://…`.
    pub contact: Option<String>,
    /// Whether a push service may be at a private address, and be called without encryption.
    pub allow_private: bool,
    /// Links that answer with one press.
    pub links: Option<Links>,
    /// Time, and randomness for the keys of each message.
    pub machine: Machine,
}

/// Sends reminders to browsers. An address is a browser's subscription.
pub struct Webpush {
    config: Config,
    http: Http,
    /// The proof for each push service, which may be used for hours.
    proofs: Kept<String, Proof>,
}

impl Webpush {
    /// Makes the channel. Nothing is sent and no name is looked up.
    pub fn new(config: Config) -> Result<Self, Invalid> {
        if let Some(contact) = &config.contact {
            check_contact(contact)?;
        }
        let guard = Guard { allow_private: config.allow_private, setting: "webpush_allow_private = true" };
        Ok(Self { http: Http::guarded(TIMEOUT, guard)?, proofs: Kept::new(PROOFS_MAX), config })
    }

    /// Sends `plain` for `message`; `urgency` says whether it may wake a sleeping phone.
    async fn push(&self, message: &Message, plain: &str, urgency: &'static str) -> Result<Receipt, SendError> {
        let Browser { url, keys } = address::parse(&message.to.address, self.config.allow_private)
            .map_err(|invalid| SendError::Refused(invalid.to_string()))?;
        let origin = url.origin().ascii_serialization();
        let topic = payload::topic(message);
        let body = encrypt(plain.as_bytes(), &keys, &Fresh::draw(&*self.config.machine.random));
        let request = self
            .http
            .post(url.as_str())
            .header(AUTHORIZATION, self.proof(&origin))
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_ENCODING, "aes128gcm")
            .header("ttl", KEPT_FOR.as_secs())
            .header("urgency", urgency)
            .header("topic", &topic)
            .body(body);
        let answer = self.http.ask(request, &origin).await?;
        let said = || said(&answer, &url);
        match answer.status {
            StatusCode::OK | StatusCode::CREATED | StatusCode::ACCEPTED => Ok(Receipt::of(topic)),
            StatusCode::NOT_FOUND | StatusCode::GONE => Err(SendError::Gone(said())),
            // Nobody is where a redirect leads: a browser's subscription is at one place.
            _ => Err(answer.failure(said(), Whom::Shared, self.config.machine.clock.now())),
        }
    }

    /// The header that proves to the push service at `origin` who sends.
    fn proof(&self, origin: &str) -> HeaderValue {
        let now = self.config.machine.clock.now();
        let kept = self.proofs.get(&origin.to_owned()).filter(|proof| proof.is_fresh(now));
        let proof = kept.unwrap_or_else(|| {
            let proof = self.config.key.proof(origin, self.config.contact.as_deref(), now);
            self.proofs.put(origin.to_owned(), proof.clone());
            proof
        });
        let mut header = HeaderValue::from_str(&proof.header).expect("base64url can be sent in a header");
        header.set_sensitive(true);
        header
    }
}

#[async_trait]
impl Channel for Webpush {
    fn kind(&self) -> &'static str {
        "webpush"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let plain = payload::of(message, self.config.links.as_ref());
        self.push(message, &plain, urgency(message.reminder.priority)).await
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        address::parse(address, self.config.allow_private).map(drop)
    }

    fn address_rule(&self) -> AddressRule {
        address::rule(self.config.allow_private)
    }

    fn digest_max(&self) -> Option<usize> {
        Some(900)
    }

    fn receiver(&self, address: &str) -> String {
        let browser = address::parse(address, self.config.allow_private);
        browser.map_or_else(|_| "invalid".into(), |browser| browser.url.origin().ascii_serialization())
    }

    fn edits(&self) -> Option<&dyn Edits> {
        Some(self)
    }
}

/// A notification is changed by another push with the same tag. The service worker shows it for a moment, without a sound.
#[async_trait]
impl Edits for Webpush {
    async fn edit(&self, edit: &Edit) -> Result<(), SendError> {
        match self.push(&edit.message, &payload::of_edit(edit), "normal").await {
            // Nobody is there to see it.
            Ok(_) | Err(SendError::Gone(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Which states of a phone a message may disturb (RFC 8030, section 5.3).
fn urgency(priority: Priority) -> &'static str {
    match priority {
        Priority::Low => "low",
        Priority::Normal => "normal",
        Priority::High | Priority::Critical => "high",
    }
}

/// The words of a push service, without the endpoint, which is a secret.
fn said(answer: &Answer, url: &reqwest::Url) -> String {
    let quote = quote(&redact(&String::from_utf8_lossy(&answer.body), url));
    let origin = url.origin().ascii_serialization();
    match quote.is_empty() {
        true => format!("{origin} answered {}", answer.status),
        false => format!("{origin} answered {}: {quote}", answer.status),
    }
}
