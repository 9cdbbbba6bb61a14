//! Writing down what became of each lease.
//!
//! A commit costs the same for one settlement as for many. So a result that comes alone is written at once, and results that
//! come in a stream are written together, every few milliseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use punctual_core::clock::BoxFuture;
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::{AttemptStatus, State};
use punctual_core::store::{Settlement, StoreError};
use tokio::sync::{Notify, mpsc, watch};

use crate::alarm::Alarms;
use crate::flight::{Flight, Flights};
use crate::instant::{plus, signed};
use crate::log::Kind;
use crate::node::{Node, Phase};
use crate::timer::Timer;

/// The most settlements in one transaction; more wait for the next.
const BATCH_MAX: usize = 1024;
/// So many are written without waiting for more.
const BATCH_GOOD: usize = 512;
/// After one write has begun, the next waits this long for more to write. A result is written within 50 ms, and a write takes a few.
const BATCH_EVERY: Duration = Duration::from_millis(30);
/// How long to wait before a batch that could not be written is tried again.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// The way to the settler. The number of flights bounds what waits in it.
pub(crate) struct Settlements {
    sender: mpsc::UnboundedSender<Settlement>,
    n_handed: AtomicU64,
    n_taken: AtomicU64,
    n_written: watch::Sender<u64>,
    /// Ends the settler's wait for more to write.
    enough: Notify,
    node: Node,
}

impl Settlements {
    pub(crate) fn new(node: Node) -> (Self, mpsc::UnboundedReceiver<Settlement>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (n_handed, n_taken, n_written) = (AtomicU64::new(0), AtomicU64::new(0), watch::Sender::new(0));
        (Self { sender, n_handed, n_taken, n_written, enough: Notify::new(), node }, receiver)
    }

    /// Hands over the end of a lease.
    pub(crate) fn hand(&self, settlement: Settlement) {
        let is_pressing = self.is_pressing(&settlement);
        let n_handed = self.n_handed.fetch_add(1, Ordering::AcqRel) + 1;
        // The settler outlives every sender; if it is gone, so is the process, and the lease will tell.
        let _ = self.sender.send(settlement);
        // Waking the settler for each result of a burst costs more than writing the result.
        let n_waiting = n_handed.saturating_sub(self.n_taken.load(Ordering::Acquire));
        if is_pressing || n_waiting >= BATCH_GOOD as u64 {
            self.enough.notify_one();
        }
    }

    /// Whether its run is to go another way at once: then it waits for no others.
    fn is_pressing(&self, settlement: &Settlement) -> bool {
        settlement.wake_at().is_some_and(|at| at < plus(self.node.now(), signed(BATCH_EVERY)))
    }

    /// Hands over what became of a flight that has begun, and counts it.
    pub(crate) fn hand_ended(&self, settlement: Settlement, flight: &Flight) {
        if let Some(end) = &settlement.attempt {
            let state = &settlement.occurrence.state;
            let metrics = &self.node.metrics;
            let (channel, now) = (&flight.claimed.to().channel, self.node.now());
            metrics.count_attempt(channel, end.status.as_str());
            let is_taken = matches!(end.status, AttemptStatus::Sent | AttemptStatus::Delivered);
            let error = (!is_taken).then(|| end.error.as_deref().unwrap_or("no reason was given"));
            self.node.outcomes.count(channel, now, error);
            if !is_taken {
                self.node.lateness.failed(now);
            }
            if matches!(state, State::Failed { .. }) {
                self.node.lateness.given_up(now);
            }
            metrics.count_occurrence(state.kind().as_str(), flight.via);
            let (occurrence, attempts) = (settlement.id(), end.number);
            match state {
                State::Failed { error, .. } if self.node.says(Kind::GaveUp) => {
                    tracing::error!(%occurrence, attempts, %error, "gave up: nothing is left to try");
                }
                State::PendingRetry { retry_at, .. } if self.node.says(Kind::Retrying) => {
                    tracing::info!(%occurrence, attempts, "failed, retrying at {retry_at}");
                }
                _ => {}
            }
        }
        self.hand(settlement);
    }

