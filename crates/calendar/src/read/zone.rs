//! Which zone a `TZID` means.
//!
//! A calendar names its zones as it likes and describes each in a `VTIMEZONE`. A name that the zone database has is believed; so is one that
//! Windows has. Any other is compared by what it does: a zone of the database that has the same clocks for the next years is meant. A zone
//! that is like none of them is used as the calendar describes it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::str::FromStr;

use calcard::common::timezone::Tz;
use calcard::icalendar::{ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarProperty, ICalendarValue};
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use punctual_core::schedule::Schedule;
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;
use serde_json::json;

use super::line::first_text;

/// For how long a described zone must have the same clocks as one of the database.
const COMPARED: SignedDuration = SignedDuration::from_hours(5 * 366 * 24);
/// The most changes of one zone that are worked out.
const CHANGES_MAX: usize = 2000;
/// The most zones of one calendar: each that is described is compared with all that there are.
const ZONES_MAX: usize = 100;

/// The zone of a time in a calendar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TheirZone {
    /// One that the zone database has.
    Known(Zone),
    /// One that only the calendar describes.
    Described(Rc<Described>),
}

impl TheirZone {
    /// The instant of a local time: shifted forward where it is skipped, the first where it is repeated.
    pub(super) fn instant(&self, local: DateTime) -> Option<Timestamp> {
        match self {
            Self::Known(zone) => zone.rules().to_timestamp(local).ok(),
            Self::Described(described) => described.instant(local),
        }
    }
}

/// A zone as a calendar describes it.
#[derive(Debug, PartialEq)]
pub(super) struct Described {
    /// The clock before the first change.
    first: Offset,
    /// Each change and the clock from then on, in order.
    changes: Vec<(Timestamp, Offset)>,
}

impl Described {
    fn offset_at(&self, at: Timestamp) -> Offset {
        let n_before = self.changes.partition_point(|(change, _)| *change <= at);
        n_before.checked_sub(1).map_or(self.first, |last| self.changes[last].1)
    }

    fn instant(&self, local: DateTime) -> Option<Timestamp> {
        // The clocks on either side of it; a change is never as long as a day.
        let near = Offset::UTC.to_timestamp(local).ok()?;
        let day = SignedDuration::from_hours(26);
        let before = self.offset_at(near.checked_sub(day).ok()?);
        let after = self.offset_at(near.checked_add(day).ok()?);
        let fits = |offset: &Offset| offset.to_timestamp(local).ok().filter(|at| self.offset_at(*at) == *offset);
        fits(&before).or_else(|| fits(&after)).or_else(|| before.to_timestamp(local).ok())
    }

    /// Whether `zone` has the same clocks from `from` on.
    fn is_like(&self, zone: &TimeZone, from: Timestamp) -> bool {
        let Ok(until) = from.checked_add(COMPARED) else { return false };
        if zone.to_offset(from) != self.offset_at(from) {
            return false;
        }
        let theirs = self.changes.iter().filter(|(at, _)| from < *at && *at < until);
        let mut last = self.offset_at(from);
        let theirs: Vec<(Timestamp, Offset)> = theirs
            .filter(|(_, offset)| {
                let changes = *offset != last;
                last = *offset;
                changes
            })
            .copied()
            .collect();
        let mut last = zone.to_offset(from);
        let ours = zone.following(from).take_while(|change| change.timestamp() < until).filter_map(|change| {
            let changes = change.offset() != last;
            last = change.offset();
            changes.then(|| (change.timestamp(), change.offset()))
        });
        ours.eq(theirs)
    }
}

/// The zones of one calendar, each resolved when it is first asked for.
pub(super) struct Zones<'a> {
    calendar: &'a ICalendar,
    floating: &'a Zone,
    now: Timestamp,
    steps: &'a Steps,
    found: RefCell<HashMap<String, Result<TheirZone, String>>>,
}

impl<'a> Zones<'a> {
    pub(super) fn new(calendar: &'a ICalendar, floating: &'a Zone, now: Timestamp, steps: &'a Steps) -> Self {
        Self { calendar, floating, now, steps, found: RefCell::default() }
    }

