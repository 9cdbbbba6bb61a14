//! A recurrence rule in words.

use jiff::civil::{DateTime, Time};

use super::super::json::clock;
use super::super::recurrence::{Freq, Recurrence};
use super::super::{Weekdays, bits};
use super::words::{Counted, Words, list};

/// As many times of day or dates as are said one by one.
const LISTED_MAX: usize = 6;
/// As many of them as can be read back, where no step says them.
const LISTED_AT_MOST: usize = 12;

/// A rule with everything in it that it takes from its anchor, and the times of day of all that differ in nothing else.
pub(super) struct Clause {
    rule: Recurrence,
    times: Vec<bits::Times>,
}

/// The rules as they are said: `every day at 08:00 and 09:30` is two of them.
pub(super) fn together(rules: &[Recurrence], anchor: DateTime) -> Vec<Clause> {
    let mut said: Vec<Clause> = Vec::new();
    for rule in rules {
        let mut rule = rule.clone().filled(anchor);
        let set = |values: &[i8]| bits::set_of(values, 0);
        let times =
            bits::Times { hours: set(&rule.by_hour), minutes: set(&rule.by_minute), seconds: set(&rule.by_second) };
        if rule.freq < Freq::Daily {
            said.push(Clause { rule, times: Vec::new() });
            continue;
        }
        // A place in the set counts times: only where each day has one, it counts days as well.
        if rule.by_set_pos.is_empty() || times.count() == 1 {
            (rule.by_hour, rule.by_minute, rule.by_second) = (Vec::new(), Vec::new(), Vec::new());
        }
        let known = said.iter_mut().find(|known| known.rule == rule);
        match known {
            Some(known) => known.times.push(times),
            None => said.push(Clause { rule, times: vec![times] }),
        }
    }
    said
}

impl Clause {
    /// Says when it is due, such as `every 2 weeks on Monday and Friday at 08:00`.
    pub(super) fn words(&self, words: &Words) -> String {
        if let Some(said) = self.step(words) {
            return said;
        }
        let mut left = self.rule.clone();
        let mut parts = vec![cadence(&mut left, words)];
        parts.extend(limits(&left, words));
        parts.extend(if self.times.is_empty() { minutes(&left, words) } else { Some(times(&self.times, words)) });
        if let Some(until) = left.until {
            parts.push((words.until)(&super::date_and_time(until, words)));
        }
        parts.join(" ")
    }
}

impl Clause {
    /// `every 15 minutes from 09:00 to 17:00`, where the times of every day are as far apart.
    fn step(&self, words: &Words) -> Option<String> {
        let Recurrence { freq, by_day, .. } = &self.rule;
        let bare = Recurrence { by_day: by_day.clone(), ..Recurrence::new(*freq) };
        let days = self.rule.each_day();
        let is_plain = self.rule == bare && by_day.iter().all(|day| day.nth.is_none());
        if !is_plain || !matches!((freq, days.is_empty()), (Freq::Daily, true) | (Freq::Weekly, false)) {
            return None;
        }
        let all = all_times(&self.times);
        let minutes = |time: &Time| i32::from(time.hour()) * 60 + i32::from(time.minute());
        let [first, second, .., last] = all.as_slice() else {
            return None;
        };
        let step = minutes(second) - minutes(first);
        let is_even = all.windows(2).all(|pair| minutes(&pair[1]) - minutes(&pair[0]) == step);
        if all.len() <= LISTED_MAX || !is_even || all.iter().any(|time| time.second() != 0) {
            return None;
        }
        let n = u64::try_from(step).ok()?;
        let every = if step % 60 == 0 { (words.every)(Freq::Hourly, n / 60) } else { (words.every)(Freq::Minutely, n) };
        let said = format!("{every} {}", (words.between)(&clock(*first), &clock(*last)));
        Some(if days.is_empty() { said } else { format!("{} {said}", (words.on_days)(days)) })
    }
}

