//! The runs that this node holds a lease for.
//!
//! A flight is a claimed occurrence between its claim and its settle. Until its send begins it can be withdrawn: that is how a
//! cancel can still succeed in the moments before the instant, although the lease has been taken.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::Timestamp;
use prometheus_client::metrics::gauge::Gauge;
use punctual_core::clock::kept_micros;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::store::Claimed;
use tokio::sync::Notify;

use crate::node::lock;

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// The end of a lease that another has taken.
const LOST: i64 = i64::MIN;

/// How a run was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    /// Its moment came.
    Timer,
    /// The node whose shard it is was late.
    Peer,
    /// It was overdue when this node looked.
    Recovery,
    /// The safety sweep found it.
    Fallback,
    /// An alarm in Redis rang.
    Redis,
    /// Somebody asked for it by hand.
    Manual,
}

impl Via {
    /// The metrics' word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Peer => "peer",
            Self::Recovery => "recovery",
            Self::Fallback => "fallback",
            Self::Redis => "redis",
            Self::Manual => "manual",
        }
    }
}

/// A claimed occurrence on its way.
pub(crate) struct Flight {
    pub(crate) claimed: Claimed,
    /// How it was noticed.
    pub(crate) via: Via,
    /// The receiver whose turn it waits for.
    pub(crate) lane: Arc<str>,
    phase: AtomicU8,
    lease_until: AtomicI64,
    /// Not sent before this, because its address or receiver has to be waited for; in microseconds.
    not_before: AtomicI64,
    /// Which send of its lane it is.
    number: AtomicU64,
    /// The flights that go out in the same message.
    also: Mutex<Vec<Arc<Flight>>>,
}

impl Flight {
    pub(crate) fn new(claimed: Claimed, via: Via, lane: Arc<str>) -> Arc<Self> {
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

    /// When the send may begin. A run that has not reached its person yet is never sent before it is due, also when the clock was
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

    /// Takes the flights that were to go out in the same message; they are its no longer.
    pub(crate) fn part(&self) -> Vec<Arc<Self>> {
        std::mem::take(&mut *self.also())
    }

    fn also(&self) -> MutexGuard<'_, Vec<Arc<Self>>> {
        lock(&self.also)
    }

    /// Lets it wait for its turn.
    pub(crate) fn wait_until(&self, at: Timestamp) {
        // Rounded up: a flight that comes a moment before its turn would be put aside again at once, over and over.
        self.not_before.store(kept_micros(at), Ordering::Release);
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
    pub(crate) fn has_lease_at(&self, at: Timestamp) -> bool {
        at.as_microsecond() < self.lease_until.load(Ordering::Acquire)
    }

    /// Whether the lease ends until `until`, and another does not have it already.
    fn ends_by(&self, until: Timestamp) -> bool {
        !self.has_lease_at(until) && self.lease_until.load(Ordering::Acquire) != LOST
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
        let mut fired = lock(&self.0);
        if fired.len() >= Self::MAX {
            fired.clear();
        }
        fired.insert(id);
    }

    pub(crate) fn take(&self, id: OccurrenceId) -> bool {
        lock(&self.0).remove(&id)
    }
}

/// The keys of one reminder's flights.
fn all_of(id: ReminderId) -> RangeInclusive<(OccurrenceId, u64)> {
    (OccurrenceId { reminder: id, run: 0 }, 0)..=(OccurrenceId { reminder: id, run: u32::MAX }, u64::MAX)
}

/// All flights of this node.
pub(crate) struct Flights {
    // Ordered, so that a simulated run is the same every time, and so that a reminder's flights are neighbours.
    flights: Mutex<BTreeMap<(OccurrenceId, u64), Arc<Flight>>>,
    landed: Notify,
    /// A claim is under way whose flights are not among these yet.
    is_claiming: AtomicBool,
    n_gauge: Gauge,
}

impl Flights {
    /// None yet; `n_gauge` shows how many there are.
    pub(crate) fn new(n_gauge: Gauge) -> Self {
        Self { flights: Mutex::default(), landed: Notify::new(), is_claiming: AtomicBool::new(false), n_gauge }
    }

    /// A claim begins. It ends with [`Flights::add`], or with [`Flights::end_claim`] if it fails.
    pub(crate) fn begin_claim(&self) {
        self.is_claiming.store(true, Ordering::Release);
    }

    pub(crate) fn end_claim(&self) {
        self.is_claiming.store(false, Ordering::Release);
    }

    /// Whether a claim is under way whose flights nobody knows yet.
    pub(crate) fn is_claiming(&self) -> bool {
        self.is_claiming.load(Ordering::Acquire)
    }

    /// Adds all flights of a claim, which ends with that.
    pub(crate) fn add(&self, claimed: &[Arc<Flight>]) {
        let mut flights = self.lock();
        flights.extend(claimed.iter().map(|flight| (flight.key(), flight.clone())));
        self.n_gauge.set(flights.len() as i64);
        drop(flights);
        self.end_claim();
    }

    pub(crate) fn remove(&self, settled: impl Iterator<Item = (OccurrenceId, u64)>) {
        let mut flights = self.lock();
        for lease in settled {
            flights.remove(&lease);
        }
        self.n_gauge.set(flights.len() as i64);
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

    /// Withdraws the flights of one reminder that have not begun.
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

    /// Withdraws all flights that have not begun.
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
        lock(&self.flights)
    }
}
