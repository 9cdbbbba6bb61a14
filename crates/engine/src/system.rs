//! The system's clock, randomness and tasks: the only place that reads them.
//!
//! # The clock
//!
//! Deadlines are wall-clock instants, and the wall clock can be set. A sleep therefore never trusts a single long wait:
//! one thread keeps all sleepers in order, waits for the earliest (half a second at most), reads the clock again and
//! wakes who is due. Set back, the clock makes a sleeper wait longer; set forward, it is noticed within that half second.
//! Waits for a span, and not for an instant, are kept apart, by the monotonic clock. A clock that is led by another one
//! (a database's) runs by the monotonic clock too: nobody who sets this machine's clock can hurry it. A thread with a condition variable
//! is also more precise than the runtime's timer wheel, whose tick is 1 ms.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::{BoxFuture, Clock, Machine, Random};

/// The longest time the clock goes unread while somebody sleeps.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// No other clock leads this one.
const NOT_LED: i64 = i64::MIN;

/// The system's wall clock.
pub struct SystemClock {
    alarms: Arc<Alarms>,
}

impl SystemClock {
    /// Starts the thread that wakes sleepers. It ends when the clock and all its sleeps are dropped.
    pub fn start() -> Self {
        let alarms = Arc::new(Alarms {
            queue: Mutex::new(Queue::default()),
            changed: Condvar::new(),
            started: Self::read_monotonic(),
            led_from: AtomicI64::new(NOT_LED),
        });
        let weak = Arc::downgrade(&alarms);
        let spawned = std::thread::Builder::new().name("clock".into()).spawn(move || {
            while let Some(alarms) = weak.upgrade() {
                alarms.wake_due();
            }
        });
        spawned.expect("a process that cannot start one thread cannot run at all");
        Self { alarms }
    }

