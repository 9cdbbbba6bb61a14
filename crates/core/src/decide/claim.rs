//! What a claim takes, what it ends, what it puts off, and what comes next.
//!
//! A store locks the runs whose moment has come and loads their reminders ([`Found`], [`Known`]); [`look`] says which reminders and
//! people must not change meanwhile; the store locks those as well and loads them again ([`Locked`]); [`Look::decide`] says the rest.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::alarm::NextRun;
use crate::alert::{News, Unreadable, is_alarming};
use crate::id::{OccurrenceId, ReminderId, SilenceId};
use crate::journal::{Data, Entry, Kind};
use crate::occurrence::{Lease, Occurrence, Sending, State, StateKind, Why};
use crate::reach::route;
use crate::reminder::{Address, Reminder, ReminderStatus};
use crate::rules::course::{Course, Progress};
use crate::rules::cut_off::cut_off;
use crate::rules::escalate;
use crate::schedule::Schedule;
use crate::shard::shard_of;
use crate::silence::Silences;
use crate::store::{Claim, Claimed, Claims};
use crate::user::Person;
use crate::wake::{Moment, Wake, on_wake, unreachable};
use crate::writes::{EndedAttempt, Writes};

/// How soon to look again at a run that cannot be decided because its person, or a silence, is just being changed.
const LOOK_AGAIN_AFTER: SignedDuration = SignedDuration::from_millis(50);

/// The runs whose moment has come, locked.
#[derive(Debug, Default)]
pub struct Found {
    /// The runs that can be read, most urgent first.
    pub due: Vec<Due>,
    /// The runs that cannot be read, each with why.
    pub unreadable: Vec<(OccurrenceId, String)>,
}

/// A run whose moment has come.
#[derive(Debug)]
pub struct Due {
    /// The run.
    pub occurrence: Occurrence,
    /// The number of its last lease.
    pub lease: u64,
    /// Its moment.
    pub wake_at: Timestamp,
}

/// Whether a claim found runs before their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooEarly {
    /// Nothing.
    None,
    /// Ends of leases, or of the time given to answer. The caller must hear of these moments.
    Some,
    /// So many that they may hide what is to be taken: the store must look again without them.
    Hiding,
}

impl Found {
    /// Drops the runs that must be left alone until their moment ([`StateKind::is_left_alone`]).
    pub fn leave_early(&mut self, claim: &Claim) -> TooEarly {
        let n_found = self.due.len() + self.unreadable.len();
        let n_due = self.due.len();
        self.due.retain(|due| !due.is_early(claim.now));
        // A claim of certain reminders waits for no other moments.
        if self.due.len() == n_due || claim.only.is_some() {
            TooEarly::None
        } else if n_found >= claim.limit {
            TooEarly::Hiding
        } else {
            TooEarly::Some
        }
    }

    /// The reminders of these runs, each once.
    pub fn reminders(&self) -> HashSet<ReminderId> {
        self.due.iter().map(|due| due.occurrence.id.reminder).collect()
    }
}

impl Due {
    fn is_early(&self, now: Timestamp) -> bool {
        self.wake_at > now && self.occurrence.state.kind().is_left_alone()
    }
}

/// A reminder with all that decides what happens to its runs.
#[derive(Debug, Clone)]
pub struct Known {
    /// The reminder.
    pub reminder: Arc<Reminder>,
    /// Its series and tally.
    pub progress: Progress,
    /// Its user's addresses, or why they cannot be read.
    pub addresses: Result<Vec<Address>, String>,
    /// The person it is for.
    pub person: Arc<Person>,
    /// It belongs to an event that has changed and is still to be planned.
    pub is_unplanned: bool,
}

/// A reminder that nobody else can change until the claim is written.
#[derive(Debug, Clone)]
pub struct Locked {
    /// The reminder as it is now.
    pub known: Known,
    /// How many of its runs have not ended; `None`: nobody has counted.
    pub n_open: Option<u32>,
    /// Its person cannot be changed either.
    pub has_person: bool,
}

/// Reminders that were loaded, those that cannot be read with why.
pub type ByReminder<T> = HashMap<ReminderId, Result<T, String>>;

