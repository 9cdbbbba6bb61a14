//! A union of recurrence rules, made from words or read from a calendar.

use jiff::Timestamp;
use jiff::civil::DateTime;

use super::local::{AcrossChange, next_instant, whole_second};
use super::recurrence::Recurrence;
use crate::invalid::Invalid;
use crate::steps::{Steps, TOO_MUCH};
use crate::zone::Zone;

/// The most rules that one schedule may have.
const RULES_MAX: usize = 50;
/// The longest text that is kept beside the rules.
pub(super) const WORDS_BYTES_MAX: usize = 2000;

/// Rules about local time that are due whenever one of them is.
///
/// All share one anchor, the `DTSTART` of a calendar. A rule that names no time of day is due at that of the anchor.
#[derive(Debug, Clone, PartialEq)]
pub struct Smart {
    /// The words it was made from; empty when it came from a calendar.
    pub text: String,
    /// The rules, in normal form.
    pub rules: Vec<Recurrence>,
    /// Where every rule begins, in local time and whole seconds.
    pub anchor: DateTime,
    /// Single local times that are due as well, in order. The calendar calls them `RDATE`.
    pub dates: Vec<DateTime>,
}

impl Smart {
    /// Rules from `text`, beginning at `anchor`.
    pub fn new(text: impl Into<String>, rules: Vec<Recurrence>, anchor: DateTime) -> Self {
        let rules = rules.into_iter().map(Recurrence::normal).collect();
        Self { text: text.into(), rules, anchor: whole_second(anchor), dates: Vec::new() }
    }

    /// The first local time at or after `from` that a rule or a single date names.
    fn next_civil(&self, from: DateTime, steps: &Steps) -> Option<DateTime> {
        let by_rule = self.rules.iter().filter_map(|rule| rule.next_within(self.anchor, from, steps)).min();
        let by_date = self.dates.get(self.dates.partition_point(|date| *date < from)).copied();
        by_rule.into_iter().chain(by_date).min().filter(|_| !steps.are_spent())
    }

    /// The first instant strictly after `after`.
    pub(super) fn next_within(&self, zone: &Zone, after: Timestamp, steps: &Steps) -> Option<Timestamp> {
        next_instant(zone, after, AcrossChange::default(), steps, |from| self.next_civil(from, steps))
    }

    pub(super) fn validate(&self, steps: &Steps) -> Result<(), Invalid> {
        if self.rules.is_empty() && self.dates.is_empty() {
            return Err(Invalid::new("rules", "is empty; write at least one rule such as FREQ=DAILY;BYHOUR=8"));
        }
        if self.text.len() > WORDS_BYTES_MAX {
            return Err(Invalid::new("text", format!("is longer than {WORDS_BYTES_MAX} bytes")));
        }
        if self.rules.len() > RULES_MAX {
            return Err(Invalid::new("rules", format!("has more than {RULES_MAX} rules")));
        }
        for (index, rule) in self.rules.iter().enumerate() {
            let field = || format!("rules[{index}]");
            rule.check().map_err(|problem| Invalid::new(field(), problem))?;
            if rule.next_within(self.anchor, self.anchor, steps).is_none() {
                if steps.are_spent() {
                    return Err(Invalid::new(field(), TOO_MUCH));
                }
                return Err(Invalid::new(field(), format!("`{rule}` is never due from {} on", self.anchor)));
            }
        }
        Ok(())
    }
}
