//! The tables, and how a [`Writes`] is written into them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use punctual_core::alarm::NextRun;
use punctual_core::decide::tell::{Newsworthy, alerts_about, told};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{Attempt, Kept, Occurrence, State};
use punctual_core::reminder::{Address, Priority, Reminder};
use punctual_core::rules::course::{Progress, Series, Tally};
use punctual_core::shard::{Shards, shard_of};
use punctual_core::store::{Answered, AuditEntry, DeadAddress, Heard, Response, StoreError, Trail};
use punctual_core::user::{ApiKey, User};
use punctual_core::writes::{Deed, Writes};
use tokio::sync::mpsc::UnboundedSender;

/// Nodes read what is further away in time, so nobody is told of it.
const SOON: SignedDuration = SignedDuration::from_mins(2);
/// More moments than this are not listed; every node looks for itself.
const LISTED_MAX: usize = 50;

/// Everything that is kept.
#[derive(Default)]
pub(super) struct Tables {
    /// The time that the connection which has locked the tables sees,
    pub(super) now: Timestamp,
    /// and which that is.
    pub(super) connection: u32,
    pub(super) last_connection: u32,
    /// The shards of each connection's node; it is told of what others plan in them.
    pub(super) shards: BTreeMap<u32, Shards>,
    pub(super) reminders: BTreeMap<ReminderId, (Reminder, Progress)>,
    pub(super) runs: BTreeMap<OccurrenceId, Run>,
    /// When runs must be looked at, in order.
    pub(super) moments: BTreeSet<(Timestamp, OccurrenceId)>,
    pub(super) attempts: BTreeMap<(OccurrenceId, u32), Attempt>,
    pub(super) responses: Vec<Response>,
    pub(super) audit: Vec<AuditEntry>,
    pub(super) last_number: i64,
    pub(super) users: BTreeMap<String, User>,
    pub(super) keys: BTreeMap<[u8; 32], ApiKey>,
    pub(super) answered: BTreeMap<String, (Timestamp, Answered)>,
    pub(super) dead: BTreeMap<Address, DeadAddress>,
    /// When each node was last seen, and the secrets that it uses.
    pub(super) nodes: BTreeMap<String, (Timestamp, String)>,
    /// The shards of each node among others, which take long to work out.
    pub(super) divided: BTreeMap<(String, Vec<String>), Shards>,
    pub(super) turns: BTreeMap<String, Vec<Timestamp>>,
    /// Until when each hold lasts, and when it was told.
    pub(super) throttles: BTreeMap<(String, bool, String), (Timestamp, Timestamp)>,
    pub(super) recalls: BTreeMap<ReminderId, Timestamp>,
    pub(super) ears: Vec<UnboundedSender<Heard>>,
}

/// A run, with what a store keeps beside it.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) occurrence: Occurrence,
    /// The number of its last lease.
    pub(super) lease: u64,
    pub(super) priority: Priority,
    pub(super) shard: u8,
}

impl Run {
    pub(super) fn wake_at(&self) -> Option<Timestamp> {
        self.occurrence.state.wake_at(self.occurrence.due_at)
    }

    /// Whether nothing happens to it before its moment.
    pub(super) fn is_left_alone(&self) -> bool {
        matches!(self.occurrence.state, State::Processing { .. } | State::AwaitingAck { .. })
    }

    /// Lets its lease end at `until`.
    pub(super) fn end_lease_at(&mut self, until: Timestamp) {
        if let State::Processing { lease, .. } = &mut self.occurrence.state {
            lease.until = until;
        }
    }

    /// Whether lease `number` still holds.
    pub(super) fn is_held(&self, number: u64) -> bool {
        self.occurrence.state.lease().is_some_and(|lease| lease.number == number)
    }
}