/// A first look at what was found.
#[derive(Debug)]
pub struct Look<'a> {
    claim: &'a Claim,
    seen: Vec<Seen>,
    unreadable: Vec<(OccurrenceId, String)>,
    /// The attempts of nodes that died, of runs whose reminder cannot be read.
    cut_off: Vec<EndedAttempt>,
    known: ByReminder<Known>,
}

#[derive(Debug)]
struct Seen {
    due: Due,
    route: Vec<Address>,
    wake: Wake,
    /// The silences that put it off.
    silenced_by: Vec<SilenceId>,
}

/// What must not change before the claim is written.
#[derive(Debug, Default)]
pub struct ToLock {
    /// Reminders whose series a run moves on.
    pub reminders: HashSet<ReminderId>,
    /// People for whom something is put off. Else it might wait for the end of a pause that is over.
    pub users: HashSet<String>,
    /// Silences for whose end something waits, and with them their groups.
    pub silences: HashSet<SilenceId>,
}

/// Looks at what was found, when its reminders are `known`, and `silences` are all that may concern them.
pub fn look<'a>(found: Found, known: ByReminder<Known>, silences: &Silences, claim: &'a Claim) -> Look<'a> {
    let Found { due, mut unreadable } = found;
    let (mut seen, mut attempts) = (Vec::with_capacity(due.len()), Vec::new());
    for mut due in due {
        let id = due.occurrence.id;
        if due.occurrence.state.sending().is_some_and(|sending| sending.readdressed) {
            due.occurrence.forget_addresses();
        }
        match known.get(&id.reminder) {
            Some(Ok(known)) => seen.push(Seen::new(due, known, silences, claim)),
            known => {
                let gone = || "its reminder is gone".to_owned();
                attempts.extend(cut_off(&due.occurrence, claim.now));
                unreadable.push((id, known.and_then(|known| known.as_ref().err()).cloned().unwrap_or_else(gone)));
            }
        }
    }
    Look { claim, seen, unreadable, cut_off: attempts, known }
}

impl Seen {
    fn new(due: Due, known: &Known, silences: &Silences, claim: &Claim) -> Self {
        let reminder = &known.reminder;
        let route = route(reminder, known.addresses.as_deref().unwrap_or_default(), &claim.default_channel);
        let is_unplanned = matches!(due.occurrence.state, State::Unplanned { .. });
        let wake = match &known.addresses {
            // A run made in SQL is planned first, and fails then if nobody can receive it.
            Err(error) if reminder.to.is_empty() && !is_unplanned => unreachable(error.clone(), claim.now),
            _ => on_wake(&Moment {
                reminder,
                series: &known.progress.series,
                occurrence: &due.occurrence,
                person: &known.person,
                silences,
                route: &route,
                holding: &claim.holding,
                is_unplanned: known.is_unplanned,
                now: claim.now,
            }),
        };
        let silenced_by = match &wake {
            Wake::Wait { at, .. } => silences.holding(reminder, *at).map(|silence| silence.id).collect(),
            _ => Vec::new(),
        };
        Self { due, route, wake, silenced_by }
    }

    fn is_sent(&self) -> bool {
        matches!(self.wake, Wake::Send { .. } | Wake::Follow { .. })
    }
}

