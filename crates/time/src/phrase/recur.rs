//! Turns the parts of a phrase that come again and again into a schedule.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{SignedDuration, Timestamp};

use super::atom::{Cal, Dur, Unit, What, Which};
use super::moved::{moved_by, moved_dates, moved_time};
use super::plan::Plan;
use super::resolve::{Here, TimeOfDay, Why, time_of, times_of, too_far};
use super::when::When;
use super::{Grain, feast};
use crate::invalid::Invalid;
use crate::schedule::{
    Anchor, Exceptions, Freq, INTERVAL_MAX, Months, NEXT_STEPS_MAX, NthDay, Recurrence, Rule, Schedule, Smart, Weekdays,
};
use crate::steps::{Steps, TOO_MUCH};
use crate::zone::Zone;

/// How many steps the search for the first day of one rule may take: enough for a rule that is due within 400 years.
const ANCHOR_STEPS_MAX: u64 = 20_000;

/// The schedule that a recurring plan asks for. `text` is kept with it.
pub(super) fn schedule(plan: &Plan, here: &Here, zone: &Zone, text: &str, steps: &Steps) -> Result<Schedule, Why> {
    // Every two hours, a day before: of what?
    let is_small = plan.every.is_some_and(|(_, unit)| unit < Unit::Day);
    if is_small && (plan.when.shift.is_some() || plan.when.then.is_some()) {
        return Err(Why::of("hours on days"));
    }
    if let Some(rules) = within_hours(plan)? {
        let is_bounded = plan.hours.is_some();
        let mut bounds = plan.clone();
        if !is_bounded {
            (bounds.start, bounds.until) = (None, None);
        }
        let starts_at = bounds.start.as_ref().map(|when| here.point(when)?.begin(here)).transpose()?;
        let from = here.zone.to_datetime(starts_at.unwrap_or(here.now));
        let rule = Rule::Smart(Smart::new(text, rules.clone(), anchor(&rules, from, steps)));
        let ends_at = ends_at(&bounds, here, starts_at)?;
        let count = plan.count.map(|count| u32::try_from(count).unwrap_or(1));
        let schedule = Schedule { rule, starts_at, ends_at, count, except: exceptions(plan, here)? };
        return checked(schedule, here, zone, steps);
    }
    // From 9 to 17 is no hour, and neither is at 8 until 17 an end of the series.
    let is_of_days = plan.every.is_none_or(|(_, unit)| unit >= Unit::Day);
    let is_clock =
        |when: &Option<Box<When>>| when.as_ref().is_some_and(|when| !when.clocks.is_empty() && !when.has_day());
    if is_of_days && is_clock(&plan.until) {
        let has_no_hour = is_clock(&plan.start) && !plan.when.has_time();
        return Err(if has_no_hour { Why::of("no hours") } else { Why::about("together", text) });
    }
    let starts_at = plan.start.as_ref().map(|when| here.point(when)?.begin(here)).transpose()?;
    let ends_at = ends_at(plan, here, starts_at)?;
    let rule = match interval(plan) {
        Some(dur) => {
            let every = std::time::Duration::from_secs(u64::try_from(dur.elapsed_seconds()).unwrap_or(0));
            if every.is_zero() || every > INTERVAL_MAX {
                return Err(Why::of("no interval"));
            }
            Rule::Interval { every, anchor: Anchor::Start, origin: starts_at.unwrap_or(here.now) }
        }
        None => local_rule(plan, here, zone, starts_at, text, steps)?,
    };
    let count = plan.count.map(|count| u32::try_from(count).unwrap_or(1));
    let mut schedule = Schedule { rule, starts_at, ends_at, count, except: exceptions(plan, here)? };
    fold_weekdays(&mut schedule);
    checked(schedule, here, zone, steps)
}

/// The schedule, if it can be kept and comes at least once.
fn checked(schedule: Schedule, here: &Here, zone: &Zone, steps: &Steps) -> Result<Schedule, Why> {
    schedule.validate().map_err(|invalid| unfit(&invalid))?;
    // Every day at 8 until noon, said at ten.
    if schedule.ends_at.is_some() {
        let (next, _) = steps.part(NEXT_STEPS_MAX, |steps| schedule.next_within(zone, here.now, steps));
        next.ok_or_else(|| Why::of("never"))?;
    }
    Ok(schedule)
}

