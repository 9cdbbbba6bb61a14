//! Everything there is, out and in; and one person, out for ever.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_time::words;

use super::StoreError;
use crate::id::ReminderId;
use crate::journal::Placed;
use crate::watch::LedgerRow;
use crate::whole::{Adopted, Line, Overdue, Whole, WholeRun};
use crate::writes::Link;

/// Which reminders are read with all that belongs to them.
#[derive(Debug, Clone)]
pub struct WholeQuery {
    /// Which.
    pub which: Which,
    /// Only this user's.
    pub user: Option<String>,
    /// At most so many runs of each that have ended: the newest.
    pub runs_max: usize,
}

/// Which reminders.
#[derive(Debug, Clone)]
pub enum Which {
    /// Those of larger ids than this one, by id, at most so many. There may be fewer, because a page has no more than
    /// [`PAGE_RUNS_MAX`](crate::whole::PAGE_RUNS_MAX) runs or so; none means that there are no more.
    After(Option<ReminderId>, usize),
    /// These, as far as they are there.
    These(Vec<ReminderId>),
}

/// Reminders with all that belongs to them, by id.
#[derive(Debug, Clone, Default)]
pub struct Wholly {
    /// Those that can be read.
    pub wholes: Vec<Whole>,
    /// Those that cannot, each with why.
    pub unreadable: Vec<(ReminderId, String)>,
    /// The last that was looked at.
    pub last: Option<ReminderId>,
}

/// What a person is taken out of that is not theirs, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// Reminders of others: plans that name them, and what others were told of their reminders.
    Reminders,
    /// Answers to the reminders of others.
    Responses,
    /// Silences that they asked for.
    Silences,
    /// What was answered to requests.
    Answered,
    /// Small things that are theirs: their calendars, their shifts, and what watches are about to remind them of.
    Small,
    /// Rows of an application's that a watch could not remind of.
    BadRows,
    /// The journal.
    Journal,
}

words!(Record as "after" {
    "others" => Reminders, "responses" => Responses, "silences" => Silences, "answered" => Answered, "small" => Small, "bad_rows" => BadRows, "journal" => Journal,
});

impl Record {
    /// All of them, in order.
    pub const ALL: [Self; 7] =
        [Self::Reminders, Self::Responses, Self::Silences, Self::Answered, Self::Small, Self::BadRows, Self::Journal];

    /// The one that follows.
    pub fn next(self) -> Option<Self> {
        let at = Self::ALL.iter().position(|record| *record == self)?;
        Self::ALL.get(at + 1).copied()
    }
}

/// A person's reminders of which a part was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// How many reminders are gone, with everything that belongs to them.
    pub n_reminders: usize,
    /// Those that are there and have a run to come: somebody has to cancel them first.
    pub open: Vec<ReminderId>,
    /// Whether there are more.
    pub has_more: bool,
}

/// Records that were looked through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redacted {
    /// How many of them named the person.
    pub n: usize,
    /// After which it goes on; none when all of this kind were looked through.
    pub next: Option<String>,
}

/// The most rows that one transaction of an erasure removes, or looks at.
pub const ERASED_AT_ONCE: usize = 1000;

/// Everything there is, out and in; and one person, out for ever.
#[async_trait]
pub trait Wholes: Send + Sync + 'static {
    /// Reminders, each with its runs, as they were at one moment.
    async fn wholes(&self, query: WholeQuery) -> Result<Wholly, StoreError>;

    /// The runs of a reminder below `below` that have ended, by number, at most `limit` of them, the newest.
    async fn runs_below(&self, id: ReminderId, below: u32, limit: usize) -> Result<Vec<WholeRun>, StoreError>;

    /// Of each of these entries: whether one that says the same is there.
    async fn has_entries(&self, entries: Vec<Placed>) -> Result<Vec<bool>, StoreError>;

    /// Writes lines of another store, all of them or none, as [`crate::decide::adopt`] decides. What is there already stays as it is, with
    /// everything that belongs to it, so the same lines may come again.
    async fn adopt(&self, lines: Vec<Line>, overdue: Overdue, now: Timestamp) -> Result<Adopted, StoreError>;

    /// The slots of an event, each with its reminder, in the order of their names.
    async fn links(&self, event: &str) -> Result<Vec<Link>, StoreError>;

    /// The rows of all watches' ledgers, each with its watch, in the order of their names, after `after`.
    async fn ledgers(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<(String, LedgerRow)>, StoreError>;

    /// Removes reminders of a person's that have no run to come, with everything that belongs to them but the journal: about
    /// [`ERASED_AT_ONCE`] rows.
    async fn remove_reminders(&self, user: &str) -> Result<Removed, StoreError>;

    /// Takes a person out of records that are not theirs, as [`crate::rules::redact`] says: looks at [`ERASED_AT_ONCE`] of them after `after`. An
    /// entry of the journal keeps its position.
    async fn redact(&self, user: &str, record: Record, after: &str) -> Result<Redacted, StoreError>;
}
