//! The states that an occurrence goes through.
//!
//! ```text
//! unplanned ─▶ scheduled, or failed
//!
//! scheduled ─▶ processing ─▶ delivered
//!     │            │  ▲  └──▶ awaiting_ack ─▶ completed | dismissed | unanswered
//!     │            ▼  │            └──▶ snoozed ─▶ processing …
//!     │       pending_retry ─▶ failed
//!     ├──▶ waiting ─▶ processing …
//!     └──▶ cancelled | missed | paused
//! ```
//!
//! Each state carries exactly the facts that exist in it. [`State::wake_at`] is the instant at which the
//! engine must look at the occurrence again, unless further people are to be asked before
//! ([`Occurrence::wake_at`](super::occurrence::Occurrence::wake_at)): stores index that and nothing else, so what has ended costs
//! nothing.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_time::words;
use punctual_time::words::Words as _;

use crate::reminder::Address;

/// Where an occurrence stands.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Written in SQL, and still to be planned: the claim of it works out when it is first due.
    Unplanned {
        /// The schedule as it was asked for: JSON as the HTTP API takes it ([`crate::rules::first`]).
        asked: String,
    },
    /// Waits for its due instant.
    Scheduled,
    /// A node delivers it.
    Processing {
        /// The node's right to do so.
        lease: Lease,
        /// The attempt that is under way.
        sending: Sending,
    },
    /// Failed so far; the next attempt comes at `retry_at`.
    PendingRetry {
        /// When to try again.
        retry_at: Timestamp,
        /// What went wrong last.
        error: String,
        /// The retry was put off to then because the person must not be disturbed.
        waits_for: Option<Why>,
    },
    /// Reached the person, who has been asked for an answer.
    AwaitingAck {
        /// When the person was last reached.
        delivered_at: Timestamp,
        /// When to ask again, or to give up asking.
        ask_again_at: Timestamp,
        /// Asking again was put off to then because the person must not be disturbed.
        waits_for: Option<Why>,
    },
    /// Put off by the person; due again at the occurrence's `due_at`.
    Snoozed,
    /// Put off because its person must not be disturbed; due again at the occurrence's `due_at`.
    Waiting {
        /// For the end of what.
        why: Why,
        /// When it was due before. A person who may be disturbed sooner than expected is still not told before this.
        from: Timestamp,
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

/// Why a run that is due waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// It is their quiet hours.
    Quiet,
    /// They have asked for silence until an instant.
    Paused,
    /// Reminders like this one are silent for a while.
    Silenced,
    /// Its event has changed, and is planned anew in a moment.
    Event,
}

words!(Why as "why" { "quiet" => Quiet, "paused" => Paused, "silenced" => Silenced, "event" => Event });

/// An attempt that is under way: written down with the lease, before the send begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// Where to.
    pub to: Address,
    /// When its node claimed it.
    pub since: Timestamp,
    /// The platform's own id of the message, once the platform has taken it.
    pub message_id: Option<String>,
    /// The reminder or its person has got other addresses since. What this attempt learns about the old ones says nothing about
    /// the new ones.
    pub readdressed: bool,
}

/// The fields of a state that a store keeps beside its kind, one a column.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// The number of the last lease.
    pub lease: u64,
    /// [`Lease::node`].
    pub node: Option<String>,
    /// When the occurrence must be looked at; none once it has ended.
    pub wake_at: Option<Timestamp>,
    /// The state's own moment, where that is another ([`Occurrence::own_at`](super::occurrence::Occurrence::own_at)).
    pub own_at: Option<Timestamp>,
    /// [`State::kept_at`].
    pub at: Option<Timestamp>,
    /// [`State::error`].
    pub error: Option<String>,
    /// [`State::waits_for`].
    pub waits_for: Option<Why>,
    /// The channel and the address of [`Sending::to`].
    pub to: Option<(String, String)>,
    /// [`Sending::message_id`].
    pub message_id: Option<String>,
    /// [`Sending::readdressed`].
    pub readdressed: bool,
    /// [`State::asked`]. It stays when the run has been planned.
    pub asked: Option<String>,
}

impl State {
    /// The state that a store kept for an occurrence due at `due_at`; `None` where a column is missing that this kind of state
    /// has, which nothing writes.
    pub fn from_kept(kind: StateKind, kept: Kept, due_at: Timestamp) -> Option<Self> {
        let Kept { lease, node, wake_at, own_at, at, error, waits_for, to, message_id, readdressed, asked } = kept;
        let own_at = own_at.or(wake_at);
        let at = at.unwrap_or(due_at);
        let error = error.unwrap_or_default();
        Some(match kind {
            StateKind::Unplanned => Self::Unplanned { asked: asked? },
            StateKind::Scheduled => Self::Scheduled,
            StateKind::Processing => {
                let (channel, address) = to?;
                Self::Processing {
                    lease: Lease { number: lease, until: wake_at?, node: node?.into() },
                    sending: Sending { to: Address { channel, address }, since: at, message_id, readdressed },
                }
            }
            StateKind::PendingRetry => Self::PendingRetry { retry_at: own_at?, error, waits_for },
            StateKind::AwaitingAck => Self::AwaitingAck { delivered_at: at, ask_again_at: own_at?, waits_for },
            StateKind::Snoozed => Self::Snoozed,
            StateKind::Waiting => Self::Waiting { why: waits_for?, from: at },
            StateKind::Paused => Self::Paused,
            StateKind::Delivered => Self::Delivered { at },
            StateKind::Completed => Self::Completed { at },
            StateKind::Dismissed => Self::Dismissed { at },
            StateKind::Unanswered => Self::Unanswered { at },
            StateKind::Failed => Self::Failed { at, error },
            StateKind::Cancelled => Self::Cancelled { at },
            StateKind::Missed => Self::Missed { at },
        })
    }

