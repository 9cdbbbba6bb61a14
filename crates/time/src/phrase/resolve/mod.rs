//! From a point in time as it was said to an instant, for somebody in a zone at `now`.
//!
//! Words that have several meanings mean the next sensible time to come: `at 3` said at noon is three in the afternoon,
//! `tuesday` said on a Tuesday is next week's.

mod day;
mod time_of_day;
mod within;

use jiff::civil::{Date, DateTime, Time, Weekday, time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp};

use self::day::Day;
use self::time_of_day::times;
pub(super) use self::time_of_day::{TimeOfDay, time_of, times_of};
use super::Grain;
use super::atom::{Cal, Dur, Half, Unit};
use super::language::{Hours, Language};
use super::list::List;
pub(super) use super::reason::Why;
use super::stretch::{add_days, add_months, in_week, next_weekday, tomorrow, workdays_from};
use super::when::When;
use super::whole::LATER;
use crate::habits::{DateOrder, Habits};

/// When such a day is today and its morning is over.
const LATER_TODAY: [Time; 4] = [time(12, 0, 0, 0), time(15, 0, 0, 0), time(18, 0, 0, 0), time(21, 0, 0, 0)];

/// Where and when it was said, and what the language makes of `next`.
#[derive(Clone)]
pub(super) struct Here {
    pub(super) now: Timestamp,
    pub(super) local: DateTime,
    pub(super) zone: TimeZone,
    /// Whether the next Wednesday is the coming one, and not that of next week.
    pub(super) is_next_coming: bool,
    pub(super) hours: Hours,
    /// Whether 3/4 is the third of April here; `None` where nothing tells.
    pub(super) is_day_first: Option<bool>,
    pub(super) habits: Habits,
}

/// An instant, and how exactly it was said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) at: Timestamp,
    pub(super) grain: Grain,
}

impl Here {
    pub(super) fn new(now: Timestamp, zone: &TimeZone, language: &Language, habits: Habits) -> Self {
        let (is_next_coming, hours) = (language.is_next_coming, language.hours);
        let own = habits.date_order.map(|order| order == DateOrder::DayFirst);
        let is_day_first = own.or_else(|| day_first_in(zone));
        Self { now, local: zone.to_datetime(now), zone: zone.clone(), is_next_coming, hours, is_day_first, habits }
    }

    /// The first day of the week that `date` is in.
    pub(super) fn week_of(&self, date: Date) -> Result<Date, Why> {
        let first = self.habits.first_day_of_week.unwrap_or(Weekday::Monday);
        add_days(date, -i32::from(date.weekday().since(first)))
    }

    /// The same place at another moment, or another zone.
    pub(super) fn moved_to(&self, now: Timestamp, zone: &TimeZone) -> Self {
        Self { now, local: zone.to_datetime(now), zone: zone.clone(), ..*self }
    }

