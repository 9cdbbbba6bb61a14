//! One request and its answer.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::Context as _;
use axum::body::Bytes;
use reqwest::{Method, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::failure::{BadUrl, Failure, Refused};
use super::key::Key;
use super::pinned;
use crate::config::{Config, Secret, process_env};
use crate::serve::place;
use crate::wire::{Problem, Ready};

pub(super) const DEFAULT_URL: &str = "http://127.0.0.1:7373";
/// How long one answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server and the key to it.
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    key: Key,
}

impl Client {
    /// Finds the server: the flag, `PUNCTUAL_URL`, the one that runs on this data directory, the
    /// default.
    pub(crate) fn new(flag: Option<&str>, config: &Config) -> anyhow::Result<Self> {
        let announced = place::announced(&config.data_dir);
        let asked = flag.map(str::to_owned).or_else(|| process_env("PUNCTUAL_URL"));
        let url = asked.or_else(|| announced.as_ref().map(|server| server.url.clone()));
        let url = url.unwrap_or_else(|| DEFAULT_URL.into());
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
        let parsed = Url::parse(&url).ok().filter(is_web).ok_or_else(|| BadUrl(url.clone()))?;
        let local = is_loopback(&parsed);
        // A certificate is seldom for the address by which a program on the same machine calls: this one server is known by its own.
        let same = announced.as_ref().filter(|server| is_same(&parsed, &server.url));
        let cert = same.and_then(|server| server.cert.clone()).filter(|_| parsed.scheme() == "https");
        let key = match (process_env("PUNCTUAL_API_KEY"), announced) {
            (Some(key), _) => Key::Given(Secret::new(key)),
            // The key is for the server that made it, and for no other.
            (None, Some(server)) if is_same(&parsed, &server.url) => {
                Key::Made { data_dir: config.data_dir.clone(), now: Mutex::new(server.key) }
            }
            (None, _) => Key::None,
        };
        let http = http(local, parsed.scheme() == "https", cert.as_deref())?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned(), key })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Asks, and reads the answer.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        query: Option<&impl Serialize>,
        body: Option<&impl Serialize>,
    ) -> Result<T, Failure> {
        let bytes = self.answered(method, path, query, body).await?;
        serde_json::from_slice(&bytes).map_err(|_| Failure::Stranger(self.url.clone()))
    }

    /// Deletes what is at `path`.
    pub(super) async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.answered(Method::DELETE, path, super::NONE, super::NONE).await.map(drop)
    }

    async fn answered(
        &self,
        method: Method,
        path: &str,
        query: Option<&impl Serialize>,
        body: Option<&impl Serialize>,
    ) -> Result<Bytes, Failure> {
        let (mut status, mut bytes) = self.ask(method.clone(), path, query, body).await?;
        if status == StatusCode::UNAUTHORIZED && self.key.renew(&self.url) {
            (status, bytes) = self.ask(method, path, query, body).await?;
        }
        if status.is_success() { Ok(bytes) } else { Err(self.refused(status, &bytes)) }
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        query: Option<&impl Serialize>,
        body: Option<&impl Serialize>,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let mut request = self.request(method, path, query);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        Ok((status, bytes))
    }

    /// Asks for an answer that has no end.
    pub(super) async fn open(&self, path: &str, query: &impl Serialize) -> Result<reqwest::Response, Failure> {
        let ask = || {
            let request = self.request(Method::GET, path, Some(query));
            request.timeout(Duration::MAX).send()
        };
        let mut response = ask().await.map_err(|error| self.unreachable(&error))?;
        if response.status() == StatusCode::UNAUTHORIZED && self.key.renew(&self.url) {
            response = ask().await.map_err(|error| self.unreachable(&error))?;
        }
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let bytes = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        Err(self.refused(status, &bytes))
    }

    fn request(&self, method: Method, path: &str, query: Option<&impl Serialize>) -> reqwest::RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(query) = query {
            request = request.query(query);
        }
        match self.key.get() {
            Some(key) => request.bearer_auth(key.expose()),
            None => request,
        }
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> Failure {
        let problem: Option<Problem> = serde_json::from_slice(body).ok();
        // A server that is not ready says why in an answer of its own.
        let unready = || serde_json::from_slice::<Ready>(body).ok()?.detail;
        let detail = problem.as_ref().map(|problem| problem.detail.clone()).or_else(unready);
        let words = match (status, detail) {
            (StatusCode::UNAUTHORIZED, _) if matches!(self.key, Key::None) => {
                format!("the server at {} asks for a key; set PUNCTUAL_API_KEY", self.url)
            }
            (StatusCode::UNAUTHORIZED, _) if matches!(self.key, Key::Made { .. }) => format!(
                "what listens at {} is not the server of this data directory: that one has stopped; start it with \
                 `punctual serve`, or set PUNCTUAL_URL and PUNCTUAL_API_KEY",
                self.url
            ),
            (StatusCode::UNAUTHORIZED, detail) => {
                let detail = detail.unwrap_or_else(|| "unauthorized".into());
                format!("the server at {} does not accept the key: {detail}; set PUNCTUAL_API_KEY", self.url)
            }
            (_, Some(detail)) => detail,
            (status, None) => format!("the server at {} answered {status}", self.url),
        };
        Failure::Refused(Box::new(Refused { status, problem, words }))
    }

    pub(super) fn unreachable(&self, error: &reqwest::Error) -> Failure {
        if let Some(problem) = tls_problem(error) {
            return Failure::Unreachable(format!(
                "the server at {} cannot be trusted, or speaks no https: {problem}; SSL_CERT_FILE can name a file of certificates to trust",
                self.url
            ));
        }
        if error.is_connect() {
            return Failure::Unreachable(format!(
                "no punctual server at {}; start one with `punctual serve`",
                self.url
            ));
        }
        if error.is_timeout() {
            let seconds = TIMEOUT.as_secs();
            return Failure::Unreachable(format!("the server at {} did not answer within {seconds} s", self.url));
        }
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        Failure::Unreachable(format!("cannot talk to the server at {}: {cause}", self.url))
    }
}

/// What TLS did not like, if it was TLS.
fn tls_problem(error: &reqwest::Error) -> Option<rustls::Error> {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref());
        if let Some(problem) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Some(problem.clone());
        }
        cause = error.source();
    }
    None
}

/// Whether `url` is that of the server that announced `other`. This machine has several names.
pub(super) fn is_same(url: &Url, other: &str) -> bool {
    let Ok(other) = Url::parse(other) else { return false };
    let is_same_host = url.host_str() == other.host_str() || is_loopback(url) && is_loopback(&other);
    is_same_host && url.scheme() == other.scheme() && url.port_or_known_default() == other.port_or_known_default()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || ip.is_some_and(|ip| ip.is_loopback())
}

fn http(local: bool, tls: bool, cert: Option<&Path>) -> anyhow::Result<reqwest::Client> {
    // A provider that was installed before is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder().timeout(TIMEOUT);
    if local {
        builder = builder.no_proxy();
    }
    if let Some(cert) = cert {
        builder = builder.tls_backend_preconfigured(pinned::config(cert)?);
    } else if !tls {
        // Without TLS no certificates are needed, and reading them would take longer than the
        // request.
        builder = builder.tls_certs_only([]);
    }
    builder.build().context("cannot set up HTTP")
}
