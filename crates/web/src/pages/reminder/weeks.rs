//! The next weeks as a small calendar: the days on which a reminder is due, and where the clock changes.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use maud::{Markup, html};
use punctual_client::wire::Reminder;
use punctual_time::steps::Steps;
use punctual_time::zone::Zone;

use super::super::ahead::{Ahead, Runs};
use crate::manner::Manner;
use crate::parts;
use crate::texts::reminder as t;
use crate::viewer::Viewer;

const DAYS: i64 = 35;
/// How many runs of a day are walked through before it is said that there are more.
const RUNS_A_DAY: usize = 100;

/// The calendar of a reminder, of which so many runs were planned.
pub(super) fn weeks(v: &Viewer, reminder: &Reminder<'_>, planned: u32) -> Markup {
    let m = &v.m;
    let steps = Steps::of_request(1);
    let ahead = Ahead::of(reminder, reminder.next_run_at, planned, &steps);
    let next = html! {
        @if let Some(next) = reminder.next_run_at {
            p {
                (m.t(t::NEXT)) ": " b { (parts::with_zone(m, next, &reminder.timezone)) } ", " (m.relative(next))
                @if let Some(every) = ahead.after_answer() {
                    ". " (m.say(t::AFTER_ANSWER, &[("span", &m.span(i64::try_from(every.as_secs()).unwrap_or(i64::MAX)))]))
                }
            }
        }
    };
    if !has_calendar(reminder, &ahead) {
        return next;
    }
    html! {
        h2 { (m.t(t::NEXT_WEEKS)) }
        (next)
        (calendar(m, reminder, &ahead))
    }
}

/// One run is said in a line, and so is what follows an answer: nobody knows when that comes.
fn has_calendar(reminder: &Reminder<'_>, ahead: &Ahead<'_>) -> bool {
    !reminder.schedule.is_once() && ahead.after_answer().is_none()
}

fn calendar(m: &Manner, reminder: &Reminder<'_>, ahead: &Ahead<'_>) -> Markup {
    let today = m.today();
    let first = today - i64::from(today.weekday().to_monday_zero_offset()).days();
    let days: Vec<Date> = (0..DAYS).map(|n| first + n.days()).collect();
    let due: Vec<Option<Runs>> = days.iter().map(|day| due_on(m, ahead, *day)).collect();
    let changes = changes(m, &reminder.timezone, &days);
    html! {
        ol.weeks {
            @for day in days.iter().take(7) { li.head aria-hidden="true" { (m.short_weekday(*day)) } }
            @for (day, due) in days.iter().zip(&due) {
                @let is_change = changes.iter().any(|(changed, _)| changed == day);
                @let is_due = due.as_ref().is_some_and(|due| due.n > 0);
                li.on[is_due].today[*day == today].dst[is_change] {
                    span.unseen { (m.long_date(*day)) }
                    b aria-hidden="true" { (day.day()) }
                    @match due {
                        Some(due) if due.n > 0 => { span { span.unseen { (m.say(t::DUE, &[("times", "")])) } (times(m, due)) } }
                        Some(_) => {}
                        None => { span { "…" } }
                    }
                    @if is_change { span.unseen { (m.t(t::CLOCK_CHANGES)) } }
                }
            }
        }
        @if due.contains(&None) { p.sub { (m.t(t::NOT_RECKONED)) } }
        @for (day, zone) in &changes {
            @let day = m.long_date(*day);
            p.sub {
                @match zone {
                    None => { (m.say(t::CLOCK_CHANGES_ON, &[("day", &day)])) }
                    Some(zone) => { (m.say(t::CLOCK_CHANGES_IN, &[("day", &day), ("zone", zone)])) }
                }
            }
        }
    }
}

/// The runs on a day of the viewer's; `None` where they would take too long to find.
fn due_on(m: &Manner, ahead: &Ahead<'_>, day: Date) -> Option<Runs> {
    let next = day.tomorrow().unwrap_or(day);
    let due = ahead.between(m.begins(day).max(m.now), m.begins(next), RUNS_A_DAY);
    if ahead.is_cut() { None } else { Some(due) }
}

/// The times of a day: the only one, or how many there are.
fn times(m: &Manner, due: &Runs) -> String {
    match due.at.as_slice() {
        [one] if due.n == 1 && !due.has_more => m.time(*one),
        _ => format!("{}{}×", m.number(due.n as u64), if due.has_more { "+" } else { "" }),
    }
}

/// The days on which a clock changes: the viewer's, and the reminder's where it changes otherwise. Then its zone is named.
fn changes<'a>(m: &Manner, zone: &'a str, days: &[Date]) -> Vec<(Date, Option<&'a str>)> {
    let there = Zone::named(zone).ok();
    let mut changes = Vec::new();
    for day in days {
        let Ok(next) = day.tomorrow() else { continue };
        let (from, until) = (m.begins(*day), m.begins(next));
        let here = change(m.zone.rules(), from, until);
        if here.is_some() {
            changes.push((*day, None));
        }
        if let Some(there) = there.as_ref().and_then(|there| change(there.rules(), from, until))
            && here != Some(there)
        {
            changes.push((*day, Some(zone)));
        }
    }
    changes
}

