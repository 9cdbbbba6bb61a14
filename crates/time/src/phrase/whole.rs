//! Stretches of the calendar that are meant whole: a quarter, a season, a year that is over, a week of a year, the rest of a week.

use jiff::civil::{Date, ISOWeekDate, Weekday};

use super::atom::{Cal, Unit, What};
use super::list::List;
use super::resolve::{Here, Why, too_far, too_long};
use super::stretch::{Stretch, add_days, add_months, monday_of, tomorrow};
use super::when::When;
use super::{Grain, Meaning};

/// The rest of a stretch, and all of it, as the edge of a point has them.
const REST: i32 = 2;
const ALL: i32 = 3;
/// What comes later in a stretch, as the edge of a point.
pub(super) const LATER: i32 = 4;
/// The week that a date is in, as the edge of the date.
pub(super) const WEEK_OF: i32 = 5;

/// The first days of spring, summer, autumn and winter, as month and day.
const SEASONS: [(i8, i8); 4] = [(3, 20), (6, 21), (9, 23), (12, 21)];

/// The stretch that `when` names, where it is meant whole and nothing is said besides. A year that is over counts only where it `is_all`
/// that a text says about time.
pub(super) fn whole(when: &When, is_all: bool, here: &Here) -> Result<Option<Meaning>, Why> {
    let today = here.local.date();
    let is_part = matches!(when.edge, Some(REST | ALL));
    let is_counted = matches!(&*when.nths, [(_, What::Unit(Unit::Week | Unit::Quarter))]);
    let is_quarter = matches!(when.period, Some((Unit::Quarter, _)));
    let is_over = when.cal.month.is_none() && when.cal.year.is_some_and(|year| year < today.year());
    if !(is_part || is_counted || is_quarter || is_over || when.season.is_some()) {
        return Ok(None);
    }
    let (nths, cal) = (List::default(), Cal::default());
    let besides =
        When { season: None, period: None, of: None, edge: None, nths, cal, is_cal_weak: false, ..when.clone() };
    if !besides.is_empty() || when.cal.day.is_some() {
        return if is_part { Err(Why::of("whole stretch")) } else { Ok(None) };
    }
    let stretch = match (when.season, &*when.nths, when.period, when.edge) {
        (Some((season, rel)), [], None, None) => Some((here.season(season, rel)?, Grain::Quarter)),
        (None, [(n, What::Unit(unit @ (Unit::Week | Unit::Quarter)))], _, None) => {
            Some((here.nth_stretch(when, *n, *unit)?, grain_of(*unit)))
        }
        (None, [], period, Some(edge @ (REST | ALL))) if when.cal == Cal::default() => {
            let (unit, rel) = period.or(when.of.map(|unit| (unit, 0))).ok_or(Why::of("whole stretch"))?;
            let all = here.stretch(unit, rel)?;
            let first = if edge == REST { all.first.max(today) } else { all.first };
            Some((Stretch { first, ..all }, Grain::Day))
        }
        (None, [], Some((Unit::Quarter, rel)), None) => Some((here.stretch(Unit::Quarter, rel)?, Grain::Quarter)),
        (None, [], None, None) if is_all && is_over && when.of.is_none() && !when.is_bound => {
            when.cal.year.map(Stretch::year).transpose()?.map(|year| (year, Grain::Year))
        }
        _ if is_part => return Err(Why::of("whole stretch")),
        _ => None,
    };
    let Some((Stretch { first, last }, grain)) = stretch else {
        return Ok(None);
    };
    Ok(Some(Meaning::Interval { from: here.midnight(first)?, to: here.midnight(tomorrow(last)?)?, grain }))
}

fn grain_of(unit: Unit) -> Grain {
    if unit == Unit::Week { Grain::Week } else { Grain::Quarter }
}

