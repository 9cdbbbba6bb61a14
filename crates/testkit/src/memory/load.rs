//! Loads from the tables what a decision needs, calls the decision, and writes its writes.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::change::{self, Change, changed};
use punctual_core::decide::claim::{Due, Early, Found, Known, Locked, look};
use punctual_core::decide::person::{Before, Difference, OpenRun, person_changed};
use punctual_core::decide::settle::{Counted, Held, settled};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{Occurrence, State};
use punctual_core::rules::course::Course;
use punctual_core::store::{By, ChangeError, Changed, Claim, Claims, Settled, Settlement, StoreError};
use punctual_core::user::{Person, User};

use super::Leases;
use super::tables::{Run, Tables, kept_at};

/// No run is claimed further ahead than this, by the store's clock.
const AHEAD_MAX: SignedDuration = SignedDuration::from_secs(5);

/// A lease lasts no longer than this from now, whatever the node's clock shows.
const LEASE_MAX: SignedDuration = SignedDuration::from_mins(1);

impl Tables {
    pub(super) fn claim(&mut self, claim: Claim) -> Result<Claims, StoreError> {
        let lease_for = claim.lease_until.duration_since(claim.now);
        let now = claim.now.min(self.now);
        let claim = Claim { now, lease_until: now + lease_for, ..claim };
        let until = claim.until.min(self.now + AHEAD_MAX);
        let mut found = self.found(&claim, until, false);
        let mut not_before = Vec::new();
        let early = found.leave_early(&claim);
        if early != Early::None {
            let from = (kept_at(now + SignedDuration::from_nanos(1)), first());
            let later = self.moments.range(from..).take_while(|(at, _)| *at <= claim.until);
            let waits = later.filter(|(_, id)| self.runs.get(id).is_some_and(Run::is_left_alone));
            not_before = waits.map(|(at, _)| *at).collect();
            not_before.dedup();
        }
        if early == Early::Hiding {
            found = self.found(&claim, until, true);
        }
        let known = found.reminders().into_iter().filter_map(|id| Some((id, Ok(self.known(id)?)))).collect();
        let look = look(found, known, &claim);
        let lock = |id: ReminderId| {
            let n_open = self.open(id).count() as u32;
            Some((id, Ok(Locked { known: self.known(id)?, n_open, has_person: true })))
        };
        let locked = look.to_lock().reminders.into_iter().filter_map(lock).collect();
        let (mut claims, writes) = look.decide(&locked, Vec::new());
        let alerts = self.write(writes)?;
        claims.wakes.extend(alerts.iter().map(|entry| entry.at));
        claims.next_runs.extend(alerts);
        claims.not_before = not_before;
        Ok(claims)
    }

    /// The most urgent runs of a claim whose moment comes until `until`; `without_early`: none that must be left alone until then.
    fn found(&self, claim: &Claim, until: Timestamp, without_early: bool) -> Found {
        let moments = self.moments.range((kept_at(claim.from), first())..).take_while(|(at, _)| *at <= until);
        let is_wanted = |run: &&Run| match &claim.only {
            Some(only) => only.contains(&run.occurrence.id.reminder),
            None => claim.shards.contains(run.shard),
        };
        let runs = moments.filter_map(|(at, id)| Some((*at, self.runs.get(id)?)));
        let runs = runs.filter(|(_, run)| is_wanted(run));
        let mut runs: Vec<_> =
            runs.filter(|(at, run)| !without_early || *at <= claim.now || !run.is_left_alone()).collect();
        // Stable: those of one priority stay in the order of their moments.
        runs.sort_by_key(|(_, run)| std::cmp::Reverse(run.priority));
        let due =
            |(wake_at, run): (Timestamp, &Run)| Due { occurrence: run.occurrence.clone(), lease: run.lease, wake_at };
        Found { due: runs.into_iter().take(claim.limit).map(due).collect(), unreadable: Vec::new() }
    }

    fn known(&self, id: ReminderId) -> Option<Known> {
        let (reminder, progress) = self.reminders.get(&id)?;
        let user = self.users.get(&reminder.user);
        let person = user.map_or_else(Person::default, |user| Person {
            language: user.language.as_ref().and_then(|tag| tag.parse().ok()),
            timezone: user.timezone.clone(),
            quiet: user.quiet_hours,
            paused_until: user.paused_until,
        });
        let addresses = Ok(user.map(|user| user.addresses.clone()).unwrap_or_default());
        Some(Known { reminder: Arc::new(reminder.clone()), progress: *progress, addresses, person: Arc::new(person) })
    }

    fn open(&self, id: ReminderId) -> impl Iterator<Item = &Occurrence> {
        self.runs_of(id).map(|run| &run.occurrence).filter(|run| !run.state.is_final())
    }

