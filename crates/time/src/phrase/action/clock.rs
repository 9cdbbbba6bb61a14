//! Times and parts of the day, and zones.

use super::{Given, Value};
use crate::phrase::atom::{Atom, Clock, DayPart, Half, Unit};

family! {
    /// `clock $1 $2 $3`: a time whose half of the day is open if the hour is at most 12.
    Clock = "clock",
    /// `clock24 $1 $2 $3`: a time of a 24-hour clock.
    Clock24 = "clock24",
    /// `hhmm $1`: 930 or 1030, half open.
    Hhmm = "hhmm",
    /// `hhmm24 $1`: 0930 or 1730 on a clock of 24 hours.
    Hhmm24 = "hhmm24",
    /// `hhmm_no_year $1`: the same, where it cannot be a year.
    HhmmNoYear = "hhmm_no_year",
    /// `clock_range $1 $2`: from 1845 to 1955.
    ClockRange = "clock_range",
    /// `clock_pair $1 $2`: from one clock to another: 15h30-18h.
    ClockPair = "clock_pair",
    /// `between $1 $2`: the same, where `and` between them would make one of them.
    Between = "between",
    /// `iso $1`: a clock after a date and a `T`.
    Iso = "iso",
    /// `glued_zone sign $1 $2`: an offset right after a time.
    GluedZone = "glued_zone",
    /// `weak_hour $1`: a bare number that may be an hour.
    WeakHour = "weak_hour",
    /// `weak $1`: a clock that is one only beside something that is a time for sure.
    Weak = "weak",
    /// `worded $1`: the same with a word for hours, which may as well be a length.
    Worded = "worded",
    /// `split $1`: a clock whose hour and minutes are joined by an `and`, so that it may be two.
    Split = "split",
    /// `ampm $1 half`: before (0) or after (1) noon.
    AmPm = "ampm",
    /// `clock_shift $1 $2 sign`: minutes after (1) or before (-1) a time.
    ClockShift = "clock_shift",
    /// `clock_to $1 $2`: minutes before a time, unless two hours are meant: `10 to 8 pm`, but not `5 to 6 pm`.
    ClockTo = "clock_to",
    /// `clock_part $1 part`: a time in a part of the day.
    ClockPart = "clock_part",
    /// `at $1`: a time of day as a piece of a phrase.
    At = "at",
    /// `part $1`: a part of the day.
    Part = "part",
    /// `weak_part $1`: a part of the day beside something that is a time for sure.
    WeakPart = "weak_part",
    /// `rel_part rel $1`: a part of a day counted from today.
    RelPart = "rel_part",
    /// `part_beside $1 days`: a part of the day before (-1) or after (1) another.
    PartBeside = "part_beside",
    /// `clock_like $1 $2`: two numbers that were meant as a clock, whether there is such a time or not.
    ClockLike = "clock_like",
    /// `each_part $1`: every morning.
    EachPart = "each_part",
    /// `zone $1`: minutes east of Greenwich.
    Zone = "zone",
    /// `offset_zone sign $1 $2`: hours and minutes east of Greenwich.
    OffsetZone = "offset_zone",
}