    /// Waits until everything that has been handed over by now is written.
    pub(crate) async fn caught_up(&self) {
        let n_handed = self.n_handed.load(Ordering::Acquire);
        // The sender lives in `self`.
        let _ = self.n_written.subscribe().wait_for(|n_written| *n_written >= n_handed).await;
    }
}

/// Which lease a settlement ends.
pub(crate) fn lease_of(settlement: &Settlement) -> (OccurrenceId, u64) {
    (settlement.id(), settlement.lease)
}

/// Writes settlements.
pub(crate) struct Settler {
    pub(crate) node: Node,
    pub(crate) flights: Arc<Flights>,
    pub(crate) timer: Arc<Timer>,
    pub(crate) alarms: Arc<Alarms>,
    pub(crate) settlements: Arc<Settlements>,
    pub(crate) receiver: mpsc::UnboundedReceiver<Settlement>,
}

impl Settler {
    /// Writes what is handed over until everything has landed.
    pub(crate) async fn run(mut self) {
        let mut batch = Vec::new();
        let mut next = self.node.clock.pause(Duration::ZERO);
        loop {
            tokio::select! { biased;
                n = self.receiver.recv_many(&mut batch, BATCH_MAX) => if n == 0 { return },
                () = self.node.stop.reached(Phase::Landed) => return,
            }
            self.fill(&mut batch, &mut next).await;
            next = self.node.clock.pause(BATCH_EVERY);
            let n_batch = batch.len() as u64;
            self.settlements.n_taken.fetch_add(n_batch, Ordering::AcqRel);
            self.write(std::mem::take(&mut batch)).await;
            self.settlements.n_written.send_modify(|n_written| *n_written += n_batch);
        }
    }

    /// Waits for more to write, until `next`; not when a run is to go another way at once.
    async fn fill(&mut self, batch: &mut Vec<Settlement>, next: &mut BoxFuture<()>) {
        let mut n_seen = 0;
        let mut is_over = false;
        loop {
            while batch.len() < BATCH_MAX
                && let Ok(settlement) = self.receiver.try_recv()
            {
                batch.push(settlement);
            }
            let is_pressing = |settlement: &Settlement| self.settlements.is_pressing(settlement);
            if is_over || batch.len() >= BATCH_GOOD || batch[n_seen..].iter().any(is_pressing) {
                return;
            }
            n_seen = batch.len();
            is_over = tokio::select! { biased;
                () = &mut *next => true,
                () = self.node.stopped() => true,
                () = self.settlements.enough.notified() => false,
            };
        }
    }

    /// Writes settlements until the store takes them. Fails only when the engine has been told to give up.
    async fn write(&self, mut settlements: Vec<Settlement>) {
        let node = &self.node;
        while !settlements.is_empty() {
            match node.store.settle(settlements.clone(), node.now()).await {
                Ok(settled) => {
                    node.health.works();
                    node.metrics.claims_lost.inc_by(settled.lost.len() as u64);
                    for id in &settled.lost {
                        tracing::warn!(occurrence = %id, "its lease was lost; the result was refused");
                    }
                    self.flights.remove(settlements.iter().map(lease_of));
                    node.journal.written();
                    self.timer.wake_at(settled.wakes);
                    self.alarms.planned(settled.next_runs);
                    return;
                }
                Err(StoreError::Broken(error)) if settlements.len() == 1 => {
                    // One row that cannot be written must not stop the others; its lease will run out and be looked at.
                    tracing::error!(occurrence = %settlements[0].id(), %error, "a result cannot be written");
                    self.timer.wake_at([plus(node.now(), signed(node.settings.lease_for))]);
                    self.flights.remove(settlements.iter().map(lease_of));
                    return;
                }
                Err(StoreError::Broken(error)) => {
                    tracing::error!(%error, "a batch of results cannot be written; trying them one by one");
                    let last = settlements.split_off(settlements.len() - 1);
                    Box::pin(self.write(last)).await;
                }
                Err(error) => {
                    node.health.failed(&error);
                    if node.stop.has_reached(Phase::GivenUp) {
                        return;
                    }
                    node.clock.pause(TRY_AGAIN_AFTER).await;
                }
            }
        }
    }
}
