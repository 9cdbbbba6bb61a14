//! What the ends of leases change.
//!
//! A store locks the runs whose leases still hold ([`Leased`]) and their reminders ([`Counted`]); [`settled`] says what is written.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::alarm::NextRun;
use crate::id::{OccurrenceId, ReminderId};
use crate::journal::{Data, Entry, Kind};
use crate::occurrence::{Attempt, AttemptStatus, Occurrence, State};
use crate::reminder::{Address, Priority, Reminder};
use crate::rules::course::Course;
use crate::shard::shard_of;
use crate::store::{DeadAddress, Settled, Settlement};
use crate::writes::{EndedAttempt, Writes};

/// A run whose lease still holds, as the store has it.
#[derive(Debug, Clone, Default)]
pub struct Leased {
    /// Its reminder or its person has got other addresses since it was claimed.
    pub readdressed: bool,
    /// The platform's own id of its message, if it was written down.
    pub message_id: Option<String>,
}

/// A reminder whose runs are settled.
#[derive(Debug, Clone)]
pub struct Counted {
    /// How far it has come.
    pub course: Course,
    /// How much it matters.
    pub priority: Priority,
    /// Whose it is.
    pub user: String,
    /// The reminder as it is now, where a series is carried on: it may have changed while its run was being sent.
    pub carried: Option<Arc<Reminder>>,
}

/// Decides what settlements lead to, when those named in `leased` still have their lease. A settlement without one changes nothing.
pub fn settled(
    settlements: &[Settlement],
    leased: &HashMap<(OccurrenceId, u64), Leased>,
    counted: &HashMap<ReminderId, Counted>,
    now: Timestamp,
) -> (Settled, Writes) {
    let mut settled = Settled::default();
    let mut writes = Writes::new(now);
    writes.occurrences.reserve(settlements.len());
    writes.attempts.reserve(settlements.len());
    writes.entries.reserve(settlements.len());
    // A lease ends once, also within one batch.
    let mut seen = HashSet::with_capacity(settlements.len());
    let mut courses: BTreeMap<ReminderId, Course> = BTreeMap::new();
    for settlement in settlements {
        let Settlement { occurrence, lease, attempt, gone, counts, news } = settlement;
        let id = occurrence.id;
        let known = leased.get(&(id, *lease)).filter(|_| seen.insert(id));
        let (Some(leased), Some(counted)) = (known, counted.get(&id.reminder)) else {
            settled.lost.push(id);
            continue;
        };
        let mut occurrence = occurrence.clone();
        if leased.readdressed {
            occurrence.forget_addresses();
        }
        if let Some(news) = news.filter(|_| counted.priority == Priority::Critical) {
            writes.news.push((id, news));
        }
        if occurrence.state.is_final() {
            let planned = occurrence.escalation;
            writes.end_escalation(&mut occurrence, planned);
        }
        if let Some(attempt) = attempt {
            let mut attempt = attempt.clone();
            if *gone {
                let address = Address { channel: attempt.channel.clone(), address: attempt.address.clone() };
                let reason = attempt.error.clone().unwrap_or_default();
                writes.dead.push(DeadAddress { address, since: attempt.ended_at.unwrap_or(now), reason });
            }
            attempt.message_id = attempt.message_id.or_else(|| leased.message_id.clone());
            writes.entries.push(entry(&attempt, &occurrence, &counted.user, now));
            writes.attempts.push(EndedAttempt { occurrence: id, attempt });
            let course = courses.entry(id.reminder).or_insert(counted.course);
            course.count(&occurrence.state, *counts, now);
            if occurrence.state.is_final() {
                course.end_one();
            }
            if let Some(reminder) = &counted.carried
                && let Some(next) = course.go_on(reminder, occurrence.id.run, occurrence.due_at, &occurrence.state, now)
            {
                let wake_at = writes.plan(next, reminder);
                settled.next_runs.extend(wake_at.map(|at| NextRun::of(reminder, at)));
            }
        }
        writes.change(occurrence, shard_of(&counted.user));
    }
    for (reminder, course) in courses {
        writes.finish(reminder, course, None);
    }
    settled.wakes.extend(writes.wakes());
    (settled, writes)
}

/// The entry of an attempt that has ended and left its run as `occurrence`.
pub(super) fn entry(attempt: &Attempt, occurrence: &Occurrence, user: &str, now: Timestamp) -> Entry {
    let kind = match (&occurrence.state, attempt.status) {
        (State::Failed { .. }, _) => Kind::Failed,
        (_, AttemptStatus::Sent | AttemptStatus::Delivered) => Kind::Sent,
        _ => Kind::AttemptFailed,
    };
    let next_at = occurrence.state.wake_at(occurrence.due_at);
    Entry::of_engine(now, kind, occurrence.id, Some(user), Data::of_attempt(attempt, next_at))
}
