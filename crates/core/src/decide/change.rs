//! What a command changes.
//!
//! A store loads a reminder with its open occurrences, calls [`changed`] inside its transaction and writes what comes
//! back. So every command is decided in one place, whatever the database.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::family::{self, Kin};
use super::person::look_again;
pub use super::resend::Resend;
pub use super::undo::{Cancelled, followed};
use crate::clock::later;
use crate::id::{OccurrenceId, ReminderId};
use crate::invalid::Invalid;
use crate::journal::{Data, Ended, Entry, Kind};
use crate::model::version::Version;
use crate::occurrence::{Attempt, Escalation, Occurrence, State, StateKind, Tries, Why};
use crate::reminder::{AckPolicy, Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use crate::rules::course::{Course, Progress};
use crate::rules::cut_off::cut_off;
use crate::rules::escalate;
use crate::schedule::Schedule;
use crate::shard::shard_of;
use crate::step::Step;
use crate::store::{By, Response};
use crate::writes::{Marked, Writes};
use crate::zone::Zone;

/// How long a run that has ended can still be put off, if it wanted no answer, or be answered, if nobody did in time.
pub(crate) const LATE_WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// The furthest a snooze reaches.
pub(crate) const SNOOZE_MAX: SignedDuration = SignedDuration::from_hours(366 * 24);

/// A command about one reminder.
#[derive(Debug, Clone)]
pub enum Change {
    /// No run of the reminder is sent any more.
    Cancel,
    /// No run of the reminder is sent until it is resumed.
    Pause,
    /// It goes on.
    Resume,
    /// The next run is left out.
    Skip,
    /// A person says: done.
    Ack,
    /// A person says: later.
    Snooze {
        /// When.
        until: Timestamp,
    },
    /// A person says: not needed.
    Dismiss,
    /// An answer to one run and to no other: what a button or a link under its message says.
    AnswerRun {
        /// Which run.
        run: u32,
        /// [`Self::Ack`], [`Self::Snooze`] or [`Self::Dismiss`].
        answer: Box<Change>,
    },
    /// Send now, whatever the schedule says.
    Fire,
    /// Change what it says, when, or to whom.
    Update(Box<Patch>),
    /// The last cancel was a mistake: what it ended goes on.
    Undo,
    /// A run that failed is sent again.
    Resend(Resend),
}

impl Change {
    /// The command's name in the journal.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Skip => "skip",
            Self::Ack => "ack",
            Self::Snooze { .. } => "snooze",
            Self::Dismiss => "dismiss",
            Self::AnswerRun { answer, .. } => answer.verb(),
            Self::Fire => "fire",
            Self::Update(_) => "update",
            Self::Undo => "undo",
            Self::Resend(_) => "resend",
        }
    }

    /// The run that the command is meant for, if it names one.
    pub fn run(&self) -> Option<u32> {
        match self {
            Self::AnswerRun { run, .. } => Some(*run),
            Self::Resend(resend) => resend.run,
            _ => None,
        }
    }

    /// The command itself, without the run that it is meant for.
    pub fn plain(&self) -> &Self {
        match self {
            Self::AnswerRun { answer, .. } => answer.plain(),
            other => other,
        }
    }
}

/// New values for a reminder's fields; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are those of Reminder")]
pub struct Patch {
    pub name: Option<Option<String>>,
    pub message: Option<String>,
    pub schedule: Option<Schedule>,
    pub timezone: Option<Zone>,
    pub priority: Option<Priority>,
    pub to: Option<Vec<Address>>,
    pub only: Option<bool>,
    pub ack: Option<Option<AckPolicy>>,
    pub escalate: Option<Vec<Step>>,
    pub snooze_allowed: Option<bool>,
    pub retries_max: Option<u32>,
    pub misfire: Option<Misfire>,
    pub on_unknown: Option<OnUnknown>,
    pub metadata: Option<Metadata>,
    pub tags: Option<Vec<String>>,
}

