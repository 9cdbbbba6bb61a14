//! A series goes on while it is active, ends when its rule does, and leaves nothing out.

use jiff::Timestamp;
use punctual_core::change::Change;
use punctual_core::journal::Kind;
use punctual_core::occurrence::{Occurrence, State};
use punctual_core::reminder::ReminderStatus;
use punctual_core::schedule::{Anchor, Rule};

use super::{Command, Evidence, Row};

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let commands = evidence.commands();
    let mut found = Vec::new();
    for row in &evidence.rows {
        let id = row.view.reminder.id;
        let is_open = row.trails.iter().any(|trail| !trail.occurrence.state.is_final());
        match row.view.reminder.status {
            ReminderStatus::Active if !is_open => found.push(format!("{id} is active and nothing of it is to come")),
            ReminderStatus::Cancelled if is_open => found.push(format!("{id} is cancelled and something is to come")),
            _ => {}
        }
        let given = commands.get(&id).map(Vec::as_slice).unwrap_or_default();
        if row.view.reminder.status == ReminderStatus::Cancelled && is_brought_back(given) {
            found.push(format!("{id} is cancelled although that was undone"));
        }
        let untouched = given.is_empty();
        // A run that was put off, also by somebody else who was asked, is due at its new instant, and in a pause runs are left out.
        let put_off = row.has(&[Kind::Waiting, Kind::Snoozed]);
        if untouched
            && !put_off
            && let Some(what) = wrong(evidence, row)
        {
            found.push(format!("{id} {what}"));
        }
    }
    found
}

/// Whether an undo was acknowledged, and nobody asked for a cancel after it.
fn is_brought_back(given: &[Command]) -> bool {
    let undone = given.iter().filter(|command| matches!(command.change, Change::Undo));
    undone.filter_map(|undo| undo.acknowledged.map(|_| undo.begun)).any(|undone| {
        let mut cancels = given.iter().filter(|command| matches!(command.change, Change::Cancel));
        // Of two that were under way at once, either may have come last.
        !cancels.any(|cancel| cancel.begun > undone || cancel.acknowledged.is_none_or(|at| at > undone))
    })
}

/// Compares an untouched series with its rule.
fn wrong(evidence: &Evidence, row: &Row) -> Option<String> {
    let reminder = &row.view.reminder;
    let runs: Vec<&Occurrence> = row.trails.iter().map(|trail| &trail.occurrence).collect();
    if matches!(reminder.schedule.rule, Rule::Interval { anchor: Anchor::Ack, .. }) {
        return None;
    }
    // A store keeps whole microseconds, rounded up.
    let kept =
        |at: Timestamp| Timestamp::from_microsecond(at.as_microsecond() + i64::from(at.subsec_nanosecond() % 1000 > 0));
    let next = |after| reminder.schedule.next_after(&reminder.timezone, after).and_then(|at| kept(at).ok());
    for pair in runs.windows(2) {
        let expected = next(pair[0].due_at);
        if expected != Some(pair[1].due_at) {
            return Some(format!("goes from {} to {}, not to {expected:?}", pair[0].due_at, pair[1].due_at));
        }
    }
    let last = runs.last()?;
    if reminder.schedule.is_recurring() && reminder.status == ReminderStatus::Completed {
        let counted = reminder.schedule.count.is_some_and(|count| runs.len() >= count as usize);
        if !counted && next(last.due_at).is_some() {
            return Some("ended before its rule did".into());
        }
    }
    if reminder.schedule.count.is_some_and(|count| runs.len() > count as usize) {
        return Some(format!("ran {} times, more often than it was to", runs.len()));
    }
    if reminder.status == ReminderStatus::Active && matches!(last.state, State::Scheduled) {
        let late = evidence.now.duration_since(last.due_at);
        if late > jiff::SignedDuration::from_mins(6) {
            return Some(format!("stands still since {}", last.due_at));
        }
    }
    None
}
