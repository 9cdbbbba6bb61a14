//! How a plan takes one atom after the other.
//!
//! Each of these says whether the atom goes with what is there. They work on the copy that [`Plan::with`] makes, because an atom such
//! as `monday morning` is several pieces, and the second may be refused when the first is written.

use super::{Plan, Target};
use crate::phrase::atom::{Atom, Cal, Clock, Dur, Mark, Unit, Which};
use crate::phrase::list::LIST_MAX;
use crate::phrase::when::When;

/// How many hours something takes at most that comes daily.
const HOURS_MAX: i64 = 12;

impl Plan {
    /// Adds an atom, unless it does not go with what is there; then the plan is of no more use.
    pub(super) fn push(&mut self, atom: Atom) -> bool {
        let begins_series = matches!(
            atom,
            Atom::Every { .. } | Atom::Each(_) | Atom::EachPart(_) | Atom::Weekday { which: Which::Each, .. }
        );
        // Once every two days comes again and again.
        if begins_series && self.count == Some(1) {
            self.count = None;
        }
        if begins_series && !self.is_recurring() && !self.is_list_open {
            self.bound_series();
        }
        match atom {
            Atom::Mark(mark) => self.push_mark(mark),
            Atom::Every { n, unit } => self.push_every(n, unit),
            Atom::Per { n, unit } => {
                self.per = Some(n);
                self.push(Atom::Every { n: 1, unit })
            }
            Atom::Each(n) => self.push_each(n),
            Atom::Count(count) => self.push_count(count),
            Atom::Length(dur) => !self.may_be_clock(dur) && self.push_length(dur),
            Atom::Lasting(dur) => self.push_length(dur),
            Atom::WeekdayPart { days, which, part } => {
                self.push(Atom::Weekday { days, which }) && self.push(Atom::Part { part, is_weak: false })
            }
            Atom::DayRange(from, to) => self.push_day_range(from, to),
            Atom::OffsetRange(from, more) => {
                self.push_point(Atom::Offset(from)) && self.push_end(When { offset: Some(more), ..When::default() })
            }
            Atom::Within(dur) => self.push_mark(Mark::By) && self.push_point(Atom::Offset(dur)),
            Atom::PartBeside { part, days } => {
                let day = Dur::of(1.0, Unit::Day).map(|day| if days < 0 { day.negated() } else { day });
                day.is_some_and(|day| self.push(Atom::Shift(day))) && self.push(Atom::Part { part, is_weak: false })
            }
            Atom::Between(from, to) => {
                [Atom::Mark(Mark::From), Atom::Clock(from), Atom::Mark(Mark::To), Atom::Clock(to)]
                    .into_iter()
                    .all(|atom| self.push(atom))
            }
            Atom::ClockRange(from, to) => self.push_clock_range(from, to),
            Atom::EdgeOf(edge, unit) => self.push(Atom::Edge(edge)) && self.push(Atom::Of(unit)),
            Atom::EachPart(part) => {
                self.each = self.each.or(if self.every.is_none() { Some(1) } else { None });
                self.to.is_none() && self.length.is_none() && self.push_point(Atom::Part { part, is_weak: false })
            }
            atom => self.push_point(atom),
        }
    }

    /// From a day to another; a time of day that follows is that of the first.
    fn push_day_range(&mut self, from: Cal, to: Cal) -> bool {
        let fits =
            !self.is_recurring() && self.to.is_none() && self.target == Target::Main && self.when.cal.day.is_none();
        let is_weak = from.month.is_none() && from.year.is_none();
        if !fits || !self.push_point(Atom::Cal { cal: from, is_weak }) {
            return false;
        }
        let mut end = When::default();
        let fits = end.push(Atom::Cal { cal: to, is_weak: false }, false);
        // From May to July is to the end of July.
        end.edge = if to.day.is_none() { Some(1) } else { None };
        (self.when.is_bound, end.is_bound) = (from.month.is_none(), to.month.is_none());
        fits && self.push_end(end)
    }

    /// The end of a stretch that was said in one piece.
    fn push_end(&mut self, end: When) -> bool {
        let fits = !self.is_recurring() && self.to.is_none() && self.target == Target::Main;
        self.to = Some(Box::new(end));
        self.is_range = true;
        fits
    }

