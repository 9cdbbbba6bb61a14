//! Writing a schedule as the lines of a calendar entry.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use super::super::recurrence::{Limit, stamp};
use super::super::{Anchor, Exceptions, Freq, Recurrence, Rule, Schedule, Smart, Weekdays};
use super::is_utc;
use crate::steps::Steps;
use crate::zone::Zone;

/// The most single dates that are written.
const DATES_MAX: usize = 1000;
/// How many changes of the clocks ahead a schedule is compared with the rules it became, and at how many instants.
const CHANGES_COMPARED: usize = 60;
const INSTANTS_COMPARED: usize = 20_000;

impl Schedule {
    /// The lines of a calendar entry (RFC 5545) that name the same instants after `from`: `DTSTART`, `RRULE`, `RDATE` and
    /// `EXDATE`, one to a line.
    ///
    /// Reading them back as an `rrule` schedule in the same zone gives the same instants. A schedule that a calendar cannot say is
    /// answered with the reason. An instant between two seconds is written as the later one.
    pub fn to_ical(&self, zone: &Zone, from: Timestamp) -> Result<String, String> {
        let export = match &self.rule {
            Rule::Once { .. } => return Err("a single instant has no rule".into()),
            Rule::Interval { anchor: Anchor::Ack, .. } => {
                return Err("no calendar knows when somebody answers".into());
            }
            Rule::Interval { .. } => Export::of_interval(self, zone, from)?,
            Rule::Daily { time } => Export::open(self, vec![Recurrence::new(Freq::Daily).at(*time)], zone, from)?,
            Rule::Weekly { time, days: Weekdays::ALL } => {
                Export::open(self, vec![Recurrence::new(Freq::Daily).at(*time)], zone, from)?
            }
            Rule::Weekly { time, days } => {
                let rule = Recurrence::new(Freq::Weekly).on_each(days.iter()).at(*time);
                Export::open(self, vec![rule], zone, from)?
            }
            Rule::Cron(expr) => {
                let export = Export::open(self, expr.recurrences()?, zone, from)?;
                export.compare_around_changes()?;
                export
            }
            Rule::Smart(smart) => Export::new(self, smart.clone(), zone, from, self.starts_at)?,
        };
        export.lines()
    }
}

/// A schedule on its way into the lines of a calendar.
struct Export<'a> {
    schedule: &'a Schedule,
    /// The reminder's zone.
    zone: &'a Zone,
    /// The zone of the rules: the reminder's, or UTC for elapsed time.
    written_in: Zone,
    smart: Smart,
    from: Timestamp,
}

impl<'a> Export<'a> {
    /// Rules that begin nowhere, from `from` on.
    fn open(schedule: &'a Schedule, rules: Vec<Recurrence>, zone: &'a Zone, from: Timestamp) -> Result<Self, String> {
        let next_second = from.checked_add(SignedDuration::from_secs(1)).map_err(far)?;
        let earliest = schedule.starts_at.map_or(next_second, |at| at.max(next_second));
        Self::new(schedule, Smart::new("", rules, local_by_both(zone, earliest)), zone, from, Some(earliest))
    }

    /// Rules that begin at their anchor, but not before `earliest`.
    fn new(
        schedule: &'a Schedule,
        mut smart: Smart,
        zone: &'a Zone,
        from: Timestamp,
        earliest: Option<Timestamp>,
    ) -> Result<Self, String> {
        let Exceptions { weekdays, months, .. } = schedule.except;
        let has_several = smart.rules.len() > 1;
        if has_several || !weekdays.is_empty() || !months.is_empty() {
            let mut rules = Vec::new();
            for rule in std::mem::take(&mut smart.rules) {
                let rule = rule.filled(smart.anchor).without_weekdays(weekdays)?;
                rules.extend(rule.map(|rule| rule.without_months(months)).transpose()?.flatten());
            }
            rules.retain(|rule: &Recurrence| rule.next_at_or_after(smart.anchor, smart.anchor).is_some());
            smart.rules = rules;
            smart.dates.retain(|date| !weekdays.contains(date.weekday()) && !months.contains(date.month()));
        }
        let mut export = Self { schedule, zone, written_in: zone.clone(), smart, from };
        export.move_anchor(earliest)?;
        if !weekdays.is_empty() || !months.is_empty() {
            export.compare_around_changes()?;
        }
        Ok(export)
    }

