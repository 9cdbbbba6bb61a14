//! Gates hold sends back: to keep a rate, for a wait that was asked for, after failures in a row.
//!
//! Everything here is pure: it is told the time and what happened, and says when the next send may begin.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::Rate;

use super::pace::Pace;
use crate::instant::{plus, signed};

/// So many failures in a row, and a receiver is left alone for a while.
const FAILURES_MAX: u32 = 10;
/// How long at first; it doubles each time the one send that is then tried fails, too.
const BROKEN_MIN: Duration = Duration::from_secs(1);
/// And at most.
const BROKEN_MAX: Duration = Duration::from_secs(60);

/// How long the send that is tried may take before another one is tried beside it; it doubles with each.
const TRY_NEXT_AFTER: Duration = Duration::from_secs(1);

/// How far apart those come back that were told to.
const COME_BACK_APART: Duration = Duration::from_millis(1);

/// Whether a receiver, or an address, may be called.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    pace: Option<Pace>,
    closed: Closed,
    /// How many sends have begun; the number of the last one.
    n_begun: u64,
    /// The number of the first send that is to show whether it is still closed.
    tried: u64,
    /// When another one may be tried, and how long that is after the last.
    try_next_at: Timestamp,
    try_next_after: Duration,
    /// The number of the send that last showed that it is open.
    opened_by: u64,
    n_failed: u32,
    /// For how long failures last closed it.
    broken_for: Duration,
    /// Since when it has only asked to wait.
    throttled_since: Option<Timestamp>,
    /// How many come back when it opens.
    n_coming_back: u32,
}

/// Whether it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Closed {
    /// It is not.
    #[default]
    No,
    /// It asked to be left alone.
    Throttled(Timestamp),
    /// It failed too often in a row.
    Broken(Timestamp),
    /// It was, and one send is to show whether it still is.
    Trying,
}

/// The gate's answer to a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admit {
    /// Begin.
    Go,
    /// Not before this, to keep the rate.
    Wait(Timestamp),
    /// Not before this, because the receiver or the address asked for it.
    Throttled(Timestamp),
    /// It is not tried before this, because it failed too often.
    Broken(Timestamp),
}

/// The end of a send, as far as a gate cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was answered, whatever the answer was.
    Answered,
    /// The receiver asked to be left alone for so long.
    Throttled(Duration),
    /// There was no answer, or one that says that nothing works.
    Failed,
}

