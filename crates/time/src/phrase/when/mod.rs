//! A point in time, as far as it was said.

mod add;
mod takes;

use super::atom::{Atom, Cal, Clock, DayPart, Dur, Unit, What, Which};
use super::list::List;

/// A point in time, as far as it was said.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct When {
    pub(super) is_now: bool,
    pub(super) offset: Option<Dur>,
    pub(super) rel: Option<i32>,
    pub(super) days: Option<(u8, Which)>,
    pub(super) ahead: Option<(i32, u8)>,
    /// The n-th such day of the week after or before the rest.
    pub(super) near: Option<(i32, u8)>,
    /// The next or the last so many of a unit.
    pub(super) window: Option<(i32, Unit)>,
    /// A week by its number.
    pub(super) week: Option<u8>,
    pub(super) cal: Cal,
    pub(super) is_cal_weak: bool,
    /// Whether month and day may be the other way round.
    pub(super) is_swappable: bool,
    /// Whether it was written with a dash, which beside a part of the day is from hour to hour: `10-11 at night`.
    pub(super) is_dashed: bool,
    /// Further days of the month: the 15th of `the 1st and 15th`.
    pub(super) more_days: List<u8>,
    pub(super) nths: List<(i32, What)>,
    pub(super) period: Option<(Unit, i32)>,
    /// The unit that the rest is a part of: `of the month`.
    pub(super) of: Option<Unit>,
    pub(super) clocks: List<Clock>,
    pub(super) part: Option<DayPart>,
    /// Further parts of the day: `mornings and evenings`.
    pub(super) more_parts: List<DayPart>,
    pub(super) is_part_weak: bool,
    pub(super) is_part_today: bool,
    pub(super) zone: Option<i32>,
    /// Spring (1) to winter (4), and which of them.
    pub(super) season: Option<(u8, i32)>,
    pub(super) feast: Option<i32>,
    pub(super) shift: Option<Dur>,
    pub(super) then: Option<Dur>,
    pub(super) edge: Option<i32>,
    /// Whether it bounds a stretch of years, which may have begun.
    pub(super) is_bound: bool,
    /// Whether its day of the week was said in full, and not as calendars write it: `sunday`, and not `sun`.
    pub(super) is_weekday_full: bool,
    /// Whether it names several days or times that are not a series: `monday and tuesday`.
    pub(super) is_several: bool,
}

impl When {
    /// Whether nothing has been said.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it names a day, however vaguely.
    pub(super) fn has_day(&self) -> bool {
        self.is_now
            || self.offset.is_some()
            || self.rel.is_some()
            || self.days.is_some()
            || self.ahead.is_some()
            || self.window.is_some()
            || self.week.is_some()
            || self.cal != Cal::default()
            || !self.nths.is_empty()
            || self.period.is_some()
            || self.season.is_some()
            || self.feast.is_some()
    }

    /// Whether its day comes only once, and not each week or month.
    pub(super) fn is_once(&self) -> bool {
        let is_date = self.cal.month.is_some() && self.cal.day.is_some();
        self.is_now || self.offset.is_some() || self.rel.is_some() || self.period.is_some() || is_date
    }

    /// Whether it names a time of day.
    pub(super) fn has_time(&self) -> bool {
        !self.clocks.is_empty() || self.part.is_some()
    }

    /// Whether it is a time for sure, and not only a word that can be one.
    pub(super) fn is_sure(&self) -> bool {
        let has_weak_clock = self.clocks.iter().any(|clock| clock.is_weak);
        let has_clock = self.clocks.iter().any(|clock| !clock.is_weak);
        let has_cal = self.cal != Cal::default() && !self.is_cal_weak;
        let is_day_weak = matches!(self.days, Some((_, Which::Word)));
        if is_day_weak && !has_clock && !has_cal {
            return false;
        }
        let has_other_day = self.is_now
            || self.offset.is_some()
            || self.rel.is_some()
            || self.days.is_some()
            || self.ahead.is_some()
            || self.window.is_some()
            || self.week.is_some()
            || self.feast.is_some()
            || self.season.is_some()
            || self.period.is_some();
        let has_part = self.part.is_some() && !self.is_part_weak;
        let has_of = self.cal != Cal::default() || self.period.is_some() || self.of.is_some();
        let has_nth = !self.nths.is_empty() && has_of;
        let is_of_month = self.cal.day.is_some() && self.of == Some(Unit::Month);
        // With a time of day, a day of the month is one; `Jan at 8` is still a man.
        let is_cal_backed =
            has_nth || (has_clock && self.cal.day.is_some()) || has_other_day || is_of_month || self.edge.is_some();
        if self.cal != Cal::default() && self.is_cal_weak && !is_cal_backed {
            return false;
        }
        if !self.nths.is_empty() && !has_nth {
            return false;
        }
        // Beside a whole date, `1345` and `13` are times; a date that may be a number makes none.
        let is_dated = self.cal.month.is_some() && self.cal.day.is_some() && !self.is_cal_weak;
        let has_near_day =
            self.part.is_some() && !self.is_part_weak || self.days.is_some() || self.rel.is_some() || is_dated;
        if has_weak_clock && !has_near_day {
            return false;
        }
        if self.near.is_some() && !(has_other_day || has_cal || has_nth) {
            return false;
        }
        // Next week at 10 does not say on which day, nor does December at 8.
        let is_long = self.cal.month.is_some()
            || matches!(self.period, Some((Unit::Week | Unit::Month | Unit::Quarter | Unit::Year, _)));
        let is_dayless = self.days.is_none() && self.nths.is_empty() && self.cal.day.is_none() && self.edge.is_none();
        if is_long && is_dayless && !self.clocks.is_empty() {
            return false;
        }
        if self.shift.is_some() && !(has_other_day || has_cal || has_clock || has_nth) {
            return false;
        }
        if self.edge.is_some() && !(has_other_day || self.of.is_some() || self.cal != Cal::default()) {
            return false;
        }
        let is_edge = self.edge.is_some() && (self.of.is_some() || self.cal != Cal::default());
        is_of_month || is_edge || has_clock || has_cal || has_other_day || has_part || has_nth
    }

