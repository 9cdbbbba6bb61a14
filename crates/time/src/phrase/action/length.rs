//! Lengths of time, and what lies a length away from now or from something else.

use super::{Given, Value};
use crate::phrase::atom::{Atom, Dur, Unit};

family! {
    /// `dur $1 $2`: so many of a unit.
    Dur = "dur",
    /// `dur_thousandths n unit`: three quarters of an hour is 750.
    DurThousandths = "dur_thousandths",
    /// `dur_half unit`: half of it.
    DurHalf = "dur_half",
    /// `dur_and_half $1 unit`: so many and a half.
    DurAndHalf = "dur_and_half",
    /// `dur_plus $1 $2`: a length and another.
    DurPlus = "dur_plus",
    /// `dur_smaller $1 $2`: the same without a word between them, where the larger is said first: two hours a day are no day and two hours.
    DurSmaller = "dur_smaller",
    /// `dur_more $1 $2 unit`: a length and so many of a smaller unit: `2 hours ten`.
    DurMore = "dur_more",
    /// `after $1`: so long from now.
    After = "after",
    /// `before $1`: so long ago.
    Before = "before",
    /// `minutes $1`: so many minutes from now, if nothing follows.
    Minutes = "minutes",
    /// `shift $1 sign`: so long after (1) or before (-1) what follows.
    Shift = "shift",
    /// `then $1 sign`: so long after or before what went before.
    Then = "then",
    /// `length $1`: a length by itself.
    Length = "length",
    /// `lasting $1`: a length that is said to last.
    Lasting = "lasting",
    /// `after_between $1 $2 unit`: from so many to so many of a unit from now.
    AfterBetween = "after_between",
    /// `within $1`: from now, and due so long from now.
    Within = "within",
    /// `from_now $1`: so long, beginning now.
    FromNow = "from_now",
    /// `after_clock $1 $2`: hours and minutes from now, as on a clock: in 1:30.
    AfterClock = "after_clock",
}

impl Family {
    pub(super) fn apply(self, given: Given<'_>) -> Option<Value> {
        let dur = |amount: f64, unit: Unit| Dur::of(amount, unit).map(Value::Dur);
        let atom = |atom: Atom| Some(Value::Atom(atom));
        match self {
            Self::Dur => dur(given.num(0)?, given.unit(1)?),
            Self::DurThousandths => dur(given.thousandths(0)?, given.unit(1)?),
            Self::DurHalf => dur(0.5, given.unit(0)?),
            Self::DurAndHalf => dur(given.num(0)? + 0.5, given.unit(1)?),
            Self::DurPlus => {
                let (one, more) = (given.dur(0)?, given.dur(1)?);
                // An hour and a quarter is no quarter of a year more.
                let is_quarter = |dur: Dur, other: Dur| dur.finest == Unit::Quarter && other.finest < Unit::Month;
                if is_quarter(one, more) || is_quarter(more, one) {
                    return None;
                }
                Some(Value::Dur(one.plus(more)))
            }
            Self::DurMore => Some(Value::Dur(given.dur(0)?.plus(Dur::of(given.num(1)?, given.unit(2)?)?))),
            Self::After => atom(Atom::Offset(given.dur(0)?)),
            Self::Before => atom(Atom::Offset(given.dur(0)?.negated())),
            Self::Minutes => atom(Atom::Minutes(given.int_in(0, 1..=360)?)),
            Self::Shift => atom(Atom::Shift(signed(given.dur(0)?, given.int(1)?))),
            Self::Then => atom(Atom::Then(signed(given.dur(0)?, given.int(1)?))),
            Self::Length => atom(Atom::Length(given.dur(0)?)),
            Self::Lasting => atom(Atom::Lasting(given.dur(0)?)),
            Self::AfterBetween => {
                let (from, to, unit) = (given.num(0)?, given.num(1)?, given.unit(2)?);
                let more = Dur::of(to - from, unit).filter(|_| from < to)?;
                atom(Atom::OffsetRange(Dur::of(from, unit)?, more))
            }
            Self::Within => atom(Atom::Within(given.dur(0)?)),
            Self::DurSmaller => {
                let (first, more) = (given.dur(0)?, given.dur(1)?);
                (more.finest < first.finest).then(|| Value::Dur(first.plus(more)))
            }
            Self::FromNow => atom(Atom::OffsetRange(Dur::of(0.0, Unit::Second)?, given.dur(0)?)),
            Self::AfterClock => match given.value(1) {
                Value::Digits { value: 0..60, digits: 2, .. } => {
                    let minutes = Dur::of(given.num(1)?, Unit::Minute)?;
                    atom(Atom::Offset(Dur::of(given.num(0)?, Unit::Hour)?.plus(minutes)))
                }
                _ => None,
            },
        }
    }
}

fn signed(dur: Dur, sign: i32) -> Dur {
    if sign < 0 { dur.negated() } else { dur }
}
