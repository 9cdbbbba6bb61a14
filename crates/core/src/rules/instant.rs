//! Instants as other systems' databases write them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

use crate::zone::Zone;

/// Numbers up to this are seconds since 1970, until the year 5138; larger ones are milliseconds, and still larger ones
/// microseconds.
const SECONDS_MAX: f64 = 1e11;
const MILLIS_MAX: f64 = 1e14;

/// Reads an instant as [`read`] does, and a day as its midnight in `zone`.
pub fn read_or_midnight(text: &str, zone: &Zone) -> Result<Timestamp, String> {
    let Ok(day) = text.trim().parse::<Date>() else { return read(text, zone) };
    if text.contains(':') {
        return read(text, zone);
    }
    zone.rules().to_timestamp(day.at(0, 0, 0, 0)).map_err(|_| format!("`{text}` is no instant"))
}

/// Reads an instant: with an offset, as a number since 1970, or as a local time in `zone`.
pub fn read(text: &str, zone: &Zone) -> Result<Timestamp, String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is no instant");
    if let Ok(number) = text.parse::<f64>() {
        return number_of(number).ok_or_else(wrong);
    }
    // `2026-03-02 08:00:00 UTC` and `… +0000 UTC`, as some languages print it.
    let bare = text.strip_suffix(" UTC").map(str::trim_end);
    let text_or_bare = bare.unwrap_or(text);
    if let Ok(at) = text_or_bare.parse::<Timestamp>() {
        return Ok(at);
    }
    let local: DateTime = text_or_bare.parse().map_err(|_| wrong())?;
    if !text.contains(':') {
        return Err(format!("`{text}` has no time of day"));
    }
    match bare {
        Some(_) => Zone::utc().rules().to_timestamp(local).map_err(|_| wrong()),
        None => zone.rules().to_timestamp(local).map_err(|_| wrong()),
    }
}

/// Whether a text is a number of milliseconds since 1970.
pub fn is_millis(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok_and(|number| number.abs() > SECONDS_MAX)
}

fn number_of(number: f64) -> Option<Timestamp> {
    let micros = match number.abs() {
        size if size <= SECONDS_MAX => number * 1e6,
        size if size <= MILLIS_MAX => number * 1e3,
        _ => number,
    };
    // An f64 holds every microsecond until the year 2255.
    if !micros.is_finite() {
        return None;
    }
    Timestamp::from_microsecond(micros.round() as i64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_database_writes_instants_in_its_own_way() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        for (text, at) in [
            ("2026-03-02 08:00:00+00", "2026-03-02T08:00:00Z"),
            ("2026-03-02 08:00:00.25+00", "2026-03-02T08:00:00.25Z"),
            ("2026-03-02T08:00:00Z", "2026-03-02T08:00:00Z"),
            ("2026-03-02T08:00:00.123456+01:00", "2026-03-02T07:00:00.123456Z"),
            ("2026-03-02 08:00:00", "2026-03-02T07:00:00Z"),
            ("2026-03-02 08:00", "2026-03-02T07:00:00Z"),
            ("2026-03-02 08:00:00 UTC", "2026-03-02T08:00:00Z"),
            ("1772438400", "2026-03-02T08:00:00Z"),
            ("1772438400.5", "2026-03-02T08:00:00.5Z"),
            ("1772438400000", "2026-03-02T08:00:00Z"),
            ("1772438400000000", "2026-03-02T08:00:00Z"),
        ] {
            assert_eq!(read(text, &zone), Ok(at.parse().unwrap()), "{text}");
        }
        for text in ["", "infinity", "soon", "2026-03-02", "2026-13-02 08:00", "1e400", "nan"] {
            assert!(read(text, &zone).is_err(), "{text}");
        }
    }

    #[test]
    fn a_day_is_its_midnight_where_that_is_asked_for() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        for (text, at) in [
            ("2026-03-02", "2026-03-01T23:00:00Z"),
            ("2026-03-02 08:00:00", "2026-03-02T07:00:00Z"),
            ("1772438400", "2026-03-02T08:00:00Z"),
            ("2026-03-02T08:00:00Z", "2026-03-02T08:00:00Z"),
        ] {
            assert_eq!(read_or_midnight(text, &zone), Ok(at.parse().unwrap()), "{text}");
        }
        for text in ["", "soon", "2026-02-30"] {
            assert!(read_or_midnight(text, &zone).is_err(), "{text}");
        }
    }
}
