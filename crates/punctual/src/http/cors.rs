//! Pages of other origins that may use the API: none, unless the config names them.
//!
//! A browser asks before it lets a page send a key. It is told yes for the origins that `cors_origins` names, and for no other. Cookies play
//! no part: a key is sent in a header, so a page that has none can do nothing.

use std::net::IpAddr;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::App;
use super::problem::Problem;
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

impl App {
    /// Refuses a page of somebody else's at the doors that a browser opens without asking beforehand: the WebSocket and `/mcp`.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let own = self.links.as_ref().map_or("", |links| links.base());
        check(headers, own, &self.origins)
    }
}

/// A page may ask that comes from the host that it calls, from this server's own URL, from this machine, or from an origin that the config names.
/// A program names no page.
fn check(headers: &HeaderMap, own: &str, named: &Origins) -> Result<(), Problem> {
    let Some(origin) = headers.get(header::ORIGIN).filter(|origin| !named.name(origin)) else { return Ok(()) };
    let from: Option<Uri> =
        origin.to_str().ok().filter(|origin| origin.contains("://")).and_then(|text| text.parse().ok());
    let is_called = |from: &Uri| {
        let called = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        from.authority().zip(called).is_some_and(|(from, called)| from.as_str().eq_ignore_ascii_case(called))
    };
    let is_own = |from: &Uri| {
        let host = from.host().unwrap_or_default();
        let own: Option<Uri> = own.parse().ok();
        is_this_machine(host) || own.is_some_and(|own| own.host().is_some_and(|own| own.eq_ignore_ascii_case(host)))
    };
    if from.is_some_and(|from| is_called(&from) || is_own(&from)) {
        return Ok(());
    }
    let detail = "a page of another site may not ask here; name its origin in the setting cors_origins (PUNCTUAL_CORS_ORIGINS), or ask from a \
         page of this server, or without a browser";
    Err(Problem::forbidden(detail).at_field("Origin"))
}

fn is_this_machine(host: &str) -> bool {
    let ip: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host.eq_ignore_ascii_case("localhost") || ip.is_some_and(|ip| ip.is_loopback())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_page_of_another_site_is_refused() {
        let named = Origins::new(&["https://app.example".into()]);
        for (origin, host, is_allowed) in [
            ("http://192.0.2.7:7373", "192.0.2.7:7373", true),
            ("https://Punctual.example", "punctual.example", true),
            ("http://192.0.2.7:7374", "192.0.2.7:7373", false),
            ("https://evil.example", "punctual.example", false),
            ("https://punctual.example.evil.example", "punctual.example", false),
            ("null", "punctual.example", false),
            ("punctual.example", "punctual.example", false),
            // A page of this machine, such as a developer's inspector, whatever its port.
            ("http://127.0.0.1:7374", "127.0.0.1:7373", true),
            ("http://localhost:6274", "punctual.example", true),
            ("http://[::1]:80", "punctual.example", true),
            ("http://localhost.evil.example", "localhost:7373", false),
            // By another name than the server's own URL has.
            ("https://own.example", "10.0.0.1:7373", true),
            ("https://app.example", "punctual.example", true),
            ("http://app.example", "punctual.example", false),
            ("https://app.example:8443", "punctual.example", false),
        ] {
            let checked = check(&headers(&[("origin", origin), ("host", host)]), "https://own.example", &named);
            assert_eq!(checked.is_ok(), is_allowed, "{origin} {host}");
        }
        let none = Origins::default();
        assert!(check(&headers(&[("host", "a")]), "", &none).is_ok(), "a program names no page");
        assert!(check(&headers(&[("origin", "http://a")]), "", &none).is_err());
    }
}
