//! Spans such as `5m` or `1h30m`, as people write them.
//!
//! A day is 24 hours and a week is seven of them: a span is elapsed time and knows nothing of zones.

use std::time::Duration;

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const DAY_SECONDS: u64 = 86_400;
const WEEK_SECONDS: u64 = 7 * DAY_SECONDS;

/// Reads a span: numbers with units, biggest first or not, with or without spaces.
///
/// The error is a sentence fragment that says what would be right. A number without a unit is refused, because
/// seconds and minutes are equally likely guesses.
pub fn parse(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err("is empty; write a span such as 5m, 2h or 1d".into());
    }
    if trimmed.starts_with(['-', '−']) {
        return Err(format!("`{trimmed}` is negative; write a span such as 5m, 2h or 1d"));
    }
    let too_long = || format!("`{trimmed}` is too long; write a span such as 5m, 2h or 1d");
    let mut total: u128 = 0;
    let mut rest = trimmed;
    while !rest.is_empty() {
        let (number, after_number) = split_at_end_of(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, after_unit) = split_at_end_of(after_number.trim_start(), char::is_alphabetic);
        if number.is_empty() {
            return Err(format!("`{trimmed}` is not a span; write 5m, 2h or 1h30m"));
        }
        if unit.is_empty() {
            // A span of nothing is hardly ever right.
            let is_nothing = number.chars().all(|c| matches!(c, '0' | '.'));
            let meant = if is_nothing { "5" } else { number };
            return Err(match rest == trimmed && after_unit.is_empty() {
                true => format!("`{number}` has no unit; write {meant}m, 2h or 1d"),
                false => format!("`{number}` in `{trimmed}` has no unit; write 5m, 2h or 1d"),
            });
        }
        let unit_nanos = unit_nanos(unit)
            .ok_or_else(|| format!("`{unit}` in `{trimmed}` is not a unit; use s, m, h, d or w, such as 1h30m"))?;
        total = times(number, unit_nanos)
            .map_err(|()| format!("`{number}` in `{trimmed}` is not a number; write 5m or 1.5h"))?
            .and_then(|nanos| total.checked_add(nanos))
            .ok_or_else(too_long)?;
        rest = after_unit.trim_start();
    }
    let seconds = u64::try_from(total / NANOS_PER_SECOND).map_err(|_| too_long())?;
    Ok(Duration::new(seconds, (total % NANOS_PER_SECOND) as u32))
}

/// Writes the canonical form, such as `1h30m`, which [`parse`] reads back to the same span.
pub fn format(span: Duration) -> String {
    let seconds = span.as_secs();
    if span.is_zero() {
        return "0s".into();
    }
    // Weeks only when nothing is left over: nobody reads `1w1d` faster than `8d`.
    if span.subsec_nanos() == 0 && seconds.is_multiple_of(WEEK_SECONDS) {
        return format!("{}w", seconds / WEEK_SECONDS);
    }
    let nanos = span.subsec_nanos();
    let parts = [
        (seconds / DAY_SECONDS, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
        (u64::from(nanos / 1_000_000), "ms"),
        (u64::from(nanos / 1000 % 1000), "us"),
        (u64::from(nanos % 1000), "ns"),
    ];
    parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect()
}

/// Says a span roughly, biggest unit only and to the nearest: `12 s`, `4 min`, `2 h`, `3 days`.
pub fn rough(span: Duration) -> String {
    let seconds = span.as_secs();
    let nearest = |unit: u64| (seconds + unit / 2) / unit;
    if seconds < 60 {
        format!("{seconds} s")
    } else if nearest(60) < 60 {
        format!("{} min", nearest(60))
    } else if nearest(3600) < 24 {
        format!("{} h", nearest(3600))
    } else if nearest(DAY_SECONDS) == 1 {
        "1 day".into()
    } else {
        format!("{} days", nearest(DAY_SECONDS))
    }
}

/// Says how late something is: minutes under an hour, hours under two days, days from there on.
pub fn late(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..3600 => format!("{}m", seconds / 60),
        seconds if seconds < 2 * DAY_SECONDS => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / DAY_SECONDS),
    }
}

