//! From what was said to an instant, for somebody in a zone at a moment.
//!
//! Words that have several meanings mean the next sensible time to come: `at 3` said at noon is
//! three in the afternoon, `tuesday` said on a Tuesday is next week's.

use jiff::civil::{Date, DateTime, Time, time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp};

use super::Grain;
use super::action::in_part;
use super::atom::{Cal, Clock, DayPart, Dur, Half, Unit, What, Which};
use super::feast;
use super::list::List;
use super::stretch::{
    Stretch, add_days, add_months, has_weekday, in_week, middle, monday_of, next_weekday, tomorrow, workdays_from,
};
use super::when::When;

/// When a day is meant and no time of it.
pub(super) const MORNING: Time = time(9, 0, 0, 0);
/// When such a day is today and its morning is over.
const LATER_TODAY: [Time; 4] = [time(12, 0, 0, 0), time(15, 0, 0, 0), time(18, 0, 0, 0), time(21, 0, 0, 0)];
/// How many years ahead a date without a year may be, to fall on the weekday that was named.
const WEEKDAY_YEARS: i16 = 2;

/// Why something that was said is no time, as a sentence.
pub(super) type Why = String;

/// Where and when it was said, and what the language makes of `next`.
#[derive(Clone)]
pub(super) struct Here {
    pub(super) now: Timestamp,
    pub(super) local: DateTime,
    pub(super) zone: TimeZone,
    /// Whether the next Wednesday is the coming one, and not that of next week.
    pub(super) is_next_coming: bool,
    /// Whether 3/4 is the third of April here; `None` where nothing tells.
    pub(super) is_day_first: Option<bool>,
}

/// An instant, and how exactly it was said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) at: Timestamp,
    pub(super) grain: Grain,
}

/// A day that was meant.
#[derive(Clone, Copy)]
struct Day {
    date: Date,
    grain: Grain,
    /// Whether the same words mean a later day as well, so that one that is over can be passed by.
    is_open: bool,
}

impl Day {
    fn exact(date: Date) -> Self {
        Self { date, grain: Grain::Day, is_open: false }
    }

    fn open(date: Date) -> Self {
        Self { date, grain: Grain::Day, is_open: true }
    }
}

impl Here {
    pub(super) fn new(now: Timestamp, zone: &TimeZone, is_next_coming: bool) -> Self {
        Self { now, local: zone.to_datetime(now), zone: zone.clone(), is_next_coming, is_day_first: day_first_in(zone) }
    }

    /// The same place at another moment, or another zone.
    pub(super) fn moved_to(&self, now: Timestamp, zone: &TimeZone) -> Self {
        Self { now, local: zone.to_datetime(now), zone: zone.clone(), ..*self }
    }

    /// The instant that `when` means.
    pub(super) fn point(&self, when: &When) -> Result<Point, Why> {
        if let Some(minutes) = when.zone {
            let offset = Offset::from_seconds(minutes * 60).map_err(|_| too_far())?;
            let there = self.moved_to(self.now, &TimeZone::fixed(offset));
            return there.point(&When { zone: None, ..when.clone() });
        }
        if let Some(dur) = when.then {
            let point = self.point(&When { then: None, ..when.clone() })?;
            return self.moved(point, dur);
        }
        if let Some(dur) = when.shift {
            return self.shifted(when, dur);
        }
        if when.is_several {
            return Err("it names more than one time; say `every …` for a series, or make one reminder for each".into());
        }
        if when.is_swappable && self.is_other_way_round(when) {
            let cal = Cal { month: when.cal.day, day: when.cal.month, ..when.cal };
            return self.point(&When { cal, is_swappable: false, ..when.clone() });
        }
        if when.is_now {
            return Ok(Point { at: self.now, grain: Grain::Second });
        }
        if let Some(dur) = when.offset {
            return self.offset(when, dur);
        }
        self.local_point(when)
    }

    /// Whether 3/4 is meant as the third of April: where people write it so, or, where that is not known, beside a
    /// time that nobody writes who writes the month first.
    fn is_other_way_round(&self, when: &When) -> bool {
        let is_24_hours = when.clocks.iter().any(|clock| clock.half != Half::Either && clock.is_written_24);
        self.is_day_first.unwrap_or(is_24_hours)
    }

