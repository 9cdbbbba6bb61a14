//! Which day was meant.

use jiff::civil::Date;

use super::{Here, Why, too_far, too_long};
use crate::phrase::atom::{Cal, Unit, What, Which};
use crate::phrase::stretch::{
    Stretch, add_days, add_months, has_weekday, in_week, later_in, middle, monday_of, next_weekday, tomorrow,
};
use crate::phrase::when::When;
use crate::phrase::whole::{LATER, WEEK_OF};
use crate::phrase::{Grain, feast};

/// How many years ahead somebody means a date; one beyond is of another calendar, or a slip.
const YEARS_AHEAD_MAX: i16 = 200;

/// A day that was meant.
#[derive(Clone, Copy)]
pub(super) struct Day {
    pub(super) date: Date,
    pub(super) grain: Grain,
    /// Whether the same words mean a later day as well, so that one that is over can be passed by.
    pub(super) is_open: bool,
}

impl Day {
    pub(super) fn exact(date: Date) -> Self {
        Self { date, grain: Grain::Day, is_open: false }
    }

    pub(super) fn open(date: Date) -> Self {
        Self { date, grain: Grain::Day, is_open: true }
    }
}

impl Here {
    /// The day that was meant, looking from `from` on; `None` when only a time was said.
    pub(super) fn day(&self, when: &When, from: Date) -> Result<Option<Day>, Why> {
        let today = self.local.date();
        if let Some((n, days)) = when.ahead {
            let first = next_weekday(tomorrow(today)?, days)?;
            return Ok(Some(Day::exact(add_days(first, 7 * (n - 1))?)));
        }
        if let Some(week) = when.week
            && when.cal.day.is_none()
        {
            return self.week_day(when, week, from).map(Some);
        }
        if let Some((season, rel)) = when.season {
            let date = self.season(season, rel)?.first;
            return Ok(Some(Day { grain: Grain::Quarter, ..Day::exact(date) }));
        }
        if let Some(feast) = when.feast {
            return self.feast_day(when, feast, from).map(Some);
        }
        if let Some((n, what)) = when.nths.first() {
            return self.nth_day(when, *n, *what, from).map(Some);
        }
        if when.edge == Some(WEEK_OF) {
            return self.week_of_date(when).map(Some);
        }
        if when.cal != Cal::default() {
            let day = self.cal_day(when, from)?;
            let is_in_week = when.week.is_none_or(|week| day.date.iso_week_date().week() == week as i8);
            let is_rel = when.rel.is_none_or(|rel| add_days(today, rel) == Ok(day.date));
            let is_named = match when.days {
                // Next Tuesday the 4th is a Tuesday and the next one, or a mistake.
                Some((days, which @ (Which::This | Which::Next | Which::Last | Which::AfterNext))) => {
                    when.cal.day.is_none() || self.weekday(when, days, which, today)?.date == day.date
                }
                _ => true,
            };
            return if is_in_week && is_rel && is_named { Ok(Some(day)) } else { Err(no_such(day.date)) };
        }
        if let Some(rel) = when.rel {
            let date = add_days(today, rel)?;
            return match when.days {
                Some((days, _)) if !has_weekday(days, date) => Err(no_such(date)),
                _ => Ok(Some(Day::exact(date))),
            };
        }
        if let Some((unit, rel)) = when.period {
            return self.period_day(when, unit, rel).map(Some);
        }
        if let Some(unit) = when.of {
            return self.period_day(when, unit, 0).map(Some);
        }
        when.days.map(|(days, which)| self.weekday(when, days, which, from)).transpose()
    }

