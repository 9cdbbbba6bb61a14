//! The audit trail: what was done, by whom.

use jiff::Timestamp;

use crate::id::ReminderId;
use crate::writes::{Deed, Writes};

/// Which audit entries to list.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// Only of this reminder.
    pub reminder: Option<ReminderId>,
    /// Only older than this entry.
    pub before: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Rises with time.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub actor: String,
    /// What, as a verb: `create`, `cancel`, `missed`, …
    pub action: String,
    /// To which reminder.
    pub reminder: ReminderId,
    /// To which run of it.
    pub run: Option<u32>,
    /// More words.
    pub detail: Option<String>,
}

/// A message that somebody sent to see whether a channel and an address work.
#[derive(Debug, Clone)]
pub struct ChannelTest {
    /// The id that the message carried; there is no such reminder.
    pub message: ReminderId,
    /// Who asked for it.
    pub actor: String,
    /// Which channel, for whom, and what became of it. It has no address: that may be a secret.
    pub detail: String,
    /// When.
    pub at: Timestamp,
}

impl ChannelTest {
    /// What is written.
    pub fn writes(self) -> Writes {
        let mut writes = Writes::new(self.at);
        writes.audit.push(Deed {
            at: self.at,
            actor: self.actor.into(),
            action: CHANNEL_TEST,
            reminder: self.message,
            run: None,
            detail: Some(self.detail),
        });
        writes
    }
}

/// The audit trail's word for a [`ChannelTest`].
pub const CHANNEL_TEST: &str = "channel.test";
