//! How often this node acts on hints.
//!
//! Any role that may connect to the store can send what nodes send. So a node acts on the first few hints at once; after that, one
//! act answers all hints since the last one.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::instant::{plus, signed};

/// How often one kind of hint is acted on.
#[derive(Debug)]
pub(super) struct Budget {
    /// So many at once,
    burst: u32,
    /// and then one in so long.
    every: Duration,
    /// When the acts until now are made up for.
    paid_at: Timestamp,
    /// There was a hint that has not been acted on.
    waits: bool,
}

impl Budget {
    pub(super) fn new(burst: u32, every: Duration) -> Self {
        Self { burst, every, paid_at: Timestamp::MIN, waits: false }
    }

    /// Whether to act at once on a hint; otherwise it waits.
    pub(super) fn ask(&mut self, now: Timestamp) -> bool {
        self.waits = !self.spend(now);
        !self.waits
    }

    /// Whether to act now on the hint that waits.
    pub(super) fn ask_again(&mut self, now: Timestamp) -> bool {
        self.waits && self.ask(now)
    }

    /// How long the hint that waits still has to.
    pub(super) fn wait(&self, now: Timestamp) -> Option<Duration> {
        let left = self.paid_at.duration_since(now).max(SignedDuration::ZERO).unsigned_abs();
        self.waits.then(|| (left + self.every).saturating_sub(self.every * self.burst))
    }

    fn spend(&mut self, now: Timestamp) -> bool {
        let longest = plus(now, signed(self.every * self.burst));
        // A clock that was set back is no reason to wait longer.
        let paid_at = plus(self.paid_at.clamp(now, longest), signed(self.every));
        let has_room = paid_at <= longest;
        if has_room {
            self.paid_at = paid_at;
        } else {
            self.paid_at = self.paid_at.min(longest);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    #[test]
    fn a_flood_is_acted_on_a_few_times_at_once_and_then_once_in_a_while() {
        let mut budget = Budget::new(3, Duration::from_millis(100));
        let mut acted = Vec::new();
        for millis in 0..=1_000 {
            if budget.ask(at(millis)) {
                acted.push(millis);
            }
        }
        assert_eq!(acted, [0, 1, 2, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000]);
        // The last of it is acted on as well, when it may be.
        assert!(!budget.ask(at(1_001)));
        assert_eq!(budget.wait(at(1_001)), Some(Duration::from_millis(99)));
        assert!(!budget.ask_again(at(1_099)) && budget.ask_again(at(1_100)) && !budget.ask_again(at(5_000)));
        assert_eq!(budget.wait(at(5_000)), None);
        // A quiet while later all is as it was.
        assert!((0..3).all(|_| budget.ask(at(5_000))) && !budget.ask(at(5_000)));
        // A hint that waited while nobody listened waits no longer.
        assert!(!budget.ask(at(5_000)));
        assert_eq!(budget.wait(at(60_000)), Some(Duration::ZERO));
        assert!(budget.ask_again(at(60_000)) && (0..2).all(|_| budget.ask(at(60_000))) && !budget.ask(at(60_000)));
        let at = |millis: i64| at(millis + 55_000);
        // Also if the clock is set back.
        assert!(!budget.ask(at(10)) && budget.ask_again(at(110)));
    }
}
