//! A recurrence rule in words.

use jiff::civil::{DateTime, Weekday};

use super::super::json::clock;
use super::super::recurrence::{Freq, NthDay, Recurrence};
use super::super::{Weekdays, bits};
use super::words::Words;

/// As many times of day or dates as are said one by one.
const LISTED_MAX: usize = 6;

/// Says when `rule` is due, such as `every 2 weeks on Mon, Fri at 08:00`.
pub(super) fn rule(rule: &Recurrence, anchor: DateTime, words: &Words) -> String {
    let mut left = rule.clone().filled(anchor);
    let mut parts = vec![cadence(&mut left, words)];
    parts.extend(limits(&left, words));
    parts.extend(times(&left, words));
    if let Some(until) = left.until {
        parts.push((words.until)(&(words.moment)(until)));
    }
    parts.join(" ")
}

/// How often, and on which days. What has been said is taken out of the rule.
fn cadence(rule: &mut Recurrence, words: &Words) -> String {
    let n = rule.interval;
    let every = (words.every)(rule.freq, n);
    let has_nth = rule.by_day.iter().any(|day| day.nth.is_some());
    let has_each = rule.by_day.iter().any(|day| day.nth.is_none());
    let days = rule.each_day();
    match rule.freq {
        Freq::Weekly | Freq::Daily if n == 1 && has_each => {
            rule.by_day.clear();
            (words.every_one_of)(&class(days, words))
        }
        Freq::Weekly if has_each => {
            rule.by_day.clear();
            format!("{every} {}", (words.on)(&names(days, words)))
        }
        Freq::Monthly => match monthly(rule, words) {
            Some(days) => format!("{days} {}", (words.of_every)(rule.freq, n)),
            None if has_each && !has_nth && rule.by_set_pos.is_empty() && rule.by_month_day.is_empty() => {
                rule.by_day.clear();
                let each = (words.every_one_of)(&class(days, words));
                if n == 1 { each } else { format!("{each} {}", (words.of_every)(rule.freq, n)) }
            }
            None => every,
        },
        Freq::Yearly => match yearly(rule, words) {
            Some(days) => format!("{every} {days}"),
            None => every,
        },
        _ => every,
    }
}

/// `on the last day`, `on the 2nd Tue`, `on the last weekday`.
fn monthly(rule: &mut Recurrence, words: &Words) -> Option<String> {
    let has_each = rule.by_day.iter().any(|day| day.nth.is_none());
    let said = if !rule.by_day.is_empty() && rule.by_month_day.is_empty() && rule.by_set_pos.is_empty() && !has_each {
        nth_days(&std::mem::take(&mut rule.by_day), words)
    } else if !rule.by_day.is_empty()
        && rule.by_day.iter().all(|day| day.nth.is_none())
        && rule.by_month_day.is_empty()
        && !rule.by_set_pos.is_empty()
    {
        let class = match rule.each_day() {
            Weekdays::WEEKEND => words.weekend_day.into(),
            days => class(days, words),
        };
        rule.by_day.clear();
        let places = std::mem::take(&mut rule.by_set_pos);
        list(places.iter().map(|place| (words.the_nth)(*place, &class)))
    } else if !rule.by_month_day.is_empty() && rule.by_set_pos.is_empty() {
        let days = std::mem::take(&mut rule.by_month_day);
        list(from_the_start(&days).map(|day| match day {
            1.. => (words.the_day)(day),
            _ => (words.the_nth)(day.into(), words.day),
        }))
    } else {
        return None;
    };
    Some((words.on)(&said))
}

/// `on 4 July`, `on the 4th Thu of November`.
fn yearly(rule: &mut Recurrence, words: &Words) -> Option<String> {
    if rule.by_month.is_empty() || !rule.by_set_pos.is_empty() {
        return None;
    }
    let months = list(rule.by_month.iter().map(|month| month_name(*month, words).to_owned()));
    let n_dates = rule.by_month.len() * rule.by_month_day.len();
    let has_each = rule.by_day.iter().any(|day| day.nth.is_none());
    if (1..=LISTED_MAX).contains(&n_dates) && rule.by_month_day.iter().all(|day| *day > 0) {
        let (in_months, days) = (std::mem::take(&mut rule.by_month), std::mem::take(&mut rule.by_month_day));
        let dates = in_months.iter().flat_map(|month| days.iter().map(|day| (*day, *month)));
        let said = list(dates.map(|(day, month)| (words.date)(day, month_name(month, words))));
        return Some((words.on)(&said));
    }
    if !rule.by_month_day.is_empty() {
        let said = monthly(rule, words)?;
        rule.by_month.clear();
        return Some(format!("{said} {}", (words.of_months)(&months)));
    }
    if !rule.by_day.is_empty() && !has_each {
        rule.by_month.clear();
        let said = nth_days(&std::mem::take(&mut rule.by_day), words);
        return Some(format!("{} {}", (words.on)(&said), (words.of_months)(&months)));
    }
    None
}

