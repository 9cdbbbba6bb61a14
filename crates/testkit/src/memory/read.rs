//! Finding what is there, and removing what is old.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use punctual_core::alarm::NextRun;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{AttemptStatus, State, StateKind};
use punctual_core::reminder::ReminderStatus;
use punctual_core::store::{
    CHANNEL_TEST, IMPORTED_RUNS_MAX, Imported, ImportedQuery, ImportedRun, ReminderQuery, ReminderView, StatusFilter,
    StoreStats, Upcoming, UpcomingQuery,
};

use super::tables::{Run, Tables};

/// How long an answered request is remembered: long enough for any client that retries.
const ANSWERED_KEPT_FOR: SignedDuration = SignedDuration::from_hours(48);

impl Tables {
    pub(super) fn view(&self, id: ReminderId) -> Option<ReminderView> {
        let (reminder, progress) = self.reminders.get(&id)?;
        let next = |run: &Run| match run.occurrence.state.kind() {
            StateKind::PendingRetry => run.wake_at(),
            StateKind::Scheduled | StateKind::Snoozed | StateKind::Waiting => Some(run.occurrence.due_at),
            _ => None,
        };
        let snoozed = self.runs_of(id).filter(|run| run.occurrence.state.kind() == StateKind::Snoozed);
        Some(ReminderView {
            reminder: reminder.clone(),
            next_run_at: self.runs_of(id).filter_map(next).min(),
            snoozed_until: snoozed.map(|run| run.occurrence.due_at).min(),
            last_run_at: progress.tally.last_run_at,
            last_status: progress.tally.last_status,
            total_runs: progress.tally.total_runs,
            consecutive_errors: progress.tally.consecutive_errors,
        })
    }

    pub(super) fn views(&self, query: &ReminderQuery) -> Vec<ReminderView> {
        let older = self.reminders.keys().rev().filter(|id| query.before.is_none_or(|before| **id < before));
        let views = older.filter_map(|id| self.view(*id)).filter(|view| is_wanted(view, query));
        views.take(query.limit).collect()
    }

    pub(super) fn imported(&self, query: &ImportedQuery) -> Vec<Imported> {
        let reminders = self.reminders.values().map(|(reminder, _)| reminder);
        let reminders = reminders.filter(|reminder| query.after.is_none_or(|after| reminder.id > after));
        let of_source = reminders.filter(|r| r.metadata.to_value()["imported"]["from"] == query.source.as_str());
        let sent = |id: OccurrenceId| {
            let attempts = self.attempts.range((id, 0)..=(id, u32::MAX)).map(|(_, attempt)| attempt);
            let sent = attempts.filter(|a| matches!(a.status, AttemptStatus::Sent | AttemptStatus::Delivered));
            sent.map(|attempt| attempt.started_at).min()
        };
        let of = |run: &Run| {
            let (due_at, id) = (run.occurrence.due_at, run.occurrence.id);
            let state = run.occurrence.state.kind();
            let is_within = query.from <= due_at && due_at < query.to;
            is_within.then(|| ImportedRun { run: id.run, due_at, state, sent_at: sent(id) })
        };
        let found = of_source.take(query.limit).map(|reminder| {
            let mut runs: Vec<_> = self.runs_of(reminder.id).rev().filter_map(of).take(IMPORTED_RUNS_MAX).collect();
            runs.reverse();
            Imported { reminder: reminder.clone(), runs }
        });
        found.collect()
    }

    pub(super) fn upcoming(&self, window: &UpcomingQuery) -> Upcoming {
        let is_own = |id: &OccurrenceId| self.runs.get(id).is_some_and(|run| window.shards.contains(run.shard));
        let within = self.moments.iter().filter(|(at, id)| window.from <= *at && *at <= window.until && is_own(id));
        let first = self.moments.first().map(|(at, _)| *at);
        Upcoming {
            instants: within.map(|(at, _)| *at).take(window.limit).collect(),
            overdue_since: first.filter(|at| *at < window.from),
        }
    }