    /// The same after a word such as `until`, where a month is a month.
    pub(super) fn into_bound(mut self) -> Self {
        self.is_cal_weak = false;
        self
    }

    /// Adds an atom, unless it contradicts what is there; then nothing changes. Where there may be a list, days and times can be
    /// several: in a series, and after an `and`.
    pub(super) fn push(&mut self, atom: Atom, may_be_list: bool) -> bool {
        let takes = self.takes(atom, may_be_list);
        if takes {
            self.add(atom, may_be_list);
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrase::atom::{Half, Mark};

    /// A piece of every kind, and further ones of the kinds that can be lists.
    fn atoms() -> Vec<Atom> {
        let clock = |hour: u8, is_weak: bool| {
            let half = Half::Either;
            Atom::Clock(Clock { hour, minute: 0, second: 0, half, finest: Unit::Hour, is_weak, ..Clock::default() })
        };
        let cal = |month: Option<u8>, day: Option<u8>| Cal { year: None, month, day };
        let days = Dur::of(2.0, Unit::Day).unwrap();
        let minutes = Dur::of(20.0, Unit::Minute).unwrap();
        vec![
            Atom::Now,
            Atom::Offset(days),
            Atom::Offset(minutes),
            Atom::Minutes(15),
            Atom::Rel(1),
            Atom::Weekday { days: 1, which: Which::Bare },
            Atom::Weekday { days: 4, which: Which::Next },
            Atom::WeekdayPart { days: 1, which: Which::Bare, part: DayPart::Morning },
            Atom::Cal { cal: cal(Some(5), None), is_weak: true },
            Atom::Cal { cal: cal(Some(7), Some(13)), is_weak: false },
            Atom::Cal { cal: cal(None, Some(1)), is_weak: true },
            Atom::Cal { cal: Cal { year: Some(2027), month: None, day: None }, is_weak: false },
            Atom::Swappable(cal(Some(3), Some(4))),
            Atom::Dashed(cal(Some(10), Some(11))),
            Atom::Nth { n: 3, what: What::Weekday(16) },
            Atom::Period { unit: Unit::Week, rel: 1 },
            Atom::Period { unit: Unit::Month, rel: 0 },
            Atom::Of(Unit::Month),
            clock(8, false),
            clock(10, true),
            Atom::Part { part: DayPart::Morning, is_weak: false },
            Atom::Part { part: DayPart::Evening, is_weak: true },
            Atom::RelPart { rel: 0, part: DayPart::Night },
            Atom::Ahead { n: 3, days: 16 },
            Atom::Zone(60),
            Atom::Feast(1225),
            Atom::Season { season: 2, rel: 0 },
            Atom::Shift(days),
            Atom::Then(minutes),
            Atom::Edge(1),
            Atom::EdgeOf(1, Unit::Month),
            Atom::Every { n: 1, unit: Unit::Day },
            Atom::Per { n: 2, unit: Unit::Day },
            Atom::EachPart(DayPart::Morning),
            Atom::Each(2),
            Atom::Count(5),
            Atom::Length(minutes),
            Atom::Lasting(minutes),
            Atom::Mark(Mark::Until),
        ]
    }

    /// Pushes every piece to every point that can be made of up to three.
    #[test]
    fn a_piece_that_is_refused_leaves_the_point_as_it_was() {
        let mut changed = Vec::new();
        let (mut n_taken, mut n_refused) = (0, 0);
        let mut points = vec![(When::default(), Vec::new())];
        for _ in 0..3 {
            let mut longer = Vec::new();
            for (point, said) in points {
                for (atom, may_be_list) in atoms().into_iter().flat_map(|atom| [(atom, false), (atom, true)]) {
                    let mut next = point.clone();
                    if next.push(atom, may_be_list) {
                        n_taken += 1;
                        longer.push((next, [said.clone(), vec![atom]].concat()));
                    } else {
                        n_refused += 1;
                        if next != point {
                            changed.push(format!("{said:?} then {atom:?}"));
                        }
                    }
                }
            }
            points = longer;
        }
        assert!(n_taken > 1000 && n_refused > 1000, "{n_taken} were taken and {n_refused} refused");
        assert!(changed.is_empty(), "{} of {n_refused} refused: {:?}", changed.len(), &changed[..changed.len().min(5)]);
    }
}
