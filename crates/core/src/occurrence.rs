//! One instant at which a reminder is due, and the states it goes through.
//!
//! ```text
//! scheduled ─▶ processing ─▶ delivered
//!     │            │  ▲  └──▶ awaiting_ack ─▶ completed | dismissed | unanswered
//!     │            ▼  │            └──▶ snoozed ─▶ processing …
//!     │       pending_retry ─▶ failed
//!     ├──▶ waiting ─▶ processing …
//!     └──▶ cancelled | missed | paused
//! ```
//!
//! Each state carries exactly the facts that exist in it. [`State::wake_at`] is the instant at which the
//! engine must look at the occurrence again: stores index that and nothing else, so what has ended costs
//! nothing.

use std::time::Duration;

use jiff::Timestamp;

use crate::decide::later;
use crate::id::OccurrenceId;
use crate::reminder::{ADDRESSES_MAX, AckPolicy, words};

/// One run of a reminder.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// Its name.
    pub id: OccurrenceId,
    /// When it is due. A snooze moves it, and so do its person's quiet hours.
    pub due_at: Timestamp,
    /// The instant the run was made for: when it was due before anything moved it. No snooze goes before it.
    pub made_for: Timestamp,
    /// Where it stands.
    pub state: State,
    /// What has been tried so far.
    pub tries: Tries,
    /// Somebody asked for it by hand: until it has reached its person it waits for no quiet hours and no pause.
    pub at_once: bool,
}

impl Occurrence {
    /// A new occurrence, due at `due_at`.
    pub fn scheduled(id: OccurrenceId, due_at: Timestamp) -> Self {
        Self { id, due_at, made_for: due_at, state: State::Scheduled, tries: Tries::default(), at_once: false }
    }

    /// When what is said now was to be said: when it was due, or so many answers were waited for since. The same for every
    /// attempt under one key, and never after the first of them begins.
    pub fn said_from(&self, ack: Option<&AckPolicy>) -> Timestamp {
        let waited = ack.map_or(Duration::ZERO, |ack| ack.timeout.saturating_mul(self.tries.asks));
        later(self.due_at, waited)
    }

    /// The instant the run was made for, if something has moved it since: what a store keeps beside `due_at`.
    pub fn moved_from(&self) -> Option<Timestamp> {
        (self.made_for != self.due_at).then_some(self.made_for)
    }
}

/// What has been tried so far for one occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tries {
    /// Attempts made; the last one's number.
    pub attempts: u32,
    /// Rounds over all addresses that have failed.
    pub rounds: u32,
    /// Which address comes next.
    pub position: u32,
    /// Addresses, as bits, that refused this message for good.
    pub refused: u64,
    /// Times the person was asked since it became due, or since the last snooze.
    pub asks: u32,
    /// Times the person was reached at all. Each counts as a message of its own, with a key of its own: a
    /// receiver that drops repeats must still show the second asking.
    pub reached: u32,
}

/// The position of a send under way that has got other addresses meanwhile: one past the last that a reminder and its user can have
/// together. What it learns about the old ones says nothing about the new ones, so a store forgets it when the lease ends.
pub const READDRESSED: u32 = 2 * ADDRESSES_MAX as u32;

// Each address has a bit in `Tries::refused`.
const _: () = assert!(READDRESSED <= u64::BITS);