/// Why a schedule cannot be kept. A schedule says it in English, so that its field tells which of the language's reasons it is.
fn unfit(invalid: &Invalid) -> Why {
    Why::of(match invalid.field.as_str() {
        "ends_at" => "ends first",
        "every" => "no interval",
        "text" | "rules" => "tangled",
        _ if invalid.problem == TOO_MUCH => "tangled",
        _ => "never",
    })
}

/// The rules of `every two hours between 9 and 17`: each day, from the first hour on.
fn within_hours(plan: &Plan) -> Result<Option<Vec<Recurrence>>, Why> {
    let (start, until) = match (&plan.hours, &plan.start, &plan.until) {
        (Some(hours), ..) => (&hours.0, &hours.1),
        (None, Some(start), Some(until)) => (&**start, &**until),
        _ => return Ok(None),
    };
    let Some((n, unit @ (Unit::Minute | Unit::Hour))) = plan.every else {
        return Ok(None);
    };
    let ([from], [to]) = (&*start.clocks, &*until.clocks) else {
        return Ok(None);
    };
    if start.has_day() || until.has_day() || plan.when.has_time() || plan.length.is_some() {
        return Ok(None);
    }
    let part = until.part.or(start.part);
    let minutes = |clock: &super::atom::Clock, after: i32| {
        let clock = part.and_then(|part| super::action::in_part(*clock, part)).unwrap_or(*clock);
        let times = times_of(clock).into_iter().map(|time| i32::from(time.hour) * 60 + i32::from(time.minute));
        times.filter(|time| *time > after).min()
    };
    let step = n.checked_mul(if unit == Unit::Hour { 60 } else { 1 }).ok_or_else(too_far)?;
    let first = minutes(from, -1).ok_or_else(too_far)?;
    let last = minutes(to, first).ok_or(Why::of("ends first"))?;
    let mut rules: Vec<Recurrence> = Vec::new();
    let mut at = first;
    let by_day = plan.when.days.map(|(days, _)| weekdays(days)).unwrap_or_default();
    while at <= last.min(24 * 60 - 1) {
        let (hour, minute) = ((at / 60) as i8, (at % 60) as i8);
        match rules.iter_mut().find(|rule| rule.by_minute == [minute]) {
            Some(rule) => rule.by_hour.push(hour),
            None => {
                let freq = if by_day.is_empty() { Freq::Daily } else { Freq::Weekly };
                let rule = Recurrence { by_day: by_day.clone(), ..Recurrence::new(freq) };
                rules.push(rule.at(Time::new(hour, minute, 0, 0).map_err(|_| too_far())?));
            }
        }
        at += step;
    }
    Ok(Some(rules))
}

/// Seconds, minutes and hours are elapsed time.
fn interval(plan: &Plan) -> Option<Dur> {
    let (n, unit) = plan.every?;
    let is_elapsed = unit < Unit::Day && !plan.when.has_time() && !plan.when.has_day() && plan.more.is_empty();
    if is_elapsed { Dur::of(f64::from(n), unit) } else { None }
}

fn ends_at(plan: &Plan, here: &Here, starts_at: Option<Timestamp>) -> Result<Option<Timestamp>, Why> {
    if let Some(until) = &plan.until {
        let point = here.point(until)?;
        return Ok(Some(match point.grain {
            // Until Friday takes Friday in; until November does not take November in.
            Grain::Day => point.end_of_day(here)?,
            Grain::Second | Grain::Minute | Grain::Hour => point.at,
            Grain::Week | Grain::Month | Grain::Quarter | Grain::Year => point.begin(here)?,
        }));
    }
    // Every day at 8 for 20 minutes is how long it takes, not how long it goes on.
    let Some(length) = plan.length.filter(|length| length.finest >= Unit::Day || interval(plan).is_some()) else {
        return Ok(None);
    };
    let there = Here { now: starts_at.unwrap_or(here.now), ..here.clone() };
    let when = When { offset: Some(length), ..When::default() };
    Ok(Some(there.point(&when)?.at))
}

impl super::resolve::Point {
    /// The beginning of its day, where no time was said.
    fn begin(self, here: &Here) -> Result<Timestamp, Why> {
        if self.grain < Grain::Day {
            return Ok(self.at);
        }
        let date = here.zone.to_datetime(self.at).date();
        here.zone.to_timestamp(date.to_datetime(Time::midnight())).map_err(|_| too_far())
    }

