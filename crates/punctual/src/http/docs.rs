//! The description of the API as a page: written on the server, without a script, and without anything from elsewhere.

/// The page, piece by piece.
mod write;

use std::sync::LazyLock;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::describe;

const STYLE: &str = include_str!("docs/style.css");

static PAGE: LazyLock<String> = LazyLock::new(|| write::page(describe::document(), STYLE));

/// Nothing is loaded or run but the one style that is part of the page.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    // A policy is letters, digits and a few signs.
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// This description as a page for people.
///
/// It needs no key, and loads nothing from elsewhere.
#[utoipa::path(
    get, path = "/docs", operation_id = "docs", tag = "server",
    responses((status = 200, description = "A page", body = String, content_type = "text/html")),
)]
pub(super) async fn show() -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, POLICY.clone()),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, PAGE.as_str()).into_response()
}
