//! Dates in the calendar, and feasts.

use super::number::century;
use super::{Given, Value};
use crate::phrase::atom::{Atom, Cal};

family! {
    /// `date year month day`: parts of a date; those left out are unknown.
    Date = "date",
    /// `weak_date year month day`: the same, weak.
    WeakDate = "weak_date",
    /// `year_first year month day`: a date in digits, as ISO 8601 has it.
    YearFirst = "year_first",
    /// `month_first month day year`: a date in digits in American order, which may turn out to be British.
    MonthFirst = "month_first",
    /// `dashed month day`: a date such as 10-31, or from hour to hour.
    Dashed = "dashed",
    /// `day_first day month year`: the same in European order.
    DayFirst = "day_first",
    /// `weak_day_first day month`: the same, weak: 2.5 may be a number.
    WeakDayFirst = "weak_day_first",
    /// `day_range from to month year`: from a day of a month to a later one.
    DayRange = "day_range",
    /// `month_range from to year`: from a month to another; the year is that of the second.
    MonthRange = "month_range",
    /// `rest_of_month from month year`: from a day of a month to its end.
    RestOfMonth = "rest_of_month",
    /// `year_range from to`: from a year to a later one.
    YearRange = "year_range",
    /// `week_number $1`: a week by its number in the year.
    WeekNumber = "week_number",
    /// `feast $1`
    Feast = "feast",
}

impl Family {
    pub(super) fn apply(self, given: Given<'_>) -> Option<Atom> {
        match self {
            Self::Date | Self::WeakDate => {
                let cal = cal(given.some_int(0)?, given.some_int(1)?, given.some_int(2)?)?;
                Some(Atom::Cal { cal, is_weak: self == Self::WeakDate })
            }
            Self::YearFirst => match given.value(0) {
                Value::Digits { digits: 4, .. } => {
                    let cal = cal(Some(given.int(0)?), Some(given.int(1)?), Some(given.int(2)?))?;
                    Some(Atom::Cal { cal, is_weak: false })
                }
                _ => None,
            },
            Self::MonthFirst => swappable_date(given.int(0)?, given.int(1)?, written_year(given.value(2))?),
            Self::Dashed => match swappable_date(given.int(0)?, given.int(1)?, None)? {
                Atom::Swappable(cal) | Atom::Cal { cal, .. } => Some(Atom::Dashed(cal)),
                _ => None,
            },
            // The other order is taken where this one makes no date, and only then.
            Self::DayFirst => {
                let (day, month, year) = (given.int(0)?, given.int(1)?, written_year(given.value(2))?);
                match month {
                    1..=12 => numeric_date(month, day, year),
                    _ => numeric_date(day, month, year),
                }
            }
            Self::WeakDayFirst => {
                let (day, month) = (given.int(0)?, given.int_in(1, 1..=12)?);
                Some(Atom::Cal { cal: cal(None, Some(month), Some(day))?, is_weak: true })
            }
            Self::DayRange => {
                let (from, to) = (given.int(0)?, given.int(1)?);
                let (month, year) = (given.some_int(2)?, written_year(given.value(3))?);
                let day = |day: i32| cal(year, month, Some(day));
                (from < to).then(|| Some(Atom::DayRange(day(from)?, day(to)?)))?
            }
            Self::MonthRange => {
                let (from, to, year) = (given.int(0)?, given.int(1)?, given.some_int(2)?);
                let first = year.map(|year| if from > to { year - 1 } else { year });
                (from != to).then(|| Some(Atom::DayRange(cal(first, Some(from), None)?, cal(year, Some(to), None)?)))?
            }
            Self::RestOfMonth => {
                let (day, month, year) = (given.some_int(0)?, given.some_int(1)?, given.some_int(2)?);
                Some(Atom::DayRange(cal(year, month, day)?, cal(year, month, None)?))
            }
            Self::YearRange => {
                let (from, to) = (given.int(0)?, given.int(1)?);
                let year = |year: i32| cal(Some(year), None, None);
                (from < to).then(|| Some(Atom::DayRange(year(from)?, year(to)?)))?
            }
            Self::WeekNumber => given.int_in(0, 1..=53).and_then(|week| u8::try_from(week).ok()).map(Atom::WeekNumber),
            Self::Feast => given.int(0).map(Atom::Feast),
        }
    }
}

fn cal(year: Option<i32>, month: Option<i32>, day: Option<i32>) -> Option<Cal> {
    let fits = |value: Option<i32>, max: i32| value.is_none_or(|value| (1..=max).contains(&value));
    if !fits(month, 12) || !fits(day, 31) || !fits(year, 9999) {
        return None;
    }
    let narrow = |value: Option<i32>| value.and_then(|value| u8::try_from(value).ok());
    let cal = Cal { year: year.and_then(|year| i16::try_from(year).ok()), month: narrow(month), day: narrow(day) };
    // The thirtieth of February is no date in any year.
    let days = match (cal.month, cal.year) {
        (Some(2), Some(year)) if !is_leap(year) => 28,
        (Some(2), _) => 29,
        (Some(4 | 6 | 9 | 11), _) => 30,
        _ => 31,
    };
    cal.day.is_none_or(|day| day <= days).then_some(cal)
}

/// Whether there is such a day.
pub(super) fn is_date(year: Option<i32>, month: i32, day: i32) -> bool {
    cal(year, Some(month), Some(day)).is_some()
}

fn is_leap(year: i16) -> bool {
    jiff::civil::Date::new(year, 1, 1).is_ok_and(|date| date.in_leap_year())
}

/// A date in digits, with the month first unless it cannot be one.
fn numeric_date(month: i32, day: i32, year: Option<i32>) -> Option<Atom> {
    let (month, day) = if month > 12 && day <= 12 { (day, month) } else { (month, day) };
    Some(Atom::Cal { cal: cal(year, Some(month), Some(day))?, is_weak: false })
}

/// The same where both orders are in use.
fn swappable_date(month: i32, day: i32, year: Option<i32>) -> Option<Atom> {
    if (1..=12).contains(&month) && (1..=12).contains(&day) {
        return Some(Atom::Swappable(cal(year, Some(month), Some(day))?));
    }
    numeric_date(month, day, year)
}

/// A year of two or four digits, or none; `None` for other numbers.
fn written_year(value: Value) -> Option<Option<i32>> {
    match value {
        Value::Nothing => Some(None),
        Value::Digits { value, digits: 2, .. } => Some(Some(century(i32::try_from(value).ok()?))),
        Value::Digits { value, digits: 4, .. } => Some(Some(i32::try_from(value).ok()?)),
        Value::Int(year) => Some(Some(year)),
        _ => None,
    }
}
