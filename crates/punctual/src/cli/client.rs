//! The server, from the outside.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use axum::body::Bytes;
use reqwest::{Method, StatusCode, Url};
use serde_json::Value;

use crate::config::{Config, Secret, process_env};
use crate::serve::place;

const DEFAULT_URL: &str = "http://127.0.0.1:7373";
/// How long one answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server and the key to it.
pub(super) struct Client {
    http: reqwest::Client,
    url: String,
    key: Key,
}

/// What opens the server.
enum Key {
    None,
    /// It was given to us.
    Given(Secret),
    /// The server of this data directory made it for whoever sits at this machine. Another start makes another.
    Made {
        data_dir: PathBuf,
        now: Mutex<Secret>,
    },
}

/// The server's answer to a request it did not accept.
#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    /// The field that is to blame, if it is one.
    pub(super) field: Option<String>,
    detail: String,
}

/// The server did not answer. Asking again may help.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unreachable(String);

impl Client {
    /// Finds the server: the flag, `PUNCTUAL_URL`, the one that runs on this data directory, the
    /// default.
    pub(super) fn new(flag: Option<&str>, config: &Config) -> anyhow::Result<Self> {
        let announced = place::announced(&config.data_dir);
        let asked = flag.map(str::to_owned).or_else(|| process_env("PUNCTUAL_URL"));
        let url = asked.or_else(|| announced.as_ref().map(|server| server.url.clone()));
        let url = url.unwrap_or_else(|| DEFAULT_URL.into());
        let parsed = Url::parse(&url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| super::Usage(format!("`{url}` is no URL of a server; write one such as {DEFAULT_URL}")))?;
        let local = is_loopback(&parsed);
        let key = match (process_env("PUNCTUAL_API_KEY"), announced) {
            (Some(key), _) => Key::Given(Secret::new(key)),
            // It is for the server that made it, and nobody else's business.
            (None, Some(server)) if is_same(&parsed, &server.url) => {
                Key::Made { data_dir: config.data_dir.clone(), now: Mutex::new(server.key) }
            }
            (None, _) => Key::None,
        };
        Ok(Self { http: http(local, parsed.scheme() == "https")?, url: url.trim_end_matches('/').to_owned(), key })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) async fn get(&self, path: &str, query: &[(&str, String)]) -> anyhow::Result<Value> {
        self.call(Method::GET, path, query, None).await
    }

    pub(super) async fn send(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        self.call(method, path, &[], body).await
    }

    /// Changes the reminder at `path` for `user`, if one was named: then it must be theirs.
    pub(super) async fn change(
        &self,
        method: Method,
        path: &str,
        user: Option<&str>,
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        self.call(method, path, &super::find::of(user), body).await
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let (mut status, mut bytes) = self.ask(method.clone(), path, query, body.as_ref()).await?;
        if status == StatusCode::UNAUTHORIZED && self.key.renew(&self.url) {
            (status, bytes) = self.ask(method, path, query, body.as_ref()).await?;
        }
        if status.is_success() {
            if bytes.is_empty() {
                return Ok(Value::Null);
            }
            return serde_json::from_slice(&bytes)
                .map_err(|_| anyhow!("what answers at {} is not a punctual server", self.url));
        }
        Err(self.refused(status, &bytes).into())
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&Value>,
    ) -> Result<(StatusCode, Bytes), Unreachable> {
        let mut request = self.http.request(method, format!("{}{path}", self.url)).query(query);
        if let Some(key) = self.key.get() {
            request = request.bearer_auth(key.expose());
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        Ok((status, bytes))
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> Refused {
        let problem: Option<Value> = serde_json::from_slice(body).ok();
        let text = |name: &str| problem.as_ref().and_then(|problem| problem.get(name)?.as_str());
        let (field, detail) = (text("field").map(str::to_owned), text("detail"));
        let detail = match (status, detail) {
            (StatusCode::UNAUTHORIZED, _) if matches!(self.key, Key::None) => {
                format!("the server at {} asks for a key; set PUNCTUAL_API_KEY", self.url)
            }
            (StatusCode::UNAUTHORIZED, _) if matches!(self.key, Key::Made { .. }) => format!(
                "what listens at {} is not the server of this data directory: that one has stopped; start it with \
                 `punctual serve`, or set PUNCTUAL_URL and PUNCTUAL_API_KEY",
                self.url
            ),
            (StatusCode::UNAUTHORIZED, detail) => {
                let detail = detail.unwrap_or("unauthorized");
                format!("the server at {} does not accept the key: {detail}; set PUNCTUAL_API_KEY", self.url)
            }
            (_, Some(detail)) => detail.to_owned(),
            (status, None) => format!("the server at {} answered {status}", self.url),
        };
        Refused { status, field, detail }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Unreachable {
        if error.is_connect() {
            return Unreachable(format!("no punctual server at {}; start one with `punctual serve`", self.url));
        }
        if error.is_timeout() {
            let seconds = TIMEOUT.as_secs();
            return Unreachable(format!("the server at {} did not answer within {seconds} s", self.url));
        }
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        Unreachable(format!("cannot talk to the server at {}: {cause}", self.url))
    }
}

impl Key {
    fn get(&self) -> Option<Secret> {
        match self {
            Self::None => None,
            Self::Given(key) => Some(key.clone()),
            Self::Made { now, .. } => Some(now.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        }
    }

    /// Takes the key that a later start of the server at `url` made; false when there is none.
    fn renew(&self, url: &str) -> bool {
        let Self::Made { data_dir, now } = self else { return false };
        let server = place::announced(data_dir);
        let is_same = |other: &str| Url::parse(url).is_ok_and(|url| is_same(&url, other));
        let Some(server) = server.filter(|server| is_same(&server.url)) else { return false };
        let mut now = now.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = now.expose() != server.key.expose();
        *now = server.key;
        is_other
    }
}

/// Whether `url` is that of the server that announced `other`. This machine has several names.
fn is_same(url: &Url, other: &str) -> bool {
    let Ok(other) = Url::parse(other) else { return false };
    let is_same_host = url.host_str() == other.host_str() || is_loopback(url) && is_loopback(&other);
    is_same_host && url.scheme() == other.scheme() && url.port_or_known_default() == other.port_or_known_default()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || ip.is_some_and(|ip| ip.is_loopback())
}

fn http(local: bool, tls: bool) -> anyhow::Result<reqwest::Client> {
    // Whoever installed a provider before has made the same choice.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder().timeout(TIMEOUT);
    if local {
        builder = builder.no_proxy();
    }
    if !tls {
        // Without TLS no certificates are needed, and reading them would take longer than the
        // request.
        builder = builder.tls_certs_only([]);
    }
    builder.build().context("cannot set up HTTP")
}

/// `text` as one segment of a path.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}