    fn push_clock_range(&mut self, from: Clock, to: Clock) -> bool {
        let fits = !self.is_recurring() && self.to.is_none() && self.target == Target::Main;
        if !fits || !self.push_point(Atom::Clock(from)) {
            return false;
        }
        let mut end = When::default();
        end.push(Atom::Clock(to), false) && self.push_end(end)
    }

    fn push_every(&mut self, n: i32, unit: Unit) -> bool {
        if self.every.is_some() || self.each.is_some() || self.to.is_some() || self.length.is_some() {
            return false;
        }
        // Every weekday at 8 and every weekend at 10: the second names other days.
        if matches!(unit, Unit::Workday | Unit::Weekend) && self.when.days.is_some() {
            return false;
        }
        self.every = Some((n, unit));
        self.is_list_open = false;
        self.target = Target::Main;
        true
    }

    fn push_each(&mut self, n: i32) -> bool {
        // `10 am on the 15th of every month` says the day first; `every month, every friday` is two things.
        // `every monday at 8 and every tuesday at 9` says it again.
        let is_same = self.each.is_none_or(|known| known == n);
        if !is_same || self.every.is_some() || self.to.is_some() || self.length.is_some() {
            return false;
        }
        self.each = Some(n);
        self.is_list_open = true;
        self.is_each_open = true;
        self.target = Target::Main;
        true
    }

    fn push_count(&mut self, count: i32) -> bool {
        if self.count.is_some() || self.is_list_open {
            return false;
        }
        self.count = Some(count);
        self.target = Target::Main;
        true
    }

    /// Whether a length may as well be the time of day that a series lacks: `every day 19 h`.
    fn may_be_clock(&self, dur: Dur) -> bool {
        let is_of_days = self.is_recurring() && self.every.is_none_or(|(_, unit)| unit >= Unit::Day);
        // Tous les jours à 8h, 14h et 20h: hours after hours are a list.
        let is_hours = dur.elapsed_seconds() > HOURS_MAX * 3600 && !self.when.clocks.is_empty();
        is_of_days && dur.finest < Unit::Day && (!self.when.has_time() || is_hours)
    }

    fn push_length(&mut self, dur: Dur) -> bool {
        let has_beginning = self.is_recurring() || !self.when.clocks.is_empty() || self.mark.is_some();
        if self.length.is_some() || self.is_list_open || !(has_beginning || self.when.is_empty()) {
            return false;
        }
        self.length = Some(dur);
        true
    }

