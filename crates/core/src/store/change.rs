//! Who changes a reminder, and what it led to.

use jiff::Timestamp;

use super::{Came, ReminderView, Repeat, StoreError};
use crate::change::Refused;
use crate::id::ReminderId;
use crate::journal::Who;
use crate::model::trail::Said;
use crate::occurrence::Occurrence;
use crate::writes::Writes;

/// Who changes something, and when.
#[derive(Debug, Clone)]
pub struct By {
    /// Who.
    pub who: Who,
    /// The only user whose reminders may be touched. Others' are reported as not found.
    pub user: Option<String>,
    /// Who answers, if the command is an answer.
    pub answerer: Answerer,
    /// What the person said, if the command is an answer.
    pub said: Said,
    /// How the same request is answered when it comes again.
    pub repeat: Option<Repeat>,
    /// How it came, if it is an answer from a platform.
    pub came: Came,
    /// The present.
    pub now: Timestamp,
}

impl By {
    /// Somebody who may touch everybody's reminders and says nothing.
    pub fn new(who: impl Into<Who>, now: Timestamp) -> Self {
        Self {
            who: who.into(),
            user: None,
            answerer: Answerer::default(),
            said: Said::default(),
            repeat: None,
            came: Came::default(),
            now,
        }
    }
}

/// Who gives an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Answerer {
    /// The user the caller acts for, else the reminder's.
    #[default]
    Caller,
    /// This user, who may be another than the reminder's: they were asked, too.
    User(String),
    /// Somebody who was asked in a group, and is no user.
    Somebody,
}

impl By {
    /// The user who answers a reminder of `owner`'s, if it is one.
    pub(crate) fn answers_as(&self, owner: &str) -> Option<String> {
        match &self.answerer {
            Answerer::Caller => Some(self.user.as_deref().unwrap_or(owner).to_owned()),
            Answerer::User(user) => Some(user.clone()),
            Answerer::Somebody => None,
        }
    }
}

/// What a change led to.
#[derive(Debug, Clone)]
pub struct Changed {
    /// The reminder as it is now.
    pub view: ReminderView,
    /// The occurrence the command was about, if it was about one.
    pub occurrence: Option<Occurrence>,
    /// Runs of others who were asked about the same, as they are now.
    pub others: Vec<Occurrence>,
    /// The instants at which the engine must look again because of it: all of them, because it keeps what it knows and does
    /// not ask again.
    pub wakes: Vec<Timestamp>,
    /// Reminders with a lease that this ended ([`crate::writes::Writes::recalls`]).
    pub recalled: Vec<ReminderId>,
}

impl Changed {
    /// A command about `occurrence` led to `writes`, and left its reminder as `view`.
    pub fn of(view: ReminderView, occurrence: Option<Occurrence>, writes: Writes) -> Self {
        let wakes = writes.wakes().collect();
        let is_others = |run: &Occurrence| run.id.reminder != view.reminder.id;
        let others = writes.occurrences.into_iter().filter(is_others).collect();
        Self { view, occurrence, others, wakes, recalled: writes.recalls }
    }
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
