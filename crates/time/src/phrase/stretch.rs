//! Days that belong together, and counting in them.

use jiff::Span;
use jiff::civil::{Date, Weekday};

use super::atom::{Unit, What};
use super::resolve::{Why, too_far};

/// Days that belong together: a week, a month, a year.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    pub(super) first: Date,
    pub(super) last: Date,
}

impl Stretch {
    pub(super) fn month(year: i16, month: i8) -> Result<Self, Why> {
        let first = Date::new(year, month, 1).map_err(|_| too_far())?;
        Ok(Self { first, last: first.last_of_month() })
    }

    pub(super) fn year(year: i16) -> Result<Self, Why> {
        let first = Date::new(year, 1, 1).map_err(|_| too_far())?;
        Ok(Self { first, last: first.last_of_year() })
    }

    /// The n-th day or weekday in it; from the end for a negative n.
    pub(super) fn nth(self, n: i32, what: What) -> Result<Date, Why> {
        let step = if n < 0 { -1 } else { 1 };
        let count = n.abs() - 1;
        let date = match what {
            What::Unit(Unit::Day) => {
                let from = if n < 0 { self.last } else { self.first };
                add_days(from, step * count)?
            }
            What::Weekday(days) => {
                let mut date = if n < 0 { self.last } else { self.first };
                while !has_weekday(days, date) {
                    date = add_days(date, step)?;
                }
                add_days(date, step * 7 * count)?
            }
            // A week belongs to where its Thursday is, by ISO 8601; people mean the first that begins in it.
            What::Unit(Unit::Week) => {
                let mut date = if n < 0 { self.last } else { self.first };
                while date.weekday() != Weekday::Monday {
                    date = add_days(date, step)?;
                }
                add_days(date, step * 7 * count)?
            }
            What::Unit(Unit::Weekend) => {
                let mut date = if n < 0 { self.last } else { self.first };
                while date.weekday() != Weekday::Saturday {
                    date = add_days(date, step)?;
                }
                add_days(date, step * 7 * count)?
            }
            What::Unit(Unit::Workday) => {
                let mut date = if n < 0 { self.last } else { self.first };
                let mut left = count;
                loop {
                    if has_weekday(0b001_1111, date) {
                        if left == 0 {
                            break date;
                        }
                        left -= 1;
                    }
                    date = add_days(date, step)?;
                }
            }
            What::Unit(Unit::Month) if n > 0 => add_months(self.first, count)?,
            What::Unit(Unit::Quarter) if n > 0 => add_months(self.first, 3 * count)?,
            What::Unit(_) => return Err(Why::of("only days")),
        };
        if (self.first..=self.last).contains(&date) { Ok(date) } else { Err(Why::of("not so many")) }
    }
}

pub(super) fn middle(stretch: Stretch) -> Result<Date, Why> {
    let days = stretch.first.until(stretch.last).map_err(|_| too_far())?.get_days();
    add_days(stretch.first, days / 2)
}

/// The day on which it begins to be later in a week, a month or a year: Thursday, the 16th, the first of July.
pub(super) fn later_in(stretch: Stretch, unit: Unit) -> Result<Date, Why> {
    match unit {
        Unit::Week => add_days(stretch.first, 3),
        Unit::Month => add_days(stretch.first, 15),
        Unit::Year => add_months(stretch.first, 6),
        _ => Err(Why::of("whole stretch")),
    }
}

pub(super) fn has_weekday(days: u8, date: Date) -> bool {
    days & (1 << date.weekday().to_monday_zero_offset()) != 0
}

pub(super) fn next_weekday(from: Date, days: u8) -> Result<Date, Why> {
    let mut date = from;
    for _ in 0..7 {
        if has_weekday(days, date) {
            return Ok(date);
        }
        date = tomorrow(date)?;
    }
    Err(too_far())
}

pub(super) fn in_week(monday: Date, days: u8) -> Result<Date, Why> {
    next_weekday(monday, days)
}

pub(super) fn monday_of(date: Date) -> Result<Date, Why> {
    add_days(date, -i32::from(date.weekday().to_monday_zero_offset()))
}

pub(super) fn workdays_from(mut date: Date, workdays: i32) -> Result<Date, Why> {
    let step = workdays.signum();
    let mut left = workdays.abs();
    if left > 20_000 {
        return Err(too_far());
    }
    while left > 0 {
        date = add_days(date, step)?;
        if has_weekday(0b001_1111, date) {
            left -= 1;
        }
    }
    Ok(date)
}

pub(super) fn tomorrow(date: Date) -> Result<Date, Why> {
    date.tomorrow().map_err(|_| too_far())
}

pub(super) fn add_days(date: Date, days: i32) -> Result<Date, Why> {
    Span::new().try_days(days).and_then(|span| date.checked_add(span)).map_err(|_| too_far())
}

pub(super) fn add_months(date: Date, months: i32) -> Result<Date, Why> {
    Span::new().try_months(months).and_then(|span| date.checked_add(span)).map_err(|_| too_far())
}