impl Family {
    pub(super) fn apply(self, given: Given<'_>) -> Option<Value> {
        let atom = |atom: Atom| Some(Value::Atom(atom));
        let clock = match self {
            Self::Clock => written(given)?,
            Self::Clock24 => Clock { half: Half::Written, ..written(given)? },
            Self::Hhmm => hhmm(given)?,
            Self::Hhmm24 => Clock { half: Half::Written, ..hhmm24(given, 0)? },
            Self::HhmmNoYear => match given.int(0)? {
                1900..=2099 => return None,
                _ => hhmm24(given, 0)?,
            },
            Self::ClockRange => {
                let weak = Clock { is_weak: true, half: Half::Written, ..hhmm24(given, 0)? };
                return atom(Atom::ClockRange(weak, Clock { half: Half::Written, ..hhmm24(given, 1)? }));
            }
            Self::ClockPair => return atom(Atom::ClockRange(given.clock(0)?, given.clock(1)?)),
            Self::Between => return atom(Atom::Between(given.clock(0)?, given.clock(1)?)),
            Self::Iso => return atom(Atom::Clock(Clock { is_iso: true, half: Half::Known, ..given.clock(0)? })),
            Self::GluedZone => return atom(Atom::GluedZone(minutes_east(given)?)),
            Self::WeakHour => Clock { is_weak: true, ..clock(given.int(0)?, None, None, given.value(0))? },
            Self::Weak => match given.value(0) {
                Value::Clock(clock) => Clock { is_weak: true, ..clock },
                _ => return None,
            },
            Self::Worded => match given.value(0) {
                Value::Clock(clock) => Clock { is_weak: true, is_worded: true, ..clock },
                _ => return None,
            },
            Self::Split => {
                let clock = given.clock(0)?;
                let hours_apart = clock.minute.saturating_sub(clock.hour);
                let is_round = clock.minute.is_multiple_of(5) && hours_apart != 12;
                Clock { is_split: (1..=12).contains(&hours_apart) && !is_round, ..clock }
            }
            Self::AmPm => in_half(given.clock(0)?, given.int(1)? == 1)?,
            Self::ClockShift => clock_shift(given.clock(0)?, given.num(1)?, given.int(2)?)?,
            Self::ClockTo => clock_to(given)?,
            Self::ClockPart => in_part(given.clock(0)?, given.part(1)?)?,
            Self::At => return atom(Atom::Clock(given.clock(0)?)),
            Self::Part => return atom(Atom::Part { part: given.part(0)?, is_weak: false }),
            Self::WeakPart => return atom(Atom::Part { part: given.part(0)?, is_weak: true }),
            Self::RelPart => return atom(Atom::RelPart { rel: given.int(0)?, part: given.part(1)? }),
            Self::PartBeside => return atom(Atom::PartBeside { part: given.part(0)?, days: given.int_in(1, -1..=1)? }),
            Self::ClockLike => match given.value(1) {
                Value::Digits { digits: 2, .. } => return Some(Value::Nothing),
                _ => return None,
            },
            Self::EachPart => return atom(Atom::EachPart(given.part(0)?)),
            Self::Zone => return atom(Atom::Zone(given.int(0)?)),
            Self::OffsetZone => return atom(Atom::Zone(minutes_east(given)?)),
        };
        Some(Value::Clock(clock))
    }
}

/// Hour, minute and second as they were written.
fn written(given: Given<'_>) -> Option<Clock> {
    // Five past three is 3:05, and 4:3 is the shape of a screen.
    if [1, 2].into_iter().any(|index| matches!(given.value(index), Value::Digits { digits: 1, .. })) {
        return None;
    }
    clock(given.int(0)?, given.some_int(1)?, given.some_int(2)?, given.value(0))
}

/// Hour and minute in one number: 930. With a leading zero it is of a clock of 24 hours: 0930.
fn hhmm(given: Given<'_>) -> Option<Clock> {
    let Value::Digits { value, digits: digits @ 3..=4, .. } = given.value(0) else {
        return None;
    };
    let number = given.int(0)?;
    let read = clock(number / 100, Some(number % 100), None, given.value(0))?;
    Some(if digits == 4 && value < 1000 { Clock { half: Half::Known, ..read } } else { read })
}

/// The same in four figures.
fn hhmm24(given: Given<'_>, index: usize) -> Option<Clock> {
    let Value::Digits { digits: 4, .. } = given.value(index) else {
        return None;
    };
    let number = given.int(index)?;
    clock(number / 100, Some(number % 100), None, given.value(index))
}

fn minutes_east(given: Given<'_>) -> Option<i32> {
    let (hours, minutes) = match given.value(1) {
        Value::Digits { digits: 4, .. } => (given.int(1)? / 100, given.int(1)? % 100),
        _ => (given.int(1)?, given.some_int(2)?.unwrap_or(0)),
    };
    let sign = given.int(0)?;
    (hours <= 14 && minutes < 60).then(|| sign * (hours * 60 + minutes))
}

