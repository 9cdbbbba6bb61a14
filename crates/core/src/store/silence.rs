//! Silences as they are listed and ended.

use jiff::Timestamp;

use crate::id::{OccurrenceId, SilenceId};

/// Which silences to list.
#[derive(Debug, Clone)]
pub struct SilenceQuery {
    /// Only those for this user.
    pub user: Option<String>,
    /// Only those about this tag.
    pub tag: Option<String>,
    /// Only this one.
    pub id: Option<SilenceId>,
    /// Only younger than this one.
    pub after: Option<SilenceId>,
    /// Only those that end after this.
    pub now: Timestamp,
    /// At most so many.
    pub limit: usize,
}

/// The runs that the end of a silence let go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Released {
    /// When they must be looked at, as often as there are occurrences.
    pub wakes: Vec<Timestamp>,
    /// The run after which there may be more; none when that was all.
    pub more_after: Option<OccurrenceId>,
}
