//! When further people are asked because nobody answers, and who.
//!
//! A plan counts from the moment at which the person was told, or was to be told: quiet hours and a snooze move it along. Who cannot be
//! reached is followed like somebody who is silent.

mod words;

use std::time::Duration;

use jiff::Timestamp;

pub use self::words::Cause;
pub(crate) use self::words::{Told, answered, asks};
use crate::clock::later;
use crate::group::{Group, Mode};
use crate::model::step::{Step, Target};
use crate::occurrence::{Escalation, Occurrence, State};
use crate::reminder::{AckPolicy, Reminder};
use crate::user::Person;

/// What `created_via` says of a reminder for somebody who is asked in another's place.
pub const VIA: &str = "escalation";
/// The most people that one run is taken to.
pub const PEOPLE_MAX: usize = 64;

/// The plan for the runs of a reminder: its own, else its person's. None without a question, and none for somebody who is asked in
/// another's place: that would never end.
pub fn steps<'a>(reminder: &'a Reminder, of_person: &'a [Step]) -> &'a [Step] {
    if reminder.ack.is_none() || reminder.escalates.is_some() {
        &[]
    } else if reminder.escalate.is_empty() {
        of_person
    } else {
        &reminder.escalate
    }
}

/// When the first step of a run is, if its person is told at `told_at`.
pub fn begins_at(reminder: &Reminder, person: &Person, told_at: Timestamp) -> Option<Timestamp> {
    steps(reminder, &person.escalate).first().map(|first| later(told_at, first.after))
}

/// Who is asked when by the `steps` of a plan whose first is at `at`: a group is named as a whole.
pub fn next_asked(steps: &[Step], at: Timestamp) -> impl Iterator<Item = (Timestamp, &Target)> {
    let first = steps.first().map_or(Duration::ZERO, |step| step.after);
    steps.iter().map(move |step| (later(at, step.after.saturating_sub(first)), &step.to))
}

/// How long one person is asked before they count as silent.
pub fn asking_for(ack: &AckPolicy) -> Duration {
    ack.timeout.saturating_mul(ack.reminders_max.saturating_add(1))
}

/// The escalation of a run that is leased at `now`: a run that is about to be told for the first time, or again after a snooze, begins a
/// plan; one that is tried or asked again goes on with its own.
pub(crate) fn planned(
    occurrence: &Occurrence,
    reminder: &Reminder,
    person: &Person,
    now: Timestamp,
) -> Option<Escalation> {
    match occurrence.state {
        // A run that was missed for hours is counted from when its person hears of it.
        State::Scheduled | State::Waiting { .. } | State::Snoozed => {
            begins_at(reminder, person, occurrence.due_at.max(now)).map(|at| Escalation::Planned { at })
        }
        _ => occurrence.escalation,
    }
}

/// When further people are to be asked because of a moment that has come at `now`, if it is theirs.
pub(crate) fn due_at(occurrence: &Occurrence, now: Timestamp) -> Option<Timestamp> {
    let (State::AwaitingAck { .. } | State::PendingRetry { .. }, Some(Escalation::Planned { at })) =
        (&occurrence.state, occurrence.escalation)
    else {
        return None;
    };
    let is_first = occurrence.state.wake_at(occurrence.due_at).is_some_and(|own_at| at < own_at);
    (at <= now || is_first).then_some(at)
}

/// Until when a run whose person has been asked in vain stays open because others are asked, or are to be.
pub(crate) fn open_until(occurrence: &Occurrence, now: Timestamp) -> Option<Timestamp> {
    occurrence.escalation.map(Escalation::kept_at).filter(|at| *at > now)
}

/// Whom a plan asks, each with how long after its begin: a group in order has one member more each time that its reminder waits for an
/// answer. Each person is asked once, at their first place, and the reminder's own never.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The people, in order.
    pub people: Vec<(Duration, String)>,
    /// The groups that there are not, or in which nobody is on duty.
    pub unknown: Vec<String>,
}

/// Who is asked by `steps` when nobody answers a run of `reminder`, whose first step is at `at`.
pub fn asked(reminder: &Reminder, steps: &[Step], groups: &[Group], at: Timestamp) -> Asked {
    let timeout = reminder.ack.as_ref().map_or(Duration::ZERO, |ack| ack.timeout);
    let mut asked = Asked::default();
    let first = steps.first().map_or(Duration::ZERO, |step| step.after);
    for Step { after, to } in steps {
        match to {
            Target::User(user) => {
                asked.add(*after, user, reminder);
            }
            Target::Group(name) => {
                let Some(group) = groups.iter().find(|group| group.name == *name) else {
                    asked.unknown.push(to.to_string());
                    continue;
                };
                let mut place = *after;
                let people = group.people_at(later(at, after.saturating_sub(first)));
                if people.is_empty() {
                    asked.unknown.push(format!("{to}: nobody is on duty"));
                }
                for user in people {
                    if asked.add(place, user, reminder) && group.mode == Mode::InOrder {
                        place = place.saturating_add(timeout);
                    }
                }
            }
        }
    }
    asked.people.sort_by_key(|(after, _)| *after);
    asked
}

impl Asked {
    /// Adds a person, unless they are asked already; returns whether they were added.
    fn add(&mut self, after: Duration, user: &str, reminder: &Reminder) -> bool {
        let is_there = self.people.iter().any(|(_, other)| other == user);
        let is_new = user != reminder.user && !is_there && self.people.len() < PEOPLE_MAX;
        if is_new {
            self.people.push((after, user.to_owned()));
        }
        is_new
    }
}