impl Patch {
    /// Writes the new values over the old ones; returns the names of the fields that had another value.
    pub fn apply(&self, reminder: &mut Reminder) -> Vec<&'static str> {
        let mut fields = Vec::new();
        let mut note = |name, is_changed: bool| fields.extend(is_changed.then_some(name));
        note("name", set(&mut reminder.name, &self.name));
        note("message", set(&mut reminder.message, &self.message));
        note("schedule", set(&mut reminder.schedule, &self.schedule));
        note("timezone", set(&mut reminder.timezone, &self.timezone));
        note("priority", set(&mut reminder.priority, &self.priority));
        note("to", set(&mut reminder.to, &self.to));
        note("only", set(&mut reminder.only, &self.only));
        note("ack", set(&mut reminder.ack, &self.ack));
        note("escalate", set(&mut reminder.escalate, &self.escalate));
        note("snooze_allowed", set(&mut reminder.snooze_allowed, &self.snooze_allowed));
        note("max_retries", set(&mut reminder.retries_max, &self.retries_max));
        note("misfire", set(&mut reminder.misfire, &self.misfire));
        note("on_unknown", set(&mut reminder.on_unknown, &self.on_unknown));
        note("metadata", set(&mut reminder.metadata, &self.metadata));
        note("tags", set(&mut reminder.tags, &self.tags));
        fields
    }
}

/// A reminder as a store has it when a command arrives.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The reminder.
    pub reminder: Reminder,
    /// Its series and tally.
    pub progress: Progress,
    /// Its occurrences that have not ended, by run.
    pub open: Vec<Occurrence>,
    /// The last occurrence that has ended; for a command that names a run ([`Change::run`]), that run if it has ended.
    pub last_ended: Option<Occurrence>,
    /// Another person was asked in the place of this reminder's person, about whichever run.
    pub has_kin: bool,
    /// The other reminders about the same run ([`family::family_of`]).
    pub family: Vec<Kin>,
    /// What this command needs to know and others do not.
    pub besides: Besides,
}

impl Loaded {
    /// The version of the reminder as it is shown ([`ReminderView::version`]).
    fn version(&self) -> Version {
        let next = |run: &Occurrence| match run.state.kind() {
            StateKind::PendingRetry => run.state.wake_at(run.due_at),
            kind => kind.is_to_come().then_some(run.due_at),
        };
        let snoozed = self.open.iter().filter(|run| run.state.kind() == StateKind::Snoozed);
        let snoozed_until = snoozed.map(|run| run.due_at).min();
        let next_run_at = self.open.iter().filter_map(next).min();
        self.progress.tally.view(self.reminder.clone(), next_run_at, snoozed_until).version()
    }
}

/// What a command needs to know beside the reminder and its open runs.
#[derive(Debug, Clone, Default)]
pub enum Besides {
    /// Nothing.
    #[default]
    Nothing,
    /// [`Change::Undo`]: what the last cancel ended, if the journal has it.
    Cancelled(Option<Cancelled>),
    /// [`Change::Resend`]: the attempts of [`Loaded::last_ended`].
    Attempts(Vec<Attempt>),
}

/// Why a command was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It comes too late: the send has begun.
    #[error("the send has begun; try again when it has ended")]
    SendBegun,
    /// The same of these reminders, of people who were asked in its person's place.
    #[error("the send has begun; try again when it has ended")]
    OtherBegun(Vec<ReminderId>),
    /// The reminder's state does not allow it.
    #[error("{0}")]
    NotNow(String),
    /// It is not as the caller has seen it.
    #[error("it is not as the caller has seen it")]
    Unexpected,
    /// A value in the command is wrong.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Decides what `change`, asked for by `by`, does to `loaded`; returns the occurrence that the command was about, if it was about one,