impl Gate {
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self { pace: rate.map(Pace::new), ..Self::default() }
    }

    /// Asks for a send that would begin now.
    pub(crate) fn admit(&mut self, now: Timestamp) -> Admit {
        match self.closed {
            Closed::Throttled(until) if until > now => return Admit::Throttled(until),
            Closed::Broken(until) if until > now => return Admit::Broken(until),
            Closed::Throttled(_) | Closed::Broken(_) | Closed::No | Closed::Trying => {}
        }
        if let Some(pace) = &mut self.pace {
            let ready_at = pace.ready_at();
            if ready_at > now {
                return Admit::Wait(ready_at);
            }
            pace.began(now);
        }
        self.n_begun += 1;
        match self.closed {
            Closed::No => return Admit::Go,
            Closed::Trying => self.try_next_after = (self.try_next_after * 2).min(BROKEN_MAX),
            Closed::Throttled(_) | Closed::Broken(_) => {
                self.closed = Closed::Trying;
                self.tried = self.n_begun;
                self.try_next_after = TRY_NEXT_AFTER;
            }
        }
        self.try_next_at = plus(now, signed(self.try_next_after));
        Admit::Go
    }

    /// The number of the send that was admitted last.
    pub(crate) fn last_begun(&self) -> u64 {
        self.n_begun
    }

    /// While one send is under way that shows whether it is still closed, the others wait for what it learns: until when. A send
    /// that began before it closed and still hangs is no such send; and one that hangs itself is not waited for for long.
    pub(crate) fn is_tried_until(&self, now: Timestamp) -> Option<Timestamp> {
        (self.closed == Closed::Trying && now < self.try_next_at).then_some(self.try_next_at)
    }

    /// Learns what became of a send, of this number where it was admitted.
    pub(crate) fn learn(&mut self, fate: Fate, number: Option<u64>, now: Timestamp) -> Learnt {
        match fate {
            Fate::Answered => {
                self.n_failed = 0;
                self.broken_for = Duration::ZERO;
                self.throttled_since = None;
                match self.closed {
                    Closed::Trying | Closed::Broken(_) => {
                        self.closed = Closed::No;
                        self.opened_by = number.unwrap_or(self.tried);
                    }
                    // An answer that was under way when another was told to wait does not end that wait.
                    Closed::No | Closed::Throttled(_) => {}
                }
                Learnt::Nothing
            }
            Fate::Throttled(wait) => {
                let until = plus(now, signed(wait));
                self.throttled_since.get_or_insert(now);
                if !self.is_closed(now) {
                    self.n_coming_back = 0;
                }
                self.closed = match self.closed {
                    Closed::Throttled(before) => Closed::Throttled(before.max(until)),
                    _ => Closed::Throttled(until),
                };
                Learnt::Throttled
            }
            Fate::Failed if number.is_some_and(|number| self.is_outdated(number)) => Learnt::Nothing,
            Fate::Failed => {
                self.n_failed = self.n_failed.saturating_add(1);
                let breaks = match self.closed {
                    Closed::Trying => !self.broken_for.is_zero() || self.n_failed >= FAILURES_MAX,
                    Closed::No => self.n_failed >= FAILURES_MAX,
                    Closed::Throttled(_) | Closed::Broken(_) => false,
                };
                if !breaks {
                    if self.closed == Closed::Trying {
                        // The wait is over; that one failed after it means no more than any other failure.
                        self.closed = Closed::No;
                    }
                    return Learnt::Nothing;
                }
                self.n_coming_back = 0;
                self.broken_for = (self.broken_for * 2).clamp(BROKEN_MIN, BROKEN_MAX);
                self.closed = Closed::Broken(plus(now, signed(self.broken_for)));
                Learnt::Broken
            }
        }
    }

    /// Whether a send says nothing about now: it began before the one that is being tried, or that showed that it works again, and
    /// hung meanwhile.
    fn is_outdated(&self, number: u64) -> bool {
        number < self.opened_by || self.closed == Closed::Trying && number < self.tried
    }

    /// A moment to come back at, for one that is told to when the gate opens at `until`: not all at the same one, or each
    /// opening would bring back everything that waits.
    pub(crate) fn come_back_at(&mut self, until: Timestamp) -> Timestamp {
        let apart = COME_BACK_APART * self.n_coming_back;
        self.n_coming_back = self.n_coming_back.saturating_add(1);
        plus(until, signed(apart))
    }

    /// A send was not made after all, of this number where it was admitted. If it was to show whether it is still closed, another
    /// one must.
    pub(crate) fn not_tried(&mut self, number: Option<u64>, now: Timestamp) {
        if self.closed == Closed::Trying && number.is_none_or(|number| number >= self.tried) {
            self.closed = Closed::Throttled(now);
        }
    }

    /// Since when it has done nothing but ask to wait.
    pub(crate) fn throttled_since(&self) -> Option<Timestamp> {
        self.throttled_since
    }

    /// Whether it is closed at `now`.
    pub(crate) fn is_closed(&self, now: Timestamp) -> bool {
        matches!(self.closed, Closed::Throttled(until) | Closed::Broken(until) if until > now)
    }

    pub(crate) fn closed(&self) -> Closed {
        self.closed
    }

    pub(crate) fn n_failed(&self) -> u32 {
        self.n_failed
    }

    pub(crate) fn pace(&mut self) -> Option<&mut Pace> {
        self.pace.as_mut()
    }

    /// Whether it holds back nothing and remembers nothing.
    pub(crate) fn is_idle(&self, now: Timestamp) -> bool {
        let is_open = match self.closed {
            Closed::No => true,
            Closed::Throttled(until) | Closed::Broken(until) => plus(until, signed(BROKEN_MAX * 2)) < now,
            // The flight that tries keeps its lane; without one, it was withdrawn, and nothing is known.
            Closed::Trying => true,
        };
        is_open && self.n_failed == 0 && self.pace.as_ref().is_none_or(|pace| pace.is_idle(now))
    }
}

