//! Instants as people write them.

use jiff::civil::{Date, DateTime, Time};
use jiff::{Span, Timestamp, Zoned};

use super::{Rule, Schedule};
use crate::phrase::{self, Answer, Grain, Lang, Meaning};
use crate::span;
use crate::steps::Steps;
use crate::zone::Zone;

/// Reads an instant: a timestamp (`2026-03-02T08:00:00+01:00`), a local date and time in `zone` (`2026-03-02 08:00`), a span
/// from `now` (`5m`, `in 5m`), a clock time (`08:00`), which means the next such local time, or a phrase (`tomorrow at 8`).
///
/// The error is a fragment that says what would be right.
pub fn parse_instant(text: &str, zone: &Zone, now: Timestamp) -> Result<Timestamp, String> {
    parse_instant_within(text, zone, now, &Steps::of_request(1))
}

/// The longest text that is read as an instant, in bytes.
const INSTANT_BYTES_MAX: usize = 500;

/// The same as a part of a request that has so many steps left.
pub(super) fn parse_instant_within(
    text: &str,
    zone: &Zone,
    now: Timestamp,
    steps: &Steps,
) -> Result<Timestamp, String> {
    let text = text.trim();
    match written(text, zone, now)? {
        Some(at) => Ok(at),
        None => said(text, None, zone, now, steps).map_err(|problem| problem_of(text, problem)),
    }
}

/// One end of a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Where it begins.
    From,
    /// Where it ends; this instant is not part of it any more.
    To,
}

/// Reads one end of a stretch: an instant as [`parse_instant`] has it, or a day, week, month or year (`today`, `2026-11-16`,
/// `next week`), which is meant whole: `from` is its beginning and `to` is its end.
pub fn parse_end(text: &str, end: End, zone: &Zone, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    if let Some(date) = date(text) {
        return edge(date, Grain::Day, end, zone).ok_or_else(|| out_of_range(text));
    }
    if let Some(at) = written(text, zone, now)? {
        return Ok(at);
    }
    let parsed = phrase::parse(text, None, zone, now);
    match parsed.meaning {
        Meaning::Instant { at, grain, .. } if grain >= Grain::Day && parsed.rest.is_empty() => {
            let date = at.to_zoned(zone.rules().clone()).date();
            edge(date, grain, end, zone).ok_or_else(|| out_of_range(text))
        }
        Meaning::Instant { within: Some((from, to)), .. } | Meaning::Interval { from, to, .. }
            if parsed.rest.is_empty() =>
        {
            Ok(match end {
                End::From => from,
                End::To => to,
            })
        }
        _ => said(text, None, zone, now, &Steps::of_request(1)).map_err(|problem| problem_of(text, problem)),
    }
}

/// Reads until when something is put off: an instant as [`parse_instant`] has it, a length of time (`an hour`, `eine Stunde`, `sat
/// vremena`), or the end itself (`until friday at 8`, `bis Freitag um 8`, `do petka u 8`).
///
/// With `lang` that language is tried first.
pub fn parse_until(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    if let Some(at) = written(text, zone, now)? {
        return Ok(at);
    }
    let languages = lang.map(Some).into_iter().chain([None]);
    let mut understood = languages.filter_map(|lang| until_said(text, lang, zone, now));
    match understood.next() {
        Some(until) => Ok(until),
        None => said(text, lang, zone, now, &Steps::of_request(1)).map_err(|problem| problem_of(text, problem)),
    }
}

/// Until when, in words of one language, or of any.
fn until_said(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp) -> Option<Timestamp> {
    let parsed = phrase::parse(text, lang, zone, now);
    if let Meaning::Interval { from, to, .. } = parsed.meaning
        && from <= now
        && parsed.rest.is_empty()
    {
        return Some(to);
    }
    if let Ok(at) = said(text, lang, zone, now, &Steps::of_request(1)) {
        return Some(at);
    }
    // A bare length says when only where nothing but a time is expected, as in an answer to a reminder.
    let answer = |text: &str| match phrase::answer(text, lang, zone, now) {
        Some(Answer::Snooze { until }) => until,
        _ => None,
    };
    let is_slavic = matches!(lang, Some(Lang::Hr | Lang::Sr | Lang::Bs));
    // `sat` alone is an hour there, and a Saturday in English.
    answer(text).or_else(|| if is_slavic { answer(&format!("jedan {text}")) } else { None })
}