/// and what is written.
pub fn changed(loaded: Loaded, change: &Change, by: &By) -> Result<(Option<Occurrence>, Writes), Refused> {
    let now = by.now;
    if !by.who.expects.is_met(|| Some(loaded.version())) {
        return Err(Refused::Unexpected);
    }
    let Loaded { reminder, progress, open, last_ended, has_kin: _, family, besides } = loaded;
    let mut work = Work::new(reminder, progress, open, last_ended, now);
    if let Change::AnswerRun { run, answer } = change {
        if !matches!(**answer, Change::Ack | Change::Snooze { .. } | Change::Dismiss) {
            return Err(Invalid::new("answer", "is none: ack, snooze and dismiss are").into());
        }
        let last_run = work.course.progress.series.last_run;
        if *run == 0 || *run > last_run {
            return Err(Invalid::new("run", format!("there is no run {run}; the last one is {last_run}")).into());
        }
        work.only_run = Some(*run);
    }
    let priority = work.reminder.priority;
    match change.plain() {
        Change::Cancel => {
            work.cancel(family.iter().any(|kin| !kin.open.is_empty()))?;
            family::may_cancel(&family)?;
        }
        Change::Pause => work.pause()?,
        Change::Resume => work.resume()?,
        Change::Skip => work.skip()?,
        Change::Ack => work.answer("ack", by, State::Completed { at: now })?,
        Change::Dismiss => work.answer("dismiss", by, State::Dismissed { at: now })?,
        Change::Snooze { until } => work.snooze(*until, by)?,
        Change::Fire => work.fire()?,
        Change::Update(patch) => work.update(patch)?,
        Change::Undo => work.undo(besides)?,
        Change::Resend(resend) => work.resend(resend, &besides)?,
        // `plain` never returns an answer to one run; see above.
        Change::AnswerRun { .. } => return Err(not_now("an answer is for one run")),
    }
    let about = work.write.first().or(work.insert.first()).cloned();
    let along: Vec<_> = match change.plain() {
        Change::Ack | Change::Dismiss => work.write.iter().skip(1).map(|run| run.id).collect(),
        _ => Vec::new(),
    };
    // A run that had ended and is open again was left alone when its reminder got another priority.
    let had_ended = |run: &Occurrence| work.before.iter().all(|open| open.id != run.id);
    let is_reopened = work.write.iter().any(|run| !run.state.is_final() && had_ended(run));
    let mut writes = work.writes(by);
    if matches!(change.plain(), Change::Update(_)) {
        writes.reminders.push(work.reminder.clone());
    }
    if let (Change::Undo, Some(event)) = (change.plain(), &work.reminder.event) {
        // The event may have changed since: its planner moves the reminder, or withdraws it, and none of its runs is claimed before.
        writes.event.marked.push(Marked { key: event.key.clone(), at: now });
    }
    if is_reopened || priority != work.reminder.priority {
        writes.priorities.push((work.reminder.id, work.reminder.priority));
    }
    let (kind, data) = work.what_happened(change, &writes);
    writes.entries.push(work.entry(kind, by, about.as_ref().map(|occurrence| occurrence.id.run), data));
    for run in along {
        writes.entries.push(work.entry_along(run, change, &writes, by));
    }
    writes.seen.extend(by.came.seen.clone());
    writes.place.clone_from(&by.came.place);
    if !family.is_empty() {
        let run = about.as_ref().map(|run| run.id);
        writes.add(family::spread(family, &work.reminder, run, change, by));
    }
    Ok((about, writes))
}

/// A reminder while a command changes it.
pub(super) struct Work {
    pub(super) reminder: Reminder,
    pub(super) course: Course,
    /// The open runs as they were.
    before: Vec<Occurrence>,
    /// The open runs that the command is not about. They may get other addresses, or another plan of who is asked next.
    open: Vec<Occurrence>,
    pub(super) last_ended: Option<Occurrence>,
    /// Existing runs, changed.
    pub(super) write: Vec<Occurrence>,
    /// New runs.
    pub(super) insert: Vec<Occurrence>,
    /// How many runs of the series were missed together with one that was changed, and which that is.
    pub(super) missed_with: (u32, u64),
    /// What the journal says that a cancel ended.
    ended: Ended,
    /// The person's answer, if it was one, to each run that it ended.
    responses: Vec<Response>,
    /// The reminder's fields that were changed.
    fields: Vec<&'static str>,
    /// The run that an answer is meant for; none other is touched.
    pub(super) only_run: Option<u32>,
    pub(super) now: Timestamp,
}

impl Work {
    pub(super) fn new(
        reminder: Reminder,
        progress: Progress,
        open: Vec<Occurrence>,
        last_ended: Option<Occurrence>,
        now: Timestamp,
    ) -> Self {
        let n_open = u32::try_from(open.len()).unwrap_or(u32::MAX);
        Self {
            course: Course { status: reminder.status, progress, n_open },
            reminder,
            before: open.clone(),
            open,
            last_ended,
            write: Vec::new(),
            insert: Vec::new(),
            missed_with: (0, 0),
            ended: Ended::default(),
            responses: Vec::new(),
            fields: Vec::new(),
            only_run: None,
            now,
        }
    }

