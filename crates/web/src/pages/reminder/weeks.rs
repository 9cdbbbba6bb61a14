//! The next weeks as a small calendar: the days on which a reminder is due, and where the clock changes.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan};
use maud::{Markup, html};
use punctual_client::wire::Reminder;
use punctual_time::schedule::Schedule;
use punctual_time::steps::Steps;
use punctual_time::zone::Zone;

use crate::manner::Manner;
use crate::parts;
use crate::texts::reminder as t;
use crate::viewer::Viewer;

const DAYS: i64 = 35;
/// The most instants that are looked for: every hour of the weeks.
const INSTANTS_MAX: usize = 24 * DAYS as usize;

pub(super) fn weeks(v: &Viewer, reminder: &Reminder<'_>) -> Markup {
    let m = &v.m;
    let today = m.today();
    let first = today - i64::from(today.weekday().to_monday_zero_offset()).days();
    let until = m.begins(first) + SignedDuration::from_hours(24 * DAYS);
    let instants = instants(reminder, m.now, until);
    let mut by_day: BTreeMap<Date, Vec<Timestamp>> = BTreeMap::new();
    for at in &instants {
        by_day.entry(m.local(*at).date()).or_default().push(*at);
    }
    let days: Vec<Date> = (0..DAYS).map(|n| first + n.days()).collect();
    let changes: Vec<Date> = days.iter().copied().filter(|day| changes_clock(m, *day)).collect();
    html! {
        h2 { (m.t(t::NEXT_WEEKS)) }
        @if let Some(next) = reminder.next_run_at {
            p { (m.t(t::NEXT)) ": " b { (parts::with_zone(m, next, &reminder.timezone)) } ", " (m.relative(next)) }
        }
        ol.weeks {
            @for day in days.iter().take(7) { li.head aria-hidden="true" { (m.short_weekday(*day)) } }
            @for day in &days {
                @let due = by_day.get(day);
                @let is_change = changes.contains(day);
                li.on[due.is_some()].today[*day == today].dst[is_change] {
                    span.unseen { (m.long_date(*day)) }
                    b aria-hidden="true" { (day.day()) }
                    @if let Some(due) = due {
                        span { span.unseen { (m.say(t::DUE, &[("times", "")])) } (times(m, due)) }
                    }
                    @if is_change { span.unseen { (m.t(t::CLOCK_CHANGES)) } }
                }
            }
        }
        @for day in &changes { p.sub { (m.say(t::CLOCK_CHANGES_ON, &[("day", &m.long_date(*day))])) } }
    }
}

/// The times of a day: the only one, or how many there are.
fn times(m: &Manner, due: &[Timestamp]) -> String {
    match due {
        [one] => m.time(*one),
        many => format!("{}×", many.len()),
    }
}

/// When it is due until then, beginning with its next run, which may have been put off.
fn instants(reminder: &Reminder<'_>, now: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let mut all: Vec<Timestamp> = reminder.next_run_at.into_iter().filter(|at| *at < until).collect();
    let schedule = Schedule::from_stored(&reminder.schedule.0.to_string()).ok();
    let zone = Zone::named(&reminder.timezone).ok();
    let (Some(schedule), Some(zone)) = (schedule, zone) else { return all };
    let (steps, mut at) = (Steps::new(100_000), all.first().copied().unwrap_or(now).max(now));
    while all.len() < INSTANTS_MAX {
        let Some(next) = schedule.next_within(&zone, at, &steps).filter(|next| *next < until) else { break };
        all.push(next);
        at = next;
    }
    all
}

/// Whether the clock of the viewer's zone changes on this day.
fn changes_clock(m: &Manner, day: Date) -> bool {
    let offset = |day: Date| m.zone.rules().to_offset(m.begins(day));
    day.tomorrow().is_ok_and(|next| offset(day) != offset(next))
}