    fn timestamp(&self, local: DateTime) -> Result<Timestamp, Why> {
        self.zone.to_timestamp(local).map_err(|_| too_far())
    }

    /// From now: elapsed time, or the same time on another day.
    fn offset(&self, when: &When, dur: Dur) -> Result<Point, Why> {
        if let Some((days, _)) = when.days {
            // Wednesday in two weeks is that of the week after next.
            let monday = monday_of(self.local.date())?;
            let week = add_days(monday, dur.days)?;
            let date = in_week(week, days)?;
            return self.at_day(when, Day::exact(date));
        }
        let at = self.now_plus(self.now, dur)?;
        if when.has_time() {
            return self.at_day(when, Day::exact(self.zone.to_datetime(at).date()));
        }
        // Half an hour is said to the minute.
        let grain =
            if dur.finest == Unit::Hour && dur.seconds % 3600 != 0 { Grain::Minute } else { grain_of(dur.finest) };
        Ok(Point { at, grain })
    }

    fn now_plus(&self, from: Timestamp, dur: Dur) -> Result<Timestamp, Why> {
        let at = if dur.months == 0 && dur.days == 0 && dur.workdays == 0 {
            from
        } else {
            let local = self.zone.to_datetime(from);
            let span = Span::new().try_months(dur.months).and_then(|span| span.try_days(dur.days));
            let moved = span.and_then(|span| local.checked_add(span)).map_err(|_| too_far())?;
            let date = workdays_from(moved.date(), dur.workdays)?;
            self.timestamp(date.to_datetime(moved.time()))?
        };
        at.checked_add(SignedDuration::from_secs(dur.seconds)).map_err(|_| too_far())
    }

    fn moved(&self, point: Point, dur: Dur) -> Result<Point, Why> {
        let at = self.now_plus(point.at, dur)?;
        let grain = if dur.finest < Unit::Day { point.grain.min(grain_of(dur.finest)) } else { point.grain };
        Ok(Point { at, grain })
    }

    /// So long after or before what else was said.
    fn shifted(&self, when: &When, dur: Dur) -> Result<Point, Why> {
        if dur.finest < Unit::Day && !when.clocks.is_empty() {
            let base = When { shift: None, ..when.clone() };
            let point = self.moved(self.point(&base)?, dur)?;
            if point.at > self.now || base.has_day() {
                return Ok(point);
            }
            // Three hours before noon, said at ten, are those of tomorrow's noon.
            return self.moved(self.point(&When { rel: Some(1), ..base })?, dur);
        }
        let base = When { shift: None, clocks: List::default(), part: None, ..when.clone() };
        let mut point =
            if base.has_day() { self.point(&base)? } else { self.point(&When { shift: None, ..when.clone() })? };
        // A year after Christmas is after the one that has been.
        if base.feast.is_some() && base.cal.year.is_none() && dur.months >= 12 {
            let date = add_months(self.zone.to_datetime(point.at).date(), -12)?;
            point.at = self.timestamp(date.to_datetime(MORNING))?;
        }
        let moved = self.moved(point, dur)?;
        if base.has_day() && when.has_time() {
            return self.at_day(when, Day::exact(self.zone.to_datetime(moved.at).date()));
        }
        let grain = if dur.finest < Unit::Day { grain_of(dur.finest) } else { Grain::Day };
        Ok(Point { at: moved.at, grain })
    }

    fn local_point(&self, when: &When) -> Result<Point, Why> {
        let today = self.local.date();
        let Some(day) = self.day(when, today)? else {
            return self.next_time(when);
        };
        if let Some((Unit::Second | Unit::Minute | Unit::Hour, _)) = when.period {
            return self.small_period(when);
        }
        let point = self.at_day(when, day)?;
        let is_over = point.at <= self.now && (when.has_time() || day.date < today);
        if is_over && day.is_open {
            let later = if day.date <= today { tomorrow(today)? } else { tomorrow(day.date)? };
            if let Some(day) = self.day(when, later)? {
                return self.at_day(when, day);
            }
        }
        // `this morning at 3`, said at noon, can only be the next one.
        if is_over && when.is_part_today && when.rel == Some(0) && !when.clocks.is_empty() {
            return self.at_day(when, Day::exact(tomorrow(today)?));
        }
        Ok(point)
    }

