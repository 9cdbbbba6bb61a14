//! Stretches of time: from one point to another, or so long from one on.

use super::atom::{Cal, Clock, DayPart, Half, Unit, Which};
use super::plan::Plan;
use super::resolve::{Here, Point, TimeOfDay, Why, times_of, too_far, too_long};
use super::stretch::{Stretch, tomorrow};
use super::when::When;
use super::{Grain, Meaning};

/// So long from now, or from a point on.
pub(super) fn length(plan: &Plan, here: &Here) -> Result<Meaning, Why> {
    let Some(length) = plan.length.filter(|length| length.finest != Unit::Quarter) else {
        return Err(too_long());
    };
    let after = |at: jiff::Timestamp| {
        let there = here.moved_to(at, &here.zone);
        there.point(&When { offset: Some(length), ..When::default() })
    };
    if plan.when.is_empty() {
        let seconds = u64::try_from(length.elapsed_seconds()).unwrap_or(0);
        return Ok(Meaning::Duration { seconds, at: after(here.now)?.at });
    }
    let Point { at, grain } = here.point(&plan.when)?;
    Ok(Meaning::Interval { from: at, to: after(at)?.at, grain })
}

/// From a day of the week to another: `Tuesday - Friday`.
pub(super) fn weekdays(when: &When, days: u8, here: &Here) -> Result<Meaning, Why> {
    let is_in = |day: u8| days & (1 << (day % 7)) != 0;
    let first = (0..7).find(|day| is_in(*day) && !is_in(day + 6)).ok_or_else(too_far)?;
    let last = (0..7).find(|day| is_in(*day) && !is_in(day + 1)).ok_or_else(too_far)?;
    let day = |day: u8| When { days: Some((1 << day, Which::Bare)), is_several: false, ..when.clone() };
    stretch(&day(first), &When { days: Some((1 << last, Which::Bare)), ..When::default() }, here)
}

