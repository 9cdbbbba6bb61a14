//! Everything that a decision can ask a store to write, as plain data.
//!
//! A decision ([`crate::decide`], [`crate::change`]) is a pure function of what a store has loaded. It returns what to tell the caller
//! and a [`Writes`]. A store writes that in the transaction in which it loaded, and decides nothing.

/// What planning events asks a store to write.
mod event;

use std::collections::HashMap;

use jiff::Timestamp;

pub use self::event::{EventWrites, Link, Marked, Stands};

use crate::alert::{News, Unreadable};
use crate::id::{OccurrenceId, ReminderId};
use crate::journal::{Data, Entry, Kind, Who};
use crate::occurrence::{Attempt, Escalation, Occurrence, State};
use crate::reminder::{Priority, Reminder, ReminderStatus};
use crate::rules::course::{Course, Progress};
use crate::shard::shard_of;
use crate::store::{Answered, DeadAddress, NewReminder, PlaceMove, Response, Seen};

/// Everything that one transaction writes. A row or a field that is not named stays as it is.
#[derive(Debug, Clone)]
pub struct Writes {
    /// The present: when all of it happened.
    pub now: Timestamp,
    /// The answer to the same request when it comes again, by idempotency key. It is written first: a key that is taken stops the rest.
    pub answered: Vec<(String, Answered)>,
    /// Events of platforms that are taken with this. They are written first, too: one that was taken before stops the rest.
    pub seen: Vec<Seen>,
    /// How far the connection was read that this came by. If another node has it now, nothing is written.
    pub place: Option<PlaceMove>,
    /// New reminders, each with its first run.
    pub created: Vec<NewReminder>,
    /// Reminders whose own fields were changed.
    pub reminders: Vec<Reminder>,
    /// How far reminders have come.
    pub moved: Vec<Moved>,
    /// The reminders of `moved` that are over unless another of their runs is open. A store counts their open runs when all else is written,
    /// and writes what [`completed`] says.
    pub uncounted: Vec<Moved>,
    /// Existing runs, changed.
    pub occurrences: Vec<Occurrence>,
    /// New runs of existing reminders.
    pub planned: Vec<Planned>,
    /// Runs that cannot be read, each with why: they fail, so that they do not stop all others.
    pub set_aside: Vec<(OccurrenceId, String)>,
    /// Reminders of another priority than before: their open runs have it, too.
    pub priorities: Vec<(ReminderId, Priority)>,
    /// Attempts that have ended.
    pub attempts: Vec<EndedAttempt>,
    /// Attempts of which their platform has told what became: only those that still count as sent are changed.
    pub reported: Vec<EndedAttempt>,
    /// Addresses that their platform calls dead. An address that is known as dead already stays as it is.
    pub dead: Vec<DeadAddress>,
    /// What people answered.
    pub responses: Vec<Response>,
    /// Everything that happened. A store writes it last: of two transactions about one reminder, the entries of the later one come after.
    pub entries: Vec<Entry>,
    /// Runs of critical reminders that the admins hear of. A store asks [`crate::decide::tell`] who is told what.
    pub news: Vec<(OccurrenceId, News)>,
    /// The same for runs that were set aside.
    pub unreadable: Vec<Unreadable>,
    /// When something must be looked at because of all this, and in which shard.
    pub moments: Vec<(u8, Timestamp)>,
    /// Reminders with a lease that ends here, on whichever node. A store tells all nodes with its commit: they withdraw what they have
    /// of these and have not begun to send.
    pub recalls: Vec<ReminderId>,
    /// Events and scopes.
    pub event: EventWrites,
}

/// How far a reminder has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// Which reminder.
    pub reminder: ReminderId,
    /// Whether it goes on.
    pub status: ReminderStatus,
    /// When a person last changed it, if one did just now.
    pub changed_at: Option<Timestamp>,
    /// Its series and what its runs led to.
    pub progress: Progress,
}

/// A new run of an existing reminder.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The run.
    pub occurrence: Occurrence,
    /// Its reminder's priority.
    pub priority: Priority,
    /// Its user's shard.
    pub shard: u8,
}

/// An attempt that has ended, and of which run.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedAttempt {
    /// The run.
    pub occurrence: OccurrenceId,
    /// The attempt.
    pub attempt: Attempt,
}