    /// Cancels it. Others may still be asked about a run of it that has ended.
    pub(super) fn cancel(&mut self, others_are_asked: bool) -> Result<(), Refused> {
        match self.course.status {
            ReminderStatus::Cancelled => return Err(not_now("it is already cancelled")),
            ReminderStatus::Completed if self.open.is_empty() && !others_are_asked => {
                return Err(not_now("it is over; nothing is left to cancel"));
            }
            _ => {}
        }
        if self.open.iter().any(|o| matches!(o.state, State::Processing { .. })) {
            return Err(Refused::SendBegun);
        }
        let at = self.now;
        self.ended = Ended {
            runs: self.open.iter().map(|run| run.id.run).collect(),
            carried_by: self.course.progress.series.carried_by,
            paused: self.course.status == ReminderStatus::Paused,
            unplanned: self.open.iter().any(|run| run.state.asked().is_some()),
        };
        for mut occurrence in std::mem::take(&mut self.open) {
            // One that reached the person was not cancelled: it will just not be asked about any more.
            occurrence.state = match occurrence.state {
                State::AwaitingAck { .. } => State::Dismissed { at },
                _ => State::Cancelled { at },
            };
            self.write.push(occurrence);
        }
        self.course.progress.series.carried_by = None;
        self.course.status = ReminderStatus::Cancelled;
        Ok(())
    }

    fn pause(&mut self) -> Result<(), Refused> {
        self.must_be(ReminderStatus::Active)?;
        for mut occurrence in std::mem::take(&mut self.open) {
            if occurrence.state.kind().is_to_come() {
                occurrence.state = State::Paused;
                occurrence.escalation = None;
                self.write.push(occurrence);
            } else {
                self.open.push(occurrence);
            }
        }
        self.course.status = ReminderStatus::Paused;
        Ok(())
    }

    fn resume(&mut self) -> Result<(), Refused> {
        self.must_be(ReminderStatus::Paused)?;
        self.course.status = ReminderStatus::Active;
        let recurring = self.reminder.schedule.is_recurring();
        for mut occurrence in std::mem::take(&mut self.open) {
            if occurrence.state != State::Paused {
                self.open.push(occurrence);
                continue;
            }
            let carries = self.course.progress.series.carried_by == Some(occurrence.id.run);
            if occurrence.due_at > self.now || !recurring {
                occurrence.state = State::Scheduled;
            } else {
                // A series that was stopped on purpose goes on with its next run, not with what it slept through.
                occurrence.state = State::Missed { at: self.now };
                if carries {
                    let Reminder { schedule, timezone, .. } = &self.reminder;
                    let is_last = self.course.is_counted_out(&self.reminder);
                    let next = schedule.next_after(timezone, self.now).filter(|_| !is_last);
                    self.plan(next);
                }
            }
            self.write.push(occurrence);
        }
        Ok(())
    }

    fn skip(&mut self) -> Result<(), Refused> {
        self.must_be(ReminderStatus::Active)?;
        if !self.reminder.schedule.is_recurring() {
            return Err(not_now("it has a single run; cancel it instead"));
        }
        let carrier = self.course.progress.series.carried_by;
        let Some(mut occurrence) = self.take(|o| Some(o.id.run) == carrier) else {
            return Err(not_now("no run is planned that could be skipped"));
        };
        if matches!(occurrence.state, State::Processing { .. }) {
            return Err(Refused::SendBegun);
        }
        if !matches!(occurrence.state, State::Scheduled | State::Waiting { .. }) {
            return Err(not_now("the next run is not planned yet"));
        }
        occurrence.state = State::Cancelled { at: self.now };
        self.go_on(&occurrence);
        self.write.push(occurrence);
        Ok(())
    }

    fn answer(&mut self, kind: &'static str, by: &By, state: State) -> Result<(), Refused> {
        let asked = self.take_asked().or_else(|| self.take_put_off()).or_else(|| self.take_unanswered());
        let Some(mut occurrence) = asked else {
            return Err(self.no_question());
        };
        occurrence.state = state.clone();
        self.respond(&occurrence, kind, by, None);
        // An interval counted from the answer goes on from here.
        self.go_on(&occurrence);
        self.write.push(occurrence);
        if self.reminder.escalates.is_some() {
            // Every run of a reminder in another's place asks the same, also one that was fired by hand.
            self.only_run = None;
            self.answer_as(kind, &state, false, by);
        }
        Ok(())
    }

