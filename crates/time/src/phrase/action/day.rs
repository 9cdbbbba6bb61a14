//! Days as people name them: by the week, by counting, by their distance from today.

use super::Given;
use crate::phrase::atom::{Atom, DayPart, What, Which};

family! {
    /// `now`
    Now = "now",
    /// `rel $1`: days from today.
    Rel = "rel",
    /// `weekday $1 which`: a day of the week, 1 is Monday.
    Weekday = "weekday",
    /// `weekday_part $1 which part`: a part of a day of the week; without `part`, 14 is Monday evening.
    WeekdayPart = "weekday_part",
    /// `weekdays $1 $2 which`: from one day of the week to another.
    Weekdays = "weekdays",
    /// `weekday_set $1 $2 $3`: two or three days of the week.
    WeekdaySet = "weekday_set",
    /// `dayset bits which`: days of the week as bits.
    DaySet = "dayset",
    /// `nth_weekday $1 $2`: the n-th day of the week, 1 is Monday.
    NthWeekday = "nth_weekday",
    /// `nth_unit $1 unit`: the n-th of a unit.
    NthUnit = "nth_unit",
    /// `last_weekday $1 $2`: the n-th last day of the week.
    LastWeekday = "last_weekday",
    /// `last_unit $1 unit`: the n-th last of a unit.
    LastUnit = "last_unit",
    /// `ahead_weeks $1 $2`: so many weeks after the coming one.
    AheadWeeks = "ahead_weeks",
    /// `near n $2`: the n-th such day of the week after (or before, if negative) what follows; 0 is the nearest.
    Near = "near",
    /// `near_before $1 $2`: the n-th such day of the week before what follows.
    NearBefore = "near_before",
    /// `ahead $1 $2`: the n-th such day of the week from now, 1 is Monday.
    Ahead = "ahead",
}

impl Family {
    pub(super) fn apply(self, given: Given<'_>) -> Option<Atom> {
        match self {
            Self::Now => Some(Atom::Now),
            Self::Rel => given.int_in(0, -4000..=4000).map(Atom::Rel),
            Self::Weekday => Some(Atom::Weekday { days: given.weekday(0)?, which: given.which(1)? }),
            Self::WeekdayPart => weekday_part(given),
            Self::Weekdays => {
                Some(Atom::Weekday { days: weekdays(given.int(0)?, given.int(1)?)?, which: given.which(2)? })
            }
            Self::WeekdaySet => {
                let third = given.some_int(2)?.map_or(Some(0), weekday_bit)?;
                Some(Atom::Weekday { days: given.weekday(0)? | given.weekday(1)? | third, which: Which::Bare })
            }
            Self::DaySet => Some(Atom::Weekday { days: u8::try_from(given.int(0)?).ok()?, which: given.which(1)? }),
            Self::NthWeekday => Some(Atom::Nth { n: nth(given)?, what: What::Weekday(given.weekday(1)?) }),
            Self::NthUnit => Some(Atom::Nth { n: nth(given)?, what: What::Unit(given.unit(1)?) }),
            Self::LastWeekday => Some(Atom::Nth { n: -nth(given)?, what: What::Weekday(given.weekday(1)?) }),
            Self::LastUnit => Some(Atom::Nth { n: -nth(given)?, what: What::Unit(given.unit(1)?) }),
            Self::AheadWeeks => Some(Atom::Ahead { n: given.int_in(0, 1..=200)? + 1, days: given.weekday(1)? }),
            Self::Near => Some(Atom::Near { n: given.int_in(0, -60..=60)?, days: given.weekday(1)? }),
            Self::NearBefore => Some(Atom::Near { n: -given.int_in(0, 1..=60)?, days: given.weekday(1)? }),
            Self::Ahead => Some(Atom::Ahead { n: nth(given)?, days: given.weekday(1)? }),
        }
    }
}

/// The number of a day of the week as a bit.
pub(super) fn weekday_bit(day: i32) -> Option<u8> {
    (1..=7).contains(&day).then(|| 1 << (day - 1))
}

/// From one day of the week to another, which may be in the week after.
fn weekdays(from: i32, to: i32) -> Option<u8> {
    let mut days = weekday_bit(from)? | weekday_bit(to)?;
    let mut day = from;
    while day != to {
        days |= weekday_bit(day)?;
        day = day % 7 + 1;
    }
    Some(days)
}

fn weekday_part(given: Given<'_>) -> Option<Atom> {
    let (day, part) = match given.some_int(2)? {
        Some(part) => (given.int(0)?, part),
        None => (given.int(0)? / 10, given.int(0)? % 10),
    };
    Some(Atom::WeekdayPart { days: weekday_bit(day)?, which: given.which(1)?, part: DayPart::of(part)? })
}

/// A number that somebody can mean by the n-th of something in a year.
fn nth(given: Given<'_>) -> Option<i32> {
    given.int_in(0, -366..=366).filter(|n| *n != 0)
}
