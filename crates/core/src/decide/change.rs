//! What a command changes.
//!
//! A store loads a reminder with its open occurrences, calls [`changed`] inside its transaction and writes what comes
//! back. So every command is decided in one place, whatever the database.

use jiff::Timestamp;

pub use super::answer::snooze_until;
pub(crate) use super::answer::{LATE_WINDOW, SNOOZE_MAX};
use super::family::{self, Kin};
pub use super::resend::Resend;
pub use super::undo::{Cancelled, followed};
pub use super::update::Patch;
use crate::answer::Verb;
use crate::id::{OccurrenceId, ReminderId};
use crate::invalid::Invalid;
use crate::journal::{Data, Ended, Entry, Kind};
use crate::model::version::Version;
use crate::occurrence::{Attempt, Escalation, Occurrence, State, StateKind};
use crate::reminder::{Reminder, ReminderStatus};
use crate::rules::course::{Course, Progress};
use crate::rules::cut_off::cut_off;
use crate::shard::shard_of;
use crate::store::{By, Response};
use crate::writes::{Marked, Writes};

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
        Change::Ack => work.answer(Verb::Ack, by, State::Completed { at: now })?,
        Change::Dismiss => work.answer(Verb::Dismiss, by, State::Dismissed { at: now })?,
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
    pub(super) open: Vec<Occurrence>,
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
    pub(super) responses: Vec<Response>,
    /// The reminder's fields that were changed.
    pub(super) fields: Vec<&'static str>,
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
        let n_open = u32::try_from(open.len()).ok();
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
            if occurrence.due_at > self.now || !recurring {
                occurrence.state = State::Scheduled;
            } else {
                // A series that was stopped on purpose goes on with its next run, not with what it slept through.
                occurrence.state = State::Missed { at: self.now };
                self.course.count_unsent(StateKind::Missed);
                if self.course.is_carried_by(occurrence.id.run) {
                    let next = self.course.next_from(&self.reminder, self.now);
                    self.insert.extend(self.course.plan(&self.reminder, next));
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
        let series = self.course.progress.series;
        let Some(mut occurrence) = self.take(|o| series.is_carried_by(o.id.run)) else {
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

    /// The writes: the runs that changed, and the reminder, which is over when no run of it is open.
    pub(super) fn writes(&mut self, by: &By) -> Writes {
        let mut writes = Writes::new(self.now);
        let shard = shard_of(&self.reminder.user);
        let also_open = self.write.iter().chain(&self.insert).filter(|occurrence| !occurrence.state.is_final());
        self.course.n_open = u32::try_from(self.open.len() + also_open.count()).ok();
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
    pub(super) fn go_on(&mut self, occurrence: &Occurrence) {
        let Occurrence { id, due_at, state, .. } = occurrence;
        self.insert.extend(self.course.go_on(&self.reminder, id.run, *due_at, state, self.now));
    }

    pub(super) fn take(&mut self, wanted: impl Fn(&Occurrence) -> bool) -> Option<Occurrence> {
        let index = self.open.iter().position(wanted)?;
        Some(self.open.remove(index))
    }

    pub(super) fn must_be(&self, wanted: ReminderStatus) -> Result<(), Refused> {
        let status = self.course.status;
        if status == wanted { Ok(()) } else { Err(not_now(&format!("it is {status}, not {wanted}"))) }
    }
}

pub(super) fn not_now(why: &str) -> Refused {
    Refused::NotNow(why.to_owned())
}

/// The kind of the entry that an answer is.
fn kind_of(answer: &Change) -> Kind {
    match answer.plain() {
        Change::Ack => Kind::Acknowledged,
        Change::Snooze { .. } => Kind::Snoozed,
        _ => Kind::Dismissed,
    }
}
