//! Who changes a reminder, and what it led to.

use jiff::Timestamp;

use super::{ReminderView, Repeat, StoreError};
use crate::change::Refused;
use crate::id::ReminderId;
use crate::model::trail::Said;
use crate::occurrence::Occurrence;

/// Who changes something, and when.
#[derive(Debug, Clone)]
pub struct By {
    /// Who, for the audit trail.
    pub actor: String,
    /// The only user whose reminders may be touched. Others' are reported as not found.
    pub user: Option<String>,
    /// What the person said, if the command is an answer.
    pub said: Said,
    /// How the same request is answered when it comes again.
    pub repeat: Option<Repeat>,
    /// The present.
    pub now: Timestamp,
}

impl By {
    /// Somebody who may touch everybody's reminders and says nothing.
    pub fn new(actor: impl Into<String>, now: Timestamp) -> Self {
        Self { actor: actor.into(), user: None, said: Said::default(), repeat: None, now }
    }
}

/// What a change led to.
#[derive(Debug, Clone)]
pub struct Changed {
    /// The reminder as it is now.
    pub view: ReminderView,
    /// The occurrence the command was about, if it was about one.
    pub occurrence: Option<Occurrence>,
    /// The instants at which the engine must look again because of it: all of them, because it keeps what it knows and does
    /// not ask again.
    pub wakes: Vec<Timestamp>,
    /// Reminders with a lease that this ended ([`crate::writes::Writes::recalls`]).
    pub recalled: Vec<ReminderId>,
}

/// Why a change was not made.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeError {
    /// There is no such reminder, or not one that may be seen.
    #[error("no such reminder")]
    NotFound,
    /// The reminder's state does not allow it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
