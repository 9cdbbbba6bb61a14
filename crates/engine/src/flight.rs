//! Everything this node holds a lease for.
//!
//! A flight is a claimed occurrence between its claim and its settle. Until its send begins it can be withdrawn: that is how a
//! cancel can still succeed in the moments before the instant, although the lease has been taken.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::store::Claimed;
use tokio::sync::Notify;

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// The end of a lease that another has taken.
const LOST: i64 = i64::MIN;

/// A claimed occurrence on its way.
pub(crate) struct Flight {
    pub(crate) claimed: Claimed,
    /// Who woke it, for the metrics.
    pub(crate) via: &'static str,
    /// The receiver whose turn it waits for.
    pub(crate) lane: Arc<str>,
    phase: AtomicU8,
    lease_until: AtomicI64,
    /// Not sent before this, because its address or receiver has to be waited for; in microseconds.
    not_before: AtomicI64,
    /// Which send of its lane it is.
    number: AtomicU64,
    /// What goes out in the same message.
    also: Mutex<Vec<Arc<Flight>>>,
}

impl Flight {
    pub(crate) fn new(claimed: Claimed, via: &'static str, lane: Arc<str>) -> Arc<Self> {
        let lease_until = AtomicI64::new(claimed.lease_until.as_microsecond());
        Arc::new(Self {
            claimed,
            via,
            lane,
            phase: AtomicU8::new(WAITING),
            lease_until,
            not_before: AtomicI64::new(i64::MIN),
            number: AtomicU64::new(0),
            also: Mutex::default(),
        })
    }

    /// When the send may begin. What has not reached its person yet is never sent before it is due, also when the clock was
    /// set back after an earlier try.
    pub(crate) fn instant(&self) -> Timestamp {
        let Claimed { before, wake_at, .. } = &self.claimed;
        let instant = if before.tries.reached > 0 { *wake_at } else { before.due_at.max(*wake_at) };
        let not_before = Timestamp::from_microsecond(self.not_before.load(Ordering::Acquire));
        not_before.map_or(instant, |not_before| instant.max(not_before))
    }

    /// Lets another go out in the same message.
    pub(crate) fn take_along(&self, other: Arc<Self>) {
        self.also().push(other);
    }

    /// Those that were to go out in the same message; they are no longer.
    pub(crate) fn part(&self) -> Vec<Arc<Self>> {
        std::mem::take(&mut *self.also())
    }

    fn also(&self) -> MutexGuard<'_, Vec<Arc<Self>>> {
        // Nothing under this lock can panic half-way.
        self.also.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets it wait for its turn.
    pub(crate) fn wait_until(&self, at: Timestamp) {
        self.not_before.store(at.as_microsecond(), Ordering::Release);
    }

    /// It was admitted as this send of its lane.
    pub(crate) fn admitted(&self, number: u64) {
        self.number.store(number, Ordering::Release);
    }

