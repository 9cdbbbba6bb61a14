//! The opening of a WebSocket, RFC 6455 section 4.2.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1_smol::Sha1;

use crate::http::problem::Problem;

/// What every server adds to a client's key before it digests it.
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The protocol that a client may name.
const PROTOCOL: &str = "punctual.v1";
/// A browser cannot send the header `Authorization` with a WebSocket. It names its key as a protocol that begins so, and `punctual.v1` beside it.
const KEY_PREFIX: &str = "punctual.key.";

/// Puts a key that was named as a protocol where a key belongs, unless there is one.
pub(super) fn take_key(headers: &mut HeaderMap) {
    let named = protocols(headers).find_map(|protocol| protocol.strip_prefix(KEY_PREFIX));
    let bearer = named.and_then(|key| HeaderValue::try_from(format!("Bearer {key}")).ok());
    if let Some(mut bearer) = bearer.filter(|_| !headers.contains_key(header::AUTHORIZATION)) {
        bearer.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, bearer);
    }
}

/// What the client's opening is answered with; from then on both speak WebSocket.
pub(super) fn accept(headers: &HeaderMap) -> Result<axum::response::Response, Problem> {
    let has = |name: HeaderName, word: &str| {
        let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|token| token.trim().eq_ignore_ascii_case(word))
    };
    if !has(header::CONNECTION, "upgrade") || !has(header::UPGRADE, "websocket") {
        return Err(upgrade_required("this is a WebSocket; open it with a client for WebSockets"));
    }
    if !has(header::SEC_WEBSOCKET_VERSION, "13") {
        return Err(upgrade_required("only version 13 of the WebSocket protocol is spoken here"));
    }
    let key = headers.get(header::SEC_WEBSOCKET_KEY).and_then(|key| key.to_str().ok()).map(str::trim);
    let is_key = |key: &&str| STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16);
    let key = key.filter(is_key).ok_or_else(|| {
        Problem::bad_request("Sec-WebSocket-Key: must be 16 bytes in base64").at_field("Sec-WebSocket-Key")
    })?;
    let digest = Sha1::from(format!("{key}{MAGIC}")).digest().bytes();
    let mut response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, STANDARD.encode(digest));
    if protocols(headers).any(|protocol| protocol == PROTOCOL) {
        response = response.header(header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
    }
    let response = response.body(axum::body::Body::empty());
    response.map(IntoResponse::into_response).map_err(|_| Problem::internal("the opening could not be answered"))
}

fn upgrade_required(detail: &str) -> Problem {
    Problem::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", detail)
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    const OPENING: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    #[test]
    fn an_opening_is_answered_as_the_standard_has_it() {
        let response = accept(&headers(&OPENING)).unwrap();
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        // The example of RFC 6455 section 1.3.
        assert_eq!(response.headers()[header::SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(!response.headers().contains_key(header::SEC_WEBSOCKET_PROTOCOL));
    }

    #[test]
    fn what_is_no_opening_is_refused() {
        for (left_out, status) in
            [("connection", 426), ("upgrade", 426), ("sec-websocket-version", 426), ("sec-websocket-key", 400)]
        {
            let mut headers = headers(&OPENING);
            headers.remove(left_out);
            assert_eq!(accept(&headers).unwrap_err().into_response().status(), status, "{left_out}");
        }
    }

    #[test]
    fn a_key_that_is_named_as_a_protocol_is_a_key_and_is_not_said_back() {
        let mut named = headers(&OPENING);
        named.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("punctual.v1, punctual.key.pk_1"));
        take_key(&mut named);
        assert_eq!(named[header::AUTHORIZATION], "Bearer pk_1");
        let response = accept(&named).unwrap();
        assert_eq!(response.headers()[header::SEC_WEBSOCKET_PROTOCOL], "punctual.v1");
        assert!(!format!("{response:?}").contains("pk_1"));
        let mut both = headers(&[("authorization", "Bearer other"), ("sec-websocket-protocol", "punctual.key.pk_1")]);
        take_key(&mut both);
        assert_eq!(both[header::AUTHORIZATION], "Bearer other", "the header goes before it");
    }
}
