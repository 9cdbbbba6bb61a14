//! Which dates a rule allows, a month at a time.
//!
//! Every part of a rule about dates is a set of days within each month, and they all have to agree: a month's days are
//! the bits of one number, and the parts are joined with `&`.

use jiff::civil::{Date, DateTime, Weekday};

use super::super::Weekdays;
use super::super::bits::{bits, has, set_of};
use super::calendar::{Month, day_number, days_since, weekday_of};
use super::{Freq, NthDay, Recurrence};

/// The date parts of a rule, with what the anchor adds to them.
pub(super) struct Days<'a> {
    /// Bit m: month m is allowed.
    months: u64,
    /// `None`: every day of the month.
    month_days: Option<MonthDays>,
    year_days: &'a [i16],
    week_nos: &'a [i8],
    week_start: Weekday,
    /// `None`: every weekday.
    weekdays: Option<Weekdays>,
    /// Weekdays with a number, such as `2MO`; either these or `weekdays` suffice.
    nth_days: Vec<NthDay>,
    is_nth_of_year: bool,
}

#[derive(Default)]
struct MonthDays {
    /// Bit d: day d.
    days: u64,
    /// Bit n: the nth day from the end.
    from_end: u64,
}

const ALL_MONTHS: u64 = 0b1_1111_1111_1110;

impl<'a> Days<'a> {
    pub(super) fn new(rule: &'a Recurrence, anchor: DateTime) -> Self {
        let is_open = rule.by_year_day.is_empty() && rule.by_month_day.is_empty() && rule.by_day.is_empty();
        let is_open_day = is_open && rule.by_week_no.is_empty();
        let mut months = match rule.by_month.as_slice() {
            [] => ALL_MONTHS,
            months => set_of(months, 0),
        };
        let mut month_days = MonthDays::of(&rule.by_month_day);
        let mut each = rule.each_day();
        match rule.freq {
            Freq::Yearly | Freq::Monthly if is_open_day => {
                month_days = MonthDays::of(&[anchor.day()]);
                if rule.freq == Freq::Yearly && rule.by_month.is_empty() {
                    months = 1 << anchor.month();
                }
            }
            // The day of a week that has only a number, like that of a plain week, is the anchor's.
            Freq::Yearly if is_open => each = each.with(anchor.weekday()),
            Freq::Weekly if is_open_day => each = each.with(anchor.weekday()),
            _ => {}
        }
        let nth_days: Vec<_> = rule.by_day.iter().copied().filter(|day| day.nth.is_some()).collect();
        Self {
            months,
            month_days,
            year_days: &rule.by_year_day,
            week_nos: &rule.by_week_no,
            week_start: rule.week_start,
            weekdays: (!each.is_empty() || !nth_days.is_empty()).then_some(each),
            nth_days,
            is_nth_of_year: rule.freq == Freq::Yearly && rule.by_month.is_empty(),
        }
    }

    pub(super) fn matches(&self, date: Date) -> bool {
        has(self.in_month(Month::of(date)), date.day())
    }

    /// The days of a month that match, as the bits 1 to 31.
    pub(super) fn in_month(&self, month: Month) -> u64 {
        if self.months & (1 << month.month) == 0 {
            return 0;
        }
        let mut days = month.all_days();
        if let Some(month_days) = &self.month_days {
            days &= month_days.in_month(month);
        }
        if let Some(each) = self.weekdays {
            days &= self.by_weekday(each, month);
        }
        if days != 0 && !self.year_days.is_empty() {
            days &= self.by_year_day(month);
        }
        if days != 0 && !self.week_nos.is_empty() {
            days &= self.by_week(month);
        }
        days
    }

    fn by_weekday(&self, each: Weekdays, month: Month) -> u64 {
        // The days 1, 8, 15, 22 and 29.
        const WEEKLY: u64 = 0x2040_8102;
        let first_on = |weekday: Weekday, first: i64| {
            (i64::from(weekday.to_monday_zero_offset()) - weekday_of(first)).rem_euclid(7)
        };
        let each = each.iter().fold(0, |days, day| days | WEEKLY << first_on(day, month.first));
        let (first, length) = match self.is_nth_of_year {
            true => year_of(month),
            false => (month.first, month.length),
        };
        let nth = self.nth_days.iter().fold(0, |days, wanted| {
            let from_start = first_on(wanted.day, first);
            let n_such = (length - from_start + 6) / 7;
            let place = match i64::from(wanted.nth.unwrap_or(1)) {
                nth @ 1.. => nth - 1,
                nth => n_such + nth,
            };
            if !(0..n_such).contains(&place) {
                return days;
            }
            days | month.days_of(first + from_start + 7 * place, 1)
        });
        each | nth
    }

    fn by_year_day(&self, month: Month) -> u64 {
        let (first, length) = year_of(month);
        self.year_days.iter().fold(0, |days, wanted| {
            let place = match i64::from(*wanted) {
                day @ 1.. => day - 1,
                day => length + day,
            };
            if (0..length).contains(&place) { days | month.days_of(first + place, 1) } else { days }
        })
    }

    fn by_week(&self, month: Month) -> u64 {
        let mut days = 0;
        // A month may have days in the last week of the year before and in the first of the next.
        for year in month.year - 1..=month.year + 1 {
            let first = first_week(year, self.week_start);
            let n_weeks = (first_week(year + 1, self.week_start) - first) / 7;
            for wanted in self.week_nos {
                let place = match i64::from(*wanted) {
                    week @ 1.. => week - 1,
                    week => n_weeks + week,
                };
                if (0..n_weeks).contains(&place) {
                    days |= month.days_of(first + 7 * place, 7);
                }
            }
        }
        days
    }
}

impl MonthDays {
    fn of(days: &[i8]) -> Option<Self> {
        let mut of = Self::default();
        for day in days {
            match day {
                1.. => of.days |= 1 << day.min(&63),
                _ => of.from_end |= 1 << day.unsigned_abs().min(63),
            }
        }
        (!days.is_empty()).then_some(of)
    }

    fn in_month(&self, month: Month) -> u64 {
        let from_end = bits(self.from_end).map(|n| month.length + 1 - i64::from(n)).filter(|day| *day > 0);
        self.days | from_end.fold(0, |days, day| days | 1 << day)
    }
}

/// The first day of the year of a month, and how many days it has.
fn year_of(month: Month) -> (i64, i64) {
    let first = day_number(month.year, 1);
    (first, day_number(month.year + 1, 1) - first)
}

/// The first day of the first week of a year: of the week that has most of its days, and so 4 January, in that year.
fn first_week(year: i64, week_start: Weekday) -> i64 {
    let fourth = day_number(year, 1) + 3;
    fourth - days_since(fourth, week_start)
}
