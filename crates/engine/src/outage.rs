//! Going on after the store could not be used.
//!
//! During the outage this node went on sending the runs it had claimed, and could not write down the results. Their leases may have run
//! out, and a claim would take these runs for cut off and send them again. So before this node claims anything, it settles the
//! runs that have ended and renews the leases of the sends under way. The store refuses both, by the lease's number, where another
//! node has taken over.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::store::StoreError;

use crate::claim::plus;
use crate::command::Inner;
use crate::deliver::LEASE_MARGIN;
use crate::sweep::renew;

/// After an outage in which leases may have run out, the other nodes have this long to prolong theirs before this one claims: longer
/// than any of them waits before it tries to reach the store again.
const OTHERS_FIRST: Duration = Duration::from_secs(2);

/// Whether the store has failed since this node last caught up.
#[derive(Default)]
pub(crate) struct Outage(Mutex<State>);

#[derive(Default)]
struct State {
    n_failures: u64,
    /// When the store last answered a heartbeat. A store that falls silent is noticed only seconds later.
    answered_at: Option<Timestamp>,
    /// Since when it may have been away, for a failure that has not been caught up with, and whether there were other nodes then:
    /// those that come back later than this one are not seen yet.
    since: Option<(Timestamp, bool)>,
    /// When the last of them was.
    last: Timestamp,
}

/// An outage that this node has not yet caught up with.
struct Open {
    n_failures: u64,
    since: Timestamp,
    last: Timestamp,
    had_peers: bool,
}

impl Open {
    /// Whether leases of other nodes may have run out meanwhile that they have had no time to renew since.
    fn concerns_others(&self, lease_for: Duration, now: Timestamp) -> bool {
        let away = self.last.duration_since(self.since).unsigned_abs();
        let ago = now.duration_since(self.last).unsigned_abs();
        // A node renews its leases so often that each has half of its time left.
        away > lease_for / 2 && ago <= lease_for + OTHERS_FIRST
    }
}

impl Outage {
    /// The store has failed.
    pub(crate) fn note(&self, now: Timestamp, has_peers: bool) {
        let mut state = self.lock();
        state.n_failures += 1;
        let since = state.answered_at.unwrap_or(now).min(now);
        state.since.get_or_insert((since, has_peers));
        state.last = now;
    }

    /// The store has answered a heartbeat.
    pub(crate) fn answered(&self, now: Timestamp) {
        self.lock().answered_at = Some(now);
    }

    fn open(&self) -> Option<Open> {
        let state = self.lock();
        let (since, had_peers) = state.since?;
        Some(Open { n_failures: state.n_failures, since, last: state.last, had_peers })
    }

    /// This node has caught up, unless the store has failed again meanwhile.
    fn end(&self, n_failures: u64) {
        let mut state = self.lock();
        if state.n_failures == n_failures {
            state.since = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Makes sure that a claim does not take what this node itself has under way. A node that is stopping is not kept waiting, and
    /// must not claim after this.
    pub(crate) async fn keep_own(&self) -> Result<(), StoreError> {
        if let Some(open) = self.outage.open() {
            // From now on, what the others need to come back is counted.
            self.store.probe().await?;
            let concerns_others = open.concerns_others(self.settings.lease_for, self.clock.now());
            tokio::select! { biased;
                () = self.stopped() => return Ok(()),
                () = self.settler.caught_up() => {}
            }
            renew::all(self).await?;
            if (open.had_peers || self.peers.count() > 1) && concerns_others {
                tokio::select! { biased;
                    () = self.stopped() => return Ok(()),
                    () = self.clock.pause(OTHERS_FIRST) => {}
                }
            }
            self.outage.end(open.n_failures);
        }
        // Or this machine slept.
        if self.flights.end_by(plus(self.clock.now(), LEASE_MARGIN)) {
            renew::all(self).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_waited_for_only_right_after_an_outage_in_which_leases_may_have_ended() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let lease = Duration::from_secs(15);
        let concerns = |answered, failures: &[i64], now| {
            let outage = Outage::default();
            outage.answered(at(answered));
            failures.iter().for_each(|second| outage.note(at(*second), true));
            outage.open().unwrap().concerns_others(lease, at(now))
        };
        assert!(concerns(0, &[1, 17], 18), "away for longer than a lease");
        assert!(concerns(0, &[5, 8], 9), "it had fallen silent before the first failure");
        assert!(!concerns(0, &[1, 6], 7), "away for less than half of a lease: no lease has ended");
        assert!(!concerns(0, &[1], 2), "one failure");
        assert!(!concerns(0, &[1, 17], 3600), "long over: everybody has renewed");
    }
}
