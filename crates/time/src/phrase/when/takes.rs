//! Whether a point in time takes a further piece, or contradicts it.

use super::When;
use crate::phrase::atom::{Atom, Cal, Clock, DayPart, Dur, Unit, Which};
use crate::phrase::list::LIST_MAX;
use crate::phrase::whole::WEEK_OF;

impl When {
    /// Whether `atom` goes with what was said. Days and times make a list where there `may_be_list`s.
    pub(super) fn takes(&self, atom: Atom, may_be_list: bool) -> bool {
        // A Friday this summer may be any of them.
        if self.season.is_some() {
            return false;
        }
        // The rest of a week or a month is meant; to have a rest is another thing.
        let is_part = self.edge.is_some_and(|edge| edge > 1);
        let is_of_part = match self.edge {
            Some(WEEK_OF) => matches!(atom, Atom::Cal { .. } | Atom::Swappable(_)),
            _ => matches!(atom, Atom::Of(_) | Atom::Period { .. }),
        };
        if is_part && !is_of_part {
            return false;
        }
        match atom {
            Atom::Now | Atom::Shift(_) | Atom::Season { .. } => self.is_empty(),
            Atom::Offset(dur) => self.takes_offset(dur),
            Atom::Minutes(minutes) => self.is_empty() && Dur::of(f64::from(minutes), Unit::Minute).is_some(),
            Atom::Rel(rel) => self.takes_rel(rel),
            Atom::Weekday { days, which } => self.takes_weekdays(days, which, may_be_list),
            Atom::Ahead { .. } => !self.has_day(),
            Atom::Near { .. } => !self.has_day() && self.near.is_none() && self.shift.is_none(),
            Atom::Window { .. } => self.is_empty(),
            Atom::WeekNumber(_) => self.takes_week(),
            Atom::Cal { cal, is_weak } => self.takes_cal(cal, is_weak, may_be_list),
            Atom::Swappable(cal) => self.takes_cal(cal, false, may_be_list),
            Atom::Dashed(cal) => {
                self.part.is_none()
                    && self.days.is_none()
                    && self.rel.is_none()
                    && self.takes_cal(cal, false, may_be_list)
            }
            Atom::Nth { .. } => self.takes_nth(may_be_list),
            Atom::Of(_) => self.takes_of(),
            Atom::Period { unit, .. } => self.takes_period(unit),
            Atom::Clock(clock) => self.takes_clock(clock, may_be_list),
            Atom::Part { part, .. } => self.takes_part(part, may_be_list),
            Atom::RelPart { rel, part } => self.takes_rel_part(rel, part),
            // In an hour GMT is in an hour.
            Atom::Zone(code) => {
                self.zone.is_none() && (!self.clocks.is_empty() || (code == 0 && self.offset.is_some()))
            }
            Atom::GluedZone(_) => {
                let is_exact = |clock: &Clock| clock.is_iso || clock.finest == Unit::Second;
                self.zone.is_none() && self.clocks.last().is_some_and(is_exact)
            }
            Atom::Feast(_) => self.takes_feast(),
            // Tomorrow 7-9h is no nine hours before seven.
            Atom::Then(_) => !self.is_empty() && self.then.is_none() && !self.clocks.iter().any(|clock| clock.is_weak),
            Atom::Edge(_) => !self.has_day() && self.edge.is_none(),
            // A plan keeps these itself.
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
            | Atom::Mark(_) => false,
        }
    }

    /// Whether it is so long from now, or now.
    fn is_from_now(&self) -> bool {
        self.is_now || self.offset.is_some()
    }

    /// Whether a time of day can be said besides: not where a few hours from now are meant.
    fn leaves_time_open(&self) -> bool {
        !self.is_now && self.offset.is_none_or(|dur| dur.finest >= Unit::Day)
    }

    fn takes_offset(&self, dur: Dur) -> bool {
        !self.is_from_now()
            && self.window.is_none()
            && self.week.is_none()
            && self.ahead.is_none()
            && self.cal == Cal::default()
            && self.period.is_none()
            && self.nths.is_empty()
            && self.rel.is_none_or(|rel| rel == 0)
            && (dur.finest >= Unit::Day || !self.has_time())
            && (self.days.is_none() || dur.finest >= Unit::Week)
    }

