//! Which time of day was meant.

use jiff::civil::Time;

use super::grain_of;
use crate::habits::Habits;
use crate::phrase::Grain;
use crate::phrase::action::in_part;
use crate::phrase::atom::{Clock, DayPart, Half, Unit};
use crate::phrase::when::When;

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::phrase) struct TimeOfDay {
    /// 0 to 24.
    pub(in crate::phrase) hour: u8,
    pub(in crate::phrase) minute: u8,
    pub(in crate::phrase) second: u8,
    pub(in crate::phrase) grain: Grain,
    /// Whether the half of the day was not said.
    pub(in crate::phrase) is_guess: bool,
}

impl TimeOfDay {
    /// Whether people are up: from half past six in the morning for twelve hours.
    pub(in crate::phrase) fn is_awake(&self) -> bool {
        !self.is_guess || (6 * 60 + 30..18 * 60 + 30).contains(&(u32::from(self.hour) * 60 + u32::from(self.minute)))
    }

    /// The time on a clock, and how many days later it is: midnight at the end of a day is the next day's beginning.
    pub(in crate::phrase) fn time(self) -> Time {
        Time::new(self.hour as i8 % 24, self.minute as i8, self.second as i8, 0).unwrap_or(Time::midnight())
    }
}

/// The times of day that a point can mean: two, where the half of the day is open.
pub(super) fn times(when: &When, habits: &Habits) -> Vec<TimeOfDay> {
    let Some(clock) = when.clocks.first() else {
        if when.edge == Some(1) && when.part.is_none() && is_day(when) {
            return vec![TimeOfDay { hour: 23, minute: 59, second: 0, grain: Grain::Minute, is_guess: false }];
        }
        let is_dated = when.cal.day.is_some() || when.feast.is_some();
        return when.part.map(|part| time_of(part, is_dated, habits)).into_iter().collect();
    };
    let clock = match when.part {
        Some(part) => in_part(*clock, part).unwrap_or(*clock),
        None => *clock,
    };
    // The midnight of a date begins it.
    let hour = if clock.hour == 24 && when.cal.day.is_some() { 0 } else { clock.hour };
    times_of(Clock { hour, ..clock })
}

/// The times that a clock can mean, the earlier first.
pub(in crate::phrase) fn times_of(clock: Clock) -> Vec<TimeOfDay> {
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

/// The time at which people expect something in a part of the day.
pub(in crate::phrase) fn time_of(part: DayPart, is_dated: bool, habits: &Habits) -> TimeOfDay {
    let own = match part {
        DayPart::Morning => habits.morning,
        DayPart::Evening => habits.evening,
        _ => None,
    };
    if let Some(time) = own {
        let (hour, minute) = (time.hour().unsigned_abs(), time.minute().unsigned_abs());
        return TimeOfDay { hour, minute, second: 0, grain: Grain::Hour, is_guess: false };
    }
    let hour = match part {
        DayPart::EarlyMorning => 6,
        DayPart::Morning => 9,
        DayPart::Noon => 12,
        DayPart::AfterLunch => 13,
        DayPart::Afternoon => 15,
        DayPart::Evening => 18,
        DayPart::Night | DayPart::Tonight => 21,
        // The midnight of a date begins it; that of today ends it.
        DayPart::Midnight if is_dated => 0,
        DayPart::Midnight => 24,
        DayPart::End => 23,
    };
    let minute = if part == DayPart::End { 59 } else { 0 };
    TimeOfDay { hour, minute, second: 0, grain: Grain::Hour, is_guess: false }
}

/// Whether a day and nothing longer was named.
fn is_day(when: &When) -> bool {
    when.rel.is_some() || when.days.is_some() || when.cal.day.is_some() || matches!(when.period, Some((Unit::Day, _)))
}
