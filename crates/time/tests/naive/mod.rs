//! RFC 5545 applied to one local time, without any cleverness: slow, and written apart from the evaluator.

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Weekday};
use punctual_time::schedule::{Freq, Recurrence};

/// Whether the rule names `time`.
pub(crate) fn contains(rule: &Recurrence, anchor: DateTime, time: DateTime) -> bool {
    if time < anchor || rule.until.is_some_and(|until| time > until) || !in_interval(rule, anchor, time) {
        return false;
    }
    if !is_candidate(rule, anchor, time) {
        return false;
    }
    if rule.by_set_pos.is_empty() {
        return true;
    }
    let set = candidates_in_period(rule, anchor, time);
    let place = set.iter().position(|candidate| *candidate == time).unwrap();
    let (from_start, from_end) = (place as i64 + 1, place as i64 - set.len() as i64);
    rule.by_set_pos.iter().any(|wanted| i64::from(*wanted) == from_start || i64::from(*wanted) == from_end)
}

/// The first time that the rule names in [`from`, `to`), as far as it is worth looking: `None` when there is none.
pub(crate) fn first_between(
    rule: &Recurrence,
    anchor: DateTime,
    from: DateTime,
    to: Option<DateTime>,
) -> Option<DateTime> {
    let days = if rule.freq < Freq::Daily { 3 } else { 400 };
    let end = from.checked_add(days.days()).unwrap();
    let end = to.map_or(end, |to| to.min(end));
    let mut date = from.date();
    while date <= end.date() {
        if is_date(rule, anchor, date) {
            let times = times_of_day(rule, anchor, date);
            let in_reach = times.into_iter().filter(|time| *time >= from && *time < end);
            // Of the many seconds of a day, a sample.
            let step = if rule.freq == Freq::Secondly { 7 } else { 1 };
            let found = in_reach.step_by(step).find(|time| contains(rule, anchor, *time));
            if found.is_some() {
                return found;
            }
        }
        date = date.tomorrow().unwrap();
    }
    None
}

fn in_interval(rule: &Recurrence, anchor: DateTime, time: DateTime) -> bool {
    let seconds = |from: DateTime, to: DateTime| to.duration_since(from).as_secs();
    let hour = |time: DateTime| time.date().at(time.hour(), 0, 0, 0);
    let minute = |time: DateTime| time.date().at(time.hour(), time.minute(), 0, 0);
    let day = |time: DateTime| time.date().at(0, 0, 0, 0);
    let week = |mut time: DateTime| {
        while time.weekday() != rule.week_start {
            time = time.yesterday().unwrap();
        }
        day(time)
    };
    let periods = match rule.freq {
        Freq::Yearly => i64::from(time.year() - anchor.year()),
        Freq::Monthly => {
            i64::from(time.year() - anchor.year()) * 12 + i64::from(time.month()) - i64::from(anchor.month())
        }
        Freq::Weekly => seconds(week(anchor), week(time)) / (7 * 86_400),
        Freq::Daily => seconds(day(anchor), day(time)) / 86_400,
        Freq::Hourly => seconds(hour(anchor), hour(time)) / 3600,
        Freq::Minutely => seconds(minute(anchor), minute(time)) / 60,
        Freq::Secondly => seconds(anchor, time),
    };
    periods % i64::from(rule.interval) == 0
}

/// Whether `time` is in the set of its period, from which `BYSETPOS` picks.
fn is_candidate(rule: &Recurrence, anchor: DateTime, time: DateTime) -> bool {
    let part = |list: &[i8], value: i8, default: i8, is_default: bool| match list.is_empty() {
        true => !is_default || value == default,
        false => list.contains(&value),
    };
    is_date(rule, anchor, time.date())
        && part(&rule.by_hour, time.hour(), anchor.hour(), rule.freq >= Freq::Daily)
        && part(&rule.by_minute, time.minute(), anchor.minute(), rule.freq >= Freq::Hourly)
        && part(&rule.by_second, time.second(), anchor.second(), rule.freq >= Freq::Minutely)
}

fn is_date(rule: &Recurrence, anchor: DateTime, date: Date) -> bool {
    let has_days = !rule.by_year_day.is_empty() || !rule.by_month_day.is_empty() || !rule.by_day.is_empty();
    let has_weeks = !rule.by_week_no.is_empty();
    // The anchor decides where the rule says nothing.
    let by_anchor = match rule.freq {
        Freq::Yearly if !has_days && !has_weeks => {
            date.day() == anchor.day() && (!rule.by_month.is_empty() || date.month() == anchor.month())
        }
        Freq::Monthly if !has_days && !has_weeks => date.day() == anchor.day(),
        Freq::Weekly if !has_days && !has_weeks => date.weekday() == anchor.weekday(),
        Freq::Yearly if !has_days => date.weekday() == anchor.weekday(),
        _ => true,
    };
    by_anchor
        && (rule.by_month.is_empty() || rule.by_month.contains(&date.month()))
        && (rule.by_month_day.is_empty() || is_month_day(rule, date))
        && (rule.by_year_day.is_empty() || is_year_day(rule, date))
        && (!has_weeks || is_week(rule, date))
        && (rule.by_day.is_empty() || is_week_day(rule, date))
}