    fn end_of_day(self, here: &Here) -> Result<Timestamp, Why> {
        let date = here.zone.to_datetime(self.at).date().tomorrow().map_err(|_| too_far())?;
        let next = here.zone.to_timestamp(date.to_datetime(Time::midnight())).map_err(|_| too_far())?;
        next.checked_sub(SignedDuration::from_secs(1)).map_err(|_| too_far())
    }
}

/// A rule about local time: the simplest type that says it.
fn local_rule(
    plan: &Plan,
    here: &Here,
    zone: &Zone,
    starts_at: Option<Timestamp>,
    text: &str,
    steps: &Steps,
) -> Result<Rule, Why> {
    let mut rules = Vec::new();
    for plan in plan.more.iter().chain([plan]) {
        rules.extend(recurrences(plan, here)?);
    }
    if let [rule] = rules.as_slice()
        && let Some(simple) = simple(rule)
    {
        return Ok(simple);
    }
    let from = here.zone.to_datetime(starts_at.unwrap_or(here.now));
    let anchor = if is_from_today(plan) { first_today(&rules, from, steps) } else { anchor(&rules, from, steps) };
    let rule = Rule::Smart(Smart::new(text, rules, anchor));
    let probe = Schedule::new(rule.clone());
    let (next, _) = steps.part(NEXT_STEPS_MAX, |steps| probe.next_within(zone, here.now, steps));
    next.map(|_| rule).ok_or_else(|| Why::of("never"))
}

/// Whether it is today that says which day it is: `every 6 months`, `every 2 weeks`.
fn is_from_today(plan: &Plan) -> bool {
    let is_bare = !plan.when.has_day() && plan.when.of.is_none() && plan.when.edge.is_none();
    is_bare
        && plan.start.is_none()
        && matches!(plan.every, Some((_, Unit::Week | Unit::Month | Unit::Quarter | Unit::Year)))
}

fn first_today(rules: &[Recurrence], from: DateTime, steps: &Steps) -> DateTime {
    let midnight = from.date().to_datetime(Time::midnight());
    let first = |rule: &Recurrence| steps.part(ANCHOR_STEPS_MAX, |steps| rule.next_within(midnight, midnight, steps)).0;
    rules.iter().filter_map(first).min().unwrap_or(from)
}

/// Every second Friday counts from the first Friday to come, whatever week that is in.
fn anchor(rules: &[Recurrence], from: DateTime, steps: &Steps) -> DateTime {
    let first = rules.iter().filter_map(|rule| {
        let every = Recurrence { interval: 1, ..rule.clone() };
        steps.part(ANCHOR_STEPS_MAX, |steps| every.next_within(from, from, steps)).0
    });
    first.min().unwrap_or(from)
}

/// `daily` and `weekly` where they say the same.
fn simple(rule: &Recurrence) -> Option<Rule> {
    let [hour] = rule.by_hour.as_slice() else { return None };
    let [minute] = rule.by_minute.as_slice() else { return None };
    let [second] = rule.by_second.as_slice() else { return None };
    let time = Time::new(*hour, *minute, *second, 0).ok()?;
    let bare = Recurrence::new(rule.freq).at(time);
    match rule.freq {
        Freq::Daily if *rule == bare => Some(Rule::Daily { time }),
        Freq::Weekly if !rule.by_day.is_empty() && *rule == (Recurrence { by_day: rule.by_day.clone(), ..bare }) => {
            let days = rule.by_day.iter().fold(Weekdays::NONE, |days, day| days.with(day.day));
            Some(Rule::Weekly { time, days })
        }
        _ => None,
    }
}

/// One rule for each time of day; those that share their minutes share a rule.
fn recurrences(plan: &Plan, here: &Here) -> Result<Vec<Recurrence>, Why> {
    let (seconds, days) = moved_by(&plan.when)?;
    let dates = moved_dates(dates(plan, here)?, days)?;
    let mut rules: Vec<Recurrence> = Vec::new();
    for time in times(plan, here)? {
        let time = moved_time(time, seconds)?;
        let rule = dates.clone().at(time);
        // `the last working day at 8 and 20` is two rules: each has its own last.
        let joins = |known: &&mut Recurrence| {
            known.by_set_pos.is_empty() && known.by_minute == rule.by_minute && known.by_second == rule.by_second
        };
        match rules.iter_mut().find(joins) {
            Some(known) => known.by_hour.extend(&rule.by_hour),
            None => rules.push(rule),
        }
    }
    Ok(rules)
}

