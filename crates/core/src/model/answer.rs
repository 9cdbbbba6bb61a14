//! What a person can answer, and which button says it.

use jiff::Timestamp;
use punctual_time::words;

use crate::change::{Change, snooze_until};
use crate::id::{OccurrenceId, ReminderId};

/// The span that "later" means where a person names none; the buttons' labels say so, too.
pub const SNOOZE_MINUTES: u32 = 10;

/// What a person can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// It is done.
    Ack,
    /// Later.
    Snooze,
    /// It is not needed.
    Dismiss,
}

words!(Verb as "answer" { "ack" => Ack, "snooze" => Snooze, "dismiss" => Dismiss });

/// A button or a link that a person pressed: the answer that it gives, and to which run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pressed {
    /// The answer.
    pub verb: Verb,
    /// The run; number 0 is the reminder as a whole, which can only be not needed any more.
    pub occurrence: OccurrenceId,
}

impl Pressed {
    /// The button that cancels a reminder.
    pub fn cancel(reminder: ReminderId) -> Self {
        Self { verb: Verb::Dismiss, occurrence: OccurrenceId { reminder, run: 0 } }
    }

    /// Whether it cancels a reminder.
    pub fn is_cancel(&self) -> bool {
        *self == Self::cancel(self.occurrence.reminder)
    }

    /// The command that a press at `now` is.
    pub fn change(&self, now: Timestamp) -> Change {
        if self.is_cancel() {
            return Change::Cancel;
        }
        let answer = match self.verb {
            Verb::Ack => Change::Ack,
            Verb::Snooze => Change::Snooze { until: snooze_until(now, u64::from(SNOOZE_MINUTES)) },
            Verb::Dismiss => Change::Dismiss,
        };
        Change::AnswerRun { run: self.occurrence.run, answer: Box::new(answer) }
    }
}
