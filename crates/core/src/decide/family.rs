//! An answer and all who were asked: what becomes of the others' reminders when one of them does something.
//!
//! A run that nobody answered has a family: its own reminder and those of the people who were asked in turn, each tied to it by
//! [`Reminder::escalates`]. An answer by anyone is an answer to all of them. A store loads the family that [`family_of`] names in the
//! transaction of the command, and writes what is decided here with it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::json;

use super::change::{Change, Loaded, Refused, Work};
use crate::answer::Verb;
use crate::escalate::{Told, answered};
use crate::id::{OccurrenceId, ReminderId};
use crate::journal::Who;
use crate::occurrence::{Occurrence, State};
use crate::phrase::Lang;
use crate::quiet::zone_of;
use crate::reminder::{Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use crate::rules::course::Progress;
use crate::schedule::{Rule, Schedule};
use crate::store::{By, Came, NewReminder, Said};
use crate::user::Person;
use crate::writes::Writes;

/// What `created_via` says of a reminder that tells somebody what another has answered.
pub const VIA: &str = "relay";
/// How often a relay is tried again.
const RETRIES_MAX: u32 = 3;

/// The family that a command concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// The reminder whose runs the others were asked about. It belongs to the family, too.
    pub root: ReminderId,
    /// Those who were asked about these runs; `None`: about whichever run, if they may still be asked.
    pub runs: Option<Vec<u32>>,
}

impl Family {
    /// Whether a reminder belongs to the family.
    pub fn has(&self, reminder: &Reminder) -> bool {
        let is_meant = |about: OccurrenceId| match &self.runs {
            _ if about.reminder != self.root => false,
            Some(runs) => runs.contains(&about.run),
            None => may_be_asked(reminder.status),
        };
        reminder.id == self.root || reminder.escalates.is_some_and(is_meant)
    }

    /// The run of a member that the family is about: of the root the run that nobody answered, of the others their only one.
    pub fn run_of(&self, member: ReminderId) -> u32 {
        let of_root = self.runs.as_ref().and_then(|runs| runs.first()).copied();
        of_root.filter(|_| member == self.root).unwrap_or(1)
    }
}

/// Whether the person of an escalation in this status may still be asked. One that is paused is asked when it is resumed.
pub fn may_be_asked(status: ReminderStatus) -> bool {
    match status {
        ReminderStatus::Active | ReminderStatus::Paused => true,
        ReminderStatus::Completed | ReminderStatus::Cancelled => false,
    }
}

/// A reminder of the family, other than the one that the command names.
#[derive(Debug, Clone)]
pub struct Kin {
    /// The reminder.
    pub reminder: Reminder,
    /// Its series and tally.
    pub progress: Progress,
    /// Its occurrences that have not ended, by run.
    pub open: Vec<Occurrence>,
    /// The run that the family is about ([`Family::run_of`]), if it has ended.
    pub last_ended: Option<Occurrence>,
    /// The person it is for.
    pub person: Person,
}

/// The family that `change` of `loaded` concerns.
///
/// A run does not say whether others are asked about it: a snooze or a pause begins its plan anew, and somebody who was asked before may be
/// asked still.
pub fn family_of(loaded: &Loaded, change: &Change) -> Option<Family> {
    let Loaded { reminder, open, last_ended, has_kin, .. } = loaded;
    match (change.plain(), reminder.escalates) {
        (Change::Ack | Change::Dismiss | Change::Snooze { .. }, Some(about)) => {
            Some(Family { root: about.reminder, runs: Some(vec![about.run]) })
        }
        (_, None) if !has_kin => None,
        (Change::Ack | Change::Dismiss | Change::Snooze { .. }, None) => {
            let runs = open.iter().chain(last_ended).map(|run| run.id.run).collect();
            Some(Family { root: reminder.id, runs: Some(runs) })
        }
        (Change::Cancel | Change::Pause, None) => Some(Family { root: reminder.id, runs: None }),
        // A person who cancels a question that they were asked in another's place ends that question alone.
        _ => None,
    }
}

/// Refuses a cancel while somebody else is just being asked: what is being sent cannot be taken back.
pub(super) fn may_cancel(family: &[Kin]) -> Result<(), Refused> {
    let is_sending = |kin: &&Kin| kin.open.iter().any(|run| run.state.sending().is_some());
    let begun: Vec<ReminderId> = family.iter().filter(is_sending).map(|kin| kin.reminder.id).collect();
    if begun.is_empty() { Ok(()) } else { Err(Refused::OtherBegun(begun)) }
}