    /// Elapsed time, which is a rule in UTC.
    fn of_interval(schedule: &'a Schedule, zone: &'a Zone, from: Timestamp) -> Result<Self, String> {
        let Rule::Interval { every, .. } = &schedule.rule else { return Err("is not an interval".into()) };
        let Exceptions { weekdays, months, .. } = schedule.except;
        let leaves_out = !weekdays.is_empty() || !months.is_empty();
        if leaves_out && !is_utc(zone) {
            return Err(format!("elapsed time cannot leave out weekdays or months of {zone}, whose clocks change"));
        }
        if every.subsec_nanos() != 0 {
            return Err("an interval with a fraction of a second cannot be said by a calendar rule".into());
        }
        let units = [(Freq::Daily, 86_400), (Freq::Hourly, 3600), (Freq::Minutely, 60), (Freq::Secondly, 1)];
        let (freq, unit) = units.into_iter().find(|(_, unit)| every.as_secs() % unit == 0).ok_or("is no interval")?;
        let interval = u32::try_from(every.as_secs() / unit).map_err(far)?;
        let rule = Recurrence { interval, ..Recurrence::new(freq) };
        let bare = Schedule { except: Exceptions::default(), ..schedule.clone() };
        let first = bare.next_after(zone, from).ok_or_else(never)?;
        let whole = first.as_nanosecond().div_euclid(1_000_000_000);
        let up = i128::from(first.subsec_nanosecond() != 0);
        let first = Timestamp::from_nanosecond((whole + up) * 1_000_000_000).map_err(far)?;
        let written_in = Zone::utc();
        let smart = Smart::new("", vec![rule], written_in.rules().to_datetime(first));
        if is_utc(zone) {
            return Self::new(schedule, smart, zone, from, None);
        }
        Ok(Self { schedule, zone, written_in, smart, from })
    }

    /// Lets the rules begin with the first time that they name, as RFC 5545 wants it.
    fn move_anchor(&mut self, earliest: Option<Timestamp>) -> Result<(), String> {
        let end = self.end();
        let is_in_time = |date: &DateTime| {
            let at = self.zone.rules().to_timestamp(*date).ok();
            at.is_some_and(|at| earliest.is_none_or(|earliest| earliest <= at) && end.is_none_or(|end| at <= end))
        };
        self.smart.dates.retain(is_in_time);
        let smart = &self.smart;
        let from = earliest.map_or(smart.anchor, |earliest| local_by_both(self.zone, earliest).max(smart.anchor));
        let next =
            |from: DateTime| smart.rules.iter().filter_map(|rule| rule.next_at_or_after(smart.anchor, from)).min();
        let is_early = |time: &DateTime| {
            earliest.is_some_and(|earliest| self.zone.rules().to_timestamp(*time).is_ok_and(|at| at < earliest))
        };
        let mut first = next(from);
        while let Some(early) = first.filter(is_early) {
            first = next(early.checked_add(SignedDuration::from_secs(1)).map_err(far)?);
        }
        let Some(first) = first else {
            // Without rules the first of the dates is the beginning.
            self.smart.rules.clear();
            self.smart.anchor = *self.smart.dates.first().ok_or_else(never)?;
            return Ok(());
        };
        let keeps_intervals = smart.rules.iter().all(|rule| rule.is_on_grid(smart.anchor, first));
        match (keeps_intervals, from == smart.anchor) {
            (true, _) => self.smart.anchor = first,
            // A beginning that matches none of the rules is allowed, if seldom seen.
            (false, true) => {}
            (false, false) => return Err("several rules with intervals cannot begin later than they did".into()),
        }
        let anchor = self.smart.anchor;
        let rules = std::mem::take(&mut self.smart.rules);
        self.smart.rules = rules.into_iter().map(|rule| rule.without_time_of(anchor)).collect();
        Ok(())
    }

