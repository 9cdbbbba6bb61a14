//! What happens when an occurrence's moment comes, or has passed unnoticed.
//!
//! The moment is the due instant, the end of a retry delay, the end of the time given to answer, or the
//! end of a lease whose node died. [`on_wake`] says what it means now.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::occurrence::{Occurrence, State, Why};
use crate::quiet::must_wait;
use crate::reach::nobody;
use crate::reminder::{Address, Reminder, ReminderStatus};
use crate::rules::course::Series;
use crate::rules::cut_off::CUT_OFF;
use crate::rules::escalate;
use crate::rules::first::first;
use crate::rules::misfire::missed;
use crate::rules::route::next_address;
use crate::schedule::Schedule;
use crate::silence::Silences;
use crate::user::Person;

/// How late a message may be before it says so.
pub const LATE_PREFIX_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// How soon a run is looked at again that waits for its event to be planned.
const PLANNED_WITHIN: SignedDuration = SignedDuration::from_secs(1);

/// What a moment means.
#[derive(Debug, Clone, PartialEq)]
pub enum Wake {
    /// It was asked for in SQL, and is planned now.
    Plan {
        /// What its reminder's schedule is.
        schedule: Box<Schedule>,
        /// When it is first due.
        due_at: Timestamp,
    },
    /// Send, to the address at this position of the route.
    Send {
        /// Which address.
        position: u32,
    },
    /// Its person must not be disturbed: it waits.
    Wait {
        /// Its state until then.
        state: State,
        /// When it is due now.
        due_at: Timestamp,
        /// When it would have been sent,
        at: Timestamp,
        /// and for the end of what it waits.
        why: Why,
        /// The series goes on meanwhile, if this run carries it: each run that falls into quiet hours is told at their end.
        moves_on: bool,
        /// Until when.
        until: Timestamp,
        /// Runs of the series until then are left out.
        series_waits: bool,
    },
    /// Ask what became of what was sent to the address at this position of the route. That disturbs nobody.
    Follow {
        /// Which address.
        position: u32,
    },
    /// Ask further people, because nobody has answered; nobody if the reminder is paused. The run stays as it is.
    Escalate {
        /// When the first of them is asked.
        at: Timestamp,
    },
    /// Change the occurrence without a send.
    End {
        /// The state it ends in; or that it is paused, or waits for the answers of others.
        state: State,
        /// Later runs that were missed as well, oldest first.
        also_missed: Vec<Timestamp>,
        /// Missed runs too many to write down one by one.
        n_more_missed: usize,
        /// The run with which the series goes on, if this ending moves it on.
        next: Option<Timestamp>,
    },
}

/// An occurrence whose moment has come, with all that decides what it means.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Its reminder.
    pub reminder: &'a Reminder,
    /// Where the series stands.
    pub series: &'a Series,
    /// The occurrence.
    pub occurrence: &'a Occurrence,
    /// The person it is for.
    pub person: &'a Person,
    /// The silences that may concern it.
    pub silences: &'a Silences,
    /// All addresses to try, in order.
    pub route: &'a [Address],
    /// The channels on which a message that may have arrived is held by default.
    pub holding: &'a BTreeSet<String>,
    /// It belongs to an event that has changed and is still to be planned.
    pub is_unplanned: bool,
    /// The present, which may be a little before the moment.
    pub now: Timestamp,
}

/// Decides what an occurrence's moment means.
pub fn on_wake(moment: &Moment<'_>) -> Wake {
    let Moment { reminder, series, occurrence, now, .. } = *moment;
    let is_active = reminder.status == ReminderStatus::Active;
    if let Some(at) = escalate::due_at(occurrence, now) {
        return Wake::Escalate { at };
    }
    match &occurrence.state {
        State::Unplanned { asked } => {
            return match first(asked, &reminder.timezone, reminder.created_at) {
                Ok((schedule, due_at)) => Wake::Plan { schedule: Box::new(schedule), due_at },
                Err(invalid) => end(State::Failed { at: now, error: invalid.to_string() }),
            };
        }
        State::AwaitingAck { delivered_at, .. } => {
            let asks_max = reminder.ack.as_ref().map_or(0, |ack| ack.reminders_max);
            if occurrence.tries.asks > asks_max || !is_active {
                let others = escalate::open_until(occurrence, now).filter(|_| is_active);
                return end(others.map_or(State::Unanswered { at: now }, |ask_again_at| State::AwaitingAck {
                    delivered_at: *delivered_at,
                    ask_again_at,
                    waits_for: None,
                }));
            }
        }
        // A message that the platform took can be asked about, which is better than to send it again, and than to give it up.
        State::Processing { .. } if let Some(position) = moment.taken_at() => return Wake::Follow { position },
        // Before it is due no send has begun, so there is nothing unknown about it.
        State::Processing { .. } if now >= occurrence.due_at && moment.is_held() => {
            let error = "held, because the send was cut off in flight and it may have arrived".to_owned();
            return end(State::Failed { at: now, error });
        }
        // It was paused while an attempt was under way, which then failed.
        State::PendingRetry { .. } if reminder.status == ReminderStatus::Paused => return end(State::Paused),
        State::Scheduled | State::Waiting { .. } if moment.is_unplanned => return moment.wait_for_event(),
        // A run that waited was due at the end of the wait, so the wait itself does not make it late.
        State::Scheduled | State::Waiting { .. } => {
            if let Some(missed) = missed(reminder, series, occurrence, now) {
                return missed;
            }
        }
        _ => {}
    }
    if moment.is_unplanned {
        return moment.wait_for_event();
    }
    let n_addresses = moment.route.len() as u32;
    let tries = &occurrence.tries;
    let position = next_address(tries.refused, tries.position, n_addresses)
        .or_else(|| next_address(tries.refused, 0, n_addresses));
    match position {
        Some(position) => moment.wait().unwrap_or(Wake::Send { position }),
        None if moment.route.is_empty() => end(State::Failed { at: now, error: nobody(&reminder.user) }),
        None => end(State::Failed { at: now, error: "every address has refused it".into() }),
    }
}