/// What narrows the rule down and has not been said.
fn limits(rule: &Recurrence, words: &Words) -> Vec<String> {
    let mut said = Vec::new();
    if !rule.by_day.is_empty() {
        let each = rule.each_day();
        let nth: Vec<NthDay> = rule.by_day.iter().copied().filter(|day| day.nth.is_some()).collect();
        let days = [(!each.is_empty()).then(|| names(each, words)), (!nth.is_empty()).then(|| nth_days(&nth, words))];
        said.push((words.only_on)(&list(days.into_iter().flatten())));
    }
    if !rule.by_month_day.is_empty() {
        let day = |day: i8| match day {
            1.. => (words.the_day)(day),
            _ => (words.the_nth)(day.into(), words.day),
        };
        said.push((words.only_on)(&list(from_the_start(&rule.by_month_day).map(day))));
    }
    if !rule.by_month.is_empty() {
        said.push((words.in_months)(&list(rule.by_month.iter().map(|month| month_name(*month, words).to_owned()))));
    }
    if !rule.by_week_no.is_empty() {
        said.push((words.in_weeks)(&list(rule.by_week_no.iter().map(i8::to_string))));
    }
    if !rule.by_year_day.is_empty() {
        said.push((words.on_year_days)(&list(rule.by_year_day.iter().map(i16::to_string))));
    }
    if !rule.by_set_pos.is_empty() {
        said.push((words.only_the)(&rule.by_set_pos));
    }
    if rule.freq < Freq::Daily && !rule.by_hour.is_empty() {
        said.push((words.in_hours)(&list(rule.by_hour.iter().map(i8::to_string))));
    }
    said
}

/// The times of day, or of the hour.
fn times(rule: &Recurrence, words: &Words) -> Option<String> {
    if rule.freq == Freq::Hourly {
        let minutes = list(rule.by_minute.iter().map(|minute| format!(":{minute:02}")));
        return (rule.by_minute != [0]).then(|| (words.at)(&minutes));
    }
    if rule.freq < Freq::Hourly {
        let minutes = list(rule.by_minute.iter().map(|minute| format!(":{minute:02}")));
        return (!rule.by_minute.is_empty()).then(|| (words.at)(&minutes));
    }
    let set = |values: &[i8]| bits::set_of(values, 0);
    let times = bits::Times { hours: set(&rule.by_hour), minutes: set(&rule.by_minute), seconds: set(&rule.by_second) };
    let nth = |n: usize| times.nth(n).map(clock).unwrap_or_default();
    match times.count() {
        n @ ..=LISTED_MAX => Some((words.at)(&list((0..n).map(nth)))),
        n => Some((words.at_many)(n, &nth(0), &nth(n - 1))),
    }
}

/// `weekday`, or the days by name.
pub(super) fn class(days: Weekdays, words: &Words) -> String {
    match days {
        Weekdays::ALL => words.day.into(),
        Weekdays::WEEKDAYS => words.workday.into(),
        days => names(days, words),
    }
}

/// The days by name.
pub(super) fn names(days: Weekdays, words: &Words) -> String {
    list(days.iter().map(|day| day_name(day, words).to_owned()))
}

pub(super) fn month_name(month: i8, words: &Words) -> &'static str {
    words.months[usize::from(month.clamp(1, 12).unsigned_abs()) - 1]
}

pub(super) fn list(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(", ")
}

fn day_name(day: Weekday, words: &Words) -> &'static str {
    words.days[usize::from(day.to_monday_zero_offset().unsigned_abs())]
}

fn nth_days(days: &[NthDay], words: &Words) -> String {
    list(days.iter().map(|day| (words.the_nth)(day.nth.unwrap_or(1).into(), day_name(day.day, words))))
}

/// Days of the month in the order in which they come: those from the end last.
fn from_the_start(days: &[i8]) -> impl Iterator<Item = i8> {
    let (from_end, from_start): (Vec<i8>, Vec<i8>) = days.iter().partition(|day| **day < 0);
    from_start.into_iter().chain(from_end)
}