    fn takes_rel(&self, rel: i32) -> bool {
        let is_cal_open = self.cal == Cal::default() || (self.cal.month.is_some() && self.cal.day.is_some());
        self.rel.is_none_or(|known| known == rel)
            && !self.is_from_now()
            && self.period.is_none()
            && self.ahead.is_none()
            && self.window.is_none()
            && self.week.is_none()
            && self.nths.is_empty()
            && self.feast.is_none()
            && is_cal_open
    }

    fn takes_weekdays(&self, days: u8, which: Which, may_be_list: bool) -> bool {
        let fits = !self.is_now
            && self.window.is_none()
            && self.ahead.is_none()
            && self.offset.is_none_or(|dur| dur.finest >= Unit::Week)
            && self.period.is_none_or(|(unit, _)| unit == Unit::Week)
            && self.nths.is_empty()
            && self.feast.is_none()
            // The 3rd Tuesday is not the third and a Tuesday; Tuesday the 3rd is.
            && (self.cal.day.is_none() || self.cal.month.is_some());
        let Some((known, known_which)) = self.days else {
            return fits;
        };
        // Monday, Wednesday and Friday.
        let is_list = may_be_list || (known_which == which && matches!(which, Which::Each | Which::Bare | Which::Word));
        let is_same = known == days && which == Which::Bare;
        fits && (is_list || is_same) && self.clocks.is_empty()
    }

    fn takes_cal(&self, cal: Cal, is_weak: bool, may_be_list: bool) -> bool {
        fn agree<T: PartialEq>(known: Option<T>, new: Option<T>) -> bool {
            known.is_none() || new.is_none() || known == new
        }
        if self.lists_day(cal, is_weak, may_be_list) {
            return self.takes_cal(Cal { day: None, ..cal }, is_weak, false);
        }
        let is_list = may_be_list || (is_weak && self.is_cal_weak);
        // `jan 5 - jan 9` does not say January twice.
        let is_said_again = cal.day.is_some() && self.cal.day == cal.day;
        if cal.month.is_some() && self.cal.month.is_some() && !is_said_again {
            return false;
        }
        let is_whole = cal.month.is_some() && cal.day.is_some();
        !self.is_from_now()
            && self.ahead.is_none()
            && self.window.is_none()
            && (self.week.is_none() || is_whole || (cal.month.is_none() && cal.day.is_none()))
            && (self.rel.is_none() || is_whole)
            && self.period.is_none_or(|(unit, _)| match unit {
                Unit::Month => cal.month.is_none(),
                Unit::Year => cal.year.is_none(),
                _ => false,
            })
            && (self.nths.is_empty() || cal.day.is_none())
            && (self.of.is_none() || cal.month.is_none())
            && (self.feast.is_none() || (cal.month.is_none() && cal.day.is_none()))
            && (self.days.is_none() || cal.day.is_some() || self.cal != Cal::default() || is_list)
            && agree(self.cal.year, cal.year)
            && agree(self.cal.month, cal.month)
            && agree(self.cal.day, cal.day)
    }

    /// Whether a date is one more day of the month: the 15th of `the 1st and 15th of May`.
    pub(super) fn lists_day(&self, cal: Cal, is_weak: bool, may_be_list: bool) -> bool {
        let (Some(known), Some(day)) = (self.cal.day, cal.day) else {
            return false;
        };
        // First, second and third.
        let is_list = may_be_list || (is_weak && self.is_cal_weak);
        let is_same_month = self.cal.month.is_none() || cal.month.is_none() || self.cal.month == cal.month;
        is_list && known != day && is_same_month && self.more_days.len() < LIST_MAX
    }