/// A run whose person's addresses cannot be read, as `error` says, fails at its moment, and its series goes on.
pub fn unreachable(error: String, now: Timestamp) -> Wake {
    end(State::Failed { at: now, error })
}

impl Moment<'_> {
    /// The wait of a run whose person must not be disturbed at the moment of the send, which may be a little ahead.
    fn wait(&self) -> Option<Wake> {
        let occurrence = self.occurrence;
        if occurrence.at_once && occurrence.tries.reached == 0 {
            return None;
        }
        let wake_at = occurrence.state.wake_at(occurrence.due_at).unwrap_or(self.now);
        let at = self.now.max(occurrence.due_at).max(wake_at);
        let (until, why) = must_wait(self.person, self.silences, self.reminder, at)?;
        let waits_for = Some(why);
        let retry = |error: &str| State::PendingRetry { retry_at: until, error: error.to_owned(), waits_for };
        let (state, due_at) = match &occurrence.state {
            State::PendingRetry { error, .. } => (retry(error), occurrence.due_at),
            State::Processing { .. } => (retry(CUT_OFF), occurrence.due_at),
            State::AwaitingAck { delivered_at, .. } => {
                let asked = State::AwaitingAck { delivered_at: *delivered_at, ask_again_at: until, waits_for };
                (asked, occurrence.due_at)
            }
            _ => (State::Waiting { why, from: occurrence.due_at }, until),
        };
        let series_waits = why != Why::Quiet && self.series.is_carried_by(occurrence.id.run);
        Some(Wake::Wait { state, due_at, at, why, moves_on: why == Why::Quiet, until, series_waits })
    }

    /// The wait of a run whose event is planned anew in a moment. The planner ends it; if none does, it is looked at again soon.
    fn wait_for_event(&self) -> Wake {
        let occurrence = self.occurrence;
        let wake_at = occurrence.state.wake_at(occurrence.due_at).unwrap_or(self.now);
        let at = self.now.max(wake_at);
        let (until, waits_for) = (at.saturating_add(PLANNED_WITHIN).unwrap_or(at), Some(Why::Event));
        let (state, due_at) = match &occurrence.state {
            State::PendingRetry { error, .. } => {
                (State::PendingRetry { retry_at: until, error: error.clone(), waits_for }, occurrence.due_at)
            }
            State::Processing { .. } => {
                (State::PendingRetry { retry_at: until, error: CUT_OFF.to_owned(), waits_for }, occurrence.due_at)
            }
            State::AwaitingAck { delivered_at, .. } => {
                let asked = State::AwaitingAck { delivered_at: *delivered_at, ask_again_at: until, waits_for };
                (asked, occurrence.due_at)
            }
            State::Scheduled => (State::Waiting { why: Why::Event, from: occurrence.due_at }, until),
            other => (other.clone(), until),
        };
        Wake::Wait { state, due_at, at, why: Why::Event, moves_on: false, until, series_waits: false }
    }

    /// The position of the address whose platform has taken what was cut off, if it is still one of them.
    fn taken_at(&self) -> Option<u32> {
        let sending = self.occurrence.state.sending().filter(|sending| sending.message_id.is_some())?;
        let position = self.route.iter().position(|address| *address == sending.to)?;
        u32::try_from(position).ok()
    }

    /// Whether a send that was cut off is not repeated.
    fn is_held(&self) -> bool {
        let sending = self.occurrence.state.sending();
        self.reminder.on_unknown.holds(sending.is_some_and(|sending| self.holding.contains(&sending.to.channel)))
    }
}

pub(crate) fn end(state: State) -> Wake {
    Wake::End { state, also_missed: Vec::new(), n_more_missed: 0, next: None }
}

/// The message as it is sent at `sent_at`: with a prefix when it is over an hour late.
pub fn text(reminder: &Reminder, due_at: Timestamp, sent_at: Timestamp) -> String {
    let late = sent_at.duration_since(due_at);
    if late <= LATE_PREFIX_AFTER {
        return reminder.message.clone();
    }
    format!("[Late {}] {}", crate::span::late(late.unsigned_abs()), reminder.message)
}
