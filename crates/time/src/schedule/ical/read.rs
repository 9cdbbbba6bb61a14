//! Reading the lines of a calendar entry.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use super::super::exceptions::EXCEPTIONS_MAX;
use super::super::recurrence::{Limit, parse_limited};
use super::super::{Anchor, Exceptions, Freq, Recurrence, Rule, Schedule, Smart};
use super::line::{CalendarTime, Line, unfold};
use super::{is_same, is_utc};
use crate::invalid::Invalid;
use crate::steps::{Steps, TOO_MUCH};
use crate::zone::Zone;

/// The longest text that is read.
const ENTRY_BYTES_MAX: usize = 64 * 1024;
/// The highest `COUNT`: it has to be counted out.
const COUNT_MAX: u32 = 100_000;

/// Reads the lines of an entry for a reminder in `zone`. Without a `DTSTART` the rules begin `now`.
///
/// The error is about the field `ical` and names the line and the part.
pub(in super::super) fn read(text: &str, zone: &Zone, now: Timestamp, steps: &Steps) -> Result<Schedule, Invalid> {
    let entry = CalendarEntry::read(text, zone).map_err(|problem| Invalid::new("ical", problem))?;
    entry.schedule(zone, now, steps).map_err(|problem| Invalid::new("ical", problem))
}

/// The lines of one calendar entry, as they are read.
#[derive(Default)]
struct CalendarEntry {
    /// The beginning, and its line.
    start: Option<(usize, CalendarTime)>,
    /// Each rule, where it ends, and its line.
    rules: Vec<(Recurrence, Limit, usize)>,
    dates: Vec<DateTime>,
    except: Exceptions,
}

impl CalendarEntry {
    fn read(text: &str, zone: &Zone) -> Result<Self, String> {
        if text.len() > ENTRY_BYTES_MAX {
            return Err(format!("is longer than {ENTRY_BYTES_MAX} bytes"));
        }
        let mut entry = Self::default();
        for (number, text) in unfold(text) {
            let line = Line::parse(number, &text)?;
            entry.take(&line, zone)?;
        }
        if entry.dates.len().max(entry.except.times.len()) > EXCEPTIONS_MAX {
            return Err(format!("has more than {EXCEPTIONS_MAX} dates"));
        }
        entry.dates.sort_unstable();
        entry.dates.dedup();
        entry.except.normalize();
        Ok(entry)
    }

    fn take(&mut self, line: &Line<'_>, zone: &Zone) -> Result<(), String> {
        let far = || line.wrong("is further away than the calendar goes");
        match line.name.as_str() {
            "DTSTART" => {
                let moments = line.times()?;
                let [moment] = moments.as_slice() else { return Err(line.wrong("has more than one time")) };
                if self.start.is_some() {
                    return Err(line.wrong("is there twice"));
                }
                self.start = Some((line.number, moment.clone()));
            }
            "RRULE" => {
                let (rule, limit) = parse_limited(line.value).map_err(|problem| line.wrong(&problem))?;
                self.rules.push((rule, limit, line.number));
            }
            "RDATE" => {
                for moment in line.times()? {
                    self.dates.push(moment.local(zone).ok_or_else(far)?);
                }
            }
            "EXDATE" => {
                for moment in line.times()? {
                    match moment {
                        CalendarTime::Day(date) => self.except.dates.push(date),
                        moment => self.except.times.push(moment.local(zone).ok_or_else(far)?),
                    }
                }
            }
            "EXRULE" => return Err(line.wrong("is not supported; list the dates in EXDATE")),
            _ => return Err(line.wrong("is not read here; write DTSTART, RRULE, RDATE and EXDATE")),
        }
        Ok(())
    }

    /// Where rules begin that do not say it: now, on the minute; and on the hour where only hours are named.
    fn anchor_now(&self, now: DateTime) -> DateTime {
        let is_hourly = self.rules.iter().all(|(rule, ..)| !rule.by_hour.is_empty() && rule.by_minute.is_empty());
        let minute = if is_hourly { 0 } else { now.minute() };
        now.date().at(now.hour(), minute, 0, 0)
    }