/// An instant as every store keeps it: whole microseconds, rounded up.
pub(super) fn kept_at(at: Timestamp) -> Timestamp {
    // Before 1970, cutting off the rest is rounding up already.
    let micros = at.as_microsecond() + i64::from(at.subsec_nanosecond() % 1000 > 0);
    Timestamp::from_microsecond(micros).unwrap_or(at)
}

/// A run as every store keeps it.
fn kept(run: Occurrence) -> Occurrence {
    let Occurrence { due_at, made_for, state, .. } = run;
    let (lease, sending) = (state.lease(), state.sending());
    let columns = Kept {
        lease: lease.map_or(0, |lease| lease.number),
        node: lease.map(|lease| lease.node.to_string()),
        wake_at: state.wake_at(due_at).map(kept_at),
        at: state.kept_at().map(kept_at),
        error: state.error().map(str::to_owned),
        waits_for: state.waits_for(),
        to: sending.map(|sending| (sending.to.channel.clone(), sending.to.address.clone())),
        message_id: sending.and_then(|sending| sending.message_id.clone()),
        readdressed: sending.is_some_and(|sending| sending.readdressed),
        asked: state.asked().map(str::to_owned),
    };
    let (due_at, made_for) = (kept_at(due_at), kept_at(made_for));
    let state = State::from_kept(state.kind(), columns, due_at).expect("a state has what its kind needs");
    Occurrence { due_at, made_for, state, ..run }
}

impl Tables {
    /// The runs of one reminder, by number.
    pub(super) fn runs_of(&self, id: ReminderId) -> impl DoubleEndedIterator<Item = &Run> {
        let run = |run| OccurrenceId { reminder: id, run };
        self.runs.range(run(0)..=run(u32::MAX)).map(|(_, run)| run)
    }

    /// A run with how it got where it is.
    pub(super) fn trail(&self, run: &Run) -> Trail {
        let id = run.occurrence.id;
        let attempts = self.attempts.range((id, 0)..=(id, u32::MAX)).map(|(_, attempt)| attempt.clone());
        let responses = self.responses.iter().filter(|response| response.occurrence == id);
        Trail::new(run.occurrence.clone(), attempts.collect(), responses.cloned().collect())
    }

    pub(super) fn put_run(&mut self, run: Run) {
        let run = Run { occurrence: kept(run.occurrence), ..run };
        let id = run.occurrence.id;
        self.moments.extend(run.wake_at().map(|at| (at, id)));
        let wake_at = run.wake_at();
        if let Some(before) = self.runs.insert(id, run).and_then(|before| before.wake_at())
            && Some(before) != wake_at
        {
            self.moments.remove(&(before, id));
        }
    }

    /// Changes a run that is there.
    pub(super) fn change_run(&mut self, id: OccurrenceId, change: impl FnOnce(&mut Run)) {
        if let Some(mut run) = self.runs.get(&id).cloned() {
            change(&mut run);
            self.put_run(run);
        }
    }