    /// This hour, the next minute.
    fn small_period(&self, when: &When) -> Result<Point, Why> {
        let Some((unit, rel)) = when.period else {
            return Err(too_far());
        };
        let dur = Dur::of(f64::from(rel.abs()), unit).ok_or_else(too_far)?;
        let dur = if rel < 0 { dur.negated() } else { dur };
        Ok(Point { at: self.now_plus(self.now, dur)?, grain: grain_of(unit) })
    }

    /// The next time it is that time of day.
    fn next_time(&self, when: &When) -> Result<Point, Why> {
        let today = self.local.date();
        let mut best: Option<Point> = None;
        for date in [today, tomorrow(today)?, tomorrow(tomorrow(today)?)?] {
            for time in self.times(when) {
                let point = self.on(date, time)?;
                let is_near = point.at.duration_since(self.now).as_secs() <= 4 * 3600;
                // People mean three at night only if it is soon or they said so.
                let is_sensible = !time.is_guess || time.hour >= 6 || is_near;
                if point.at > self.now && is_sensible && best.is_none_or(|best| point.at < best.at) {
                    best = Some(point);
                }
            }
        }
        best.ok_or_else(too_far)
    }

    /// The time of day that was said, on a day.
    fn at_day(&self, when: &When, day: Day) -> Result<Point, Why> {
        let times = self.times(when);
        let is_today = day.date == self.local.date();
        let Some(first) = times.first() else {
            return self.on_day(when, day);
        };
        // Today, the first that is still to come; on another day, the one at which people are awake.
        if is_today && times.len() > 1 && !day.is_open {
            for time in &times {
                let point = self.on(day.date, *time)?;
                if point.at > self.now {
                    return Ok(point);
                }
            }
        }
        let awake = times.iter().find(|time| time.is_awake()).unwrap_or(first);
        self.on(day.date, *awake)
    }

    /// A day without a time: its morning, or what is left of today.
    fn on_day(&self, when: &When, day: Day) -> Result<Point, Why> {
        let morning = self.timestamp(day.date.to_datetime(MORNING))?;
        let mut point = Point { at: morning, grain: day.grain };
        if day.date == self.local.date() && morning <= self.now && when.edge.is_none() {
            for time in LATER_TODAY {
                let at = self.timestamp(day.date.to_datetime(time))?;
                if at > self.now {
                    point.at = at;
                    return Ok(point);
                }
            }
            point.at = self.timestamp(day.date.to_datetime(time(23, 59, 0, 0)))?;
        }
        Ok(point)
    }

    fn on(&self, date: Date, time: TimeOfDay) -> Result<Point, Why> {
        let date = if time.hour == 24 { tomorrow(date)? } else { date };
        let clock = Time::new(time.hour as i8 % 24, time.minute as i8, time.second as i8, 0).map_err(|_| too_far())?;
        Ok(Point { at: self.timestamp(date.to_datetime(clock))?, grain: time.grain })
    }

    /// The times of day that can be meant: two, where the half of the day is open.
    fn times(&self, when: &When) -> Vec<TimeOfDay> {
        let Some(clock) = when.clocks.first() else {
            if when.edge == Some(1) && when.part.is_none() && is_day(when) {
                return vec![TimeOfDay { hour: 23, minute: 59, second: 0, grain: Grain::Minute, is_guess: false }];
            }
            let is_dated = when.cal.day.is_some() || when.feast.is_some();
            return when.part.map(|part| time_of(part, is_dated)).into_iter().collect();
        };
        let clock = match when.part {
            Some(part) => in_part(*clock, part).unwrap_or(*clock),
            None => *clock,
        };
        // The midnight of a date begins it.
        let hour = if clock.hour == 24 && when.cal.day.is_some() { 0 } else { clock.hour };
        times_of(Clock { hour, ..clock })
    }

