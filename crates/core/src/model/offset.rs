//! How long before or after an event somebody is reminded of it.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Number, Value, json};

use crate::invalid::{Faults, Invalid};
use crate::span;

/// The most offsets of one event, or of one scope.
pub const OFFSETS_MAX: usize = 32;
/// The furthest an offset reaches: 366 days.
const SECONDS_MAX: i64 = 366 * 86_400;

/// What an offset that cannot be read is answered with.
const EXAMPLES: &str = r#"write minutes before the start such as 60, a span such as "PT15M", "1d" or "-30m", or {"after":"end","by":"10m"}"#;

/// How long before (negative: after) which end of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Offset {
    /// Of which end.
    pub of: End,
    /// How long before it; negative is after it.
    pub before_seconds: i64,
}

/// The ends of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// When it starts.
    Start,
    /// When it ends.
    End,
}

impl Offset {
    /// So many minutes before the start; negative is after it.
    pub fn minutes_before(minutes: i64) -> Self {
        Self { of: End::Start, before_seconds: minutes.saturating_mul(60) }
    }

    /// Reads one offset: a number of minutes before the start, a span as text (`15m`, `1d`, `PT15M`, each with `-` for after the start;
    /// `end+10m`, `end-10m` for after and before the end), or `{"before"|"after": "start"|"end", "by": SPAN}`.
    ///
    /// The problem is a fragment that says what would be right.
    pub fn read(value: &Value) -> Result<Self, String> {
        let offset = match value {
            Value::Number(number) => Self { of: End::Start, before_seconds: seconds_of_minutes(number)? },
            Value::String(text) => Self::parse(text)?,
            Value::Object(fields) => Self::read_object(fields)?,
            _ => return Err(format!("`{value}` is no offset; {EXAMPLES}")),
        };
        if offset.before_seconds.abs() > SECONDS_MAX {
            return Err(format!("`{offset}` is more than 366 days"));
        }
        Ok(offset)
    }

    /// Reads an offset as text: also minutes, as a command line has them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("end") {
            let (sign, span) = match rest.as_bytes().first() {
                None => return Ok(Self { of: End::End, before_seconds: 0 }),
                Some(b'+') => (-1, &rest[1..]),
                Some(b'-') => (1, &rest[1..]),
                Some(_) => return Err(format!("`{text}` is no offset; {EXAMPLES}")),
            };
            return Ok(Self { of: End::End, before_seconds: sign * seconds(span)? });
        }
        let (sign, span) = match text.strip_prefix('-') {
            Some(span) => (-1, span),
            None => (1, text),
        };
        if let Ok(minutes) = span.parse::<u32>() {
            return Ok(Self::minutes_before(sign * i64::from(minutes)));
        }
        Ok(Self { of: End::Start, before_seconds: sign * seconds(span)? })
    }

    fn read_object(fields: &serde_json::Map<String, Value>) -> Result<Self, String> {
        let wrong = || format!("has unknown or missing fields; {EXAMPLES}");
        let (sign, of) = match (fields.get("before"), fields.get("after")) {
            (Some(of), None) => (1, of),
            (None, Some(of)) => (-1, of),
            _ => return Err(wrong()),
        };
        let of = match of.as_str() {
            Some("start") => End::Start,
            Some("end") => End::End,
            _ => return Err(format!("`{of}` is no end of an event; write start or end")),
        };
        let (Some(Value::String(by)), 2) = (fields.get("by"), fields.len()) else { return Err(wrong()) };
        Ok(Self { of, before_seconds: sign * seconds(by)? })
    }

    /// Its name: the same for every way to write it.
    pub fn word(self) -> String {
        let Self { of, before_seconds } = self;
        let sign = if before_seconds < 0 { "-" } else { "" };
        let by = before_seconds.unsigned_abs();
        match of {
            End::Start if by.is_multiple_of(60) => format!("{sign}{}", by / 60),
            End::Start => format!("{sign}PT{by}S"),
            End::End if before_seconds > 0 => format!("end-{}", span::format(Duration::from_secs(by))),
            End::End => format!("end+{}", span::format(Duration::from_secs(by))),
        }
    }

    /// As the API shows it.
    pub fn to_value(self) -> Value {
        let by = self.before_seconds.unsigned_abs();
        match (self.of, self.before_seconds) {
            (End::Start, before) if by.is_multiple_of(60) => json!(before / 60),
            (End::Start, _) => json!(self.word()),
            (End::End, 1..) => json!({ "before": "end", "by": span::format(Duration::from_secs(by)) }),
            (End::End, _) => json!({ "after": "end", "by": span::format(Duration::from_secs(by)) }),
        }
    }

    /// The minutes before, which are negative after; a fraction where they are not whole.
    pub fn minutes(self) -> f64 {
        // An offset has at most eight digits.
        self.before_seconds as f64 / 60.0
    }

    /// The same as JSON has it: whole ones without a point.
    pub fn number(self) -> Number {
        let whole = Number::from(self.before_seconds / 60);
        if self.before_seconds % 60 == 0 { whole } else { Number::from_f64(self.minutes()).unwrap_or(whole) }
    }

    /// When it is, for an event from `starts_at` to `ends_at`; `None` of an end that there is not, or beyond the calendar.
    pub fn instant(self, starts_at: Timestamp, ends_at: Option<Timestamp>) -> Option<Timestamp> {
        let anchor = match self.of {
            End::Start => starts_at,
            End::End => ends_at?,
        };
        anchor.checked_sub(SignedDuration::from_secs(self.before_seconds)).ok()
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word())
    }
}

