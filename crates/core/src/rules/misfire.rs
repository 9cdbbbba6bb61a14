//! Which runs were missed while nothing ran, and which of them are delivered late.

use jiff::{SignedDuration, Timestamp};

use super::wake::{Wake, end};
use crate::occurrence::{Occurrence, State};
use crate::reminder::{MisfirePolicy, Reminder};
use crate::rules::course::Series;
use crate::schedule::{Anchor, Missed, Rule};

/// The most missed runs that are written down one by one; more are counted in the journal's entry.
pub const MISSED_ROWS_MAX: usize = 1000;
/// How late a run may be before the `skip` policy calls it missed.
pub const SKIP_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// Applies the misfire policy to a run; `None` means: send it.
pub(crate) fn missed(reminder: &Reminder, series: &Series, occurrence: &Occurrence, now: Timestamp) -> Option<Wake> {
    let due_at = occurrence.due_at;
    let late = now.duration_since(due_at);
    if late <= SignedDuration::ZERO {
        return None;
    }
    // No later run can stand for one that somebody asked for by hand, or that is counted from an answer to come.
    let from_answer = is_counted_from_answers(reminder);
    let carries = series.carried_by == Some(occurrence.id.run);
    // A run that waited through quiet hours is one of the schedule, too, though the series has gone on without it.
    let waited = matches!(occurrence.state, State::Waiting { .. }) && reminder.schedule.is_recurring();
    let recurring = (carries || waited) && !from_answer;
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

    let Missed { instants: mut also_missed, total, .. } = later_runs(reminder, series, due_at, recurring, now);
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
    let next = delivered_late.or_else(|| next_after(reminder, now));
    Some(Wake::End {
        state: State::Missed { at: now },
        also_missed,
        n_more_missed: total.saturating_sub(n_listed),
        next,
    })
}

/// The runs that a series missed because nothing was to be sent until `now`, and with which it goes on.
#[derive(Debug)]
pub(crate) struct Gap {
    /// The runs after the first, oldest first.
    pub(crate) missed: Vec<Timestamp>,
    /// Runs too many to write down one by one.
    pub(crate) n_more: usize,
    /// The run with which it goes on.
    pub(crate) next: Option<Timestamp>,
}

/// What a series missed until `now` when its run due at `due_at` is the first that it missed, and none is delivered late.
pub(crate) fn gap(reminder: &Reminder, series: &Series, due_at: Timestamp, now: Timestamp) -> Gap {
    let recurring = !is_counted_from_answers(reminder);
    let Missed { instants: missed, total, .. } = later_runs(reminder, series, due_at, recurring, now);
    Gap { n_more: total.saturating_sub(missed.len()), missed, next: next_after(reminder, now) }
}

/// The runs of the schedule after the one due at `due_at`, until `now`; none of one that does not recur by itself.
fn later_runs(reminder: &Reminder, series: &Series, due_at: Timestamp, recurring: bool, now: Timestamp) -> Missed {
    // Only so many runs are left to be missed.
    let n_left = reminder.schedule.count.map(|count| count.saturating_sub(series.planned));
    let until = match n_left {
        Some(n_left) if recurring => reminder.schedule.nth_after(&reminder.timezone, due_at, n_left).min(now),
        _ if recurring => now,
        _ => due_at,
    };
    reminder.schedule.latest_between(&reminder.timezone, due_at, until, MISSED_ROWS_MAX)
}

/// When a series that missed its run goes on after `now`.
fn next_after(reminder: &Reminder, now: Timestamp) -> Option<Timestamp> {
    match &reminder.schedule.rule {
        Rule::Interval { every, anchor: Anchor::Ack, .. } => {
            reminder.schedule.after_answer(&reminder.timezone, *every, now)
        }
        _ => reminder.schedule.next_after(&reminder.timezone, now),
    }
}

fn is_counted_from_answers(reminder: &Reminder) -> bool {
    matches!(reminder.schedule.rule, Rule::Interval { anchor: Anchor::Ack, .. })
}