fn split_at_end_of(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

fn unit_nanos(unit: &str) -> Option<u128> {
    Some(match unit.to_lowercase().as_str() {
        "ns" => 1,
        "us" | "µs" | "μs" => 1000,
        "ms" | "millisecond" | "milliseconds" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => NANOS_PER_SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => 60 * NANOS_PER_SECOND,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600 * NANOS_PER_SECOND,
        "d" | "day" | "days" => u128::from(DAY_SECONDS) * NANOS_PER_SECOND,
        "w" | "wk" | "wks" | "week" | "weeks" => u128::from(WEEK_SECONDS) * NANOS_PER_SECOND,
        _ => return None,
    })
}

/// `number` units in nanoseconds; `Ok(None)` when that is too many, `Err` when it is no number.
fn times(number: &str, unit_nanos: u128) -> Result<Option<u128>, ()> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(());
    }
    // Beyond nine digits a fraction is finer than anything a timer can tell apart.
    let fraction = &fraction[..fraction.len().min(9)];
    let scale = 10_u128.pow(fraction.len() as u32);
    let part = fraction.parse::<u128>().map_err(|_| ())? * unit_nanos / scale;
    let whole = whole.parse::<u128>().ok().and_then(|whole| whole.checked_mul(unit_nanos));
    Ok(whole.and_then(|whole| whole.checked_add(part)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn people_write_spans_in_many_ways() {
        for (text, seconds) in [
            ("5m", 300.0),
            ("1h30m", 5400.0),
            ("90s", 90.0),
            ("2 hours", 7200.0),
            ("1d", 86_400.0),
            ("1w", 604_800.0),
            ("500ms", 0.5),
            ("1h 30m", 5400.0),
            ("5 min", 300.0),
            ("5 minutes", 300.0),
            (" 5M ", 300.0),
            ("1.5h", 5400.0),
            ("0s", 0.0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
    }

    #[test]
    fn a_wrong_span_is_answered_with_what_would_be_right() {
        for (text, problem) in [
            ("5", "`5` has no unit; write 5m, 2h or 1d"),
            ("0", "`0` has no unit; write 5m, 2h or 1d"),
            ("1h30", "`30` in `1h30` has no unit; write 5m, 2h or 1d"),
            ("", "is empty; write a span such as 5m, 2h or 1d"),
            ("-5m", "`-5m` is negative; write a span such as 5m, 2h or 1d"),
            ("soon", "`soon` is not a span; write 5m, 2h or 1h30m"),
            ("5 mo", "`mo` in `5 mo` is not a unit; use s, m, h, d or w, such as 1h30m"),
            ("1..5h", "`1..5` in `1..5h` is not a number; write 5m or 1.5h"),
            ("99999999999999999999999w", "`99999999999999999999999w` is too long; write a span such as 5m, 2h or 1d"),
        ] {
            assert_eq!(parse(text), Err(problem.to_owned()), "{text}");
        }
        let digits = "9".repeat(60) + "s";
        assert!(parse(&digits).unwrap_err().contains("too long"));
    }

    #[test]
    fn the_canonical_form_is_short() {
        for (text, canonical) in [
            ("90m", "1h30m"),
            ("300s", "5m"),
            ("24h", "1d"),
            ("8d", "8d"),
            ("14d", "2w"),
            ("500ms", "500ms"),
            ("0m", "0s"),
        ] {
            assert_eq!(format(parse(text).unwrap()), canonical);
        }
    }

    #[test]
    fn people_are_told_the_biggest_unit_only_and_lateness_is_never_exaggerated() {
        let seconds = Duration::from_secs;
        for (span, roughly, lateness) in [
            (seconds(12), "12 s", "0m"),
            (seconds(4 * 60 + 59), "5 min", "4m"),
            (seconds(45 * 60), "45 min", "45m"),
            (seconds(3600 - 10), "1 h", "59m"),
            (seconds(2 * 3600 - 1), "2 h", "1h"),
            (seconds(35 * 3600), "1 day", "35h"),
            (seconds(47 * 3600), "2 days", "47h"),
            (seconds(3 * DAY_SECONDS), "3 days", "3d"),
        ] {
            assert_eq!((rough(span).as_str(), late(span).as_str()), (roughly, lateness));
        }
    }

    proptest! {
        #[test]
        fn a_formatted_span_parses_back(seconds: u64, nanos in 0..1_000_000_000_u32) {
            let span = Duration::new(seconds, nanos);
            prop_assert_eq!(parse(&format(span)), Ok(span));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9a-zµ .\\-]{0,40}") {
            let _ = parse(&text);
        }
    }
}
