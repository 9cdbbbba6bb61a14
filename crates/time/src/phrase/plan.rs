//! Pieces of time put together to one thing that can be meant.
//!
//! A plan takes one atom after the other and refuses what does not go with what it has: two different days, a time
//! of day after the end of a range. What it refuses belongs to another phrase, or to none.

use super::atom::{Atom, Cal, Clock, Dur, Mark, Unit, Which};
use super::list::LIST_MAX;
use super::when::When;

/// What a phrase asks for.
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
    pub(super) except: Vec<When>,
    pub(super) times: Option<i32>,
    pub(super) length: Option<Dur>,
    /// Further plans with the same bounds: `…, weekends at 10`.
    pub(super) more: Vec<Plan>,
    target: Target,
    /// Whether something has to follow: after `and`, after `every`.
    is_list_open: bool,
    is_each_open: bool,
    /// Whether the end of a stretch is a bare number.
    is_to_bare: bool,
    /// Whether it starts `from` something, so that `to` or `and` may follow.
    start_is_from: bool,
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
    /// Whether it comes again and again.
    pub(super) fn is_recurring(&self) -> bool {
        let is_each = match self.when.days {
            Some((_, Which::Each)) => true,
            Some((_, Which::Range)) => self.when.has_time(),
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
        if is_open || !self.more.iter().all(Self::is_whole) {
            return false;
        }
        if self.is_recurring() {
            return self.is_recurrence_whole();
        }
        if self.start.is_some() || !self.except.is_empty() || self.times.is_some() {
            return false;
        }
        match self.length {
            Some(_) => self.when.is_empty() || self.when.is_sure(),
            None if self.mark == Some(Mark::Until) && self.when.cal.month.is_some() => {
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
        from.is_cal_weak &= !is_day_to_day && !is_in_month;
        // The 9 of `9 to 11pm` is a time because 11pm is; the 1 of `1 to 15 July` is a day.
        let is_hours =
            !from.clocks.is_empty() && !to.clocks.is_empty() && (to.cal.month.is_none() || to.cal.day.is_some());
        from.is_sure() || is_hours
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
        if alone.when.cal.month.is_some() && alone.when.cal.day.is_some() {
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
        let is_weak = when.clocks.iter().any(|clock| clock.is_weak) && when.part.is_none();
        let is_one_day = matches!(when.days, Some((_, Which::This | Which::Next | Which::Last | Which::AfterNext)));
        if is_one_day
            || self.per.is_some_and(|n| n > 1 && n as usize != when.clocks.len().max(when.more_parts.len() + 1))
        {
            return false;
        }
        let is_once = when.is_now || when.offset.is_some() || when.ahead.is_some() || when.rel.is_some();
        if is_weak || is_once || when.period.is_some() {
            return false;
        }
        self.every.is_some()
            || when.days.is_some()
            || when.cal != Cal::default()
            || !when.nths.is_empty()
            || when.part.is_some()
            || when.feast.is_some()
    }

    /// Adds an atom, unless it does not go with what is there; then the plan is of no more use.
    pub(super) fn push(&mut self, atom: Atom) -> bool {
        let begins_series = matches!(
            atom,
            Atom::Every { .. } | Atom::Each(_) | Atom::EachPart(_) | Atom::Weekday { which: Which::Each, .. }
        );
        if begins_series && !self.is_recurring() && !self.is_list_open {
            self.bound_series();
        }
        match atom {
            Atom::Mark(mark) => self.push_mark(mark),
            Atom::Every { n, unit } => {
                let fits = self.every.is_none() && self.each.is_none() && self.to.is_none() && self.length.is_none();
                self.every = Some((n, unit));
                self.is_list_open = false;
                self.target = Target::Main;
                fits
            }
            Atom::Per { n, unit } => {
                self.per = Some(n);
                self.push(Atom::Every { n: 1, unit })
            }
            Atom::Each(n) => {
                // `10 am on the 15th of every month` says the day first; `every month, every friday` is two things.
                // `every monday at 8 and every tuesday at 9` says it again.
                let is_same = self.each.is_none_or(|known| known == n);
                let fits = is_same && self.every.is_none() && self.to.is_none() && self.length.is_none();
                self.each = Some(n);
                self.is_list_open = true;
                self.is_each_open = true;
                self.target = Target::Main;
                fits
            }
            Atom::Times(times) => {
                let fits = self.times.is_none() && !self.is_list_open;
                self.times = Some(times);
                self.target = Target::Main;
                fits
            }
            Atom::Length(dur) => {
                let fits = self.length.is_none()
                    && !self.is_list_open
                    && (self.is_recurring()
                        || self.when.is_empty()
                        || !self.when.clocks.is_empty()
                        || self.mark.is_some());
                self.length = Some(dur);
                fits
            }
            Atom::WeekdayPart { days, which, part } => {
                self.push(Atom::Weekday { days, which }) && self.push(Atom::Part { part, is_weak: false })
            }
            Atom::EdgeOf(edge, unit) => self.push(Atom::Edge(edge)) && self.push(Atom::Of(unit)),
            Atom::EachPart(part) => {
                self.each = self.each.or(if self.every.is_none() { Some(1) } else { None });
                self.to.is_none() && self.length.is_none() && self.push_point(Atom::Part { part, is_weak: false })
            }
            atom => self.push_point(atom),
        }
    }

    fn push_point(&mut self, atom: Atom) -> bool {
        let is_weak_clock = matches!(atom, Atom::Clock(Clock { is_weak: true, .. }));
        // Until May, except the 3rd: beside such a word, a date is one for sure.
        let atom = match (self.target, atom) {
            (Target::Main, atom) => atom,
            (_, Atom::Cal { cal, .. }) => Atom::Cal { cal, is_weak: false },
            // Of two bare numbers neither makes the other a time: 7 - 8.
            (Target::To, Atom::Clock(clock)) if clock.is_weak => {
                let has_strong = self.when.has_day() || self.when.clocks.iter().any(|clock| !clock.is_weak);
                let is_hour_from = self.mark == Some(Mark::From) && clock.finest == Unit::Hour;
                Atom::Clock(Clock { is_weak: !has_strong && !is_hour_from, ..clock })
            }
            (_, Atom::Clock(clock)) => Atom::Clock(Clock { is_weak: false, ..clock }),
            (_, atom) => atom,
        };
        let is_each = matches!(atom, Atom::Weekday { which: Which::Each, .. });
        let is_recurring = self.is_recurring() || is_each;
        // `starting tomorrow on weekends`: what comes again and again is never a bound.
        if is_each && matches!(self.target, Target::Start | Target::Until) {
            self.target = Target::Main;
        }
        let was_open = std::mem::replace(&mut self.is_list_open, false);
        if self.length.is_some() && !self.is_recurring() && self.target == Target::Main && self.when.is_empty() {
            // `for 3 hours from 10 am`; but `20 minutes tomorrow` is two things.
            if self.mark != Some(Mark::From) {
                return false;
            }
        }
        match self.target {
            Target::Main => {
                let mut next = self.when.clone();
                if next.push(atom, is_recurring, was_open && !self.is_each_open) {
                    self.when = next;
                    self.is_each_open = false;
                    return true;
                }
                self.push_beside(atom, is_recurring)
            }
            // `1-2-3` is not from the second of January to three.
            Target::To if is_weak_clock && self.when.clocks.is_empty() => false,
            Target::To => {
                self.is_to_bare |= is_weak_clock;
                self.to.as_mut().is_some_and(|when| when.push(atom, false, false))
            }
            Target::Start => self.start.as_mut().is_some_and(|when| when.push(atom, false, false)),
            Target::Until => self.until.as_mut().is_some_and(|when| when.push(atom, false, false)),
            Target::Except => {
                let Some(last) = self.except.last_mut() else {
                    return false;
                };
                // Daily except in July at 8 is at 8 always; what is left out is a month, and no time of day.
                let is_date = last.rel.is_some() || last.cal.day.is_some() || last.feast.is_some();
                if matches!(atom, Atom::Clock(_) | Atom::Part { .. }) && !is_date && !self.when.has_time() {
                    return self.when.push(atom, true, true);
                }
                let is_month = matches!(atom, Atom::Cal { cal: Cal { month: Some(_), day: None, .. }, .. });
                let mut next = last.clone();
                if !(is_month && last.days.is_some()) && next.push(atom, true, true) {
                    *last = next;
                    return true;
                }
                // June, July and August; Saturdays and July.
                let is_listed =
                    was_open || matches!(atom, Atom::Cal { .. } | Atom::Weekday { .. } | Atom::Rel(_) | Atom::Feast(_));
                let mut another = When::default();
                let fits = is_listed && self.except.len() < LIST_MAX && another.push(atom, true, true);
                self.except.push(another);
                fits
            }
        }
    }

    /// Days after a time of day begin another rule: `workdays at 8, weekends at 10`.
    fn push_beside(&mut self, atom: Atom, is_recurring: bool) -> bool {
        let begins_another = is_recurring
            && matches!(atom, Atom::Weekday { .. } | Atom::Nth { .. })
            && self.when.has_time()
            && self.every.is_none_or(|(_, unit)| matches!(unit, Unit::Week | Unit::Month));
        if !begins_another || self.more.len() >= LIST_MAX {
            return false;
        }
        let mut another = Self { each: self.each, every: self.every, ..Self::default() };
        if let Atom::Weekday { .. } = atom
            && another.each.is_none()
        {
            another.each = Some(1);
        }
        let fits = another.when.push(atom, true, true);
        let finished =
            Self { when: std::mem::take(&mut self.when), each: self.each, every: self.every, ..Self::default() };
        self.more.push(finished);
        self.when = another.when;
        self.each = self.each.or(another.each);
        fits
    }

    fn push_mark(&mut self, mark: Mark) -> bool {
        let was_open = std::mem::replace(&mut self.is_list_open, false);
        if was_open && mark != Mark::Except {
            return false;
        }
        let is_recurring = self.is_recurring();
        match mark {
            Mark::From if is_recurring => {
                self.start_is_from = true;
                self.begin_start()
            }
            Mark::From => {
                let fits = self.mark.is_none() && self.to.is_none() && (!self.when.has_time() || self.length.is_some());
                self.mark = Some(Mark::From);
                self.is_list_open = true;
                fits
            }
            Mark::To | Mark::And if self.target == Target::Start && self.start_is_from => self.begin_until(),
            Mark::To | Mark::And
                if self.target == Target::Main
                    && !is_recurring
                    && (mark == Mark::To || self.mark == Some(Mark::From)) =>
            {
                let fits = self.to.is_none()
                    && (self.when.is_sure() || !self.when.clocks.is_empty() || self.when.cal != Cal::default());
                self.target = Target::To;
                self.to = Some(Box::default());
                fits
            }
            Mark::To => false,
            Mark::Until if is_recurring => self.begin_until(),
            Mark::Until if self.when.is_empty() => {
                let fits = self.mark.is_none() && self.length.is_none();
                self.mark = Some(Mark::Until);
                self.is_list_open = true;
                fits
            }
            Mark::Before if !is_recurring && self.when.is_empty() => {
                let fits = self.mark.is_none() && self.length.is_none();
                self.mark = Some(Mark::Before);
                self.is_list_open = true;
                fits
            }
            Mark::Before => self.push_mark(Mark::Until),
            Mark::Until => self.push_mark(Mark::To),
            Mark::After => {
                let fits = self.when.is_empty() && self.mark.is_none() && self.length.is_none();
                self.mark = Some(Mark::After);
                self.is_list_open = true;
                fits
            }
            Mark::Starting => self.begin_start(),
            Mark::Except => {
                self.except.push(When::default());
                self.target = Target::Except;
                is_recurring
            }
            Mark::And => {
                self.is_list_open = true;
                is_recurring
                    || (self.to.is_none() && self.mark.is_none() && self.when.offset.is_none() && !self.when.is_now)
            }
        }
    }

    /// What was said before a series bounds it: `from monday every day at 8`, `until may every day`.
    fn bound_series(&mut self) {
        let is_bound = self.start.is_none() && self.until.is_none() && !self.when.has_time();
        match self.mark {
            Some(Mark::From | Mark::After) if is_bound => {
                self.start = Some(Box::new(std::mem::take(&mut self.when).into_bound()));
                self.until = self.to.take().map(|to| Box::new(to.into_bound()));
                (self.mark, self.target) = (None, Target::Main);
            }
            Some(Mark::Until) if is_bound => {
                self.until = Some(Box::new(std::mem::take(&mut self.when).into_bound()));
                (self.mark, self.target) = (None, Target::Main);
            }
            _ => {}
        }
    }

    fn begin_start(&mut self) -> bool {
        let fits = self.start.is_none();
        self.start = Some(Box::default());
        self.target = Target::Start;
        fits
    }

    fn begin_until(&mut self) -> bool {
        let fits = self.until.is_none();
        self.until = Some(Box::default());
        self.target = Target::Until;
        fits
    }
}
