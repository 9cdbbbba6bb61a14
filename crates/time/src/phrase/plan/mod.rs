//! Pieces of time put together to one thing that can be meant.
//!
//! A plan takes one atom after the other and refuses what does not go with what it has: two different days, a time
//! of day after the end of a range. An atom that it refuses belongs to another phrase, or to none.

mod push;

use super::atom::{Atom, Cal, Clock, Dur, Mark, Unit, Which};
use super::when::When;

/// Everything that a phrase says about time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Plan {
    pub(super) when: When,
    /// The end of a stretch that begins with `when`. Boxed like the other bounds: few phrases have any, and all are copied.
    pub(super) to: Option<Box<When>>,
    /// How `when` is meant: until it, after it, from it.
    pub(super) mark: Option<Mark>,
    /// Every so manieth of the days named.
    pub(super) each: Option<i32>,
    /// Every so many of a unit.
    pub(super) every: Option<(i32, Unit)>,
    /// How often in that unit: twice a day.
    per: Option<i32>,
    pub(super) start: Option<Box<When>>,
    pub(super) until: Option<Box<When>>,
    /// Within which hours of each day: `every 15 minutes from 9 to 17`, where further bounds follow.
    pub(super) hours: Option<Box<(When, When)>>,
    pub(super) except: Vec<When>,
    /// How many times in all.
    pub(super) count: Option<i32>,
    pub(super) length: Option<Dur>,
    /// Further plans with the same bounds: `…, weekends at 10`.
    pub(super) more: Vec<Plan>,
    target: Target,
    /// Whether something has to follow: after `and`, after `every`.
    is_list_open: bool,
    is_each_open: bool,
    /// Whether an `or` was the last word.
    is_or_open: bool,
    /// Whether the end of a stretch is a bare number.
    is_to_bare: bool,
    /// Whether it is a stretch that was said in one piece, such as `6 - 7 March`, and whether it is a time after something on a day.
    is_range: bool,
    /// Whether an `and` joined days or times.
    has_and: bool,
    is_after_day: bool,
    /// Whether it starts `from` something, so that `to` or `and` may follow.
    start_is_from: bool,
    /// Whether the `from` stood after something else, and whether only a day can end the stretch: `el viernes de mayo a las 18` is none.
    is_from_late: bool,
    ends_on_day: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Target {
    #[default]
    Main,
    To,
    Start,
    Until,
    Except,
}

impl Plan {
    /// The plan with one atom more; `None` where the atom does not go with what is there.
    pub(super) fn with(&self, atom: Atom) -> Option<Self> {
        let mut next = self.clone();
        next.push(atom).then_some(next)
    }

    /// Whether it comes again and again.
    pub(super) fn is_recurring(&self) -> bool {
        let is_each = match self.when.days {
            Some((_, Which::Each)) => true,
            Some((_, Which::Range)) => self.when.has_time(),
            // Mo Mi Fr 18 Uhr.
            Some((days, Which::Bare | Which::Word)) => {
                let is_list = days.count_ones() > 1 && !self.has_and && !self.when.clocks.is_empty();
                is_list && self.when.cal == Cal::default() && self.to.is_none() && self.mark.is_none()
            }
            _ => false,
        };
        is_each || self.each.is_some() || self.every.is_some()
    }

    /// Where something is wanted that comes again and again, days and dates that come again are meant each time.
    pub(super) fn make_series(&mut self) {
        let when = &self.when;
        let is_of = when.of.is_some() && (!when.nths.is_empty() || when.cal.day.is_some() || when.edge.is_some());
        let is_weekday =
            matches!(when.days, Some((_, Which::Bare | Which::Each | Which::Range))) && when.cal == Cal::default();
        let is_single = when.period.is_some() || when.rel.is_some() || when.offset.is_some() || self.to.is_some();
        if (is_of || is_weekday) && !is_single && !self.is_recurring() {
            self.each = Some(1);
        }
    }

    /// Whether it can stand as it is.
    pub(super) fn is_whole(&self) -> bool {
        let is_open = self.is_list_open
            || [&self.to, &self.start, &self.until].into_iter().flatten().any(|when| !when.is_sure())
            || self.except.iter().any(|when| !when.is_sure());
        // From a day to a year says nothing: `24 Aug 1915-2015` are two times of that day.
        let is_uneven = self.to.as_ref().is_some_and(|to| {
            self.when.cal.day.is_some() && to.cal.year.is_some() && to.cal.month.is_none() && to.cal.day.is_none()
        });
        if is_uneven {
            return false;
        }
        if is_open || !self.more.iter().all(Self::is_whole) {
            return false;
        }
        if self.is_recurring() {
            return self.is_recurrence_whole();
        }
        if self.start.is_some() || !self.except.is_empty() || self.count.is_some() {
            return false;
        }
        match self.length {
            Some(_) => self.when.is_empty() || self.when.is_sure(),
            None if matches!(self.mark, Some(Mark::Until | Mark::By)) && self.when.cal.month.is_some() => {
                self.when.clone().into_bound().is_sure()
            }
            None => self.when.is_sure() || self.is_stretch_sure(),
        }
    }