    fn takes_nth(&self, may_be_list: bool) -> bool {
        let is_list = may_be_list || !self.more_days.is_empty();
        let days_counted = self.days_counted(may_be_list);
        let n_nths = self.nths.len() + days_counted.unwrap_or(0);
        (n_nths == 0 || (is_list && n_nths < LIST_MAX))
            && self.window.is_none()
            && self.week.is_none()
            && !self.is_from_now()
            && self.rel.is_none()
            && self.days.is_none()
            && (self.cal.day.is_none() || days_counted.is_some())
    }

    /// How many days of the month turn out to be counted like the ordinal that follows: the `first` of `first and third friday`
    /// is a Friday too. `None` where they stay days of the month.
    pub(super) fn days_counted(&self, may_be_list: bool) -> Option<usize> {
        let is_list = may_be_list || !self.more_days.is_empty();
        let is_bare = self.is_cal_weak && self.cal.month.is_none() && self.cal.year.is_none();
        (is_list && is_bare).then(|| self.more_days.len() + usize::from(self.cal.day.is_some()))
    }

    fn takes_of(&self) -> bool {
        let has_inner = !self.nths.is_empty() || self.cal.day.is_some() || self.edge.is_some();
        self.of.is_none() && self.period.is_none() && (has_inner || self.is_empty())
    }

    fn takes_period(&self, unit: Unit) -> bool {
        let is_week_of_day = self.days.is_some() && unit == Unit::Week;
        // Tuesday the 4th of next month.
        let is_month_of_day = self.cal.day.is_some() && unit == Unit::Month;
        let is_of = !self.nths.is_empty() || self.cal.day.is_some() || self.cal.month.is_some();
        self.period.is_none()
            && self.window.is_none()
            && (self.week.is_none() || unit == Unit::Year)
            && !self.is_from_now()
            && self.rel.is_none()
            && self.cal.year.is_none()
            && (self.days.is_none() || is_week_of_day || is_month_of_day || !self.nths.is_empty())
            && (self.feast.is_none() || unit == Unit::Year)
            && (is_of || self.cal == Cal::default())
    }

    fn takes_clock(&self, clock: Clock, may_be_list: bool) -> bool {
        if self.window.is_some() {
            return false;
        }
        // 7 und 19 Uhr: the last says what they all are.
        let is_sure = !clock.is_weak || clock.is_worded || !self.clocks.iter().any(|clock| clock.is_weak);
        let is_list = may_be_list && self.clocks.len() < LIST_MAX && is_sure;
        self.clocks.contains(&clock) || (self.leaves_time_open() && (self.clocks.is_empty() || is_list))
    }

    fn takes_part(&self, part: DayPart, may_be_list: bool) -> bool {
        if self.lists_part(part, may_be_list) {
            return self.more_parts.len() + 1 < LIST_MAX;
        }
        let is_open = self.leaves_time_open() && self.window.is_none() && !self.is_dashed;
        self.part.is_none_or(|known| known == part) && is_open
    }

    /// Whether a part of the day is one more: every morning and evening.
    pub(super) fn lists_part(&self, part: DayPart, may_be_list: bool) -> bool {
        may_be_list && self.clocks.is_empty() && self.part.is_some_and(|known| known != part)
    }

    fn takes_rel_part(&self, rel: i32, part: DayPart) -> bool {
        self.rel.is_none_or(|known| known == rel)
            && self.days.is_none()
            && self.part.is_none_or(|known| known == part)
            && !self.is_from_now()
            && self.period.is_none()
            && self.cal == Cal::default()
            && self.nths.is_empty()
    }

    fn takes_week(&self) -> bool {
        self.week.is_none()
            && !self.is_from_now()
            && self.rel.is_none()
            && self.ahead.is_none()
            && (self.cal.month.is_some() == self.cal.day.is_some())
            && self.nths.is_empty()
            && self.feast.is_none()
            && self.period.is_none_or(|(unit, _)| unit == Unit::Year)
    }

    fn takes_feast(&self) -> bool {
        self.feast.is_none()
            // The week of Easter may be the one before it or after it.
            && self.of != Some(Unit::Week)
            && self.window.is_none()
            && self.week.is_none()
            && !self.is_from_now()
            && self.rel.is_none()
            && self.cal.month.is_none()
            && self.cal.day.is_none()
            && self.nths.is_empty()
    }
}
