//! The pages of punctual: what is coming, what happened, and why.
//!
//! HTML is rendered here from what the API says, and from nothing else: this crate has a [`Client`](punctual_client::Client) for the session of a browser, and
//! the compiler refuses it everything behind the API. Forms and links work without a script; the one script adds live parts, the palette
//! and swaps. `README.md` beside this crate says how to add a page. The modules are in reading order.

/// What the server gives to its pages.
mod house;

/// Who has signed in: the cookie, signing in and out, and the proof that a form is ours.
mod session;

/// Who looks at a page: their client, zone, language and rights.
mod viewer;

/// Numbers, dates and instants in the manner of the viewer.
mod manner;

/// Every text, in every language.
mod texts;

/// What stands around every page.
mod layout;

/// What pages are made of.
mod parts;

/// One file a page.
mod pages;

/// What is said once, on the next page.
mod flash;

/// Pages that say what went wrong.
mod trouble;

/// The stylesheet, the script and the icons.
mod assets;

/// What happens, told to an open page.
mod stream;

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;

pub use self::house::{Begun, House, NoEntry, Proof};

/// What every handler has: the server.
type Web = Arc<dyn House>;

/// Nothing is loaded from elsewhere, nothing inline runs, and nobody frames a page.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// All pages, for the server to mount at `/`.
pub fn router(house: Arc<dyn House>) -> Router {
    Router::new()
        .merge(pages::routes())
        .merge(session::routes())
        .merge(stream::routes())
        .layer(from_fn_with_state(house.clone(), trouble::layer))
        .layer(map_response(guarded))
        .merge(assets::routes())
        .with_state(house)
}

/// The page about an address at which there is nothing, for somebody who asked for it with these headers.
pub async fn missing(house: &dyn House, headers: &HeaderMap) -> Response {
    guarded(trouble::page(house, headers, &trouble::Trouble::NotFound).await).await
}

/// What every page says to the browser beside itself.
async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(CSP));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    // A page is somebody's own.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
