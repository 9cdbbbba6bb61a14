//! What happens when an occurrence's moment comes, or has passed unnoticed.
//!
//! The moment is the due instant, the end of a retry delay, the end of the time given to answer, or the
//! end of a lease whose node died. [`on_wake`] says what it means now.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::occurrence::{Occurrence, State, Why};
use crate::quiet::holds_back;
use crate::reach::nobody;
use crate::reminder::{Address, MisfirePolicy, OnUnknown, Reminder, ReminderStatus};
use crate::rules::course::Series;
use crate::rules::first::first;
use crate::rules::route::next_address;
use crate::schedule::{Anchor, Rule, Schedule};
use crate::user::Person;

/// The most missed runs that are written down one by one; more are counted in the audit entry.
pub const MISSED_ROWS_MAX: usize = 1000;
/// How late a run may be before the `skip` policy calls it missed.
pub const SKIP_AFTER: SignedDuration = SignedDuration::from_secs(60);
/// How late a message may be before it says so.
pub const LATE_PREFIX_AFTER: SignedDuration = SignedDuration::from_hours(1);

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
        /// For the end of what.
        why: Why,
        /// The series goes on meanwhile, if this run carries it: each run that falls into quiet hours is told at their end.
        moves_on: bool,
        /// What to write down about it.
        detail: String,
    },
    /// Ask what became of what was sent to the address at this position of the route. That disturbs nobody.
    Follow {
        /// Which address.
        position: u32,
    },
    /// Change the occurrence without a send.
    End {
        /// The state it ends in; or that it is paused.
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
    /// All addresses to try, in order.
    pub route: &'a [Address],
    /// The channels on which a message that may have arrived is held by default.
    pub holding: &'a BTreeSet<String>,
    /// The present, which may be a little before the moment.
    pub now: Timestamp,
}