    /// The runs to be sent until `until`, beginning after `from` or else after `after`.
    pub(super) fn coming(
        &self,
        from: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, OccurrenceId)>,
    ) -> impl Iterator<Item = (OccurrenceId, NextRun)> {
        let is_next = move |(at, id): &(Timestamp, OccurrenceId)| after.map_or(*at > from, |after| (*at, *id) > after);
        let within = self.moments.iter().filter(move |moment| is_next(moment) && moment.0 <= until);
        within
            .filter(|(_, id)| self.runs.get(id).is_some_and(|run| !run.is_left_alone()))
            .filter_map(|(at, id)| Some((*id, NextRun::of(&self.reminders.get(&id.reminder)?.0, *at))))
    }

    pub(super) fn failed_since(&self, since: Timestamp) -> impl Iterator<Item = &Run> {
        self.runs.values().filter(move |run| matches!(run.occurrence.state, State::Failed { at, .. } if at >= since))
    }

    pub(super) fn stats(&self) -> StoreStats {
        let mut reminders: BTreeMap<&str, (ReminderStatus, u64)> = BTreeMap::new();
        for (reminder, _) in self.reminders.values() {
            reminders.entry(reminder.status.as_str()).or_insert((reminder.status, 0)).1 += 1;
        }
        StoreStats {
            pending: self.moments.len() as u64,
            oldest_at: self.moments.first().map(|(at, _)| *at),
            reminders: reminders.into_values().collect(),
        }
    }

    /// Removes runs that ended before `before`, oldest first, and reminders with their last run; returns how many runs.
    pub(super) fn prune(&mut self, before: Timestamp, limit: usize) -> usize {
        let runs = self.runs.values().map(|run| &run.occurrence).filter(|run| run.state.is_final());
        let ended = runs.filter_map(|run| Some((run.state.at().filter(|at| *at < before)?, run.id)));
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable();
        let gone: BTreeSet<OccurrenceId> = ended.into_iter().take(limit).map(|(_, id)| id).collect();
        self.runs.retain(|id, _| !gone.contains(id));
        self.attempts.retain(|(id, _), _| !gone.contains(id));
        self.responses.retain(|response| !gone.contains(&response.occurrence));
        for id in gone.iter().map(|id| id.reminder).collect::<BTreeSet<_>>() {
            let is_over = |status| matches!(status, ReminderStatus::Completed | ReminderStatus::Cancelled);
            let is_over = self.reminders.get(&id).is_some_and(|(reminder, _)| is_over(reminder.status));
            if is_over && self.runs_of(id).next().is_none() {
                self.reminders.remove(&id);
                self.audit.retain(|entry| entry.reminder != id);
            }
        }
        if gone.is_empty() {
            self.audit.retain(|entry| entry.action != CHANNEL_TEST || entry.at >= before);
        }
        gone.len()
    }

    pub(super) fn forget_answered(&mut self, now: Timestamp) {
        self.answered.retain(|_, (at, _)| now.duration_since(*at) <= ANSWERED_KEPT_FOR);
    }
}

fn is_wanted(view: &ReminderView, query: &ReminderQuery) -> bool {
    let ReminderView { reminder, next_run_at, last_status, .. } = view;
    let suffix = |matching: &str| matching.replace('-', "").to_lowercase();
    let is_named = |matching: &String| {
        reminder.name.as_ref() == Some(matching)
            || reminder.message == *matching
            || reminder.id.to_string().replace('-', "").ends_with(&suffix(matching))
    };
    query.user.as_ref().is_none_or(|user| *user == reminder.user)
        && query.status.is_none_or(|status| match status {
            StatusFilter::Is(status) => reminder.status == status,
            StatusFilter::LastRun(end) => *last_status == Some(end),
        })
        && query.from.is_none_or(|from| next_run_at.is_some_and(|at| at >= from))
        && query.to.is_none_or(|to| next_run_at.is_some_and(|at| at < to))
        && query.matching.as_ref().is_none_or(is_named)
}
