//! The local times of a rule.
//!
//! A rule divides time into periods: its years, months, weeks, days, hours, minutes or seconds. Those that an `INTERVAL`
//! leaves in are found by arithmetic, however far from the anchor, and never by counting from it. In rules of days and
//! longer, a period has some dates, and each date the same times of day; in shorter ones it is a stretch of one
//! date. `BYSETPOS` picks from the times of one period, also from those before the anchor.
//!
//! The calendar repeats after 400 years, so a rule that has found nothing in as many never will.

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Time, Weekday};

use super::super::bits::{Times, bits, has, next_bit, set_of};
use super::super::local::whole_second;
use super::calendar::{Month, date_of, number_of};
use super::days::Days;
use super::{Freq, Recurrence};
use crate::steps::Steps;

/// How many months or periods one search looks at: every day of 400 years, and as many jumps.
const LOOKS_MAX: u32 = 2 * 146_097;
/// The months of 400 years. If no day matches in any of them, and no interval leaves some out, none ever will.
const MONTHS_MAX: usize = 4800;

/// The weekday of day 0.
const EPOCH_WEEKDAY: Weekday = Weekday::Thursday;
const DAY_SECONDS: i64 = 86_400;

impl Recurrence {
    /// The first local time at or after `from`, and not before `anchor`, that the rule names.
    ///
    /// Takes no longer for being far from the anchor, and gives up on a rule that nothing matches after a bounded search.
    pub fn next_at_or_after(&self, anchor: DateTime, from: DateTime) -> Option<DateTime> {
        self.next_within(anchor, from, &Steps::new(u64::MAX))
    }

    /// The same with a bounded number of steps: when they are spent there is no answer.
    pub(crate) fn next_within(&self, anchor: DateTime, from: DateTime, steps: &Steps) -> Option<DateTime> {
        let from = whole_second_up(from)?.max(anchor);
        if self.until.is_some_and(|until| from > until) {
            return None;
        }
        let search = Search::new(self, anchor);
        let mut looks = Looks { left: LOOKS_MAX, each: self.look_steps(), steps };
        looks.look()?;
        let next = match (self.freq >= Freq::Daily, self.by_set_pos.is_empty()) {
            (true, true) => search.next_by_date(from, &mut looks),
            (true, false) => search.next_in_dates(from, &mut looks),
            (false, _) => search.next_in_day(from, &mut looks),
        };
        next.filter(|next| self.until.is_none_or(|until| *next <= until))
    }
}

impl Recurrence {
    /// How many steps one look at a month or period is: more where long lists are compared with it.
    fn look_steps(&self) -> u64 {
        let n_listed =
            self.by_year_day.len() + 3 * self.by_week_no.len() + self.by_day.len() + 8 * self.by_set_pos.len();
        1 + n_listed as u64 / 32
    }

    /// Whether the interval leaves in the period of `time`.
    pub(in super::super) fn is_on_grid(&self, anchor: DateTime, time: DateTime) -> bool {
        (period_of(self, time) - period_of(self, anchor)) % i64::from(self.interval.max(1)) == 0
    }
}

struct Search<'a> {
    rule: &'a Recurrence,
    interval: i64,
    days: Days<'a>,
    times: Times,
    /// The period that the anchor is in.
    first: i64,
}

impl<'a> Search<'a> {
    fn new(rule: &'a Recurrence, anchor: DateTime) -> Self {
        let limit = |values: &[i8], all: u64| if values.is_empty() { all } else { set_of(values, 0) };
        // A period shorter than a day has its own hour, and only limits the longer ones.
        let hours = match rule.freq {
            Freq::Secondly | Freq::Minutely | Freq::Hourly => limit(&rule.by_hour, (1 << 24) - 1),
            _ => set_of(&rule.by_hour, anchor.hour()),
        };
        let minutes = match rule.freq {
            Freq::Secondly | Freq::Minutely => limit(&rule.by_minute, (1 << 60) - 1),
            _ => set_of(&rule.by_minute, anchor.minute()),
        };
        let seconds = match rule.freq {
            Freq::Secondly => limit(&rule.by_second, (1 << 60) - 1),
            _ => set_of(&rule.by_second, anchor.second()),
        };
        Self {
            rule,
            interval: rule.interval.max(1).into(),
            days: Days::new(rule, anchor),
            times: Times { hours, minutes, seconds },
            first: period_of(rule, anchor),
        }
    }

    /// For days and longer: the next date that matches, and the next time on it.
    fn next_by_date(&self, from: DateTime, looks: &mut Looks<'_>) -> Option<DateTime> {
        let mut date = self.next_date(from.date(), looks)?;
        if date == from.date() {
            if let Some(time) = self.times.next(from.time()) {
                return Some(date.to_datetime(time));
            }
            date = self.next_date(date.tomorrow().ok()?, looks)?;
        }
        Some(date.to_datetime(self.times.next(Time::midnight())?))
    }

