//! The server, from the outside.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use reqwest::{Method, StatusCode, Url};
use serde_json::Value;

use crate::config::{Config, Secret, process_env};
use crate::serve::{place, read_admin_key};

const DEFAULT_URL: &str = "http://127.0.0.1:7373";
/// How long one answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server and the key to it.
pub(super) struct Client {
    http: reqwest::Client,
    url: String,
    key: Option<Secret>,
}

/// The server's answer to a request it did not accept.
#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub(super) struct Refused {
    pub(super) status: StatusCode,
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
        let url = asked.or_else(|| announced.clone()).unwrap_or_else(|| DEFAULT_URL.into());
        let parsed = Url::parse(&url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| super::Usage(format!("`{url}` is no URL of a server; write one such as {DEFAULT_URL}")))?;
        let local = is_loopback(&parsed);
        // The key in the data directory opens this machine's server; it is nobody else's business.
        let key = match process_env("PUNCTUAL_API_KEY") {
            Some(key) => Some(Secret::new(key)),
            None if local || announced.as_ref() == Some(&url) => read_admin_key(&config.data_dir)
                .with_context(|| format!("cannot read the admin key in {}", config.data_dir.display()))?,
            None => None,
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

    async fn call(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let mut request = self.http.request(method, format!("{}{path}", self.url)).query(query);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose());
        }
        if let Some(body) = &body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        if status.is_success() {
            if bytes.is_empty() {
                return Ok(Value::Null);
            }
            return serde_json::from_slice(&bytes)
                .map_err(|_| anyhow!("what answers at {} is not a punctual server", self.url));
        }
        Err(self.refused(status, &bytes).into())
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> Refused {
        let problem: Option<Value> = serde_json::from_slice(body).ok();
        let detail = problem.as_ref().and_then(|problem| problem.get("detail")?.as_str());
        let detail = match (status, detail) {
            (StatusCode::UNAUTHORIZED, _) if self.key.is_none() => {
                format!("the server at {} asks for a key; set PUNCTUAL_API_KEY", self.url)
            }
            (StatusCode::UNAUTHORIZED, detail) => {
                let detail = detail.unwrap_or("unauthorized");
                format!("the server at {} does not accept the key: {detail}; set PUNCTUAL_API_KEY", self.url)
            }
            (_, Some(detail)) => detail.to_owned(),
            (status, None) => format!("the server at {} answered {status}", self.url),
        };
        Refused { status, detail }
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