    /// From 17 to 18 o'clock, and from the 13th to the 15th of July, the first is what the second is.
    fn is_stretch_sure(&self) -> bool {
        let (Some(to), mut from) = (&self.to, self.when.clone()) else {
            return false;
        };
        if !to.clocks.is_empty() && !self.is_to_bare {
            from.clocks.iter_mut().for_each(|clock| clock.is_weak = false);
        }
        let is_day_to_day = self.mark == Some(Mark::From) && from.cal.day.is_some() && to.cal.day.is_some();
        let is_in_month = to.cal.month.is_some() && to.cal.day.is_some() && from.cal.day.is_some();
        from.is_cal_weak &= !is_day_to_day && !is_in_month && !self.is_range;
        // The 9 of `9 to 11pm` is a time because 11pm is; the 1 of `1 to 15 July` is a day.
        let is_hours =
            !from.clocks.is_empty() && !to.clocks.is_empty() && (to.cal.month.is_none() || to.cal.day.is_some());
        from.is_sure() || is_hours
    }

    /// Whether it says at what time of the day, so that what else is said about time belongs to something else.
    pub(super) fn is_complete(&self) -> bool {
        let is_from_now = self.when.is_now || self.when.offset.is_some() || self.length.is_some();
        let is_interval = matches!(self.every, Some((_, Unit::Second | Unit::Minute | Unit::Hour)));
        self.when.has_time() || self.to.is_some() || is_from_now || is_interval
    }

    /// Whether it is a stretch that was said in one piece: `6 - 7 March`.
    pub(super) fn is_range(&self) -> bool {
        self.is_range
    }

    /// Whether it is said from which hour to which.
    pub(super) fn has_hours(&self) -> bool {
        let is_clock = |when: &When| !when.clocks.is_empty() && when.cal == Cal::default();
        let stretch = self.to.as_deref().map(|to| (&self.when, to));
        let bounds = self.start.as_deref().zip(self.until.as_deref());
        stretch.or(bounds).is_some_and(|(from, to)| is_clock(from) && is_clock(to))
    }

    /// Whether the end of a stretch is a bare number: from 5 to 10 apples.
    pub(super) fn is_to_bare(&self) -> bool {
        self.is_to_bare
    }

    /// Whether it can stand as all that a text says: `so.`, `10.10`
    pub(super) fn is_whole_alone(&self) -> bool {
        let mut alone = self.clone();
        if let Some((_, which @ Which::Word)) = &mut alone.when.days {
            *which = Which::Bare;
        }
        if alone.when.cal.day.is_some() {
            alone.when.is_cal_weak = false;
        }
        alone.is_whole()
    }

    fn is_recurrence_whole(&self) -> bool {
        let when = &self.when;
        // Every second of March is a date; only days of the week are counted like that.
        if self.each.is_some_and(|n| n > 1) && when.cal.month.is_some() && when.days.is_none() {
            return false;
        }
        // Every second Tuesday of May is the second of them.
        if self.each.is_some_and(|n| n > 1) && (when.cal.month.is_some() || when.of == Some(Unit::Month)) {
            return false;
        }
        // Every second Tuesday counts Tuesdays, and no seconds.
        if matches!(self.every, Some((1, Unit::Second))) && when.has_day() {
            return false;
        }
        // Every weekday has its days; those that are named besides are others.
        if matches!(self.every, Some((_, Unit::Workday | Unit::Weekend))) && when.days.is_some() {
            return false;
        }
        // Cada lunes 10 piscina is no Monday the 10th.
        if when.days.is_some() && when.cal.day.is_some() && when.cal.month.is_none() && when.is_cal_weak {
            return false;
        }
        // Every Friday in 2027 does not come again and again.
        if when.cal.year.is_some() {
            return false;
        }
        // Every day and Monday are two things.
        let is_one_weekday = matches!(when.days, Some((days, Which::Bare | Which::Word)) if days.count_ones() == 1);
        if self.every == Some((1, Unit::Day)) && is_one_weekday {
            return false;
        }
        // Every ten minutes until five: five is the end, and no time of the day.
        if matches!(self.every, Some((_, Unit::Minute | Unit::Hour))) && !when.clocks.is_empty() {
            return false;
        }
        // Two hours a day are a length; every day 19 h is a time.
        let is_time = |clock: &Clock| clock.is_worded && clock.hour > 12;
        let is_weak = when.clocks.iter().any(|clock| clock.is_weak && !is_time(clock)) && when.part.is_none();
        let is_one_day = matches!(when.days, Some((_, Which::This | Which::Next | Which::Last | Which::AfterNext)));
        if is_one_day
            || self.per.is_some_and(|n| n > 1 && n as usize != when.clocks.len().max(when.more_parts.len() + 1))
        {
            return false;
        }
        // Svake nedelje ujutru is every Sunday: a week by itself says no day.
        let is_any_day =
            when.of == Some(Unit::Week) && when.days.is_none() && when.nths.is_empty() && when.edge.is_none();
        if is_any_day {
            return false;
        }
        let is_once = when.is_now || when.offset.is_some() || when.ahead.is_some() || when.rel.is_some();
        let is_stretch = when.period.is_some()
            || when.season.is_some()
            || when.window.is_some()
            || when.edge.is_some_and(|edge| edge > 1);
        if is_weak || is_once || is_stretch {
            return false;
        }
        self.every.is_some()
            || when.days.is_some()
            || when.cal != Cal::default()
            || !when.nths.is_empty()
            || when.part.is_some()
            || when.feast.is_some()
            || (when.edge.is_some() && when.of == Some(Unit::Month))
    }
}