    /// The first date at or after `date` that matches, in a period that the interval leaves in.
    fn next_date(&self, date: Date, looks: &mut Looks<'_>) -> Option<Date> {
        let mut from = date;
        let n_months = if self.interval == 1 || self.rule.freq < Freq::Daily { MONTHS_MAX } else { usize::MAX };
        for _ in 0..=n_months {
            looks.look()?;
            if self.interval > 1 && self.rule.freq >= Freq::Monthly {
                let period = self.on_grid(period_of(self.rule, from.to_datetime(Time::midnight())))?;
                from = from.max(self.begin(period)?.date());
            }
            let month = Month::of(from);
            let days = self.days.in_month(month);
            let is_on_grid = |day: &i8| {
                self.interval == 1
                    || self.rule.freq >= Freq::Monthly
                    || self.rule.freq < Freq::Daily
                    || self.is_day_on_grid(month.first + i64::from(*day) - 1)
            };
            let mut found = bits(days).filter(|day| *day >= from.day());
            if let Some(day) = found.find(is_on_grid) {
                return month.date(day.into());
            }
            from = month.next().date(1)?;
        }
        None
    }

    /// Whether the interval of a rule of weeks or days leaves in the day with this number.
    fn is_day_on_grid(&self, number: i64) -> bool {
        let period = match self.rule.freq {
            Freq::Weekly => (number - week_shift(self.rule)).div_euclid(7),
            _ => number,
        };
        (period - self.first).rem_euclid(self.interval) == 0
    }

    /// For days and longer, with `BYSETPOS`: the next of the times that it picks from each period.
    fn next_in_dates(&self, from: DateTime, looks: &mut Looks<'_>) -> Option<DateTime> {
        let mut period = period_of(self.rule, from);
        loop {
            period = self.on_grid(period)?;
            let dates = self.dates_in(period, looks)?;
            let n_times = self.times.count();
            let time_at = |at: usize| Some(dates[at / n_times].to_datetime(self.times.nth(at % n_times)?));
            let picked = self.picked(dates.len() * n_times).filter_map(time_at).filter(|time| *time >= from).min();
            if picked.is_some() {
                return picked;
            }
            period += 1;
        }
    }

    /// The dates of a period that match.
    fn dates_in(&self, period: i64, looks: &mut Looks<'_>) -> Option<Vec<Date>> {
        let begin = self.begin(period)?.date();
        let end = self.begin(period + 1).map_or(Date::MAX, DateTime::date);
        let (mut month, end) = (Month::of(begin), number_of(end));
        let mut dates = Vec::new();
        while month.first < end {
            looks.look()?;
            let days = bits(self.days.in_month(month)).filter_map(|day| month.date(day.into()));
            dates.extend(days.filter(|date| *date >= begin && number_of(*date) < end));
            month = month.next();
        }
        Some(dates)
    }

    /// For hours and shorter: the next period whose date, hour, minute and second are all allowed, and the next time in it.
    fn next_in_day(&self, from: DateTime, looks: &mut Looks<'_>) -> Option<DateTime> {
        let mut period = period_of(self.rule, from);
        loop {
            looks.look()?;
            period = self.on_grid(period)?;
            let begin = self.begin(period)?;
            if let Some(later) = self.blocked_until(begin, looks)? {
                period = period_of(self.rule, later).max(period + 1);
                continue;
            }
            let only = |set: u64, value: i8, is_longer: bool| if is_longer { 1 << value } else { set };
            let within = Times {
                hours: 1 << begin.hour(),
                minutes: only(self.times.minutes, begin.minute(), self.rule.freq < Freq::Hourly),
                seconds: only(self.times.seconds, begin.second(), self.rule.freq < Freq::Minutely),
            };
            let found = if self.rule.by_set_pos.is_empty() {
                let start = if from > begin { from.time() } else { begin.time() };
                within.next(start)
            } else {
                let times = self.picked(within.count()).filter_map(|at| within.nth(at));
                times.filter(|time| begin.date().to_datetime(*time) >= from).min()
            };
            match found {
                Some(time) => return Some(begin.date().to_datetime(time)),
                None => period += 1,
            }
        }
    }

