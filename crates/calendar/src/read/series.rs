//! What an item says about its repetition, as lines for our own engine.

use calcard::icalendar::{ICalendarComponent, ICalendarProperty, ICalendarValue};
use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use punctual_core::schedule::Schedule;
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;
use serde_json::json;

use super::Around;
use super::line::{Time, times};
use super::zone::TheirZone;
use crate::item::{Item, Repeats};

/// For how long the instances of a series are worked out whose zone only its calendar knows, and how many at most.
const AHEAD: SignedDuration = SignedDuration::from_hours(400 * 24);
const INSTANCES_MAX: usize = 500;

/// The `RRULE`, `RDATE` and `EXDATE` lines of one component.
#[derive(Default)]
pub(super) struct SeriesLines {
    rules: Vec<String>,
    dates: Vec<Time>,
    except: Vec<Time>,
    /// The zone of the beginning, where only the calendar knows it.
    unknown: Option<(DateTime, TheirZone)>,
}

impl SeriesLines {
    pub(super) fn read(component: &ICalendarComponent, begin: &Time, around: &Around<'_>) -> Result<Self, String> {
        let mut lines = Self::default();
        if component.has_property(&ICalendarProperty::Exrule) {
            return Err("EXRULE: is not supported; list the dates in EXDATE".into());
        }
        for entry in component.properties(&ICalendarProperty::Rrule) {
            lines.rules.extend(entry.values.iter().filter_map(|value| match value {
                ICalendarValue::RecurrenceRule(rule) => Some(rule.to_string()),
                ICalendarValue::Text(text) => Some(text.clone()),
                _ => None,
            }));
        }
        for entry in component.properties(&ICalendarProperty::Rdate).filter(|entry| !entry.values.is_empty()) {
            lines.dates.extend(times(entry, &around.zones)?);
        }
        for entry in component.properties(&ICalendarProperty::Exdate).filter(|entry| !entry.values.is_empty()) {
            lines.except.extend(times(entry, &around.zones)?);
        }
        if let (false, Time::Zoned(time, zone @ TheirZone::Described(_))) = (lines.is_empty(), begin) {
            lines.unknown = Some((*time, zone.clone()));
        }
        Ok(lines)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.dates.is_empty()
    }

    /// Whether the zone of its local times is one that only the calendar knows.
    pub(super) fn is_of_unknown_zone(&self) -> bool {
        self.unknown.is_some()
    }

    /// When the item happens again; and what is to be told about it although it was read.
    pub(super) fn repeats(&self, item: &Item, around: &Around<'_>) -> Result<(Repeats, Option<String>), String> {
        let made = |lines: String, schedule| Repeats { lines, schedule, overrides: Vec::new() };
        match &self.unknown {
            None => {
                let local = |time: &Time| time.local(&item.zone);
                let start = item.zone.rules().to_datetime(item.starts_at);
                let (lines, schedule) = self.in_zone(start, &item.zone, &local, around.now, around.steps)?;
                Ok((made(lines, schedule), None))
            }
            Some((start, zone)) => {
                // The rule is worked out by the clock on the wall, as if it were UTC, and each local time is looked up.
                let utc = Zone::utc();
                let local = |time: &Time| match time {
                    Time::Zoned(time, other) if other == zone => Some(*time),
                    other => other.local(&utc),
                };
                let (_, schedule) = self.in_zone(*start, &utc, &local, around.now, around.steps)?;
                let day = SignedDuration::from_hours(48);
                let after = around.now.checked_sub(day).unwrap_or(Timestamp::MIN);
                let until = after.checked_add(AHEAD).unwrap_or(Timestamp::MAX);
                let next = |at: &Timestamp| schedule.next_within(&utc, *at, around.steps).filter(|at| *at < until);
                let walls = std::iter::successors(next(&after), next).take(INSTANCES_MAX);
                let instants = walls.filter_map(|wall| zone.instant(utc.rules().to_datetime(wall)));
                let mut stamps: Vec<String> = instants.map(|at| stamp(utc.rules().to_datetime(at))).collect();
                let first = stamp(utc.rules().to_datetime(item.starts_at));
                if stamps.is_empty() {
                    stamps.push(first.clone());
                }
                let lines = format!("RDATE:{}", stamps.join(","));
                let schedule = engine(&first, &lines, &utc, around.now, around.steps)?;
                let doubt = "DTSTART: its zone is in no zone database; its instances of the next 400 days are taken";
                Ok((made(lines, schedule), Some(doubt.to_owned())))
            }
        }
    }

    fn in_zone(
        &self,
        start: DateTime,
        zone: &Zone,
        local: &dyn Fn(&Time) -> Option<DateTime>,
        now: Timestamp,
        steps: &Steps,
    ) -> Result<(String, Schedule), String> {
        let mut lines: Vec<String> = self.rules.iter().map(|rule| format!("RRULE:{rule}")).collect();
        let mut dates: Vec<DateTime> = self.dates.iter().filter_map(local).collect();
        let first = stamp(start);
        if !self.except.is_empty() {
            let excepted = |time: &Time| match time {
                Time::Day(day) => Some(day.strftime("%Y%m%d").to_string()),
                time => local(time).map(stamp),
            };
            let excepted: Vec<String> = self.except.iter().filter_map(excepted).collect();
            lines.push(format!("EXDATE:{}", excepted.join(",")));
        }
        let joined = |lines: &[String], dates: &[DateTime]| {
            let stamps: Vec<String> = dates.iter().copied().map(stamp).collect();
            let dates = (!stamps.is_empty()).then(|| format!("RDATE:{}", stamps.join(",")));
            lines.iter().cloned().chain(dates).collect::<Vec<_>>().join("\n")
        };
        let text = joined(&lines, &dates);
        let schedule = engine(&first, &text, zone, now, steps)?;
        // The beginning is an instance even where the rule does not name it, unless it is excepted or the rule was over before.
        let at = zone.rules().to_timestamp(start).map_err(|error| format!("DTSTART: {error}"))?;
        let just_before = at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(at);
        let is_excepted = self.except.iter().any(|time| match time {
            Time::Day(day) => *day == start.date(),
            time => local(time) == Some(start),
        });
        let is_over = schedule.ends_at.is_some_and(|ends_at| ends_at < at);
        if is_excepted || is_over || schedule.next_within(zone, just_before, steps) == Some(at) {
            return Ok((text, schedule));
        }
        dates.push(start);
        let text = joined(&lines, &dates);
        let schedule = engine(&first, &text, zone, now, steps)?;
        Ok((text, schedule))
    }
}

/// Lets our own engine read the lines of a series.
fn engine(start: &str, lines: &str, zone: &Zone, now: Timestamp, steps: &Steps) -> Result<Schedule, String> {
    // The beginning is in the zone of the series; UTC has its own mark.
    let mark = if zone.name() == "UTC" { "Z" } else { "" };
    let input = json!({ "type": "rrule", "ical": format!("DTSTART:{start}{mark}\n{lines}") });
    Schedule::from_input_within(&input, zone, now, steps).map_err(|invalid| {
        // The engine counts our lines, which are not the calendar's.
        let problem = invalid.problem;
        match problem.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest.to_owned(),
            _ => problem,
        }
    })
}

fn stamp(time: DateTime) -> String {
    time.strftime("%Y%m%dT%H%M%S").to_string()
}