impl Here {
    /// The season that is running or to come (0), begins next (1), or is over (-1). A season has a number from 1, which is spring.
    pub(super) fn season(&self, season: u8, rel: i32) -> Result<Stretch, Why> {
        let today = self.local.date();
        let index = usize::from(season).checked_sub(1).filter(|index| *index < SEASONS.len()).ok_or_else(too_far)?;
        let begins = |index: usize, year: i16| {
            let (month, day) = SEASONS[index % SEASONS.len()];
            Date::new(year + i16::from(index >= SEASONS.len()), month, day).map_err(|_| too_far())
        };
        let in_year = |year: i16| {
            Ok::<_, Why>(Stretch { first: begins(index, year)?, last: add_days(begins(index + 1, year)?, -1)? })
        };
        let years = today.year() - 2..=today.year() + 1;
        let mut seasons = years.map(in_year).collect::<Result<Vec<_>, _>>()?.into_iter();
        let found = match rel {
            0 => seasons.find(|season| season.last >= today),
            1 => seasons.find(|season| season.first > today),
            _ => seasons.rfind(|season| season.last < today),
        };
        found.ok_or_else(too_far)
    }

    /// The n-th week or quarter of a year or month.
    fn nth_stretch(&self, when: &When, n: i32, unit: Unit) -> Result<Stretch, Why> {
        let today = self.local.date();
        let year = match (when.cal.year, when.period, when.of) {
            (Some(year), None, None) => Some(year),
            (None, Some((Unit::Year, rel)), None) => Some(today.year() + rel as i16),
            (None, None, Some(Unit::Year)) => Some(today.year()),
            _ => None,
        };
        match (unit, year, when.cal.month) {
            (Unit::Quarter, Some(year), None) => {
                let n = if n < 0 { n + 5 } else { n };
                let of_year = Stretch::year(year)?.first;
                let first = add_months(of_year, 3 * (n - 1))?;
                let is_one = (1..=4).contains(&n);
                let stretch = Stretch { first, last: add_months(first, 2)?.last_of_month() };
                is_one.then_some(stretch).ok_or_else(|| Why::of("not so many"))
            }
            (Unit::Week, Some(year), None) => {
                let last = Date::new(year, 12, 28).map_err(|_| too_far())?.iso_week_date().week();
                let n = if n < 0 { n + i32::from(last) + 1 } else { n };
                let week = i8::try_from(n).ok().and_then(|week| ISOWeekDate::new(year, week, Weekday::Monday).ok());
                let first = week.ok_or_else(|| Why::about("no such week", n.to_string()))?.date();
                Ok(Stretch { first, last: add_days(first, 6)? })
            }
            (Unit::Week, year, Some(month)) => {
                let year = match year {
                    Some(year) => year,
                    None if when.period.is_some() || when.of.is_some() => return Err(Why::of("whole stretch")),
                    None if month as i8 >= today.month() => today.year(),
                    None => today.year() + 1,
                };
                week_of_month(Stretch::month(year, month as i8)?, n)
            }
            (Unit::Week, None, None) => match (when.period, when.of) {
                (Some((Unit::Month, rel)), None) => week_of_month(self.stretch(Unit::Month, rel)?, n),
                _ => Err(Why::of("whole stretch")),
            },
            _ => Err(too_long()),
        }
    }
}

/// The n-th week of a month, where all ways to count say the same: a week counts where its Thursday is, and where all of it is.
fn week_of_month(month: Stretch, n: i32) -> Result<Stretch, Why> {
    let thursday = month.nth(n, What::Weekday(0b000_1000))?;
    let first = monday_of(thursday)?;
    let week = Stretch { first, last: add_days(first, 6)? };
    // Of a month that begins on Wednesday, the days before the first Monday may be a week or none.
    let is_even = match n {
        1.. => !matches!(month.first.weekday(), Weekday::Tuesday | Weekday::Wednesday | Weekday::Thursday),
        _ => !matches!(month.last.weekday(), Weekday::Thursday | Weekday::Friday | Weekday::Saturday),
    };
    if is_even { Ok(week) } else { Err(Why::of("whole stretch")) }
}
