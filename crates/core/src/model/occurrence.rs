//! One instant at which a reminder is due.

use std::time::Duration;

use jiff::Timestamp;
use punctual_time::words;

pub use super::attempt::{Attempt, AttemptStatus};
pub use super::state::{Kept, Lease, Sending, State, StateKind, Why};
use crate::clock::later;
use crate::id::OccurrenceId;
use crate::reminder::{ADDRESSES_MAX, AckPolicy};

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
    /// How far asking further people has come, if it is to be.
    pub escalation: Option<Escalation>,
}

/// How far asking further people has come, when nobody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escalation {
    /// They are asked then, if nobody has answered.
    Planned {
        /// When the first of them is.
        at: Timestamp,
    },
    /// They have reminders of their own. The run is not called unanswered before `until`.
    Asked {
        /// When the last of them has been asked in vain.
        until: Timestamp,
    },
}

impl Escalation {
    /// The escalation that a store kept.
    pub fn from_kept(kind: EscalationKind, at: Timestamp) -> Self {
        match kind {
            EscalationKind::Planned => Self::Planned { at },
            EscalationKind::Asked => Self::Asked { until: at },
        }
    }

    /// Its name.
    pub fn kind(self) -> EscalationKind {
        match self {
            Self::Planned { .. } => EscalationKind::Planned,
            Self::Asked { .. } => EscalationKind::Asked,
        }
    }

    /// The instant that a store keeps beside its name.
    pub fn kept_at(self) -> Timestamp {
        match self {
            Self::Planned { at } => at,
            Self::Asked { until } => until,
        }
    }
}

/// The names of what an [`Escalation`] can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "Escalation documents them")]
pub enum EscalationKind {
    Planned,
    Asked,
}

words!(EscalationKind as "escalation" { "planned" => Planned, "asked" => Asked });

impl Occurrence {
    /// A new occurrence, due at `due_at`.
    pub fn scheduled(id: OccurrenceId, due_at: Timestamp) -> Self {
        let (state, tries) = (State::Scheduled, Tries::default());
        Self { id, due_at, made_for: due_at, state, tries, at_once: false, escalation: None }
    }

    /// When the engine must look at it, if ever: at its state's own moment, or when further people are to be asked, if that comes first.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let own_at = self.state.wake_at(self.due_at);
        match (&self.state, self.escalation) {
            // A send that is under way is not disturbed, and a run that waits for its due instant has none to wait for.
            (State::AwaitingAck { .. } | State::PendingRetry { .. }, Some(Escalation::Planned { at })) => {
                own_at.map(|own_at| own_at.min(at))
            }
            _ => own_at,
        }
    }

    /// The state's own moment, where it is another than [`Self::wake_at`]: what a store keeps beside that.
    pub fn own_at(&self) -> Option<Timestamp> {
        let own_at = self.state.wake_at(self.due_at);
        own_at.filter(|_| own_at != self.wake_at())
    }

    /// When what is said now was to be said: when it was due, or so many answers were waited for since. The same for every
    /// attempt under one key, and never after the first of them begins.
    pub fn said_from(&self, ack: Option<&AckPolicy>) -> Timestamp {
        let waited = ack.map_or(Duration::ZERO, |ack| ack.timeout.saturating_mul(self.tries.asks));
        later(self.due_at, waited)
    }

    /// Forgets which addresses were tried and which refused: it has others now.
    pub fn forget_addresses(&mut self) {
        self.tries.position = 0;
        self.tries.refused = 0;
    }

    /// Notes that it has other addresses now. An attempt that is under way goes on at the old one, and then they are forgotten.
    pub fn readdress(&mut self) {
        match &mut self.state {
            State::Processing { sending, .. } => sending.readdressed = true,
            _ => self.forget_addresses(),
        }
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

// Each address of a reminder and of its user has a bit in `Tries::refused`.
const _: () = assert!(2 * ADDRESSES_MAX as u32 <= u64::BITS);
