//! A reminder as the entries of a calendar.

use jiff::{SignedDuration, Timestamp};
use punctual_core::reminder::{Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Anchor, Rule};
use punctual_core::store::ReminderView;

use super::{Entry, When};
use crate::item::{Edge, Kind};
use crate::read::OWN_UID_END;

/// How many runs are listed of a reminder whose rule a calendar cannot say.
const RUNS_LISTED: usize = 100;
/// The longest title.
const SUMMARY_CHARS_MAX: usize = 200;

/// The entries of a reminder that is still to come: its event; the run that is due otherwise than its rule says; and what is to be
/// done, where an answer is asked for. One that is paused or over has none.
pub fn of_reminder(view: &ReminderView) -> Vec<Entry> {
    let reminder = &view.reminder;
    let Some(next_at) = view.next_run_at.filter(|_| reminder.status == ReminderStatus::Active) else {
        return Vec::new();
    };
    let uid = |what: &str| format!("{}{what}{OWN_UID_END}", reminder.id);
    let (when, has_next) = when(reminder, next_at);
    let event = Entry {
        uid: uid(""),
        kind: Kind::Event,
        when,
        ends_at: None,
        summary: summary(reminder),
        description: Some(description(reminder)),
        categories: reminder.tags.clone(),
        priority: match reminder.priority {
            Priority::Critical | Priority::High => 1,
            Priority::Normal => 5,
            Priority::Low => 9,
        },
        created_at: reminder.created_at,
        updated_at: reminder.updated_at,
        alarms: vec![(0, Edge::Start)],
        related_to: None,
    };
    // A run that was put off, that waits, or that somebody asked for.
    let moved = (!has_next).then(|| Entry {
        uid: uid("-next"),
        when: When::At(next_at),
        related_to: Some(event.uid.clone()),
        ..event.clone()
    });
    // Some calendars show no to-dos, others ring only for those: so both.
    let todo = reminder.ack.as_ref().map(|ack| Entry {
        uid: uid("-todo"),
        kind: Kind::Todo,
        when: When::At(next_at),
        summary: ack.prompt.clone().unwrap_or_else(|| event.summary.clone()),
        alarms: Vec::new(),
        related_to: Some(event.uid.clone()),
        ..event.clone()
    });
    [Some(event), moved, todo].into_iter().flatten().collect()
}

/// When a calendar shows it, and whether its next run is among that.
fn when(reminder: &Reminder, next_at: Timestamp) -> (When, bool) {
    let (schedule, zone) = (&reminder.schedule, &reminder.timezone);
    if matches!(schedule.rule, Rule::Once { .. } | Rule::Interval { anchor: Anchor::Ack, .. }) {
        return (When::At(next_at), true);
    }
    let just_before = next_at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(next_at);
    let first = schedule.next_after(zone, just_before);
    // The rule begins with the reminder, and not now: it would be another one every minute.
    if let Ok(lines) = schedule.to_ical(zone, reminder.created_at) {
        return (When::Series(lines), first == Some(next_at));
    }
    let dates: Vec<Timestamp> =
        std::iter::successors(first, |at| schedule.next_after(zone, *at)).take(RUNS_LISTED).collect();
    let has_next = dates.first() == Some(&next_at);
    if dates.is_empty() { (When::At(next_at), true) } else { (When::Dates(dates), has_next) }
}

fn summary(reminder: &Reminder) -> String {
    let first_line = reminder.message.trim().lines().next().unwrap_or_default();
    let text = reminder.name.as_deref().unwrap_or(first_line).trim();
    match text.char_indices().nth(SUMMARY_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn description(reminder: &Reminder) -> String {
    format!("{}\n\n{}", reminder.message.trim(), reminder.schedule.summary(&reminder.timezone))
}
