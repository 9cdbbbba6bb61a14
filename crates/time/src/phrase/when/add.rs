//! Writes down a piece that a point in time takes.

use super::When;
use crate::phrase::atom::{Atom, Cal, Clock, DayPart, Dur, Unit, What, Which};

impl When {
    /// Writes `atom` beside what was said, which [`takes`](Self::takes) it.
    pub(super) fn add(&mut self, atom: Atom, may_be_list: bool) {
        match atom {
            Atom::Now => self.is_now = true,
            Atom::Offset(dur) => self.offset = Some(dur),
            Atom::Minutes(minutes) => self.offset = Dur::of(f64::from(minutes), Unit::Minute),
            Atom::Rel(rel) => self.rel = Some(rel),
            Atom::Weekday { days, which } => self.add_weekdays(days, which),
            Atom::Near { n, days } => self.near = Some((n, days)),
            Atom::Window { n, unit } => self.window = Some((n, unit)),
            Atom::WeekNumber(week) => self.week = Some(week),
            Atom::Ahead { n, days } => self.ahead = Some((n, days)),
            Atom::Cal { cal, is_weak } => self.add_cal(cal, is_weak, may_be_list),
            Atom::Swappable(cal) => {
                self.is_swappable = true;
                self.add_cal(cal, false, may_be_list);
            }
            Atom::Dashed(cal) => {
                self.is_dashed = true;
                self.is_swappable = cal.day.is_some_and(|day| day <= 12);
                self.add_cal(cal, false, may_be_list);
            }
            Atom::Nth { n, what } => self.add_nth(n, what, may_be_list),
            Atom::Of(unit) => self.of = Some(unit),
            Atom::Period { unit, rel } => self.period = Some((unit, rel)),
            Atom::Clock(clock) => self.add_clock(clock),
            Atom::Part { part, is_weak } => self.add_part(part, is_weak, may_be_list),
            Atom::RelPart { rel, part } => {
                self.is_part_today = self.rel.is_none();
                (self.rel, self.part, self.is_part_weak) = (Some(rel), Some(part), false);
            }
            Atom::Zone(minutes) | Atom::GluedZone(minutes) => self.zone = Some(minutes),
            Atom::Feast(feast) => self.feast = Some(feast),
            Atom::Season { season, rel } => self.season = Some((season, rel)),
            Atom::Shift(dur) => self.shift = Some(dur),
            Atom::Then(dur) => self.then = Some(dur),
            Atom::Edge(edge) => self.edge = Some(edge),
            // No point in time takes these.
            Atom::Every { .. }
            | Atom::WeekdayPart { .. }
            | Atom::EdgeOf(..)
            | Atom::DayRange(..)
            | Atom::OffsetRange(..)
            | Atom::Within(_)
            | Atom::PartBeside { .. }
            | Atom::ClockRange(..)
            | Atom::Between(..)
            | Atom::Each(_)
            | Atom::Per { .. }
            | Atom::EachPart(_)
            | Atom::Count(_)
            | Atom::Length(_)
            | Atom::Lasting(_)
            | Atom::Mark(_) => {}
        }
    }

    fn add_weekdays(&mut self, days: u8, which: Which) {
        match self.days {
            None => {
                self.is_several |= matches!(which, Which::Bare | Which::Word) && days.count_ones() > 1;
                self.days = Some((days, which));
            }
            Some((known, known_which)) => {
                self.is_several |= known != days;
                self.days = Some((known | days, known_which));
            }
        }
    }

    fn add_cal(&mut self, cal: Cal, is_weak: bool, may_be_list: bool) {
        if self.lists_day(cal, is_weak, may_be_list)
            && let Some(day) = cal.day
        {
            self.more_days.push(day);
            self.is_several = true;
            self.is_cal_weak &= is_weak;
            return self.add_cal(Cal { day: None, ..cal }, is_weak, false);
        }
        let was_empty = self.cal == Cal::default();
        self.cal.year = self.cal.year.or(cal.year);
        self.cal.month = self.cal.month.or(cal.month);
        self.cal.day = self.cal.day.or(cal.day);
        let is_number = is_weak && cal.month.is_some() && cal.day.is_some();
        let is_together = self.cal.month.is_some() && (self.cal.day.is_some() || self.cal.year.is_some()) && !is_number;
        self.is_cal_weak = !is_together && is_weak && (was_empty || self.is_cal_weak);
    }

    fn add_nth(&mut self, n: i32, what: What, may_be_list: bool) {
        if self.days_counted(may_be_list).is_some() {
            let first = self.cal.day.take();
            let more = std::mem::take(&mut self.more_days);
            first.iter().chain(more.iter()).for_each(|day| self.nths.push((i32::from(*day), what)));
            self.is_cal_weak = false;
        }
        self.is_several |= !self.nths.is_empty();
        self.nths.push((n, what));
    }

    fn add_clock(&mut self, clock: Clock) {
        if self.clocks.contains(&clock) {
            return;
        }
        let is_first = self.clocks.is_empty();
        // 7 i 19 sati: the word of the last makes hours of all.
        let is_list_sure = clock.is_worded && !is_first;
        if !clock.is_weak || is_list_sure {
            self.clocks.iter_mut().for_each(|known| known.is_weak = false);
        }
        self.is_several |= !is_first;
        // In a list of times a bare number is one too: at 10, 12 and 17.
        let is_weak = clock.is_weak && is_first;
        self.clocks.push(Clock { is_weak, ..clock });
    }

    fn add_part(&mut self, part: DayPart, is_weak: bool, may_be_list: bool) {
        if self.lists_part(part, may_be_list) {
            self.more_parts.push(part);
            self.is_several = true;
            return;
        }
        self.part = Some(part);
        // Beside anything that is a time for sure it is one too.
        let is_number = |clock: &Clock| clock.is_weak && clock.finest < Unit::Hour;
        self.is_part_weak = is_weak && !self.has_day() && self.clocks.iter().all(is_number);
    }
}
