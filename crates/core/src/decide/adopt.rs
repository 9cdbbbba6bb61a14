//! What is written of lines that come from another store.
//!
//! A store loads which of the lines are there already ([`Wanted`], [`There`]); those stay as they are. A run that is overdue, or that a node
//! was sending, may have been sent by the store that it comes from since the line was written: it is missed, so that nobody hears of it
//! twice, and its series goes on.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::clock::later;
use crate::feed::{EVERY, Feed, FeedKey};
use crate::id::{OccurrenceId, ReminderId, SilenceId};
use crate::journal::{Data, Entry, Kind, Placed};
use crate::occurrence::{Escalation, Occurrence, State, StateKind};
use crate::reminder::{Priority, Reminder};
use crate::rules::course::Course;
use crate::rules::cut_off::cut_off;
use crate::rules::misfire::left_out;
use crate::shard::shard_of;
use crate::wake::Wake;
use crate::whole::{Adopted, Adoption, Content, KeptReminder, KeptRun, Line, Overdue, Whole, WholeEvent, WholeRun};
use crate::writes::{EndedAttempt, Writes};

/// What lines name, for a store to look up.
#[derive(Debug, Default)]
pub struct Wanted<'a> {
    /// Reminders.
    pub reminders: Vec<ReminderId>,
    /// Runs that belong to a reminder of another line.
    pub runs: Vec<OccurrenceId>,
    /// People.
    pub users: Vec<&'a str>,
    /// Groups.
    pub groups: Vec<&'a str>,
    /// Silences.
    pub silences: Vec<SilenceId>,
    /// Scopes, by path.
    pub scopes: Vec<&'a str>,
    /// Events, by key.
    pub events: Vec<&'a str>,
    /// Rows of the ledgers of watches: the watch, and the row.
    pub ledger: Vec<(&'a str, &'a str)>,
    /// Calendars that users follow.
    pub feeds: Vec<&'a FeedKey>,
    /// What happened.
    pub entries: Vec<&'a Placed>,
}

/// What is there of it.
#[derive(Debug, Default)]
pub struct There {
    /// Reminders.
    pub reminders: HashSet<ReminderId>,
    /// Runs.
    pub runs: HashSet<OccurrenceId>,
    /// People.
    pub users: HashSet<String>,
    /// Groups.
    pub groups: HashSet<String>,
    /// Silences.
    pub silences: HashSet<SilenceId>,
    /// Scopes.
    pub scopes: HashSet<String>,
    /// Events.
    pub events: HashSet<String>,
    /// Rows of the ledgers of watches.
    pub ledger: HashSet<(String, String)>,
    /// Calendars that users follow.
    pub feeds: HashSet<FeedKey>,
    /// What happened.
    pub entries: HashSet<Content>,
}

impl<'a> Wanted<'a> {
    /// What these lines name.
    pub fn of(lines: &'a [Line]) -> Self {
        let mut wanted = Self::default();
        for line in lines {
            match line {
                Line::Entry(entry) => wanted.entries.push(entry),
                Line::User(user) => wanted.users.push(&user.id),
                Line::Group(group) => wanted.groups.push(&group.name),
                Line::Silence(silence) => wanted.silences.push(silence.id),
                // A dead address that is known stays as it is without being asked for.
                Line::DeadAddress(_) => {}
                Line::Scope(scope) => wanted.scopes.push(scope.path.as_str()),
                Line::Event(whole) => wanted.events.push(&whole.event.key),
                Line::Ledger(watch, row) => wanted.ledger.push((watch, &row.key)),
                Line::Calendar(feed) => wanted.feeds.push(&feed.key),
                // What is here stays, whatever became of it there.
                Line::Gone(..) => {}
                Line::Reminder(whole) => wanted.reminders.push(whole.reminder.id),
                Line::Runs(id, runs) => {
                    wanted.reminders.push(*id);
                    wanted.runs.extend(runs.iter().map(|run| run.occurrence.id));
                }
            }
        }
        wanted
    }
}