    /// Which of the days of the week that have one of these names.
    fn weekday(&self, when: &When, days: u8, which: Which, from: Date) -> Result<Day, Why> {
        let today = self.local.date();
        let coming = || next_weekday(tomorrow(today)?, days);
        let this_week = || in_week(self.week_of(today)?, days);
        Ok(match which {
            // With a time of day, it can be today.
            Which::Bare | Which::Each | Which::Word | Which::Range if when.has_time() => {
                Day::open(next_weekday(from, days)?)
            }
            Which::Bare | Which::Each | Which::Word | Which::Range | Which::This => {
                Day { date: next_weekday(tomorrow(today)?.max(from), days)?, ..Day::open(today) }
            }
            Which::Next if self.is_next_coming => Day::exact(coming()?),
            Which::Next => Day::exact(add_days(this_week()?, 7)?),
            Which::AfterNext => Day::exact(add_days(coming()?, 7)?),
            Which::Last => {
                let mut date = add_days(today, -1)?;
                while !has_weekday(days, date) {
                    date = add_days(date, -1)?;
                }
                Day::exact(date)
            }
        })
    }

    /// A day of the week that has a number, or its Monday.
    fn week_day(&self, when: &When, week: u8, from: Date) -> Result<Day, Why> {
        let in_year = |year: i16| {
            let monday = jiff::civil::ISOWeekDate::new(year, week as i8, jiff::civil::Weekday::Monday);
            monday.map(|monday| monday.date()).map_err(|_| Why::about("no such week", week.to_string()))
        };
        let named = |monday: Date| match when.days {
            Some((days, _)) => in_week(monday, days),
            None => Ok(monday),
        };
        let grain = if when.days.is_some() { Grain::Day } else { Grain::Week };
        let year = match (when.cal.year, when.period) {
            (Some(year), _) => Some(year),
            (None, Some((Unit::Year, rel))) => Some(self.local.year() + rel as i16),
            _ => None,
        };
        if let Some(year) = year {
            return Ok(Day { grain, ..Day::exact(named(in_year(year)?)?) });
        }
        let this = named(in_year(from.year())?)?;
        let date = if this >= from { this } else { named(in_year(from.year() + 1)?)? };
        Ok(Day { grain, ..Day::open(date) })
    }

    /// What is left of the week that a date is in, which may be this one.
    fn week_of_date(&self, when: &When) -> Result<Day, Why> {
        let today = self.local.date();
        let this = self.week_of(today)?;
        if when.cal.day.is_none() {
            return Err(Why::of("whole stretch"));
        }
        let first = self.week_of(self.cal_day(when, this)?.date)?;
        let date = if first == this { today } else { first };
        Ok(Day { grain: Grain::Week, ..Day::exact(date) })
    }

    fn feast_day(&self, when: &When, feast: i32, from: Date) -> Result<Day, Why> {
        let in_year = |year: i16| feast::date(feast, year).ok_or_else(too_far);
        if let Some(year) = when.cal.year {
            return Ok(Day::exact(in_year(year)?));
        }
        if let Some((Unit::Year, rel)) = when.period {
            return Ok(Day::exact(in_year(self.local.year() + rel as i16)?));
        }
        let this = in_year(from.year())?;
        Ok(Day::open(if this >= from { this } else { in_year(from.year() + 1)? }))
    }

    fn nth_day(&self, when: &When, n: i32, what: What, from: Date) -> Result<Day, Why> {
        if let What::Unit(Unit::Quarter) = what {
            return Err(too_long());
        }
        if let What::Unit(Unit::Week | Unit::Month) = what {
            return Err(Why::of("whole stretch"));
        }
        let today = self.local.date();
        let of_month = |year: i16, month: i8| Stretch::month(year, month)?.nth(n, what);
        match (when.cal.month, when.cal.year, when.period) {
            (Some(month), Some(year), _) => of_month(year, month as i8).map(Day::exact),
            (Some(month), None, Some((Unit::Year, rel))) => {
                of_month(today.year() + rel as i16, month as i8).map(Day::exact)
            }
            (Some(month), None, _) => {
                let this = of_month(from.year(), month as i8);
                match this {
                    Ok(this) if this >= from => Ok(Day::open(this)),
                    _ => of_month(from.year() + 1, month as i8).map(Day::open),
                }
            }
            (None, Some(year), _) => Stretch::year(year)?.nth(n, what).map(Day::exact),
            (None, None, Some((unit, rel))) => self.stretch(unit, rel)?.nth(n, what).map(Day::exact),
            (None, None, None) if let Some(unit) = when.of => {
                let this = self.stretch(unit, 0)?.nth(n, what);
                match this {
                    Ok(this) if this >= from => Ok(Day::open(this)),
                    _ => self.stretch(unit, 1)?.nth(n, what).map(Day::open),
                }
            }
            (None, None, None) => Err(Why::of("which month")),
        }
    }