impl Look<'_> {
    /// The reminders and people that must not change before the claim is written. Empty where runs are only sent.
    pub fn to_lock(&self) -> ToLock {
        let mut lock = ToLock::default();
        for seen in self.seen.iter().filter(|seen| !seen.is_sent()) {
            let id = seen.due.occurrence.id.reminder;
            lock.reminders.insert(id);
            if let (Wake::Wait { why, .. }, Some(Ok(known))) = (&seen.wake, self.known.get(&id))
                && *why != Why::Event
            {
                lock.users.insert(known.reminder.user.clone());
            }
            lock.silences.extend(&seen.silenced_by);
        }
        lock.reminders.extend(self.unreadable.iter().map(|(id, _)| id.reminder));
        lock
    }

    /// The runs that cannot be read. The store says what is left of each ([`Unreadable`]).
    pub fn unreadable(&self) -> &[(OccurrenceId, String)] {
        &self.unreadable
    }

    /// Decides the claim, when the reminders of [`Look::to_lock`] are `locked`, of its silences `silences` could be locked, and `left` is
    /// what can be read of unreadable runs.
    pub fn decide(self, locked: &ByReminder<Locked>, silences: &Silences, left: Vec<Unreadable>) -> (Claims, Writes) {
        let Look { claim, seen, mut unreadable, cut_off, known } = self;
        let mut work = Work::new(claim, locked, seen.len());
        for seen in seen {
            let id = seen.due.occurrence.id;
            match locked.get(&id.reminder) {
                None if seen.is_sent() => match known.get(&id.reminder) {
                    Some(Ok(known)) => work.lease(seen, known),
                    _ => unreadable.push((id, "its reminder is gone".to_owned())),
                },
                None => unreadable.push((id, "its reminder is gone".to_owned())),
                Some(Err(error)) => unreadable.push((id, error.clone())),
                Some(Ok(locked)) => {
                    let is_sure = seen.silenced_by.iter().all(|id| silences.has(*id));
                    // It may have been changed before it was locked, and so may its person and what it was silent for.
                    let seen = Seen::new(seen.due, &locked.known, silences, claim);
                    match is_sure || !seen.is_sent() {
                        true => work.take(seen, locked),
                        // The silence, or its group, is just being changed or removed.
                        false => work.look_again(),
                    }
                }
            }
        }
        let user_of = |id: OccurrenceId| left.iter().find(|left| left.id == id).map(|left| left.user.as_str());
        for ended in cut_off {
            work.writes.entries.push(ended.entry_of_cut_off(user_of(ended.occurrence), claim.now));
            work.writes.attempts.push(ended);
        }
        for (id, error) in unreadable {
            work.set_aside(id, user_of(id), error);
        }
        work.writes.unreadable = left;
        work.end()
    }
}

struct Work<'a> {
    claim: &'a Claim,
    locked: &'a ByReminder<Locked>,
    courses: HashMap<ReminderId, Course>,
    claims: Claims,
    writes: Writes,
}

impl<'a> Work<'a> {
    fn new(claim: &'a Claim, locked: &'a ByReminder<Locked>, n_seen: usize) -> Self {
        let mut writes = Writes::new(claim.now);
        writes.occurrences.reserve(n_seen);
        let claims = Claims { to_send: Vec::with_capacity(n_seen), ..Claims::default() };
        Self { claim, locked, courses: HashMap::new(), claims, writes }
    }

    fn take(&mut self, seen: Seen, locked: &Locked) {
        match seen.wake {
            Wake::Send { .. } | Wake::Follow { .. } => self.lease(seen, &locked.known),
            Wake::Escalate { at } => self.escalate(seen.due.occurrence, at, &locked.known.reminder),
            Wake::Plan { schedule, due_at } => self.plan(seen.due.occurrence, *schedule, due_at, locked),
            Wake::Wait { state, due_at, why: Why::Event, .. } => {
                self.claims.n_taken += 1;
                self.claims.events.extend(locked.known.reminder.event.as_ref().map(|event| event.key.clone()));
                self.wait(seen.due.occurrence, state, due_at, false, locked);
            }
            // Its person is just being changed. A silence holds also for one who has no entry.
            Wake::Wait { why, .. } if why != Why::Silenced && !locked.has_person => self.look_again(),
            Wake::Wait { state, due_at, why, moves_on, until, series_waits, .. } => {
                self.claims.n_taken += 1;
                self.claims.ended.push(StateKind::Waiting);
                let run = seen.due.occurrence;
                let data = Data::Wait { why, until, from: run.due_at, series_waits };
                let user = locked.known.reminder.user.as_str();
                let entry = Entry::of_engine(self.claim.now, Kind::Waiting, run.id, Some(user), data);
                self.wait(run, state, due_at, moves_on, locked);
                self.writes.entries.push(entry);
            }
            Wake::End { state, also_missed, n_more_missed, next } => {
                self.claims.n_taken += 1;
                if state.is_final() || state == State::Paused {
                    self.claims.ended.extend(std::iter::repeat_n(state.kind(), 1 + also_missed.len()));
                }
                self.end_run(seen.due.occurrence, state, also_missed, n_more_missed, next, locked);
            }
        }
    }

    /// Leaves a run as it is and has further people asked, the first of them at `at`; nobody about a run of a paused reminder.
    fn escalate(&mut self, mut run: Occurrence, at: Timestamp, reminder: &Reminder) {
        self.claims.n_taken += 1;
        run.escalation = None;
        if reminder.status == ReminderStatus::Active {
            self.writes.news.push((run.id, News::Escalated { at }));
        }
        self.writes.change(run, shard_of(&reminder.user));
    }

