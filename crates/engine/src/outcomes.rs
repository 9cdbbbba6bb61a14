//! What became of the last sends of each channel on this node, for those who look after it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use jiff::Timestamp;

use crate::node::lock;

/// How long a slot is, in seconds.
const SLOT_SECONDS: i64 = 60;
/// How many slots are kept: an hour.
const SLOTS: usize = 60;

/// What became of the sends of the last hour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Messages that were taken.
    pub sent: u64,
    /// Attempts that have failed.
    pub failed: u64,
    /// Attempts of the last whole minute.
    pub last_minute: u64,
    /// When a message was last taken, ever since the node was started.
    pub sent_at: Option<Timestamp>,
    /// When an attempt last failed.
    pub failed_at: Option<Timestamp>,
    /// Why.
    pub error: Option<String>,
}

/// The outcomes of every channel.
#[derive(Default)]
pub(crate) struct AllOutcomes(Mutex<BTreeMap<String, Channel>>);

struct Channel {
    /// Minutes, each with how many were taken and how many failed: the place of a minute is its number, round and round.
    slots: [(i64, u32, u32); SLOTS],
    last: Outcomes,
}

impl Default for Channel {
    fn default() -> Self {
        Self { slots: [(i64::MIN, 0, 0); SLOTS], last: Outcomes::default() }
    }
}

fn minute_of(at: Timestamp) -> i64 {
    at.as_second().div_euclid(SLOT_SECONDS)
}

impl Channel {
    fn count(&mut self, now: Timestamp, error: Option<&str>) {
        let minute = minute_of(now);
        let slot = &mut self.slots[minute.rem_euclid(SLOTS as i64) as usize];
        if slot.0 != minute {
            *slot = (minute, 0, 0);
        }
        match error {
            None => {
                slot.1 += 1;
                self.last.sent_at = Some(now);
            }
            Some(error) => {
                slot.2 += 1;
                self.last.failed_at = Some(now);
                self.last.error = Some(error.to_owned());
            }
        }
    }

    fn outcomes(&self, now: Timestamp) -> Outcomes {
        let minute = minute_of(now);
        let recent = || self.slots.iter().filter(|slot| (minute - SLOTS as i64 + 1..=minute).contains(&slot.0));
        let before = self.slots.iter().find(|slot| slot.0 == minute - 1);
        Outcomes {
            sent: recent().map(|slot| u64::from(slot.1)).sum(),
            failed: recent().map(|slot| u64::from(slot.2)).sum(),
            last_minute: before.map_or(0, |slot| u64::from(slot.1) + u64::from(slot.2)),
            ..self.last.clone()
        }
    }
}

impl AllOutcomes {
    /// Counts an attempt, which has failed if there is an error.
    pub(crate) fn count(&self, channel: &str, now: Timestamp, error: Option<&str>) {
        let mut channels = lock(&self.0);
        // Most often it is there, and its name need not be copied.
        match channels.get_mut(channel) {
            Some(known) => known.count(now, error),
            None => channels.entry(channel.to_owned()).or_default().count(now, error),
        }
    }

    /// What became of the last sends of a channel.
    pub(crate) fn of(&self, channel: &str, now: Timestamp) -> Outcomes {
        lock(&self.0).get(channel).map(|known| known.outcomes(now)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcomes_of_an_hour_are_known_and_older_ones_are_forgotten() {
        let at = |second: i64| Timestamp::from_second(1_700_000_040 + second).unwrap();
        let all = AllOutcomes::default();
        all.count("mail", at(0), None);
        all.count("mail", at(30), Some("busy"));
        all.count("mail", at(61), None);
        all.count("phone", at(61), None);
        let found = all.of("mail", at(61));
        assert_eq!((found.sent, found.failed, found.last_minute), (2, 1, 2));
        assert_eq!(
            (found.sent_at, found.failed_at, found.error.as_deref()),
            (Some(at(61)), Some(at(30)), Some("busy"))
        );
        let later = all.of("mail", at(3600));
        assert_eq!((later.sent, later.failed, later.last_minute), (1, 0, 0), "the first minute is over an hour ago");
        assert_eq!(later.error.as_deref(), Some("busy"), "the last trouble stays known");
        assert_eq!(all.of("other", at(0)), Outcomes::default());
    }
}
