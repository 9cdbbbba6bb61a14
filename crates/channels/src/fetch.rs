//! Fetching a text from an address that a user chose, such as a calendar.
//!
//! Only https is fetched, and nothing in the network that punctual itself stands in, also after names are looked up and after redirects
//! ([`crate::common::guard`]). The answer is read to a bound. No error shows more of the address than its server: the rest may be a secret.

use std::sync::Arc;
use std::time::Duration;

use punctual_core::invalid::Invalid;
use reqwest::header::{CACHE_CONTROL, ETAG, HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, StatusCode, Url};

use crate::common::guard::{Guard, GuardedResolver, PrivateAddress};
use crate::common::trust;

/// How long a fetch may take, with all redirects.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How many redirects are followed.
const HOPS_MAX: usize = 5;

/// Fetches texts.
#[derive(Debug, Clone)]
pub struct Fetcher {
    client: Client,
    guard: Guard,
    bytes_max: usize,
}

/// What a server answered.
#[derive(Debug)]
pub enum Fetched {
    /// It is what the caller has.
    Unchanged,
    /// The text, and what the server says about it.
    Text {
        /// The text; letters that are no UTF-8 are replaced.
        text: String,
        /// Its entity tag.
        etag: Option<String>,
        /// When it was last modified, in the server's words.
        modified: Option<String>,
        /// How long it may be kept.
        max_age: Option<Duration>,
    },
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It may work later.
    #[error("{0}")]
    Later(String),
    /// It will not work as it is.
    #[error("{0}")]
    Refused(String),
    /// The server says that it is not there.
    #[error("{0}")]
    Gone(String),
}

impl Fetcher {
    /// Fetches texts of at most `bytes_max`; `allow_private`, which `setting` says, also from private addresses and without TLS.
    pub fn new(bytes_max: usize, allow_private: bool, setting: &'static str) -> Result<Self, Invalid> {
        let guard = Guard { allow_private, setting };
        let client =
            builder(guard).build().map_err(|error| Invalid::new("calendar", format!("cannot be fetched: {error}")))?;
        Ok(Self { client, guard, bytes_max })
    }

    /// Refuses an address that could not be fetched; `webcal` stands for https. Returns it as it is kept.
    pub fn check(&self, address: &str) -> Result<String, String> {
        let address = match address.trim().split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("webcal") || scheme.eq_ignore_ascii_case("webcals") => {
                format!("https://{rest}")
            }
            _ => address.trim().to_owned(),
        };
        let url = Url::parse(&address).map_err(|_| "is no URL; write https://…".to_owned())?;
        if url.scheme() != "https" && !(self.guard.allow_private && url.scheme() == "http") {
            return Err("must begin with https://".into());
        }
        self.guard.check_new_url(&url).map_err(|private| private.to_string())?;
        Ok(address)
    }

    /// Fetches the text at `address`, unless it is what the caller has.
    pub async fn fetch(
        &self,
        address: &str,
        etag: Option<&str>,
        modified: Option<&str>,
    ) -> Result<Fetched, FetchError> {
        let address = self.check(address).map_err(FetchError::Refused)?;
        let url = Url::parse(&address).map_err(|_| FetchError::Refused("is no URL".into()))?;
        let server = url.host_str().unwrap_or("the server").to_owned();
        let mut request = self.client.get(url);
        if let Some(etag) = etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        if let Some(modified) = modified {
            request = request.header(IF_MODIFIED_SINCE, modified);
        }
        let response = request.send().await.map_err(|error| failure(&server, &error))?;
        let status = response.status();
        if status == StatusCode::NOT_MODIFIED {
            return Ok(Fetched::Unchanged);
        }
        if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
            return Err(FetchError::Gone(format!("{server} says that it is not there ({status})")));
        }
        if !status.is_success() {
            return Err(FetchError::Later(format!("{server} answered {status}")));
        }
        let said = response.headers().clone();
        let body = self.body(response, &server).await?;
        let text = match String::from_utf8(body) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let header = |name| said.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Fetched::Text { text, etag: header(ETAG), modified: header(LAST_MODIFIED), max_age: max_age(&said) })
    }

    /// Reads the body, and stops as soon as it is too long.
    async fn body(&self, mut response: reqwest::Response, server: &str) -> Result<Vec<u8>, FetchError> {
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| failure(server, &error))? {
            if body.len() + part.len() > self.bytes_max {
                let megabytes = self.bytes_max / (1024 * 1024);
                return Err(FetchError::Refused(format!("{server} sends more than {megabytes} MB")));
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }
}

/// A client that the guard keeps out of private networks, at the first address and after each redirect.
fn builder(guard: Guard) -> ClientBuilder {
    let policy = Policy::custom(move |attempt| {
        if attempt.previous().len() > HOPS_MAX {
            return attempt.error("redirected too often");
        }
        match guard.check_url(attempt.url()) {
            Ok(()) if guard.allow_private || attempt.url().scheme() == "https" => attempt.follow(),
            Ok(()) => attempt.error("redirected to an address without https"),
            Err(private) => attempt.error(private),
        }
    });
    Client::builder()
        .tls_backend_preconfigured(trust::tls())
        .user_agent(concat!("punctual/", env!("CARGO_PKG_VERSION")))
        .timeout(TIMEOUT)
        .connect_timeout(Duration::from_secs(10))
        .pool_max_idle_per_host(0)
        .dns_resolver(Arc::new(GuardedResolver(guard)))
        .redirect(policy)
        .referer(false)
}

/// Why a request failed, without its address.
fn failure(server: &str, error: &reqwest::Error) -> FetchError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(one) = cause {
        if let Some(private) = one.downcast_ref::<PrivateAddress>() {
            return FetchError::Refused(private.to_string());
        }
        cause = one.source();
    }
    let why = match error {
        _ if error.is_timeout() => "did not answer in time",
        _ if error.is_connect() => "cannot be reached",
        _ if error.is_redirect() => "redirects too often, or to an address that is not called",
        _ => "broke off its answer",
    };
    FetchError::Later(format!("{server} {why}"))
}

fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get(CACHE_CONTROL)?.to_str().ok()?;
    let seconds = said.split(',').find_map(|part| part.trim().strip_prefix("max-age="))?;
    seconds.trim_matches('"').parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests;