impl Writes {
    /// Nothing, at `now`.
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            answered: Vec::new(),
            seen: Vec::new(),
            place: None,
            created: Vec::new(),
            reminders: Vec::new(),
            moved: Vec::new(),
            uncounted: Vec::new(),
            occurrences: Vec::new(),
            planned: Vec::new(),
            set_aside: Vec::new(),
            priorities: Vec::new(),
            attempts: Vec::new(),
            reported: Vec::new(),
            dead: Vec::new(),
            responses: Vec::new(),
            entries: Vec::new(),
            news: Vec::new(),
            unreadable: Vec::new(),
            moments: Vec::new(),
            recalls: Vec::new(),
            event: EventWrites::default(),
        }
    }

    /// The instants at which something must be looked at because of it, all of them.
    pub fn wakes(&self) -> impl Iterator<Item = Timestamp> {
        self.moments.iter().map(|(_, at)| *at)
    }

    /// Adds what another decision of the same transaction writes.
    pub fn add(&mut self, other: Self) {
        let Self {
            now: _,
            answered,
            created,
            reminders,
            moved,
            uncounted,
            occurrences,
            planned,
            set_aside,
            priorities,
            attempts,
            reported,
            dead,
            responses,
            entries,
            news,
            unreadable,
            moments,
            recalls,
            seen,
            place,
            event,
        } = other;
        self.answered.extend(answered);
        self.created.extend(created);
        self.reminders.extend(reminders);
        self.moved.extend(moved);
        self.uncounted.extend(uncounted);
        self.occurrences.extend(occurrences);
        self.planned.extend(planned);
        self.set_aside.extend(set_aside);
        self.priorities.extend(priorities);
        self.attempts.extend(attempts);
        self.reported.extend(reported);
        self.dead.extend(dead);
        self.responses.extend(responses);
        self.entries.extend(entries);
        self.news.extend(news);
        self.unreadable.extend(unreadable);
        self.moments.extend(moments);
        self.recalls.extend(recalls);
        self.seen.extend(seen);
        self.place = self.place.take().or(place);
        self.event.add(event);
    }

    /// Creates reminders, as `who` asked.
    pub fn create(&mut self, new: Vec<NewReminder>, who: &Who) {
        for new in &new {
            self.entries.push(Entry {
                at: self.now,
                kind: Kind::Created,
                who: who.via(&new.reminder.created_via),
                user: Some(new.reminder.user.clone()),
                reminder: Some(new.reminder.id),
                run: None,
                data: Data::None,
            });
            let wake_at = new.first_run().wake_at();
            self.moments.extend(wake_at.map(|at| (shard_of(&new.reminder.user), at)));
        }
        self.created.extend(new);
    }

    /// Writes how far a reminder has come, which is over when nothing of it is left.
    pub(crate) fn finish(&mut self, reminder: ReminderId, mut course: Course, changed_at: Option<Timestamp>) {
        course.complete();
        let moved = Moved { reminder, status: course.status, changed_at, progress: course.progress };
        self.moved.push(moved);
        if course.is_over_unless_open() {
            self.uncounted.push(moved);
        }
    }

    /// Ends what was planned in case nobody answers a run, which has ended. If it failed, further people are asked now.
    pub(crate) fn end_escalation(&mut self, run: &mut Occurrence, planned: Option<Escalation>) {
        let Some(Escalation::Planned { .. }) = planned else { return };
        run.escalation = None;
        if matches!(run.state, State::Failed { .. }) {
            self.news.push((run.id, News::Escalated { at: self.now }));
        }
    }

    /// Writes a changed run of a user's in `shard` over the old one; returns when to look at it.
    pub(crate) fn change(&mut self, occurrence: Occurrence, shard: u8) -> Option<Timestamp> {
        let wake_at = occurrence.wake_at();
        self.moments.extend(wake_at.map(|at| (shard, at)));
        self.occurrences.push(occurrence);
        wake_at
    }

    /// Adds a run of `reminder`; returns when to look at it.
    pub(crate) fn plan(&mut self, occurrence: Occurrence, reminder: &Reminder) -> Option<Timestamp> {
        let shard = shard_of(&reminder.user);
        let wake_at = occurrence.wake_at();
        self.moments.extend(wake_at.map(|at| (shard, at)));
        self.planned.push(Planned { occurrence, priority: reminder.priority, shard });
        wake_at
    }
}

/// Completes those of `uncounted` that have no open run, when these are the numbers of open runs of the others.
pub fn completed(uncounted: &[Moved], n_open: &HashMap<ReminderId, u32>, now: Timestamp) -> Writes {
    let is_over = |moved: &&Moved| n_open.get(&moved.reminder).is_none_or(|n_open| *n_open == 0);
    let over = uncounted.iter().filter(is_over).map(|moved| Moved { status: ReminderStatus::Completed, ..*moved });
    Writes { moved: over.collect(), ..Writes::new(now) }
}
