//! When a reminder is due.
//!
//! A rule is the truth; an instant computed from it is a cache. `daily`, `weekly`, `cron` and `smart` are rules about
//! local time in the reminder's zone: a local time that does not exist is shifted forward by the length of the
//! gap, and one that exists twice counts once, the first time. `interval` is elapsed time and ignores the zone.

mod bits;
mod cron;
mod exceptions;
mod ical;
mod input;
mod instant;
mod json;
mod local;
mod next;
mod recurrence;
mod say;
mod smart;

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Time, Weekday};

pub use cron::CronExpr;
pub use exceptions::{Exceptions, Months};
pub use instant::{End, parse_end, parse_instant, parse_until};
pub use next::Missed;
pub(crate) use next::NEXT_STEPS_MAX;
pub use recurrence::{Freq, NthDay, Recurrence};
pub(crate) use say::{day_in, in_letters};
pub use smart::Smart;

use crate::invalid::Invalid;
use crate::steps::Steps;

/// The shortest interval between two runs.
pub const INTERVAL_MIN: Duration = Duration::from_secs(1);
/// The longest interval between two runs: ten years.
pub const INTERVAL_MAX: Duration = Duration::from_secs(3653 * 86_400);

/// How many steps it may take to check a schedule: to learn of one rule that it is never due, and a little more.
const VALIDATE_STEPS_MAX: u64 = 400_000;

/// A rule, and the bounds within which it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The rule that makes instants due.
    pub rule: Rule,
    /// The schedule is not due before this.
    pub starts_at: Option<Timestamp>,
    /// The schedule is not due after this.
    pub ends_at: Option<Timestamp>,
    /// How many runs there are at most.
    pub count: Option<u32>,
    /// When nothing is due although the rule says so.
    pub except: Exceptions,
}

impl Schedule {
    /// A rule without bounds.
    pub fn new(rule: Rule) -> Self {
        Self { rule, starts_at: None, ends_at: None, count: None, except: Exceptions::default() }
    }

    /// Whether it may be due more than once.
    pub fn is_recurring(&self) -> bool {
        !matches!(self.rule, Rule::Once { .. })
    }

    /// Checks what the types cannot. Doors call it before anything is written.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.validate_within(&Steps::new(VALIDATE_STEPS_MAX))
    }

    fn validate_within(&self, steps: &Steps) -> Result<(), Invalid> {
        match &self.rule {
            Rule::Once { .. } => {
                let bounds = [
                    ("starts_at", self.starts_at.is_some()),
                    ("ends_at", self.ends_at.is_some()),
                    ("count", self.count.is_some()),
                    ("except", !self.except.is_empty()),
                ];
                if let Some((bound, _)) = bounds.into_iter().find(|(_, is_set)| *is_set) {
                    return Err(Invalid::new(bound, "is for recurring schedules; a `once` has only `at`"));
                }
            }
            Rule::Interval { every, .. } if *every < INTERVAL_MIN => {
                return Err(Invalid::new("every", "is too short; the shortest interval is 1s"));
            }
            Rule::Interval { every, .. } if *every > INTERVAL_MAX => {
                return Err(Invalid::new("every", "is too long; the longest interval is ten years"));
            }
            Rule::Weekly { days, .. } if days.is_empty() => {
                return Err(Invalid::new("days", "is empty; name days such as mon and thu, or weekdays"));
            }
            Rule::Smart(smart) => smart.validate(steps)?,
            Rule::Interval { .. } | Rule::Daily { .. } | Rule::Weekly { .. } | Rule::Cron(_) => {}
        }
        if let (Some(starts_at), Some(ends_at)) = (self.starts_at, self.ends_at)
            && starts_at >= ends_at
        {
            return Err(Invalid::new("ends_at", "must be after starts_at"));
        }
        if self.except.leave_nothing() {
            return Err(Invalid::new("except", "leaves no day on which anything could be due"));
        }
        if self.count == Some(0) {
            return Err(Invalid::new("count", "must be at least 1"));
        }
        Ok(())
    }
}

/// The rule that makes instants due.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// One instant.
    Once {
        /// That instant.
        at: Timestamp,
    },
    /// Elapsed time, over and over.
    Interval {
        /// From one run to the next.
        every: Duration,
        /// The event from which the time is counted.
        anchor: Anchor,
        /// Where counting starts: the creation, or `starts_at`.
        origin: Timestamp,
    },
    /// A local time on every day.
    Daily {
        /// That time.
        time: Time,
    },
    /// A local time on some days of the week.
    Weekly {
        /// That time.
        time: Time,
        /// Those days; never empty.
        days: Weekdays,
    },
    /// A cron expression.
    Cron(CronExpr),
    /// Recurrence rules, made from words or read from a calendar.
    Smart(Smart),
}

/// The event from which an interval is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anchor {
    /// The first run.
    #[default]
    Start,
    /// The last answer.
    Ack,
}

/// A set of days of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Weekdays(u8);

impl Weekdays {
    /// No day.
    pub const NONE: Self = Self(0);
    /// Monday to Friday.
    pub const WEEKDAYS: Self = Self(0b001_1111);
    /// Saturday and Sunday.
    pub const WEEKEND: Self = Self(0b110_0000);
    /// All seven.
    pub const ALL: Self = Self(0b111_1111);

    /// The same set with `day` in it.
    #[must_use]
    pub fn with(self, day: Weekday) -> Self {
        Self(self.0 | 1 << day.to_monday_zero_offset())
    }

    /// Both sets together.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `day` is in the set.
    pub fn contains(self, day: Weekday) -> bool {
        self.0 & (1 << day.to_monday_zero_offset()) != 0
    }

    /// Whether the set has no day.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The days, Monday first.
    pub fn iter(self) -> impl Iterator<Item = Weekday> {
        (0..7)
            .map(|day| Weekday::from_monday_zero_offset(day).expect("0 to 6 are days"))
            .filter(move |day| self.contains(*day))
    }
}

impl FromIterator<Weekday> for Weekdays {
    fn from_iter<T: IntoIterator<Item = Weekday>>(days: T) -> Self {
        days.into_iter().fold(Self::NONE, Self::with)
    }
}