/// The times of day, each at the half of the day in which people are awake.
fn times(plan: &Plan, here: &Here) -> Result<Vec<Time>, Why> {
    let when = &plan.when;
    let own_minutes = here.zone.to_fixed_offset().ok().map(|offset| offset.seconds() / 60);
    if when.zone.is_some() && when.zone != own_minutes {
        return Err(Why::of("zone of series"));
    }
    // `every sunday starting next week at 10`: the time is that of every Sunday.
    let bounds = [&plan.start, &plan.until].into_iter().flatten();
    let bound = bounds.map(|bound| &bound.clocks).find(|clocks| !clocks.is_empty());
    let clocks = if when.has_time() { &when.clocks } else { bound.unwrap_or(&when.clocks) };
    if clocks.is_empty() {
        let parts =
            when.part.iter().chain(when.more_parts.iter()).map(|part| time_of(*part, true, &here.habits).time());
        let times: Vec<Time> = parts.collect();
        return Ok(if times.is_empty() { vec![here.habits.on_day()] } else { times });
    }
    let awake = |clock: &super::atom::Clock| {
        let clock = when.part.and_then(|part| super::action::in_part(*clock, part)).unwrap_or(*clock);
        let times = times_of(clock);
        times.iter().find(|time: &&TimeOfDay| time.is_awake()).or(times.first()).map(|time| time.time())
    };
    Ok(clocks.iter().filter_map(awake).collect())
}

/// The days on which it comes, as a rule without a time.
fn dates(plan: &Plan, here: &Here) -> Result<Recurrence, Why> {
    let when = &plan.when;
    // Every week starting on Tuesday is every Tuesday.
    let today = match &plan.start {
        Some(start) if start.has_day() => here.zone.to_datetime(here.point(start)?.at).date(),
        _ => here.local.date(),
    };
    let (n, unit) = match (plan.every, plan.each) {
        (Some((n, unit)), _) => (n, Some(unit)),
        (None, Some(n)) => (n, None),
        (None, None) => (1, None),
    };
    let interval = u32::try_from(n).map_err(|_| too_far())?;
    if let Some(week) = when.week {
        let by_day = when.days.map_or_else(|| weekdays(1), |(days, _)| weekdays(days));
        let is_yearly = unit.is_none_or(|unit| unit == Unit::Year);
        let by_week_no = vec![week as i8];
        let rule = Recurrence { interval, by_week_no, by_day, ..Recurrence::new(Freq::Yearly) };
        return if is_yearly { Ok(rule) } else { Err(Why::of("week once")) };
    }
    // The fourth day of every week is Wednesday or Thursday, by where a week begins.
    let is_dated = !when.nths.is_empty() || when.cal.day.is_some();
    if is_dated && matches!(unit, Some(Unit::Day | Unit::Workday | Unit::Weekend | Unit::Week)) {
        return Err(Why::of("which weekday"));
    }
    let rule = |freq: Freq| Recurrence { interval, ..Recurrence::new(freq) };
    let weekdays = when.days.map(|(days, _)| weekdays(days));
    match unit {
        Some(Unit::Second | Unit::Minute | Unit::Hour) => Err(Why::of("hours on days")),
        Some(Unit::Day) => match weekdays {
            Some(by_day) if n == 1 => Ok(with_cal(Recurrence { by_day, ..rule(Freq::Weekly) }, when.cal)),
            Some(by_day) => Ok(with_cal(Recurrence { by_day, ..rule(Freq::Daily) }, when.cal)),
            None => Ok(with_cal(rule(Freq::Daily), when.cal)),
        },
        Some(Unit::Workday) => {
            Ok(with_cal(Recurrence { by_day: self::weekdays(0b001_1111), ..rule(Freq::Weekly) }, when.cal))
        }
        Some(Unit::Weekend) => {
            Ok(with_cal(Recurrence { by_day: self::weekdays(0b110_0000), ..rule(Freq::Weekly) }, when.cal))
        }
        Some(Unit::Week) => {
            let by_day = weekdays.unwrap_or_else(|| vec![NthDay::each(today.weekday())]);
            Ok(with_cal(Recurrence { by_day, ..rule(Freq::Weekly) }, when.cal))
        }
        Some(Unit::Month) => monthly(rule(Freq::Monthly), when, today),
        Some(Unit::Quarter) => {
            let interval = interval.checked_mul(3).ok_or_else(too_far)?;
            monthly(Recurrence { interval, ..rule(Freq::Monthly) }, when, today)
        }
        Some(Unit::Year) => yearly(rule(Freq::Yearly), when, today),
        None => {
            // Every Monday, and every Monday in May.
            if let Some(by_day) = weekdays
                && when.cal.day.is_none()
            {
                return Ok(with_cal(Recurrence { by_day, ..rule(Freq::Weekly) }, when.cal));
            }
            if !when.nths.is_empty() {
                return match (when.cal.month, when.of) {
                    (Some(_), _) | (None, Some(Unit::Year)) => yearly(rule(Freq::Yearly), when, today),
                    _ => monthly(rule(Freq::Monthly), when, today),
                };
            }
            if when.feast.is_some() || when.cal.month.is_some() {
                return yearly(rule(Freq::Yearly), when, today);
            }
            if when.cal.day.is_some() || when.of == Some(Unit::Month) {
                return monthly(rule(Freq::Monthly), when, today);
            }
            // Every morning.
            Ok(rule(Freq::Daily))
        }
    }
}

