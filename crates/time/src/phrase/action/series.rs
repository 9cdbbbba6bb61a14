//! Weeks, months and years, what comes again and again, and the words that bound it.

use super::Given;
use crate::phrase::atom::{Atom, Mark};

family! {
    /// `period unit rel`: this (0), next (1), last (-1) week.
    Period = "period",
    /// `window sign $1 unit`: the next (1) or the last (-1) so many of a unit.
    Window = "window",
    /// `season $1 rel`: this (0), the next (1) or the last (-1) spring, summer, autumn or winter.
    Season = "season",
    /// `of unit`: the week, month or year that something is in.
    Of = "of",
    /// `edge n`: beginning (-1), middle (0), end (1), rest (2), all (3), later part (4), week (5) of what follows.
    Edge = "edge",
    /// `edge_of n unit`: the same of a unit, in one word: the month's end.
    EdgeOf = "edge_of",
    /// `every $1 unit`
    Every = "every",
    /// `per $1 unit`: so often in a unit.
    Per = "per",
    /// `each $1`: every so manieth of what follows.
    Each = "each",
    /// `times $1`: so many times in all.
    Count = "times",
    /// `mark n`
    Mark = "mark",
}

impl Family {
    pub(super) fn apply(self, given: Given<'_>) -> Option<Atom> {
        match self {
            Self::Period => Some(Atom::Period { unit: given.unit(0)?, rel: given.int_in(1, -1000..=1000)? }),
            Self::Window => Some(Atom::Window { n: given.int(0)? * given.int_in(1, 1..=1000)?, unit: given.unit(2)? }),
            Self::Season => {
                let season = u8::try_from(given.int_in(0, 1..=4)?).ok()?;
                Some(Atom::Season { season, rel: given.int_in(1, -1..=1)? })
            }
            Self::Of => given.unit(0).map(Atom::Of),
            Self::Edge => given.int(0).map(Atom::Edge),
            Self::EdgeOf => Some(Atom::EdgeOf(given.int(0)?, given.unit(1)?)),
            Self::Every => Some(Atom::Every { n: given.count(0, 1..=10_000)?, unit: given.unit(1)? }),
            Self::Per => Some(Atom::Per { n: given.int_in(0, 1..=24)?, unit: given.unit(1)? }),
            Self::Each => given.count(0, 1..=1000).map(Atom::Each),
            Self::Count => given.int_in(0, 1..=1_000_000).map(Atom::Count),
            Self::Mark => Some(Atom::Mark(Mark::of(given.int(0)?)?)),
        }
    }
}