    /// The day that was meant, looking from `from` on; `None` when only a time was said.
    fn day(&self, when: &When, from: Date) -> Result<Option<Day>, Why> {
        let today = self.local.date();
        if let Some((n, days)) = when.ahead {
            let first = next_weekday(tomorrow(today)?, days)?;
            return Ok(Some(Day::exact(add_days(first, 7 * (n - 1))?)));
        }
        if let Some(feast) = when.feast {
            return self.feast_day(when, feast, from).map(Some);
        }
        if let Some((n, what)) = when.nths.first() {
            return self.nth_day(when, *n, *what, from).map(Some);
        }
        if when.cal != Cal::default() {
            return self.cal_day(when, from).map(Some);
        }
        if let Some(rel) = when.rel {
            return Ok(Some(Day::exact(add_days(today, rel)?)));
        }
        if let Some((unit, rel)) = when.period {
            return self.period_day(when, unit, rel).map(Some);
        }
        if let Some(unit) = when.of {
            return self.period_day(when, unit, 0).map(Some);
        }
        let Some((days, which)) = when.days else {
            return Ok(None);
        };
        let coming = || next_weekday(tomorrow(today)?, days);
        let this_week = || in_week(monday_of(today)?, days);
        let day = match which {
            // TimeOfDay with a time, it can be today.
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
        };
        Ok(Some(day))
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
            return Err("that is a whole week or month; name a day of it".into());
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
            (None, None, None) => Err("it does not say of which month".into()),
        }
    }

    /// The week, month, quarter or year that is `rel` from this one.
    fn stretch(&self, unit: Unit, rel: i32) -> Result<Stretch, Why> {
        let today = self.local.date();
        match unit {
            Unit::Week => {
                let first = add_days(monday_of(today)?, 7 * rel)?;
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
        if unit == Unit::Quarter {
            return Err(too_long());
        }
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
            Some(1) if unit == Unit::Week => add_days(stretch.first, 4)?,
            Some(1) => stretch.last,
            Some(0) => middle(stretch)?,
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
        let weekday_fits = |date: Date| when.days.is_none_or(|(days, _)| has_weekday(days, date));
        let no_such = |date: Date| format!("{} is a {}", date.strftime("%-d %B %Y"), date.strftime("%A"));
        match (year, month, day) {
            (Some(year), Some(month), Some(day)) => {
                let date = Date::new(year, month as i8, day as i8).map_err(|_| "there is no such date".to_owned())?;
                if weekday_fits(date) { Ok(Day::exact(date)) } else { Err(no_such(date)) }
            }
            (None, Some(month), Some(day)) => {
                let dates =
                    (0..=8).filter_map(|years| Date::new(from.year().checked_add(years)?, month as i8, day as i8).ok());
                let mut dates = dates.filter(|date| *date >= from);
                let first = dates.next().ok_or_else(|| "there is no such date".to_owned())?;
                let last_year = first.year() + WEEKDAY_YEARS - 1;
                let mut candidates =
                    std::iter::once(first).chain(dates).take_while(|date| date.year() <= last_year.max(first.year()));
                match candidates.find(|date| weekday_fits(*date)) {
                    Some(date) => Ok(Day::open(date)),
                    None => Err(no_such(first)),
                }
            }
            (None, None, Some(day)) => self.day_of_month(when, day, from),
            (Some(_), None, Some(_)) => Err("it names a day and a year, but no month".into()),
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
            (Some(year), None, None) if year < today.year() => Err(format!("{year} is over")),
            (Some(year), None, None) => self.in_stretch(when, Stretch::year(year)?, Grain::Year),
            (None, None, None) => Err(too_far()),
        }
    }

    fn in_stretch(&self, when: &When, stretch: Stretch, grain: Grain) -> Result<Day, Why> {
        let today = self.local.date();
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
            let date = Date::new(month.year(), month.month(), day as i8);
            return date.map(Day::exact).map_err(|_| "that month has no such day".into());
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
        Err("that day of the month does not fall on that weekday within a year".into())
    }
}

/// Whether a day and nothing longer was named.
fn is_day(when: &When) -> bool {
    when.rel.is_some() || when.days.is_some() || when.cal.day.is_some() || matches!(when.period, Some((Unit::Day, _)))
}

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TimeOfDay {
    /// 0 to 24.
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    pub(super) grain: Grain,
    /// Whether the half of the day was not said.
    pub(super) is_guess: bool,
}

impl TimeOfDay {
    /// Whether people are up: from half past six in the morning for twelve hours.
    pub(super) fn is_awake(&self) -> bool {
        !self.is_guess || (6 * 60 + 30..18 * 60 + 30).contains(&(u32::from(self.hour) * 60 + u32::from(self.minute)))
    }

    /// The time on a clock, and how many days later it is: midnight at the end of a day is the next day's beginning.
    pub(super) fn time(self) -> Time {
        Time::new(self.hour as i8 % 24, self.minute as i8, self.second as i8, 0).unwrap_or(Time::midnight())
    }
}

/// The times that a clock can mean, the earlier first.
pub(super) fn times_of(clock: Clock) -> Vec<TimeOfDay> {
    let time = |hour: u8, is_guess: bool| TimeOfDay {
        hour,
        minute: clock.minute,
        second: clock.second,
        // Eight o'clock is 8:00.
        grain: grain_of(clock.finest.min(Unit::Minute)),
        is_guess,
    };
    match clock.half {
        Half::Known | Half::Written => vec![time(clock.hour, false)],
        Half::Either if clock.hour == 12 => vec![time(12, true), time(if clock.minute == 0 { 24 } else { 0 }, true)],
        Half::Either => vec![time(clock.hour, true), time(clock.hour + 12, true)],
    }
}

/// When a part of the day is, for a reminder.
pub(super) fn time_of(part: DayPart, is_dated: bool) -> TimeOfDay {
    let hour = match part {
        DayPart::EarlyMorning => 6,
        DayPart::Morning => 9,
        DayPart::Noon => 12,
        DayPart::Afternoon => 15,
        DayPart::Evening => 19,
        DayPart::Night => 21,
        // The midnight of a date begins it; that of today ends it.
        DayPart::Midnight if is_dated => 0,
        DayPart::Midnight => 24,
        DayPart::End => 23,
    };
    let minute = if part == DayPart::End { 59 } else { 0 };
    TimeOfDay { hour, minute, second: 0, grain: Grain::Hour, is_guess: false }
}

fn grain_of(unit: Unit) -> Grain {
    match unit {
        Unit::Second => Grain::Second,
        Unit::Minute => Grain::Minute,
        Unit::Hour => Grain::Hour,
        Unit::Day | Unit::Workday | Unit::Week | Unit::Weekend | Unit::Month | Unit::Quarter | Unit::Year => Grain::Day,
    }
}

/// Whether a date in digits has the day first in a zone; `None` for zones that are no place.
fn day_first_in(zone: &TimeZone) -> Option<bool> {
    const MONTH_FIRST: [&str; 6] =
        ["America", "US", "Pacific/Honolulu", "Pacific/Guam", "Pacific/Pago_Pago", "Asia/Manila"];
    // South of the border the day comes first.
    const DAY_FIRST: [&str; 12] = [
        "America/Mexico_City",
        "America/Sao_Paulo",
        "America/Argentina",
        "America/Bogota",
        "America/Lima",
        "America/Santiago",
        "America/Caracas",
        "America/Guayaquil",
        "America/La_Paz",
        "America/Montevideo",
        "America/Asuncion",
        "America/Monterrey",
    ];
    let name = zone.iana_name()?;
    if !name.contains('/') || name.starts_with("Etc/") {
        return None;
    }
    Some(
        !MONTH_FIRST.iter().any(|place| name.starts_with(place))
            || DAY_FIRST.iter().any(|place| name.starts_with(place)),
    )
}

pub(super) fn too_long() -> Why {
    "a quarter of a year is too long to be reminded in; name a date".into()
}

pub(super) fn too_far() -> Why {
    "that is further away than the calendar goes".into()
}