    /// Leaves a run as it is for a moment, which is how long it takes to change what decides about it.
    fn look_again(&mut self) {
        let again = self.claim.now.checked_add(LOOK_AGAIN_AFTER).unwrap_or(self.claim.now);
        self.claims.wakes.push(again);
    }

    /// Plans a run that was asked for in SQL, and gives its reminder the schedule that it means.
    fn plan(&mut self, mut run: Occurrence, schedule: Schedule, due_at: Timestamp, locked: &Locked) {
        self.claims.n_taken += 1;
        let reminder = Reminder { schedule, ..(*locked.known.reminder).clone() };
        let course = course(&mut self.courses, &reminder, locked);
        course.progress.series.carried_by = reminder.schedule.is_recurring().then_some(run.id.run);
        (run.due_at, run.made_for) = (due_at, due_at);
        run.state = match course.status {
            ReminderStatus::Paused => State::Paused,
            _ => State::Scheduled,
        };
        let wake_at = self.writes.change(run, shard_of(&reminder.user));
        self.claims.next_runs.extend(wake_at.map(|at| NextRun::of(&reminder, at)));
        self.writes.reminders.push(reminder);
    }

    /// Leases a run that is to be sent, or asked about.
    fn lease(&mut self, seen: Seen, known: &Known) {
        let Seen { due, route, wake, .. } = seen;
        let (position, is_followed) = match wake {
            Wake::Send { position } => (position, false),
            Wake::Follow { position } => (position, true),
            Wake::Plan { .. } | Wake::Wait { .. } | Wake::Escalate { .. } | Wake::End { .. } => return,
        };
        self.claims.n_taken += 1;
        let mut before = due.occurrence;
        before.escalation = escalate::planned(&before, &known.reminder, &known.person, self.claim.now);
        // The platform has it: this lease goes on with the same attempt.
        let message_id = before.state.sending().filter(|_| is_followed).and_then(|sending| sending.message_id.clone());
        if !is_followed {
            self.cut_off(&before, &known.reminder.user);
        }
        let claimed = Claimed {
            lease: due.lease + 1,
            lease_until: self.claim.lease_until,
            // A dead node may have claimed it ahead of time; it is looked at now, and still not sent before it is due.
            wake_at: due.wake_at.max(before.due_at),
            reminder: known.reminder.clone(),
            person: known.person.clone(),
            holds_unknown: self.claim.holds_at(&route, position),
            route,
            position,
            message_id,
            before,
        };
        let mut leased = claimed.before.clone();
        leased.tries.attempts = claimed.attempt();
        leased.tries.position = position;
        leased.state = State::Processing {
            lease: Lease { number: claimed.lease, until: claimed.lease_until, node: self.claim.node.clone() },
            sending: Sending {
                to: claimed.to().clone(),
                since: self.claim.now,
                message_id: claimed.message_id.clone(),
                readdressed: false,
            },
        };
        self.writes.occurrences.push(leased);
        self.claims.to_send.push(claimed);
    }

    /// Writes down the attempt of a node that died: nobody knows what became of it.
    fn cut_off(&mut self, occurrence: &Occurrence, user: &str) {
        if let Some(ended) = cut_off(occurrence, self.claim.now) {
            self.writes.entries.push(ended.entry_of_cut_off(Some(user), self.claim.now));
            self.writes.attempts.push(ended);
        }
    }

    /// Puts a run off, and plans the next one if its series goes on meanwhile.
    fn wait(&mut self, mut run: Occurrence, state: State, due_at: Timestamp, moves_on: bool, locked: &Locked) {
        self.cut_off(&run, &locked.known.reminder.user);
        let reminder = &locked.known.reminder;
        let was_due_at = std::mem::replace(&mut run.due_at, due_at);
        run.state = state;
        let course = course(&mut self.courses, reminder, locked);
        let next =
            if moves_on { course.go_on(reminder, run.id.run, was_due_at, &run.state, self.claim.now) } else { None };
        let mut to_come: Vec<Timestamp> = self.writes.change(run, shard_of(&reminder.user)).into_iter().collect();
        to_come.extend(next.and_then(|next| self.writes.plan(next, reminder)));
        // A timer elsewhere has one moment of a reminder: the first.
        self.claims.next_runs.extend(to_come.into_iter().min().map(|at| NextRun::of(reminder, at)));
    }