    pub(super) fn settle(&mut self, settlements: Vec<Settlement>, now: Timestamp) -> Result<Settled, StoreError> {
        let (mut held, mut counted) = (HashMap::new(), HashMap::new());
        for settlement in &settlements {
            let id = settlement.occurrence.id;
            let Some(run) = self.runs.get(&id).filter(|run| run.is_held(settlement.lease)) else { continue };
            let Some(sending) = run.occurrence.state.sending() else { continue };
            let (readdressed, message_id) = (sending.readdressed, sending.message_id.clone());
            held.insert((id, settlement.lease), Held { readdressed, message_id });
            let Some((reminder, progress)) = self.reminders.get(&id.reminder) else { continue };
            let n_open = self.open(id.reminder).count() as u32;
            counted.insert(
                id.reminder,
                Counted {
                    course: Course { status: reminder.status, progress: *progress, n_open },
                    priority: reminder.priority,
                    user: reminder.user.clone(),
                    carried: Some(Arc::new(reminder.clone())),
                },
            );
        }
        let (mut settled, writes) = settled(&settlements, &held, &counted, now);
        let alerts = self.write(writes)?;
        settled.wakes.extend(alerts.iter().map(|entry| entry.at));
        settled.next_runs.extend(alerts);
        Ok(settled)
    }

    pub(super) fn change(&mut self, id: ReminderId, change: &Change, by: &By) -> Result<Changed, ChangeError> {
        let found =
            self.reminders.get(&id).filter(|(found, _)| by.user.as_ref().is_none_or(|user| *user == found.user));
        let (reminder, progress) = found.cloned().ok_or(ChangeError::NotFound)?;
        let open = self.open(id).cloned().collect();
        let is_meant = |run: &&Occurrence| change.run().is_none_or(|meant| run.id.run == meant);
        let is_last = |run: &&Occurrence| run.state.is_final() && is_meant(run);
        let last_ended = self.runs_of(id).rev().map(|run| &run.occurrence).find(is_last).cloned();
        let (occurrence, writes) = changed(change::Loaded { reminder, progress, open, last_ended }, change, by)?;
        if by.repeat.as_ref().is_some_and(|repeat| self.answered.contains_key(&repeat.key)) {
            return Err(StoreError::KeyUsed.into());
        }
        let wakes = writes.wakes().collect();
        self.write(writes)?;
        let view = self.view(id).ok_or(ChangeError::NotFound)?;
        if let Some(repeat) = &by.repeat {
            self.answered.insert(repeat.key.clone(), (by.now, repeat.answered(&view)));
        }
        Ok(Changed { view, occurrence, wakes })
    }

    pub(super) fn renew(&mut self, leases: Leases, until: Timestamp) -> Leases {
        let until = until.min(self.now + LEASE_MAX);
        let is_held = |(id, number): &(OccurrenceId, u64)| self.runs.get(id).is_some_and(|run| run.is_held(*number));
        let (held, lost): (Vec<_>, Vec<_>) = leases.into_iter().partition(is_held);
        held.iter().for_each(|(id, _)| self.change_run(*id, |run| run.end_lease_at(until)));
        lost
    }

    pub(super) fn rescue(&mut self, node: &str, now: Timestamp) -> usize {
        let is_theirs = |run: &&Run| run.occurrence.state.lease().is_some_and(|lease| *lease.node == *node);
        let theirs: Vec<_> = self.runs.values().filter(is_theirs).map(|run| run.occurrence.id).collect();
        theirs.iter().for_each(|id| self.change_run(*id, |run| run.end_lease_at(now)));
        theirs.len()
    }

    pub(super) fn note_sent(&mut self, id: OccurrenceId, number: u64, attempt: u32, message_id: &str) -> bool {
        let Some(run) = self.runs.get_mut(&id).filter(|run| run.is_held(number)) else { return false };
        let is_noted = run.occurrence.tries.attempts == attempt;
        if let State::Processing { sending, .. } = &mut run.occurrence.state
            && is_noted
        {
            sending.message_id = Some(message_id.to_owned());
        }
        is_noted
    }

    /// Replaces a person, or removes their entry; returns when their open runs must be looked at again.
    pub(super) fn put_user(
        &mut self,
        id: &str,
        user: Option<User>,
        now: Timestamp,
    ) -> Result<Vec<Timestamp>, StoreError> {
        let before = self.users.remove(id).map_or(Before::Unknown, |before| Before::Known(Box::new(before)));
        let difference = user.as_ref().map_or(Difference::REMOVED, |user| Difference::between(&before, user));
        self.users.extend(user.map(|user| (user.id.clone(), user)));
        let theirs = self.reminders.values().map(|(reminder, _)| reminder).filter(|reminder| reminder.user == id);
        let open = theirs.flat_map(|reminder| {
            let (ack_timeout, only) = (reminder.ack.as_ref().map(|ack| ack.timeout), reminder.only);
            self.open(reminder.id).map(move |run| OpenRun { occurrence: run.clone(), ack_timeout, only })
        });
        let writes = person_changed(open.collect(), id, difference, now);
        let wakes = writes.wakes().collect();
        self.write(writes)?;
        Ok(wakes)
    }
}

/// Before every run's name.
fn first() -> OccurrenceId {
    OccurrenceId { reminder: ReminderId::from_bytes([0; 16]), run: 0 }
}