    fn schedule(mut self, zone: &Zone, now: Timestamp, steps: &Steps) -> Result<Schedule, String> {
        if self.rules.is_empty() && self.dates.is_empty() {
            return Err("has no RRULE; write a line such as RRULE:FREQ=WEEKLY;BYDAY=MO".into());
        }
        if let Some(schedule) = self.as_interval(zone, steps)? {
            return Ok(schedule);
        }
        let anchor = match &self.start {
            None => self.anchor_now(zone.rules().to_datetime(now)),
            Some((line, moment)) => anchor_of(moment, zone).map_err(|problem| format!("line {line}: {problem}"))?,
        };
        if self.rules.is_empty() && self.start.is_some() {
            // Without a rule the beginning is one of the dates.
            self.dates.push(anchor);
            self.dates.sort_unstable();
            self.dates.dedup();
        }
        let mut ends = Vec::new();
        for (rule, limit, line) in &self.rules {
            let wrong = |problem: String| format!("line {line}: RRULE: {problem}");
            if rule.next_within(anchor, anchor, steps).is_none() {
                let problem = if steps.are_spent() { TOO_MUCH.into() } else { format!("`{rule}` is never due") };
                return Err(wrong(problem));
            }
            ends.push(limit.end(rule, anchor, zone, steps).map_err(wrong)?);
        }
        let mut rules: Vec<Recurrence> = self.rules.into_iter().map(|(rule, ..)| rule).collect();
        let end = ends.first().copied().flatten();
        // One end for all is the schedule's own, an instant that people see; several stay with their rules, as local times.
        let has_one_end = self.dates.is_empty() && ends.iter().all(|other| *other == end);
        if !has_one_end {
            for (rule, end) in rules.iter_mut().zip(ends) {
                rule.until = end.map(|end| zone.rules().to_datetime(end));
            }
            // One that ends before it begins adds nothing.
            rules.retain(|rule| rule.next_within(anchor, anchor, steps).is_some());
        }
        let smart = Smart { dates: self.dates, ..Smart::new("", rules, anchor) };
        let ends_at = end.filter(|_| has_one_end);
        Ok(Schedule { ends_at, except: self.except, ..Schedule::new(Rule::Smart(smart)) })
    }

    /// Elapsed time: a rule without parts from an instant in UTC, in a zone whose clocks are others.
    fn as_interval(&self, zone: &Zone, steps: &Steps) -> Result<Option<Schedule>, String> {
        let (Some((_, CalendarTime::Utc(origin))), [(rule, limit, line)], true) =
            (&self.start, self.rules.as_slice(), self.dates.is_empty())
        else {
            return Ok(None);
        };
        if is_utc(zone) || *rule != (Recurrence { interval: rule.interval, ..Recurrence::new(rule.freq) }) {
            return Ok(None);
        }
        let unit: u64 = match rule.freq {
            Freq::Secondly => 1,
            Freq::Minutely => 60,
            Freq::Hourly => 3600,
            Freq::Daily => 86_400,
            Freq::Weekly => 7 * 86_400,
            Freq::Monthly | Freq::Yearly => return Ok(None),
        };
        let every = unit * u64::from(rule.interval);
        let wrong = |problem: String| format!("line {line}: RRULE: {problem}");
        let ends_at = match *limit {
            Limit::Count(count) => {
                let every = SignedDuration::from_secs(i64::try_from(every).unwrap_or(i64::MAX));
                let all = every.checked_mul(i32::try_from(count - 1).unwrap_or(i32::MAX));
                Some(all.and_then(|all| origin.checked_add(all).ok()).unwrap_or(Timestamp::MAX))
            }
            limit => limit.end(rule, zone.rules().to_datetime(*origin), zone, steps).map_err(wrong)?,
        };
        let every = std::time::Duration::from_secs(every);
        // An interval is first due when it has passed once.
        let origin = origin.checked_sub(every).map_err(|_| wrong("is too long".into()))?;
        let rule = Rule::Interval { every, anchor: Anchor::Start, origin };
        Ok(Some(Schedule { ends_at, except: self.except.clone(), ..Schedule::new(rule) }))
    }
}

impl Limit {
    /// The last instant, if there is one.
    pub(super) fn end(
        self,
        rule: &Recurrence,
        anchor: DateTime,
        zone: &Zone,
        steps: &Steps,
    ) -> Result<Option<Timestamp>, String> {
        let far = |_| "UNTIL: is further away than the calendar goes".to_owned();
        match self {
            Self::None => Ok(None),
            Self::Until(until) => zone.rules().to_timestamp(until).map(Some).map_err(far),
            Self::UntilUtc(until) => jiff::tz::Offset::UTC.to_timestamp(until).map(Some).map_err(far),
            Self::Count(count) if count > COUNT_MAX => {
                Err(format!("COUNT: `{count}` is more than {COUNT_MAX}; write UNTIL instead"))
            }
            Self::Count(count) => {
                let next = |time: &DateTime| {
                    let later = time.checked_add(SignedDuration::from_secs(1)).ok()?;
                    rule.next_within(anchor, later, steps)
                };
                let times = std::iter::successors(rule.next_within(anchor, anchor, steps), next);
                let last = times.take(count as usize).last();
                if steps.are_spent() {
                    return Err(format!("COUNT: `{count}` {TOO_MUCH}"));
                }
                Ok(last.and_then(|last| zone.rules().to_timestamp(last).ok()))
            }
        }
    }
}

/// The beginning in local time, if it is meant in `zone`.
fn anchor_of(start: &CalendarTime, zone: &Zone) -> Result<DateTime, String> {
    let far = || "DTSTART: is further away than the calendar goes".to_owned();
    match start {
        CalendarTime::Zoned(time, other) if !is_same(zone, other, *time) => Err(format!(
            "DTSTART: is in {other}, and the reminder is in {zone}; set the reminder's timezone to {other}, or leave out TZID"
        )),
        CalendarTime::Zoned(time, _) => Ok(*time),
        CalendarTime::Utc(_) if !is_utc(zone) => Err(format!(
            "DTSTART: is in UTC, and the reminder is in {zone}; set the reminder's timezone to UTC, or write \
             the local time without the Z"
        )),
        moment => moment.local(zone).ok_or_else(far),
    }
}