    /// Ends a run without a send, writes down what else was missed, and plans what comes next.
    fn end_run(
        &mut self,
        mut run: Occurrence,
        state: State,
        also_missed: Vec<Timestamp>,
        n_more_missed: usize,
        next: Option<Timestamp>,
        locked: &Locked,
    ) {
        self.cut_off(&run, &locked.known.reminder.user);
        let now = self.claim.now;
        let reminder = &locked.known.reminder;
        let kind = state.kind();
        // A run that fails before its first send is taken to the next people as well.
        let escalation = escalate::planned(&run, reminder, &locked.known.person, now);
        run.state = state;
        let id = run.id;
        if !run.state.is_final() {
            self.writes.change(run, shard_of(&reminder.user));
            return;
        }
        self.writes.end_escalation(&mut run, escalation);
        if is_alarming(reminder, kind) {
            self.writes.news.push((id, News::Ended));
        }
        let is_missed = kind == StateKind::Missed;
        let course = course(&mut self.courses, reminder, locked);
        course.end_one();
        course.count_unsent(kind);
        let data = match &run.state {
            State::Missed { .. } => Data::Missed { runs: (1 + also_missed.len() + n_more_missed) as u64 },
            State::Failed { error, .. } => Data::Failed { error: error.clone() },
            _ => Data::None,
        };
        let kind = match kind {
            StateKind::Missed => Kind::Missed,
            StateKind::Failed => Kind::Failed,
            _ => Kind::Unanswered,
        };
        let entry = Entry::of_engine(now, kind, id, Some(&reminder.user), data);
        let mut planned = Vec::new();
        if is_missed && course.is_carried_by(id.run) {
            planned = course.pass(reminder, also_missed, n_more_missed, next, now);
        } else {
            // An interval that is counted from the answer goes on when no answer came, too.
            planned.extend(course.go_on(reminder, id.run, run.due_at, &run.state, now));
        }
        self.writes.change(run, shard_of(&reminder.user));
        for run in planned {
            let at = self.writes.plan(run, reminder);
            self.claims.next_runs.extend(at.map(|at| NextRun::of(reminder, at)));
        }
        self.writes.entries.push(entry);
    }

    /// Fails a run that cannot be read, visibly, so that it does not stop all the others. Its series goes on if its reminder can be
    /// read.
    fn set_aside(&mut self, id: OccurrenceId, user: Option<&str>, error: String) {
        let now = self.claim.now;
        self.claims.n_taken += 1;
        self.claims.ended.push(StateKind::Failed);
        let data = Data::Failed { error: error.clone() };
        self.writes.entries.push(Entry::of_engine(now, Kind::Failed, id, user, data));
        if let Some(Ok(locked)) = self.locked.get(&id.reminder) {
            let reminder = &locked.known.reminder;
            let course = course(&mut self.courses, reminder, locked);
            course.end_one();
            let failed = State::Failed { at: now, error: String::new() };
            let next = course.go_on(reminder, id.run, now, &failed, now);
            let planned = next.and_then(|next| self.writes.plan(next, reminder));
            self.claims.next_runs.extend(planned.map(|at| NextRun::of(reminder, at)));
        }
        self.writes.set_aside.push((id, error));
    }

    fn end(mut self) -> (Claims, Writes) {
        let mut courses: Vec<_> = self.courses.into_iter().collect();
        courses.sort_unstable_by_key(|(reminder, _)| *reminder);
        for (reminder, course) in courses {
            self.writes.finish(reminder, course, None);
        }
        self.claims.wakes.extend(self.writes.wakes());
        (self.claims, self.writes)
    }
}

/// How far `reminder` has come, as other runs of it in the same claim have left it.
fn course<'c>(courses: &'c mut HashMap<ReminderId, Course>, reminder: &Reminder, locked: &Locked) -> &'c mut Course {
    courses.entry(reminder.id).or_insert(Course {
        status: reminder.status,
        progress: locked.known.progress,
        n_open: locked.n_open,
    })
}