    /// Adds a piece of a point in time to the point that is being said.
    fn push_point(&mut self, atom: Atom) -> bool {
        let is_choice = std::mem::replace(&mut self.is_or_open, false);
        if is_choice && matches!(atom, Atom::Clock(_) | Atom::Part { .. }) {
            return false;
        }
        let is_weak_clock = matches!(atom, Atom::Clock(Clock { is_weak: true, .. }));
        let is_bare_day =
            matches!(atom, Atom::Cal { cal: Cal { year: None, month: None, day: Some(_) }, is_weak: true });
        let is_hourly = matches!(self.every, Some((_, Unit::Minute | Unit::Hour)));
        let atom = self.firm(atom);
        let is_each = matches!(atom, Atom::Weekday { which: Which::Each, .. });
        let is_recurring = self.is_recurring() || is_each;
        // `starting tomorrow on weekends`: what comes again and again is never a bound.
        if is_each && matches!(self.target, Target::Start | Target::Until) {
            self.target = Target::Main;
        }
        // Starting next Tuesday on the 4th of each month: the 4th is no Tuesday.
        let has_weekday = self.start.as_ref().is_some_and(|start| start.days.is_some() && start.cal.month.is_none());
        let is_day = matches!(atom, Atom::Cal { cal: Cal { year: None, month: None, day: Some(_) }, .. });
        if is_day && self.target == Target::Start && has_weekday {
            self.target = Target::Main;
        }
        let was_open = std::mem::replace(&mut self.is_list_open, false);
        // At 7 am and in the evening are two times, and the second is none that can be joined to a clock.
        if was_open && !self.is_each_open && matches!(atom, Atom::Part { .. }) && !self.when.clocks.is_empty() {
            return false;
        }
        // Saturday and at nine: another day was to follow.
        let has_day = self.when.days.is_some() || self.when.cal.day.is_some();
        let is_day_open = was_open && !self.is_each_open && self.has_and && has_day;
        if is_day_open && self.when.clocks.is_empty() && matches!(atom, Atom::Clock(_)) {
            return false;
        }
        // `for 3 hours from 10 am`; but `20 minutes tomorrow` is two things.
        let is_after_length = self.length.is_some() && self.target == Target::Main && self.when.is_empty();
        if is_after_length && !self.is_recurring() && self.mark != Some(Mark::From) {
            return false;
        }
        // Monday after 5 is a time of Monday; what else follows belongs to something else.
        let is_of_day = self.is_after_day && self.target == Target::Main;
        if is_of_day && !matches!(atom, Atom::Clock(_) | Atom::Part { .. } | Atom::Zone(_)) {
            return false;
        }
        // From May to July is said to the month; a day that follows belongs to something else.
        let is_months = self.is_range && self.when.cal.day.is_none() && self.when.cal != Cal::default();
        if is_months && matches!(atom, Atom::Cal { cal: Cal { day: Some(_), .. }, .. }) {
            return false;
        }
        match self.target {
            Target::Main => {
                // A bare number is one of several times only where an `and` joins it: 7 and 19 daily.
                let is_joined = was_open && !self.is_each_open;
                let is_stray = matches!(atom, Atom::Clock(_)) && self.when.clocks.iter().any(|clock| clock.is_weak);
                let may_be_list = is_joined || (is_recurring && !is_stray);
                if self.when.push(atom, may_be_list) {
                    self.is_each_open = false;
                    return true;
                }
                self.push_beside(atom, is_recurring)
            }
            // October 26, 10:00 - 11:00 2027; the first Monday 1 to 3 pm of next month.
            Target::To if self.completes_first(atom) => self.when.push(atom, false),
            Target::To if self.ends_on_day && self.is_to_open() && matches!(atom, Atom::Clock(_)) => false,
            // `1-2-3` is not from the second of January to three.
            Target::To if is_weak_clock && self.when.clocks.is_empty() => false,
            // From 14 to 16 is no day of the month.
            Target::To | Target::Until if is_bare_day && self.is_from_clock() => false,
            Target::To => {
                self.is_to_bare |= is_weak_clock;
                self.to.as_mut().is_some_and(|when| when.push(atom, false))
            }
            // Every hour from 9 to 17: neither is a day of the month.
            Target::Start | Target::Until if is_bare_day && is_hourly => false,
            Target::Start => self.start.as_mut().is_some_and(|when| when.push(atom, false)),
            Target::Until => self.until.as_mut().is_some_and(|when| when.push(atom, false)),
            Target::Except => self.push_except(atom, was_open),
        }
    }

    /// Whether a piece after the clock that ends a stretch belongs to the day that begins it: the year of its date, the month of the Monday that
    /// is counted.
    fn completes_first(&self, atom: Atom) -> bool {
        let is_to_clock = self.to.as_ref().is_some_and(|to| !to.clocks.is_empty() && !to.has_day());
        let (cal, is_counted) = (self.when.cal, !self.when.nths.is_empty());
        let is_date = cal.month.is_some() && cal.day.is_some() && cal.year.is_none();
        let is_in_nothing = cal == Cal::default() && self.when.period.is_none() && self.when.of.is_none();
        is_to_clock
            && !self.when.clocks.is_empty()
            && match atom {
                Atom::Cal { cal: Cal { year: Some(_), month: None, day: None }, .. } => is_date,
                Atom::Cal { cal: Cal { month: Some(_), day: None, .. }, .. } | Atom::Period { .. } | Atom::Of(_) => {
                    is_counted && is_in_nothing
                }
                _ => false,
            }
    }

    /// Whether nothing was said yet of the end of a stretch.
    fn is_to_open(&self) -> bool {
        self.to.as_ref().is_some_and(|to| to.is_empty())
    }

    /// Whether a stretch begins with a time of day, and the end of it has none so far.
    fn is_from_clock(&self) -> bool {
        let (from, to) = match self.target {
            Target::Until => (self.start.as_deref(), &self.until),
            _ => (Some(&self.when), &self.to),
        };
        let has_end = to.as_ref().is_some_and(|to| !to.clocks.is_empty());
        from.is_some_and(|from| !from.clocks.is_empty() && from.cal.day.is_none()) && !has_end
    }

