//! The fields of a cron expression: what each accepts, and which dates and times they match.

use std::ops::RangeInclusive;

use jiff::civil::{Date, Time};

use super::super::bits::{Times, bits, has};

/// The name and the bounds of one field.
struct Spec {
    name: &'static str,
    min: u8,
    max: u8,
    names: &'static [&'static str],
}

const SECOND: Spec = Spec { name: "second", min: 0, max: 59, names: &[] };
const MINUTE: Spec = Spec { name: "minute", min: 0, max: 59, names: &[] };
const HOUR: Spec = Spec { name: "hour", min: 0, max: 23, names: &[] };
const DAY_OF_MONTH: Spec = Spec { name: "day of month", min: 1, max: 31, names: &[] };
const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const MONTH: Spec = Spec { name: "month", min: 1, max: 12, names: &MONTHS };
// Sunday is 0, and is read from 7 as well.
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const DAY_OF_WEEK: Spec = Spec { name: "day of week", min: 0, max: 6, names: &DAYS };

const NICKNAMES: [(&str, &str); 7] = [
    ("@YEARLY", "0 0 1 1 *"),
    ("@ANNUALLY", "0 0 1 1 *"),
    ("@MONTHLY", "0 0 1 * *"),
    ("@WEEKLY", "0 0 * * 0"),
    ("@DAILY", "0 0 * * *"),
    ("@MIDNIGHT", "0 0 * * *"),
    ("@HOURLY", "0 * * * *"),
];

/// A parsed expression: one bit per value of each field.
#[derive(Clone)]
pub(super) struct Fields {
    times: Times,
    months: u64,
    /// `None`: any day.
    days_of_month: Option<DaysOfMonth>,
    /// `None`: any day.
    days_of_week: Option<DaysOfWeek>,
    is_interval: bool,
}

#[derive(Clone, Default)]
struct DaysOfMonth {
    days: u64,
    /// Bit n: the day n before the last.
    before_last: u64,
    /// Bit d: the weekday nearest to day d.
    nearest: u64,
    /// Bit n: the weekday nearest to the day n before the last.
    nearest_before_last: u64,
}

#[derive(Clone, Default)]
struct DaysOfWeek {
    days: u64,
    /// The days whose first, second, … of the month is meant.
    nth: [u64; 5],
    /// The days whose last of the month is meant.
    last: u64,
}

impl Fields {
    /// Reads five or six fields, or a nickname. The error is a fragment that begins with the field's name.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let upper = text.to_ascii_uppercase();
        let expanded = match upper.strip_prefix('@') {
            Some(_) => nickname(&upper, text)?,
            None => &upper,
        };
        let parts: Vec<&str> = expanded.split_whitespace().collect();
        if parts.is_empty() {
            return Err("is empty; write five fields such as `0 8 * * 1-5`".into());
        }
        let (second, rest) = if parts.len() == 6 { (parts[0], &parts[1..]) } else { ("0", &parts[..]) };
        let [minute, hour, day_of_month, month, day_of_week] = rest else {
            let n_fields = if parts.len() == 1 { "one field".to_owned() } else { format!("{} fields", parts.len()) };
            return Err(format!(
                "`{text}` has {n_fields}; write five (minute hour day month weekday) or six (second first)"
            ));
        };
        let is_interval = |field: &str| field.contains(['*', '?', '-', '/']);
        Ok(Self {
            times: Times { seconds: SECOND.parse(second)?, minutes: MINUTE.parse(minute)?, hours: HOUR.parse(hour)? },
            days_of_month: DaysOfMonth::parse(day_of_month)?,
            months: MONTH.parse(month)?,
            days_of_week: DaysOfWeek::parse(day_of_week)?,
            is_interval: is_interval(second) || is_interval(minute) || is_interval(hour),
        })
    }

    /// Whether the time of day is given by a `*`, a range or a step rather than by fixed times.
    pub(super) fn is_interval(&self) -> bool {
        self.is_interval
    }

    /// Whether no hour is left out.
    pub(super) fn every_hour(&self) -> bool {
        self.times.hours == HOUR.all()
    }

    pub(super) fn match_month(&self, date: Date) -> bool {
        has(self.months, date.month())
    }

    pub(super) fn match_date(&self, date: Date) -> bool {
        self.match_month(date)
            && match (&self.days_of_month, &self.days_of_week) {
                (None, None) => true,
                (Some(of_month), None) => of_month.matches(date),
                (None, Some(of_week)) => of_week.matches(date),
                (Some(of_month), Some(of_week)) => of_month.matches(date) || of_week.matches(date),
            }
    }

    pub(super) fn times(&self) -> Times {
        self.times
    }

    pub(super) fn month_bits(&self) -> u64 {
        self.months
    }

    /// Whether a day is given as the weekday nearest to another.
    pub(super) fn has_nearest(&self) -> bool {
        self.days_of_month.as_ref().is_some_and(|days| days.nearest | days.nearest_before_last != 0)
    }

    /// The days of the month, negative from the end, if any may be left out.
    pub(super) fn month_days(&self) -> Option<Vec<i8>> {
        let days = self.days_of_month.as_ref()?;
        Some(bits(days.days).chain(bits(days.before_last).map(|before| -before - 1)).collect())
    }

    /// The weekdays (Sunday is 0) of which each is meant, the first, second, …, and the last, if any may be left out.
    pub(super) fn week_day_bits(&self) -> Option<(u64, [u64; 5], u64)> {
        self.days_of_week.as_ref().map(|days| (days.days, days.nth, days.last))
    }

    /// The first matching time of day at or after `from`.
    pub(super) fn next_time(&self, from: Time) -> Option<Time> {
        self.times.next(from)
    }
}

