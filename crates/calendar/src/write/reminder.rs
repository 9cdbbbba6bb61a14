//! A reminder as the entries of a calendar.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use punctual_core::reminder::{Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Anchor, Rule, Schedule};
use punctual_core::store::ReminderView;
use punctual_core::zone::Zone;
use serde_json::json;

use super::{Entry, When};
use crate::item::{Edge, Kind};
use crate::read::OWN_UID_END;

/// How many runs are listed of a reminder whose rule a calendar cannot say.
const RUNS_LISTED: usize = 100;
/// How many runs of a rule are compared with those of the rule as it is written.
const RUNS_COMPARED: usize = 60;
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
    let (mut whens, has_next) = whens(reminder, next_at);
    let event = Entry {
        uid: uid(""),
        kind: Kind::Event,
        when: whens.remove(0),
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
    let more = (2..).zip(whens).map(|(n, when)| Entry { uid: uid(&format!("-rule{n}")), when, ..event.clone() });
    let mut entries: Vec<Entry> = more.collect();
    entries.insert(0, event);
    entries.extend([moved, todo].into_iter().flatten());
    entries
}

/// When a calendar shows it, one or more; and whether its next run is among that.
fn whens(reminder: &Reminder, next_at: Timestamp) -> (Vec<When>, bool) {
    let (schedule, zone) = (&reminder.schedule, &reminder.timezone);
    if matches!(schedule.rule, Rule::Once { .. } | Rule::Interval { anchor: Anchor::Ack, .. }) {
        return (vec![When::At(next_at)], true);
    }
    let just_before = next_at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(next_at);
    let first = schedule.next_after(zone, just_before);
    // The rule begins with the reminder, and not now: it would be another one every minute.
    let lines = schedule.to_ical(zone, reminder.created_at).ok();
    if let Some(series) = lines.and_then(|lines| one_rule_each(&lines, zone, reminder.created_at)) {
        return (series.into_iter().map(When::Series).collect(), first == Some(next_at));
    }
    let dates: Vec<Timestamp> =
        std::iter::successors(first, |at| schedule.next_after(zone, *at)).take(RUNS_LISTED).collect();
    let has_next = dates.first() == Some(&next_at);
    if dates.is_empty() { (vec![When::At(next_at)], true) } else { (vec![When::Dates(dates)], has_next) }
}

/// Divides several rules among several entries: an entry with two of them is allowed, but few programs understand it.
///
/// `None` where that would not be the same: there are single dates beside them, or two of them are due at one instant.
fn one_rule_each(lines: &str, zone: &Zone, from: Timestamp) -> Option<Vec<String>> {
    let named = |name: &'static str| lines.lines().filter(move |line| line.split([';', ':']).next() == Some(name));
    if named("RRULE").nth(1).is_none() {
        return Some(vec![lines.to_owned()]);
    }
    let (start, except) = (named("DTSTART").next()?, named("EXDATE").next());
    let (head, stamp) = start.rsplit_once(':')?;
    let mark = if stamp.ends_with('Z') { "Z" } else { "" };
    let mut made = Vec::new();
    let mut seen = BTreeSet::new();
    for rule in named("RRULE") {
        let with = |start: &str| [Some(start), Some(rule), except].into_iter().flatten().collect::<Vec<_>>().join("\n");
        let runs = |lines: &str| -> Option<Vec<Timestamp>> {
            let input = json!({ "type": "rrule", "ical": lines });
            let schedule = Schedule::from_input(&input, zone, from).ok()?;
            let next = |at: &Timestamp| schedule.next_after(zone, *at);
            Some(std::iter::successors(next(&from), next).take(RUNS_COMPARED).collect())
        };
        let expected = runs(&with(start))?;
        // Every entry begins with its first run: readers take the beginning for one.
        let Some(first) = expected.first() else { continue };
        let written_in = if mark.is_empty() { zone.clone() } else { Zone::utc() };
        let first = written_in.rules().to_datetime(*first).strftime("%Y%m%dT%H%M%S");
        let lines = with(&format!("{head}:{first}{mark}"));
        if runs(&lines)? != expected || !expected.into_iter().all(|at| seen.insert(at)) {
            return None;
        }
        made.push(lines);
    }
    let is_whole = named("RDATE").next().is_none() && !made.is_empty();
    is_whole.then_some(made)
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