/// Decides what is written of `lines`, when `there` is what is there of them.
pub fn adopted(lines: Vec<Line>, mut there: There, overdue: Overdue, now: Timestamp) -> (Adopted, Adoption) {
    let mut adopted = Adopted::default();
    let mut adoption = Adoption {
        users: Vec::new(),
        groups: Vec::new(),
        silences: Vec::new(),
        reminders: Vec::new(),
        runs: Vec::new(),
        ledger: Vec::new(),
        feeds: Vec::new(),
        history: Vec::new(),
        writes: Writes::new(now),
    };
    for line in lines {
        let is_new = match line {
            Line::Entry(entry) => {
                let is_new = !there.entries.contains(&Content::of(&entry));
                adoption.history.extend(is_new.then(|| entry.imported()));
                is_new
            }
            Line::User(user) => {
                let is_new = there.users.insert(user.id.clone());
                adoption.users.extend(is_new.then_some(user));
                is_new
            }
            Line::Group(group) => {
                let is_new = there.groups.insert(group.name.clone());
                adoption.groups.extend(is_new.then_some(group));
                is_new
            }
            Line::Silence(silence) => {
                let is_new = there.silences.insert(silence.id) && silence.until > now;
                adoption.silences.extend(is_new.then_some(silence));
                is_new
            }
            Line::DeadAddress(dead) => {
                adoption.writes.dead.push(dead);
                true
            }
            Line::Scope(scope) => {
                let is_new = there.scopes.insert(scope.path.to_string());
                adoption.writes.event.scopes.extend(is_new.then_some(scope));
                is_new
            }
            Line::Event(whole) => {
                let is_new = there.events.insert(whole.event.key.clone());
                if is_new {
                    let WholeEvent { event, links } = *whole;
                    adoption.writes.event.put.push(event);
                    adoption.writes.event.links.extend(links);
                }
                is_new
            }
            Line::Ledger(watch, row) => {
                let is_new = there.ledger.insert((watch.clone(), row.key.clone()));
                adoption.ledger.extend(is_new.then_some((watch, row)));
                is_new
            }
            Line::Calendar(feed) => {
                let is_new = there.feeds.insert(feed.key.clone());
                // Its events come with lines of their own, and are not to be made anew before.
                let next_at = Some(later(now, EVERY));
                adoption.feeds.extend(is_new.then_some(Feed { next_at, ..feed }));
                is_new
            }
            Line::Gone(..) => false,
            Line::Reminder(whole) => {
                let is_new = there.reminders.insert(whole.reminder.id);
                if is_new {
                    there.runs.extend(whole.runs.iter().map(|run| run.occurrence.id));
                    adopted.n_missed += adoption.take(*whole, overdue, now);
                }
                is_new
            }
            Line::Runs(id, runs) => adoption.take_more(id, runs, &mut there),
        };
        adopted.is_new.push(is_new);
    }
    adopted.wakes = adoption.writes.wakes().collect();
    (adopted, adoption)
}

impl Adoption {
    /// Takes a reminder that is not there; returns how many of its runs are missed.
    fn take(&mut self, whole: Whole, overdue: Overdue, now: Timestamp) -> usize {
        let Whole { mut reminder, progress, runs, .. } = whole;
        let n_open = runs.iter().filter(|run| !run.occurrence.state.is_final()).count();
        let mut course = Course { status: reminder.status, progress, n_open: u32::try_from(n_open).ok() };
        let (mut n_missed, mut planned) = (0, Vec::new());
        for mut run in runs {
            let occurrence = &mut run.occurrence;
            match (overdue, is_overdue(occurrence, now)) {
                (_, false) => {}
                (Overdue::Deliver, true) => {
                    if let State::Processing { lease, .. } = &mut occurrence.state {
                        // Nobody here has it.
                        lease.until = lease.until.min(now);
                    }
                }
                (Overdue::Missed, true) => {
                    if let Some(ended) = cut_off(occurrence, now) {
                        self.writes.entries.push(ended.entry_of_cut_off(Some(&reminder.user), now));
                        run.attempts.push(ended.attempt);
                    }
                    let timeout = reminder.ack.as_ref().map(|ack| ack.timeout);
                    match (asked_at(occurrence), timeout) {
                        // Its person has it, and may still answer: that is waited for once more before they are asked again.
                        (Some(delivered_at), Some(timeout)) => {
                            let ask_again_at = later(now, timeout);
                            occurrence.state = State::AwaitingAck { delivered_at, ask_again_at, waits_for: None };
                            if let Some(Escalation::Planned { at }) = &mut occurrence.escalation {
                                *at = (*at).max(ask_again_at);
                            }
                        }
                        _ => {
                            let (n, also) = miss(&reminder, &mut course, occurrence, now, &mut self.writes);
                            n_missed += n;
                            planned.extend(also);
                        }
                    }
                }
            }
            self.push(run, &reminder);
        }
        for occurrence in planned {
            self.push(WholeRun { occurrence, lease: 0, attempts: Vec::new(), responses: Vec::new() }, &reminder);
        }
        course.complete();
        reminder.status = course.status;
        self.reminders.push(KeptReminder { reminder, progress: course.progress });
        n_missed
    }

