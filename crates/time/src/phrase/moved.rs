//! Series that are moved by a length: `every monday an hour before 6pm`, `2 days before the 15th of every month`.

use jiff::SignedDuration;
use jiff::civil::Time;

use super::resolve::Why;
use super::when::When;
use crate::schedule::{Freq, NthDay, Recurrence};

/// By how many seconds and days a series is moved: `every monday an hour before 6pm`.
pub(super) fn moved_by(when: &When) -> Result<(i64, i32), Why> {
    let dur = match (when.shift, when.then) {
        (None, None) => return Ok((0, 0)),
        (Some(dur), None) | (None, Some(dur)) => dur,
        (Some(_), Some(_)) => return Err(Why::of("only days")),
    };
    if dur.months != 0 || dur.workdays != 0 || (dur.days != 0 && dur.seconds != 0) {
        return Err(Why::of("only days"));
    }
    // An hour before something that has no time of day.
    if dur.seconds != 0 && when.clocks.is_empty() {
        return Err(Why::of("before what"));
    }
    Ok((dur.seconds, dur.days))
}

/// A time of day so many seconds later, on the same day.
pub(super) fn moved_time(time: Time, seconds: i64) -> Result<Time, Why> {
    time.checked_add(SignedDuration::from_secs(seconds)).map_err(|_| Why::of("which weekday"))
}

/// The same rule so many days later, where that is a rule as well: a day before the first Monday is in one month or in the other.
pub(super) fn moved_dates(rule: Recurrence, days: i32) -> Result<Recurrence, Why> {
    let unclear = || Why::of("which weekday");
    if days == 0 {
        return Ok(rule);
    }
    let is_plain = rule.by_set_pos.is_empty() && rule.by_year_day.is_empty() && rule.by_week_no.is_empty();
    let is_each = rule.interval == 1 && rule.by_month.is_empty();
    match rule.freq {
        _ if !is_plain => Err(unclear()),
        Freq::Daily if is_each && rule.by_day.is_empty() => Ok(rule),
        Freq::Weekly if is_each && rule.by_day.iter().all(|day| *day == NthDay::each(day.day)) => {
            let by_day = rule.by_day.iter().map(|day| NthDay::each(day.day.wrapping_add(days))).collect();
            Ok(Recurrence { by_day, ..rule })
        }
        Freq::Monthly | Freq::Yearly if rule.by_day.is_empty() && !rule.by_month_day.is_empty() => {
            let moved = |day: &i8| {
                let moved = i32::from(*day) + days;
                let fits = (1..=28).contains(day) && (1..=28).contains(&moved)
                    || (-28..0).contains(day) && (-28..0).contains(&moved);
                i8::try_from(moved).ok().filter(|_| fits).ok_or_else(unclear)
            };
            let by_month_day = rule.by_month_day.iter().map(moved).collect::<Result<Vec<_>, _>>()?;
            Ok(Recurrence { by_month_day, ..rule })
        }
        _ => Err(unclear()),
    }
}
