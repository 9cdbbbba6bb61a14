//! The values of a component's lines.

use calcard::common::{IanaParse, PartialDateTime};
use calcard::icalendar::{
    ICalendarComponent, ICalendarDuration, ICalendarEntry, ICalendarParameterName, ICalendarParameterValue,
    ICalendarPeriod, ICalendarProperty, ICalendarValue, Uri,
};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use punctual_core::zone::Zone;

use super::zone::{TheirZone, Zones};

/// A time as a line gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Time {
    /// Local time, in the zone of its reader.
    Floating(DateTime),
    /// Local time in a zone.
    Zoned(DateTime, TheirZone),
    /// An instant.
    Utc(Timestamp),
    /// A whole day.
    Day(Date),
}

impl Time {
    /// The instant, for a reader in `floating`.
    pub(super) fn instant(&self, floating: &Zone) -> Option<Timestamp> {
        match self {
            Self::Utc(at) => Some(*at),
            Self::Floating(time) => floating.rules().to_timestamp(*time).ok(),
            Self::Zoned(time, zone) => zone.instant(*time),
            Self::Day(day) => floating.rules().to_timestamp(day.at(0, 0, 0, 0)).ok(),
        }
    }

    /// The local time in `zone`. What names no zone is meant there.
    pub(super) fn local(&self, zone: &Zone) -> Option<DateTime> {
        match self {
            Self::Floating(time) => Some(*time),
            Self::Day(day) => Some(day.at(0, 0, 0, 0)),
            Self::Zoned(time, TheirZone::Known(known)) if known == zone => Some(*time),
            Self::Zoned(time, their) => their.instant(*time).map(|at| zone.rules().to_datetime(at)),
            Self::Utc(at) => Some(zone.rules().to_datetime(*at)),
        }
    }
}

/// The first line of this name as text, without control characters.
pub(super) fn first_text(component: &ICalendarComponent, name: &ICalendarProperty) -> Option<String> {
    let value = component.property(name)?.values.first()?;
    let text = match value {
        ICalendarValue::Text(text) => text.as_str(),
        ICalendarValue::Uri(Uri::Location(uri)) => uri.as_str(),
        value => value.as_text()?,
    };
    let is_kept = |letter: &char| !letter.is_control() || *letter == '\n' || *letter == '\t';
    Some(text.chars().filter(is_kept).collect())
}

/// The first line of this name as a number.
pub(super) fn first_number(component: &ICalendarComponent, name: &ICalendarProperty) -> Option<i64> {
    match component.property(name)?.values.first()? {
        ICalendarValue::Integer(number) => Some(*number),
        ICalendarValue::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The first line of this name as a duration in seconds. A day is 24 hours.
pub(super) fn first_duration(component: &ICalendarComponent, name: &ICalendarProperty) -> Option<i64> {
    match component.property(name)?.values.first()? {
        ICalendarValue::Duration(duration) => Some(seconds(duration)),
        ICalendarValue::Text(text) => ICalendarDuration::parse(text.trim().as_bytes()).map(|found| seconds(&found)),
        _ => None,
    }
}

/// A duration in seconds. A day is 24 hours.
pub(super) fn seconds(duration: &ICalendarDuration) -> i64 {
    let days = i64::from(duration.weeks) * 7 + i64::from(duration.days);
    let time = i64::from(duration.hours) * 3600 + i64::from(duration.minutes) * 60 + i64::from(duration.seconds);
    let all = days * 86_400 + time;
    if duration.neg { -all } else { all }
}

/// The mail address of an organizer or attendee.
pub(super) fn mail(entry: &ICalendarEntry) -> Option<String> {
    let by_parameter = entry.params.iter().find_map(|param| match (&param.name, &param.value) {
        (ICalendarParameterName::Email, ICalendarParameterValue::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    let by_value = entry.values.first().and_then(|value| match value {
        ICalendarValue::Uri(Uri::Location(uri)) | ICalendarValue::Text(uri) => {
            let (scheme, address) = uri.split_once(':')?;
            scheme.eq_ignore_ascii_case("mailto").then_some(address)
        }
        _ => None,
    });
    by_value.or(by_parameter).map(|address| address.trim().to_lowercase()).filter(|address| address.contains('@'))
}

/// The times of a line; the error names the line.
pub(super) fn times(entry: &ICalendarEntry, zones: &Zones<'_>) -> Result<Vec<Time>, String> {
    let name = entry.name.as_str();
    let tzid = entry.params.iter().find_map(|param| match (&param.name, &param.value) {
        (ICalendarParameterName::Tzid, ICalendarParameterValue::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    let one = |value: &ICalendarValue| {
        let said = match value {
            ICalendarValue::PartialDateTime(said) => said.as_ref(),
            ICalendarValue::Period(ICalendarPeriod::Range { start, .. } | ICalendarPeriod::Duration { start, .. }) => {
                start
            }
            other => {
                let text = other.as_text().unwrap_or_default();
                return Err(format!("{name}: `{}` is not a time", shown(text)));
            }
        };
        time(said, tzid, zones).map_err(|problem| format!("{name}: {problem}"))
    };
    if entry.values.is_empty() {
        return Err(format!("{name}: is empty"));
    }
    entry.values.iter().map(one).collect()
}

/// The one time of the first line of this name, if there is one.
pub(super) fn first_time(
    component: &ICalendarComponent,
    name: &ICalendarProperty,
    zones: &Zones<'_>,
) -> Result<Option<Time>, String> {
    let Some(entry) = component.property(name) else { return Ok(None) };
    Ok(times(entry, zones)?.into_iter().next())
}

fn time(said: &PartialDateTime, tzid: Option<&str>, zones: &Zones<'_>) -> Result<Time, String> {
    let none = || "is not a time".to_owned();
    let (Some(year), Some(month), Some(day)) = (said.year, said.month, said.day) else { return Err(none()) };
    let small = |number: u8| i8::try_from(number).map_err(|_| none());
    let year = i16::try_from(year).map_err(|_| none())?;
    let date = Date::new(year, small(month)?, small(day)?).map_err(|error| error.to_string())?;
    let Some(hour) = said.hour else { return Ok(Time::Day(date)) };
    // A leap second counts as the one before it.
    let (minute, second) = (said.minute.unwrap_or(0), said.second.unwrap_or(0).min(59));
    let time =
        jiff::civil::Time::new(small(hour)?, small(minute)?, small(second)?, 0).map_err(|error| error.to_string())?;
    let local = date.to_datetime(time);
    if let Some(hours) = said.tz_hour {
        let ahead = i32::from(hours) * 3600 + i32::from(said.tz_minute.unwrap_or(0)) * 60;
        let offset = jiff::tz::Offset::from_seconds(if said.tz_minus { -ahead } else { ahead }).map_err(|_| none())?;
        return offset.to_timestamp(local).map(Time::Utc).map_err(|error| error.to_string());
    }
    match tzid {
        None => Ok(Time::Floating(local)),
        Some(name) => zones.get(name).map(|zone| Time::Zoned(local, zone)),
    }
}

/// The beginning of a text, for an error.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
