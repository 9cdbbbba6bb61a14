//! Writing down what became of it.
//!
//! Settlements that wait are written together: while one batch is being committed, the next one gathers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use punctual_core::occurrence::State;
use punctual_core::store::{Settlement, StoreError};
use tokio::sync::{mpsc, watch};

use crate::claim::{plus, signed};
use crate::command::Inner;
use crate::flight::Flight;
use crate::say::Kind;

/// The most settlements in one transaction; more wait for the next.
const BATCH_MAX: usize = 1024;
/// In a burst this many are written together, so that several nodes that share a store do not each write a few at a time.
const BATCH_GOOD: usize = 512;
/// But what was sent is written down within this.
const GATHER: Duration = Duration::from_millis(100);
/// How long to wait before a batch that could not be written is tried again.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// The way to the settling loop. What waits in it is bounded by the number of flights.
pub(crate) struct Settler {
    sender: mpsc::UnboundedSender<Settlement>,
    n_handed: AtomicU64,
    n_written: watch::Sender<u64>,
}

impl Settler {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Settlement>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, n_handed: AtomicU64::new(0), n_written: watch::Sender::new(0) }, receiver)
    }

    /// Waits until everything that has been handed over by now is written.
    pub(crate) async fn caught_up(&self) {
        let n_handed = self.n_handed.load(Ordering::Acquire);
        // The sender lives in `self`.
        let _ = self.n_written.subscribe().wait_for(|n_written| *n_written >= n_handed).await;
    }
}

impl Inner {
    /// Hands a settlement to the settling loop.
    pub(crate) fn settle_later(&self, settlement: Settlement, sent: Option<&Flight>) {
        if let (Some(flight), Some(end)) = (sent, &settlement.ended) {
            self.count_attempt(&flight.claimed.to().channel, end.status.as_str());
            self.count_occurrence(settlement.state.kind().as_str(), flight.via);
            let (occurrence, attempts) = (settlement.occurrence, settlement.attempt);
            match &settlement.state {
                State::Failed { error, .. } if self.says(Kind::GaveUp) => {
                    tracing::error!(%occurrence, attempts, %error, "gave up: nothing is left to try");
                }
                State::PendingRetry { retry_at, .. } if self.says(Kind::Retrying) => {
                    tracing::info!(%occurrence, attempts, "failed, retrying at {retry_at}");
                }
                _ => {}
            }
        }
        self.settler.n_handed.fetch_add(1, Ordering::AcqRel);
        // The loop outlives every sender; if it is gone, so is the process, and the lease will tell.
        let _ = self.settler.sender.send(settlement);
    }

    /// Writes settlements until the store takes them. Fails only when the engine has been told to give up.
    pub(crate) async fn settle_now(&self, mut settlements: Vec<Settlement>) {
        while !settlements.is_empty() {
            match self.store.settle(settlements.clone(), self.clock.now()).await {
                Ok(settled) => {
                    self.store_works();
                    self.metrics.claims_lost.inc_by(settled.lost.len() as u64);
                    for id in &settled.lost {
                        tracing::warn!(occurrence = %id, "its lease was lost; the result was refused");
                    }
                    self.flights.remove(settlements.iter().map(|s| (&s.occurrence, s.lease)));
                    self.metrics.in_flight.set(self.flights.len() as i64);
                    self.timer.note(settled.wakes);
                    self.alarm_planned(settled.next_runs);
                    return;
                }
                Err(StoreError::Broken(error)) if settlements.len() == 1 => {
                    // One row that cannot be written must not stop the others; its lease will run out and be looked at.
                    tracing::error!(occurrence = %settlements[0].occurrence, %error, "a result cannot be written");
                    self.timer.note([plus(self.clock.now(), signed(self.settings.lease_for))]);
                    self.flights.remove(settlements.iter().map(|s| (&s.occurrence, s.lease)));
                    return;
                }
                Err(StoreError::Broken(error)) => {
                    tracing::error!(%error, "a batch of results cannot be written; trying them one by one");
                    let last = settlements.split_off(settlements.len() - 1);
                    Box::pin(self.settle_now(last)).await;
                }
                Err(error) => {
                    self.store_failed(&error);
                    if self.given_up() {
                        return;
                    }
                    self.clock.pause(TRY_AGAIN_AFTER).await;
                }
            }
        }
    }
}

/// Writes what is handed over until nobody can hand over any more.
pub(crate) async fn run(inner: Arc<Inner>, mut receiver: mpsc::UnboundedReceiver<Settlement>) {
    let mut batch = Vec::new();
    loop {
        tokio::select! { biased;
            n = receiver.recv_many(&mut batch, BATCH_MAX) => if n == 0 { return },
            () = inner.landed_all() => return,
        }
        gather(&inner, &mut receiver, &mut batch).await;
        let n_batch = batch.len() as u64;
        inner.settle_now(std::mem::take(&mut batch)).await;
        inner.settler.n_written.send_modify(|n_written| *n_written += n_batch);
    }
}

/// Waits for more to write, for as long as much is being sent.
async fn gather(inner: &Inner, receiver: &mut mpsc::UnboundedReceiver<Settlement>, batch: &mut Vec<Settlement>) {
    let mut gathered = inner.clock.pause(GATHER);
    while batch.len() < BATCH_GOOD && inner.is_burst() {
        let room = BATCH_MAX - batch.len();
        tokio::select! { biased;
            () = &mut gathered => return,
            () = inner.stopped() => return,
            n = receiver.recv_many(batch, room) => if n == 0 { return },
        }
    }
}