/// When the clock of a zone changes in a stretch of time, and by how much.
fn change(zone: &TimeZone, from: Timestamp, until: Timestamp) -> Option<(Timestamp, i32)> {
    let change = zone.following(from.checked_sub(1.nanosecond()).ok()?).next()?;
    let at = change.timestamp();
    let before = at.checked_sub(1.nanosecond()).ok()?;
    let moved = zone.to_offset(at).seconds() - zone.to_offset(before).seconds();
    (at < until && moved != 0).then_some((at, moved))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use serde_json::{Value, json};

    use super::*;
    use crate::pages::ahead::tests::reminder;

    fn manner(zone: &str, now: &str) -> Manner {
        let stranger = Manner::of_stranger(&HeaderMap::new());
        stranger.at(Zone::named(zone).unwrap(), now.parse().unwrap())
    }

    /// The words in which the calendar of a viewer in `zone` tells each day from today on.
    fn days(m: &Manner, fields: Value, planned: u32) -> Vec<String> {
        let reminder = reminder(fields);
        let steps = Steps::of_request(1);
        let ahead = Ahead::of(&reminder, reminder.next_run_at, planned, &steps);
        let days = (0..14).map(|n| m.today() + n.days());
        let due = |day| {
            due_on(m, &ahead, day).map_or("…".to_owned(), |due| if due.n == 0 { String::new() } else { times(m, &due) })
        };
        days.map(due).collect()
    }

    #[test]
    fn a_reminder_of_two_runs_stands_on_two_days() {
        let m = manner("UTC", "2026-11-18T08:00:00Z");
        let twice = json!({ "schedule": { "type": "daily", "time": "09:00", "count": 2 } });
        let said = days(&m, twice.clone(), 1);
        assert_eq!(said[..3], ["09:00", "09:00", ""]);
        assert_eq!(days(&m, twice, 2)[..2], ["09:00", ""]);
    }

    #[test]
    fn no_day_is_left_blank_by_a_reminder_that_is_due_very_often() {
        let m = manner("UTC", "2026-11-18T08:00:00Z");
        let minutes = json!({ "schedule": { "type": "interval", "every": "1m", "origin": "2026-11-01T00:00:00Z" }, "next_run_at": "2026-11-18T08:01:00Z" });
        let said = days(&m, minutes, 1);
        assert_eq!((said[0].as_str(), said[1].as_str(), said[13].as_str()), ("959×", "1,440×", "1,440×"));
        let cron =
            json!({ "schedule": { "type": "cron", "expr": "* * * * *" }, "next_run_at": "2026-11-18T08:01:00Z" });
        assert!(days(&m, cron, 1).iter().all(|said| said == "100+×"));
    }

    #[test]
    fn the_clock_of_the_reminder_is_told_from_the_viewers() {
        let sunday: Date = "2026-10-25".parse().unwrap();
        let there: Date = "2026-11-01".parse().unwrap();
        let all: Vec<Date> = (0..20).map(|n| sunday - 5.days() + n.days()).collect();
        for (viewer, zone, expect) in [
            ("Europe/Zagreb", "Europe/Zagreb", vec![(sunday, None)]),
            // Both clocks change at one instant.
            ("Europe/Zagreb", "Europe/Berlin", vec![(sunday, None)]),
            ("Europe/Zagreb", "America/New_York", vec![(sunday, None), (there, Some("America/New_York"))]),
            ("UTC", "America/New_York", vec![(there, Some("America/New_York"))]),
            ("UTC", "UTC", vec![]),
        ] {
            let m = manner(viewer, "2026-10-20T08:00:00Z");
            assert_eq!(changes(&m, zone, &all), expect, "{viewer} {zone}");
        }
    }

    #[test]
    fn one_run_and_runs_that_wait_for_answers_have_no_calendar() {
        let has = |schedule: Value| {
            let reminder = reminder(json!({ "schedule": schedule }));
            has_calendar(&reminder, &Ahead::of(&reminder, reminder.next_run_at, 1, &Steps::of_request(1)))
        };
        assert!(has(json!({ "type": "daily", "time": "09:00" })));
        assert!(!has(json!({ "type": "once", "at": "2026-11-20T09:00:00Z" })));
        assert!(!has(json!({ "type": "interval", "every": "8h", "anchor": "ack", "origin": "2026-11-01T00:00:00Z" })));
        let m = manner("UTC", "2026-11-18T08:00:00Z");
        let daily = reminder(json!({}));
        let drawn = calendar(&m, &daily, &Ahead::of(&daily, daily.next_run_at, 1, &Steps::of_request(1))).into_string();
        assert_eq!(drawn.matches("<li class=\"on").count(), 33, "every day from Wednesday on: {drawn}");
    }
}