/// An instant that is written and not said: with digits, or as a span.
fn written(text: &str, zone: &Zone, now: Timestamp) -> Result<Option<Timestamp>, String> {
    if text.len() > INSTANT_BYTES_MAX {
        let length = text.len();
        return Err(format!(
            "is {length} bytes long, too long for a time; write `tomorrow at 8`, or a span such as 5m"
        ));
    }
    let out_of_range = || out_of_range(text);
    if text.is_empty() {
        return Err("is empty; write a timestamp, or a span such as 5m".into());
    }
    if let Some(written) = text.strip_prefix("in ").or_else(|| text.strip_prefix("In "))
        && let Ok(span) = span::parse(written)
    {
        return now.checked_add(span).map(Some).map_err(|_| out_of_range());
    }
    if let Some(instant) = exact(text) {
        return Ok(Some(instant));
    }
    if let Some(local) = local(text)? {
        return zone.rules().to_timestamp(local).map(Some).map_err(|_| out_of_range());
    }
    if text.contains(':') && !text.contains(['-', ' ', 'T']) {
        let daily = Schedule::new(Rule::Daily { time: parse_clock(text)? });
        return daily.next_after(zone, now).map(Some).ok_or_else(out_of_range);
    }
    match span::parse(text) {
        Ok(span) => now.checked_add(span).map(Some).map_err(|_| out_of_range()),
        Err(_) => Ok(None),
    }
}

fn out_of_range(text: &str) -> String {
    format!("`{text}` is further away than the calendar goes")
}

/// The problem of a text that is no instant in words; where it looks like a span, the problem of the span.
fn problem_of(text: &str, said: String) -> String {
    match span::parse(text) {
        Err(problem) if is_like_a_span(text) => problem,
        _ => said,
    }
}

