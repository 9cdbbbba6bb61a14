//! Which runs were missed while nothing ran, and which of them are delivered late.

use jiff::{SignedDuration, Timestamp};

use super::wake::{Wake, end};
use crate::occurrence::{Occurrence, State};
use crate::reminder::{MisfirePolicy, Reminder};
use crate::rules::course::{Series, from_answer};

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
    // No later run can stand for one that somebody asked for by hand.
    let is_of_series = series.is_carried_by(occurrence.id.run) || waited(reminder, occurrence);
    let recurring = is_of_series && from_answer(reminder).is_none();
    let within = SignedDuration::try_from(reminder.misfire.within).unwrap_or(SignedDuration::MAX);
    match reminder.misfire.policy {
        MisfirePolicy::Skip if late <= SKIP_AFTER => return None,
        MisfirePolicy::Skip => {}
        // A single reminder is never skipped for being late: late is better than not at all.
        _ if !recurring => return None,
        MisfirePolicy::All if late <= within => return None,
        MisfirePolicy::All | MisfirePolicy::Latest => {}
    }
    late_run(reminder, reminder.misfire.policy, series, occurrence, now)
}

/// Leaves a run out, and with it all of its series until `now`, whatever the policy says.
pub(crate) fn left_out(reminder: &Reminder, series: &Series, occurrence: &Occurrence, now: Timestamp) -> Wake {
    late_run(reminder, MisfirePolicy::Skip, series, occurrence, now).unwrap_or_else(|| end(State::Missed { at: now }))
}

/// What `policy` says about a run that is too late to be sent as it is.
fn late_run(
    reminder: &Reminder,
    policy: MisfirePolicy,
    series: &Series,
    occurrence: &Occurrence,
    now: Timestamp,
) -> Option<Wake> {
    let due_at = occurrence.due_at;
    let late = now.duration_since(due_at);
    let (carries, waited) = (series.is_carried_by(occurrence.id.run), waited(reminder, occurrence));
    let recurring = (carries || waited) && from_answer(reminder).is_none();
    let within = SignedDuration::try_from(reminder.misfire.within).unwrap_or(SignedDuration::MAX);

    if waited && !carries {
        // The run that carries the series stands for all later ones. Whether one of them is due is all that matters here.
        let later = series.carried_by.and_then(|_| reminder.schedule.next_after(&reminder.timezone, due_at));
        let is_replaced = policy == MisfirePolicy::Latest && later.is_some_and(|at| at <= now);
        let is_missed = is_replaced || late > within || policy == MisfirePolicy::Skip;
        return is_missed.then(|| end(State::Missed { at: now }));
    }

    // Only so many runs are left to be missed.
    let until = match series.n_left(reminder) {
        Some(n_left) if recurring => reminder.schedule.nth_after(&reminder.timezone, due_at, n_left).min(now),
        _ if recurring => now,
        _ => due_at,
    };
    let later_runs = reminder.schedule.latest_between(&reminder.timezone, due_at, until, MISSED_ROWS_MAX);
    let mut also_missed = later_runs.instants;
    let total = later_runs.total;
    if policy == MisfirePolicy::Latest && also_missed.is_empty() && late <= within {
        return None;
    }
    let is_recent = |at: &Timestamp| now.duration_since(*at) <= within;
    let n_listed = also_missed.len();
    let delivered_late = match policy {
        MisfirePolicy::Latest => also_missed.pop_if(|at| is_recent(at)),
        MisfirePolicy::All => also_missed.iter().position(is_recent).map(|first| {
            let at = also_missed[first];
            also_missed.truncate(first);
            at
        }),
        MisfirePolicy::Skip => None,
    };
    let next = delivered_late.or_else(|| series.next_from(reminder, now));
    Some(Wake::End {
        state: State::Missed { at: now },
        also_missed,
        n_more_missed: total.saturating_sub(n_listed),
        next,
    })
}

/// A run that waited through quiet hours is one of the schedule, too, though the series has gone on without it.
fn waited(reminder: &Reminder, occurrence: &Occurrence) -> bool {
    matches!(occurrence.state, State::Waiting { .. }) && reminder.schedule.is_recurring()
}
