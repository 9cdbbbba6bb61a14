//! The things that every task of a node has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::clock::Clock;
use punctual_core::store::Store;
use tokio::sync::watch;

use crate::journal::Journal;
use crate::lateness::Lateness;
use crate::log::{Kind, Log};
use crate::metrics::Metrics;
use crate::outage::StoreHealth;
use crate::outcomes::AllOutcomes;
use crate::settings::Settings;

/// The store and whether it works, the clock, the limits and delays, the counters and the log, what is known of the journal, how late sends are
/// and what became of them, and the signal to stop.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) health: Arc<StoreHealth>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) log: Arc<Log>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) lateness: Arc<Lateness>,
    pub(crate) outcomes: Arc<AllOutcomes>,
    pub(crate) stop: Stop,
}

impl Node {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stop.has_reached(Phase::Stopping)
    }

    /// Waits until the engine is told to stop.
    pub(crate) async fn stopped(&self) {
        self.stop.reached(Phase::Stopping).await;
    }

    /// Whether a line of this kind is said by itself; if not, it is counted.
    pub(crate) fn says(&self, kind: Kind) -> bool {
        self.log.says(kind)
    }

    /// Waits for `span`; returns whether the engine still runs then.
    pub(crate) async fn pause(&self, span: Duration) -> bool {
        tokio::select! { biased;
            () = self.stopped() => false,
            () = self.clock.pause(span) => true,
        }
    }
}

/// How far a stop has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Everything runs.
    Running,
    /// No run is claimed and no send begins any more.
    Stopping,
    /// Everything that was under way has been written down.
    Landed,
    /// The time for that is over.
    GivenUp,
}

/// The signal to stop, which all tasks share.
#[derive(Clone)]
pub(crate) struct Stop(Arc<watch::Sender<Phase>>);

impl Stop {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::channel(Phase::Running).0))
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.0.send_replace(phase);
    }

    pub(crate) fn has_reached(&self, phase: Phase) -> bool {
        *self.0.borrow() >= phase
    }

    pub(crate) async fn reached(&self, phase: Phase) {
        // The sender lives in `self`, so the wait cannot fail before the phase is reached.
        let _ = self.0.subscribe().wait_for(|now| *now >= phase).await;
    }
}

/// Locks a mutex under which nothing can panic half-way: all of the engine's are like that.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
