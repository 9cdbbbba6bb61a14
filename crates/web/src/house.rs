//! What the server gives to its pages.

use std::net::IpAddr;

use async_trait::async_trait;
use axum::extract::Request;
use axum::http::Extensions;
use axum::response::Response;
use jiff::{SignedDuration, Timestamp};
use punctual_client::Client;

/// The server that has these pages. It keeps the sessions; pages hand on what the cookie says, and never see a key again after sign-in.
#[async_trait]
pub trait House: Send + Sync + 'static {
    /// The present.
    fn now(&self) -> Timestamp;

    /// The name of the session's cookie.
    fn cookie(&self) -> &str;

    /// Whether browsers reach the server over TLS.
    fn is_secure(&self) -> bool;

    /// The API, asked with the rights of a session. One that is over is answered 401.
    fn client(&self, session: &str) -> Client;

    /// Who is at the other end of a request.
    fn peer(&self, request: &Extensions) -> Option<IpAddr>;

    /// Begins a session for somebody at `from`.
    async fn begin(&self, proof: Proof<'_>, from: Option<IpAddr>) -> Result<Begun, NoEntry>;

    /// Ends a session, or all sessions of its key.
    async fn end(&self, session: &str, everywhere: bool) -> Result<(), NoEntry>;

    /// Waits until it is the turn of an open page to look again, where very many are open.
    async fn turn(&self);

    /// The journal live, for a session: `/v1/stream` with this query. `request` is the browser's.
    async fn stream(&self, session: &str, query: &str, request: Request) -> Response;
}

/// What somebody shows to sign in.
#[derive(Debug, Clone, Copy)]
pub enum Proof<'a> {
    /// A key of the API.
    Key(&'a str),
    /// The secret part of a link that works once.
    Link(&'a str),
}

/// A session that has begun.
pub struct Begun {
    /// For the cookie.
    pub session: String,
    /// How long it lasts.
    pub lasts: SignedDuration,
}

/// Why somebody was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEntry {
    /// The key or the link is not right.
    Wrong,
    /// Too many were wrong.
    TooMany {
        /// When to try again.
        seconds: u32,
    },
    /// It cannot be known now.
    Unavailable,
}