impl DaysOfMonth {
    fn parse(field: &str) -> Result<Option<Self>, String> {
        if matches!(field, "*" | "?") {
            return Ok(None);
        }
        let spec = &DAY_OF_MONTH;
        let mut days = Self::default();
        for item in field.split(',') {
            let (bare, nearest) = item.strip_suffix('W').map_or((item, false), |bare| (bare, true));
            let before_last = match bare.strip_prefix('L') {
                Some("") => Some(0),
                Some(rest) => Some(
                    rest.strip_prefix('-')
                        .and_then(|n| n.parse::<u8>().ok().filter(|n| *n <= 30))
                        .ok_or_else(|| spec.wrong(item, "count back from the last day as in L-3, at most L-30"))?,
                ),
                None => None,
            };
            match (before_last, nearest) {
                (Some(n), false) => days.before_last |= 1 << n,
                (Some(n), true) => days.nearest_before_last |= 1 << n,
                (None, true) => {
                    let day = spec
                        .value(bare)
                        .map_err(|_| spec.wrong(item, "the nearest weekday is written with one day, as in 15W"))?;
                    days.nearest |= 1 << day;
                }
                (None, false) => days.days |= spec.item(item)?,
            }
        }
        Ok(Some(days))
    }

    fn matches(&self, date: Date) -> bool {
        let last = date.days_in_month();
        let is_nearest = |day: i8| nearest_weekday(date, day, last) == Some(date.day());
        has(self.days, date.day())
            || has(self.before_last, last - date.day())
            // Both are empty in nearly every expression, and then cost nothing.
            || bits(self.nearest).any(is_nearest)
            || bits(self.nearest_before_last).any(|before| is_nearest(last - before))
    }
}

impl DaysOfWeek {
    fn parse(field: &str) -> Result<Option<Self>, String> {
        if matches!(field, "*" | "?") {
            return Ok(None);
        }
        let spec = &DAY_OF_WEEK;
        let mut days = Self::default();
        for item in field.split(',') {
            if let Some((bare, nth)) = item.split_once('#') {
                let nth = match nth.as_bytes() {
                    [digit @ b'1'..=b'5'] => usize::from(digit - b'1'),
                    _ => return Err(spec.wrong(item, "write # and 1 to 5, as in FRI#2")),
                };
                if bare.contains(['*', '/']) {
                    return Err(spec.wrong(item, "write one day before the #, as in FRI#2"));
                }
                days.nth[nth] |= spec.item(bare)?;
            } else if let Some(bare) = item.strip_suffix('L') {
                let day = spec
                    .value(bare)
                    .map_err(|_| spec.wrong(item, "the last one is written with its day, as in FRIL"))?;
                days.last |= 1 << spec.fold(day);
            } else {
                days.days |= spec.item(item)?;
            }
        }
        Ok(Some(days))
    }

    fn matches(&self, date: Date) -> bool {
        let day = date.weekday().to_sunday_zero_offset();
        has(self.days, day)
            || has(self.nth[usize::from(date.day().unsigned_abs() - 1) / 7], day)
            || has(self.last, day) && date.day() + 7 > date.days_in_month()
    }
}

