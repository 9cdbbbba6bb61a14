//! The same rule in another form.

use jiff::civil::{DateTime, Weekday};

use super::super::Weekdays;
use super::super::exceptions::Months;
use super::{Freq, NthDay, Recurrence};

impl Recurrence {
    /// The same rule with everything written out that it takes from the anchor, but which periods an interval leaves in.
    pub(in super::super) fn filled(mut self, anchor: DateTime) -> Self {
        let is_open = self.by_year_day.is_empty() && self.by_month_day.is_empty() && self.by_day.is_empty();
        match self.freq {
            Freq::Yearly | Freq::Monthly if is_open && self.by_week_no.is_empty() => {
                self.by_month_day = vec![anchor.day()];
                if self.freq == Freq::Yearly && self.by_month.is_empty() {
                    self.by_month = vec![anchor.month()];
                }
            }
            Freq::Yearly if is_open => self.by_day = vec![NthDay::each(anchor.weekday())],
            Freq::Weekly if is_open && self.by_week_no.is_empty() => {
                self.by_day = vec![NthDay::each(anchor.weekday())];
            }
            _ => {}
        }
        let fill = |list: &mut Vec<i8>, value: i8, is_open: bool| {
            if list.is_empty() && is_open {
                list.push(value);
            }
        };
        fill(&mut self.by_hour, anchor.hour(), self.freq >= Freq::Daily);
        fill(&mut self.by_minute, anchor.minute(), self.freq >= Freq::Hourly);
        fill(&mut self.by_second, anchor.second(), self.freq >= Freq::Minutely);
        self
    }

    /// The same rule without the time of day that it takes from `anchor` anyway.
    ///
    /// Not every calendar understands `BYHOUR`, but all take the time of `DTSTART`.
    pub(in super::super) fn without_time_of(mut self, anchor: DateTime) -> Self {
        let is = |list: &[i8], value: i8| list.is_empty() || list == [value];
        let is_same = is(&self.by_hour, anchor.hour())
            && is(&self.by_minute, anchor.minute())
            && is(&self.by_second, anchor.second());
        if is_same && self.freq >= Freq::Daily && self.by_set_pos.is_empty() {
            self.by_hour.clear();
            self.by_minute.clear();
            self.by_second.clear();
        }
        self
    }

    /// A filled rule without these weekdays: `None` when nothing is left, and a reason when it cannot be said.
    pub(in super::super) fn without_weekdays(mut self, days: Weekdays) -> Result<Option<Self>, String> {
        if days.is_empty() {
            return Ok(Some(self));
        }
        self.refuse_set_pos()?;
        if self.by_day.is_empty() {
            let others = Weekdays::ALL.iter().filter(|day| !days.contains(*day));
            self.by_day = others.map(NthDay::each).collect();
            return Ok(Some(self));
        }
        self.by_day.retain(|day| !days.contains(day.day));
        Ok((!self.by_day.is_empty()).then_some(self))
    }

    /// A filled rule without these months: `None` when nothing is left, and a reason when it cannot be said.
    pub(in super::super) fn without_months(mut self, months: Months) -> Result<Option<Self>, String> {
        if months.is_empty() {
            return Ok(Some(self));
        }
        // A month's own set stays as it is when others fall away; that of a week or a year does not.
        if matches!(self.freq, Freq::Weekly | Freq::Yearly) {
            self.refuse_set_pos()?;
        }
        if !self.by_month.is_empty() {
            self.by_month.retain(|month| !months.contains(*month));
            return Ok((!self.by_month.is_empty()).then_some(self));
        }
        if self.freq == Freq::Yearly && self.by_day.iter().any(|day| day.nth.is_some()) {
            return Err("a rule for the nth weekday of the year cannot leave out months".into());
        }
        self.by_month = (1..=12).filter(|month| !months.contains(*month)).collect();
        Ok(Some(self))
    }

    fn refuse_set_pos(&self) -> Result<(), String> {
        match self.by_set_pos.is_empty() {
            true => Ok(()),
            false => Err("a rule with BYSETPOS cannot leave out weekdays or months".into()),
        }
    }

    /// The single time of day it names, if it names one.
    pub(in super::super) fn time_of_day(&self, anchor: DateTime) -> Option<jiff::civil::Time> {
        let filled = self.clone().filled(anchor);
        match (filled.by_hour.as_slice(), filled.by_minute.as_slice(), filled.by_second.as_slice()) {
            ([hour], [minute], [second]) => jiff::civil::Time::new(*hour, *minute, *second, 0).ok(),
            _ => None,
        }
    }

    /// The weekdays without a number.
    pub(in super::super) fn each_day(&self) -> Weekdays {
        self.by_day.iter().filter(|day| day.nth.is_none()).map(|day| day.day).collect::<Weekdays>()
    }

    /// Weekdays, each of them.
    pub(in super::super) fn on_each(mut self, days: impl IntoIterator<Item = Weekday>) -> Self {
        self.by_day = days.into_iter().map(NthDay::each).collect();
        self
    }
}