    /// Writes all of it or nothing, and tells the nodes what lies in shards that are not this one's; returns the runs of the alerts.
    pub(super) fn write(&mut self, writes: Writes) -> Result<Vec<NextRun>, StoreError> {
        if writes.answered.iter().any(|(key, _)| self.answered.contains_key(key)) {
            return Err(StoreError::KeyUsed);
        }
        if let Some(new) = writes.created.iter().find(|new| self.reminders.contains_key(&new.reminder.id)) {
            return Err(StoreError::Broken(format!("{} is there already", new.reminder.id)));
        }
        self.answered.extend(writes.answered.into_iter().map(|(key, answered)| (key, (writes.now, answered))));
        for new in writes.created {
            let series = Series::begun(new.reminder.schedule.is_recurring());
            let (priority, shard) = (new.reminder.priority, shard_of(&new.reminder.user));
            self.put_run(Run { occurrence: new.first_run(), lease: 0, priority, shard });
            let progress = Progress { series, tally: Tally::default() };
            self.reminders.insert(new.reminder.id, (new.reminder, progress));
        }
        for reminder in writes.reminders {
            if let Some((kept, _)) = self.reminders.get_mut(&reminder.id) {
                *kept = reminder;
            }
        }
        for moved in writes.moved {
            if let Some((reminder, progress)) = self.reminders.get_mut(&moved.reminder) {
                reminder.status = moved.status;
                reminder.updated_at = moved.changed_at.unwrap_or(reminder.updated_at);
                *progress = moved.progress;
            }
        }
        for occurrence in writes.occurrences {
            self.change_run(occurrence.id, |run| {
                // Without a lease the number of the last one stays, so that a node that still believes in it is refused.
                run.lease = occurrence.state.lease().map_or(run.lease, |lease| lease.number);
                run.occurrence = occurrence;
            });
        }
        for planned in writes.planned {
            let (priority, shard) = (planned.priority, planned.shard);
            self.put_run(Run { occurrence: planned.occurrence, lease: 0, priority, shard });
        }
        for (id, error) in writes.set_aside {
            self.change_run(id, |run| run.occurrence.state = State::Failed { at: writes.now, error });
        }
        for (id, priority) in writes.priorities {
            let of_it = self.runs.values_mut().filter(|run| run.occurrence.id.reminder == id);
            of_it.filter(|run| !run.occurrence.state.is_final()).for_each(|run| run.priority = priority);
        }
        let attempts =
            writes.attempts.into_iter().map(|ended| ((ended.occurrence, ended.attempt.number), ended.attempt));
        self.attempts.extend(attempts);
        for dead in writes.dead {
            self.dead.entry(dead.address.clone()).or_insert(dead);
        }
        self.responses.extend(writes.responses);
        writes.audit.into_iter().for_each(|deed| self.note(deed));
        self.tell(&writes.moments);

        if writes.news.is_empty() && writes.unreadable.is_empty() {
            return Ok(Vec::new());
        }
        let news = |(id, news)| {
            let Trail { occurrence, attempts, .. } = self.trail(self.runs.get(&id)?);
            let reminder = self.reminders.get(&id.reminder)?.0.clone();
            Some(Newsworthy { news, reminder, occurrence, attempts })
        };
        let runs: Vec<Newsworthy> = writes.news.into_iter().filter_map(news).collect();
        let admins: Vec<User> = self.users.values().filter(|user| user.admin).cloned().collect();
        let alerts = alerts_about(&runs, &writes.unreadable, &admins, writes.now);
        let there = alerts.looked_for().into_iter().filter(|id| self.reminders.contains_key(id));
        let (writes, planned) = told(alerts, &there.collect::<Vec<_>>(), writes.now);
        self.write(writes)?;
        Ok(planned)
    }

    /// Writes down what was done.
    pub(super) fn note(&mut self, Deed { at, actor, action, reminder, run, detail }: Deed) {
        self.last_number += 1;
        let (number, actor, action) = (self.last_number, actor.to_string(), action.to_owned());
        self.audit.push(AuditEntry { number, at, actor, action, reminder, run, detail });
    }

    /// Tells every node that listens.
    pub(super) fn say(&mut self, news: &Heard) {
        self.ears.retain(|ears| ears.send(news.clone()).is_ok());
    }

    fn tell(&mut self, moments: &[(u8, Timestamp)]) {
        let own = self.shards.get(&self.connection).copied().unwrap_or(Shards::ALL);
        let soon = self.now.checked_add(SOON).unwrap_or(Timestamp::MAX);
        let foreign = moments.iter().filter(|(shard, at)| !own.contains(*shard) && *at < soon);
        let foreign: BTreeSet<_> = foreign.map(|(shard, at)| (*shard, kept_at(*at))).collect();
        match foreign.len() {
            0 => {}
            1..=LISTED_MAX => self.say(&Heard::Wake(foreign.into_iter().collect())),
            _ => self.say(&Heard::Look),
        }
    }
}
