//! An HTTP POST to a URL, signed after Standard Webhooks.
//!
//! The receiver's answer decides what happens next:
//!
//! | Answer | Meaning |
//! | --- | --- |
//! | 2xx | sent |
//! | 410 | the address is gone |
//! | 429, 503 with `Retry-After` | throttled: this URL is asked again after that wait, at most a day |
//! | 408, 425, 429, 503, other 5xx | unavailable: tried again |
//! | other 4xx | refused: not tried again |
//! | 307, 308 | followed, up to three times |
//! | other 3xx | unavailable, naming the new receiver: following would lose the body |
//! | no connection | unavailable |
//! | cut off, or no answer in time | unknown: it may have arrived |

/// Which URLs are accepted.
pub mod address;

/// Signing, so that a receiver can tell our requests from forged ones.
pub mod signature;

mod answer;
mod failure;
mod redirect;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::channel::{AddressRule, Channel, Limits, Message, Notice, Rate, Receipt, SendError};
use punctual_core::invalid::Invalid;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder};

use crate::common::fields::Fields;
use crate::common::guard::{Guard, GuardedResolver};
use crate::common::http::IDLE_MAX;
use crate::common::trust;
use crate::event;
use crate::setup::Server;
pub use signature::Secret;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
/// This attempt's own key; `webhook-id` is the same for all attempts.
const ATTEMPT_KEY: HeaderName = HeaderName::from_static("punctual-attempt-key");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How webhooks are sent.
#[derive(Debug, Clone)]
pub struct Config {
    /// The secret that signs requests. Without it they are not signed.
    pub secret: Option<Secret>,
    /// Whether private, loopback and link-local addresses may be called.
    pub allow_private: bool,
    /// The setting that allows them; a refusal names it.
    pub allow_private_by: &'static str,
    /// Where others reach this server, such as `https://punctual.example.org`; for the answer links.
    pub public_url: Option<String>,
    /// How long a whole send may take, with redirects and the answer's body.
    pub timeout: Duration,
    /// How long a connection may take to be made: name, TCP and TLS.
    pub connect_timeout: Duration,
    /// How many sends run at once to one receiver, and how many connections to it are kept.
    pub concurrency: usize,
    /// How fast to one receiver, all its addresses together.
    pub rate: Option<Rate>,
    /// How fast to one address.
    pub address_rate: Option<Rate>,
    /// The user agent.
    pub user_agent: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            secret: None,
            allow_private: false,
            allow_private_by: "PUNCTUAL_WEBHOOK_ALLOW_PRIVATE=true",
            public_url: None,
            timeout: Duration::from_secs(15),
            connect_timeout: Duration::from_secs(5),
            concurrency: 64,
            rate: None,
            address_rate: None,
            user_agent: concat!("punctual/", env!("CARGO_PKG_VERSION")).into(),
        }
    }
}

/// Makes the channel from its settings.
pub(crate) fn make(fields: &mut Fields, server: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    let defaults = Config::default();
    let secret = fields.secret("secret")?.map(|secret| secret.expose().parse()).transpose()?;
    let limits = fields.limits(Limits { concurrency: defaults.concurrency, ..Limits::default() })?;
    let webhook = Webhook::new(Config {
        secret,
        allow_private: fields.boolean("allow_private")?.unwrap_or(defaults.allow_private),
        allow_private_by: "the channel's allow_private = true",
        public_url: server.public_url.clone(),
        timeout: fields.timeout(defaults.timeout, 1)?,
        concurrency: limits.concurrency,
        rate: limits.rate,
        address_rate: limits.address_rate,
        ..defaults
    })?;
    Ok(Arc::new(webhook))
}

/// Sends reminders as HTTP POSTs. An address is a URL.
#[derive(Debug, Clone)]
pub struct Webhook {
    config: Config,
    guard: Guard,
    client: Client,
}

impl Webhook {
    /// Makes the channel. Nothing is sent and no name is looked up.
    pub fn new(config: Config) -> Result<Self, Invalid> {
        if config.timeout.is_zero() || config.connect_timeout.is_zero() {
            return Err(Invalid::new("timeout", "is zero, so nothing could be sent; write one such as 15s"));
        }
        if config.concurrency == 0 {
            return Err(Invalid::new("concurrency", "is 0, so nothing could be sent; write 1 or more"));
        }
        if HeaderValue::from_str(&config.user_agent).is_err() {
            return Err(Invalid::new("user_agent", "has characters that no header can have"));
        }
        if let Some(url) = &config.public_url {
            address::parse(url).map_err(|invalid| Invalid::new("public_url", invalid.problem))?;
        }
        let guard = Guard { allow_private: config.allow_private, setting: config.allow_private_by };
        let client = builder(&config, guard)
            .build()
            .map_err(|error| Invalid::new("webhook", format!("cannot be set up: {error}")))?;
        Ok(Self { config, guard, client })
    }

