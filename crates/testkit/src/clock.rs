//! Time that passes when a test says so.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::{BoxFuture, Clock};

/// A clock that stands still until it is moved. Clones are the same clock.
#[derive(Clone)]
pub struct ManualClock {
    hands: Arc<Mutex<Hands>>,
}

struct Hands {
    now: Timestamp,
    /// Time that has passed by advancing. Setting the clock does not change it.
    elapsed: SignedDuration,
    /// The sleepers until the clock shows an instant.
    sleepers: BTreeMap<(Timestamp, u64), Waker>,
    /// The tasks that wait for a span to pass, by when it will have passed.
    waiters: BTreeMap<(SignedDuration, u64), Waker>,
    last_number: u64,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        let hands = Hands {
            now,
            elapsed: SignedDuration::ZERO,
            sleepers: BTreeMap::new(),
            waiters: BTreeMap::new(),
            last_number: 0,
        };
        Self { hands: Arc::new(Mutex::new(hands)) }
    }

    /// Lets `span` pass in one step, and wakes the sleepers that are due.
    pub fn advance(&self, span: SignedDuration) {
        let mut hands = self.lock();
        hands.elapsed += span;
        hands.now += span;
        wake_due(hands);
    }

    /// Sets the clock, forward or back, as an administrator would. No time passes; those now due are woken.
    pub fn set(&self, at: Timestamp) {
        let mut hands = self.lock();
        hands.now = at;
        wake_due(hands);
    }

    /// How much time has really passed, whatever the clock was set to.
    pub fn elapsed(&self) -> SignedDuration {
        self.lock().elapsed
    }

    /// How long until somebody is due, if anybody waits.
    pub fn until_next(&self) -> Option<SignedDuration> {
        let hands = self.lock();
        let sleeper = hands.sleepers.first_key_value().map(|(key, _)| key.0.duration_since(hands.now));
        let waiter = hands.waiters.first_key_value().map(|(key, _)| key.0 - hands.elapsed);
        sleeper.into_iter().chain(waiter).min()
    }

    fn lock(&self) -> MutexGuard<'_, Hands> {
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake_due(mut hands: MutexGuard<'_, Hands>) {
    let mut due = Vec::new();
    let (now, elapsed) = (hands.now, hands.elapsed);
    while let Some(entry) = hands.sleepers.first_entry().filter(|entry| entry.key().0 <= now) {
        due.push(entry.remove());
    }
    while let Some(entry) = hands.waiters.first_entry().filter(|entry| entry.key().0 <= elapsed) {
        due.push(entry.remove());
    }
    // A waker may look at the clock.
    drop(hands);
    due.into_iter().for_each(Waker::wake);
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.lock().now
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<()> {
        Box::pin(Sleep { clock: self.clone(), until: Until::Shown(at), number: None })
    }

    fn pause(&self, span: Duration) -> BoxFuture<()> {
        let until = self.elapsed().saturating_add(SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX));
        Box::pin(Sleep { clock: self.clone(), until: Until::Passed(until), number: None })
    }

    fn run_for(&self) -> Duration {
        self.elapsed().unsigned_abs()
    }
}

#[derive(Clone, Copy)]
enum Until {
    /// The clock shows it.
    Shown(Timestamp),
    /// So much time has passed.
    Passed(SignedDuration),
}

struct Sleep {
    clock: ManualClock,
    until: Until,
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let clock = self.clock.clone();
        let mut hands = clock.lock();
        let is_due = match self.until {
            Until::Shown(at) => hands.now >= at,
            Until::Passed(elapsed) => hands.elapsed >= elapsed,
        };
        if is_due {
            return Poll::Ready(());
        }
        let number = self.number.unwrap_or_else(|| {
            hands.last_number += 1;
            hands.last_number
        });
        self.number = Some(number);
        let waker = context.waker().clone();
        match self.until {
            Until::Shown(at) => hands.sleepers.insert((at, number), waker),
            Until::Passed(elapsed) => hands.waiters.insert((elapsed, number), waker),
        };
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut hands = self.clock.lock();
        match self.until {
            Until::Shown(at) => hands.sleepers.remove(&(at, number)),
            Until::Passed(elapsed) => hands.waiters.remove(&(elapsed, number)),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;
    use punctual_core::clock::within;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn work_counts_if_it_ends_within_its_time_whatever_the_clock_is_set_to() {
        let (clock, second) = (ManualClock::at(at(100)), Duration::from_secs(1));
        assert_eq!(within(&clock, second, async { 7 }).now_or_never(), Some(Some(7)));
        let mut slow = pin!(within(&clock, second, std::future::pending::<()>()));
        assert_eq!(slow.as_mut().now_or_never(), None);
        clock.set(at(3000));
        assert_eq!(slow.as_mut().now_or_never(), None, "no time has passed");
        clock.advance(SignedDuration::from_secs(1));
        assert_eq!(slow.as_mut().now_or_never(), Some(None));
        assert_eq!(clock.run_for(), second);
    }

    #[test]
    fn a_sleeper_wakes_when_due_and_never_before() {
        let clock = ManualClock::at(at(100));
        let mut sleep = clock.sleep_until(at(110));
        assert!(sleep.as_mut().now_or_never().is_none());
        clock.advance(SignedDuration::from_secs(9));
        assert!(sleep.as_mut().now_or_never().is_none());
        assert_eq!(clock.until_next(), Some(SignedDuration::from_secs(1)));
        clock.set(at(50));
        clock.advance(SignedDuration::from_secs(10));
        assert!(sleep.as_mut().now_or_never().is_none(), "set back, the clock makes it wait longer");
        clock.set(at(3000));
        assert!(sleep.as_mut().now_or_never().is_some());
        assert_eq!(clock.elapsed(), SignedDuration::from_secs(19));
    }

    #[test]
    fn a_wait_for_a_span_does_not_depend_on_what_the_clock_shows() {
        let clock = ManualClock::at(at(100));
        let mut pause = clock.pause(Duration::from_secs(5));
        clock.set(at(5000));
        assert!(pause.as_mut().now_or_never().is_none());
        clock.set(at(1));
        clock.advance(SignedDuration::from_secs(5));
        assert!(pause.as_mut().now_or_never().is_some());
    }

    #[test]
    fn a_dropped_sleeper_is_forgotten() {
        let clock = ManualClock::at(at(0));
        let mut sleep = clock.sleep_until(at(1));
        assert!(sleep.as_mut().now_or_never().is_none());
        drop(sleep);
        assert_eq!(clock.until_next(), None);
    }
}