    /// A piece as it is meant where it stands. Until May, except the 3rd: beside such a word, a date is one for sure.
    fn firm(&self, atom: Atom) -> Atom {
        match (self.target, atom) {
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
        }
    }

    /// Adds a piece to what is left out of a series, or begins another thing that is left out.
    fn push_except(&mut self, atom: Atom, was_open: bool) -> bool {
        let Some(last) = self.except.last_mut() else {
            return false;
        };
        // Daily except in July at 8 is at 8 always; what is left out is a month, and no time of day.
        let is_date = last.rel.is_some() || last.cal.day.is_some() || last.feast.is_some();
        let is_hourly = matches!(self.every, Some((_, Unit::Second | Unit::Minute | Unit::Hour)));
        let is_timeless = !self.when.has_time() && (!is_date || !is_hourly);
        let is_listed = was_open && !self.when.clocks.is_empty() && !is_date;
        if matches!(atom, Atom::Clock(_) | Atom::Part { .. }) && (is_timeless || is_listed) {
            return self.when.push(atom, true);
        }
        let is_month = matches!(atom, Atom::Cal { cal: Cal { month: Some(_), day: None, .. }, .. });
        // Mondays and 24 Dec are two things, and so are 24 Dec and Mondays; Monday 24 Dec is one.
        let is_all_mondays = matches!(last.days, Some((_, Which::Each)));
        let is_another = match atom {
            Atom::Cal { cal: Cal { day: Some(_), .. }, .. } => last.days.is_some() && (was_open || is_all_mondays),
            Atom::Rel(_) | Atom::Feast(_) => last.days.is_some() && (was_open || is_all_mondays),
            Atom::Weekday { which, .. } => is_date && (was_open || which == Which::Each),
            _ => is_month && last.days.is_some(),
        };
        if !is_another && last.push(atom, true) {
            return true;
        }
        // Of 24 dec, 25 dec the 25 is no year.
        let is_said_again = matches!(atom, Atom::Cal { cal: Cal { month, .. }, .. } if month == last.cal.month);
        if is_month && is_said_again && !was_open {
            return false;
        }
        // June, July and August; Saturdays and July.
        let is_listed =
            was_open || matches!(atom, Atom::Cal { .. } | Atom::Weekday { .. } | Atom::Rel(_) | Atom::Feast(_));
        let mut another = When::default();
        if !is_listed || self.except.len() >= LIST_MAX || !another.push(atom, true) {
            return false;
        }
        self.except.push(another);
        true
    }

    /// Days after a time of day begin another rule: `workdays at 8, weekends at 10`.
    fn push_beside(&mut self, atom: Atom, is_recurring: bool) -> bool {
        let begins_another = is_recurring
            && matches!(atom, Atom::Weekday { .. } | Atom::Nth { .. })
            && self.when.has_time()
            && self.every.is_none_or(|(_, unit)| matches!(unit, Unit::Week | Unit::Month));
        let mut another = When::default();
        if !begins_another || self.more.len() >= LIST_MAX || !another.push(atom, true) {
            return false;
        }
        let finished = std::mem::replace(&mut self.when, another);
        self.more.push(Self { when: finished, each: self.each, every: self.every, ..Self::default() });
        if matches!(atom, Atom::Weekday { .. }) {
            self.each = self.each.or(Some(1));
        }
        true
    }