    /// The headers of one request; `id` is the idempotency key.
    fn headers(&self, id: &str, sent_at: Timestamp, body: &[u8]) -> Result<HeaderMap, SendError> {
        let sent_at = sent_at.as_second();
        let id_value = HeaderValue::from_str(id)
            .map_err(|_| SendError::Refused("the idempotency key cannot be sent in a header".into()))?;
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(WEBHOOK_TIMESTAMP, sent_at.into());
        if let Some(secret) = &self.config.secret {
            let signature =
                HeaderValue::from_str(&secret.sign(id, sent_at, body)).expect("base64 can be sent in a header");
            headers.insert(WEBHOOK_SIGNATURE, signature);
        }
        headers.insert(IDEMPOTENCY_KEY, id_value.clone());
        headers.insert(WEBHOOK_ID, id_value);
        Ok(headers)
    }

    /// Where a request goes. It is checked again, although it was when the address was written down: the setting may have changed since.
    fn url(&self, address: &str) -> Result<reqwest::Url, SendError> {
        let url = address::parse(address).map_err(|invalid| SendError::Refused(invalid.to_string()))?;
        self.guard.check_url(&url).map_err(|private| SendError::Refused(private.to_string()))?;
        Ok(url)
    }

    async fn post(
        &self,
        url: reqwest::Url,
        headers: HeaderMap,
        body: Vec<u8>,
        sent_at: Timestamp,
    ) -> Result<Receipt, SendError> {
        match self.client.post(url.clone()).headers(headers).body(body).send().await {
            Ok(response) => answer::read(response, &url, sent_at).await,
            Err(error) => Err(failure::name(&error, &address::receiver(&url), self.config.timeout)),
        }
    }
}

#[async_trait]
impl Channel for Webhook {
    fn kind(&self) -> &'static str {
        "webhook"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let url = self.url(&message.to.address)?;
        let body = event::to_json(message, self.config.public_url.as_deref());
        let mut headers = self.headers(&message.idempotency_key, message.sent_at, &body)?;
        if let Ok(attempt) = HeaderValue::from_str(&message.attempt_key) {
            headers.insert(ATTEMPT_KEY, attempt);
        }
        self.post(url, headers, body, message.sent_at).await
    }

    async fn tell(&self, notice: &Notice) -> Result<Receipt, SendError> {
        let url = self.url(&notice.to.address)?;
        let body = event::notice_to_json(notice);
        let headers = self.headers(&notice.idempotency_key(), notice.sent_at, &body)?;
        self.post(url, headers, body, notice.sent_at).await
    }

    fn takes_notices(&self) -> bool {
        true
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        address::check(address, self.guard)
    }

    fn address_rule(&self) -> AddressRule {
        AddressRule::Url { allow_private: self.config.allow_private }
    }

    fn limits(&self) -> Limits {
        let Config { concurrency, rate, address_rate, .. } = self.config;
        Limits { concurrency, rate, address_rate }
    }

    fn receiver(&self, address: &str) -> String {
        // A URL that cannot be called needs no lane of its own, and must not be repeated.
        address::parse(address).map_or_else(|_| "invalid".into(), |url| address::receiver(&url))
    }
}

fn builder(config: &Config, guard: Guard) -> ClientBuilder {
    Client::builder()
        .tls_backend_preconfigured(trust::tls())
        .user_agent(&config.user_agent)
        .timeout(config.timeout)
        // Never longer than the whole, so that running out of time means that the request was written.
        .connect_timeout(config.connect_timeout.min(config.timeout))
        .pool_max_idle_per_host(config.concurrency)
        .pool_idle_timeout(IDLE_MAX)
        .tcp_nodelay(true)
        // A proxy would look up names itself, past the guard.
        .no_proxy()
        .dns_resolver(GuardedResolver(guard))
        .redirect(redirect::policy(guard))
        // It would tell the next host the query of the one before.
        .referer(false)
}