/// Where an occurrence stands.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Waits for its due instant.
    Scheduled,
    /// A node delivers it.
    Processing {
        /// The node's right to do so.
        lease: Lease,
    },
    /// Failed so far; the next attempt comes at `retry_at`.
    PendingRetry {
        /// When to try again.
        retry_at: Timestamp,
        /// What went wrong last.
        error: String,
    },
    /// Reached the person, who has been asked for an answer.
    AwaitingAck {
        /// When the person was last reached.
        delivered_at: Timestamp,
        /// When to ask again, or to give up asking.
        ask_again_at: Timestamp,
    },
    /// Put off by the person; due again at the occurrence's `due_at`.
    Snoozed,
    /// Put off because its person must not be disturbed; due again at the occurrence's `due_at`.
    Waiting {
        /// For the end of what.
        why: Why,
    },
    /// Its reminder is paused.
    Paused,
    /// Reached the person; no answer was asked for. Final.
    Delivered {
        /// When.
        at: Timestamp,
    },
    /// The person said it is done. Final.
    Completed {
        /// When.
        at: Timestamp,
    },
    /// The person said it is not needed. Final.
    Dismissed {
        /// When.
        at: Timestamp,
    },
    /// Reached the person, who never answered. Final.
    Unanswered {
        /// When asking ended.
        at: Timestamp,
    },
    /// Every address and retry failed. Final.
    Failed {
        /// When.
        at: Timestamp,
        /// What went wrong last.
        error: String,
    },
    /// Somebody cancelled it before it was sent. Final.
    Cancelled {
        /// When.
        at: Timestamp,
    },
    /// Its instant passed while nothing ran, and policy skipped it. Final.
    Missed {
        /// When that was found out.
        at: Timestamp,
    },
}

/// Why a person must not be disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// It is their quiet hours.
    Quiet,
    /// They have asked for silence until an instant.
    Paused,
}

words!(Why as "why" { "quiet" => Quiet, "paused" => Paused });

/// What a store keeps of a state beside its kind.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The number of the last lease.
    pub lease: u64,
    /// When the occurrence must be looked at; none once it has ended.
    pub wake_at: Option<Timestamp>,
    /// When the state was reached.
    pub reached_at: Timestamp,
    /// What [`State::kept_note`] said, or nothing.
    pub note: String,
}

impl State {
    /// The state that a store kept; `None` for an open one without a moment, which nothing writes.
    pub fn from_kept(kind: StateKind, kept: Kept) -> Option<Self> {
        let Kept { lease, wake_at, reached_at: at, note } = kept;
        Some(match kind {
            StateKind::Scheduled => Self::Scheduled,
            StateKind::Processing => Self::Processing { lease: Lease { number: lease, until: wake_at? } },
            StateKind::PendingRetry => Self::PendingRetry { retry_at: wake_at?, error: note },
            StateKind::AwaitingAck => Self::AwaitingAck { delivered_at: at, ask_again_at: wake_at? },
            StateKind::Snoozed => match note.parse() {
                Ok(why) => Self::Waiting { why },
                Err(_) => Self::Snoozed,
            },
            StateKind::Waiting => Self::Waiting { why: note.parse().unwrap_or(Why::Quiet) },
            StateKind::Paused => Self::Paused,
            StateKind::Delivered => Self::Delivered { at },
            StateKind::Completed => Self::Completed { at },
            StateKind::Dismissed => Self::Dismissed { at },
            StateKind::Unanswered => Self::Unanswered { at },
            StateKind::Failed => Self::Failed { at, error: note },
            StateKind::Cancelled => Self::Cancelled { at },
            StateKind::Missed => Self::Missed { at },
        })
    }

    /// The word a store keeps for it.
    ///
    /// What waits is kept as `snoozed`, with why as its note. A node of an earlier version, which shares the database while
    /// nodes are replaced one by one, then sends it when it is due again instead of not being able to read it.
    pub fn kept_kind(&self) -> StateKind {
        match self {
            Self::Waiting { .. } => StateKind::Snoozed,
            _ => self.kind(),
        }
    }

    /// What a store keeps beside that word: what went wrong, or why it waits.
    pub fn kept_note(&self) -> Option<&str> {
        match self {
            Self::Waiting { why } => Some(why.as_str()),
            _ => self.error(),
        }
    }