    /// Takes the answer of somebody else who was asked. A run that has not reached its person is cancelled, unless it is the one that all of
    /// them were asked about (`is_own`).
    pub(super) fn answer_as(&mut self, kind: &'static str, state: &State, is_own: bool, by: &By) {
        for mut occurrence in std::mem::take(&mut self.open) {
            if self.only_run.is_some_and(|run| run != occurrence.id.run) {
                self.open.push(occurrence);
                continue;
            }
            if is_own || occurrence.tries.reached > 0 {
                occurrence.state = state.clone();
                self.respond(&occurrence, kind, by, None);
                self.go_on(&occurrence);
            } else {
                occurrence.state = State::Cancelled { at: self.now };
            }
            self.write.push(occurrence);
        }
        if self.write.is_empty()
            && let Some(mut late) = self.take_unanswered()
        {
            late.state = state.clone();
            self.respond(&late, kind, by, None);
            self.write.push(late);
        }
    }

    /// Ends the open runs because nobody has to be asked any more: those that have not reached their person, and the others if
    /// `also_reached`.
    pub(super) fn withdraw(&mut self, also_reached: bool) {
        let at = self.now;
        for mut occurrence in std::mem::take(&mut self.open) {
            occurrence.state = match occurrence.tries.reached {
                0 => State::Cancelled { at },
                _ if also_reached => State::Dismissed { at },
                _ => {
                    self.open.push(occurrence);
                    continue;
                }
            };
            self.write.push(occurrence);
        }
    }

    /// The existing runs that were changed.
    pub(super) fn written(&self) -> Vec<Occurrence> {
        self.write.clone()
    }

    pub(super) fn snooze(&mut self, until: Timestamp, by: &By) -> Result<(), Refused> {
        if !self.reminder.snooze_allowed {
            return Err(not_now("it cannot be put off: snooze_allowed is false"));
        }
        if self.course.status == ReminderStatus::Cancelled {
            return Err(not_now("it is cancelled"));
        }
        if until <= self.now {
            return Err(Invalid::new("until", "is not in the future").into());
        }
        if until.duration_since(self.now) > SNOOZE_MAX {
            return Err(Invalid::new("until", "is more than a year ahead; cancel it and make a new one").into());
        }
        let recently =
            |o: &Occurrence, now: Timestamp| matches!(o.state, State::Delivered { at } if is_within(at, now));
        let (now, only_run) = (self.now, self.only_run);
        let is_meant = |o: &Occurrence| only_run.is_none_or(|run| run == o.id.run);
        let delivered = |o: &mut Occurrence| is_meant(o) && recently(o, now);
        let occurrence = self
            .take_asked()
            .or_else(|| self.last_ended.take_if(delivered))
            .or_else(|| self.take(|o| o.state.kind().is_to_come() && is_meant(o)));
        let Some(mut occurrence) = occurrence else {
            if self.open.iter().any(|o| is_meant(o) && matches!(o.state, State::Processing { .. })) {
                return Err(Refused::SendBegun);
            }
            return Err(self.no_question());
        };
        let is_unmoved = occurrence.state == State::Scheduled && occurrence.moved_from().is_none();
        if is_unmoved && until <= occurrence.due_at {
            let problem = format!("is not after its next run at {}; a snooze puts off", occurrence.due_at);
            return Err(Invalid::new("until", problem).into());
        }
        // It may be sooner than an earlier snooze or the end of quiet hours, and never sooner than what was asked for at first.
        if until < occurrence.made_for {
            let problem =
                format!("is before the instant this run was made for, {}; a snooze puts off", occurrence.made_for);
            return Err(Invalid::new("until", problem).into());
        }
        if matches!(occurrence.state, State::Scheduled | State::Waiting { .. }) {
            // The series goes on where it would have: a snooze moves this run alone.
            self.go_on(&occurrence);
        }
        if self.course.status == ReminderStatus::Completed {
            self.course.status = ReminderStatus::Active;
        }
        if matches!(occurrence.state, State::Processing { .. }) {
            // It is being asked again just now. If that arrives, what is said later must not look like a repeat of it.
            occurrence.tries.reached += 1;
        }
        occurrence.due_at = until;
        occurrence.state = State::Snoozed;
        // The plan begins anew when it comes again.
        occurrence.escalation = None;
        occurrence.at_once = false;
        occurrence.tries = Tries { asks: 0, rounds: 0, position: 0, ..occurrence.tries };
        self.respond(&occurrence, "snooze", by, Some(until));
        self.write.push(occurrence);
        Ok(())
    }

