//! The calendar as plain numbers: a search looks at thousands of months, and arithmetic is all it needs.

use jiff::civil::{Date, Weekday};

/// A month, with what there is to know about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Month {
    pub(super) year: i64,
    /// 1 to 12.
    pub(super) month: i64,
    /// The number of its first day.
    pub(super) first: i64,
    /// How many days it has.
    pub(super) length: i64,
}

impl Month {
    pub(super) fn new(year: i64, month: i64) -> Self {
        let first = day_number(year, month);
        let next = if month == 12 { day_number(year + 1, 1) } else { day_number(year, month + 1) };
        Self { year, month, first, length: next - first }
    }

    pub(super) fn of(date: Date) -> Self {
        Self::new(date.year().into(), date.month().into())
    }

    pub(super) fn next(self) -> Self {
        if self.month == 12 { Self::new(self.year + 1, 1) } else { Self::new(self.year, self.month + 1) }
    }

    /// One of its days, unless the calendar has ended.
    pub(super) fn date(self, day: i64) -> Option<Date> {
        let year = i16::try_from(self.year).ok()?;
        Date::new(year, i8::try_from(self.month).ok()?, i8::try_from(day).ok()?).ok()
    }

    /// The bits 1 to `length`.
    pub(super) fn all_days(self) -> u64 {
        ((1 << self.length) - 1) << 1
    }

    /// The days of this month among the `length` days from `first`, as bits.
    pub(super) fn days_of(self, first: i64, length: i64) -> u64 {
        let begin = (first - self.first + 1).max(1);
        let end = (first + length - self.first + 1).min(self.length + 1);
        (begin..end).fold(0, |days, day| days | 1 << day)
    }
}

/// The number of a date: days since 1970-01-01.
pub(super) fn number_of(date: Date) -> i64 {
    day_number(date.year().into(), date.month().into()) + i64::from(date.day()) - 1
}

/// The date with a number, unless it is outside the calendar.
pub(super) fn date_of(number: i64) -> Option<Date> {
    // Eras of 400 years that begin on 1 March, so that a leap day is the last of its year.
    let days = number + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = i16::try_from(era * 400 + year + next).ok()?;
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// The number of the first day of a month.
pub(super) fn day_number(year: i64, month: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    era * 146_097 + year * 365 + year / 4 - year / 100 + (153 * month + 2) / 5 - 719_468
}

/// The weekday of a day by its number; Monday is 0.
pub(super) fn weekday_of(number: i64) -> i64 {
    // 1970 began on a Thursday.
    (number + 3).rem_euclid(7)
}

/// How many days before `number` the last `weekday` was; 0 if it is one.
pub(super) fn days_since(number: i64, weekday: Weekday) -> i64 {
    (weekday_of(number) - i64::from(weekday.to_monday_zero_offset())).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;

    use super::*;

    #[test]
    fn numbers_and_dates_are_the_same_calendar() {
        let epoch = jiff::civil::date(1970, 1, 1);
        for date in jiff::civil::date(-9999, 1, 1).series(17.days()).chain([Date::MAX, epoch]) {
            let number = date.duration_since(epoch).as_hours() / 24;
            assert_eq!((number_of(date), date_of(number)), (number, Some(date)));
            assert_eq!(weekday_of(number), i64::from(date.weekday().to_monday_zero_offset()));
            assert_eq!(Month::of(date).length, i64::from(date.days_in_month()));
        }
        assert_eq!(date_of(number_of(Date::MAX) + 1), None);
    }
}