    /// Whether nothing more will happen.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Delivered { .. }
                | Self::Completed { .. }
                | Self::Dismissed { .. }
                | Self::Unanswered { .. }
                | Self::Failed { .. }
                | Self::Cancelled { .. }
                | Self::Missed { .. }
        )
    }

    /// When the engine must look at an occurrence in this state again, if ever.
    pub fn wake_at(&self, due_at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Scheduled | Self::Snoozed | Self::Waiting { .. } => Some(due_at),
            Self::Processing { lease } => Some(lease.until),
            Self::PendingRetry { retry_at, .. } => Some(*retry_at),
            Self::AwaitingAck { ask_again_at, .. } => Some(*ask_again_at),
            _ => None,
        }
    }

    /// The state's name.
    pub fn kind(&self) -> StateKind {
        match self {
            Self::Scheduled => StateKind::Scheduled,
            Self::Processing { .. } => StateKind::Processing,
            Self::PendingRetry { .. } => StateKind::PendingRetry,
            Self::AwaitingAck { .. } => StateKind::AwaitingAck,
            Self::Snoozed => StateKind::Snoozed,
            Self::Waiting { .. } => StateKind::Waiting,
            Self::Paused => StateKind::Paused,
            Self::Delivered { .. } => StateKind::Delivered,
            Self::Completed { .. } => StateKind::Completed,
            Self::Dismissed { .. } => StateKind::Dismissed,
            Self::Unanswered { .. } => StateKind::Unanswered,
            Self::Failed { .. } => StateKind::Failed,
            Self::Cancelled { .. } => StateKind::Cancelled,
            Self::Missed { .. } => StateKind::Missed,
        }
    }

    /// When a final state was reached, or when the person was reached.
    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Self::Delivered { at }
            | Self::Completed { at }
            | Self::Dismissed { at }
            | Self::Unanswered { at }
            | Self::Failed { at, .. }
            | Self::Cancelled { at }
            | Self::Missed { at } => Some(*at),
            Self::AwaitingAck { delivered_at, .. } => Some(*delivered_at),
            _ => None,
        }
    }

    /// What went wrong last, if something did.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::PendingRetry { error, .. } | Self::Failed { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// The names of the states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "State documents them")]
pub enum StateKind {
    Scheduled,
    Processing,
    PendingRetry,
    AwaitingAck,
    Snoozed,
    Waiting,
    Paused,
    Delivered,
    Completed,
    Dismissed,
    Unanswered,
    Failed,
    Cancelled,
    Missed,
}

words!(StateKind as "state" {
    "scheduled" => Scheduled, "processing" => Processing, "pending_retry" => PendingRetry,
    "awaiting_ack" => AwaitingAck, "snoozed" => Snoozed, "waiting" => Waiting, "paused" => Paused, "delivered" => Delivered,
    "completed" => Completed, "dismissed" => Dismissed, "unanswered" => Unanswered, "failed" => Failed,
    "cancelled" => Cancelled, "missed" => Missed,
});

/// A node's right to deliver one occurrence until an instant.
///
/// The number rises with every claim of the occurrence. A settle names it and changes nothing when another
/// claim has been made since: that is what stops a node that slept through its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Which claim of the occurrence this is.
    pub number: u64,
    /// When it ends unless renewed.
    pub until: Timestamp,
}

/// One try at one address.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// Which try of the occurrence, counted from 1.
    pub number: u32,
    /// Where to; empty when there was nowhere to send.
    pub channel: String,
    /// The person's place in the channel.
    pub address: String,
    /// What became of it.
    pub status: AttemptStatus,
    /// When it was written down, just before the send.
    pub started_at: Timestamp,
    /// When the channel answered.
    pub ended_at: Option<Timestamp>,
    /// What went wrong.
    pub error: Option<String>,
    /// The platform's own id of the message.
    pub message_id: Option<String>,
    /// The key that it was sent under, where that is not its own: it went out in one message with others.
    pub key: Option<String>,
    /// The key of this attempt alone, as its receiver was told.
    pub attempt_key: Option<String>,
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptStatus {
    /// Written down; the send may have begun.
    Sending,
    /// The channel took it.
    Sent,
    /// The platform says the person has it.
    Delivered,
    /// It did not work; another try may.
    Failed,
    /// It will never work at this address.
    Refused,
    /// Cut off in flight: nobody knows.
    Unknown,
}

words!(AttemptStatus as "status" {
    "sending" => Sending, "sent" => Sent, "delivered" => Delivered, "failed" => Failed, "refused" => Refused, "unknown" => Unknown,
});
