//! A server that is asked over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderValue, Uri};
use reqwest::Url;

use crate::failure::{BadUrl, Failure, Unusable};
use crate::pinned;
use crate::transport::{Body, Chunks, Request, Response, Transport};

/// How long one answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// A server that says nothing for so long in a stream is gone: it shows every 15 seconds that it lives.
const SILENCE_MAX: Duration = Duration::from_secs(45);

/// A server that is asked over HTTP, or over HTTPS with the certificates that the machine trusts.
pub struct Http {
    client: reqwest::Client,
    url: String,
    key: Option<HeaderValue>,
}

impl Http {
    /// The server at `url`, such as `http://127.0.0.1:7373`. A path in it is kept: a proxy may serve punctual under one.
    pub fn new(url: &str) -> Result<Self, Unusable> {
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
        let parsed = Url::parse(url).ok().filter(is_web).ok_or_else(|| BadUrl(url.to_owned()))?;
        let client = client(&parsed).map_err(|error| Unusable::Setup(cause(&error)))?;
        Ok(Self { client, url: url.trim_end_matches('/').to_owned(), key: None })
    }

    /// Trusts the server that has the first certificate of `pem`, whatever name that is for, and no other; `None`: there is no certificate
    /// in it.
    pub fn with_certificate(self, pem: &[u8]) -> Option<Self> {
        let builder = builder(&Url::parse(&self.url).ok()?).tls_backend_preconfigured(pinned::config(pem)?);
        Some(Self { client: builder.build().ok()?, ..self })
    }

    /// Shows `key` to the server.
    #[must_use]
    pub fn with_key(self, key: &str) -> Self {
        Self { key: bearer(key), ..self }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        unreachable(&self.url, error, &format!("did not answer within {} s", TIMEOUT.as_secs()))
    }
}

/// `key` as it is shown to a server. A key that no header can have is no key of any server.
pub fn bearer(key: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {key}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[async_trait]
impl Transport for Http {
    fn name(&self) -> &str {
        &self.url
    }

    async fn ask(&self, request: Request) -> Result<Response, Failure> {
        let is_stream = request.headers().get(ACCEPT).is_some_and(|accept| accept == "text/event-stream");
        let (mut parts, body) = request.into_parts();
        parts.uri = Uri::try_from(format!("{}{}", self.url, parts.uri))
            .map_err(|error| Failure::Unwritable(error.to_string()))?;
        if let Some(key) = &self.key
            && !parts.headers.contains_key(AUTHORIZATION)
        {
            parts.headers.insert(AUTHORIZATION, key.clone());
        }
        let request = reqwest::Request::try_from(http::Request::from_parts(parts, body));
        let mut request = request.map_err(|error| Failure::Unwritable(error.to_string()))?;
        if is_stream {
            *request.timeout_mut() = Some(Duration::MAX);
        }
        let response = self.client.execute(request).await.map_err(|error| self.unreachable(&error))?;
        let mut answer = Response::new(Body::whole(Bytes::new()));
        *answer.status_mut() = response.status();
        answer.headers_mut().clone_from(response.headers());
        *answer.body_mut() = Body::coming(Coming { response, url: self.url.clone(), is_stream });
        Ok(answer)
    }
}

/// The body of an answer that comes over the network.
struct Coming {
    response: reqwest::Response,
    url: String,
    is_stream: bool,
}

#[async_trait]
impl Chunks for Coming {
    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        self.response.chunk().await.map_err(|error| {
            let silent = match self.is_stream {
                true => "has fallen silent".to_owned(),
                false => format!("did not answer within {} s", TIMEOUT.as_secs()),
            };
            unreachable(&self.url, &error, &silent)
        })
    }
}

fn unreachable(url: &str, error: &reqwest::Error, silent: &str) -> Failure {
    if let Some(problem) = tls_problem(error) {
        return Failure::Unreachable(format!(
            "the server at {url} cannot be trusted, or speaks no https: {problem}; SSL_CERT_FILE can name a file of certificates to trust"
        ));
    }
    if error.is_connect() {
        return Failure::Unreachable(format!("no punctual server at {url}; start one with `punctual serve`"));
    }
    if error.is_timeout() {
        return Failure::Unreachable(format!("the server at {url} {silent}"));
    }
    Failure::Unreachable(format!("cannot talk to the server at {url}: {}", cause(error)))
}

/// What lies beneath an error.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// What TLS did not like, if it was TLS.
fn tls_problem(error: &reqwest::Error) -> Option<rustls::Error> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(problem) = error.downcast_ref::<rustls::Error>() {
            return Some(problem.clone());
        }
        // The error of a socket leaves out the one that it is made of when it is asked for its cause.
        let inner = error.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref());
        cause = inner.map(|inner| inner as &(dyn std::error::Error + 'static)).or_else(|| error.source());
    }
    None
}

/// Whether two URLs are those of one server. This machine has several names.
pub fn is_same_server(one: &str, other: &str) -> bool {
    let (Ok(one), Ok(other)) = (Url::parse(one), Url::parse(other)) else { return false };
    let is_same_host = one.host_str() == other.host_str() || is_loopback(&one) && is_loopback(&other);
    is_same_host && one.scheme() == other.scheme() && one.port_or_known_default() == other.port_or_known_default()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || ip.is_some_and(|ip| ip.is_loopback())
}

fn client(url: &Url) -> reqwest::Result<reqwest::Client> {
    let builder = builder(url);
    match url.scheme() {
        "https" => builder.build(),
        // Without TLS no certificates are needed, and reading them would take longer than the
        // request.
        _ => builder.tls_certs_only([]).build(),
    }
}

fn builder(url: &Url) -> reqwest::ClientBuilder {
    // A provider that was installed before is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().timeout(TIMEOUT).read_timeout(SILENCE_MAX);
    if is_loopback(url) { builder.no_proxy() } else { builder }
}
