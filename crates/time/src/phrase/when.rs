//! A point in time, as far as it was said.

use super::atom::{Atom, Cal, Clock, DayPart, Dur, Unit, What, Which};
use super::list::{LIST_MAX, List};

/// A point in time, as far as it was said.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct When {
    pub(super) is_now: bool,
    pub(super) offset: Option<Dur>,
    pub(super) rel: Option<i32>,
    pub(super) days: Option<(u8, Which)>,
    pub(super) ahead: Option<(i32, u8)>,
    pub(super) cal: Cal,
    pub(super) is_cal_weak: bool,
    /// Whether month and day may be the other way round.
    pub(super) is_swappable: bool,
    /// Further days of the month: the 15th of `the 1st and 15th`.
    pub(super) more_days: List<u8>,
    pub(super) nths: List<(i32, What)>,
    pub(super) period: Option<(Unit, i32)>,
    /// What the rest is in: `of the month`.
    pub(super) of: Option<Unit>,
    pub(super) clocks: List<Clock>,
    pub(super) part: Option<DayPart>,
    /// Further parts of the day: `mornings and evenings`.
    pub(super) more_parts: List<DayPart>,
    pub(super) is_part_weak: bool,
    pub(super) is_part_today: bool,
    pub(super) zone: Option<i32>,
    pub(super) feast: Option<i32>,
    pub(super) shift: Option<Dur>,
    pub(super) then: Option<Dur>,
    pub(super) edge: Option<i32>,
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
            || self.cal != Cal::default()
            || !self.nths.is_empty()
            || self.period.is_some()
            || self.feast.is_some()
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
        if is_day_weak && !has_clock && !has_cal || matches!(self.days, Some((_, Which::Range))) {
            return false;
        }
        let has_other_day = self.is_now
            || self.offset.is_some()
            || self.rel.is_some()
            || self.days.is_some()
            || self.ahead.is_some()
            || self.feast.is_some()
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
        if has_weak_clock && !(self.part.is_some() || self.days.is_some() || self.rel.is_some()) {
            return false;
        }
        // Next week at 10 does not say on which day.
        let is_of_week = matches!(self.period, Some((Unit::Week, _))) && self.days.is_none() && self.nths.is_empty();
        if is_of_week && !self.clocks.is_empty() {
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

    /// Adds an atom, unless it contradicts what is there. In what recurs, and after an `and`, days and times may be lists.
    pub(super) fn push(&mut self, atom: Atom, is_recurring: bool, is_list: bool) -> bool {
        let is_list = is_list || is_recurring;
        match atom {
            Atom::Now => {
                let fits = self.is_empty();
                self.is_now = true;
                fits
            }
            Atom::Offset(dur) => {
                let is_coarse = dur.finest >= Unit::Day;
                let fits = self.offset.is_none()
                    && !self.is_now
                    && self.ahead.is_none()
                    && self.cal == Cal::default()
                    && self.period.is_none()
                    && self.nths.is_empty()
                    && self.rel.is_none_or(|rel| rel == 0)
                    && (is_coarse || !self.has_time())
                    && (self.days.is_none() || dur.finest == Unit::Week);
                self.offset = Some(dur);
                fits
            }
            Atom::Minutes(minutes) => {
                let dur = Dur::of(f64::from(minutes), Unit::Minute);
                let fits = self.is_empty() && dur.is_some();
                self.offset = dur;
                fits
            }
            Atom::Rel(rel) => {
                let fits = self.rel.is_none_or(|known| known == rel)
                    && !self.is_now
                    && self.offset.is_none()
                    && self.period.is_none()
                    && self.ahead.is_none()
                    && self.nths.is_empty()
                    && self.feast.is_none()
                    && (self.cal == Cal::default() || (self.cal.month.is_some() && self.cal.day.is_some()));
                self.rel = Some(rel);
                fits
            }
            Atom::Weekday { days, which } => self.push_days(days, which, is_list),
            Atom::Ahead { n, days } => {
                let fits = !self.has_day();
                self.ahead = Some((n, days));
                fits
            }
            Atom::Cal { cal, is_weak } => self.push_cal(cal, is_weak, is_list),
            Atom::Swappable(cal) => {
                self.is_swappable = true;
                self.push_cal(cal, false, is_list)
            }
            Atom::Dashed(cal) => {
                let fits = self.days.is_none() && self.rel.is_none();
                self.is_swappable = cal.day.is_some_and(|day| day <= 12);
                self.push_cal(cal, false, is_list) && fits
            }
            Atom::Nth { n, what } => {
                // The `first` of `first and third friday` is a Friday too.
                let is_list = is_list || !self.more_days.is_empty();
                if is_list && self.is_cal_weak && self.cal.month.is_none() && self.cal.year.is_none() {
                    let more = std::mem::take(&mut self.more_days);
                    let days = self.cal.day.take().into_iter().chain(more.iter().copied());
                    days.for_each(|day| self.nths.push((i32::from(day), what)));
                    self.is_cal_weak = false;
                }
                let fits = (self.nths.is_empty() || (is_list && self.nths.len() < LIST_MAX))
                    && !self.is_now
                    && self.offset.is_none()
                    && self.rel.is_none()
                    && self.days.is_none()
                    && self.cal.day.is_none();
                self.is_several |= !self.nths.is_empty();
                self.nths.push((n, what));
                fits
            }
            Atom::Of(unit) => {
                let fits = self.of.is_none()
                    && self.period.is_none()
                    && (!self.nths.is_empty() || self.cal.day.is_some() || self.edge.is_some() || self.is_empty());
                self.of = Some(unit);
                fits
            }
            Atom::Period { unit, rel } => {
                let is_week_of_day = self.days.is_some() && matches!(unit, Unit::Week);
                let is_of = !self.nths.is_empty() || self.cal.day.is_some() || self.cal.month.is_some();
                let fits = self.period.is_none()
                    && !self.is_now
                    && self.offset.is_none()
                    && self.rel.is_none()
                    && self.cal.year.is_none()
                    && (self.days.is_none() || is_week_of_day || !self.nths.is_empty())
                    && (self.feast.is_none() || unit == Unit::Year)
                    && (is_of || self.cal == Cal::default());
                self.period = Some((unit, rel));
                fits
            }
            Atom::Clock(clock) => {
                if self.clocks.contains(&clock) {
                    return true;
                }
                let fits_offset = self.offset.is_none_or(|dur| dur.finest >= Unit::Day);
                let is_first = self.clocks.is_empty();
                let fits_list = is_first
                    || (is_list && self.clocks.len() < LIST_MAX && !self.clocks.iter().any(|clock| clock.is_weak));
                self.is_several |= !is_first;
                // In a list of times a bare number is one too: at 10, 12 and 17.
                let is_weak = clock.is_weak && is_first;
                self.clocks.push(Clock { is_weak, ..clock });
                fits_offset && fits_list && !self.is_now
            }
            // Every morning and evening.
            Atom::Part { part, .. }
                if is_list && self.clocks.is_empty() && self.part.is_some_and(|known| known != part) =>
            {
                self.more_parts.push(part);
                self.is_several = true;
                self.more_parts.len() < LIST_MAX
            }
            Atom::Part { part, is_weak } => {
                let fits = self.part.is_none_or(|known| known == part)
                    && !self.is_now
                    && self.offset.is_none_or(|dur| dur.finest >= Unit::Day);
                self.part = Some(part);
                self.is_part_weak = is_weak;
                // Beside anything that is a time for sure it is one too.
                if is_weak && (self.has_day() || !self.clocks.is_empty()) {
                    self.is_part_weak = false;
                }
                fits
            }
            Atom::RelPart { rel, part } => {
                let is_same_day = self.rel.is_none_or(|known| known == rel) && self.days.is_none();
                let fits = is_same_day
                    && self.part.is_none_or(|known| known == part)
                    && !self.is_now
                    && self.offset.is_none()
                    && self.period.is_none()
                    && self.cal == Cal::default()
                    && self.nths.is_empty();
                self.is_part_today = self.rel.is_none();
                (self.rel, self.part, self.is_part_weak) = (Some(rel), Some(part), false);
                fits
            }
            Atom::Zone(minutes) => {
                let fits = self.zone.is_none() && !self.clocks.is_empty();
                self.zone = Some(minutes);
                fits
            }
            Atom::Feast(feast) => {
                let fits = self.feast.is_none()
                    && !self.is_now
                    && self.offset.is_none()
                    && self.rel.is_none()
                    && self.cal.month.is_none()
                    && self.cal.day.is_none()
                    && self.nths.is_empty();
                self.feast = Some(feast);
                fits
            }
            Atom::Shift(dur) => {
                let fits = self.is_empty();
                self.shift = Some(dur);
                fits
            }
            Atom::Then(dur) => {
                let fits = !self.is_empty() && self.then.is_none();
                self.then = Some(dur);
                fits
            }
            Atom::Edge(edge) => {
                let fits = !self.has_day() && self.edge.is_none();
                self.edge = Some(edge);
                fits
            }
            Atom::Every { .. }
            | Atom::WeekdayPart { .. }
            | Atom::EdgeOf(..)
            | Atom::Each(_)
            | Atom::Per { .. }
            | Atom::EachPart(_)
            | Atom::Times(_)
            | Atom::Length(_)
            | Atom::Mark(_) => false,
        }
    }

    fn push_days(&mut self, days: u8, which: Which, is_list: bool) -> bool {
        let fits = !self.is_now
            && self.ahead.is_none()
            && self.offset.is_none_or(|dur| dur.finest == Unit::Week)
            && self.period.is_none_or(|(unit, _)| unit == Unit::Week)
            && self.nths.is_empty()
            && self.feast.is_none()
            // The 3rd Tuesday is not the third and a Tuesday; Tuesday the 3rd is.
            && (self.cal.day.is_none() || self.cal.month.is_some());
        match self.days {
            None => {
                self.days = Some((days, which));
                self.is_several |= which == Which::Bare && days.count_ones() > 1;
                fits
            }
            Some((known, known_which)) => {
                // Monday, Wednesday and Friday.
                let is_list = is_list || (known_which == which && matches!(which, Which::Each | Which::Bare));
                self.is_several |= known != days;
                self.days = Some((known | days, known_which));
                fits && (is_list || (known == days && which == Which::Bare)) && self.clocks.is_empty()
            }
        }
    }

    fn push_cal(&mut self, cal: Cal, is_weak: bool, is_list: bool) -> bool {
        fn merge<T: PartialEq + Copy>(known: &mut Option<T>, new: Option<T>) -> bool {
            match (*known, new) {
                (Some(known), Some(new)) => known == new,
                (None, Some(_)) => {
                    *known = new;
                    true
                }
                (_, None) => true,
            }
        }
        let was_empty = self.cal == Cal::default();
        // First, second and third.
        let is_list = is_list || (is_weak && self.is_cal_weak);
        if is_list
            && let (Some(known), Some(day)) = (self.cal.day, cal.day)
            && known != day
            && (self.cal.month.is_none() || cal.month.is_none() || self.cal.month == cal.month)
            && self.more_days.len() < LIST_MAX
        {
            // The 1st and 15th of May.
            self.more_days.push(day);
            self.is_several = true;
            self.is_cal_weak &= is_weak;
            return self.push_cal(Cal { day: None, ..cal }, is_weak, false);
        }
        let is_whole = cal.month.is_some() && cal.day.is_some();
        let fits = !self.is_now
            && self.offset.is_none()
            && self.ahead.is_none()
            && (self.rel.is_none() || (is_whole && !is_weak))
            && self.period.is_none_or(|(unit, _)| {
                (unit == Unit::Month && cal.month.is_none()) || (unit == Unit::Year && cal.year.is_none())
            })
            && (self.nths.is_empty() || cal.day.is_none())
            && (self.of.is_none() || cal.month.is_none())
            && (self.feast.is_none() || (cal.month.is_none() && cal.day.is_none()))
            && self.days.is_none_or(|_| cal.day.is_some() || !was_empty || is_list);
        let merged = merge(&mut self.cal.year, cal.year)
            && merge(&mut self.cal.month, cal.month)
            && merge(&mut self.cal.day, cal.day);
        let is_number = is_weak && cal.month.is_some() && cal.day.is_some();
        let is_together = self.cal.month.is_some() && (self.cal.day.is_some() || self.cal.year.is_some()) && !is_number;
        self.is_cal_weak = !is_together && is_weak && (was_empty || self.is_cal_weak);
        fits && merged
    }
}
