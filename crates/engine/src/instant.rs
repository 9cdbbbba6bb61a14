//! Arithmetic with instants that stops at the ends of time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

pub(crate) fn signed(span: Duration) -> SignedDuration {
    SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX)
}

pub(crate) fn plus(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}

pub(crate) fn minus(at: Timestamp, span: Duration) -> Timestamp {
    at.checked_sub(signed(span)).unwrap_or(Timestamp::MIN)
}
