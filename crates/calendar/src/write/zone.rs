//! A zone as a calendar describes it: `VTIMEZONE`.
//!
//! The changes are those that jiff knows. Those that come back every year on the same weekday of the same week become a rule without an
//! end; all others are listed for thirty years. The first observance is the one that holds when the first entry begins, or before: some readers
//! know no clock before the first observance.

use calcard::icalendar::{ICalendarComponent, ICalendarComponentType as Type, ICalendarProperty as Name};
use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::lines::{add, stamp};

/// For how long changes are looked at and, where they follow no rule, listed.
const LOOKED_AHEAD: SignedDuration = SignedDuration::from_hours(30 * 8766);
/// How many years in a row a change must follow a rule to be written as one.
const YEARS_MIN: usize = 5;

/// A change of the clocks, as a calendar names it.
struct Shift {
    /// When it comes, by the clock before it.
    local: DateTime,
    kind: ShiftKind,
}

#[derive(PartialEq, Eq, Clone)]
struct ShiftKind {
    is_daylight: bool,
    from: Offset,
    to: Offset,
    name: String,
}

/// The component that describes the zone called `tzid` from `first_at` on, and its observances.
pub(super) fn describe(
    tzid: &str,
    zone: &TimeZone,
    first_at: Timestamp,
) -> (ICalendarComponent, Vec<ICalendarComponent>) {
    let mut described = ICalendarComponent::new(Type::VTimezone);
    add(&mut described, Name::Tzid, [tzid]);
    let year = SignedDuration::from_hours(366 * 24);
    let start = first_at.checked_sub(year).unwrap_or(first_at);
    let mut observances = vec![first_observance(zone, start)];
    let until = start.checked_add(LOOKED_AHEAD).unwrap_or(Timestamp::MAX);
    let shifts = shifts(zone, start, until);
    let last_year = shifts.last().map_or(0, |shift| shift.local.year());
    let mut kinds: Vec<ShiftKind> = Vec::new();
    for shift in &shifts {
        if !kinds.contains(&shift.kind) {
            kinds.push(shift.kind.clone());
        }
    }
    for kind in kinds {
        let times: Vec<DateTime> = shifts.iter().filter(|shift| shift.kind == kind).map(|shift| shift.local).collect();
        let (single, by_rule) = times.split_at(times.len() - n_by_rule(&times, last_year));
        if let Some(first) = single.first() {
            let mut observance = observance(&kind, *first);
            let stamps: Vec<String> = single[1..].iter().copied().map(stamp).collect();
            // The beginning counts by itself, and is not said twice.
            if !stamps.is_empty() {
                add(&mut observance, Name::Rdate, stamps.iter().map(String::as_str));
            }
            observances.push(observance);
        }
        if let Some(first) = by_rule.first() {
            let mut observance = observance(&kind, *first);
            add(&mut observance, Name::Rrule, [rule(by_rule).as_str()]);
            observances.push(observance);
        }
    }
    (described, observances)
}

fn observance(kind: &ShiftKind, first: DateTime) -> ICalendarComponent {
    let mut made = ICalendarComponent::new(if kind.is_daylight { Type::Daylight } else { Type::Standard });
    add(&mut made, Name::Dtstart, [stamp(first).as_str()]);
    add(&mut made, Name::Tzoffsetfrom, [offset(kind.from).as_str()]);
    add(&mut made, Name::Tzoffsetto, [offset(kind.to).as_str()]);
    add(&mut made, Name::Tzname, [kind.name.as_str()]);
    made
}

/// What the clock is at `start`, from the last change before it on.
fn first_observance(zone: &TimeZone, start: Timestamp) -> ICalendarComponent {
    let info = zone.to_offset_info(start);
    let name = info.abbreviation().to_owned();
    let (from, at) = match zone.preceding(start).next() {
        Some(change) => {
            let before = change.timestamp().checked_sub(SignedDuration::from_nanos(1)).unwrap_or(change.timestamp());
            (zone.to_offset(before), change.timestamp())
        }
        None => (info.offset(), Timestamp::UNIX_EPOCH),
    };
    let kind = ShiftKind { is_daylight: info.dst().is_dst() && info.offset() > from, from, to: info.offset(), name };
    observance(&kind, from.to_datetime(at))
}

