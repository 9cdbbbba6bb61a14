//! How far a reminder has come: which run comes next, and when it is over.

use std::time::Duration;

use jiff::Timestamp;

use crate::id::OccurrenceId;
use crate::occurrence::{Occurrence, State, StateKind};
use crate::reminder::{Reminder, ReminderStatus};
use crate::schedule::{Anchor, Rule};
use crate::store::ReminderView;

/// Where a series stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Series {
    /// The highest run number given out.
    pub last_run: u32,
    /// The run whose first settle plans the next one; `None` when the series is over.
    pub carried_by: Option<u32>,
    /// How many runs of the schedule have been planned; manual runs do not count.
    pub planned: u32,
}

impl Series {
    /// A series whose first run has just been planned.
    pub fn begun(recurring: bool) -> Self {
        Self { last_run: 1, carried_by: recurring.then_some(1), planned: 1 }
    }

    /// Whether `run` is the one whose end plans the next.
    pub(crate) fn is_carried_by(&self, run: u32) -> bool {
        self.carried_by == Some(run)
    }

    /// How many runs the schedule still allows; `None`: any number.
    pub(crate) fn n_left(&self, reminder: &Reminder) -> Option<u32> {
        reminder.schedule.count.map(|count| count.saturating_sub(self.planned))
    }

    /// When the series goes on if its run came to nothing and all that was due until `now` is left out; `None`: it is over.
    pub(crate) fn next_from(&self, reminder: &Reminder, now: Timestamp) -> Option<Timestamp> {
        if self.n_left(reminder) == Some(0) {
            return None;
        }
        match from_answer(reminder) {
            Some(every) => reminder.schedule.after_answer(&reminder.timezone, every, now),
            None => reminder.schedule.next_after(&reminder.timezone, now),
        }
    }
}

/// How long after an answer the next run comes, where it is counted from there: no later run can stand for one that is still to be answered.
pub(crate) fn from_answer(reminder: &Reminder) -> Option<Duration> {
    match &reminder.schedule.rule {
        Rule::Interval { every, anchor: Anchor::Ack, .. } => Some(*every),
        _ => None,
    }
}

/// What a reminder's runs have led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// When something was last sent, or failed.
    pub last_run_at: Option<Timestamp>,
    /// What that led to.
    pub last_status: Option<StateKind>,
    /// Runs that have reached the person or failed.
    pub total_runs: u32,
    /// Runs that have failed since one worked.
    pub consecutive_errors: u32,
}

impl Tally {
    /// How a reminder with these runs is shown.
    pub fn view(
        self,
        reminder: Reminder,
        next_run_at: Option<Timestamp>,
        snoozed_until: Option<Timestamp>,
    ) -> ReminderView {
        let Self { last_run_at, last_status, total_runs, consecutive_errors } = self;
        ReminderView { reminder, next_run_at, snoozed_until, last_run_at, last_status, total_runs, consecutive_errors }
    }
}

/// A reminder's series and tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Where its series stands.
    pub series: Series,
    /// What its runs have led to.
    pub tally: Tally,
}

impl Progress {
    /// How many runs are open when a decision is about one that is: that one, if there never was another. Else nobody has counted: a
    /// series may have a long history to count through, and most decisions need no count.
    pub fn n_open(&self) -> Option<u32> {
        (self.series.last_run == 1).then_some(1)
    }
}

/// How far a reminder has come, while a decision moves it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Course {
    /// Whether it goes on.
    pub status: ReminderStatus,
    /// Its series and tally.
    pub progress: Progress,
    /// How many of its runs have not ended, paused ones among them; `None`: nobody has counted.
    pub n_open: Option<u32>,
}

impl Course {
    /// Whether `run` is the one whose end plans the next.
    pub(crate) fn is_carried_by(&self, run: u32) -> bool {
        self.progress.series.is_carried_by(run)
    }

    /// Whether the schedule allows no more runs than were planned.
    pub(crate) fn is_counted_out(&self, reminder: &Reminder) -> bool {
        self.progress.series.n_left(reminder) == Some(0)
    }

    /// When the series goes on if its run came to nothing and all that was due until `now` is left out; `None`: it is over.
    pub(crate) fn next_from(&self, reminder: &Reminder, now: Timestamp) -> Option<Timestamp> {
        self.progress.series.next_from(reminder, now)
    }

    /// The number of a new run.
    pub(crate) fn next_run(&mut self, reminder: &Reminder) -> OccurrenceId {
        self.progress.series.last_run += 1;
        OccurrenceId { reminder: reminder.id, run: self.progress.series.last_run }
    }

    /// One run more that has not ended.
    pub(crate) fn open_one(&mut self) {
        self.n_open = self.n_open.map(|n_open| n_open + 1);
    }

