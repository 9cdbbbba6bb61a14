//! Cron expressions.
//!
//! Five fields, or six with seconds first; lists, ranges (also around the end, as in `22-2`), steps, names, `L`,
//! `L-3`, `15W`, `LW`, `5L`, `5#3`, `?` and nicknames such as `@daily`. When day of month and day of week are both
//! restricted, either suffices, as in every cron since Vixie's.
//!
//! # Across a change of the clocks
//!
//! An expression of fixed times is like any other rule about local time: see `local.rs`. One with a `*`, a range or a step
//! in its time fields is an interval to the person who wrote it, and runs through both passes of a repeated hour. One
//! for every hour (`*/15 * * * *`) follows the new clock alone when an hour is skipped, and needs no shifting.
//!
//! The `croner` crate is not used: it moves a skipped time to the end of the gap instead of shifting it, gives up on gaps over
//! two hours, loses the skipped times of lists such as `0 2,14 * * *`, takes `MON` for a day of the month, and
//! its errors do not say which field is wrong.

mod field;
mod rules;

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};

use self::field::Fields;
use super::local::{AcrossChange, next_instant};
use crate::invalid::Invalid;
use crate::steps::Steps;
use crate::zone::Zone;

/// The longest expression that is read.
const EXPR_BYTES_MAX: usize = 512;
/// How far ahead a matching date is looked for. The rarest date, a fifth Monday of February, comes within 40 years.
const SEARCH_YEARS: i16 = 50;

/// A cron expression that is due at some time.
#[derive(Clone)]
pub struct CronExpr {
    text: Box<str>,
    fields: Fields,
}

impl CronExpr {
    /// Reads an expression. The error names the field that is wrong and says what would be right.
    ///
    /// An expression that no date matches, such as 30 February, is refused too.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let invalid = |problem| Invalid::new("expr", problem);
        let text = text.trim();
        if text.len() > EXPR_BYTES_MAX {
            return Err(invalid(format!("is longer than {EXPR_BYTES_MAX} bytes")));
        }
        let fields = Fields::parse(text).map_err(invalid)?;
        let expr = Self { text: text.into(), fields };
        // Every kind of year, leap or not and beginning on any weekday, occurs in the search from here.
        if expr.next_civil(Date::constant(2000, 1, 1).at(0, 0, 0, 0), &Steps::new(u64::MAX)).is_none() {
            return Err(invalid(format!("`{text}` is never due, because no month has such a day")));
        }
        Ok(expr)
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The first instant strictly after `after` at which the expression is due in `zone`.
    pub fn next_after(&self, zone: &Zone, after: Timestamp) -> Option<Timestamp> {
        self.next_within(zone, after, &Steps::new(u64::MAX))
    }

    /// The same with a bounded number of steps: when they are spent there is no answer.
    pub(super) fn next_within(&self, zone: &Zone, after: Timestamp, steps: &Steps) -> Option<Timestamp> {
        let across =
            AcrossChange { leave_out_skipped: self.fields.every_hour(), run_both_passes: self.fields.is_interval() };
        next_instant(zone, after, across, steps, |from| self.next_civil(from, steps))
    }

    /// The first matching local time at or after `from`, which is a whole second.
    fn next_civil(&self, from: DateTime, steps: &Steps) -> Option<DateTime> {
        let mut date = from.date();
        if self.fields.match_date(date)
            && let Some(time) = self.fields.next_time(from.time())
        {
            return Some(date.to_datetime(time));
        }
        let first_time = self.fields.next_time(Time::midnight())?;
        let last_year = date.year().saturating_add(SEARCH_YEARS);
        while date.year() <= last_year {
            date = match self.fields.match_month(date) {
                true => date.tomorrow().ok()?,
                false => date.last_of_month().tomorrow().ok()?,
            };
            if self.fields.match_date(date) {
                return Some(date.to_datetime(first_time));
            }
            if date.day() == 1 {
                steps.take(1)?;
            }
        }
        None
    }
}

impl PartialEq for CronExpr {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for CronExpr {}

impl fmt::Debug for CronExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CronExpr({})", self.text)
    }
}