/// An instant in words, and nothing besides.
fn said(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp, steps: &Steps) -> Result<Timestamp, String> {
    let hint = "write `tomorrow at 8`, a span such as 5m, or a timestamp such as 2026-03-02T08:00:00+01:00";
    let parsed = phrase::parse_within(text, lang, zone, now, steps);
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

/// A date without a time of day, such as `2026-11-16`.
fn date(text: &str) -> Option<Date> {
    let is_date = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains([':', '[', 'T', ' ']);
    text.parse().ok().filter(|_| is_date)
}

/// Where the day, week, month, quarter or year of `date` begins, or where the next one does.
fn edge(date: Date, grain: Grain, end: End, zone: &Zone) -> Option<Timestamp> {
    let (first, length) = match grain {
        Grain::Week => {
            (date.checked_sub(Span::new().days(date.weekday().to_monday_zero_offset())).ok()?, Span::new().days(7))
        }
        Grain::Month => (date.first_of_month(), Span::new().months(1)),
        Grain::Quarter => {
            let month = (date.month() - 1) / 3 * 3 + 1;
            (Date::new(date.year(), month, 1).ok()?, Span::new().months(3))
        }
        Grain::Year => (date.first_of_year(), Span::new().years(1)),
        Grain::Day | Grain::Hour | Grain::Minute | Grain::Second => (date, Span::new().days(1)),
    };
    let day = match end {
        End::From => first,
        End::To => first.checked_add(length).ok()?,
    };
    // Where the clocks skip midnight, the day begins when they go on.
    day.to_zoned(zone.rules().clone()).ok()?.start_of_day().ok().map(|day| day.timestamp())
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
    let text = text.trim_start_matches('-');
    text.len() < 16 && text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains('-')
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
    fn a_day_is_meant_whole() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        let read = |text: &str, end, now: &str| parse_end(text, end, &zone, now.parse().unwrap());
        let now = "2026-11-15T10:00:00+01:00";
        for (text, from, to) in [
            ("today", "2026-11-15T00:00+01", "2026-11-16T00:00+01"),
            ("tomorrow", "2026-11-16T00:00+01", "2026-11-17T00:00+01"),
            ("yesterday", "2026-11-14T00:00+01", "2026-11-15T00:00+01"),
            ("2026-11-16", "2026-11-16T00:00+01", "2026-11-17T00:00+01"),
            ("20261116", "2026-11-16T00:00+01", "2026-11-17T00:00+01"),
            ("heute", "2026-11-15T00:00+01", "2026-11-16T00:00+01"),
            ("sutra", "2026-11-16T00:00+01", "2026-11-17T00:00+01"),
            ("monday", "2026-11-16T00:00+01", "2026-11-17T00:00+01"),
            ("24 december", "2026-12-24T00:00+01", "2026-12-25T00:00+01"),
            ("next week", "2026-11-16T00:00+01", "2026-11-23T00:00+01"),
            ("next month", "2026-12-01T00:00+01", "2027-01-01T00:00+01"),
            // A day of 25 hours, and one of 23.
            ("2026-10-25", "2026-10-25T00:00+02", "2026-10-26T00:00+01"),
            ("2027-03-28", "2027-03-28T00:00+01", "2027-03-29T00:00+02"),
            // A day with a time of day is an instant.
            ("tomorrow at 8", "2026-11-16T08:00+01", "2026-11-16T08:00+01"),
            ("2026-11-16T08:00", "2026-11-16T08:00+01", "2026-11-16T08:00+01"),
            ("2h", "2026-11-15T12:00+01", "2026-11-15T12:00+01"),
            ("14:30", "2026-11-15T14:30+01", "2026-11-15T14:30+01"),
        ] {
            let at = |text: &str| Ok(text.replace("+0", ":00+0").parse::<Timestamp>().unwrap());
            assert_eq!((read(text, End::From, now), read(text, End::To, now)), (at(from), at(to)), "{text}");
        }
        let late = "2026-11-15T23:59:45+01:00";
        assert_eq!(read("today", End::To, late), Ok("2026-11-16T00:00:00+01:00".parse().unwrap()), "until midnight");
        let beirut = Zone::named("Asia/Beirut").unwrap();
        let begins = parse_end("2026-03-29", End::From, &beirut, now.parse().unwrap());
        assert_eq!(begins, Ok("2026-03-29T01:00:00+03:00".parse().unwrap()), "a day without midnight");
        for (text, part) in [
            ("2026-02-30", "is not a time"),
            ("5", "`5` has no unit"),
            ("soon", "write `tomorrow at 8`"),
            ("", "is empty"),
        ] {
            let problem = read(text, End::To, now).expect_err(text);
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }

    #[test]
    fn something_is_put_off_for_a_length_or_until_an_end() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        let now: Timestamp = "2026-11-15T10:00:00+01:00".parse().unwrap();
        let until = |text: &str, lang: Option<Lang>| parse_until(text, lang, &zone, now);
        let hour = "2026-11-15T11:00:00+01:00";
        let friday = "2026-11-20T08:00:00+01:00";
        for (text, expect) in [
            ("an hour", hour),
            ("one hour", hour),
            ("1h", hour),
            ("for an hour", hour),
            ("eine Stunde", hour),
            ("noch eine Stunde", hour),
            ("sat vremena", hour),
            ("jedan sat", hour),
            ("još sat vremena", hour),
            ("сат времена", hour),
            ("in an hour", hour),
            ("11:00", hour),
            ("a day", "2026-11-16T10:00:00+01:00"),
            ("einen Tag", "2026-11-16T10:00:00+01:00"),
            ("an hour and a half", "2026-11-15T11:30:00+01:00"),
            ("half an hour", "2026-11-15T10:30:00+01:00"),
            ("until friday at 8", friday),
            ("friday at 8", friday),
            ("bis Freitag um 8", friday),
            ("do petka u 8", friday),
            ("до петка у 8", friday),
            ("until 14:30", "2026-11-15T14:30:00+01:00"),
            ("until tomorrow", "2026-11-16T09:00:00+01:00"),
            ("2026-11-20T08:00", friday),
        ] {
            for lang in [None, Some(Lang::En), Some(Lang::De), Some(Lang::Hr), Some(Lang::Sr)] {
                assert_eq!(until(text, lang), Ok(expect.parse().unwrap()), "{text} {lang:?}");
            }
        }
        assert_eq!(until("sat", Some(Lang::Hr)), Ok(hour.parse().unwrap()), "an hour");
        assert_eq!(until("sat", None), Ok("2026-11-21T09:00:00+01:00".parse().unwrap()), "a Saturday");
        for (text, part) in [
            ("later", "write `tomorrow at 8`"),
            ("done", "write `tomorrow at 8`"),
            ("5", "`5` has no unit"),
            ("an hour to call mom", "is not a time"),
            ("every hour", "comes again and again"),
            ("", "is empty"),
        ] {
            let problem = until(text, None).expect_err(text);
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }

    #[test]
    fn a_local_time_in_a_gap_is_shifted_and_a_repeated_one_is_the_first() {
        check("2026-03-29T02:30", Ok("2026-03-29T01:30:00Z"));
        check("2026-10-25T02:30", Ok("2026-10-25T00:30:00Z"));
    }

    #[test]
    fn a_text_that_is_no_instant_is_answered_with_what_would_be_right() {
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
            ("until friday", "says until when"),
            ("500000w", "further away than the calendar"),
            ("äöüäöüäöü", "write `tomorrow at 8`"),
        ] {
            check(text, Err(part));
        }
    }
}