    /// If the period that begins at `begin` is not allowed: the earliest beginning of one that may be.
    ///
    /// `None` when there is no such period any more.
    fn blocked_until(&self, begin: DateTime, looks: &mut Looks<'_>) -> Option<Option<DateTime>> {
        let date = begin.date();
        if !self.days.matches(date) {
            return Some(Some(self.next_date(date.tomorrow().ok()?, looks)?.to_datetime(Time::midnight())));
        }
        let tomorrow = || Some(date.tomorrow().ok()?.to_datetime(Time::midnight()));
        if !has(self.times.hours, begin.hour()) {
            let hour = next_bit(self.times.hours, begin.hour());
            let later = match hour {
                Some(hour) => Some(date.at(hour, 0, 0, 0)),
                None => tomorrow(),
            };
            return Some(Some(later?));
        }
        if self.rule.freq < Freq::Hourly && !has(self.times.minutes, begin.minute()) {
            let minute = next_bit(self.times.minutes, begin.minute());
            let later = match minute {
                Some(minute) => date.at(begin.hour(), minute, 0, 0),
                None => date.at(begin.hour(), 0, 0, 0).checked_add(1.hour()).ok()?,
            };
            return Some(Some(later));
        }
        if self.rule.freq < Freq::Minutely && !has(self.times.seconds, begin.second()) {
            let second = next_bit(self.times.seconds, begin.second());
            let later = match second {
                Some(second) => date.at(begin.hour(), begin.minute(), second, 0),
                None => date.at(begin.hour(), begin.minute(), 0, 0).checked_add(1.minute()).ok()?,
            };
            return Some(Some(later));
        }
        Some(None)
    }

    /// The places, from 0, that `BYSETPOS` picks from a list of `length`.
    fn picked(&self, length: usize) -> impl Iterator<Item = usize> {
        self.rule.by_set_pos.iter().filter_map(move |position| {
            let place = usize::from(position.unsigned_abs());
            match position.signum() {
                1 => (place <= length).then(|| place - 1),
                _ => length.checked_sub(place),
            }
        })
    }

    /// The first period at or after `period` that the interval leaves in.
    fn on_grid(&self, period: i64) -> Option<i64> {
        let beyond = (period - self.first).rem_euclid(self.interval);
        if beyond == 0 { Some(period) } else { period.checked_add(self.interval - beyond) }
    }

    /// When a period begins.
    fn begin(&self, period: i64) -> Option<DateTime> {
        let midnight = |date: Date| date.to_datetime(Time::midnight());
        match self.rule.freq {
            Freq::Yearly => Date::new(i16::try_from(period).ok()?, 1, 1).ok().map(midnight),
            Freq::Monthly => {
                let year = i16::try_from(period.div_euclid(12)).ok()?;
                let month = i8::try_from(period.rem_euclid(12) + 1).ok()?;
                Date::new(year, month, 1).ok().map(midnight)
            }
            Freq::Weekly => date_of(period.checked_mul(7)? + week_shift(self.rule)).map(midnight),
            Freq::Daily => date_of(period).map(midnight),
            freq => {
                let second = period.checked_mul(seconds_in(freq))?;
                let date = date_of(second.div_euclid(DAY_SECONDS))?;
                let second = i32::try_from(second.rem_euclid(DAY_SECONDS)).ok()?;
                let part = |value: i32| i8::try_from(value).ok();
                Some(date.at(part(second / 3600)?, part(second / 60 % 60)?, part(second % 60)?, 0))
            }
        }
    }
}

/// The looks that one search may take.
struct Looks<'a> {
    left: u32,
    /// How many steps each of them is.
    each: u64,
    steps: &'a Steps,
}

impl Looks<'_> {
    /// Counts one more; `None` when there have been enough.
    fn look(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        self.steps.take(self.each)
    }
}

/// The number of the period that `time` is in.
fn period_of(rule: &Recurrence, time: DateTime) -> i64 {
    let day = number_of(time.date());
    match rule.freq {
        Freq::Yearly => time.year().into(),
        Freq::Monthly => i64::from(time.year()) * 12 + i64::from(time.month()) - 1,
        Freq::Weekly => (day - week_shift(rule)).div_euclid(7),
        Freq::Daily => day,
        freq => {
            let (hour, minute) = (i64::from(time.hour()), i64::from(time.minute()));
            let second = day * DAY_SECONDS + hour * 3600 + minute * 60 + i64::from(time.second());
            second.div_euclid(seconds_in(freq))
        }
    }
}

/// The number of the first day of week 0.
fn week_shift(rule: &Recurrence) -> i64 {
    i64::from(rule.week_start.since(EPOCH_WEEKDAY))
}

fn seconds_in(freq: Freq) -> i64 {
    match freq {
        Freq::Secondly => 1,
        Freq::Minutely => 60,
        _ => 3600,
    }
}

/// The first whole second at or after `time`.
fn whole_second_up(time: DateTime) -> Option<DateTime> {
    let whole = whole_second(time);
    if whole == time { Some(time) } else { whole.checked_add(1.second()).ok() }
}