    /// Which send of its lane it is.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    /// Begins the send, unless the flight was withdrawn. Exactly one of begin and withdraw succeeds.
    pub(crate) fn begin(&self) -> bool {
        self.phase.compare_exchange(WAITING, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Stops the send from ever beginning, unless it has begun.
    pub(crate) fn withdraw(&self) -> bool {
        self.phase.compare_exchange(WAITING, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether it has neither begun nor been withdrawn.
    pub(crate) fn is_waiting(&self) -> bool {
        self.phase.load(Ordering::Acquire) == WAITING
    }

    /// Whether the lease still holds at `at`.
    pub(crate) fn holds_at(&self, at: Timestamp) -> bool {
        at.as_microsecond() < self.lease_until.load(Ordering::Acquire)
    }

    /// Whether the lease ends until `until`, and another does not have it already.
    fn ends_by(&self, until: Timestamp) -> bool {
        !self.holds_at(until) && self.lease_until.load(Ordering::Acquire) != LOST
    }

    fn key(&self) -> (OccurrenceId, u64) {
        (self.claimed.before.id, self.claimed.lease)
    }
}

/// Runs that somebody asked for by hand, until they are claimed.
#[derive(Default)]
pub(crate) struct Fired(Mutex<BTreeSet<OccurrenceId>>);

impl Fired {
    /// More than this have been claimed by other nodes, and are forgotten.
    const MAX: usize = 1024;

    pub(crate) fn add(&self, id: OccurrenceId) {
        let mut fired = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if fired.len() >= Self::MAX {
            fired.clear();
        }
        fired.insert(id);
    }

    pub(crate) fn take(&self, id: OccurrenceId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }
}

/// The keys of one reminder's flights.
fn all_of(id: ReminderId) -> RangeInclusive<(OccurrenceId, u64)> {
    (OccurrenceId { reminder: id, run: 0 }, 0)..=(OccurrenceId { reminder: id, run: u32::MAX }, u64::MAX)
}

/// All flights of this node.
#[derive(Default)]
pub(crate) struct Flights {
    // Ordered, so that a simulated run is the same every time, and so that a reminder's flights are neighbours.
    flights: Mutex<BTreeMap<(OccurrenceId, u64), Arc<Flight>>>,
    landed: Notify,
}

impl Flights {
    pub(crate) fn add(&self, flight: &Arc<Flight>) {
        self.lock().insert(flight.key(), flight.clone());
    }

    pub(crate) fn remove<'a>(&self, settled: impl Iterator<Item = (&'a OccurrenceId, u64)>) {
        let mut flights = self.lock();
        for (id, lease) in settled {
            flights.remove(&(*id, lease));
        }
        drop(flights);
        self.landed.notify_waiters();
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Waits until flights have landed.
    pub(crate) fn landed(&self) -> tokio::sync::futures::Notified<'_> {
        self.landed.notified()
    }

    /// Withdraws what has not begun of one reminder.
    pub(crate) fn withdraw(&self, id: ReminderId) -> Vec<Arc<Flight>> {
        self.lock().range(all_of(id)).map(|(_, flight)| flight).filter(|flight| flight.withdraw()).cloned().collect()
    }

    /// Whether anything of this reminder is on its way.
    pub(crate) fn has(&self, id: ReminderId) -> bool {
        self.lock().range(all_of(id)).next().is_some()
    }

    /// Whether a send of this reminder has begun.
    pub(crate) fn has_begun(&self, id: ReminderId) -> bool {
        self.lock().range(all_of(id)).any(|(_, flight)| flight.phase.load(Ordering::Acquire) == BEGUN)
    }

    /// Withdraws all that has not begun.
    pub(crate) fn withdraw_all(&self) -> Vec<Arc<Flight>> {
        self.lock().values().filter(|flight| flight.withdraw()).cloned().collect()
    }

    /// The leases to keep alive: those that end until `until`, unless they are known to be lost.
    pub(crate) fn leases(&self, until: Timestamp) -> Vec<(OccurrenceId, u64)> {
        self.lock().iter().filter(|(_, flight)| flight.ends_by(until)).map(|(key, _)| *key).collect()
    }

    /// Whether the lease of any of them ends until `until`.
    pub(crate) fn end_by(&self, until: Timestamp) -> bool {
        self.lock().values().any(|flight| flight.ends_by(until))
    }

    /// Takes down that all leases but `lost` now hold until `until`.
    pub(crate) fn renewed(&self, leases: &[(OccurrenceId, u64)], lost: &[(OccurrenceId, u64)], until: Timestamp) {
        let flights = self.lock();
        for key in leases {
            if let Some(flight) = flights.get(key) {
                let until = if lost.contains(key) { LOST } else { until.as_microsecond() };
                flight.lease_until.store(until, Ordering::Release);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(OccurrenceId, u64), Arc<Flight>>> {
        // Nothing under this lock can panic half-way.
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
