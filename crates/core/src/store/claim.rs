//! What a claim asks for, and what was leased.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::alarm::NextRun;
use crate::id::ReminderId;
use crate::occurrence::{Occurrence, StateKind};
use crate::reach::DefaultChannel;
use crate::reminder::{Address, Reminder};
use crate::shard::Shards;
use crate::user::Person;

/// What to lease.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The present.
    pub now: Timestamp,
    /// Only what must be looked at then or later.
    pub from: Timestamp,
    /// Only what must be looked at then or earlier.
    pub until: Timestamp,
    /// Only of these shards. A store that one node alone uses need not look.
    pub shards: Shards,
    /// At most so many.
    pub limit: usize,
    /// Who leases.
    pub node: Arc<str>,
    /// Until when.
    pub lease_until: Timestamp,
    /// Where to send when neither the reminder nor its user says.
    pub default_channel: DefaultChannel,
    /// Only occurrences of these reminders.
    pub only: Option<Vec<ReminderId>>,
    /// The channels on which a message that may have arrived is held and not sent again, unless its reminder says otherwise.
    pub holding: BTreeSet<String>,
}

impl Claim {
    /// Whether a message that may have arrived at this place of a route is held by default.
    pub fn holds_at(&self, route: &[Address], position: u32) -> bool {
        route.get(position as usize).is_some_and(|address| self.holding.contains(&address.channel))
    }
}

/// What was leased.
#[derive(Debug, Clone, Default)]
pub struct Claims {
    /// To be sent, each with its attempt written down.
    pub to_send: Vec<Claimed>,
    /// How many occurrences were taken in all, also those that ended without a send.
    pub n_taken: usize,
    /// The instants at which what was planned here must be looked at, all of them.
    pub wakes: Vec<Timestamp>,
    /// The moments within the claim that are not to be acted on before they have come: ends of leases, and of the time given
    /// to answer. All of them, also if the claim was full.
    pub not_before: Vec<Timestamp>,
    /// The runs that ended without a send, each by the state it ended in.
    pub ended: Vec<StateKind>,
    /// The runs that were planned here.
    pub next_runs: Vec<NextRun>,
    /// Events that must be planned before their runs can be sent, by key.
    pub events: Vec<String>,
}

/// An occurrence that this node may send.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The occurrence as it was before, for giving it back.
    pub before: Occurrence,
    /// The lease number.
    pub lease: u64,
    /// Until when it holds.
    pub lease_until: Timestamp,
    /// When the send may begin.
    pub wake_at: Timestamp,
    /// Its reminder.
    pub reminder: Arc<Reminder>,
    /// The person it is for.
    pub person: Arc<Person>,
    /// All addresses to try, in order.
    pub route: Vec<Address>,
    /// Which of them to try now.
    pub position: u32,
    /// Whether its channel does not repeat what may have arrived, unless the reminder says otherwise.
    pub holds_unknown: bool,
    /// The platform's own id of what another process sent and did not see the end of. It must not be sent again: this lease
    /// goes on with the same attempt, and asks the channel what became of it.
    pub message_id: Option<String>,
}

impl Claimed {
    /// The number of the attempt that was written down for it.
    pub fn attempt(&self) -> u32 {
        self.before.tries.attempts + u32::from(self.message_id.is_none())
    }

    /// The key of that attempt alone.
    pub fn attempt_key(&self) -> String {
        self.before.id.attempt_key(self.to(), self.attempt())
    }

    /// Where to send now.
    pub fn to(&self) -> &Address {
        &self.route[self.position as usize]
    }
}
