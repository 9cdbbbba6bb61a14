//! Everything there is, out and in; and one person, out for ever.

use async_trait::async_trait;
use jiff::Timestamp;

use super::StoreError;
use crate::id::ReminderId;
use crate::journal::Placed;
use crate::whole::{Adopted, Line, Overdue, Whole, WholeRun};

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
}