    fn fire(&mut self) -> Result<(), Refused> {
        if self.course.status == ReminderStatus::Cancelled {
            return Err(not_now("it is cancelled"));
        }
        if self.reminder.escalates.is_some() && self.course.status == ReminderStatus::Completed {
            return Err(not_now("it asked in another's place, and that is over"));
        }
        let run = self.course.next_run(&self.reminder);
        self.insert.push(Occurrence { at_once: true, ..Occurrence::scheduled(run, self.now) });
        Ok(())
    }

    fn update(&mut self, patch: &Patch) -> Result<(), Refused> {
        if self.course.status == ReminderStatus::Cancelled {
            return Err(not_now("it is cancelled; make a new one"));
        }
        if patch.schedule.is_some() && self.reminder.escalates.is_some() {
            let problem = "cannot be changed: it asks about a run of another reminder; snooze it instead";
            return Err(Invalid::new("schedule", problem).into());
        }
        let recurring = self.reminder.schedule.is_recurring();
        // The instant of a single reminder is fixed; only a rule about local time moves with the zone.
        let replan = patch.schedule.is_some() || (patch.timezone.is_some() && recurring);
        let addresses = |reminder: &Reminder| (reminder.to.clone(), reminder.only);
        let before = addresses(&self.reminder);
        let escalated = self.reminder.escalate.clone();
        let tags = self.reminder.tags.clone();
        self.fields = patch.apply(&mut self.reminder);
        self.reminder.validate()?;
        if escalated != self.reminder.escalate {
            self.plan_escalations();
        }
        if replan {
            self.replan()?;
        }
        if before != addresses(&self.reminder) {
            self.readdress();
        }
        if tags != self.reminder.tags {
            self.unsilence();
        }
        Ok(())
    }

    /// Lets every open run forget what it knows of the old addresses.
    fn readdress(&mut self) {
        self.write.iter_mut().for_each(Occurrence::readdress);
        self.open.iter_mut().for_each(Occurrence::readdress);
    }

    /// Lets the runs that wait for an answer follow a changed plan, unless others have been asked already. A run that is just being sent
    /// goes on with the old one.
    fn plan_escalations(&mut self) {
        let first = escalate::steps(&self.reminder, &[]).first().map(|step| step.after);
        for occurrence in &mut self.open {
            let waits = matches!(occurrence.state, State::AwaitingAck { .. } | State::PendingRetry { .. });
            if waits && !matches!(occurrence.escalation, Some(Escalation::Asked { .. })) {
                let at = first.map(|after| later(occurrence.due_at, after).max(self.now));
                occurrence.escalation = at.map(|at| Escalation::Planned { at });
            }
        }
    }

    /// Looks again at every open run that waits because of a silence: that may not be for the new tags.
    fn unsilence(&mut self) {
        let ack_timeout = self.reminder.ack.as_ref().map(|ack| ack.timeout);
        for occurrence in self.open.iter_mut().filter(|o| o.state.waits_for() == Some(Why::Silenced)) {
            look_again(occurrence, ack_timeout, self.now);
        }
    }

    /// Plans the series anew from its changed rule. A run that is under way, or that its person has put off, stays.
    fn replan(&mut self) -> Result<(), Refused> {
        let reminder = &self.reminder;
        let Some(due_at) = reminder.schedule.first_after(&reminder.timezone, self.now) else {
            return Err(Invalid::new("schedule", "is never due: every instant of it has passed").into());
        };
        let recurring = reminder.schedule.is_recurring();
        let paused = self.course.status == ReminderStatus::Paused;
        let carrier = self.course.progress.series.carried_by;
        let planned = self.take(|o| {
            matches!(o.state, State::Unplanned { .. } | State::Scheduled | State::Waiting { .. } | State::Paused)
                && (carrier.is_none() || carrier == Some(o.id.run))
        });
        if let Some(mut occurrence) = planned {
            occurrence.due_at = due_at;
            occurrence.made_for = due_at;
            if occurrence.state != State::Paused {
                // Its old instant counts no more, and it waits for nothing.
                occurrence.state = State::Scheduled;
            }
            self.course.progress.series.carried_by = recurring.then_some(occurrence.id.run);
            self.write.push(occurrence);
        } else {
            let id = self.course.next_run(&self.reminder);
            self.course.progress.series.carried_by = recurring.then_some(id.run);
            let mut occurrence = Occurrence::scheduled(id, due_at);
            if paused {
                occurrence.state = State::Paused;
            } else {
                self.course.status = ReminderStatus::Active;
            }
            self.insert.push(occurrence);
        }
        // A changed rule counts its runs from here.
        self.course.progress.series.planned = 1;
        Ok(())
    }