/// Reads a list of offsets, which stands in `field`, as it is kept: each once, the one that is longest before first.
pub fn read_list(field: &str, value: &Value) -> Result<Vec<Offset>, Invalid> {
    let Value::Array(values) = value else {
        return Err(Invalid::new(field, "is no list; write [60, 15] for one hour and a quarter of an hour before"));
    };
    let (mut offsets, mut faults) = (Vec::with_capacity(values.len()), Faults::default());
    for (index, value) in values.iter().enumerate() {
        let read = Offset::read(value).map_err(|problem| Invalid::new(format!("{field}[{index}]"), problem));
        offsets.extend(faults.note(read));
    }
    faults.finish()?;
    kept(field, offsets)
}

/// Offsets as they are kept: each once, the one that is longest before first.
pub fn kept(field: &str, mut offsets: Vec<Offset>) -> Result<Vec<Offset>, Invalid> {
    offsets.sort_unstable_by_key(|offset| (offset.of, -offset.before_seconds));
    offsets.dedup();
    if offsets.len() > OFFSETS_MAX {
        return Err(Invalid::new(field, format!("has {} entries; at most {OFFSETS_MAX}", offsets.len())));
    }
    Ok(offsets)
}

/// A list of offsets as a store keeps it: JSON as the API shows it.
pub fn to_stored(offsets: &[Offset]) -> String {
    Value::Array(offsets.iter().map(|offset| offset.to_value()).collect()).to_string()
}

/// Reads what [`to_stored`], or an application in SQL, wrote.
pub fn from_stored(text: &str) -> Result<Vec<Offset>, Invalid> {
    let value = serde_json::from_str(text).map_err(|error| Invalid::new("offsets", error.to_string()))?;
    read_list("offsets", &value)
}

/// Whole seconds of so many minutes.
fn seconds_of_minutes(number: &serde_json::Number) -> Result<i64, String> {
    let minutes = number.as_f64().filter(|minutes| minutes.abs() <= 1e9);
    let seconds = minutes.map(|minutes| minutes * 60.0).filter(|seconds| seconds.fract() == 0.0);
    // Checked: it is whole, and small enough.
    seconds.map(|seconds| seconds as i64).ok_or_else(|| format!("`{number}` is no number of whole seconds in minutes"))
}

