//! Finding what is there, and removing what is old.

use punctual_core::store::ANSWERED_KEPT_FOR;

use super::*;

impl Tables {
    pub(super) fn question(&self, run: OccurrenceId) -> Option<Question> {
        let (reminder, _) = self.reminders.get(&run.reminder)?;
        let (trail, user) = (self.runs.get(&run)?.trail(), self.users.get(&reminder.user).cloned());
        Some(Question { reminder: reminder.clone(), trail, user })
    }

    pub(super) fn view(&self, id: ReminderId) -> Option<ReminderView> {
        let (reminder, progress) = self.reminders.get(&id)?.clone();
        let next = |run: &Run| match run.occurrence.state.kind() {
            StateKind::PendingRetry => run.occurrence.state.wake_at(run.occurrence.due_at),
            StateKind::Scheduled | StateKind::Snoozed | StateKind::Waiting => Some(run.occurrence.due_at),
            _ => None,
        };
        let snoozed = self.runs_of(id).filter(|run| run.occurrence.state.kind() == StateKind::Snoozed);
        let snoozed_until = snoozed.map(|run| run.occurrence.due_at).min();
        let next_run_at = self.runs_of(id).filter_map(next).min();
        Some(progress.tally.view(reminder, next_run_at, snoozed_until))
    }

    /// A run with all that is kept beside it, and with those who were asked in its person's place.
    pub(super) fn trail(&self, run: &Run) -> Trail {
        let about = self.reminders.values().map(|(other, _)| other);
        let about = about.filter(|other| other.escalates == Some(run.occurrence.id));
        let escalated = |other: &Reminder| {
            let run = self.runs_of(other.id).next()?;
            let sent = run.attempts.values().filter(|attempt| attempt.status == AttemptStatus::Sent);
            let reached_at = sent.filter_map(|attempt| attempt.ended_at).min();
            let (due_at, state) = (run.occurrence.due_at, run.occurrence.state.kind());
            Some(Escalated { user: other.user.clone(), reminder: other.id, due_at, state, reached_at })
        };
        let mut escalated: Vec<Escalated> = about.filter_map(escalated).collect();
        escalated.sort_by_key(|other| (other.due_at, other.user.clone()));
        Trail { escalated, ..run.trail() }
    }

    pub(super) fn views(&self, query: &ReminderQuery) -> Vec<ReminderView> {
        let older = self.reminders.keys().rev().filter(|id| query.before.is_none_or(|before| **id < before));
        let views = older.filter_map(|id| self.view(*id)).filter(|view| query.takes(view, self.tried_on(view)));
        views.take(query.limit).collect()
    }

    /// The channel of a reminder's last attempt.
    fn tried_on(&self, view: &ReminderView) -> Option<&str> {
        let last = self.runs_of(view.reminder.id).rev().find_map(|run| run.attempts.values().next_back());
        last.map(|attempt| attempt.channel.as_str())
    }

    pub(super) fn asked(&self, users: &[String], ended_since: Option<Timestamp>) -> Vec<Question> {
        let is_recent =
            |run: &Run| ended_since.is_some_and(|since| run.occurrence.state.at().is_some_and(|at| at >= since));
        let is_wanted = |run: &&Run| {
            run.occurrence.tries.reached > 0
                && (run.moment().is_some() || run.occurrence.state.is_final() && is_recent(run))
        };
        let of_user = |run: &&Run| users.contains(&self.reminders[&run.occurrence.id.reminder].0.user);
        let mut runs: Vec<&Run> = self.runs.values().filter(of_user).filter(is_wanted).collect();
        runs.sort_by_key(|run| Reverse(run.occurrence.state.kept_at().unwrap_or(run.occurrence.due_at)));
        let question = |run: &Run| {
            let reminder = self.reminders[&run.occurrence.id.reminder].0.clone();
            Question { user: self.users.get(&reminder.user).cloned(), reminder, trail: run.trail() }
        };
        runs.into_iter().take(ASKED_MAX).map(question).collect()
    }