    /// The writes: the runs that changed, and the reminder, which is over when no run of it is open.
    pub(super) fn writes(&mut self, by: &By) -> Writes {
        let mut writes = Writes::new(self.now);
        let shard = shard_of(&self.reminder.user);
        self.course.n_open = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        for occurrence in self.write.iter().chain(&self.insert) {
            self.course.n_open += u32::from(!occurrence.state.is_final());
        }
        // A run that was sent and has now ended, by an answer or with its reminder, is the last thing that became of it.
        if let Some(sent) = self.write.iter().rfind(|occurrence| occurrence.tries.reached > 0) {
            self.course.progress.tally.last_status = Some(sent.state.kind());
        }
        for mut occurrence in std::mem::take(&mut self.write) {
            if occurrence.state.is_final() {
                occurrence.escalation.take_if(|escalation| matches!(escalation, Escalation::Planned { .. }));
            }
            if occurrence.state.sending().is_some() {
                // Its node goes on with it.
                writes.occurrences.push(occurrence);
                continue;
            }
            // An answer can end a run that is just being sent once more. The result of that attempt will find no lease.
            let before = self.before.iter().find(|before| before.id == occurrence.id);
            if let Some(ended) = before.and_then(|before| cut_off(before, self.now)) {
                writes.entries.push(ended.entry_of_cut_off(Some(&self.reminder.user), self.now));
                writes.attempts.push(ended);
                writes.recalls = vec![self.reminder.id];
            }
            if matches!(occurrence.state, State::Missed { .. }) {
                let (with, n_also) = self.missed_with;
                let data = Data::Missed { runs: if occurrence.id.run == with { 1 + n_also } else { 1 } };
                writes.entries.push(self.entry(Kind::Missed, by, Some(occurrence.id.run), data));
            }
            writes.change(occurrence, shard);
        }
        for occurrence in std::mem::take(&mut self.insert) {
            writes.plan(occurrence, &self.reminder);
        }
        for occurrence in &self.open {
            let before = self.before.iter().find(|before| before.id == occurrence.id);
            match before.filter(|before| *before != occurrence) {
                Some(before) if before.wake_at() == occurrence.wake_at() => writes.occurrences.push(occurrence.clone()),
                Some(_) => {
                    writes.change(occurrence.clone(), shard);
                }
                None => {}
            }
        }
        writes.responses.append(&mut self.responses);
        self.course.complete();
        self.reminder.status = self.course.status;
        self.reminder.updated_at = self.now;
        writes.finish(self.reminder.id, self.course, Some(self.now));
        writes
    }

    /// The journal's entry for the command, which leads to these `writes`.
    pub(super) fn what_happened(&mut self, change: &Change, writes: &Writes) -> (Kind, Data) {
        match change.plain() {
            Change::Ack | Change::Snooze { .. } | Change::Dismiss => {
                (kind_of(change), writes.responses.first().map_or(Data::None, Data::of_answer))
            }
            Change::Cancel => (Kind::Cancelled, Data::Ended(std::mem::take(&mut self.ended))),
            other => (Kind::Changed, Data::Did { did: other.verb(), fields: std::mem::take(&mut self.fields) }),
        }
    }

    /// What the journal says of a run that ended, or was put off, along with another: by the same answer, or because there is nothing to ask
    /// any more.
    pub(super) fn entry_along(&self, run: OccurrenceId, change: &Change, writes: &Writes, by: &By) -> Entry {
        let (kind, data) = match writes.responses.iter().find(|response| response.occurrence == run) {
            Some(response) => (kind_of(change), Data::of_answer(response)),
            None => {
                let by_user = by.answers_as(&self.reminder.user).unwrap_or_default();
                (Kind::Cancelled, Data::Withdrawn { did: change.verb(), by_user })
            }
        };
        self.entry(kind, by, Some(run.run), data)
    }

    pub(super) fn entry(&self, kind: Kind, by: &By, run: Option<u32>, data: Data) -> Entry {
        let (user, reminder) = (Some(self.reminder.user.clone()), Some(self.reminder.id));
        Entry { at: self.now, kind, who: by.who.clone(), user, reminder, run, data }
    }

