//! Going on after the store could not be used.
//!
//! During the outage this node went on sending the runs it had claimed, and could not write down the results. Their leases may have run
//! out, and a claim would take these runs for cut off and send them again. So before this node claims anything, it settles the
//! runs that have ended and renews the leases of the sends under way ([`crate::leases`]). The store refuses both, by the lease's
//! number, where another node has taken over.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::clock::Clock;
use punctual_core::store::StoreError;

use crate::node::lock;
use crate::peers::Peers;
use crate::timer::Timer;

/// After an outage in which leases may have run out, the other nodes have this long to prolong theirs before this one claims: longer
/// than any of them waits before it tries to reach the store again.
pub(crate) const OTHERS_FIRST: Duration = Duration::from_secs(2);

/// Whether the store works, and whether this node has caught up with the last outage.
pub(crate) struct StoreHealth {
    clock: Arc<dyn Clock>,
    timer: Arc<Timer>,
    peers: Arc<Peers>,
    /// The last failure in words, until something works again.
    error: Mutex<Option<String>>,
    outage: Mutex<Outage>,
}

impl StoreHealth {
    pub(crate) fn new(clock: Arc<dyn Clock>, timer: Arc<Timer>, peers: Arc<Peers>) -> Self {
        Self { clock, timer, peers, error: Mutex::default(), outage: Mutex::default() }
    }

    /// The last failure in words, until something works again.
    pub(crate) fn error(&self) -> Option<String> {
        lock(&self.error).clone()
    }

    /// The store did something.
    pub(crate) fn works(&self) {
        if lock(&self.error).take().is_some() {
            tracing::info!("the store works again");
            // A transaction that failed may be written although it was not answered: leases nobody holds, runs nobody knows of.
            // The timer reads everything anew.
            self.timer.reset();
        }
    }

    /// The store failed.
    pub(crate) fn failed(&self, error: &StoreError) {
        if matches!(error, StoreError::Unavailable(_)) {
            lock(&self.outage).failed(self.clock.now(), self.peers.count() > 1);
        }
        let text = error.to_string();
        let mut last = lock(&self.error);
        if last.as_ref() != Some(&text) {
            tracing::error!(error = %text, "the store failed; it is tried again");
        }
        *last = Some(text);
    }

    /// The store has answered a heartbeat.
    pub(crate) fn answered(&self) {
        lock(&self.outage).answered_at = Some(self.clock.now());
    }

    /// The outage that this node has not caught up with, if there is one.
    pub(crate) fn outage(&self) -> Option<Open> {
        lock(&self.outage).open()
    }

    /// This node has caught up with `outage`, unless the store has failed again meanwhile.
    pub(crate) fn end(&self, outage: &Open) {
        let mut now = lock(&self.outage);
        if now.n_failures == outage.n_failures {
            now.since = None;
        }
    }
}

/// The failures of the store since this node last caught up.
#[derive(Default)]
struct Outage {
    n_failures: u64,
    /// When the store last answered a heartbeat. A store that falls silent is noticed only seconds later.
    answered_at: Option<Timestamp>,
    /// Since when it may have been away, for a failure that has not been caught up with, and whether there were other nodes then:
    /// those that come back later than this one are not seen yet.
    since: Option<(Timestamp, bool)>,
    /// When the last failure was.
    last: Timestamp,
}

impl Outage {
    fn failed(&mut self, now: Timestamp, has_peers: bool) {
        self.n_failures += 1;
        let since = self.answered_at.unwrap_or(now).min(now);
        self.since.get_or_insert((since, has_peers));
        self.last = now;
    }

    fn open(&self) -> Option<Open> {
        let (since, had_peers) = self.since?;
        Some(Open { n_failures: self.n_failures, since, last: self.last, had_peers })
    }
}

/// An outage that this node has not yet caught up with.
pub(crate) struct Open {
    n_failures: u64,
    since: Timestamp,
    last: Timestamp,
    pub(crate) had_peers: bool,
}

impl Open {
    /// Whether leases of other nodes may have run out meanwhile that they have had no time to renew since.
    pub(crate) fn concerns_others(&self, lease_for: Duration, now: Timestamp) -> bool {
        let away = self.last.duration_since(self.since).unsigned_abs();
        let ago = now.duration_since(self.last).unsigned_abs();
        // A node renews its leases so often that each has half of its time left.
        away > lease_for / 2 && ago <= lease_for + OTHERS_FIRST
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
            let mut outage = Outage { answered_at: Some(at(answered)), ..Outage::default() };
            failures.iter().for_each(|second| outage.failed(at(*second), true));
            outage.open().unwrap().concerns_others(lease, at(now))
        };
        assert!(concerns(0, &[1, 17], 18), "away for longer than a lease");
        assert!(concerns(0, &[5, 8], 9), "it had fallen silent before the first failure");
        assert!(!concerns(0, &[1, 6], 7), "away for less than half of a lease: no lease has ended");
        assert!(!concerns(0, &[1], 2), "one failure");
        assert!(!concerns(0, &[1, 17], 3600), "long over: everybody has renewed");
    }
}
