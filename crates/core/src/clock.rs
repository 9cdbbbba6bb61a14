//! Time and randomness, handed in.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// A future that owns what it needs, for traits that are used as objects.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Wall-clock time, and waiting for it.
pub trait Clock: Send + Sync + 'static {
    /// The present instant.
    fn now(&self) -> Timestamp;

    /// Waits until `now()` is at least `at`. It never ends early, also when the clock is set back meanwhile,
    /// and it notices within a second when the clock is set forward past `at`.
    fn sleep_until(&self, at: Timestamp) -> BoxFuture<()>;

    /// Waits until `span` has passed, whatever the clock is set to meanwhile.
    ///
    /// For everything that is a duration and not an instant: timeouts, pauses, renewing. A clock that is set back an hour
    /// must not make them wait an hour.
    fn pause(&self, span: Duration) -> BoxFuture<()>;

    /// How long this clock has run, whatever it was set to meanwhile: for the time between two moments.
    fn run_for(&self) -> Duration;

    /// Shows from now on what another clock shows, which is ahead of what this one shows now by `by`, and no longer what the
    /// machine's clock is set to, also if `by` is nothing. A clock that nobody can compare ignores it.
    fn advance(&self, by: SignedDuration) {
        let _ = by;
    }
}

/// Random bytes for ids, keys and jitter.
pub trait Random: Send + Sync + 'static {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);

    /// A number in `0.0..1.0`.
    fn unit(&self) -> f64 {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
    }

    /// Ten bytes for [`crate::id::ReminderId::new`].
    fn ten(&self) -> [u8; 10] {
        let mut bytes = [0; 10];
        self.fill(&mut bytes);
        bytes
    }
}

/// The clock and the randomness of a machine.
#[derive(Clone)]
pub struct Machine {
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// Its randomness.
    pub random: Arc<dyn Random>,
}

/// What `work` leads to, or `None` where it takes longer than `span`. Then it is dropped.
pub async fn within<T>(clock: &dyn Clock, span: Duration, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut pause) = (pin!(work), clock.pause(span));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => pause.as_mut().poll(context).map(|()| None),
    })
    .await
}

impl fmt::Debug for dyn Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// `at` plus `wait`, or the end of time.
pub(crate) fn later(at: Timestamp, wait: Duration) -> Timestamp {
    SignedDuration::try_from(wait).ok().and_then(|wait| at.checked_add(wait).ok()).unwrap_or(Timestamp::MAX)
}

/// An instant as every store keeps it: whole microseconds since 1970, rounded up, so that nothing is due before it was asked for.
pub fn kept_micros(at: Timestamp) -> i64 {
    // Before 1970, cutting off the rest is rounding up already.
    at.as_microsecond() + i64::from(at.subsec_nanosecond() % 1000 > 0)
}