fn clock(hour: i32, minute: Option<i32>, second: Option<i32>, hour_as_written: Value) -> Option<Clock> {
    let (m, s) = (minute.unwrap_or(0), second.unwrap_or(0));
    if !(0..=24).contains(&hour) || !(0..60).contains(&m) || !(0..60).contains(&s) || (hour == 24 && (m, s) != (0, 0)) {
        return None;
    }
    // People who write 08:00 or 00:30 use a clock of 24 hours.
    let is_padded = matches!(hour_as_written, Value::Digits { value, digits: 2, .. } if value < 10);
    let half = if (1..=12).contains(&hour) && !is_padded { Half::Either } else { Half::Known };
    let finest = match (minute, second) {
        (_, Some(_)) => Unit::Second,
        (Some(_), None) => Unit::Minute,
        (None, None) => Unit::Hour,
    };
    let narrow = |value: i32| u8::try_from(value).ok();
    let is_written_24 = half == Half::Known && minute.is_some();
    let (hour, minute, second) = (narrow(hour)?, narrow(m)?, narrow(s)?);
    Some(Clock { hour, minute, second, half, finest, is_written_24, ..Clock::default() })
}

/// A time said to be before or after noon; `None` for 14 am.
fn in_half(clock: Clock, is_after_noon: bool) -> Option<Clock> {
    let hour = match (clock.hour, is_after_noon) {
        (12, false) => 0,
        (1..=11, true) => clock.hour + 12,
        (hour @ (0..=12), _) => hour,
        // 15:30 pm is said twice; 15 pm is a slip of the finger.
        (hour @ 13..=23, true) if clock.finest < Unit::Hour => hour,
        _ => return None,
    };
    Some(Clock { hour, half: Half::Known, is_weak: false, is_written_24: false, has_half: true, ..clock })
}

/// A time in a part of the day: 8 in the evening is 20:00, 12 at night is midnight.
pub(in crate::phrase) fn in_part(clock: Clock, part: DayPart) -> Option<Clock> {
    let clock = Clock { is_weak: false, ..clock };
    if clock.half == Half::Known {
        return Some(clock);
    }
    let hour = match (part, clock.hour) {
        (_, hour @ (0 | 13..)) => hour,
        (DayPart::EarlyMorning | DayPart::Morning, 12) if clock.half == Half::Either => 0,
        (DayPart::EarlyMorning | DayPart::Morning, hour) => hour,
        (DayPart::Noon, hour @ 10..=12) => hour,
        (DayPart::Afternoon, 12) => 12,
        (DayPart::Evening | DayPart::Night | DayPart::Midnight | DayPart::Tonight, 12) => 24,
        (DayPart::Tonight, hour @ 1..=3) => hour,
        // Three at night is after midnight, ten is before it.
        (DayPart::Night | DayPart::Midnight, hour @ 1..=5) => hour,
        (_, hour) => hour + 12,
    };
    Some(Clock { hour, half: Half::Known, ..clock })
}

fn clock_to(given: Given<'_>) -> Option<Clock> {
    let (clock, minutes) = (given.clock(0)?, given.num(1)?);
    let hour = f64::from((clock.hour + 11) % 12 + 1);
    let are_hours = clock.half == Half::Known && minutes < hour;
    if are_hours { None } else { clock_shift(clock, minutes, -1) }
}

/// Minutes past or to a time: the hour keeps its half of the day where it had one.
fn clock_shift(clock: Clock, minutes: f64, sign: i32) -> Option<Clock> {
    if !(1.0..60.0).contains(&minutes) || minutes.fract() != 0.0 {
        return None;
    }
    let total = i32::from(clock.hour) * 60 + i32::from(clock.minute) + sign * minutes as i32;
    let total = total.rem_euclid(24 * 60);
    let mut hour = total / 60;
    // A quarter to one, with the half open, is 12:45 and not 00:45.
    if clock.half == Half::Either && hour == 0 {
        hour = 12;
    }
    let narrow = |value: i32| u8::try_from(value).ok();
    Some(Clock { hour: narrow(hour)?, minute: narrow(total % 60)?, finest: Unit::Minute, is_weak: false, ..clock })
}