    fn push_mark(&mut self, mark: Mark) -> bool {
        let was_open = std::mem::replace(&mut self.is_list_open, false);
        if was_open && mark != Mark::Except {
            return false;
        }
        let is_recurring = self.is_recurring();
        let is_unmarked = self.mark.is_none() && self.length.is_none();
        match mark {
            Mark::From if is_recurring => {
                self.start_is_from = true;
                self.begin_start()
            }
            Mark::From => {
                let fits =
                    self.mark.is_none() && self.to.is_none() && (self.when.clocks.is_empty() || self.length.is_some());
                self.is_from_late = !self.when.is_empty();
                fits && self.mean(mark)
            }
            Mark::To | Mark::And if self.target == Target::Start && self.start_is_from => self.begin_until(),
            Mark::To | Mark::And
                if self.target == Target::Main
                    && !is_recurring
                    && (mark == Mark::To || self.mark == Some(Mark::From)) =>
            {
                self.ends_on_day = self.is_from_late && !self.when.has_time();
                self.begin_to()
            }
            Mark::To => false,
            Mark::Until if is_recurring => self.begin_until(),
            Mark::Until if self.when.is_empty() => is_unmarked && self.mean(mark),
            Mark::Until => !self.is_weeks() && self.push_mark(Mark::To),
            // Today by six, every Friday by early evening: a time of that day.
            Mark::By if (is_recurring || (is_unmarked && self.when.has_day())) && !self.when.has_time() => {
                (self.is_after_day, self.is_list_open) = (true, true);
                self.target == Target::Main && self.to.is_none()
            }
            Mark::By if is_recurring => self.begin_until(),
            Mark::By => self.when.is_empty() && is_unmarked && self.mean(mark),
            Mark::Before if !is_recurring && self.when.is_empty() => is_unmarked && self.mean(mark),
            // The weekend before Easter is one weekend, and no time until Easter.
            Mark::Before => self.push_mark(Mark::Until),
            Mark::After if !is_recurring && is_unmarked && self.when.has_day() && self.when.clocks.is_empty() => {
                self.is_after_day = true;
                self.target == Target::Main && self.to.is_none() && self.mean(mark)
            }
            Mark::After => self.when.is_empty() && is_unmarked && self.mean(mark),
            // From the 8th on to the 9th; from 8 on to 9 o'clock is a change, and no stretch.
            Mark::Onto => {
                let is_from = self.mark == Some(Mark::From) && self.when.has_day();
                let is_date = self.when.cal.day.is_some() || is_from;
                self.ends_on_day = true;
                self.target == Target::Main && !is_recurring && is_date && self.begin_to()
            }
            Mark::Starting => self.begin_start(),
            Mark::Except => is_recurring && self.begin_except(),
            Mark::Slash => {
                let is_exact = self.when.clocks.last().is_some_and(|clock| clock.finest < Unit::Hour);
                is_exact && self.push_mark(Mark::To)
            }
            // Every Tuesday or Thursday is both; at 7 or 8 is nobody knows which.
            Mark::Or => {
                self.is_or_open = true;
                is_recurring && self.push_mark(Mark::And)
            }
            Mark::And => {
                let is_plain = self.to.is_none() && self.mark.is_none();
                let fits = is_recurring || (is_plain && self.when.offset.is_none() && !self.when.is_now);
                self.is_list_open = fits;
                self.has_and = true;
                fits
            }
        }
    }

    /// Whether a week or a weekend was named, before which another day can stand.
    fn is_weeks(&self) -> bool {
        matches!(self.when.period, Some((Unit::Week | Unit::Weekend, _)))
    }

    /// The point that follows is meant as `mark` says, and has to follow.
    fn mean(&mut self, mark: Mark) -> bool {
        self.mark = Some(mark);
        self.is_list_open = true;
        true
    }

    /// A time said before a series bounds it: `from monday every day at 8`, `until may every day`.
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

    fn begin_to(&mut self) -> bool {
        let has_from = self.when.is_sure() || !self.when.clocks.is_empty() || self.when.cal != Cal::default();
        if self.to.is_some() || !has_from {
            return false;
        }
        self.to = Some(Box::default());
        self.target = Target::To;
        true
    }

    /// Every 15 minutes from 9 to 17, until Friday: the hours of each day are no bounds.
    fn keep_hours(&mut self) {
        let is_small = matches!(self.every, Some((_, Unit::Minute | Unit::Hour)));
        let is_clock =
            |when: &Option<Box<When>>| when.as_ref().is_some_and(|when| !when.clocks.is_empty() && !when.has_day());
        if self.hours.is_none() && is_small && is_clock(&self.start) && is_clock(&self.until) {
            let hours = self.start.take().zip(self.until.take());
            self.hours = hours.map(|(start, until)| Box::new((*start, *until)));
        }
    }

    fn begin_start(&mut self) -> bool {
        self.keep_hours();
        if self.start.is_some() {
            return false;
        }
        self.start = Some(Box::default());
        self.target = Target::Start;
        true
    }

    fn begin_until(&mut self) -> bool {
        self.keep_hours();
        if self.until.is_some() {
            return false;
        }
        self.until = Some(Box::default());
        self.target = Target::Until;
        true
    }

    fn begin_except(&mut self) -> bool {
        self.except.push(When::default());
        self.target = Target::Except;
        true
    }
}
