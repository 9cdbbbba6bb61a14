//! What is written when reminders are created.

use jiff::Timestamp;

use crate::id::OccurrenceId;
use crate::journal::Who;
use crate::occurrence::{Occurrence, State};
use crate::reminder::{Reminder, ReminderStatus};
use crate::shard::shard_of;
use crate::store::Answered;
use crate::writes::{Planned, Writes};

/// Reminders to write together.
#[derive(Debug, Clone)]
pub struct Create {
    /// The reminders, each with its first instant.
    pub reminders: Vec<NewReminder>,
    /// Who asks.
    pub who: Who,
    /// What to answer when the same request comes again.
    pub answered: Option<(String, Answered)>,
    /// The present.
    pub now: Timestamp,
}

impl Create {
    /// What is written.
    pub fn writes(self) -> Writes {
        let mut writes = Writes::new(self.now);
        writes.answered.extend(self.answered);
        writes.create(self.reminders, &self.who);
        writes
    }
}

/// A reminder and the instant of its first run.
#[derive(Debug, Clone)]
pub struct NewReminder {
    /// The reminder.
    pub reminder: Reminder,
    /// When it is first due.
    pub first_due_at: Timestamp,
}

impl NewReminder {
    /// Its first run, as it is written.
    pub fn first(&self) -> Planned {
        let Reminder { priority, user, .. } = &self.reminder;
        Planned { occurrence: self.first_run(), priority: *priority, shard: shard_of(user) }
    }

    /// Its first run. One that is paused from the start has it waiting.
    pub fn first_run(&self) -> Occurrence {
        let id = OccurrenceId { reminder: self.reminder.id, run: 1 };
        let mut first = Occurrence::scheduled(id, self.first_due_at);
        if self.reminder.status == ReminderStatus::Paused {
            first.state = State::Paused;
        }
        first
    }
}