    /// Plans the next run if `occurrence` carries the series.
    fn go_on(&mut self, occurrence: &Occurrence) {
        self.insert.extend(self.course.go_on(&self.reminder, occurrence, occurrence.due_at, self.now));
    }

    fn plan(&mut self, next: Option<Timestamp>) {
        self.insert.extend(self.course.plan(&self.reminder, next));
    }

    fn respond(&mut self, occurrence: &Occurrence, kind: &'static str, by: &By, until: Option<Timestamp>) {
        self.responses.push(Response {
            occurrence: occurrence.id,
            kind,
            at: self.now,
            actor: by.who.name().to_owned(),
            until,
            snooze_minutes: until.map(|until| minutes_between(self.now, until)),
            user: by.answers_as(&self.reminder.user),
            said: by.said.clone(),
        });
    }

    /// The earliest occurrence whose person has been asked; also while it is being asked again.
    fn take_asked(&mut self) -> Option<Occurrence> {
        let wants_answer = self.reminder.ack.is_some();
        let only_run = self.only_run;
        self.take(|o| match o.state {
            _ if only_run.is_some_and(|run| run != o.id.run) => false,
            State::AwaitingAck { .. } => true,
            State::Processing { .. } | State::PendingRetry { .. } => wants_answer && o.tries.reached > 0,
            _ => false,
        })
    }

    /// The earliest occurrence whose person was asked and said "later": it may be done sooner.
    fn take_put_off(&mut self) -> Option<Occurrence> {
        let (wants_answer, only_run) = (self.reminder.ack.is_some(), self.only_run);
        self.take(|o| {
            let is_meant = only_run.is_none_or(|run| run == o.id.run);
            is_meant && wants_answer && o.state == State::Snoozed && o.tries.reached > 0
        })
    }

    /// The last occurrence that has ended, if nobody answered it in time: a late answer counts for a day.
    fn take_unanswered(&mut self) -> Option<Occurrence> {
        let (now, only_run) = (self.now, self.only_run);
        self.last_ended.take_if(|o| {
            let is_meant = only_run.is_none_or(|run| run == o.id.run);
            is_meant && matches!(o.state, State::Unanswered { at } if is_within(at, now))
        })
    }

    fn take(&mut self, wanted: impl Fn(&Occurrence) -> bool) -> Option<Occurrence> {
        let index = self.open.iter().position(wanted)?;
        Some(self.open.remove(index))
    }

    fn no_question(&self) -> Refused {
        if self.reminder.ack.is_none() {
            return not_now("it asks for no answer: require_ack is false");
        }
        if self.only_run.is_some() {
            return not_now("this run awaits no answer any more");
        }
        match &self.last_ended {
            Some(last) if self.open.is_empty() => {
                not_now(&format!("no answer is awaited; the last run is {}", last.state.kind()))
            }
            _ => not_now("no answer is awaited yet"),
        }
    }

    pub(super) fn must_be(&self, wanted: ReminderStatus) -> Result<(), Refused> {
        let status = self.course.status;
        if status == wanted { Ok(()) } else { Err(not_now(&format!("it is {status}, not {wanted}"))) }
    }
}

/// Whether a run that ended at `at` can still be put off or answered.
fn is_within(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) <= LATE_WINDOW
}

pub(super) fn not_now(why: &str) -> Refused {
    Refused::NotNow(why.to_owned())
}

fn set<T: Clone + PartialEq>(field: &mut T, value: &Option<T>) -> bool {
    let Some(value) = value.as_ref().filter(|value| **value != *field) else { return false };
    *field = value.clone();
    true
}

/// The kind of the entry that an answer is.
fn kind_of(answer: &Change) -> Kind {
    match answer.plain() {
        Change::Ack => Kind::Acknowledged,
        Change::Snooze { .. } => Kind::Snoozed,
        _ => Kind::Dismissed,
    }
}

/// How many minutes lie between, to the nearest: a few milliseconds pass between a request and its transaction.
fn minutes_between(now: Timestamp, until: Timestamp) -> u32 {
    let seconds = until.duration_since(now).as_secs().max(0);
    u32::try_from((seconds + 30) / 60).unwrap_or(u32::MAX)
}

/// The instant `minutes` from `now`, for a snooze.
pub fn snooze_until(now: Timestamp, minutes: u64) -> Timestamp {
    later(now, Duration::from_secs(minutes.saturating_mul(60)))
}
