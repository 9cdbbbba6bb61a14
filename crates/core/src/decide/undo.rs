//! What goes on when a cancel is undone.
//!
//! The journal's entry of the cancel says which runs it ended and how the series stood ([`Ended`]); a store loads both for
//! [`Change::Undo`](super::change::Change::Undo) alone.

use jiff::{SignedDuration, Timestamp};

use super::change::{Besides, Refused, Work, not_now};
use crate::clock::{kept_micros, later};
use crate::journal::Ended;
use crate::occurrence::{Occurrence, State, StateKind};
use crate::reminder::{Reminder, ReminderStatus};
use crate::rules::misfire::left_out;
use crate::rules::wake::Wake;

/// How long a cancel can be undone.
pub const UNDO_WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// What a run says that had been tried when it was cancelled, and is tried again.
const TRIED_AGAIN: &str = "it was cancelled between two tries, and that was undone";

/// The last cancel of a reminder, as the journal has it.
#[derive(Debug, Clone)]
pub struct Cancelled {
    /// When.
    pub at: Timestamp,
    /// What the journal says that it ended.
    pub ended: Ended,
    /// The runs that it ended, as they are now, by number.
    pub runs: Vec<Occurrence>,
    /// The reminder belongs to an event that does not have it any more: it withdrew it, or is gone.
    pub is_unlinked: bool,
}

/// What whoever brought back a reminder of an event is told once the event was planned: it may not want the reminder any more.
pub fn followed(reminder: &Reminder) -> Result<(), Refused> {
    match reminder.status {
        ReminderStatus::Cancelled => Err(not_now("its event has changed since, and does not have it any more")),
        ReminderStatus::Active | ReminderStatus::Paused | ReminderStatus::Completed => Ok(()),
    }
}

impl Work {
    /// Lets everything go on that the last cancel ended. A run that fell due meanwhile is missed. Questions to other people stay cancelled.
    pub(super) fn undo(&mut self, besides: Besides) -> Result<(), Refused> {
        self.must_be(ReminderStatus::Cancelled)?;
        if self.reminder.escalates.is_some() {
            return Err(not_now("it asked in another's place, and a question that was cancelled stays so"));
        }
        let ago = self.now.duration_since(self.reminder.updated_at);
        if ago > UNDO_WINDOW {
            let ago = crate::span::late(ago.unsigned_abs());
            return Err(not_now(&format!("it was cancelled {ago} ago, and only 10m are allowed; make a new one")));
        }
        let is_last = |cancelled: &Cancelled| kept_micros(cancelled.at) == kept_micros(self.reminder.updated_at);
        let Besides::Cancelled(Some(cancelled)) = besides else {
            return Err(not_now("the journal no longer says what the cancel ended; make a new one"));
        };
        if !is_last(&cancelled) {
            return Err(not_now("it was changed after it was cancelled; make a new one"));
        }
        let Cancelled { at, ended, runs, is_unlinked } = cancelled;
        if is_unlinked {
            return Err(not_now("its event has withdrawn it, or is gone"));
        }
        if ended.unplanned {
            return Err(not_now("it was cancelled before its first run was planned; make a new one"));
        }
        self.course.status = if ended.paused { ReminderStatus::Paused } else { ReminderStatus::Active };
        self.course.progress.series.carried_by = ended.carried_by;
        for mut run in runs {
            let Some(state) = self.undone(&run, at, ended.paused) else { continue };
            run.state = state;
            run.escalation = None;
            if matches!(run.state, State::Missed { .. }) {
                self.miss(&run);
            }
            self.write.push(run);
        }
        Ok(())
    }

    /// The state in which a run goes on that a cancel ended at `cancelled_at`; `None` for one that something else has ended.
    fn undone(&self, run: &Occurrence, cancelled_at: Timestamp, was_paused: bool) -> Option<State> {
        let now = self.now;
        match run.state {
            // It had reached its person.
            State::Dismissed { .. } => {
                let ack = self.reminder.ack.as_ref()?;
                let delivered_at = self.course.progress.tally.last_run_at.unwrap_or(now).min(now);
                Some(State::AwaitingAck { delivered_at, ask_again_at: later(now, ack.timeout), waits_for: None })
            }
            State::Cancelled { .. } if was_paused => Some(State::Paused),
            State::Cancelled { .. } if cancelled_at < run.due_at && run.due_at <= now => {
                Some(State::Missed { at: now })
            }
            // It was due before it was cancelled: it had been tried in vain, or its moment had just come.
            State::Cancelled { .. } if run.due_at <= now && run.tries.attempts > 0 => {
                Some(State::PendingRetry { retry_at: now, error: TRIED_AGAIN.to_owned(), waits_for: None })
            }
            State::Cancelled { .. } if run.moved_from().is_some() => Some(State::Snoozed),
            State::Cancelled { .. } => Some(State::Scheduled),
            _ => None,
        }
    }

    /// Counts a missed run. If it carries the series, all that fell due meanwhile is missed, and the series goes on.
    fn miss(&mut self, run: &Occurrence) {
        self.course.count_unsent(StateKind::Missed);
        if !self.course.is_carried_by(run.id.run) {
            return;
        }
        let Wake::End { also_missed, n_more_missed, next, .. } =
            left_out(&self.reminder, &self.course.progress.series, run, self.now)
        else {
            return;
        };
        self.missed_with = (run.id.run, (also_missed.len() + n_more_missed) as u64);
        let runs = self.course.pass(&self.reminder, also_missed, n_more_missed, next, self.now);
        self.insert.extend(runs);
    }
}