/// What `change` of `named`, which was about `run`, does to the family.
pub(super) fn spread(
    mut family: Vec<Kin>,
    named: &Reminder,
    run: Option<OccurrenceId>,
    change: &Change,
    by: &By,
) -> Writes {
    let mut writes = Writes::new(by.now);
    let about = named.escalates.or(run);
    let did = match change.plain() {
        Change::Ack => Did::Answered(Verb::Ack, State::Completed { at: by.now }, Told::Done),
        Change::Dismiss => Did::Answered(Verb::Dismiss, State::Dismissed { at: by.now }, Told::Dismissed),
        Change::Snooze { until } => Did::Snoozed(*until),
        Change::Cancel => Did::Cancelled,
        Change::Pause => Did::Paused,
        _ => return writes,
    };
    let who = by.answers_as(&named.user);
    // The run that all were asked about comes first.
    family.sort_by_key(|kin| kin.reminder.escalates.is_some());
    let root = family.first().filter(|kin| kin.reminder.escalates.is_none());
    if matches!(did, Did::Snoozed(_)) && named.escalates.is_some() && root.is_none() {
        return writes;
    }
    // A relay quotes the message that the question was about, and not the question.
    let quoted = root.map_or(&named.message, |root| &root.reminder.message).clone();
    // The words were the answerer's.
    let by = &By { user: who.clone(), said: Said::default(), repeat: None, came: Came::default(), ..by.clone() };
    let mut told = who.into_iter().collect();
    for kin in family {
        let is_meant = match did {
            Did::Cancelled | Did::Paused => true,
            Did::Answered(..) | Did::Snoozed(_) => {
                kin.reminder.escalates == about || about.is_some_and(|run| run.reminder == kin.reminder.id)
            }
        };
        if !is_meant {
            continue;
        }
        let is_root = kin.reminder.escalates.is_none();
        match kin.follow(about, &did, &quoted, change, by, &mut told) {
            Some(followed) => writes.add(followed),
            // The run itself has ended, or is just being sent for the first time. Then a snooze must not end the asking of the others: only
            // who said it is asked later.
            None if is_root && matches!(did, Did::Snoozed(_)) => break,
            None => {}
        }
    }
    writes
}

/// What somebody did about a run that others were asked about as well.
enum Did {
    /// They answered: what, the state that follows, and what the others read.
    Answered(Verb, State, Told),
    Snoozed(Timestamp),
    Cancelled,
    Paused,
}

impl Kin {
    /// Lets this reminder follow what another of its family did, and tells its person unless they were `told`; `None` if nothing of it changes.
    fn follow(
        self,
        about: Option<OccurrenceId>,
        did: &Did,
        quoted: &str,
        change: &Change,
        by: &By,
        told: &mut BTreeSet<String>,
    ) -> Option<Writes> {
        let Self { reminder, progress, open, last_ended, person } = self;
        let is_root = about.is_some_and(|run| run.reminder == reminder.id);
        let mut work = Work::new(reminder, progress, open, last_ended, by.now);
        work.only_run = about.filter(|_| is_root).map(|run| run.run);
        match did {
            Did::Answered(verb, state, _) => work.answer_as(*verb, state, is_root, by),
            // The run may refuse the snooze: then its person is asked on.
            Did::Snoozed(until) if is_root => drop(work.snooze(*until, by)),
            Did::Snoozed(_) | Did::Cancelled => work.withdraw(true),
            Did::Paused => work.withdraw(false),
        }
        let written = work.written();
        if written.is_empty() {
            return None;
        }
        let mut writes = work.writes(by);
        for run in &written {
            writes.entries.push(work.entry_along(run.id, change, &writes, by));
        }
        let said = match did {
            Did::Answered(_, _, said) => Some(*said),
            Did::Snoozed(until) => Some(Told::Snoozed { until: *until }),
            Did::Cancelled => Some(Told::Cancelled),
            Did::Paused => None,
        };
        let asked = Reminder { message: quoted.to_owned(), ..work.reminder.clone() };
        let reached = written.iter().find(|run| run.tries.reached > 0);
        if let (Some(said), Some(run)) = (said, reached)
            && told.insert(asked.user.clone())
        {
            writes.create(vec![relay(&asked, &person, run.id, said, by)], &Who::ENGINE);
        }
        Some(writes)
    }
}

/// The reminder that tells the person of `reminder`, who was asked in `run`, what another has answered.
fn relay(reminder: &Reminder, person: &Person, run: OccurrenceId, said: Told, by: &By) -> NewReminder {
    let who = by.answers_as(&reminder.user);
    let key = format!("{run} {}", by.now.as_microsecond());
    let zone = zone_of(person, reminder);
    let message =
        answered(person.language.unwrap_or(Lang::En), said, who.as_deref(), &reminder.message, by.now, zone.rules());
    let about = json!({ "news": "answered", "occurrence_id": run.to_string(), "reminder_id": reminder.id.to_string(), "user": who });
    let metadata = serde_json::Map::from_iter([("about".to_owned(), about)]);
    let reminder = Reminder {
        id: ReminderId::imported(VIA, &key, by.now),
        user: reminder.user.clone(),
        name: None,
        message,
        schedule: Schedule::new(Rule::Once { at: by.now }),
        timezone: zone.clone(),
        priority: Priority::Normal,
        ack: None,
        escalate: Vec::new(),
        escalates: None,
        event: None,
        snooze_allowed: false,
        retries_max: RETRIES_MAX,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Auto,
        created_via: VIA.to_owned(),
        original_text: None,
        metadata: Metadata::new(&metadata),
        tags: Vec::new(),
        status: ReminderStatus::Active,
        created_at: by.now,
        updated_at: by.now,
        // Where they were asked.
        ..reminder.clone()
    };
    NewReminder { reminder, first_due_at: by.now }
}
