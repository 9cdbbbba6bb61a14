//! Instants as people write them.

use jiff::civil::{DateTime, Time};
use jiff::{Timestamp, Zoned};

use super::{Rule, Schedule};
use crate::phrase::{self, Meaning};
use crate::span;
use crate::zone::Zone;

/// Reads an instant: a timestamp (`2026-03-02T08:00:00+01:00`), a local date and time in `zone` (`2026-03-02 08:00`), a span
/// from `now` (`5m`, `in 5m`), a clock time (`08:00`), which means the next such local time, or a phrase (`tomorrow at 8`).
///
/// The error is a fragment that says what would be right.
pub fn parse_instant(text: &str, zone: &Zone, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    let out_of_range = || format!("`{text}` is further away than the calendar goes");
    if text.is_empty() {
        return Err("is empty; write a timestamp, or a span such as 5m".into());
    }
    if let Some(written) = text.strip_prefix("in ").or_else(|| text.strip_prefix("In "))
        && let Ok(span) = span::parse(written)
    {
        return now.checked_add(span).map_err(|_| out_of_range());
    }
    if let Some(instant) = exact(text) {
        return Ok(instant);
    }
    if let Some(local) = local(text)? {
        return zone.rules().to_timestamp(local).map_err(|_| out_of_range());
    }
    if text.contains(':') && !text.contains(['-', ' ', 'T']) {
        let daily = Schedule::new(Rule::Daily { time: parse_clock(text)? });
        return daily.next_after(zone, now).ok_or_else(out_of_range);
    }
    match span::parse(text) {
        Ok(span) => now.checked_add(span).map_err(|_| out_of_range()),
        Err(problem) => match said(text, zone, now) {
            Err(_) if is_like_a_span(text) => Err(problem),
            said => said,
        },
    }
}

/// An instant in words, and nothing besides.
fn said(text: &str, zone: &Zone, now: Timestamp) -> Result<Timestamp, String> {
    let hint = "write `tomorrow at 8`, a span such as 5m, or a timestamp such as 2026-03-02T08:00:00+01:00";
    let parsed = phrase::parse(text, None, zone, now);
    if !matches!(parsed.meaning, Meaning::None { .. }) && !parsed.rest.is_empty() {
        return Err(format!("`{text}` says more than a time: `{}`; {hint}", parsed.rest));
    }
    match parsed.meaning {
        Meaning::Instant { at, .. } | Meaning::Duration { at, .. } => Ok(at),
        Meaning::Interval { from, .. } if from > now => Ok(from),
        Meaning::Interval { .. } => Err(format!("`{text}` says until when, but not when; {hint}")),
        Meaning::Recurring(_) => Err(format!("`{text}` comes again and again; make it a smart schedule")),
        Meaning::None { .. } => Err(format!("`{text}` is not a time; {hint}")),
    }
}

/// Reads a local time of day, `HH:MM` or `HH:MM:SS`.
pub(super) fn parse_clock(text: &str) -> Result<Time, String> {
    let wrong = || format!("`{text}` is not a time of day; write 08:00, or 20:00 for 8 in the evening");
    let is_number = |part: &&str| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<i8> = text
        .trim()
        .split(':')
        .map(|part| Some(part).filter(is_number).and_then(|part| part.parse().ok()).ok_or_else(wrong))
        .collect::<Result<_, _>>()?;
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return Err(wrong()),
    };
    Time::new(hour, minute, second, 0).map_err(|_| wrong())
}

/// An instant that needs no zone: with an offset, or with a zone of its own.
fn exact(text: &str) -> Option<Timestamp> {
    match text.contains('[') {
        true => text.parse::<Zoned>().ok().map(|zoned| zoned.timestamp()),
        false => text.parse::<Timestamp>().ok(),
    }
}

/// A local date and time. A date alone is refused, because which hour was meant would be a guess.
fn local(text: &str) -> Result<Option<DateTime>, String> {
    let is_date = text.len() >= 8 && text.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    if !is_date || text.contains('[') {
        return Ok(None);
    }
    match text.parse::<DateTime>() {
        Ok(_) if !text.contains(':') => Err(format!("`{text}` has no time of day; write it as 2026-03-02T08:00")),
        Ok(local) => Ok(Some(local)),
        Err(_) => Ok(None),
    }
}

fn is_like_a_span(text: &str) -> bool {
    text.len() < 16 && text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<&str, &str>) {
        let zone = Zone::named("Europe/Berlin").unwrap();
        let now = "2026-03-01T10:00:00+01:00".parse().unwrap();
        let got = parse_instant(text, &zone, now);
        match expect {
            Ok(at) => assert_eq!(got, Ok(at.parse().unwrap()), "{text}"),
            Err(part) => {
                let problem = got.expect_err(text);
                assert!(problem.contains(part), "{text}: {problem}");
            }
        }
    }

    #[test]
    fn an_instant_may_be_exact_local_or_relative() {
        for (text, at) in [
            ("2026-03-02T08:00:00+01:00", "2026-03-02T07:00:00Z"),
            ("2026-03-02T08:00:00.25Z", "2026-03-02T08:00:00.25Z"),
            ("2026-03-02T08:00:00+01:00[Europe/Berlin]", "2026-03-02T07:00:00Z"),
            ("2026-03-02T08:00[America/New_York]", "2026-03-02T13:00:00Z"),
            ("2026-03-02T08:00", "2026-03-02T07:00:00Z"),
            ("2026-03-02 08:00", "2026-03-02T07:00:00Z"),
            ("2026-03-02 08:00:30", "2026-03-02T07:00:30Z"),
            ("5m", "2026-03-01T09:05:00Z"),
            ("in 1h 30m", "2026-03-01T10:30:00Z"),
            ("2 hours", "2026-03-01T11:00:00Z"),
            ("11:00", "2026-03-01T10:00:00Z"),
            ("10:00", "2026-03-02T09:00:00Z"),
            ("8:00", "2026-03-02T07:00:00Z"),
            ("tomorrow at 8", "2026-03-02T07:00:00Z"),
            ("in half an hour", "2026-03-01T09:30:00Z"),
            ("morgen um 8", "2026-03-02T07:00:00Z"),
            ("sutra u 8", "2026-03-02T07:00:00Z"),
            ("20 minutes", "2026-03-01T09:20:00Z"),
        ] {
            check(text, Ok(at));
        }
    }

    #[test]
    fn a_local_time_in_a_gap_is_shifted_and_a_repeated_one_is_the_first() {
        check("2026-03-29T02:30", Ok("2026-03-29T01:30:00Z"));
        check("2026-10-25T02:30", Ok("2026-10-25T00:30:00Z"));
    }

    #[test]
    fn what_is_no_instant_is_answered_with_what_would_be_right() {
        for (text, part) in [
            ("5", "`5` has no unit"),
            ("-5m", "is negative"),
            ("", "is empty"),
            ("soon", "write `tomorrow at 8`"),
            ("2026-03-02", "has no time of day"),
            ("20260302", "has no time of day"),
            ("25:00", "is not a time of day"),
            ("8:5:", "is not a time of day"),
            ("2026-02-30T08:00", "write `tomorrow at 8`"),
            ("2026-03-02T08:00+99:00", "write `tomorrow at 8`"),
            ("tomorrow at 8 call mom", "says more than a time: `call mom`"),
            ("every day at 8", "comes again and again"),
            ("by friday", "says until when"),
            ("500000w", "further away than the calendar"),
            ("äöüäöüäöü", "write `tomorrow at 8`"),
        ] {
            check(text, Err(part));
        }
    }
}