    /// Takes older runs of a reminder that is there; returns whether one of them is new.
    fn take_more(&mut self, id: ReminderId, runs: Vec<WholeRun>, there: &mut There) -> bool {
        // Their priority and shard matter to no run that has ended.
        let kept = self.reminders.iter().find(|kept| kept.reminder.id == id);
        let of = kept.map(|kept| (kept.reminder.priority, shard_of(&kept.reminder.user))).unwrap_or_default();
        if !there.reminders.contains(&id) {
            return false;
        }
        let mut is_new = false;
        for run in runs {
            if there.runs.insert(run.occurrence.id) {
                is_new = true;
                self.push_of(run, of);
            }
        }
        is_new
    }

    fn push(&mut self, run: WholeRun, reminder: &Reminder) {
        let shard = shard_of(&reminder.user);
        self.writes.moments.extend(run.occurrence.wake_at().map(|at| (shard, at)));
        self.push_of(run, (reminder.priority, shard));
    }

    fn push_of(&mut self, run: WholeRun, (priority, shard): (Priority, u8)) {
        let WholeRun { occurrence, lease, attempts, responses } = run;
        let id = occurrence.id;
        self.writes.attempts.extend(attempts.into_iter().map(|attempt| EndedAttempt { occurrence: id, attempt }));
        self.writes.responses.extend(responses);
        self.runs.push(KeptRun { occurrence, lease, priority, shard });
    }
}

/// Whether the store that a run comes from may have sent it since its line was written.
fn is_overdue(run: &Occurrence, now: Timestamp) -> bool {
    match run.state {
        // Nobody knows yet when it is due.
        State::Unplanned { .. } => false,
        State::Processing { .. } => true,
        _ => run.wake_at().is_some_and(|at| at <= now),
    }
}

/// When the person of an open run was reached, if they were and it waits for nothing but their answer.
fn asked_at(run: &Occurrence) -> Option<Timestamp> {
    match &run.state {
        State::AwaitingAck { delivered_at, .. } => Some(*delivered_at),
        // It was just asked again.
        State::Processing { sending, .. } if run.tries.reached > 0 => Some(sending.since),
        _ => None,
    }
}

/// Ends a run as missed, and lets its series go on; returns how many were missed with it, and those of them that are written, with the next run.
fn miss(
    reminder: &Reminder,
    course: &mut Course,
    run: &mut Occurrence,
    now: Timestamp,
    writes: &mut Writes,
) -> (usize, Vec<Occurrence>) {
    let wake = left_out(reminder, &course.progress.series, run, now);
    let (also, n_more, next) = match wake {
        Wake::End { also_missed, n_more_missed, next, .. } => (also_missed, n_more_missed, next),
        _ => (Vec::new(), 0, None),
    };
    let n_missed = 1 + also.len() + n_more;
    run.state = State::Missed { at: now };
    run.escalation = None;
    course.end_one();
    course.count_unsent(StateKind::Missed);
    let data = Data::Missed { runs: n_missed as u64 };
    writes.entries.push(Entry::of_engine(now, Kind::Missed, run.id, Some(&reminder.user), data));
    let mut planned = Vec::new();
    if course.is_carried_by(run.id.run) {
        planned = course.pass(reminder, also, n_more, next, now);
    }
    (n_missed, planned)
}
