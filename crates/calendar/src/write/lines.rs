//! The lines of a component.

use std::collections::BTreeMap;

use calcard::icalendar::{
    ICalendarComponent, ICalendarEntry, ICalendarParameter, ICalendarParameterName, ICalendarParameterValue,
    ICalendarProperty, ICalendarRelated, ICalendarValue, ICalendarValueType,
};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use punctual_core::zone::Zone;

use crate::item::Edge;

/// Adds a line with these values; none: no line.
pub(super) fn add<'a>(to: &mut ICalendarComponent, name: ICalendarProperty, values: impl IntoIterator<Item = &'a str>) {
    add_with(to, name, Vec::new(), values);
}

pub(super) fn add_with<'a>(
    to: &mut ICalendarComponent,
    name: ICalendarProperty,
    params: Vec<ICalendarParameter>,
    values: impl IntoIterator<Item = &'a str>,
) {
    let values: Vec<ICalendarValue> = values.into_iter().map(|text| ICalendarValue::Text(printable(text))).collect();
    if !values.is_empty() {
        to.entries.push(ICalendarEntry { name, params, values });
    }
}

/// Adds a line with a duration. Where a line can also have something else, it says that it has one.
pub(super) fn add_duration(to: &mut ICalendarComponent, name: ICalendarProperty, duration: &str) {
    let is_said = name == ICalendarProperty::RefreshInterval;
    let value = ICalendarParameterValue::Value(ICalendarValueType::Duration);
    let params = is_said.then_some(ICalendarParameter { name: ICalendarParameterName::Value, value });
    add_with(to, name, params.into_iter().collect(), [duration]);
}

/// Adds when an alarm rings. `PT0S` and not `P`: some readers know no empty duration.
pub(super) fn add_trigger(to: &mut ICalendarComponent, before_seconds: i64, of: Edge) {
    let sign = if before_seconds > 0 { "-" } else { "" };
    let seconds = before_seconds.unsigned_abs();
    let text = match seconds {
        0 => "PT0S".to_owned(),
        _ if seconds.is_multiple_of(60) => format!("{sign}PT{}M", seconds / 60),
        _ => format!("{sign}PT{seconds}S"),
    };
    let end = ICalendarParameter {
        name: ICalendarParameterName::Related,
        value: ICalendarParameterValue::Related(ICalendarRelated::End),
    };
    let params = if of == Edge::End { vec![end] } else { Vec::new() };
    add_with(to, ICalendarProperty::Trigger, params, [text.as_str()]);
}

/// Adds the lines that `Schedule::to_ical` writes, and notes their zones with the earliest beginning in each.
pub(super) fn times(to: &mut ICalendarComponent, lines: &str, zones: &mut BTreeMap<String, (Zone, Timestamp)>) {
    for line in lines.lines() {
        let Some((head, value)) = line.split_once(':') else { continue };
        let (name, tzid) = head.split_once(";TZID=").map_or((head, None), |(name, tzid)| (name, Some(tzid)));
        let name = match name {
            "DTSTART" => ICalendarProperty::Dtstart,
            "RRULE" => ICalendarProperty::Rrule,
            "RDATE" => ICalendarProperty::Rdate,
            "EXDATE" => ICalendarProperty::Exdate,
            _ => continue,
        };
        if let Some((zone, tzid)) = tzid.and_then(|tzid| Some((Zone::named(tzid).ok()?, tzid))) {
            let first = value.split(',').filter_map(|stamp| DateTime::strptime("%Y%m%dT%H%M%S", stamp).ok()).min();
            let first_at = first.and_then(|first| zone.rules().to_timestamp(first).ok());
            if let Some(first_at) = first_at {
                let known = zones.entry(tzid.to_owned()).or_insert((zone, first_at));
                known.1 = known.1.min(first_at);
            }
        }
        let value_of = ICalendarParameterValue::Text(tzid.unwrap_or_default().to_owned());
        let params = tzid.map(|_| ICalendarParameter { name: ICalendarParameterName::Tzid, value: value_of });
        let params = params.into_iter().collect();
        match name {
            // A rule has commas of its own.
            ICalendarProperty::Rrule => add_with(to, name, params, [value]),
            name => add_with(to, name, params, value.split(',')),
        }
    }
}

/// An instant, as calendars write it.
pub(super) fn stamp_utc(at: Timestamp) -> String {
    // The next whole second: never early.
    let seconds = at.as_second() + i64::from(at.subsec_nanosecond() > 0);
    let at = Timestamp::from_second(seconds).unwrap_or(at);
    format!("{}Z", stamp(Offset::UTC.to_datetime(at)))
}

/// A local time, as calendars write it.
pub(super) fn stamp(time: DateTime) -> String {
    time.strftime("%Y%m%dT%H%M%S").to_string()
}

/// The text without what no calendar may have: control characters. Lines end with a line feed.
fn printable(text: &str) -> String {
    let joined = text.replace("\r\n", "\n").replace('\r', "\n");
    joined.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}