    fn lines(&self) -> Result<String, String> {
        let mut lines = vec![self.line("DTSTART", &[self.smart.anchor])?];
        for (rule, limit) in self.smart.rules.iter().zip(self.limits()?) {
            let bare = Recurrence { until: None, ..rule.clone() }.normal();
            lines.push(format!("RRULE:{bare}{limit}"));
        }
        let mut dates = self.smart.dates.clone();
        if self.smart.rules.is_empty() {
            // The first date is the beginning, but an entry without rules needs at least one line of dates.
            dates.retain(|date| *date != self.smart.anchor);
            if dates.is_empty() {
                dates.push(self.smart.anchor);
            }
        }
        if !dates.is_empty() {
            lines.push(self.line("RDATE", &dates)?);
        }
        let excepted = self.excepted()?;
        if !excepted.is_empty() {
            lines.push(self.line("EXDATE", &excepted)?);
        }
        Ok(lines.join("\n"))
    }

    /// `;UNTIL=…` or `;COUNT=…` for each rule, or nothing.
    fn limits(&self) -> Result<Vec<String>, String> {
        if let Some(count) = self.plain_count()? {
            return Ok(vec![format!(";COUNT={count}")]);
        }
        let until = |at: Timestamp| format!(";UNTIL={}Z", stamp(Zone::utc().rules().to_datetime(at)));
        let end = self.end();
        let of = |rule: &Recurrence| -> Result<String, String> {
            let own = rule.until.map(|until| self.zone.rules().to_timestamp(until)).transpose().map_err(far)?;
            Ok(own.into_iter().chain(end).min().map(until).unwrap_or_default())
        };
        self.smart.rules.iter().map(of).collect()
    }

    /// The last instant, by its end or by its count.
    fn end(&self) -> Option<Timestamp> {
        let schedule = self.schedule;
        let last = schedule.count.map(|count| schedule.nth_after(self.zone, self.from, count));
        schedule.ends_at.into_iter().chain(last).min()
    }

    /// The count, where a calendar means the same by it: each day has one time, none lies in the past, and no two days begin at the
    /// same instant, as they do where a zone left out a whole day.
    fn plain_count(&self) -> Result<Option<u32>, String> {
        let schedule = self.schedule;
        let is_plain = schedule.ends_at.is_none() && schedule.except.is_empty() && self.smart.dates.is_empty();
        let [rule] = self.smart.rules.as_slice() else { return Ok(None) };
        let has_one_time = rule.freq >= Freq::Daily && rule.time_of_day(self.smart.anchor).is_some();
        let is_interval = matches!(schedule.rule, Rule::Interval { .. });
        let begin = self.written_in.rules().to_timestamp(self.smart.anchor).map_err(far)?;
        let is_exact = is_plain && rule.until.is_none() && (has_one_time || is_interval) && begin > self.from;
        let ends_alike = |count: &u32| {
            let last = Limit::Count(*count).end(rule, self.smart.anchor, &self.written_in, &Steps::new(u64::MAX));
            last.is_ok_and(|last| is_interval || last == self.end())
        };
        Ok(schedule.count.filter(|count| is_exact && ends_alike(count)))
    }

