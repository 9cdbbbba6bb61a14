//! Actions: a rule of a table makes a value out of the words that it matched.
//!
//! A table names an action after each rule. The actions are families, a file each: [`number`]s, [`length`]s, times of day
//! ([`clock`]), dates in the calendar ([`date`]), [`day`]s as people name them, and what makes a [`series`] or bounds it.

/// Defines a family of actions, by the names that the tables give them.
macro_rules! family {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The action of a rule on the values that it matched.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::phrase) enum Family { $($(#[doc = $doc])+ $name,)+ }

        impl Family {
            /// The action that tables call `name`.
            pub(super) fn named(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$name),)+ _ => None }
            }
        }
    };
}

mod clock;
mod date;
mod day;
mod length;
mod number;
mod series;

pub(super) use clock::in_part;

use super::atom::{Atom, Clock, DayPart, Dur, Unit, Which};

/// The meaning of a symbol of the grammar, or of a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    /// No meaning, or an item that was left out.
    Nothing,
    /// The value of a word's class.
    Int(i32),
    /// A number in digits.
    Digits {
        value: u32,
        digits: u8,
        has_dot: bool,
    },
    /// A number, however it was written.
    Num(f64),
    Dur(Dur),
    Clock(Clock),
    Atom(Atom),
}

/// The action of a rule on the values that it matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// `same $1`: what it matched.
    Same,
    /// `nothing`: matches without meaning anything, as joints do.
    Nothing,
    Number(number::Family),
    Length(length::Family),
    Clock(clock::Family),
    Date(date::Family),
    Day(day::Family),
    Series(series::Family),
}

impl Action {
    /// The action that tables call `name`.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "same" => return Some(Self::Same),
            "nothing" => return Some(Self::Nothing),
            _ => {}
        }
        let number = || number::Family::named(name).map(Self::Number);
        let length = || length::Family::named(name).map(Self::Length);
        let clock = || clock::Family::named(name).map(Self::Clock);
        let date = || date::Family::named(name).map(Self::Date);
        let day = || day::Family::named(name).map(Self::Day);
        let series = || series::Family::named(name).map(Self::Series);
        number().or_else(length).or_else(clock).or_else(date).or_else(day).or_else(series)
    }

    /// Does it; `None` when what was matched makes no sense, such as 25 o'clock.
    pub(super) fn apply(self, arguments: &[Value]) -> Option<Value> {
        let given = Given(arguments);
        match self {
            Self::Same => Some(given.value(0)),
            Self::Nothing => Some(Value::Nothing),
            Self::Number(action) => action.apply(given),
            Self::Length(action) => action.apply(given),
            Self::Clock(action) => action.apply(given),
            Self::Date(action) => action.apply(given).map(Value::Atom),
            Self::Day(action) => action.apply(given).map(Value::Atom),
            Self::Series(action) => action.apply(given).map(Value::Atom),
        }
    }
}

/// The arguments of an action as the table lists them: meanings that the rule matched, and numbers that stand in the rule.
///
/// A reading that does not succeed is `None`, and then the action does not either.
#[derive(Clone, Copy)]
struct Given<'a>(&'a [Value]);

impl Given<'_> {
    fn value(self, index: usize) -> Value {
        self.0.get(index).copied().unwrap_or(Value::Nothing)
    }

    /// A whole number.
    fn int(self, index: usize) -> Option<i32> {
        self.value(index).int()
    }

    /// A whole number within bounds.
    fn int_in(self, index: usize, bounds: std::ops::RangeInclusive<i32>) -> Option<i32> {
        self.int(index).filter(|int| bounds.contains(int))
    }

    /// A whole number that may be left out.
    fn some_int(self, index: usize) -> Option<Option<i32>> {
        match self.value(index) {
            Value::Nothing => Some(None),
            other => other.int().map(Some),
        }
    }

    /// A whole number within bounds; one, where it is left out.
    fn count(self, index: usize, bounds: std::ops::RangeInclusive<i32>) -> Option<i32> {
        let count = self.some_int(index)?.unwrap_or(1);
        Some(count).filter(|count| bounds.contains(count))
    }

    /// Any number.
    fn num(self, index: usize) -> Option<f64> {
        self.value(index).num()
    }

    /// A number that was given in thousandths.
    fn thousandths(self, index: usize) -> Option<f64> {
        Some(f64::from(self.int(index)?) / 1000.0)
    }

    fn dur(self, index: usize) -> Option<Dur> {
        if let Value::Dur(dur) = self.value(index) { Some(dur) } else { None }
    }

    fn clock(self, index: usize) -> Option<Clock> {
        match self.value(index) {
            Value::Clock(clock) | Value::Atom(Atom::Clock(clock)) => Some(clock),
            _ => None,
        }
    }

    fn unit(self, index: usize) -> Option<Unit> {
        Unit::of(self.int(index)?)
    }

    fn part(self, index: usize) -> Option<DayPart> {
        DayPart::of(self.int(index)?)
    }

    fn which(self, index: usize) -> Option<Which> {
        Which::of(self.int(index)?)
    }

    /// A day of the week as a bit.
    fn weekday(self, index: usize) -> Option<u8> {
        day::weekday_bit(self.int(index)?)
    }
}

impl Value {
    /// A whole number.
    fn int(self) -> Option<i32> {
        match self {
            Self::Int(int) => Some(int),
            Self::Digits { value, .. } => i32::try_from(value).ok(),
            Self::Num(num) if num.fract() == 0.0 && num.abs() < 1e9 => Some(num as i32),
            _ => None,
        }
    }

    /// Any number.
    fn num(self) -> Option<f64> {
        match self {
            Self::Int(int) => Some(f64::from(int)),
            Self::Digits { value, .. } => Some(f64::from(value)),
            Self::Num(num) => Some(num),
            _ => None,
        }
    }
}