    /// The week, month, quarter or year that is `rel` from this one.
    pub(in crate::phrase) fn stretch(&self, unit: Unit, rel: i32) -> Result<Stretch, Why> {
        let today = self.local.date();
        match unit {
            Unit::Week => {
                let first = add_days(self.week_of(today)?, 7 * rel)?;
                Ok(Stretch { first, last: add_days(first, 6)? })
            }
            Unit::Month => {
                let first = add_months(today.first_of_month(), rel)?;
                Ok(Stretch { first, last: first.last_of_month() })
            }
            Unit::Quarter => {
                let quarter_month = (today.month() - 1) / 3 * 3 + 1;
                let this = Date::new(today.year(), quarter_month, 1).map_err(|_| too_far())?;
                let first = add_months(this, 3 * rel)?;
                Ok(Stretch { first, last: add_months(first, 2)?.last_of_month() })
            }
            Unit::Year => Stretch::year(today.year().checked_add(rel as i16).ok_or_else(too_far)?),
            Unit::Weekend => {
                let saturday = add_days(monday_of(today)?, 5 + 7 * rel)?;
                Ok(Stretch { first: saturday, last: add_days(saturday, 1)? })
            }
            Unit::Day | Unit::Workday | Unit::Hour | Unit::Minute | Unit::Second => {
                let day = add_days(today, rel)?;
                Ok(Stretch { first: day, last: day })
            }
        }
    }

    fn period_day(&self, when: &When, unit: Unit, rel: i32) -> Result<Day, Why> {
        let today = self.local.date();
        let stretch = self.stretch(unit, rel)?;
        if let Some((days, _)) = when.days {
            return Ok(Day::exact(in_week(stretch.first, days)?));
        }
        let grain = match unit {
            Unit::Week | Unit::Weekend => Grain::Week,
            Unit::Month => Grain::Month,
            Unit::Quarter => Grain::Quarter,
            Unit::Year => Grain::Year,
            Unit::Day | Unit::Workday | Unit::Hour | Unit::Minute | Unit::Second => Grain::Day,
        };
        let date = match when.edge {
            // The end of a working week is its Friday.
            Some(1) if unit == Unit::Week => in_week(stretch.first, 0b001_0000)?,
            Some(1) => stretch.last,
            Some(0) => middle(stretch)?,
            // Later this week, said on a Friday, is the Saturday if nothing else is said; on the last day it is that day.
            Some(LATER) => later_in(stretch, unit)?.max(tomorrow(today)?).min(stretch.last),
            _ => stretch.first,
        };
        let grain = if when.edge.is_some() { Grain::Day } else { grain };
        // The rest of this week begins today.
        let date = if rel == 0 && date < today && when.edge.is_none() { today } else { date };
        Ok(Day { date, grain, is_open: false })
    }

