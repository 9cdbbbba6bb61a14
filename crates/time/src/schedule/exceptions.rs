//! The days on which a schedule is silent.

use std::fmt;

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Timestamp};

use super::Weekdays;
use crate::steps::Steps;
use crate::zone::Zone;

/// The most dates, times and ranges that one schedule may except.
pub(super) const EXCEPTIONS_MAX: usize = 1000;

/// When a recurring schedule is not due although its rule says so.
///
/// Exceptions are about the local time at which something would really be due: a run at 23:30 that a change of the
/// clocks moves past midnight belongs to the later date.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exceptions {
    /// Whole local dates, in order.
    pub dates: Vec<Date>,
    /// Exact local times, in order.
    pub times: Vec<DateTime>,
    /// Days of the week.
    pub weekdays: Weekdays,
    /// Months.
    pub months: Months,
    /// Stretches of dates, both ends included, in order.
    pub ranges: Vec<(Date, Date)>,
}

impl Exceptions {
    /// Whether nothing is excepted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Both together.
    pub fn extend(&mut self, other: Self) {
        self.dates.extend(other.dates);
        self.times.extend(other.times);
        self.weekdays = self.weekdays.union(other.weekdays);
        self.months = self.months.union(other.months);
        self.ranges.extend(other.ranges);
        self.normalize();
    }

    /// Brings the lists into order and drops what is in them twice.
    pub(super) fn normalize(&mut self) {
        self.dates.sort_unstable();
        self.dates.dedup();
        self.times.sort_unstable();
        self.times.dedup();
        self.ranges.sort_unstable();
        self.ranges.dedup();
    }

    /// Whether nothing is ever left: every weekday or every month is excepted.
    pub(super) fn leave_nothing(&self) -> bool {
        self.weekdays == Weekdays::ALL || self.months == Months::ALL
    }

    /// From when on to look again if `at` is excepted; `None` if it is not.
    ///
    /// The answer is the end of the exception, so that a rule of seconds is not walked through a whole summer. It is
    /// `Timestamp::MAX` when no date is left.
    pub(super) fn end_if_excepted(&self, zone: &Zone, at: Timestamp, steps: &Steps) -> Option<Timestamp> {
        if self.is_empty() {
            return None;
        }
        // Without steps the answer is unknown; the caller looks at the steps.
        steps.take(self.look_steps())?;
        let local = zone.rules().to_datetime(at);
        if self.excepts_date(local.date()) {
            let begin = self.next_date(local.date(), steps).map(|date| date.to_datetime(jiff::civil::Time::midnight()));
            let begin = begin.and_then(|begin| zone.rules().to_timestamp(begin).ok()).unwrap_or(Timestamp::MAX);
            // A clock that went back over midnight may show the day after before it is over.
            return Some(begin.max(at.saturating_add(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MAX)));
        }
        let is_at = |time: &DateTime| zone.rules().to_timestamp(*time).is_ok_and(|time| time == at);
        // A shifted time is at most a day away from what is written.
        let near = |time: &&DateTime| local.duration_since(**time).unsigned_abs().as_secs() <= 2 * 86_400;
        let is_excepted = self.times.iter().filter(near).any(is_at);
        is_excepted.then(|| at.saturating_add(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MAX))
    }

    /// How many steps it is to compare something with all of them.
    fn look_steps(&self) -> u64 {
        1 + (self.times.len() + self.ranges.len()) as u64 / 32
    }

    fn excepts_date(&self, date: Date) -> bool {
        self.weekdays.contains(date.weekday())
            || self.months.contains(date.month())
            || self.dates.binary_search(&date).is_ok()
            || self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&date))
    }

    /// The first date after `date` that is not excepted.
    fn next_date(&self, mut date: Date, steps: &Steps) -> Option<Date> {
        if self.leave_nothing() {
            return None;
        }
        loop {
            steps.take(self.look_steps())?;
            date = date.tomorrow().ok()?;
            if self.months.contains(date.month()) {
                date = date.last_of_month();
                continue;
            }
            if let Some((_, last)) = self.ranges.iter().find(|(first, last)| (*first..=*last).contains(&date)) {
                date = *last;
                continue;
            }
            if !self.excepts_date(date) {
                return Some(date);
            }
        }
    }

    /// Reads one exception. The error is a fragment that says what would be right.
    pub(super) fn read(&mut self, text: &str) -> Result<(), String> {
        let word = text.trim();
        if let Some(days) = super::json::parse_day(word) {
            self.weekdays = self.weekdays.union(days);
        } else if let Some(month) = parse_month(word) {
            self.months = self.months.with(month);
        } else if let Some((first, last)) = word.split_once('/') {
            let (first, last) = (read_date(text, first)?, read_date(text, last)?);
            if last < first {
                return Err(format!("`{text}` ends before it begins"));
            }
            self.ranges.push((first, last));
        } else if word.contains('[') || word.ends_with(['Z', 'z']) || word.parse::<Timestamp>().is_ok() {
            return Err(format!("`{text}` names a zone; write the local time, as in 2026-12-24T08:00"));
        } else if word.contains(':') {
            let time: DateTime = word.parse().map_err(|_| not_understood(text))?;
            self.times.push(super::local::whole_second(time));
        } else {
            self.dates.push(read_date(text, word)?);
        }
        Ok(())
    }

    /// The canonical words, as [`Exceptions::read`] takes them.
    pub(super) fn words(&self) -> Vec<String> {
        let days = super::json::day_words(self.weekdays).into_iter().map(str::to_owned);
        let months = self.months.iter().map(|month| MONTHS[usize::from(month.unsigned_abs()) - 1].to_owned());
        let times = self.times.iter().map(|time| format!("{}T{}", time.date(), super::json::clock(time.time())));
        let ranges = self.ranges.iter().map(|(first, last)| format!("{first}/{last}"));
        days.chain(months).chain(self.dates.iter().map(Date::to_string)).chain(times).chain(ranges).collect()
    }
}

/// A set of months.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Months(u16);

impl Months {
    /// No month.
    pub const NONE: Self = Self(0);
    /// All twelve.
    pub const ALL: Self = Self(0b1_1111_1111_1110);

    /// The same set with `month` (1 to 12) in it.
    #[must_use]
    pub fn with(self, month: i8) -> Self {
        debug_assert!((1..=12).contains(&month), "{month} is not a month");
        Self((self.0 | 1 << month.clamp(1, 12)) & Self::ALL.0)
    }

    /// Both sets together.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `month` is in the set.
    pub fn contains(self, month: i8) -> bool {
        (1..=12).contains(&month) && self.0 & (1 << month) != 0
    }

    /// Whether the set has no month.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The months, January first.
    pub fn iter(self) -> impl Iterator<Item = i8> {
        (1..=12).filter(move |month| self.contains(*month))
    }
}

impl fmt::Debug for Months {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The month that a word means, in full or by its first three letters.
fn parse_month(word: &str) -> Option<i8> {
    let word = word.to_ascii_lowercase();
    let position = MONTHS.iter().position(|name| *name == word || name[..3] == word)?;
    i8::try_from(position + 1).ok()
}

fn read_date(text: &str, date: &str) -> Result<Date, String> {
    let is_date = date.trim().len() == 10;
    date.trim().parse().ok().filter(|_| is_date).ok_or_else(|| not_understood(text))
}

fn not_understood(text: &str) -> String {
    format!(
        "`{text}` is not understood; write a date (2026-12-25), a local time (2026-12-24T08:00), \
         a range (2026-12-24/2027-01-06), a weekday (sat, weekends) or a month (july)"
    )
}
