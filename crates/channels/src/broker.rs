//! What the channels to message brokers share.

/// Where in the broker a message goes.
pub(crate) mod route;

/// What stands beside the body of a message that belongs to an event.
pub(crate) mod headers;

use std::error::Error;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many sends run at once to one broker.
pub(crate) const CONCURRENCY: usize = 512;

/// How often something was heard on a connection. A message that nobody speaks of while others are heard of is that message's
/// affair; where nothing is heard at all, the connection is dead.
#[derive(Debug, Default)]
pub(crate) struct Heard(AtomicU64);

impl Heard {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// An error with its causes, each said once.
pub(crate) fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            // Writing to a text cannot fail.
            let _ = write!(text, ": {said}");
        }
        next = cause.source();
    }
    text
}
