//! Keeping to a rate.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::Rate;

use crate::instant::{minus, plus, signed};

/// Keeps to a rate exactly: in no stretch of `rate.per` are there more than `rate.n`.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    rate: Rate,
    /// When the last `rate.n` were, oldest first.
    last: VecDeque<Timestamp>,
    /// Until when others have been told to come back.
    promised: Timestamp,
    /// Other nodes have taken all turns until then.
    taken_until: Timestamp,
}

impl Pace {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, last: VecDeque::new(), promised: Timestamp::MIN, taken_until: Timestamp::MIN }
    }

    /// When the next may begin.
    pub(crate) fn ready_at(&self) -> Timestamp {
        if self.last.len() < self.rate.n as usize {
            return self.taken_until;
        }
        self.last.front().map_or(Timestamp::MIN, |oldest| plus(*oldest, signed(self.rate.per))).max(self.taken_until)
    }

    /// Other nodes have taken all turns until then.
    pub(crate) fn taken_until(&mut self, until: Timestamp) {
        self.taken_until = self.taken_until.max(until);
    }

    /// One begins.
    pub(crate) fn began(&mut self, now: Timestamp) {
        if self.last.len() >= self.rate.n as usize {
            self.last.pop_front();
        }
        self.last.push_back(now);
    }

    /// A moment to come back at, for one that cannot begin now: each gets its own, as far apart as the rate wants.
    pub(crate) fn promise(&mut self, now: Timestamp) -> Timestamp {
        let apart = signed(self.rate.per / self.rate.n.max(1));
        let ready_at = self.ready_at();
        if ready_at > now && ready_at.duration_since(now) < apart / 4 {
            // A flight that came back a moment too soon, because the one before began a moment late, keeps its turn.
            return ready_at;
        }
        self.promised = self.ready_at().max(plus(self.promised, apart)).max(now);
        self.promised
    }

    /// How many may begin within `span`.
    pub(crate) fn within(&self, span: Duration) -> usize {
        (f64::from(self.rate.n) * span.as_secs_f64() / self.rate.per.as_secs_f64()).ceil() as usize
    }

    /// Whether it can hold back no send.
    pub(crate) fn is_idle(&self, now: Timestamp) -> bool {
        let begins = minus(now, self.rate.per);
        self.promised.max(self.taken_until) <= now && self.last.back().is_none_or(|last| *last < begins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    #[test]
    fn a_promise_is_kept_for_one_alone() {
        let mut pace = Pace::new(Rate::per_second(2));
        pace.began(at(0));
        pace.began(at(0));
        let promised: Vec<i64> = (0..4).map(|_| pace.promise(at(100)).as_millisecond()).collect();
        assert_eq!(promised, [1000, 1500, 2000, 2500]);
        assert_eq!(pace.within(Duration::from_secs(10)), 20);
        assert!(!pace.is_idle(at(2000)) && pace.is_idle(at(9000)));
    }

    #[test]
    fn a_turn_that_is_missed_by_a_moment_is_not_lost() {
        let mut pace = Pace::new(Rate::per_second(1));
        pace.began(at(0));
        assert_eq!([pace.promise(at(1)), pace.promise(at(1))], [at(1000), at(2000)]);
        // The first began three milliseconds late, so the second comes two too soon.
        pace.began(at(1003));
        assert_eq!(pace.promise(at(2001)), at(2003));
        assert_eq!(pace.promise(at(1500)), at(3000), "who comes much too soon gets a turn of its own");
    }
}
