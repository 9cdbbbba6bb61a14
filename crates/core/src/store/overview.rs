//! The things that people see who look at their day, or who look after a server.

use async_trait::async_trait;
use jiff::Timestamp;

use super::{KnownNodes, ReminderQuery, ReminderView, StoreError, Trail};
use crate::id::OccurrenceId;
use crate::model::lateness::Stretch;
use crate::occurrence::{Occurrence, StateKind};

/// How many runs a page of [`Overview::runs`] looks at. Those of other users of the same shard are looked at too.
pub const RUNS_LOOKED_AT_MAX: usize = 20_000;

/// What people see who look at their day, or who look after a server.
#[async_trait]
pub trait Overview: Send + Sync + 'static {
    /// A user's runs by the instant at which they are due. A page looks at no more than [`RUNS_LOOKED_AT_MAX`] of them.
    async fn runs(&self, query: RunsQuery) -> Result<RunsPage, StoreError>;

    /// How many reminders a query asks for; where it begins, how many it takes and its channel aside. It looks at no more than
    /// [`COUNTED_MAX`] of its user's or its tag's.
    async fn count(&self, query: ReminderQuery) -> Result<HowMany, StoreError>;

    /// Writes how late sends were, each stretch over what the same run of its node has written before.
    async fn put_lateness(&self, stretches: Vec<Stretch>) -> Result<(), StoreError>;

    /// The stretches that begin then or later and before `to`, in order.
    async fn lateness(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Stretch>, StoreError>;

    /// Forgets the stretches that began before this.
    async fn prune_lateness(&self, before: Timestamp) -> Result<(), StoreError>;

    /// The nodes that live, or did a moment ago. `None`: no other node can use this store.
    async fn nodes(&self) -> Result<Option<KnownNodes>, StoreError>;

    /// What the database is, and how large.
    async fn database(&self) -> Result<DatabaseState, StoreError>;
}

/// How many reminders [`Overview::count`] looks at.
pub const COUNTED_MAX: usize = 20_000;

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HowMany {
    /// So many, at least.
    pub n: usize,
    /// Whether that is all.
    pub is_all: bool,
}

/// What a database is, and how large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseState {
    /// Such as `SQLite`.
    pub kind: &'static str,
    /// The version of its program.
    pub version: String,
    /// The version of its tables.
    pub schema: u32,
    /// How many bytes it takes on its disk.
    pub bytes: u64,
}

/// A run's place in the order of due instants.
pub type DuePlace = (Timestamp, OccurrenceId);

/// Which runs.
#[derive(Debug, Clone)]
pub struct RunsQuery {
    /// Of this user's reminders.
    pub user: String,
    /// Only those due then or later.
    pub from: Option<Timestamp>,
    /// Only those due before this.
    pub to: Option<Timestamp>,
    /// Only those in one of these states; none: in whichever.
    pub states: Vec<StateKind>,
    /// Whether the run that is due last comes first.
    pub newest_first: bool,
    /// Only those that come after this place.
    pub after: Option<DuePlace>,
    /// At most so many.
    pub limit: usize,
}

impl RunsQuery {
    /// Whether it asks for a run of the user's, wherever it is in the list.
    pub fn takes(&self, run: &Occurrence) -> bool {
        self.from.is_none_or(|from| run.due_at >= from)
            && self.to.is_none_or(|to| run.due_at < to)
            && (self.states.is_empty() || self.states.contains(&run.state.kind()))
    }

    /// Whether a place comes after the one after which the page begins.
    pub fn is_after(&self, place: DuePlace) -> bool {
        self.after.is_none_or(|after| if self.newest_first { place < after } else { place > after })
    }

    /// Whether nothing is asked for but runs that wait for an answer. They are few, and found without looking at any other.
    pub fn is_awaiting(&self) -> bool {
        self.states == [StateKind::AwaitingAck]
    }

    /// Puts places into the order of the list, and leaves those that come after [`Self::after`], one page of them; returns also the place after which
    /// the next page begins.
    pub fn page_of(&self, mut places: Vec<DuePlace>) -> (Vec<DuePlace>, Option<DuePlace>) {
        places.retain(|place| self.is_after(*place));
        places.sort_unstable();
        if self.newest_first {
            places.reverse();
        }
        let has_more = places.len() > self.limit;
        places.truncate(self.limit);
        let next = places.last().copied().filter(|_| has_more);
        (places, next)
    }
}

/// A run with its trail, and its reminder.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    /// The run.
    pub trail: Trail,
    /// Its reminder.
    pub reminder: ReminderView,
}

/// A page of runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunsPage {
    /// The runs, in order.
    pub runs: Vec<RunView>,
    /// The place after which the next page begins; none when that was all.
    pub next: Option<DuePlace>,
}