impl Spec {
    fn all(&self) -> u64 {
        self.bits(self.min..=self.max, 1)
    }

    fn bits(&self, values: RangeInclusive<u8>, step: u8) -> u64 {
        values.step_by(usize::from(step)).fold(0, |bits, value| bits | 1 << self.fold(value))
    }

    /// Brings a value past the end back to the beginning: a range around the end counts on past it.
    fn fold(&self, value: u8) -> u8 {
        if value > self.max { value - self.size() } else { value }
    }

    fn size(&self) -> u8 {
        self.max - self.min + 1
    }

    fn parse(&self, field: &str) -> Result<u64, String> {
        field.split(',').try_fold(0, |bits, item| Ok(bits | self.item(item)?))
    }

    /// One item of a list: `*`, `5`, `1-5`, `22-2`, each with `/step` or without.
    fn item(&self, item: &str) -> Result<u64, String> {
        let (span, step) = match item.split_once('/') {
            Some((span, step)) => (span, Some(self.step(item, step)?)),
            None => (item, None),
        };
        let range = if matches!(span, "*" | "?") {
            self.min..=self.max
        } else if let Some((first, last)) = span.split_once('-') {
            let (first, last) = (self.value(first)?, self.value(last)?);
            match self.fold(first) {
                folded if folded < first => folded..=self.fold(last),
                first if last < first => first..=last + self.size(),
                first => first..=last,
            }
        } else {
            let first = self.fold(self.value(span)?);
            first..=if step.is_some() { self.max } else { first }
        };
        Ok(self.bits(range, step.unwrap_or(1)))
    }

    fn step(&self, item: &str, step: &str) -> Result<u8, String> {
        let is_number = !step.is_empty() && step.bytes().all(|b| b.is_ascii_digit());
        match step.parse::<u8>() {
            Ok(step) if is_number && (1..=self.max).contains(&step) => Ok(step),
            _ => Err(self.wrong(item, &format!("a step is a number from 1 to {}", self.max))),
        }
    }

    /// A number or a name. Sunday may come back as 7, so that `5-7` is a range.
    fn value(&self, word: &str) -> Result<u8, String> {
        if !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) {
            let is_week = self.names.len() == DAYS.len();
            let max = if is_week { 7 } else { self.max };
            return match word.parse::<u8>() {
                Ok(value) if (self.min..=max).contains(&value) => Ok(value),
                _ => Err(format!("{}: `{word}` is outside {}-{max}", self.name, self.min)),
            };
        }
        match self.names.iter().position(|name| *name == word) {
            Some(position) => Ok(self.min + position as u8),
            None => Err(self.unknown(word)),
        }
    }

    fn unknown(&self, word: &str) -> String {
        let long_form = self.names.iter().find(|name| word.starts_with(**name));
        let hint = match (long_form, self.names) {
            (Some(name), _) => format!("write {name}"),
            (None, []) => format!("write a number from {} to {}, *, or */5", self.min, self.max),
            (None, [first, ..]) => {
                format!("write {} to {}, a name such as {first}, or *", self.min, self.max)
            }
        };
        self.wrong(word, &hint)
    }

    fn wrong(&self, item: &str, hint: &str) -> String {
        match item {
            "" => format!("{}: a value is missing; {hint}", self.name),
            item => format!("{}: `{item}` is not understood; {hint}", self.name),
        }
    }
}

fn nickname(upper: &str, text: &str) -> Result<&'static str, String> {
    let found = NICKNAMES.iter().find(|(name, _)| *name == upper);
    found
        .map(|(_, fields)| *fields)
        .ok_or_else(|| format!("`{text}` is not a nickname; write @hourly, @daily, @weekly, @monthly or @yearly"))
}

/// The weekday nearest to `day` within the month of `date`, if that month has such a day.
fn nearest_weekday(date: Date, day: i8, last: i8) -> Option<i8> {
    if !(1..=last).contains(&day) {
        return None;
    }
    let weekday = Date::new(date.year(), date.month(), day).ok()?.weekday();
    Some(match weekday {
        jiff::civil::Weekday::Saturday if day == 1 => 3,
        jiff::civil::Weekday::Saturday => day - 1,
        jiff::civil::Weekday::Sunday if day == last => day - 2,
        jiff::civil::Weekday::Sunday => day + 1,
        _ => day,
    })
}
