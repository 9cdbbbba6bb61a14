//! Time zones by name.
//!
//! A zone is an IANA name or a fixed offset such as `-02:00`. Rules are kept under the name they were
//! given, because the name is what survives an update of the zone database.

use std::fmt;

use jiff::tz::{Offset, TimeZone};

use crate::invalid::Invalid;

/// A time zone and the name it was asked for by.
#[derive(Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

impl Zone {
    /// Coordinated Universal Time.
    pub fn utc() -> Self {
        Self { name: "UTC".into(), rules: TimeZone::UTC }
    }

    /// Looks up an IANA name, or reads a fixed offset such as `+05:45`.
    ///
    /// A name that does not exist is answered with the nearest ones that do.
    pub fn named(name: &str) -> Result<Self, Invalid> {
        if let Some(offset) = fixed_offset(name) {
            return Ok(Self { name: name.to_owned(), rules: TimeZone::fixed(offset) });
        }
        match TimeZone::get(name) {
            // The database ignores case; its own spelling is the one to keep.
            Ok(rules) => Ok(Self { name: rules.iana_name().unwrap_or(name).to_owned(), rules }),
            Err(_) => Err(Invalid::new("timezone", unknown(name))),
        }
    }

    /// The name as stored and shown.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rules behind the name.
    pub fn rules(&self) -> &TimeZone {
        &self.rules
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn fixed_offset(text: &str) -> Option<Offset> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "00"));
    if hours.len() != 2 || minutes.len() != 2 || !rest.bytes().all(|b| b.is_ascii_digit() || b == b':') {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    if hours > 18 || minutes > 59 {
        return None;
    }
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

fn unknown(name: &str) -> String {
    let near = nearest(name, 3);
    match near.as_slice() {
        [] => {
            format!("unknown time zone `{name}`; use an IANA name such as Europe/Berlin, or an offset such as +02:00")
        }
        near => format!("unknown time zone `{name}`; did you mean {}?", near.join(", ")),
    }
}

/// The existing names closest to `name`, best first: the whole name, or its city, may be misspelt.
pub fn nearest(name: &str, limit: usize) -> Vec<String> {
    let wanted = name.to_lowercase().replace([' ', '-'], "_");
    let city_of = |zone: &str| zone.rsplit('/').next().unwrap_or(zone).to_owned();
    let wanted_city = city_of(&wanted);
    let mut scored: Vec<(f64, String)> = jiff::tz::db()
        .available()
        .map(|zone| zone.as_str().to_owned())
        .filter(|zone| !zone.starts_with("Etc/") && !zone.starts_with("posix") && !zone.starts_with("right"))
        .map(|zone| {
            let lower = zone.to_lowercase();
            let whole = strsim::jaro_winkler(&wanted, &lower);
            let city = strsim::jaro_winkler(&wanted_city, &city_of(&lower));
            (0.4 * whole + 0.6 * city, zone)
        })
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.into_iter().take(limit).map(|(_, zone)| zone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_offsets_and_case() {
        assert_eq!(Zone::named("Europe/Berlin").unwrap().name(), "Europe/Berlin");
        assert_eq!(Zone::named("europe/berlin").unwrap().name(), "Europe/Berlin");
        assert_eq!(Zone::named("-02:00").unwrap().name(), "-02:00");
        assert!(Zone::named("+99:00").is_err());
        assert!(Zone::named("").is_err());
    }

    #[test]
    fn a_misspelt_zone_is_answered_with_the_nearest() {
        for (wrong, right) in [
            ("Europe/Berln", "Europe/Berlin"),
            ("Berlin", "Europe/Berlin"),
            ("Europe/Zagrebb", "Europe/Zagreb"),
            ("new york", "America/New_York"),
        ] {
            let error = Zone::named(wrong).unwrap_err();
            assert!(error.problem.contains(right), "{wrong}: {error}");
        }
    }
}