    /// One run has ended.
    pub(crate) fn end_one(&mut self) {
        self.n_open = self.n_open.map(|n_open| n_open.saturating_sub(1));
    }

    /// Plans the run with which the series goes on, due at `next`; without one the series is over.
    pub(crate) fn plan(&mut self, reminder: &Reminder, next: Option<Timestamp>) -> Option<Occurrence> {
        self.progress.series.carried_by = None;
        let due_at = next?;
        let id = self.next_run(reminder);
        self.progress.series.planned = self.progress.series.planned.saturating_add(1);
        self.progress.series.carried_by = Some(id.run);
        self.open_one();
        let mut run = Occurrence::scheduled(id, due_at);
        if self.status == ReminderStatus::Paused {
            run.state = State::Paused;
        }
        Some(run)
    }

    /// Plans the next run if run `run`, which was due at `due_at` and has got into `state`, carries the series and does not wait for an
    /// answer first.
    pub(crate) fn go_on(
        &mut self,
        reminder: &Reminder,
        run: u32,
        due_at: Timestamp,
        state: &State,
        now: Timestamp,
    ) -> Option<Occurrence> {
        let next = self.next_after(reminder, run, due_at, state, now)?;
        self.plan(reminder, next)
    }

    /// When the series goes on after run `run`, due at `due_at`, has got into `state`.
    ///
    /// `None`: this plans nothing, because the run does not carry the series or an answer is awaited first; `Some(None)`: the
    /// series is over.
    fn next_after(
        &self,
        reminder: &Reminder,
        run: u32,
        due_at: Timestamp,
        state: &State,
        now: Timestamp,
    ) -> Option<Option<Timestamp>> {
        if !self.is_carried_by(run) {
            return None;
        }
        if self.is_counted_out(reminder) {
            return Some(None);
        }
        match from_answer(reminder) {
            Some(_) => state.is_final().then(|| self.next_from(reminder, now)),
            None => Some(reminder.schedule.next_after(&reminder.timezone, due_at)),
        }
    }

    /// Goes on after the run that carries the series was missed, and with it the runs at `also` and `n_more` others: returns those at `also`,
    /// and last the run that is due at `next`.
    pub(crate) fn pass(
        &mut self,
        reminder: &Reminder,
        also: Vec<Timestamp>,
        n_more: usize,
        next: Option<Timestamp>,
        now: Timestamp,
    ) -> Vec<Occurrence> {
        let mut runs = Vec::with_capacity(also.len() + 1);
        for missed_at in also {
            let run = Occurrence::scheduled(self.next_run(reminder), missed_at);
            self.progress.series.planned = self.progress.series.planned.saturating_add(1);
            runs.push(Occurrence { state: State::Missed { at: now }, ..run });
        }
        let n_more = u32::try_from(n_more).unwrap_or(u32::MAX);
        self.progress.series.planned = self.progress.series.planned.saturating_add(n_more);
        let next = next.filter(|_| !self.is_counted_out(reminder));
        runs.extend(self.plan(reminder, next));
        runs
    }

    /// Counts a run whose attempt ended at `now` with its occurrence in `state`.
    pub(crate) fn count(&mut self, state: &State, counts: bool, now: Timestamp) {
        let kind = state.kind();
        let tally = &mut self.progress.tally;
        tally.last_run_at = Some(now);
        tally.last_status = Some(kind);
        tally.total_runs = tally.total_runs.saturating_add(u32::from(counts));
        match kind {
            StateKind::Failed => tally.consecutive_errors = tally.consecutive_errors.saturating_add(1),
            StateKind::PendingRetry => {}
            _ => tally.consecutive_errors = 0,
        }
    }

    /// Counts a run that ended in `kind` without an attempt.
    pub(crate) fn count_unsent(&mut self, kind: StateKind) {
        let tally = &mut self.progress.tally;
        tally.last_status = Some(kind);
        if kind == StateKind::Failed {
            tally.total_runs = tally.total_runs.saturating_add(1);
            tally.consecutive_errors = tally.consecutive_errors.saturating_add(1);
        }
    }

    /// Whether the reminder is over unless another run of it is open, which nobody has counted.
    pub(crate) fn is_over_unless_open(&self) -> bool {
        self.status == ReminderStatus::Active && self.progress.series.carried_by.is_none() && self.n_open.is_none()
    }

    /// Completes the reminder when nothing of it is open and no run is to come.
    pub(crate) fn complete(&mut self) {
        let is_over = self.n_open == Some(0) && self.progress.series.carried_by.is_none();
        if self.status == ReminderStatus::Active && is_over {
            self.status = ReminderStatus::Completed;
        }
    }
}

#[cfg(test)]
mod tests;