/// Decides what an occurrence's moment means.
pub fn on_wake(moment: &Moment<'_>) -> Wake {
    let Moment { reminder, series, occurrence, now, .. } = *moment;
    match &occurrence.state {
        State::Unplanned { asked } => {
            return match first(asked, &reminder.timezone, reminder.created_at) {
                Ok((schedule, due_at)) => Wake::Plan { schedule: Box::new(schedule), due_at },
                Err(invalid) => end(State::Failed { at: now, error: invalid.to_string() }),
            };
        }
        State::AwaitingAck { .. } => {
            let asks_max = reminder.ack.as_ref().map_or(0, |ack| ack.reminders_max);
            if occurrence.tries.asks > asks_max || reminder.status != ReminderStatus::Active {
                return end(State::Unanswered { at: now });
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
        // A run that waited was due at the end of the wait, so the wait itself does not make it late.
        State::Scheduled | State::Waiting { .. } => {
            if let Some(missed) = missed(reminder, series, occurrence, now) {
                return missed;
            }
        }
        _ => {}
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
        let (until, why) = holds_back(self.person, self.reminder, at)?;
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
        let mut detail = format!("until {until}; it was due at {}", occurrence.due_at);
        if why == Why::Paused && self.series.carried_by == Some(occurrence.id.run) {
            detail.push_str("; runs of the series until then are left out");
        }
        Some(Wake::Wait { state, due_at, why, moves_on: why == Why::Quiet, detail })
    }

    /// The position of the address whose platform has taken what was cut off, if it is still one of them.
    fn taken_at(&self) -> Option<u32> {
        let sending = self.occurrence.state.sending().filter(|sending| sending.message_id.is_some())?;
        let position = self.route.iter().position(|address| *address == sending.to)?;
        u32::try_from(position).ok()
    }

    /// Whether a send that was cut off is not repeated.
    fn is_held(&self) -> bool {
        match self.reminder.on_unknown {
            OnUnknown::Hold => true,
            OnUnknown::Resend => false,
            OnUnknown::Auto => {
                self.occurrence.state.sending().is_some_and(|sending| self.holding.contains(&sending.to.channel))
            }
        }
    }
}

/// The error of an attempt whose node died.
pub const CUT_OFF: &str = "cut off in flight";

fn end(state: State) -> Wake {
    Wake::End { state, also_missed: Vec::new(), n_more_missed: 0, next: None }
}

/// Applies the misfire policy to a run; `None` means: send it.
fn missed(reminder: &Reminder, series: &Series, occurrence: &Occurrence, now: Timestamp) -> Option<Wake> {
    let due_at = occurrence.due_at;
    let late = now.duration_since(due_at);
    if late <= SignedDuration::ZERO {
        return None;
    }
    // No later run can stand for one that somebody asked for by hand, or that is counted from an answer to come.
    let from_answer = match &reminder.schedule.rule {
        Rule::Interval { every, anchor: Anchor::Ack, .. } => Some(*every),
        _ => None,
    };
    let carries = series.carried_by == Some(occurrence.id.run);
    // A run that waited through quiet hours is one of the schedule, too, though the series has gone on without it.
    let waited = matches!(occurrence.state, State::Waiting { .. }) && reminder.schedule.is_recurring();
    let recurring = (carries || waited) && from_answer.is_none();
    let within = SignedDuration::try_from(reminder.misfire.within).unwrap_or(SignedDuration::MAX);
    match reminder.misfire.policy {
        MisfirePolicy::Skip if late <= SKIP_AFTER => return None,
        MisfirePolicy::Skip => {}
        // A single reminder is never skipped for being late: late is better than not at all.
        _ if !recurring => return None,
        MisfirePolicy::All if late <= within => return None,
        MisfirePolicy::All | MisfirePolicy::Latest => {}
    }

    if waited && !carries {
        // The run that carries the series stands for all later ones. Whether one of them is due is all that matters here.
        let later = series.carried_by.and_then(|_| reminder.schedule.next_after(&reminder.timezone, due_at));
        let is_replaced = reminder.misfire.policy == MisfirePolicy::Latest && later.is_some_and(|at| at <= now);
        let is_missed = is_replaced || late > within || reminder.misfire.policy == MisfirePolicy::Skip;
        return is_missed.then(|| end(State::Missed { at: now }));
    }

    // Only so many runs are left to be missed.
    let n_left = reminder.schedule.count.map(|count| count.saturating_sub(series.planned));
    let until = match n_left {
        Some(n_left) if recurring => reminder.schedule.nth_after(&reminder.timezone, due_at, n_left).min(now),
        _ if recurring => now,
        _ => due_at,
    };
    let later_runs = reminder.schedule.latest_between(&reminder.timezone, due_at, until, MISSED_ROWS_MAX);
    let mut also_missed = later_runs.instants;
    let total = later_runs.total;
    if reminder.misfire.policy == MisfirePolicy::Latest && also_missed.is_empty() && late <= within {
        return None;
    }
    let is_recent = |at: &Timestamp| now.duration_since(*at) <= within;
    let n_listed = also_missed.len();
    let delivered_late = match reminder.misfire.policy {
        MisfirePolicy::Latest => also_missed.pop_if(|at| is_recent(at)),
        MisfirePolicy::All => also_missed.iter().position(is_recent).map(|first| {
            let at = also_missed[first];
            also_missed.truncate(first);
            at
        }),
        MisfirePolicy::Skip => None,
    };
    let next = delivered_late.or_else(|| match from_answer {
        Some(every) => reminder.schedule.after_answer(&reminder.timezone, every, now),
        None => reminder.schedule.next_after(&reminder.timezone, now),
    });
    Some(Wake::End {
        state: State::Missed { at: now },
        also_missed,
        n_more_missed: total.saturating_sub(n_listed),
        next,
    })
}

/// The message as it is sent at `sent_at`: with a prefix when it is over an hour late.
pub fn text(reminder: &Reminder, due_at: Timestamp, sent_at: Timestamp) -> String {
    let late = sent_at.duration_since(due_at);
    if late <= LATE_PREFIX_AFTER {
        return reminder.message.clone();
    }
    format!("[Late {}] {}", crate::span::late(late.unsigned_abs()), reminder.message)
}
