//! A cron expression as recurrence rules.

use super::super::bits::bits;
use super::super::{Freq, NthDay, Recurrence};
use super::CronExpr;
use super::field::Fields;

impl CronExpr {
    /// Rules that name the same local times. The error says which part of the expression has no equal.
    pub(in super::super) fn recurrences(&self) -> Result<Vec<Recurrence>, String> {
        let fields = &self.fields;
        if fields.has_nearest() {
            return Err("the nearest weekday (W) cannot be said by a calendar rule".into());
        }
        let mut rules = Vec::new();
        // Either day field suffices, so each has a rule of its own.
        if let Some(month_days) = fields.month_days() {
            rules.push(Recurrence { by_month_day: month_days, ..timed(fields, Freq::Monthly, true) });
        }
        if let Some(days) = fields.week_days() {
            let has_nth = days.iter().any(|day| day.nth.is_some());
            let freq = if has_nth { Freq::Monthly } else { Freq::Weekly };
            rules.push(Recurrence { by_day: days, ..timed(fields, freq, !has_nth) });
        }
        if rules.is_empty() {
            rules.push(timed(fields, Freq::Daily, true));
        }
        Ok(rules.into_iter().map(Recurrence::normal).collect())
    }
}

/// The months and times of day, as shortly as they can be said: an expression for every hour is an hourly rule.
fn timed(fields: &Fields, freq: Freq, may_be_short: bool) -> Recurrence {
    let times = fields.times();
    let is_all = |set: u64, size: u32| set.count_ones() == size;
    let list = |set: u64| bits(set).collect::<Vec<i8>>();
    let freq = match (is_all(times.hours, 24), is_all(times.minutes, 60), is_all(times.seconds, 60)) {
        (true, true, true) if may_be_short => Freq::Secondly,
        (true, true, false) if may_be_short => Freq::Minutely,
        (true, false, _) if may_be_short => Freq::Hourly,
        _ => freq,
    };
    let mut rule = Recurrence { by_month: fields.months(), ..Recurrence::new(freq) };
    if freq >= Freq::Daily {
        rule.by_hour = list(times.hours);
    }
    if freq >= Freq::Hourly {
        rule.by_minute = list(times.minutes);
    }
    if freq >= Freq::Minutely {
        rule.by_second = list(times.seconds);
    }
    rule
}

impl Fields {
    /// The months, if not all.
    fn months(&self) -> Vec<i8> {
        let months: Vec<i8> = bits(self.month_bits()).collect();
        if months.len() == 12 { Vec::new() } else { months }
    }

    /// The weekdays, if any may be left out.
    fn week_days(&self) -> Option<Vec<NthDay>> {
        let day = |bit: i8| jiff::civil::Weekday::from_sunday_zero_offset(bit).ok();
        let with = |nth: Option<i8>| move |bit: i8| Some(NthDay { nth, day: day(bit)? });
        let (each, nth, last) = self.week_day_bits()?;
        let numbered = (1..).zip(nth).flat_map(|(nth, set)| bits(set).filter_map(with(Some(nth))));
        let days = bits(each).filter_map(with(None)).chain(numbered).chain(bits(last).filter_map(with(Some(-1))));
        Some(days.collect())
    }
}