/// From one point to another; each takes from the other what it leaves out.
pub(super) fn stretch(from: &When, to: &When, here: &Here) -> Result<Meaning, Why> {
    let mut from = from.clone();
    let mut to = to.clone();
    for clock in from.clocks.iter_mut().chain(&mut *to.clocks) {
        clock.is_weak = false;
    }
    // From this May to October 2028: the year of the second may not be that of the first.
    let is_month = |when: &When| when.cal.month.is_some() && when.cal.day.is_none();
    if is_month(&from) && is_month(&to) && from.cal.year.is_none() && to.cal.year.is_some() {
        return Err(Why::of("whole stretch"));
    }
    // From January 2027 to March 2027 is to the end of March.
    let is_only_month = |when: &When| is_month(when) && !when.has_time() && when.edge.is_none() && when.days.is_none();
    if let (Some(first), Some(year), Some(end)) = (from.cal.month, from.cal.year, to.cal.year)
        && is_only_month(&from)
        && is_only_month(&to)
    {
        let last = Stretch::month(end, to.cal.month.ok_or_else(too_far)? as i8)?.last;
        let first = Stretch::month(year, first as i8)?.first;
        let (from, to) = (here.midnight(first)?, here.midnight(tomorrow(last)?)?);
        let meaning = Meaning::Interval { from, to, grain: Grain::Month };
        return if from < to { Ok(meaning) } else { Err(Why::of("ends first")) };
    }
    // Of `13 to 15 July` both are in July; on `9:30 to 11:00 on Thursday` both are on Thursday.
    from.cal.month = from.cal.month.or(if from.cal.day.is_some() { to.cal.month } else { None });
    from.cal.year = from.cal.year.or(if from.cal.month.is_some() { to.cal.year } else { None });
    if !from.has_day() && to.has_day() {
        from = When { clocks: from.clocks, part: from.part, ..to.clone() };
        to = When { clocks: to.clocks, part: to.part, zone: to.zone, ..When::default() };
    }
    if from.zone.is_none() && !from.clocks.is_empty() {
        from.zone = to.zone;
    }
    // The night from the 11th to the 12th ends in the morning.
    if from.part == Some(DayPart::Night) && from.clocks.is_empty() && to.has_day() && !to.has_time() {
        to.part = Some(DayPart::EarlyMorning);
    }
    if let ([first], Some(last)) = (&mut *from.clocks, to.clocks.first())
        && from.part.is_none()
        && !to.has_day()
    {
        choose_half(first, *last, to.part);
        // Pages 10-20 tonight: ten is no hour of the night.
        let is_night = match to.part {
            Some(DayPart::Night | DayPart::Tonight) => true,
            Some(DayPart::Evening) => from.is_part_today,
            _ => false,
        };
        if is_night && (6..15).contains(&first.hour) {
            return Err(Why::of("no such time"));
        }
    }
    // From August 1 to tomorrow: tomorrow is that of the person who says it; the Friday of `Monday to Friday` is the one after the Monday.
    let is_said_from_now = to.rel.is_some() || to.is_now || to.period.is_some();
    let ends_of = |from: &When| {
        let begins = here.point(from)?;
        let there = if is_said_from_now { here.clone() } else { here.moved_to(begins.at, &here.zone) };
        let ends = there.point(&to)?;
        Ok::<_, Why>((begins, ends))
    };
    let (mut begins, mut ends) = ends_of(&from)?;
    // From 8 to 17, said at noon, is running.
    let is_sure = |clock: &Clock| clock.half != Half::Either;
    // Today from 9 to 11, said at ten, is running; it is no evening.
    if from.rel == Some(0)
        && from.part.is_none()
        && let [clock] = *from.clocks
        && clock.half == Half::Either
    {
        let at_half = |hour: u8| {
            let mut said = from.clone();
            said.clocks[0] = Clock { hour, half: Half::Known, ..clock };
            ends_of(&said).ok().filter(|(begun, ending)| begun.at <= here.now && here.now < ending.at)
        };
        let (awake, asleep): (Vec<_>, Vec<_>) = times_of(clock).into_iter().partition(TimeOfDay::is_awake);
        let running = awake.into_iter().chain(asleep).find_map(|time| at_half(time.hour));
        (begins, ends) = running.unwrap_or((begins, ends));
    }
    let is_hours = !from.has_day() && !to.has_day() && from.clocks.iter().chain(&*to.clocks).all(is_sure);
    if is_hours && let Ok((begun, ending)) = ends_of(&When { rel: Some(0), ..from.clone() }) {
        let is_running = begun.at <= here.now && here.now < ending.at && begun.grain < Grain::Day;
        (begins, ends) = if is_running { (begun, ending) } else { (begins, ends) };
    }
    // 12.09. to 14.09.: the second can have the day first only, so that the first has it first as well.
    if ends.at <= begins.at && from.is_swappable && !to.is_swappable {
        let cal = Cal { month: from.cal.day, day: from.cal.month, ..from.cal };
        (begins, ends) = ends_of(&When { cal, is_swappable: false, ..from })?;
    }
    if ends.at <= begins.at {
        return Err(Why::of("ends first"));
    }
    Ok(Meaning::Interval { from: begins.at, to: ends.at, grain: begins.grain })
}

/// From 9 to 11 pm begins at 21:00, and from 9 to 5 pm at 9:00: as late as can be before the end. From 9 to 22 begins at 9:00, as on a clock
/// of 24 hours.
fn choose_half(first: &mut Clock, last: Clock, part: Option<DayPart>) {
    let is_half_said = last.has_half || part.is_some();
    let last = part.and_then(|part| super::action::in_part(last, part)).unwrap_or(last);
    if first.half == Half::Either && last.half != Half::Either {
        if is_half_said {
            let later = first.hour % 12 + 12;
            let is_before = (later, first.minute) < (last.hour, last.minute);
            first.hour = if is_before { later } else { first.hour % 12 };
        }
        first.half = Half::Known;
    }
}

/// From the first day of a month to the last of another: those that are running, or else those to come.
pub(super) fn months(first: u8, year: Option<i16>, to: &When, here: &Here) -> Result<Meaning, Why> {
    let last = to.cal.month.ok_or_else(too_far)?;
    let today = here.local.date();
    let in_year = |year: i16| {
        let end_year = if last < first { year.checked_add(1).ok_or_else(too_far)? } else { year };
        let end = Stretch::month(end_year, last as i8)?.last;
        Ok::<_, Why>((Stretch::month(year, first as i8)?.first, tomorrow(end)?))
    };
    let years = year.map_or(today.year() - 1..=today.year() + 1, |year| year..=year);
    let mut stretches = years.map(in_year).collect::<Result<Vec<_>, _>>()?.into_iter();
    let (from, to) = stretches.find(|(_, end)| year.is_some() || *end > today).ok_or_else(too_far)?;
    Ok(Meaning::Interval { from: here.midnight(from)?, to: here.midnight(to)?, grain: Grain::Month })
}
