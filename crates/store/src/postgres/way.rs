//! Whether the server can be reached, and who tries.
//!
//! As long as it can, everybody connects when they need to. When a connection was lost it is in doubt: then one alone tries, and all
//! others wait for what it finds. Tries that fail come ever less often, up to once a second, and by chance not all nodes'
//! at the same moment: a server that starts is not run down, and one that is back is noticed within a second.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_core::clock::Machine;
use punctual_core::store::StoreError;
use tokio::sync::MutexGuard as Turn;

/// How long it is waited after the first try that failed. It doubles with each.
const WAIT_MIN: Duration = Duration::from_millis(50);
/// And never more than this.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The way to the server.
pub(super) struct Way {
    trying: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
    machine: Machine,
}

struct Known {
    /// Whether somebody must try before anybody else does.
    in_doubt: bool,
    /// Tries that have ended.
    n_tried: u64,
    /// The tries that failed since one worked.
    n_failed: u32,
    /// The error of the last try.
    error: Option<StoreError>,
    /// When the next may begin, by how long the clock has run.
    not_before: Option<Duration>,
    /// Which host answered.
    host: Option<usize>,
}

/// What a caller that needs the server has to do.
pub(super) enum Pass<'w> {
    /// Connect.
    Open,
    /// Another has just tried, and failed with this.
    Closed(StoreError),
    /// Try, for all callers that wait. A caller that drops the turn before it has found anything out leaves it to the next.
    Try(Turn<'w, ()>),
}

impl Way {
    /// It is not known yet whether the server can be reached.
    pub(super) fn new(machine: Machine) -> Self {
        let known = Known { in_doubt: true, n_tried: 0, n_failed: 0, error: None, not_before: None, host: None };
        Self { trying: tokio::sync::Mutex::default(), known: Mutex::new(known), machine }
    }

    /// Waits until it is known whether the server can be reached, or it is the caller's turn to find out.
    pub(super) async fn pass(&self) -> Pass<'_> {
        let n_tried = {
            let known = self.known();
            if !known.in_doubt {
                return Pass::Open;
            }
            known.n_tried
        };
        let turn = self.trying.lock().await;
        let not_before = {
            let known = self.known();
            match &known.error {
                _ if !known.in_doubt => return Pass::Open,
                Some(error) if known.n_tried > n_tried => return Pass::Closed(error.clone()),
                _ => known.not_before,
            }
        };
        let clock = &self.machine.clock;
        if let Some(not_before) = not_before {
            clock.pause(not_before.saturating_sub(clock.run_for())).await;
        }
        // Counted from its beginning: a try that is dropped half-way also makes the next one wait.
        let mut known = self.known();
        known.not_before = Some(clock.run_for() + wait(known.n_failed, self.machine.random.unit()));
        Pass::Try(turn)
    }

    /// The error of the last try, if none has worked since.
    pub(super) fn closed(&self) -> Option<StoreError> {
        let known = self.known();
        known.error.clone().filter(|_| known.in_doubt)
    }

    /// A try has found the server.
    pub(super) fn opened(&self, host: usize) {
        let mut known = self.known();
        let n_tried = known.n_tried + 1;
        *known = Known { in_doubt: false, n_tried, n_failed: 0, error: None, not_before: None, host: Some(host) };
    }

    /// A try has failed.
    pub(super) fn failed(&self, error: StoreError) {
        let mut known = self.known();
        known.n_tried += 1;
        known.n_failed = known.n_failed.saturating_add(1);
        known.error = Some(error);
    }

    /// Something went wrong with a connection: the next caller finds out first whether the server can be reached.
    pub(super) fn doubt(&self) {
        self.known().in_doubt = true;
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        self.known().in_doubt
    }

    /// The host that answered last, by its place in the URL: all connections lead to the same.
    pub(super) fn host(&self) -> Option<usize> {
        self.known().host
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing under this lock can panic half-way.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long to wait after so many failures, less up to a half of it by `chance`, which is between 0 and 1.
fn wait(n_failed: u32, chance: f64) -> Duration {
    let whole = WAIT_MIN.saturating_mul(1 << n_failed.min(8)).min(WAIT_MAX);
    whole.mul_f64(1.0 - chance / 2.0)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;

    use jiff::{SignedDuration, Timestamp};
    use punctual_core::clock::Random;
    use punctual_testkit::clock::ManualClock;

    use super::*;

    /// Longer than any wait between two tries.
    const SECOND: SignedDuration = SignedDuration::from_secs(1);

    /// Always the same chance: nothing is taken from a wait.
    struct Never;

    impl Random for Never {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    fn way() -> (ManualClock, Way) {
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        let machine = Machine { clock: Arc::new(clock.clone()), random: Arc::new(Never) };
        (clock, Way::new(machine))
    }

    #[test]
    fn waits_grow_to_a_second_and_chance_shortens_them_by_up_to_a_half() {
        for n_failed in 0..100 {
            let whole = Duration::from_millis(50 << n_failed.min(5)).min(WAIT_MAX);
            assert_eq!((wait(n_failed, 0.0), wait(n_failed, 1.0)), (whole, whole / 2), "{n_failed}");
        }
    }

    #[tokio::test]
    async fn tries_that_fail_come_ever_less_often_whatever_the_clock_is_set_to() {
        let (clock, way) = way();
        let Pass::Try(mut turn) = way.pass().await else { panic!("nothing is known yet") };
        for millis in [50, 100, 200, 400, 800, 1000, 1000] {
            way.failed(StoreError::Unavailable("down".into()));
            drop(turn);
            let mut next = pin!(way.pass());
            assert!(futures_util::poll!(&mut next).is_pending());
            assert_eq!(clock.until_next(), Some(SignedDuration::from_millis(millis)));
            clock.set(Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1));
            clock.advance(SignedDuration::from_millis(millis - 1));
            assert!(futures_util::poll!(&mut next).is_pending(), "{millis} ms have not passed");
            clock.advance(SignedDuration::from_millis(1));
            let Pass::Try(now) = next.await else { panic!("nobody else tries") };
            turn = now;
        }
    }

    #[tokio::test]
    async fn one_tries_and_all_who_wait_learn_what_it_found() {
        let (clock, way) = way();
        let Pass::Try(turn) = way.pass().await else { panic!("nothing is known yet") };
        let (a, b) = (way.pass(), way.pass());
        let (mut a, mut b) = (pin!(a), pin!(b));
        assert!(futures_util::poll!(&mut a).is_pending() && futures_util::poll!(&mut b).is_pending());
        way.failed(StoreError::Unavailable("down".into()));
        drop(turn);
        assert!(matches!(a.await, Pass::Closed(_)) && matches!(b.await, Pass::Closed(_)));
        clock.advance(SECOND);
        let Pass::Try(turn) = way.pass().await else { panic!("the next try is somebody's") };
        way.opened(1);
        drop(turn);
        assert!(matches!(way.pass().await, Pass::Open));
        assert_eq!(way.host(), Some(1));
        way.doubt();
        assert!(matches!(way.pass().await, Pass::Try(_)));
    }

    #[tokio::test]
    async fn a_try_that_was_dropped_is_made_by_the_next() {
        let (clock, way) = way();
        let Pass::Try(turn) = way.pass().await else { panic!("nothing is known yet") };
        drop(turn);
        clock.advance(SECOND);
        assert!(matches!(way.pass().await, Pass::Try(_)));
    }
}