fn is_month_day(rule: &Recurrence, date: Date) -> bool {
    let days: Vec<Date> = all_days(date.first_of_month(), date.last_of_month());
    places(&days, date).iter().any(|place| rule.by_month_day.contains(&(*place as i8)))
}

fn is_year_day(rule: &Recurrence, date: Date) -> bool {
    let days = all_days(date.first_of_year(), date.last_of_year());
    places(&days, date).iter().any(|place| rule.by_year_day.contains(&(*place as i16)))
}

fn is_week_day(rule: &Recurrence, date: Date) -> bool {
    let is_of_year = rule.freq == Freq::Yearly && rule.by_month.is_empty();
    let (first, last) = match is_of_year {
        true => (date.first_of_year(), date.last_of_year()),
        false => (date.first_of_month(), date.last_of_month()),
    };
    let alike: Vec<Date> = all_days(first, last).into_iter().filter(|day| day.weekday() == date.weekday()).collect();
    let places = places(&alike, date);
    rule.by_day
        .iter()
        .any(|day| day.day == date.weekday() && day.nth.is_none_or(|nth| places.contains(&i64::from(nth))))
}

/// By writing out the weeks of three years and looking the date up.
fn is_week(rule: &Recurrence, date: Date) -> bool {
    (date.year() - 1..=date.year() + 1).any(|year| {
        let weeks = weeks_of(year, rule.week_start);
        let Some(at) = weeks.iter().position(|first| *first <= date && date < first.checked_add(7.days()).unwrap())
        else {
            return false;
        };
        let (number, from_end) = (at as i64 + 1, at as i64 - weeks.len() as i64);
        rule.by_week_no.iter().any(|wanted| i64::from(*wanted) == number || i64::from(*wanted) == from_end)
    })
}

/// The first days of the weeks that have four days or more in `year`.
fn weeks_of(year: i16, start: Weekday) -> Vec<Date> {
    let mut first = Date::constant(year, 1, 1).checked_sub(7.days()).unwrap();
    while first.weekday() != start {
        first = first.tomorrow().unwrap();
    }
    let is_of_year = |first: &Date| {
        let days = all_days(*first, first.checked_add(6.days()).unwrap());
        days.iter().filter(|day| day.year() == year).count() >= 4
    };
    first.series(7.days()).take(56).filter(is_of_year).collect()
}

fn candidates_in_period(rule: &Recurrence, anchor: DateTime, time: DateTime) -> Vec<DateTime> {
    let date = time.date();
    let (first, last) = match rule.freq {
        Freq::Yearly => (date.first_of_year(), date.last_of_year()),
        Freq::Monthly => (date.first_of_month(), date.last_of_month()),
        Freq::Weekly => {
            let mut first = date;
            while first.weekday() != rule.week_start {
                first = first.yesterday().unwrap();
            }
            (first, first.checked_add(6.days()).unwrap())
        }
        _ => (date, date),
    };
    let is_in_period = |other: &DateTime| match rule.freq {
        Freq::Hourly => other.hour() == time.hour(),
        Freq::Minutely => (other.hour(), other.minute()) == (time.hour(), time.minute()),
        Freq::Secondly => *other == time,
        _ => true,
    };
    let dates = all_days(first, last).into_iter().filter(|date| is_date(rule, anchor, *date));
    dates.flat_map(|date| times_of_day(rule, anchor, date)).filter(is_in_period).collect()
}

/// All times of a date that are in the set, in order.
fn times_of_day(rule: &Recurrence, anchor: DateTime, date: Date) -> Vec<DateTime> {
    let values = |list: &[i8], default: i8, is_default: bool, all: i8| match (list.is_empty(), is_default) {
        (false, _) => list.to_vec(),
        (true, true) => vec![default],
        (true, false) => (0..all).collect(),
    };
    let hours = values(&rule.by_hour, anchor.hour(), rule.freq >= Freq::Daily, 24);
    let minutes = values(&rule.by_minute, anchor.minute(), rule.freq >= Freq::Hourly, 60);
    let seconds = values(&rule.by_second, anchor.second(), rule.freq >= Freq::Minutely, 60);
    let mut times = Vec::new();
    for hour in &hours {
        for minute in &minutes {
            times.extend(seconds.iter().map(|second| date.at(*hour, *minute, *second, 0)));
        }
    }
    times.sort_unstable();
    times
}

/// The place of `date` in a list, from the start and from the end.
fn places(list: &[Date], date: Date) -> [i64; 2] {
    let at = list.iter().position(|other| *other == date).unwrap() as i64;
    [at + 1, at - list.len() as i64]
}

fn all_days(first: Date, last: Date) -> Vec<Date> {
    first.series(1.day()).take_while(|date| *date <= last).collect()
}
