//! How leases end, and what that led to.

use jiff::Timestamp;

use crate::alarm::NextRun;
use crate::alert::News;
use crate::id::OccurrenceId;
use crate::occurrence::{Attempt, Occurrence};

/// The end of one lease.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The occurrence as it is from now on.
    pub occurrence: Occurrence,
    /// Which lease.
    pub lease: u64,
    /// The attempt that ended; `None`: it never began and is taken back.
    pub attempt: Option<Attempt>,
    /// The platform says that the attempt's address is dead.
    pub gone: bool,
    /// Whether this counts as a run: the person was reached for the first time, or never will be.
    pub counts: bool,
    /// What the admins hear of it, if its reminder is critical.
    pub news: Option<News>,
}

impl Settlement {
    /// Which occurrence's lease it ends.
    pub fn id(&self) -> OccurrenceId {
        self.occurrence.id
    }

    /// When the occurrence must be looked at again, if ever.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.occurrence.wake_at()
    }
}

/// What a settle led to.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    /// Settlements refused because the lease was lost.
    pub lost: Vec<OccurrenceId>,
    /// The instants at which what was written must be looked at, all of them.
    pub wakes: Vec<Timestamp>,
    /// The runs that were planned here.
    pub next_runs: Vec<NextRun>,
}
