//! The same request answered the same.
//!
//! What was answered is written in the transaction that creates, so there is no instant at which
//! one exists without the other. The key is kept with the caller's id: two callers who choose the
//! same key do not meet.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use punctual_core::store::Answered;
use sha2::{Digest, Sha256};

use super::App;
use super::auth::Caller;
use super::problem::Problem;
use super::wire;

/// A request that may come again.
pub(super) struct Repeatable {
    key: String,
    request: [u8; 32],
}

/// The request's `Idempotency-Key`, if it has one.
pub(super) struct Key(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        match value.to_str().ok().map(str::trim).filter(|key| (1..=255).contains(&key.len())) {
            Some(key) => Ok(Self(Some(key.to_owned()))),
            None => Err(Problem::bad_request("the Idempotency-Key must be 1 to 255 visible ASCII characters")),
        }
    }
}

impl Key {
    /// What the key makes of a request to `route`; nothing if there is none.
    pub(super) fn on(self, caller: &Caller, route: &str, body: &[u8]) -> Option<Repeatable> {
        let key = self.0?;
        let mut hash = Sha256::new();
        hash.update(route.as_bytes());
        hash.update([0]);
        hash.update(body);
        Some(Repeatable { key: format!("{}:{key}", caller.id), request: hash.finalize().into() })
    }
}

impl Repeatable {
    /// The answer this request has had already, if it has.
    pub(super) async fn answered(&self, app: &App) -> Result<Option<Response>, Problem> {
        let Some(answered) = app.engine.store().answered(&self.key).await? else { return Ok(None) };
        if answered.request != self.request {
            return Err(Problem::conflict(
                "key_reused",
                "this Idempotency-Key was used for a different request; use a new key for each",
            ));
        }
        let mut response = wire::answer_bytes(StatusCode::CREATED, answered.body.into_bytes());
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
        Ok(Some(response))
    }

    /// What to keep with what is created.
    pub(super) fn with(&self, body: &str) -> (String, Answered) {
        (self.key.clone(), Answered { request: self.request, body: body.to_owned() })
    }
}
