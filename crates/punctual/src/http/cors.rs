//! Pages of other origins that may use the API: none, unless the config names them.
//!
//! A browser asks before it lets a page send a key. It is told yes for the origins that `cors_origins` names, and for no other. Cookies play
//! no part: a key is sent in a header, so a page that has none can do nothing.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::request_id;

/// The session of an assistant, of revisions that have sessions.
const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// How long a browser believes what it was told.
const BELIEVED_FOR: Duration = Duration::from_secs(600);

/// The origins whose pages may use the API.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origins(Vec<HeaderValue>);

impl Origins {
    /// Those that the config names.
    pub(crate) fn new(named: &[String]) -> Self {
        Self(named.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect())
    }

    /// Whether this one is among them.
    pub(super) fn name(&self, origin: &HeaderValue) -> bool {
        self.0.contains(origin)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Tells browsers that pages of these origins may use the API.
pub(super) fn layer(origins: &Origins) -> CorsLayer {
    let asked = [
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        HeaderName::from_static("idempotency-key"),
        HeaderName::from_static("last-event-id"),
        HeaderName::from_static("mcp-method"),
        HeaderName::from_static("mcp-name"),
        HeaderName::from_static("mcp-protocol-version"),
        MCP_SESSION_ID,
        request_id::NAME,
    ];
    let shown = [
        header::ETAG,
        header::LOCATION,
        header::RETRY_AFTER,
        HeaderName::from_static("idempotency-replayed"),
        MCP_SESSION_ID,
        request_id::NAME,
    ];
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins.0.iter().cloned()))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers(asked)
        .expose_headers(shown)
        .max_age(BELIEVED_FOR)
}