    /// The zone that this calendar calls `name`.
    pub(super) fn get(&self, name: &str) -> Result<TheirZone, String> {
        if let Some(found) = self.found.borrow().get(name) {
            return found.clone();
        }
        if self.found.borrow().len() >= ZONES_MAX {
            return Err(format!("TZID: the calendar has more than {ZONES_MAX} zones"));
        }
        let found = self.find(name);
        self.found.borrow_mut().insert(name.to_owned(), found.clone());
        found
    }

    fn find(&self, name: &str) -> Result<TheirZone, String> {
        let zones = self.calendar.components.iter();
        let described = zones
            .filter(|component| component.component_type == ICalendarComponentType::VTimezone)
            .find(|component| first_text(component, &ICalendarProperty::Tzid).as_deref() == Some(name));
        let location = || {
            let said = first_text(described?, &ICalendarProperty::Other("X-LIC-LOCATION".into()))?;
            self.known_by_name(&said)
        };
        if let Some(zone) = self.known_by_name(name).or_else(location) {
            return Ok(TheirZone::Known(zone));
        }
        let Some(described) = described else {
            return Err(format!(
                "TZID: the zone `{}` is unknown, and the calendar does not describe it",
                super::line::shown(name)
            ));
        };
        let described = self.describe(described).ok_or_else(|| {
            format!("TZID: the zone `{}` is unknown, and its VTIMEZONE cannot be read", super::line::shown(name))
        })?;
        let like = std::iter::once(self.floating.clone())
            .chain(jiff::tz::db().available().filter_map(|name| Zone::named(name.as_str()).ok()))
            .find(|zone| described.is_like(zone.rules(), self.now));
        Ok(like.map_or_else(|| TheirZone::Described(Rc::new(described)), TheirZone::Known))
    }

    /// The zone of the database that goes by this name: its own, with a maker's prefix, or that of Windows.
    pub(super) fn known_by_name(&self, name: &str) -> Option<Zone> {
        let name = name.trim().trim_matches('"');
        let slashes = name.match_indices('/').map(|(at, _)| &name[at + 1..]);
        let has_prefix = name.starts_with('/') || name.starts_with("posix/") || name.starts_with("right/");
        let mut names = std::iter::once(name).chain(slashes.filter(|_| has_prefix)).filter(|name| !name.is_empty());
        let ours = names.find_map(|name| Zone::named(name).ok().filter(|zone| !zone.name().starts_with("posix")));
        ours.or_else(|| match Tz::from_str(name).ok()? {
            Tz::Tz(zone) => Zone::named(zone.name()).ok(),
            Tz::Fixed(_) | Tz::Floating => None,
        })
    }

    /// Works out the changes of a `VTIMEZONE` until some years from now.
    fn describe(&self, zone: &ICalendarComponent) -> Option<Described> {
        let until = self.now.checked_add(COMPARED).ok()?;
        let mut changes: Vec<(Timestamp, Offset, Offset)> = Vec::new();
        for id in &zone.component_ids {
            let observance = self.calendar.component_by_id(*id)?;
            if !matches!(observance.component_type, ICalendarComponentType::Standard | ICalendarComponentType::Daylight)
            {
                continue;
            }
            let from = offset(observance, &ICalendarProperty::Tzoffsetfrom)?;
            let to = offset(observance, &ICalendarProperty::Tzoffsetto)?;
            for local in self.onsets(observance, until)? {
                changes.push((from.to_timestamp(local).ok()?, from, to));
            }
        }
        changes.sort_by_key(|(at, ..)| *at);
        let first = changes.first()?.1;
        Some(Described { first, changes: changes.into_iter().map(|(at, _, to)| (at, to)).collect() })
    }

