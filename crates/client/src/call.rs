//! One request and its answer.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, Refused, Unusable};
use crate::net::Http;
use crate::transport::{Body, Request, Response, Transport};
use crate::wire::{Problem, Ready};

/// No body, or no query.
pub(crate) const NONE: Option<&()> = None;

/// A server, from the outside: one function for each route. A clone is cheap, and asks the same server.
#[derive(Clone)]
pub struct Client {
    transport: Arc<dyn Transport>,
    headers: HeaderMap,
}

/// Something as it was seen, and its version at that moment.
#[derive(Debug, Clone)]
pub struct Seen<T> {
    /// How it was.
    pub it: T,
    /// Its `ETag`, for [`Client::if_seen`].
    pub tag: String,
}

impl Client {
    /// Asks the server at `url` over HTTP, with `key` if one is given.
    pub fn new(url: &str, key: Option<&str>) -> Result<Self, Unusable> {
        let http = Http::new(url)?;
        Ok(Self::over(match key {
            Some(key) => http.with_key(key),
            None => http,
        }))
    }

    /// Asks whatever answers `transport`.
    pub fn over(transport: impl Transport + 'static) -> Self {
        Self { transport: Arc::new(transport), headers: HeaderMap::new() }
    }

    /// The same server, asked with one more header: `client.with(IDEMPOTENCY_KEY, value).create(…)`.
    #[must_use]
    pub fn with(&self, name: HeaderName, value: HeaderValue) -> Self {
        let mut client = self.clone();
        client.headers.insert(name, value);
        client
    }

    /// The same server, which changes something only as it was seen: with the tag of a [`Seen`], or with `None` where nothing was there. Something
    /// that has changed since is refused with 412, and nothing is changed.
    pub fn if_seen(&self, tag: Option<&str>) -> Result<Self, Failure> {
        let Some(tag) = tag else { return Ok(self.with(IF_NONE_MATCH, HeaderValue::from_static("*"))) };
        let tag = HeaderValue::from_str(tag).map_err(|error| Failure::Unwritable(error.to_string()))?;
        Ok(self.with(IF_MATCH, tag))
    }

    /// Where the server is.
    pub fn url(&self) -> &str {
        self.transport.name()
    }

    /// Asks, and reads the answer. The functions for the routes are made of this; it is public for routes that a newer server may have.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        query: Option<&impl Serialize>,
        body: Option<&impl Serialize>,
    ) -> Result<T, Failure> {
        let bytes = self.accepted(method, path, query, body).await?.into_body().bytes().await?;
        serde_json::from_slice(&bytes).map_err(|_| Failure::Stranger(self.url().to_owned()))
    }

    /// Reads what is at `path`, with its version.
    pub(crate) async fn see<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
    ) -> Result<Seen<T>, Failure> {
        let response = self.accepted(Method::GET, path, Some(query), NONE).await?;
        let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).unwrap_or_default().to_owned();
        let bytes = response.into_body().bytes().await?;
        let it = serde_json::from_slice(&bytes).map_err(|_| Failure::Stranger(self.url().to_owned()))?;
        Ok(Seen { it, tag })
    }

    /// Deletes what is at `path`.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.accepted(Method::DELETE, path, NONE, NONE).await?.into_body().bytes().await.map(drop)
    }

    /// Asks for an answer that has no end.
    pub(crate) async fn open(&self, path: &str, query: &impl Serialize) -> Result<Body, Failure> {
        let mut request = self.request(Method::GET, path, Some(query), NONE)?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.ask(request).await.map(Response::into_body)
    }

    async fn accepted(
        &self,
        method: Method,
        path: &str,
        query: Option<&impl Serialize>,
        body: Option<&impl Serialize>,
    ) -> Result<Response, Failure> {
        self.ask(self.request(method, path, query, body)?).await
    }

    /// Asks; an answer that refuses is a failure.
    async fn ask(&self, request: Request) -> Result<Response, Failure> {
        let response = self.transport.ask(request).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        Err(self.refused(status, &response.into_body().bytes().await?))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        query: Option<&impl Serialize>,
        body: Option<&impl Serialize>,
    ) -> Result<Request, Failure> {
        let unwritable = |error: &dyn std::error::Error| Failure::Unwritable(error.to_string());
        let query = query.map(serde_urlencoded::to_string).transpose().map_err(|error| unwritable(&error))?;
        let uri = match query.as_deref() {
            None | Some("") => path.to_owned(),
            Some(query) => format!("{path}?{query}"),
        };
        let bytes = body.map(serde_json::to_vec).transpose().map_err(|error| unwritable(&error))?;
        let mut request = Request::new(bytes.map_or_else(Bytes::new, Bytes::from));
        *request.method_mut() = method;
        *request.uri_mut() = Uri::try_from(uri).map_err(|error| unwritable(&error))?;
        request.headers_mut().clone_from(&self.headers);
        if body.is_some() {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Ok(request)
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> Failure {
        let problem: Option<Problem> = serde_json::from_slice(body).ok();
        // A server that is not ready says why in an answer of its own.
        let unready = || serde_json::from_slice::<Ready>(body).ok()?.detail;
        let detail = problem.as_ref().map(|problem| problem.detail.clone()).or_else(unready);
        let words = match (status, detail) {
            (StatusCode::UNAUTHORIZED, detail) => {
                let detail = detail.unwrap_or_else(|| "unauthorized".into());
                format!("the server at {} does not accept the key: {detail}", self.url())
            }
            (_, Some(detail)) => detail,
            (status, None) => format!("the server at {} answered {status}", self.url()),
        };
        Failure::Refused(Box::new(Refused { status, problem, words }))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(&self.url()).finish()
    }
}
