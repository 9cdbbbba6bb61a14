//! The stretch of time that words name where a moment of it is meant: of `tomorrow afternoon` the afternoon.
//!
//! A reminder needs a moment, and who plans with the words needs the stretch. The hours are those that CLDR gives the parts of a day.

use jiff::Timestamp;
use jiff::civil::{Date, Time, Weekday};

use super::{Here, Point};
use crate::phrase::Grain;
use crate::phrase::atom::{DayPart, Unit};
use crate::phrase::stretch::{add_days, later_in, tomorrow};
use crate::phrase::when::When;
use crate::phrase::whole::{LATER, WEEK_OF};

const NOON: i8 = 12;
const AFTER_LUNCH: i8 = 13;
const AFTERNOON_END: i8 = 17;
const EVENING: i8 = 18;
const NIGHT: i8 = 21;
/// Until then it is early in the morning.
const LATE_MORNING: i8 = 9;

impl Here {
    /// The stretch that `when` names, of which `point` is a moment; `None` where the moment itself was said, or a day.
    pub(in crate::phrase) fn within(&self, when: &When, point: Point) -> Option<(Timestamp, Timestamp)> {
        if !when.clocks.is_empty() || when.then.is_some() || when.zone.is_some() || when.is_now {
            return None;
        }
        let date = self.zone.to_datetime(point.at).date();
        let (from, to) = match when.part {
            Some(part) => self.part_hours(part, date)?,
            None => self.days_within(when, point.grain, date)?,
        };
        // Somebody's own morning may begin before the one of others.
        (point.at < to).then(|| (from.min(point.at), to))
    }

    /// From when to when a part of the day is.
    fn part_hours(&self, part: DayPart, date: Date) -> Option<(Timestamp, Timestamp)> {
        let next = tomorrow(date).ok()?;
        let (from, last, to) = match part {
            DayPart::EarlyMorning => (self.hours.early, date, LATE_MORNING),
            DayPart::Morning => (self.hours.morning, date, NOON),
            DayPart::Afternoon => (NOON, date, EVENING),
            DayPart::AfterLunch => (AFTER_LUNCH, date, AFTERNOON_END),
            DayPart::Evening => (EVENING, next, 0),
            DayPart::Tonight => (EVENING, next, self.hours.morning),
            DayPart::Night => (NIGHT, next, self.hours.morning),
            DayPart::Noon | DayPart::Midnight | DayPart::End => return None,
        };
        let at = |date: Date, hour: i8| self.timestamp(date.to_datetime(Time::constant(hour, 0, 0, 0))).ok();
        Some((at(date, from)?, at(last, to)?))
    }

    /// From when to when the week, month or year is whose `date` was taken, or the end of it that was named.
    fn days_within(&self, when: &When, grain: Grain, date: Date) -> Option<(Timestamp, Timestamp)> {
        if when.edge == Some(LATER) {
            let (unit, rel) = when.period.or(when.of.map(|unit| (unit, 0)))?;
            let stretch = self.stretch(unit, rel).ok()?;
            let first = later_in(stretch, unit).ok()?.max(self.local.date());
            return Some((self.midnight(first).ok()?, self.midnight(tomorrow(stretch.last).ok()?).ok()?));
        }
        if when.edge == Some(WEEK_OF) {
            let last = add_days(self.week_of(date).ok()?, 6).ok()?;
            return Some((self.midnight(date).ok()?, self.midnight(tomorrow(last).ok()?).ok()?));
        }
        if let Some((first, last)) = edge_within(when, date) {
            return Some((self.midnight(first).ok()?, self.midnight(tomorrow(last).ok()?).ok()?));
        }
        let (first, last) = match (grain, when.period) {
            // This week is the rest of it; a month and a year are those of the calendar.
            (Grain::Week, Some((Unit::Week, 0))) => (date, add_days(self.week_of(date).ok()?, 6).ok()?),
            (Grain::Week, Some((Unit::Weekend, _))) => {
                let saturday = self.stretch(Unit::Weekend, when.period?.1).ok()?;
                (saturday.first.max(date.min(saturday.last)), saturday.last)
            }
            (Grain::Week, _) => (date, add_days(date, 6).ok()?),
            (Grain::Month, _) => (date.first_of_month(), date.last_of_month()),
            (Grain::Year, _) if when.cal.month.is_none() => (date.first_of_year(), date.last_of_year()),
            _ => return None,
        };
        let is_whole = when.days.is_none() && when.cal.day.is_none() && when.edge.is_none();
        if !is_whole {
            return None;
        }
        let from = match when.period {
            Some((Unit::Weekend, _)) if self.hours.weekend < 24 && first.weekday() == Weekday::Saturday => {
                let friday = first.yesterday().ok()?;
                self.timestamp(friday.to_datetime(Time::constant(self.hours.weekend, 0, 0, 0))).ok()?
            }
            _ => self.midnight(first).ok()?,
        };
        Some((from, self.midnight(tomorrow(last).ok()?).ok()?))
    }
}

/// The days that are the beginning or the end of a month or year, of which `date` was taken: the end of a month is its last third, and people
/// who are to be reminded then mean its last day.
fn edge_within(when: &When, date: Date) -> Option<(Date, Date)> {
    if when.days.is_some() || when.cal.day.is_some() || !when.nths.is_empty() {
        return None;
    }
    let unit = match (when.cal.month, when.cal.year, when.period) {
        (Some(_), _, _) => Unit::Month,
        (None, Some(_), None) => Unit::Year,
        (None, None, period) => period.map(|(unit, _)| unit).or(when.of)?,
        (None, Some(_), Some(_)) => return None,
    };
    let of_month = |month: i8, day: i8| Date::new(date.year(), month, day).ok();
    match (unit, when.edge) {
        (Unit::Month, Some(-1)) => Some((date.first_of_month(), of_month(date.month(), 10)?)),
        (Unit::Month, Some(1)) => Some((of_month(date.month(), 21)?, date.last_of_month())),
        (Unit::Year, Some(-1)) => Some((date.first_of_year(), of_month(3, 31)?)),
        (Unit::Year, Some(1)) => Some((of_month(9, 1)?, date.last_of_year())),
        _ => None,
    }
}