/// Whether a gate has closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Learnt {
    Nothing,
    /// It is closed because it asked to be left alone.
    Throttled,
    /// It is closed because too much failed.
    Broken,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    fn is_tried(gate: &Gate) -> bool {
        gate.closed() == Closed::Trying
    }

    #[test]
    fn in_no_stretch_of_time_is_there_more_than_the_rate() {
        let rate = Rate { n: 5, per: Duration::from_secs(5) };
        let mut gate = Gate::new(Some(rate));
        let (mut sent, mut now) = (Vec::new(), 0);
        while now < 60_000 {
            match gate.admit(at(now)) {
                Admit::Go => sent.push(now),
                Admit::Wait(until) => assert!(until > at(now)),
                Admit::Throttled(_) | Admit::Broken(_) => unreachable!(),
            }
            now += 70;
        }
        assert!(sent.len() >= 55, "{}", sent.len());
        for window in sent.windows(6) {
            assert!(window[5] - window[0] >= 5_000, "{window:?}");
        }
    }

    #[test]
    fn a_wait_holds_back_everything_and_then_one_is_tried() {
        let mut gate = Gate::default();
        assert_eq!((gate.admit(at(0)), is_tried(&gate)), (Admit::Go, false));
        assert_eq!(gate.learn(Fate::Throttled(Duration::from_secs(2)), None, at(0)), Learnt::Throttled);
        // Another that was under way is answered, which changes nothing about the wait.
        gate.learn(Fate::Answered, None, at(10));
        assert_eq!(gate.admit(at(1999)), Admit::Throttled(at(2000)));
        // A shorter wait does not shorten a longer one.
        gate.learn(Fate::Throttled(Duration::from_millis(10)), None, at(20));
        assert_eq!(gate.admit(at(1999)), Admit::Throttled(at(2000)));
        assert_eq!((gate.admit(at(2000)), is_tried(&gate)), (Admit::Go, true));
        gate.learn(Fate::Answered, None, at(2100));
        assert!(!is_tried(&gate));
    }

    #[test]
    fn failures_in_a_row_close_it_for_longer_and_longer() {
        let mut gate = Gate::default();
        for n in 1..FAILURES_MAX {
            assert_eq!(gate.learn(Fate::Failed, None, at(0)), Learnt::Nothing, "{n}");
        }
        gate.learn(Fate::Answered, None, at(0));
        assert_eq!(gate.n_failed(), 0);
        for _ in 1..FAILURES_MAX {
            gate.learn(Fate::Failed, None, at(0));
        }
        assert_eq!(gate.learn(Fate::Failed, None, at(0)), Learnt::Broken);
        assert_eq!(gate.learn(Fate::Failed, None, at(1)), Learnt::Nothing, "it was under way before");
        assert_eq!(gate.admit(at(999)), Admit::Broken(at(1000)));
        let mut now = 1000;
        for open_for in [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000] {
            assert_eq!((gate.admit(at(now)), is_tried(&gate)), (Admit::Go, true));
            assert_eq!(gate.learn(Fate::Failed, None, at(now)), Learnt::Broken);
            now += open_for;
            assert_eq!(gate.admit(at(now - 1)), Admit::Broken(at(now)));
        }
        assert_eq!(gate.admit(at(now)), Admit::Go);
        gate.learn(Fate::Answered, None, at(now));
        assert_eq!((is_tried(&gate), gate.is_idle(at(now))), (false, true));
        // A send that was under way when the gate broke and is answered all the same shows that the receiver works.
        for _ in 0..FAILURES_MAX {
            gate.learn(Fate::Failed, None, at(now));
        }
        assert!(gate.is_closed(at(now)));
        gate.learn(Fate::Answered, None, at(now));
        assert_eq!(gate.admit(at(now)), Admit::Go);
    }

    #[test]
    fn one_failure_after_a_wait_is_no_more_than_one_failure() {
        let mut gate = Gate::default();
        gate.learn(Fate::Throttled(Duration::from_secs(1)), None, at(0));
        assert_eq!(gate.admit(at(1000)), Admit::Go);
        assert_eq!(gate.learn(Fate::Failed, None, at(1100)), Learnt::Nothing);
        assert_eq!((gate.admit(at(1100)), is_tried(&gate)), (Admit::Go, false));
    }

    #[test]
    fn a_send_that_hung_before_says_nothing_about_one_that_was_tried_since() {
        let mut gate = Gate::default();
        let begin = |gate: &mut Gate, now| {
            assert_eq!(gate.admit(at(now)), Admit::Go);
            Some(gate.last_begun())
        };
        let hung: Vec<_> = (0..20).map(|_| begin(&mut gate, 0)).collect();
        for _ in 0..FAILURES_MAX {
            let number = begin(&mut gate, 0);
            gate.learn(Fate::Failed, number, at(0));
        }
        let tried = begin(&mut gate, 1000);
        assert_eq!(gate.learn(Fate::Failed, hung[0], at(1500)), Learnt::Nothing);
        assert!(is_tried(&gate), "what hung is not what was tried");
        gate.learn(Fate::Answered, tried, at(1600));
        assert!(!is_tried(&gate));
        for number in hung {
            assert_eq!(gate.learn(Fate::Failed, number, at(15_000)), Learnt::Nothing, "it works since");
        }
        assert_eq!(gate.n_failed(), 0);

        // One that was to be tried and was not leaves that to the next.
        gate.learn(Fate::Throttled(Duration::from_secs(1)), None, at(20_000));
        let tried = begin(&mut gate, 21_000);
        gate.not_tried(Some(1), at(21_000));
        assert!(is_tried(&gate), "another one was not sent");
        gate.not_tried(tried, at(21_000));
        assert!(!is_tried(&gate));
        begin(&mut gate, 21_000);
        assert!(is_tried(&gate));
    }

    #[test]
    fn one_that_is_tried_and_hangs_is_waited_for_longer_and_longer() {
        let mut gate = Gate::default();
        gate.learn(Fate::Throttled(Duration::from_secs(1)), None, at(0));
        let mut now = 1000;
        for waited_for in [1000, 2000, 4000, 8000] {
            assert_eq!(gate.admit(at(now)), Admit::Go);
            now += waited_for;
            assert_eq!(gate.is_tried_until(at(now - 1)), Some(at(now)));
            assert_eq!(gate.is_tried_until(at(now)), None);
        }
        // The first of them ends: that is what was tried, and the others tell nothing new.
        for _ in 0..FAILURES_MAX {
            gate.learn(Fate::Failed, None, at(now));
        }
        assert!(gate.is_closed(at(now)));
        gate.learn(Fate::Failed, Some(2), at(now));
        assert_eq!(gate.admit(at(now + 999)), Admit::Broken(at(now + 1000)));
        gate.learn(Fate::Answered, Some(3), at(now));
        assert_eq!((gate.admit(at(now)), gate.closed()), (Admit::Go, Closed::No));
    }

    #[test]
    fn flights_that_come_back_do_not_all_come_at_once() {
        let mut gate = Gate::default();
        gate.learn(Fate::Throttled(Duration::from_secs(1)), None, at(0));
        let told: Vec<i64> = (0..3).map(|_| gate.come_back_at(at(1000)).as_millisecond()).collect();
        assert_eq!(told, [1000, 1001, 1002]);
        gate.learn(Fate::Throttled(Duration::from_secs(1)), None, at(1000));
        assert_eq!(gate.come_back_at(at(2000)), at(2000), "and the next time it begins anew");
        assert_eq!(gate.throttled_since(), Some(at(0)));
        gate.learn(Fate::Answered, None, at(86_400_000));
        assert_eq!(gate.throttled_since(), None);
    }
}
