//! The promise a channel makes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::id::OccurrenceId;
use crate::invalid::Invalid;
use crate::reminder::{Address, Reminder};

/// One way to reach people.
///
/// A channel knows its platform and nothing of schedules or retries. It sends once and says what happened.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// Sends `message`. Dropping the future abandons the send; whether it arrived is then unknown.
    async fn send(&self, message: &Message) -> Result<Receipt, SendError>;

    /// Refuses an address that cannot be right, when a reminder is created rather than when it is due.
    fn check_address(&self, address: &str) -> Result<(), Invalid>;

    /// How many sends may run at once to one receiver.
    fn concurrency(&self) -> usize {
        64
    }

    /// Which receiver an address belongs to. Sends to one receiver share its concurrency, so that a receiver
    /// that hangs holds back its own messages and nobody else's.
    fn receiver(&self, address: &str) -> String {
        address.to_owned()
    }
}

/// What is handed to a channel: one attempt to tell one person one thing.
#[derive(Debug, Clone)]
pub struct Message {
    /// The occurrence this is an attempt for.
    pub occurrence: OccurrenceId,
    /// Which attempt, counted from 1.
    pub attempt: u32,
    /// The reminder it belongs to.
    pub reminder: Arc<Reminder>,
    /// Where it goes.
    pub to: Address,
    /// The same for every attempt of this occurrence to this address.
    pub idempotency_key: String,
    /// What to say, with a `[Late …]` prefix where it applies.
    pub text: String,
    /// When it was due.
    pub due_at: Timestamp,
    /// When this attempt begins. Never before `due_at`.
    pub sent_at: Timestamp,
}

impl Message {
    /// How late this attempt begins, in seconds.
    pub fn late_seconds(&self) -> f64 {
        self.sent_at.duration_since(self.due_at).as_secs_f64().max(0.0)
    }
}

/// What a channel returns for a message it took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Receipt {
    /// The platform's own id of the message, if it gives one.
    pub message_id: Option<String>,
    /// Nobody saw it and nobody can answer: it counts as delivered, whatever the reminder asks. Only a rehearsal says so.
    pub unanswerable: bool,
}

/// Why a send did not work, named by what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The platform asks to wait this long; it costs no attempt.
    #[error("throttled for {0:?}")]
    Throttled(Duration),
    /// It may work later.
    #[error("{0}")]
    Unavailable(String),
    /// This message will never be taken at this address.
    #[error("{0}")]
    Refused(String),
    /// The address is dead.
    #[error("gone: {0}")]
    Gone(String),
    /// Cut off in flight: it may have arrived.
    #[error("{0}")]
    Unknown(String),
}