    pub(super) fn imported(&self, query: &ImportedQuery) -> Vec<Imported> {
        let is_sent = |status| matches!(status, AttemptStatus::Sent | AttemptStatus::Delivered);
        let run = |run: &Run| {
            let Occurrence { id, due_at, state, .. } = &run.occurrence;
            let sent = run.attempts.values().filter(|attempt| is_sent(attempt.status));
            let sent_at = sent.map(|attempt| attempt.started_at).min();
            ImportedRun { run: id.run, due_at: *due_at, state: state.kind(), sent_at }
        };
        let is_within = |run: &ImportedRun| query.from <= run.due_at && run.due_at < query.to;
        let runs = |id| self.runs_of(id).map(run).filter(is_within).collect();
        let later = self.reminders.values().filter(|(found, _)| query.after.is_none_or(|after| found.id > after));
        let is_from = |found: &Reminder| found.metadata.to_value()["imported"]["from"] == query.source.as_str();
        let found = later.map(|(found, _)| found).filter(|found| is_from(found)).take(query.limit);
        found.map(|found| Imported { reminder: found.clone(), runs: runs(found.id) }).collect()
    }

    pub(super) fn first_at(&self) -> Option<Timestamp> {
        self.moments.first().map(|(at, _)| *at)
    }

    pub(super) fn upcoming(&self, query: &UpcomingQuery) -> Upcoming {
        let is_own = |id: &OccurrenceId| query.shards.contains(self.runs[id].shard);
        let within = self.moments.iter().filter(|(at, id)| query.from <= *at && *at <= query.until && is_own(id));
        let instants = within.map(|(at, _)| *at).take(query.limit).collect();
        Upcoming { instants, overdue_since: self.first_at().filter(|at| *at < query.from) }
    }

    /// The runs to be sent until `until`, beginning after `from` or else after `after`.
    pub(super) fn coming(
        &self,
        from: Timestamp,
        until: Timestamp,
        after: Place,
    ) -> impl Iterator<Item = (OccurrenceId, NextRun)> {
        let is_next = move |(at, id): &(Timestamp, OccurrenceId)| after.map_or(*at > from, |after| (*at, *id) > after);
        let within = self.moments.iter().filter(move |moment| is_next(moment) && moment.0 <= until);
        let to_send = within.filter(|(_, id)| !self.runs[id].occurrence.state.kind().is_left_alone());
        to_send.map(|(at, id)| (*id, NextRun::of(&self.reminders[&id.reminder].0, *at)))
    }

    pub(super) fn failed_since(&self, since: Timestamp) -> impl Iterator<Item = &Run> {
        self.runs.values().filter(move |run| matches!(run.occurrence.state, State::Failed { at, .. } if at >= since))
    }

    pub(super) fn stats(&self) -> StoreStats {
        let of = |status| self.reminders.values().filter(move |(reminder, _)| reminder.status == status);
        let count = |status| Some((status, of(status).count() as u64)).filter(|(_, n)| *n > 0);
        let every =
            [ReminderStatus::Active, ReminderStatus::Paused, ReminderStatus::Completed, ReminderStatus::Cancelled];
        let reminders = every.into_iter().filter_map(count).collect();
        StoreStats { pending: self.moments.len() as u64, oldest_at: self.first_at(), reminders }
    }

    /// Removes runs that ended before `before`, oldest first, and reminders with their last run; returns how many runs.
    pub(super) fn prune(&mut self, before: Timestamp, limit: usize) -> usize {
        let ended = self.runs.values().map(|run| &run.occurrence).filter(|run| run.state.is_final());
        let ended = ended.filter_map(|run| Some((run.state.at().filter(|at| *at < before)?, run.id)));
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable();
        ended.truncate(limit);
        for (_, OccurrenceId { reminder, run }) in ended.iter().copied() {
            self.runs.remove(&OccurrenceId { reminder, run });
            let is_over = |status| matches!(status, ReminderStatus::Completed | ReminderStatus::Cancelled);
            if is_over(self.reminders[&reminder].0.status) && self.runs_of(reminder).next().is_none() {
                self.reminders.remove(&reminder);
            }
        }
        if ended.is_empty() {
            self.silences.retain(|_, silence| silence.until >= before);
            self.prune_events(before);
        }
        ended.len()
    }

    pub(super) fn forget_answered(&mut self, now: Timestamp) {
        self.answered.retain(|_, (at, _)| now.duration_since(*at) <= ANSWERED_KEPT_FOR);
        self.seen.retain(|_, until| *until >= now);
    }
}
