//! What was answered to a request, kept so that the same request is answered the same.

use std::fmt;
use std::sync::Arc;

use jiff::SignedDuration;

use super::ReminderView;

/// How long an answered request is remembered: long enough for any client that retries.
pub const ANSWERED_KEPT_FOR: SignedDuration = SignedDuration::from_hours(48);

/// The answer to a request, kept so that the same request is answered the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// SHA-256 of the request.
    pub request: [u8; 32],
    /// The answer; `None`: the request has begun, and has not ended or was cut off.
    pub answer: Option<Answer>,
}

/// An answer as a client gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// A command that may come again under its idempotency key.
#[derive(Clone)]
pub struct Repeat {
    /// The key.
    pub key: String,
    /// SHA-256 of the request.
    pub request: [u8; 32],
    /// Makes the answer from the changed reminder. The store calls it, because the answer is written in the transaction
    /// of the change: a command that was done has been answered, whatever crashes next.
    pub answer: Arc<dyn Fn(&ReminderView) -> Answer + Send + Sync>,
}

impl Repeat {
    /// The answer to keep of a command that led to `view`.
    pub fn answered(&self, view: &ReminderView) -> Answered {
        Answered { request: self.request, answer: Some((self.answer)(view)) }
    }
}

impl fmt::Debug for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repeat").field("key", &self.key).finish_non_exhaustive()
    }
}