impl fmt::Display for CronExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for the runs after `after`, and expects these, written as local times with their offset.
    fn check(expr: &str, zone: &str, after: &str, expect: &[&str]) {
        let zone = Zone::named(zone).unwrap();
        let cron = CronExpr::parse(expr).unwrap();
        let mut cursor: Timestamp = after.parse().unwrap();
        for expected in expect {
            let next = cron.next_after(&zone, cursor).expect("something is due");
            let local = next.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M:%S%:z");
            assert_eq!(local.to_string(), *expected, "{expr} in {zone} after {cursor}");
            cursor = next;
        }
    }

    /// Expects these dates, from the start of 2026 in UTC.
    fn check_dates(expr: &str, expect: &[&str]) {
        let expect: Vec<String> = expect.iter().map(|date| format!("{date}T00:00:00+00:00")).collect();
        let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
        check(expr, "UTC", "2025-12-31T23:59:59.9Z", &expect);
    }

    #[test]
    fn days_are_found_by_number_name_and_position() {
        check_dates("0 0 1 * *", &["2026-01-01", "2026-02-01"]);
        check_dates("0 0 */10 * *", &["2026-01-01", "2026-01-11", "2026-01-21", "2026-01-31"]);
        check_dates("0 0 * * MON-wed/2", &["2026-01-05", "2026-01-07", "2026-01-12"]);
        check_dates("0 0 * * 7", &["2026-01-04"]);
        check_dates("0 0 * * 5-7", &["2026-01-02", "2026-01-03", "2026-01-04", "2026-01-09"]);
        check_dates("0 0 * * 0-7", &["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"]);
        check_dates("0 0 * * sat-mon", &["2026-01-03", "2026-01-04", "2026-01-05", "2026-01-10"]);
        check_dates("0 0 30-1 jan ?", &["2026-01-01", "2026-01-30", "2026-01-31", "2027-01-01"]);
        check_dates("0 0 L * *", &["2026-01-31", "2026-02-28"]);
        check_dates("0 0 L-2 2 *", &["2026-02-26", "2027-02-26", "2028-02-27"]);
        check_dates("0 0 1W,15W * *", &["2026-01-01", "2026-01-15", "2026-02-02", "2026-02-16"]);
        check_dates("0 0 LW * *", &["2026-01-30", "2026-02-27"]);
        check_dates("0 0 * * FRI#2", &["2026-01-09", "2026-02-13"]);
        check_dates("0 0 * * 1L", &["2026-01-26", "2026-02-23"]);
        check_dates("0 0 29 2 *", &["2028-02-29", "2032-02-29"]);
        check_dates("0 0 * 2 1#5", &["2044-02-29"]);
        check_dates("@yearly", &["2026-01-01", "2027-01-01"]);
        check_dates("@Weekly", &["2026-01-04"]);
    }

    #[test]
    fn either_day_field_suffices_when_both_are_restricted() {
        check_dates("0 0 13 * FRI", &["2026-01-02", "2026-01-09", "2026-01-13", "2026-01-16"]);
    }

    #[test]
    fn seconds_are_optional_and_come_first() {
        check(
            "*/20 59 23 31 12 *",
            "UTC",
            "2025-12-31T23:59:20Z",
            &["2025-12-31T23:59:40+00:00", "2026-12-31T23:59:00+00:00"],
        );
    }

    #[test]
    fn a_fixed_time_in_a_gap_is_shifted_by_the_gap_and_runs_once() {
        check(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00:00Z",
            &["2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"],
        );
        // A list has its skipped time shifted too, and a shifted time that meets a real one is one run.
        check(
            "0 2,3,14 * * *",
            "Europe/Berlin",
            "2026-03-28T20:00:00Z",
            &["2026-03-29T03:00:00+02:00", "2026-03-29T14:00:00+02:00"],
        );
        // Shifted and real times come in the order of time.
        check(
            "0,30 2 29 3 *",
            "Europe/Berlin",
            "2026-03-28T20:00:00Z",
            &["2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"],
        );
        check(
            "0 12 30 12 *",
            "Pacific/Apia",
            "2011-12-01T00:00:00Z",
            &["2011-12-31T12:00:00+14:00", "2012-12-30T12:00:00+14:00"],
        );
        check(
            "0 12 * * *",
            "Pacific/Apia",
            "2011-12-29T00:00:00Z",
            &["2011-12-29T12:00:00-10:00", "2011-12-31T12:00:00+14:00", "2012-01-01T12:00:00+14:00"],
        );
    }

    #[test]
    fn a_repeated_fixed_time_runs_once_and_is_the_first() {
        check(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            &["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
        );
        check(
            "30 23 * * *",
            "America/Santiago",
            "2026-04-04T12:00:00Z",
            &["2026-04-04T23:30:00-03:00", "2026-04-05T23:30:00-04:00"],
        );
        check("0 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", &["2026-10-25T03:00:00+01:00"]);
        // Asked from within the second pass, in a century where seconds count down to 1970.
        check("30 1 L * *", "America/Toronto", "1956-09-30T06:15:00Z", &["1956-10-31T01:30:00-05:00"]);
    }

    #[test]
    fn an_expression_for_every_hour_follows_real_time() {
        check(
            "30 * * * *",
            "Europe/Berlin",
            "2026-03-29T00:00:00Z",
            &["2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"],
        );
        check(
            "*/30 * * * *",
            "Europe/Berlin",
            "2026-10-25T00:00:00Z",
            &[
                "2026-10-25T02:30:00+02:00",
                "2026-10-25T02:00:00+01:00",
                "2026-10-25T02:30:00+01:00",
                "2026-10-25T03:00:00+01:00",
            ],
        );
        // Lord Howe skips half an hour: the full hour that is missing is no run of its own.
        check("0 * * * *", "Australia/Lord_Howe", "2026-10-03T14:30:00Z", &["2026-10-04T03:00:00+11:00"]);
    }

    #[test]
    fn an_hourly_range_runs_through_both_passes_of_a_repeated_hour() {
        check(
            "*/30 2 * * SUN",
            "Europe/Berlin",
            "2026-10-25T00:15:00Z",
            &[
                "2026-10-25T02:30:00+02:00",
                "2026-10-25T02:00:00+01:00",
                "2026-10-25T02:30:00+01:00",
                "2026-11-01T02:00:00+01:00",
            ],
        );
    }

    #[test]
    fn an_error_names_the_field_and_says_what_would_be_right() {
        for (expr, problem) in [
            ("61 * * * *", "minute: `61` is outside 0-59"),
            ("* * * * * 8", "day of week: `8` is outside 0-7"),
            ("* 24 * * *", "hour: `24` is outside 0-23"),
            ("0 0 0 * *", "day of month: `0` is outside 1-31"),
            ("0 0 1 13 *", "month: `13` is outside 1-12"),
            ("*/0 * * * *", "minute: `*/0` is not understood; a step is a number from 1 to 59"),
            ("* * MON * *", "day of month: `MON` is not understood; write a number from 1 to 31"),
            ("* * * * SUNDAY", "day of week: `SUNDAY` is not understood; write SUN"),
            ("* * * FOO *", "month: `FOO` is not understood; write 1 to 12, a name such as JAN"),
            ("* * * * 5#6", "day of week: `5#6` is not understood; write # and 1 to 5"),
            ("5, * * * *", "minute: a value is missing"),
            ("* * *", "`* * *` has 3 fields; write five"),
            ("hourly", "`hourly` has one field; write five"),
            ("* * * * * * *", "has 7 fields"),
            ("", "is empty; write five fields"),
            ("@dayly", "`@dayly` is not a nickname; write @hourly, @daily"),
            ("0 0 30 2 *", "`0 0 30 2 *` is never due"),
            ("0 0 31W 4,6 *", "is never due"),
            ("ä * * * *", "minute: `ä` is not understood"),
        ] {
            let error = CronExpr::parse(expr).expect_err(expr);
            assert_eq!(error.field, "expr");
            assert!(error.problem.contains(problem), "{expr}: {}", error.problem);
        }
        assert!(CronExpr::parse(&"1,".repeat(1000)).is_err());
    }
}
