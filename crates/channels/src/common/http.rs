//! Requests to a platform.
//!
//! The platform's address comes from the settings, so it may be anywhere; nothing is redirected. What it answers is read to a
//! bound, and every way to fail is named once, here, for all channels that speak HTTP.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::{SendError, Whom};
use punctual_core::invalid::Invalid;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Client, ClientBuilder, RequestBuilder, StatusCode, Url, redirect};
use serde_json::Value;

use super::failure;
use super::guard::{Guard, GuardedResolver};
use super::quote::told;
use super::retry_after::retry_after;
use super::token::Token;
use super::trust;

/// How much of an answer is read.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// How long one request may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(15);
/// How long an unused connection is kept. Many servers close theirs after five seconds, and a request
/// written into a closing connection is cut off: shorter than that, and it seldom happens.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(4);

/// Makes requests to one platform.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: Client,
    timeout: Duration,
    body_bytes_max: usize,
}

/// What a platform answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Http {
    /// A client with connections of its own.
    pub(crate) fn new(timeout: Duration) -> Result<Self, Invalid> {
        Self::of(builder(timeout), timeout)
    }

    /// The same for addresses that users choose: it calls only those that `guard` admits. What an address has for a host in place of a
    /// name is for the caller to look at.
    pub(crate) fn guarded(timeout: Duration, guard: Guard) -> Result<Self, Invalid> {
        // A proxy would look up names itself, past the guard.
        Self::of(builder(timeout).no_proxy().dns_resolver(GuardedResolver(guard)), timeout)
    }

    fn of(builder: ClientBuilder, timeout: Duration) -> Result<Self, Invalid> {
        let client = builder.build().map_err(|error| Invalid::new("channel", format!("cannot be set up: {error}")))?;
        Ok(Self { client, timeout, body_bytes_max: BODY_BYTES_MAX })
    }

    /// Reads more of an answer than is read of a receipt.
    pub(crate) fn reading(self, body_bytes_max: usize) -> Self {
        Self { body_bytes_max, ..self }
    }

    pub(crate) fn post(&self, url: &str) -> RequestBuilder {
        self.client.post(url)
    }

    pub(crate) fn patch(&self, url: &str) -> RequestBuilder {
        self.client.patch(url)
    }

    pub(crate) fn get(&self, url: &str) -> RequestBuilder {
        self.client.get(url)
    }

    /// Sends a request and reads the answer. `platform` is what errors call it, such as `Discord`; the URL is never shown,
    /// because tokens stand in some.
    pub(crate) async fn ask(&self, request: RequestBuilder, platform: &str) -> Result<Answer, SendError> {
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Err(failure::name(&error, platform, self.timeout)),
        };
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        // A body that breaks off changes nothing about the status.
        while body.len() < self.body_bytes_max
            && let Ok(Some(chunk)) = response.chunk().await
        {
            body.extend_from_slice(&chunk[..chunk.len().min(self.body_bytes_max - body.len())]);
        }
        Ok(Answer { status, headers, body })
    }
}

fn builder(timeout: Duration) -> ClientBuilder {
    Client::builder()
        .tls_backend_preconfigured(trust::tls())
        .user_agent(concat!("punctual/", env!("CARGO_PKG_VERSION")))
        .timeout(timeout)
        .connect_timeout(Duration::from_secs(5).min(timeout))
        .pool_idle_timeout(IDLE_MAX)
        .tcp_nodelay(true)
        .redirect(redirect::Policy::none())
        .referer(false)
}

impl Answer {
    /// The answer as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The answer on one short line, without the `secrets`.
    pub(crate) fn said(&self, secrets: &[&Token]) -> String {
        match told(&String::from_utf8_lossy(&self.body), secrets) {
            quote if quote.is_empty() => format!("answered {}", self.status),
            quote => format!("answered {}: {quote}", self.status),
        }
    }

    /// How long `Retry-After` asks to wait.
    pub(crate) fn retry_after(&self, sent_at: Timestamp) -> Option<Duration> {
        retry_after(&self.headers, sent_at)
    }

    /// The meaning of the status alone, where a platform says no more: 429 and 503 with a wait are throttled, other 5xx and 408
    /// unavailable, other 4xx refused.
    pub(crate) fn failure(&self, said: String, whom: Whom, sent_at: Timestamp) -> SendError {
        let wait = self.retry_after(sent_at);
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => {
                SendError::Throttled { wait: wait.unwrap_or(Duration::from_secs(5)), whom }
            }
            StatusCode::SERVICE_UNAVAILABLE if wait.is_some() => {
                SendError::Throttled { wait: wait.unwrap_or_default(), whom }
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY => SendError::Unavailable(said),
            status if status.is_client_error() => SendError::Refused(said),
            _ => SendError::Unavailable(said),
        }
    }
}

/// Scheme, host and port of a URL: what may be shown of it.
pub(crate) fn origin(url: &str) -> String {
    Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

/// Pairs as an HTML form writes them.
pub(crate) fn form(pairs: &[(&str, &str)]) -> String {
    let mut url = Url::parse("form:").expect("a URL of ours");
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}

/// The pairs of a form.
pub(crate) fn pairs(form: &[u8]) -> Vec<(String, String)> {
    let Ok(form) = std::str::from_utf8(form) else { return Vec::new() };
    let url = Url::parse(&format!("form:?{form}"));
    url.map(|url| url.query_pairs().into_owned().collect()).unwrap_or_default()
}

/// Refuses a secret that no header can carry, such as one with a line break in it.
pub(crate) fn check_header(name: &str, token: &Token) -> Result<(), Invalid> {
    let is_right = !token.expose().contains(char::is_whitespace) && HeaderValue::from_str(token.expose()).is_ok();
    let wrong = || Invalid::new(name, "has a space or a line break within, or other characters that no token has");
    is_right.then_some(()).ok_or_else(wrong)
}