    /// The times that are named by the rules and excepted by date.
    fn excepted(&self) -> Result<Vec<DateTime>, String> {
        let except = &self.schedule.except;
        let (dates, times, ranges) = (&except.dates, &except.times, &except.ranges);
        // Weekdays and months are in the rules already.
        let others = Exceptions { dates: vec![], times: vec![], ranges: vec![], ..except.clone() };
        let bare = Schedule { except: others, count: None, ..self.schedule.clone() };
        // A single date may lie before the rules begin.
        let first = self.smart.dates.first().map_or(self.smart.anchor, |date| self.smart.anchor.min(*date));
        let begin = self.written_in.rules().to_timestamp(first).map_err(far)?;
        let before = begin.checked_sub(SignedDuration::from_nanos(1)).map_err(far)?;
        let days = dates.iter().map(|date| (*date, *date)).chain(ranges.iter().copied());
        let day_stretches = days.map(|(first, last)| (first.at(0, 0, 0, 0), last.at(23, 59, 59, 999_999_999)));
        let mut found = Vec::new();
        for (first, last) in day_stretches.chain(times.iter().map(|time| (*time, *time))) {
            let rules = self.zone.rules();
            let first = rules.to_timestamp(first).map_err(far)?;
            // The last second of a day that is repeated belongs to the day both times.
            let last = rules.to_ambiguous_timestamp(last).later().map_err(far)?;
            let mut cursor = first.checked_sub(SignedDuration::from_nanos(1)).map_err(far)?.max(before);
            while let Some(next) = bare.next_after(self.zone, cursor).filter(|next| *next <= last) {
                if except.end_if_excepted(self.zone, next, &Steps::new(u64::MAX)).is_some() {
                    found.push(self.written_in.rules().to_datetime(next));
                }
                if found.len() > DATES_MAX {
                    return Err(format!("more than {DATES_MAX} single times would have to be excepted"));
                }
                cursor = next;
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// A line of times in the zone of the rules.
    fn line(&self, name: &str, times: &[DateTime]) -> Result<String, String> {
        let stamps: Vec<String> = times.iter().map(|time| stamp(*time)).collect();
        if is_utc(&self.written_in) {
            return Ok(format!("{name}:{}Z", stamps.join("Z,")));
        }
        Ok(format!("{name};TZID={}:{}", calendar_name(&self.written_in)?, stamps.join(",")))
    }

    /// Checks that the rules do what the schedule does when the clocks change.
    ///
    /// A cron expression may run through both passes of a repeated hour, and leaves skipped times out if it is for every
    /// hour. An excepted weekday is that on which something is really due, after it was shifted past midnight.
    fn compare_around_changes(&self) -> Result<(), String> {
        let Exceptions { weekdays, months, .. } = self.schedule.except;
        let except = Exceptions { weekdays, months, ..Exceptions::default() };
        let asked = Schedule { except, count: None, ..self.schedule.clone() };
        let written = Schedule { ends_at: asked.ends_at, ..Schedule::new(Rule::Smart(self.smart.clone())) };
        let rules = self.zone.rules();
        let mut n_compared = 0;
        for change in rules.following(self.from).take(CHANGES_COMPARED) {
            let at = change.timestamp();
            let just_before = at.checked_sub(SignedDuration::from_nanos(1)).map_err(far)?;
            let moved = change.offset().duration_since(rules.to_offset(just_before)).abs();
            let until = at.checked_add(moved).map_err(far)?;
            let mut cursor = just_before.max(self.from);
            while n_compared < INSTANTS_COMPARED {
                n_compared += 1;
                let next = |schedule: &Schedule| schedule.next_after(self.zone, cursor).filter(|next| *next <= until);
                let (next, next_written) = (next(&asked), next(&written));
                if next != next_written {
                    return Err("it does what a calendar rule cannot say when the clocks change; use fixed hours, \
                                or an interval"
                        .into());
                }
                let Some(next) = next else { break };
                cursor = next;
            }
        }
        Ok(())
    }
}

/// The local time at `at`, or that by the clock before the last change if it is earlier: from then on, what is skipped is
/// shifted to `at` or later.
fn local_by_both(zone: &Zone, at: Timestamp) -> DateTime {
    let rules = zone.rules();
    let shown = rules.to_datetime(at);
    let is_recent = |change: &Timestamp| at.duration_since(*change) <= SignedDuration::from_hours(25);
    let change = rules.preceding(at).next().map(|change| change.timestamp()).filter(is_recent);
    let before = change.and_then(|change| change.checked_sub(SignedDuration::from_secs(1)).ok());
    before.map_or(shown, |before| rules.to_offset(before).to_datetime(at).min(shown))
}

/// The name by which calendars know a zone.
fn calendar_name(zone: &Zone) -> Result<String, String> {
    if !zone.name().starts_with(['+', '-']) {
        return Ok(zone.name().to_owned());
    }
    let seconds = zone.rules().to_offset(Timestamp::UNIX_EPOCH).seconds();
    match (seconds % 3600, seconds / 3600) {
        // The signs of these names are the other way round.
        (0, hours @ -12..=14) => Ok(format!("Etc/GMT{:+}", -hours)),
        _ => Err(format!("no calendar knows the zone {zone} by name; give the reminder a zone such as Asia/Kathmandu")),
    }
}

fn never() -> String {
    "it is never due".into()
}

fn far(_: impl std::error::Error) -> String {
    "it goes further than the calendar does".into()
}