/// The times of day of rules that differ in nothing else, in order.
fn all_times(of: &[bits::Times]) -> Vec<Time> {
    let mut all: Vec<Time> = of.iter().flat_map(|times| (0..times.count()).filter_map(|n| times.nth(n))).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// How often, and on which days. A part that has been said is taken out of the rule.
fn cadence(rule: &mut Recurrence, words: &Words) -> String {
    let n = rule.interval;
    let every = (words.every)(rule.freq, n.into());
    let days = rule.each_day();
    let is_each_only = !days.is_empty() && !has_nth(rule) && rule.by_set_pos.is_empty() && rule.by_month_day.is_empty();
    match rule.freq {
        Freq::Weekly | Freq::Daily if n == 1 && !days.is_empty() => {
            rule.by_day.clear();
            every_one_of(days, words)
        }
        Freq::Weekly if !days.is_empty() => {
            rule.by_day.clear();
            format!("{every} {}", (words.on_days)(days))
        }
        Freq::Monthly => match days_of_month(rule, words) {
            Some(days) if n == 1 => format!("{days} {}", words.of_every_month),
            Some(days) => format!("{every} {days} {}", words.of_the_month),
            None if is_each_only => {
                rule.by_day.clear();
                if n == 1 { every_one_of(days, words) } else { format!("{every} {}", (words.on_days)(days)) }
            }
            None => every,
        },
        Freq::Yearly => match days_of_year(rule, words) {
            Some(days) => format!("{every} {days}"),
            None => every,
        },
        _ => every,
    }
}

fn has_nth(rule: &Recurrence) -> bool {
    rule.by_day.iter().any(|day| day.nth.is_some())
}

/// `on the last day`, `on the 2nd Tuesday`, `on the last weekday`.
fn days_of_month(rule: &mut Recurrence, words: &Words) -> Option<String> {
    if !rule.by_hour.is_empty() {
        return None;
    }
    let days = rule.each_day();
    let has_month_days = !rule.by_month_day.is_empty();
    if has_nth(rule) && days.is_empty() && !has_month_days && rule.by_set_pos.is_empty() {
        let counted = nths(rule);
        rule.by_day.clear();
        return Some((words.on_nth)(&counted));
    }
    if !days.is_empty() && !has_nth(rule) && !has_month_days && !rule.by_set_pos.is_empty() {
        let what = match days {
            Weekdays::ALL => Counted::Day,
            Weekdays::WEEKDAYS => Counted::Workday,
            Weekdays::WEEKEND => Counted::WeekendDay,
            days if days.iter().count() == 1 => Counted::Weekday(days.iter().next()?),
            _ => return None,
        };
        rule.by_day.clear();
        let places: Vec<_> = std::mem::take(&mut rule.by_set_pos).into_iter().map(|place| (place, what)).collect();
        return Some((words.on_nth)(&places));
    }
    if !has_month_days {
        return None;
    }
    // The 31st, or the last day of a shorter month.
    let last = rule.by_month_day.last().copied().unwrap_or(0);
    if rule.by_set_pos == [-1] && last > 28 && rule.by_month_day.iter().copied().eq(28..=last) && days.is_empty() {
        rule.by_month_day.clear();
        rule.by_set_pos.clear();
        return Some((words.on_day_or_last)(last));
    }
    if !rule.by_set_pos.is_empty() {
        return None;
    }
    let days = std::mem::take(&mut rule.by_month_day);
    Some((words.on_month_days)(&from_the_start(&days)))
}

/// `on 4 July`, `on the 4th Thursday in November`.
fn days_of_year(rule: &mut Recurrence, words: &Words) -> Option<String> {
    if rule.by_month.is_empty() {
        return None;
    }
    let n_dates = rule.by_month.len() * rule.by_month_day.len();
    let has_dates = (1..=LISTED_MAX).contains(&n_dates) && rule.by_month_day.iter().all(|day| *day > 0);
    if has_dates && rule.by_set_pos.is_empty() {
        let (months, days) = (std::mem::take(&mut rule.by_month), std::mem::take(&mut rule.by_month_day));
        let dates = list(months.iter().map(|month| (words.dates)(&days, *month)), words.and);
        return Some(format!("{}{dates}", words.on_date));
    }
    // Counted days are counted in the year then, and the months only narrow them down.
    if !rule.by_set_pos.is_empty() && rule.by_month.len() > 1 {
        return None;
    }
    let days = days_of_month(rule, words)?;
    let months = std::mem::take(&mut rule.by_month);
    Some(format!("{days} {}", (words.in_months)(&months)))
}

/// The limits of the rule that have not been said.
fn limits(rule: &Recurrence, words: &Words) -> Vec<String> {
    let mut said = Vec::new();
    let numbers = |numbers: Vec<String>| list(numbers, words.and);
    let days = rule.each_day();
    if !days.is_empty() {
        said.push(format!("{}{}", words.only, (words.on_days)(days)));
    }
    if has_nth(rule) {
        said.push(format!("{}{}", words.only, (words.on_nth)(&nths(rule))));
    }
    if !rule.by_month_day.is_empty() {
        said.push(format!("{}{}", words.only, (words.on_month_days)(&from_the_start(&rule.by_month_day))));
    }
    if !rule.by_month.is_empty() {
        said.push((words.in_months)(&rule.by_month));
    }
    if !rule.by_week_no.is_empty() {
        said.push((words.in_weeks)(&numbers(rule.by_week_no.iter().map(i8::to_string).collect())));
    }
    if !rule.by_year_day.is_empty() {
        said.push((words.on_year_days)(&numbers(rule.by_year_day.iter().map(i16::to_string).collect())));
    }
    if !rule.by_set_pos.is_empty() {
        said.push((words.only_the)(&rule.by_set_pos));
    }
    if rule.freq < Freq::Daily && !rule.by_hour.is_empty() {
        said.push((words.in_hours)(&numbers(rule.by_hour.iter().map(i8::to_string).collect())));
    }
    said
}

/// The times of the hour.
fn minutes(rule: &Recurrence, words: &Words) -> Option<String> {
    let is_plain = rule.by_minute.is_empty() || (rule.freq == Freq::Hourly && rule.by_minute == [0]);
    let minutes = rule.by_minute.iter().map(|minute| format!(":{minute:02}"));
    (!is_plain).then(|| (words.at)(&list(minutes, words.and)))
}

/// The times of day.
fn times(of: &[bits::Times], words: &Words) -> String {
    let count = of.iter().map(bits::Times::count).sum();
    if count <= LISTED_AT_MOST {
        return (words.at)(&list(all_times(of).into_iter().map(clock), words.and));
    }
    let first = of.iter().filter_map(|times| times.nth(0)).min().map(clock).unwrap_or_default();
    let last = of.iter().filter_map(|times| times.nth(times.count().saturating_sub(1))).max();
    format!("{} {}", (words.at_many)(count), (words.between)(&first, &last.map(clock).unwrap_or_default()))
}

/// `every weekday`, or the days by name.
pub(super) fn every_one_of(days: Weekdays, words: &Words) -> String {
    match days {
        Weekdays::ALL => (words.every)(Freq::Daily, 1),
        Weekdays::WEEKDAYS => words.every_workday.into(),
        days => (words.every_one_of)(days),
    }
}

/// Counted weekdays in the order in which they come: those from the end last.
fn nths(rule: &Recurrence) -> Vec<(i16, Counted)> {
    let counted = rule.by_day.iter().filter_map(|day| Some((day.nth?.into(), Counted::Weekday(day.day))));
    let (from_end, from_start): (Vec<_>, Vec<_>) = counted.partition(|(n, _): &(i16, _)| *n < 0);
    from_start.into_iter().chain(from_end).collect()
}

/// Days of the month in the order in which they come: those from the end last.
fn from_the_start(days: &[i8]) -> Vec<i8> {
    let (from_end, from_start): (Vec<i8>, Vec<i8>) = days.iter().partition(|day| **day < 0);
    from_start.into_iter().chain(from_end).collect()
}