    /// Why its person must not be disturbed, if that is what it waits for.
    pub fn waits_for(&self) -> Option<Why> {
        match self {
            Self::Waiting { why, .. } => Some(*why),
            Self::PendingRetry { waits_for, .. } | Self::AwaitingAck { waits_for, .. } => *waits_for,
            _ => None,
        }
    }

    /// The schedule that an unplanned run was asked for.
    pub fn asked(&self) -> Option<&str> {
        match self {
            Self::Unplanned { asked } => Some(asked),
            _ => None,
        }
    }

    /// The lease, if a node has one.
    pub fn lease(&self) -> Option<&Lease> {
        match self {
            Self::Processing { lease, .. } => Some(lease),
            _ => None,
        }
    }

    /// The attempt that is under way, if one is.
    pub fn sending(&self) -> Option<&Sending> {
        match self {
            Self::Processing { sending, .. } => Some(sending),
            _ => None,
        }
    }

    /// Whether nothing more will happen.
    pub fn is_final(&self) -> bool {
        self.kind().is_final()
    }

    /// When the engine must look at an occurrence in this state again, if ever.
    pub fn wake_at(&self, due_at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Unplanned { .. } | Self::Scheduled | Self::Snoozed | Self::Waiting { .. } => Some(due_at),
            Self::Processing { lease, .. } => Some(lease.until),
            Self::PendingRetry { retry_at, .. } => Some(*retry_at),
            Self::AwaitingAck { ask_again_at, .. } => Some(*ask_again_at),
            _ => None,
        }
    }

    /// The state's name.
    pub fn kind(&self) -> StateKind {
        match self {
            Self::Unplanned { .. } => StateKind::Unplanned,
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

    /// The instant that a store keeps beside the state: [`Self::at`], or when an attempt was claimed, or since when a run waits.
    pub fn kept_at(&self) -> Option<Timestamp> {
        match self {
            Self::Waiting { from, .. } => Some(*from),
            Self::Processing { sending, .. } => Some(sending.since),
            _ => self.at(),
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
    Unplanned,
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
    "unplanned" => Unplanned, "scheduled" => Scheduled, "processing" => Processing, "pending_retry" => PendingRetry,
    "awaiting_ack" => AwaitingAck, "snoozed" => Snoozed, "waiting" => Waiting, "paused" => Paused, "delivered" => Delivered,
    "completed" => Completed, "dismissed" => Dismissed, "unanswered" => Unanswered, "failed" => Failed,
    "cancelled" => Cancelled, "missed" => Missed,
});

impl StateKind {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::WORDS.iter().filter_map(|word| word.parse().ok())
    }

    /// Whether nothing more will happen. A run in any other state is *open*.
    pub fn is_final(self) -> bool {
        match self {
            Self::Delivered
            | Self::Completed
            | Self::Dismissed
            | Self::Unanswered
            | Self::Failed
            | Self::Cancelled
            | Self::Missed => true,
            Self::Unplanned
            | Self::Scheduled
            | Self::Processing
            | Self::PendingRetry
            | Self::AwaitingAck
            | Self::Snoozed
            | Self::Waiting
            | Self::Paused => false,
        }
    }

    /// Whether a claim leaves the run alone until its moment: that is the end of a lease, or of the time given to answer, and only what is to
    /// be sent at an instant is taken ahead of it.
    pub fn is_left_alone(self) -> bool {
        matches!(self, Self::Processing | Self::AwaitingAck)
    }

    /// Whether the run waits for the instant at which it is sent: what people are told as the reminder's next run, and what a pause or a snooze
    /// can take away.
    pub fn is_to_come(self) -> bool {
        match self {
            Self::Scheduled | Self::Snoozed | Self::Waiting | Self::PendingRetry => true,
            Self::Unplanned
            | Self::Processing
            | Self::AwaitingAck
            | Self::Paused
            | Self::Delivered
            | Self::Completed
            | Self::Dismissed
            | Self::Unanswered
            | Self::Failed
            | Self::Cancelled
            | Self::Missed => false,
        }
    }
}

/// A node's right to deliver one occurrence until an instant.
///
/// The number rises with every claim of the occurrence. A settle names it and changes nothing when another
/// claim has been made since: that is what stops a node that slept through its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Which claim of the occurrence this is.
    pub number: u64,
    /// When it ends unless renewed.
    pub until: Timestamp,
    /// The node that has it.
    pub node: Arc<str>,
}
