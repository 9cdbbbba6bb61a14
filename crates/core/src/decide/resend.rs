//! Which runs that failed are sent again, and how.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::{Besides, Refused, Work, not_now};
use crate::occurrence::{Attempt, AttemptStatus, State, StateKind, Tries};
use crate::reminder::{OnUnknown, Reminder, ReminderStatus};

/// How a run that failed is sent again.
#[derive(Debug, Clone, Default)]
pub struct Resend {
    /// Which run; `None`: the last that has ended.
    pub run: Option<u32>,
    /// Also if it may have arrived ([`is_held`]).
    pub held: bool,
    /// The channels on which a message that may have arrived is held by default.
    pub holding: Arc<BTreeSet<String>>,
}

/// Whether a run may have arrived and is not sent again for that reason, when attempts of it on these channels were cut off.
pub fn is_held<'a>(
    on_unknown: OnUnknown,
    cut_off_on: impl IntoIterator<Item = &'a str>,
    holding: &BTreeSet<String>,
) -> bool {
    cut_off_on.into_iter().any(|channel| on_unknown.holds(holding.contains(channel)))
}

/// Whether a failed run of `reminder` can be sent again, as far as the reminder decides that.
pub fn can_be_resent(reminder: &Reminder) -> bool {
    why_not(reminder.status, reminder).is_none()
}

/// Why no failed run of a reminder in this status is sent again, if none is.
fn why_not(status: ReminderStatus, reminder: &Reminder) -> Option<&'static str> {
    match status {
        ReminderStatus::Cancelled => Some("it is cancelled"),
        ReminderStatus::Paused => Some("it is paused; resume it first"),
        ReminderStatus::Active | ReminderStatus::Completed => {
            reminder.escalates.map(|_| "it asked in another's place, and that is over")
        }
    }
}

impl Work {
    /// Begins the tries of a run that failed anew. It is the same run, so a receiver that knows its key still sees it once.
    pub(super) fn resend(&mut self, resend: &Resend, besides: &Besides) -> Result<(), Refused> {
        if let Some(why) = why_not(self.course.status, &self.reminder) {
            return Err(not_now(why));
        }
        let Some(mut run) = self.last_ended.take_if(|run| matches!(run.state, State::Failed { .. })) else {
            return Err(match (&self.last_ended, resend.run) {
                (Some(ended), _) => {
                    let (run, state) = (ended.id.run, ended.state.kind());
                    not_now(&format!("run {run} is {state}; only a run that failed is sent again"))
                }
                (None, Some(run)) => not_now(&format!("run {run} has not ended; only a run that failed is sent again")),
                (None, None) => not_now("no run of it has failed"),
            });
        };
        let cut_off = |attempt: &&Attempt| attempt.status == AttemptStatus::Unknown;
        let attempts = if let Besides::Attempts(attempts) = besides { &attempts[..] } else { &[] };
        let cut_off_on = attempts.iter().filter(cut_off).map(|attempt| attempt.channel.as_str());
        if !resend.held && is_held(self.reminder.on_unknown, cut_off_on, &resend.holding) {
            return Err(not_now("it may have arrived; `held` sends it all the same"));
        }
        let error = run.state.error().unwrap_or_default().to_owned();
        run.state = State::PendingRetry { retry_at: self.now, error, waits_for: None };
        run.tries = Tries { rounds: 0, position: 0, refused: 0, ..run.tries };
        run.at_once = true;
        // It was counted when it failed, and is counted again when it ends.
        let tally = &mut self.course.progress.tally;
        tally.total_runs = tally.total_runs.saturating_sub(1);
        tally.consecutive_errors = tally.consecutive_errors.saturating_sub(1);
        if tally.last_status == Some(StateKind::Failed) {
            tally.last_status = Some(run.state.kind());
        }
        if self.course.status == ReminderStatus::Completed {
            self.course.status = ReminderStatus::Active;
        }
        self.write.push(run);
        Ok(())
    }
}