fn with_cal(rule: Recurrence, cal: Cal) -> Recurrence {
    Recurrence { by_month: cal.month.map(|month| month as i8).into_iter().collect(), ..rule }
}

/// The months in which something comes every so many months from a month on: every 6 months on May 15 is in May and November.
fn in_months(rule: Recurrence, when: &When) -> Result<Recurrence, Why> {
    let Some(month) = when.cal.month else {
        return Ok(rule);
    };
    let step = i8::try_from(rule.interval).ok().filter(|n| (2..=12).contains(n) && 12 % n == 0);
    let step = step.ok_or_else(|| Why::of("no interval"))?;
    let mut by_month: Vec<i8> = (0..12 / step).map(|n| (month as i8 - 1 + n * step) % 12 + 1).collect();
    by_month.sort_unstable();
    // A thirty-first in every fourth month is not in each of them.
    let length = |month: &i8| match month {
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let last = by_month.iter().map(length).min().unwrap_or(28);
    if when.cal.day.iter().chain(when.more_days.iter()).any(|day| *day > last) {
        return Err(Why::of("no such day"));
    }
    Ok(Recurrence { interval: 1, by_month, ..rule })
}

fn monthly(rule: Recurrence, when: &When, today: Date) -> Result<Recurrence, Why> {
    let rule = in_months(rule, when)?;
    if let Some(rule) = with_nths(&rule, when)? {
        return Ok(rule);
    }
    if let Some(day) = when.cal.day {
        // Every Friday the 13th is both.
        let by_day = when.days.map(|(days, _)| weekdays(days)).unwrap_or_default();
        return Ok(Recurrence { by_month_day: all_days(day, when), by_day, ..rule });
    }
    if let Some((days, _)) = when.days {
        return Ok(Recurrence { by_day: weekdays(days), ..rule });
    }
    if when.edge == Some(1) {
        return Ok(Recurrence { by_month_day: vec![-1], ..rule });
    }
    if when.edge == Some(-1) {
        return Ok(Recurrence { by_month_day: vec![1], ..rule });
    }
    if when.cal.month.is_some() {
        return Ok(Recurrence { by_month_day: vec![1], ..rule });
    }
    Ok(on_day_of_month(rule, today.day()))
}

/// The days of the month that were listed.
fn all_days(first: u8, when: &When) -> Vec<i8> {
    [first].iter().chain(when.more_days.iter()).map(|day| *day as i8).collect()
}

/// The 31st, or the last day of a shorter month.
fn on_day_of_month(rule: Recurrence, day: i8) -> Recurrence {
    if day <= 28 {
        return Recurrence { by_month_day: vec![day], ..rule };
    }
    Recurrence { by_month_day: (28..=day).collect(), by_set_pos: vec![-1], ..rule }
}

fn yearly(rule: Recurrence, when: &When, today: Date) -> Result<Recurrence, Why> {
    if let Some(feast) = when.feast {
        let date = feast::date(feast, today.year()).ok_or_else(too_far)?;
        let is_fixed = (101..=1231).contains(&feast);
        if !is_fixed {
            return Err(Why::of("moving feast"));
        }
        return Ok(Recurrence { by_month: vec![date.month()], by_month_day: vec![date.day()], ..rule });
    }
    let by_month: Vec<i8> = when.cal.month.map(|month| month as i8).into_iter().collect();
    let rule = Recurrence { by_month, ..rule };
    if let Some(counted) = with_nths(&rule, when)? {
        return Ok(counted);
    }
    match (when.cal.month, when.cal.day) {
        // Every Sunday 21 November is not every 21 November.
        (Some(_), Some(_)) if when.days.is_some() => Err(Why::of("which weekday")),
        (Some(_), Some(day)) => Ok(Recurrence { by_month_day: all_days(day, when), ..rule }),
        (None, Some(day)) => Ok(Recurrence { by_year_day: vec![i16::from(day)], ..rule }),
        (Some(_), None) => Ok(Recurrence { by_month_day: vec![1], ..rule }),
        (None, None) => {
            let rule = Recurrence { by_month: vec![today.month()], ..rule };
            Ok(on_day_of_month(rule, today.day()))
        }
    }
}

/// The second Friday, the last day, each of several.
fn with_nths(rule: &Recurrence, when: &When) -> Result<Option<Recurrence>, Why> {
    if when.nths.is_empty() {
        return Ok(None);
    }
    let is_yearly = rule.freq == Freq::Yearly && rule.by_month.is_empty();
    let mut rule = rule.clone();
    for (n, what) in when.nths.iter() {
        let nth = i8::try_from(*n).ok();
        match what {
            What::Weekday(days) => {
                let nth = nth.filter(|n| (-53..=53).contains(n)).ok_or_else(too_far)?;
                rule.by_day.extend(weekdays(*days).into_iter().map(|day| NthDay::nth(nth, day.day)));
            }
            What::Unit(Unit::Day) if is_yearly => rule.by_year_day.push(i16::try_from(*n).map_err(|_| too_far())?),
            What::Unit(Unit::Day) => {
                rule.by_month_day.push(nth.filter(|n| (-31..=31).contains(n)).ok_or_else(too_far)?)
            }
            What::Unit(Unit::Workday) if when.nths.len() == 1 => {
                rule.by_day = weekdays(0b001_1111);
                rule.by_set_pos = vec![i16::try_from(*n).map_err(|_| too_far())?];
            }
            What::Unit(_) => return Err(Why::of("only days")),
        }
    }
    Ok(Some(rule))
}

fn weekdays(days: u8) -> Vec<NthDay> {
    (0..7)
        .filter(|day| days & (1 << day) != 0)
        .filter_map(|day| Weekday::from_monday_zero_offset(day).ok())
        .map(NthDay::each)
        .collect()
}

fn exceptions(plan: &Plan, here: &Here) -> Result<Exceptions, Why> {
    let mut except = Exceptions::default();
    for when in &plan.except {
        let is_only_days = When { days: None, period: None, is_several: false, ..when.clone() }.is_empty();
        let weekend = if when.period == Some((Unit::Weekend, 0)) { Some((0b110_0000, Which::Each)) } else { None };
        if let (Some((days, _)), true) = (when.days.or(weekend), is_only_days) {
            let days = weekdays(days).iter().fold(Weekdays::NONE, |days, day| days.with(day.day));
            except.weekdays = except.weekdays.union(days);
        } else if let Cal { year: None, month: Some(month), day: None } = when.cal
            && when.nths.is_empty()
            && !when.has_time()
        {
            except.months = except.months.union(Months::default().with(month as i8));
        } else {
            let point = here.point(when)?;
            let local = here.zone.to_datetime(point.at);
            match point.grain {
                Grain::Second | Grain::Minute | Grain::Hour => except.times.push(local),
                Grain::Day => except.dates.push(local.date()),
                Grain::Week | Grain::Month | Grain::Quarter | Grain::Year => {
                    return Err(Why::of("left out"));
                }
            }
        }
    }
    let mut normal = Exceptions::default();
    normal.extend(except);
    Ok(normal)
}

/// Working days except Friday are Monday to Thursday.
fn fold_weekdays(schedule: &mut Schedule) {
    let except = schedule.except.weekdays;
    let left = |days: Weekdays| days.iter().filter(|day| !except.contains(*day)).fold(Weekdays::NONE, Weekdays::with);
    let folded = match &schedule.rule {
        Rule::Daily { time } => Rule::Weekly { time: *time, days: left(Weekdays::ALL) },
        Rule::Weekly { time, days } => Rule::Weekly { time: *time, days: left(*days) },
        _ => return,
    };
    if !except.is_empty() {
        schedule.rule = folded;
        schedule.except.weekdays = Weekdays::NONE;
    }
}