    /// When an observance begins, by the clock before it.
    fn onsets(&self, observance: &ICalendarComponent, until: Timestamp) -> Option<Vec<DateTime>> {
        let utc = Zone::utc();
        let start = local_times(observance, &ICalendarProperty::Dtstart).into_iter().next()?;
        let mut onsets = vec![start];
        onsets.extend(local_times(observance, &ICalendarProperty::Rdate));
        for rule in observance.properties(&ICalendarProperty::Rrule) {
            let Some(ICalendarValue::RecurrenceRule(rule)) = rule.values.first() else { continue };
            // Outlook begins its zones in 1601: a rule without an interval is the same from any of its years on.
            let years_ago = Offset::UTC.to_datetime(self.now).year().saturating_sub(30);
            let is_plain = rule.count.is_none() && rule.interval.unwrap_or(1) == 1;
            let start =
                if is_plain && start.year() < years_ago { start.with().year(years_ago).build().ok()? } else { start };
            let ical = format!("DTSTART:{}\nRRULE:{rule}", start.strftime("%Y%m%dT%H%M%S"));
            // An UNTIL is in UTC, and everything here counts as UTC: it may be off by the zone's offset, which is less than a year.
            let input = json!({ "type": "rrule", "ical": ical });
            let Ok(schedule) = Schedule::from_input_within(&input, &utc, Timestamp::MIN, self.steps) else { continue };
            let next = |at: &Timestamp| schedule.next_within(&utc, *at, self.steps).filter(|at| *at < until);
            let first = next(&Timestamp::MIN);
            let found = std::iter::successors(first, next).take(CHANGES_MAX);
            onsets.extend(found.map(|at| utc.rules().to_datetime(at)));
        }
        onsets.sort_unstable();
        onsets.dedup();
        Some(onsets)
    }
}

fn local_times(component: &ICalendarComponent, name: &ICalendarProperty) -> Vec<DateTime> {
    let values = component.properties(name).flat_map(|entry| &entry.values);
    let local = |value: &ICalendarValue| {
        let ICalendarValue::PartialDateTime(said) = value else { return None };
        let small = |number: Option<u8>| i8::try_from(number.unwrap_or(0)).ok();
        let year = i16::try_from(said.year?).ok()?;
        let (month, day) = (small(said.month)?, small(said.day)?);
        DateTime::new(year, month, day, small(said.hour)?, small(said.minute)?, small(said.second)?, 0).ok()
    };
    values.filter_map(local).collect()
}

fn offset(component: &ICalendarComponent, name: &ICalendarProperty) -> Option<Offset> {
    let ICalendarValue::PartialDateTime(said) = component.property(name)?.values.first()? else { return None };
    // The seconds of an offset, which clocks had before there were zones, are not kept.
    let ahead = i32::from(said.tz_hour?) * 3600 + i32::from(said.tz_minute.unwrap_or(0)) * 60;
    Offset::from_seconds(if said.tz_minus { -ahead } else { ahead }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Kind;
    use crate::write::{Entry, When, write};

    /// Every zone, as we describe it, has the clocks that jiff says: read back by our own rules, for thirty years, around each change.
    #[test]
    fn every_zone_is_described_as_it_is() {
        let first_at: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        let now: Timestamp = "2050-01-01T00:00:00Z".parse().unwrap();
        let until: Timestamp = "2054-12-01T00:00:00Z".parse().unwrap();
        let (steps, utc) = (Steps::new(u64::MAX), Zone::utc());
        let (mut n_zones, mut n_rules) = (0, 0);
        for name in jiff::tz::db().available() {
            let zone = Zone::named(name.as_str()).unwrap();
            let entry = Entry {
                uid: "a".into(),
                kind: Kind::Event,
                when: When::Series(format!("DTSTART;TZID={name}:20260301T120000\nRRULE:FREQ=DAILY")),
                ends_at: None,
                summary: "a".into(),
                description: None,
                categories: Vec::new(),
                priority: 5,
                created_at: first_at,
                updated_at: first_at,
                alarms: Vec::new(),
                related_to: None,
            };
            let text = write("zones", &[entry]);
            n_rules += text.matches("RRULE:FREQ=YEARLY").count();
            let calendar = ICalendar::parse(&text).unwrap();
            let described = calendar.components.iter().find(|c| c.component_type == ICalendarComponentType::VTimezone);
            let described = Zones::new(&calendar, &utc, now, &steps).describe(described.unwrap()).unwrap();
            let changes = zone.rules().following(first_at).map(|change| change.timestamp());
            let looked_at = changes.take_while(|at| *at < until).chain([first_at, now]);
            for change in looked_at {
                for at in [change - SignedDuration::from_secs(1), change, change + SignedDuration::from_hours(26)] {
                    let (theirs, ours) = (described.offset_at(at), zone.rules().to_offset(at));
                    assert_eq!(theirs, ours, "{name} at {at}:\n{text}");
                }
            }
            n_zones += 1;
        }
        assert!(n_zones > 400 && n_rules > 200, "{n_zones} zones, {n_rules} rules");
    }
}