    /// The instant that `when` means.
    pub(super) fn point(&self, when: &When) -> Result<Point, Why> {
        if let Some(code) = when.zone {
            let mut there = self.moved_to(self.now, &zone_of(code)?);
            // Tomorrow at 10 Eastern: the day is that of the one who says it, the time is that of the zone.
            if when.has_day() {
                there.local = self.local;
            }
            return there.point(&When { zone: None, ..when.clone() });
        }
        if let Some((n, days)) = when.near {
            return self.near(when, n, days);
        }
        // The day before nine o'clock is no day that anybody named.
        let is_day_before = |dur: Dur| dur.finest >= Unit::Day && dur.elapsed_seconds() < 0 && !when.has_day();
        if when.then.or(when.shift).is_some_and(is_day_before) {
            return Err(Why::of("before what"));
        }
        if let Some(dur) = when.then {
            let point = self.point(&When { then: None, ..when.clone() })?;
            return self.moved(point, dur);
        }
        if let Some(dur) = when.shift {
            return self.shifted(when, dur);
        }
        if when.is_several {
            return Err(Why::of("several times"));
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
    pub(super) fn is_other_way_round(&self, when: &When) -> bool {
        let is_24_hours = when.clocks.iter().any(|clock| clock.half != Half::Either && clock.is_written_24);
        self.is_day_first.unwrap_or(is_24_hours)
    }

    fn timestamp(&self, local: DateTime) -> Result<Timestamp, Why> {
        self.zone.to_timestamp(local).map_err(|_| too_far())
    }

    /// From now: elapsed time, or the same time on another day.
    fn offset(&self, when: &When, dur: Dur) -> Result<Point, Why> {
        if let Some((days, _)) = when.days {
            let date = if dur.finest == Unit::Week {
                // Wednesday in two weeks is that of the week after next.
                in_week(add_days(self.week_of(self.local.date())?, dur.days)?, days)?
            } else {
                // A Wednesday two months from now is the first one then.
                next_weekday(self.zone.to_datetime(self.now_plus(self.now, dur)?).date(), days)?
            };
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
            point.at = self.timestamp(date.to_datetime(self.habits.on_day()))?;
        }
        let moved = self.moved(point, dur)?;
        if base.has_day() && when.has_time() {
            return self.at_day(when, Day::exact(self.zone.to_datetime(moved.at).date()));
        }
        let grain = if dur.finest < Unit::Day { grain_of(dur.finest) } else { Grain::Day };
        Ok(Point { at: moved.at, grain })
    }

    /// The n-th such day of the week after or before the day that else was said; zero is the nearest.
    fn near(&self, when: &When, n: i32, days: u8) -> Result<Point, Why> {
        let base = When { near: None, clocks: List::default(), part: None, ..when.clone() };
        let point = self.point(&base)?;
        if point.grain > Grain::Day {
            return Err(Why::of("after which day"));
        }
        let base = self.zone.to_datetime(point.at).date();
        let date = match n {
            0 => next_weekday(add_days(base, -3)?, days)?,
            1.. => add_days(next_weekday(tomorrow(base)?, days)?, 7 * (n - 1))?,
            // The last one before it is in the seven days before.
            _ => add_days(next_weekday(add_days(base, -7)?, days)?, 7 * (n + 1))?,
        };
        self.at_day(when, Day::exact(date))
    }

    /// The next or the last so many of a unit, from their beginning to their end.
    pub(super) fn window(&self, n: i32, unit: Unit) -> Result<(Point, Timestamp), Why> {
        let dur = Dur::of(f64::from(n.abs()), unit).ok_or_else(too_far)?;
        if unit < Unit::Day {
            return self.window_of_hours(n, unit, dur);
        }
        let today = self.local.date();
        // The next 3 days begin tomorrow, the last 2 weeks are the two before this one.
        let this = match unit {
            Unit::Week | Unit::Weekend => self.week_of(today)?,
            Unit::Month => today.first_of_month(),
            Unit::Quarter => self.stretch(unit, 0)?.first,
            Unit::Year => today.first_of_year(),
            _ => today,
        };
        let moved = |date: Date, n: i32| match unit {
            Unit::Week | Unit::Weekend => add_days(date, 7 * n),
            Unit::Month => add_months(date, n),
            Unit::Quarter => add_months(date, 3 * n),
            Unit::Year => add_months(date, 12 * n),
            Unit::Workday => workdays_from(date, n),
            _ => add_days(date, n),
        };
        let (first, after) = if n < 0 { (moved(this, n)?, this) } else { (moved(this, 1)?, moved(this, n + 1)?) };
        Ok((Point { at: self.midnight(first)?, grain: Grain::Day }, self.midnight(after)?))
    }

    /// The next or the last so many hours or minutes. Like days they are counted whole: the next 3 hours begin with the next full hour, and
    /// they are over three hours from now.
    fn window_of_hours(&self, n: i32, unit: Unit, dur: Dur) -> Result<(Point, Timestamp), Why> {
        let begun = |local: DateTime| match unit {
            Unit::Hour => local.with().minute(0).second(0).subsec_nanosecond(0).build(),
            Unit::Minute => local.with().second(0).subsec_nanosecond(0).build(),
            _ => Ok(local),
        };
        // Where summer time ends, an hour comes twice: what has passed of it is the same in both.
        let passed = self.local.duration_since(begun(self.local).map_err(|_| too_far())?);
        let this = self.now.checked_sub(passed).map_err(|_| too_far())?;
        let grain = grain_of(unit);
        if n < 0 {
            return Ok((Point { at: self.now_plus(this, dur.negated())?, grain }, self.now));
        }
        let to = self.now_plus(self.now, dur)?;
        let next = self.now_plus(this, Dur::of(1.0, unit).ok_or_else(too_far)?)?;
        let from = if unit > Unit::Second && next < to { next } else { self.now };
        Ok((Point { at: from, grain }, to))
    }

    /// When a day begins.
    pub(super) fn midnight(&self, date: Date) -> Result<Timestamp, Why> {
        self.timestamp(date.to_datetime(Time::midnight()))
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
            for time in times(when, &self.habits) {
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
        let times = times(when, &self.habits);
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
        let morning = self.timestamp(day.date.to_datetime(self.habits.on_day()))?;
        let mut point = Point { at: morning, grain: day.grain };
        if day.date == self.local.date() && morning <= self.now && when.edge.is_none_or(|edge| edge >= LATER) {
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
}

fn grain_of(unit: Unit) -> Grain {
    match unit {
        Unit::Second => Grain::Second,
        Unit::Minute => Grain::Minute,
        Unit::Hour => Grain::Hour,
        Unit::Day | Unit::Workday | Unit::Week | Unit::Weekend | Unit::Month | Unit::Quarter | Unit::Year => Grain::Day,
    }
}

/// The zones that people name by a word, from 2001 on. They keep summer time, so that minutes would not do.
const NAMED_ZONES: [&str; 8] = [
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Anchorage",
    "Pacific/Honolulu",
    "America/Halifax",
    "Europe/London",
];

/// The zone that a table's number stands for: minutes east of Greenwich, or one that is named.
pub(super) fn zone_of(code: i32) -> Result<TimeZone, Why> {
    if let Some(name) = usize::try_from(code - 2001).ok().and_then(|index| NAMED_ZONES.get(index)) {
        return TimeZone::get(name).map_err(|_| too_far());
    }
    Offset::from_seconds(code * 60).map(TimeZone::fixed).map_err(|_| too_far())
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
    Why::of("too long")
}

pub(super) fn too_far() -> Why {
    Why::of("too far")
}