fn shifts(zone: &TimeZone, start: Timestamp, until: Timestamp) -> Vec<Shift> {
    let mut from = zone.to_offset(start);
    let mut found = Vec::new();
    for change in zone.following(start).take_while(|change| change.timestamp() < until) {
        let to = change.offset();
        // A clock that only gets another name is not changed.
        if to != from {
            let name = change.abbreviation().to_owned();
            // Where the clock is put back in summer's stead, the law may call winter the exception; to readers daylight is ahead.
            let kind = ShiftKind { is_daylight: change.dst().is_dst() && to > from, from, to, name };
            found.push(Shift { local: from.to_datetime(change.timestamp()), kind });
        }
        from = to;
    }
    found
}

/// How many of the last of these times follow one rule that goes on.
fn n_by_rule(times: &[DateTime], last_year: i16) -> usize {
    let Some(last) = times.last().filter(|last| last.year() >= last_year - 1) else { return 0 };
    let (mut earliest, mut latest) = (last.day(), last.day());
    let mut n = 0;
    for (years_ago, time) in (0_i16..).zip(times.iter().rev()) {
        let (first, end) = (earliest.min(time.day()), latest.max(time.day()));
        let is_alike = time.year() == last.year() - years_ago
            && (time.month(), time.weekday(), time.time()) == (last.month(), last.weekday(), last.time());
        if !is_alike || end - first > 6 {
            break;
        }
        (earliest, latest, n) = (first, end, n + 1);
    }
    let by_rule = &times[times.len() - n..];
    let from_day = first_day(by_rule);
    let fits = |time: &DateTime| Some(time.date()) == on_or_after(time.year(), time.month(), from_day, time.weekday());
    if n >= YEARS_MIN && by_rule.iter().all(fits) { n } else { 0 }
}

/// The rule of times that [`n_by_rule`] found: the weekday that falls on one of seven days.
fn rule(times: &[DateTime]) -> String {
    let Some(last) = times.last() else { return String::new() };
    let day = match last.weekday() {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    };
    let month = last.month();
    let first = first_day(times);
    if first % 7 == 1 && first <= 22 {
        return format!("FREQ=YEARLY;BYMONTH={month};BYDAY={}{day}", first / 7 + 1);
    }
    if month != 2 && first == last.date().days_in_month() - 6 {
        return format!("FREQ=YEARLY;BYMONTH={month};BYDAY=-1{day}");
    }
    let days: Vec<String> = (first..first + 7).map(|day| day.to_string()).collect();
    format!("FREQ=YEARLY;BYMONTH={month};BYMONTHDAY={};BYDAY={day}", days.join(","))
}

/// The first of the seven days on which these times fall. Fewer than seven may have been seen: then a whole week is likelier.
fn first_day(times: &[DateTime]) -> i8 {
    let earliest = times.iter().map(|time| time.day()).min().unwrap_or(1);
    let latest = times.iter().map(|time| time.day()).max().unwrap_or(1);
    let lowest = (latest - 6).max(1);
    let month_end = times.last().map_or(31, |time| time.date().days_in_month()) - 6;
    [1, 8, 15, 22, month_end].into_iter().find(|first| (lowest..=earliest).contains(first)).unwrap_or(earliest)
}

fn on_or_after(year: i16, month: i8, day: i8, weekday: Weekday) -> Option<Date> {
    let first = Date::new(year, month, day).ok()?;
    (0..7)
        .filter_map(|days| first.checked_add(SignedDuration::from_hours(24 * days)).ok())
        .find(|date| date.weekday() == weekday)
}

/// An offset as calendars write it: `+0100`, with seconds only where a clock had them.
fn offset(offset: Offset) -> String {
    let seconds = offset.seconds().unsigned_abs();
    let sign = if offset.seconds() < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let rest = if seconds > 0 { format!("{seconds:02}") } else { String::new() };
    format!("{sign}{hours:02}{minutes:02}{rest}")
}
