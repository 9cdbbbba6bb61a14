//! What a person can answer, and which button says it.

use jiff::Timestamp;
use punctual_time::words;

use crate::change::{Change, snooze_until};
use crate::id::{OccurrenceId, ReminderId};
use crate::phrase::Answer;

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
    /// Until when a snooze puts the run off, in whole seconds, where the person said so before they were asked which run they mean.
    pub until: Option<Timestamp>,
}

impl Pressed {
    /// The button that gives this answer, with the usual span where it is a snooze.
    pub fn new(verb: Verb, occurrence: OccurrenceId) -> Self {
        Self { verb, occurrence, until: None }
    }

    /// The button that gives an answer that a person has said already, with its instant.
    pub fn said(answer: Answer, occurrence: OccurrenceId) -> Self {
        let verb = match answer {
            Answer::Ack => Verb::Ack,
            Answer::Snooze { .. } => Verb::Snooze,
            Answer::Dismiss => Verb::Dismiss,
        };
        let until = match answer {
            Answer::Snooze { until } => until.and_then(|until| in_seconds(until).ok()),
            _ => None,
        };
        Self { verb, occurrence, until }
    }

    /// The button that cancels a reminder.
    pub fn cancel(reminder: ReminderId) -> Self {
        Self::new(Verb::Dismiss, OccurrenceId { reminder, run: 0 })
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
            // An instant that has passed before the button was pressed has become "later".
            Verb::Snooze => Change::Snooze {
                until: self
                    .until
                    .filter(|until| *until > now)
                    .unwrap_or_else(|| snooze_until(now, u64::from(SNOOZE_MINUTES))),
            },
            Verb::Dismiss => Change::Dismiss,
        };
        Change::AnswerRun { run: self.occurrence.run, answer: Box::new(answer) }
    }
}

/// Rounded up, because asking early is asking in vain.
fn in_seconds(at: Timestamp) -> Result<Timestamp, jiff::Error> {
    Timestamp::from_second(at.as_second() + i64::from(at.subsec_nanosecond() > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_button_keeps_the_instant_that_was_said_before_it_was_shown() {
        let reminder = ReminderId::new(at("2026-03-02T10:00:00Z"), [7; 10]);
        let occurrence = OccurrenceId { reminder, run: 3 };
        let now = at("2026-03-02T10:00:20Z");
        let usual = at("2026-03-02T10:10:20Z");
        for (said, until) in [
            (None, usual),
            (Some("2026-03-02T10:05:00Z"), at("2026-03-02T10:05:00Z")),
            (Some("2026-03-02T10:05:00.000001Z"), at("2026-03-02T10:05:01Z")),
            (Some("2026-03-03T09:00:00Z"), at("2026-03-03T09:00:00Z")),
            // The person pressed the button after the instant that it names.
            (Some("2026-03-02T10:00:20Z"), usual),
            (Some("2026-03-02T09:00:00Z"), usual),
        ] {
            let pressed = Pressed::said(Answer::Snooze { until: said.map(at) }, occurrence);
            let Change::AnswerRun { run: 3, answer } = pressed.change(now) else { panic!("{said:?}") };
            let Change::Snooze { until: got } = *answer else { panic!("{said:?}") };
            assert_eq!(got, until, "{said:?}");
        }
        assert_eq!(Pressed::said(Answer::Ack, occurrence), Pressed::new(Verb::Ack, occurrence));
        assert_eq!(Pressed::said(Answer::Dismiss, occurrence), Pressed::new(Verb::Dismiss, occurrence));
    }
}
