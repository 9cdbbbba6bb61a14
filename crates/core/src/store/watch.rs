//! What watches need of a store.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{NewReminder, StoreError};
use crate::id::WatchRunId;
use crate::journal::{Data, Who};
use crate::watch::{BadRow, Counts, Intent, LedgerRow, Place, RunState, WatchRun};

/// How long a node has a run unless it keeps it, by the store's clock. Every write for the run keeps it as well.
pub const RUN_FOR: Duration = Duration::from_secs(3);
/// The most intents of a watch that are read at once.
pub const INTENTS_MAX: usize = 10_000;

/// What watches need of a store: definitions, runs with their leases, intents, and the ledger.
#[async_trait]
pub trait Watches: Send + Sync + 'static {
    /// Writes the definition of a watch over the one of its name. The same definition changes nothing.
    async fn define_watch(&self, new: DefineWatch) -> Result<Defined, StoreError>;

    /// Every watch there is, by name, with its present and its last run.
    async fn watches(&self) -> Result<Vec<KnownWatch>, StoreError>;

    /// Removes a watch with its runs, its intents and its ledger; returns whether there was one.
    async fn forget_watch(&self, name: &str, who: Who, now: Timestamp) -> Result<bool, StoreError>;

    /// Begins a run, or takes one over whose node has died, as [`crate::decide::watch::begun`] decides. A store that one process alone uses
    /// gives a run to whoever asks: the one who had it before is gone.
    async fn begin_run(&self, begin: BeginRun) -> Result<Begun, StoreError>;

    /// Keeps a run for another [`RUN_FOR`]. `false`: it is another's by now.
    async fn keep_run(&self, lease: RunLease) -> Result<bool, StoreError>;

    /// Gives a run back, so that another node can go on with it at once.
    async fn leave_run(&self, lease: RunLease) -> Result<(), StoreError>;

    /// Writes intents; one that is there already stays. [`StoreError::LeaseLost`]: the run is another's, and nothing was written.
    async fn intend(
        &self,
        lease: RunLease,
        watch: &str,
        intents: Vec<Intent>,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// What runs of a watch have begun and not finished, in the order of the keys, at most [`INTENTS_MAX`].
    async fn intents(&self, watch: &str) -> Result<Vec<Intent>, StoreError>;

    /// Writes what became of rows: their reminders, as [`crate::decide::watch::finished`] decides, that their intents are done, the ledger, bad
    /// rows, and how far the run has come. Doing it twice is doing it once. [`StoreError::LeaseLost`] as in [`Watches::intend`].
    async fn finish_rows(&self, rows: FinishRows) -> Result<(), StoreError>;

    /// Ends a run. [`StoreError::LeaseLost`] as in [`Watches::intend`].
    async fn end_run(&self, end: EndRun) -> Result<(), StoreError>;

    /// One run.
    async fn watch_run(&self, id: WatchRunId) -> Result<Option<WatchRun>, StoreError>;

    /// The last runs of a watch, newest first.
    async fn watch_runs(&self, watch: &str, limit: usize) -> Result<Vec<WatchRun>, StoreError>;

    /// The bad rows of a run, each with its number, after number `after`.
    async fn bad_rows(&self, run: WatchRunId, after: u64, limit: usize) -> Result<Vec<(u64, BadRow)>, StoreError>;

    /// What the ledger says of these rows, in no order.
    async fn ledger_of(&self, watch: &str, keys: Vec<String>) -> Result<Vec<LedgerRow>, StoreError>;

    /// Removes runs that ended before `before`, and rows of the ledger that were due before it, at most `limit` of each; returns how many.
    async fn prune_watches(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;
}

/// A definition.
#[derive(Debug, Clone)]
pub struct DefineWatch {
    /// The watch's name.
    pub name: String,
    /// Tells it from another definition.
    pub hash: String,
    /// JSON for people, without secrets.
    pub definition: String,
    /// When it runs first if it is new.
    pub next_at: Option<Timestamp>,
    /// The present.
    pub now: Timestamp,
}

/// What a definition led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defined {
    /// There was none of this name.
    New,
    /// It was there.
    Same,
    /// It replaces another.
    Replaced,
}

/// A watch as a store knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownWatch {
    /// Its name.
    pub name: String,
    /// Tells its definition from another.
    pub hash: String,
    /// JSON for people, without secrets.
    pub definition: String,
    /// When it was defined so.
    pub defined_at: Timestamp,
    /// When it runs next.
    pub next_at: Option<Timestamp>,
    /// The run that is going, if one is.
    pub going: Option<WatchRun>,
    /// The last run that has ended.
    pub last: Option<WatchRun>,
}

/// A node's right to do a run: which run, and which time it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLease {
    /// Which run.
    pub run: WatchRunId,
    /// An earlier holder is refused.
    pub number: u64,
}

/// Asks for a run.
#[derive(Debug, Clone)]
pub struct BeginRun {
    /// Of which watch.
    pub watch: String,
    /// The definition that the node has.
    pub hash: String,
    /// The id of the run if it is a new one.
    pub id: WatchRunId,
    /// The node.
    pub node: String,
    /// Somebody asks for it, whatever the schedule says.
    pub asked: bool,
    /// When the schedule comes again.
    pub next_at: Option<Timestamp>,
    /// The present.
    pub now: Timestamp,
}

/// What asking for a run led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// It is the node's.
    Taken(Box<TakenRun>),
    /// Another node does it.
    Going(Box<WatchRun>),
    /// Its time has not come, or has been made use of.
    NotDue(Option<Timestamp>),
    /// The watch is defined in another way, or not at all any more.
    Replaced,
}

/// A run that a node has taken.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenRun {
    /// The run, as far as it has come.
    pub run: WatchRun,
    /// The right to do it.
    pub lease: RunLease,
    /// Whether it has just begun; if not, another node had it before.
    pub is_new: bool,
}

/// What became of rows.
#[derive(Debug, Clone)]
pub struct FinishRows {
    /// The right to write it.
    pub lease: RunLease,
    /// Of which watch.
    pub watch: String,
    /// The reminders, each with its row's name for people.
    pub created: Vec<(NewReminder, String)>,
    /// The rows whose intents are done, by the name that is kept.
    pub done: Vec<String>,
    /// What the ledger says from now on.
    pub ledger: Vec<LedgerRow>,
    /// Bad rows, each with its number in the run.
    pub bad: Vec<(u64, BadRow)>,
    /// Where reading goes on.
    pub place: Option<Place>,
    /// What became of all rows of the run so far.
    pub counts: Counts,
    /// The present.
    pub now: Timestamp,
}

/// The end of a run.
#[derive(Debug, Clone)]
pub struct EndRun {
    /// The right to write it.
    pub lease: RunLease,
    /// How it ended.
    pub state: RunState,
    /// Why it was given up.
    pub error: Option<String>,
    /// What became of all its rows.
    pub counts: Counts,
    /// Its entry in the journal.
    pub data: Data,
    /// The present.
    pub now: Timestamp,
}