    fn cal_day(&self, when: &When, from: Date) -> Result<Day, Why> {
        let today = self.local.date();
        let Cal { year, month, day } = when.cal;
        let period_year = match when.period {
            Some((Unit::Year, rel)) => Some(today.year() + rel as i16),
            _ => None,
        };
        let year = year.or(period_year);
        if year.is_some_and(|year| year > today.year() + YEARS_AHEAD_MAX) {
            return Err(too_far());
        }
        let weekday_fits = |date: Date| when.days.is_none_or(|(days, _)| has_weekday(days, date));
        match (year, month, day) {
            (Some(year), Some(month), Some(day)) => {
                let date = Date::new(year, month as i8, day as i8).map_err(|_| Why::of("no such date"))?;
                if weekday_fits(date) { Ok(Day::exact(date)) } else { Err(no_such(date)) }
            }
            (None, Some(month), Some(day)) => {
                let dates =
                    (0..=8).filter_map(|years| Date::new(from.year().checked_add(years)?, month as i8, day as i8).ok());
                let mut dates = dates.filter(|date| *date >= from);
                let first = dates.next().ok_or_else(|| Why::of("no such date"))?;
                // Sunday 21 November is the next one or a mistake. `Fri, Jul 18` is how calendars write it, and they have their weekdays right: it
                // may be that of the year after.
                let next = dates.next().filter(|date| !when.is_weekday_full && date.year() == first.year() + 1);
                match [Some(first), next].into_iter().flatten().find(|date| weekday_fits(*date)) {
                    Some(date) => Ok(Day::open(date)),
                    None => Err(no_such(first)),
                }
            }
            (None, None, Some(day)) => self.day_of_month(when, day, from),
            (Some(_), None, Some(_)) => Err(Why::of("no month")),
            (year, Some(month), None) => {
                let this_year = from.year();
                let first_of = |year: i16| Date::new(year, month as i8, 1).map_err(|_| too_far());
                let first = match year {
                    Some(year) => first_of(year)?,
                    None if first_of(this_year)?.last_of_month() >= from => first_of(this_year)?,
                    None => first_of(this_year + 1)?,
                };
                self.in_stretch(when, Stretch { first, last: first.last_of_month() }, Grain::Month)
            }
            (Some(year), None, None) if year < today.year() && !when.is_bound => {
                Err(Why::about("year over", year.to_string()))
            }
            (Some(year), None, None) => self.in_stretch(when, Stretch::year(year)?, Grain::Year),
            (None, None, None) => Err(too_far()),
        }
    }

    fn in_stretch(&self, when: &When, stretch: Stretch, grain: Grain) -> Result<Day, Why> {
        let today = self.local.date();
        // A Friday in March is the first that is to come.
        if let (Some((days, _)), None) = (when.days, when.edge) {
            let is_now = stretch.first < today && today <= stretch.last;
            let date = next_weekday(if is_now { today } else { stretch.first }, days)?;
            return if date <= stretch.last { Ok(Day::exact(date)) } else { Err(no_such(date)) };
        }
        let date = match when.edge {
            Some(1) => stretch.last,
            Some(0) => middle(stretch)?,
            Some(_) => stretch.first,
            None if stretch.first < today && today <= stretch.last => today,
            None => stretch.first,
        };
        let grain = if when.edge.is_some() { Grain::Day } else { grain };
        Ok(Day { date, grain, is_open: false })
    }

    /// The 15th, the first that is to come and falls on the weekday that was named.
    fn day_of_month(&self, when: &When, day: u8, from: Date) -> Result<Day, Why> {
        let today = self.local.date();
        if let Some((Unit::Month, rel)) = when.period {
            let month = add_months(today.first_of_month(), rel)?;
            let date = Date::new(month.year(), month.month(), day as i8).map_err(|_| Why::of("no such day"))?;
            let is_named = when.days.is_none_or(|(days, _)| has_weekday(days, date));
            return if is_named { Ok(Day::exact(date)) } else { Err(no_such(date)) };
        }
        let mut month = from.first_of_month();
        for _ in 0..=14 {
            if let Ok(date) = Date::new(month.year(), month.month(), day as i8)
                && date >= from
                && when.days.is_none_or(|(days, _)| has_weekday(days, date))
            {
                return Ok(Day::open(date));
            }
            month = add_months(month, 1)?;
        }
        Err(Why::of("never that weekday"))
    }
}

/// Why a date is not on the weekday that was named.
fn no_such(date: Date) -> Why {
    Why::date("other weekday", date)
}