/// The whole seconds of a span, in our form or in that of ISO 8601.
fn seconds(text: &str) -> Result<i64, String> {
    let whole = |span: Duration| match span.subsec_nanos() {
        0 => i64::try_from(span.as_secs()).map_err(|_| format!("`{text}` is too long")),
        _ => Err(format!("`{text}` is finer than a second")),
    };
    if !text.starts_with(['P', 'p']) {
        return whole(span::parse(text).map_err(|_| format!("`{text}` is no span; {EXAMPLES}"))?);
    }
    let span: jiff::Span = text.parse().map_err(|_| format!("`{text}` is no span; write PT15M, PT1H30M or P1D"))?;
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err(format!(
            "`{text}` has months or years, which are not always equally long; write days, such as P30D"
        ));
    }
    let days = i64::from(span.get_weeks()) * 7 + i64::from(span.get_days());
    let time = jiff::Span::new()
        .try_hours(span.get_hours())
        .and_then(|time| time.try_minutes(span.get_minutes()))
        .and_then(|time| time.try_seconds(span.get_seconds()))
        .and_then(|time| time.try_milliseconds(span.get_milliseconds()))
        .and_then(|time| time.try_microseconds(span.get_microseconds()))
        .and_then(|time| time.try_nanoseconds(span.get_nanoseconds()))
        .and_then(SignedDuration::try_from);
    let time = time.map_err(|_| format!("`{text}` is too long"))?;
    let time = whole(Duration::try_from(time).map_err(|_| format!("`{text}` is negative twice"))?)?;
    Ok(days.saturating_mul(86_400).saturating_add(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_offsets_in_many_ways_and_equal_ones_have_one_name() {
        for (value, word, seconds) in [
            (json!(60), "60", 3600),
            (json!("PT1H"), "60", 3600),
            (json!("1h"), "60", 3600),
            (json!("60"), "60", 3600),
            (json!({"before": "start", "by": "60m"}), "60", 3600),
            (json!(0), "0", 0),
            (json!(-30), "-30", -1800),
            (json!("-30m"), "-30", -1800),
            (json!("-PT30M"), "-30", -1800),
            (json!({"after": "start", "by": "30m"}), "-30", -1800),
            (json!(7.5), "PT450S", 450),
            (json!("-90s"), "-PT90S", -90),
            (json!("P1W"), "10080", 604_800),
            (json!("P1DT2H"), "1560", 93_600),
            (json!("1d"), "1440", 86_400),
            (json!({"after": "end", "by": "10m"}), "end+10m", -600),
            (json!("end+10m"), "end+10m", -600),
            (json!({"before": "end", "by": "PT5M"}), "end-5m", 300),
            (json!("end"), "end+0s", 0),
        ] {
            let offset = Offset::read(&value).unwrap_or_else(|problem| panic!("{value}: {problem}"));
            assert_eq!((offset.word().as_str(), offset.before_seconds), (word, seconds), "{value}");
            assert_eq!(Offset::read(&offset.to_value()), Ok(offset), "{value}: it is read as it is shown");
            assert_eq!(Offset::parse(&offset.word()), Ok(offset), "{value}: and as it is named");
        }
    }

    #[test]
    fn an_offset_that_cannot_be_meant_is_refused() {
        for (value, words) in [
            (json!(null), "`null` is no offset; write minutes"),
            (json!(true), "is no offset"),
            (json!("soon"), "`soon` is no span"),
            (json!("P1M"), "months or years"),
            (json!("PT0.5S"), "finer than a second"),
            (json!("500ms"), "finer than a second"),
            (json!(0.001), "no number of whole seconds"),
            (json!(527_041), "more than 366 days"),
            (json!("367d"), "more than 366 days"),
            (json!({"after": "end"}), "unknown or missing fields"),
            (json!({"after": "end", "by": "1m", "x": 1}), "unknown or missing fields"),
            (json!({"after": "middle", "by": "1m"}), "write start or end"),
            (json!("ende"), "is no offset"),
        ] {
            let problem = Offset::read(&value).unwrap_err();
            assert!(problem.contains(words), "{value}: {problem}");
        }
        let many = Value::Array((0..33).map(|n| json!(n)).collect());
        assert_eq!(read_list("offsets", &many).unwrap_err().to_string(), "offsets: has 33 entries; at most 32");
        assert_eq!(read_list("offsets", &json!([1, "x"])).unwrap_err().field, "offsets[1]");
        assert!(read_list("offsets", &json!(60)).is_err());
    }

    #[test]
    fn minutes_are_whole_where_they_can_be() {
        let table = [(3600, json!(60)), (0, json!(0)), (-1800, json!(-30)), (90, json!(1.5)), (-450, json!(-7.5))];
        for (before_seconds, expect) in table {
            assert_eq!(Value::Number(Offset { of: End::Start, before_seconds }.number()), expect);
        }
    }

    #[test]
    fn a_list_is_kept_in_order_and_once() {
        let offsets = read_list("offsets", &json!([15, "end+10m", "PT1H", -30, 60, "1h"])).unwrap();
        assert_eq!(to_stored(&offsets), r#"[60,15,-30,{"after":"end","by":"10m"}]"#);
        assert_eq!(from_stored(&to_stored(&offsets)), Ok(offsets));
    }
}