    /// The present instant.
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is handed")]
    pub fn read() -> Timestamp {
        Timestamp::now()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is handed")]
    fn read_monotonic() -> Instant {
        Instant::now()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.alarms.shown()
    }

    fn advance(&self, by: SignedDuration) {
        let nanos = |number: i128| i64::try_from(number).unwrap_or(if number < 0 { i64::MIN + 1 } else { i64::MAX });
        let add = |led_from: i64| {
            let before = match led_from {
                NOT_LED => nanos(Self::read().as_nanosecond() - self.alarms.nanos_run()),
                led_from => led_from,
            };
            Some(before.saturating_add(nanos(by.as_nanos())).max(NOT_LED + 1))
        };
        // The closure never refuses, so the update cannot fail.
        let _ = self.alarms.led_from.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
        self.alarms.changed.notify_one();
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<()> {
        Box::pin(Sleep { alarms: self.alarms.clone(), until: Until::Shown(at), number: None })
    }

    fn pause(&self, span: Duration) -> BoxFuture<()> {
        // A span too long to be added is one that nobody waits for.
        let until = Self::read_monotonic().checked_add(span).map_or(Until::Never, Until::Passed);
        Box::pin(Sleep { alarms: self.alarms.clone(), until, number: None })
    }

    fn run_for(&self) -> Duration {
        self.alarms.run_for()
    }
}

struct Alarms {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// When this clock was made, by the monotonic clock.
    started: Instant,
    /// The time of the clock that leads this one, then, in nanoseconds since 1970; [`NOT_LED`] while the machine's is followed.
    led_from: AtomicI64,
}

#[derive(Default)]
struct Queue {
    sleepers: BTreeMap<(Timestamp, u64), Waker>,
    pauses: BTreeMap<(Instant, u64), Waker>,
    last_number: u64,
    /// When the thread looks again by itself. It is woken only for pauses that end before: most pauses are limits that nobody
    /// reaches, and each would wake it for nothing.
    looks_at: Option<Instant>,
}

impl Alarms {
    /// What the clock shows.
    fn shown(&self) -> Timestamp {
        match self.led_from.load(Ordering::Acquire) {
            NOT_LED => SystemClock::read(),
            led_from => Timestamp::from_nanosecond(i128::from(led_from) + self.nanos_run()).unwrap_or(Timestamp::MAX),
        }
    }

    /// How long this clock has run.
    fn run_for(&self) -> Duration {
        SystemClock::read_monotonic().duration_since(self.started)
    }

    fn nanos_run(&self) -> i128 {
        // A process that ran long enough for this to be cut off would be older than the universe.
        i128::try_from(self.run_for().as_nanos()).unwrap_or(i128::MAX)
    }

    /// Wakes who is due, then waits for the next or for a change.
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is handed")]
    fn wake_due(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.shown();
        let mut due = Vec::new();
        while let Some(entry) = queue.sleepers.first_entry() {
            if entry.key().0 > now {
                break;
            }
            due.push(entry.remove());
        }
        let passed = SystemClock::read_monotonic();
        while let Some(entry) = queue.pauses.first_entry() {
            if entry.key().0 > passed {
                break;
            }
            due.push(entry.remove());
        }
        if !due.is_empty() {
            drop(queue);
            due.into_iter().for_each(Waker::wake);
            return;
        }
        let to_sleeper = queue.sleepers.first_key_value().map(|((at, _), _)| at.duration_since(now).unsigned_abs());
        let to_pause = queue.pauses.first_key_value().map(|((at, _), _)| at.duration_since(passed));
        let wait = to_sleeper.into_iter().chain(to_pause).fold(LOOK_AGAIN, Duration::min);
        queue.looks_at = passed.checked_add(wait);
        // The result says only why the wait ended; the loop reads the clock again either way.
        let _ = self.changed.wait_timeout(queue, wait);
    }
}

#[derive(Clone, Copy)]
enum Until {
    /// The wall clock shows it.
    Shown(Timestamp),
    /// The monotonic clock has passed it.
    Passed(Instant),
    Never,
}

struct Sleep {
    alarms: Arc<Alarms>,
    until: Until,
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let is_due = match self.until {
            Until::Shown(at) => self.alarms.shown() >= at,
            Until::Passed(at) => SystemClock::read_monotonic() >= at,
            Until::Never => false,
        };
        if is_due {
            return Poll::Ready(());
        }
        let alarms = self.alarms.clone();
        let mut queue = alarms.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.number.unwrap_or_else(|| {
            queue.last_number += 1;
            queue.last_number
        });
        self.number = Some(number);
        let waker = context.waker().clone();
        let is_news = match self.until {
            Until::Shown(at) => {
                queue.sleepers.insert((at, number), waker);
                queue.sleepers.first_key_value().is_some_and(|(key, _)| *key == (at, number))
            }
            Until::Passed(at) => {
                queue.pauses.insert((at, number), waker);
                queue.looks_at.is_some_and(|looks_at| at < looks_at)
            }
            Until::Never => false,
        };
        if is_news {
            alarms.changed.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let mut queue = self.alarms.queue.lock().unwrap_or_else(PoisonError::into_inner);
            match self.until {
                Until::Shown(at) => queue.sleepers.remove(&(at, number)),
                Until::Passed(at) => queue.pauses.remove(&(at, number)),
                Until::Never => None,
            };
        }
    }
}

/// The system's randomness.
pub struct SystemRandom;

impl Random for SystemRandom {
    #[expect(clippy::disallowed_methods, reason = "this is the randomness that everything else is handed")]
    fn fill(&self, bytes: &mut [u8]) {
        // Without randomness no id is unique and no key is secret: better to stop than to go on.
        getrandom::fill(bytes).expect("the operating system gives randomness");
    }
}

/// This machine's clock and randomness.
pub fn machine() -> Machine {
    Machine { clock: Arc::new(SystemClock::start()), random: Arc::new(SystemRandom) }
}

/// Where tasks run. The simulator has its own, so that it can choose who runs next.
pub trait Runtime: Send + Sync + 'static {
    /// Runs `task` until it ends.
    fn spawn(&self, task: BoxFuture<()>);
}

/// Tasks on tokio.
pub struct TokioRuntime(tokio::runtime::Handle);

impl TokioRuntime {
    /// The runtime this is called on.
    pub fn current() -> Self {
        Self(tokio::runtime::Handle::current())
    }
}

impl Runtime for TokioRuntime {
    fn spawn(&self, task: BoxFuture<()>) {
        self.0.spawn(task);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_short_pause_ends_before_the_thread_would_have_looked_again() {
        let clock = SystemClock::start();
        let mut limit = clock.pause(Duration::from_secs(3600));
        let before = clock.run_for();
        for _ in 0..5 {
            assert!(limit.as_mut().now_or_never().is_none());
            clock.pause(Duration::from_millis(5)).await;
        }
        let took = clock.run_for() - before;
        assert!((Duration::from_millis(25)..5 * LOOK_AGAIN / 2).contains(&took), "{took:?}");
    }

    #[test]
    fn a_clock_that_is_led_shows_what_the_other_shows() {
        let clock = SystemClock::start();
        let differs_by = |clock: &SystemClock| clock.now().duration_since(SystemClock::read());
        let second = SignedDuration::from_secs(1);
        assert!(differs_by(&clock).abs() < second);
        for (by, expect_hours) in [(1, 1), (-3, -2), (0, -2), (2, 0)] {
            clock.advance(SignedDuration::from_hours(by));
            let off = differs_by(&clock) - SignedDuration::from_hours(expect_hours);
            assert!(off.abs() < second, "{expect_hours} hours: {off:?}");
        }
        // A span that makes no sense is cut off and breaks nothing.
        clock.advance(SignedDuration::MAX);
        assert!(clock.now() > SystemClock::read());
        clock.advance(SignedDuration::MIN);
        clock.now();
    }
}
