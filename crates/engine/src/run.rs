//! Starting and stopping.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use punctual_core::clock::BoxFuture;
use punctual_core::decide::withdraw;
use punctual_core::store::StoreError;
use tokio::sync::mpsc;

use crate::command::{Engine, Inner};
use crate::{alarm, claim, dead, deliver, peers, settle, sweep};

/// How far a stop has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Everything runs.
    Running,
    /// Nothing new is claimed or begun.
    Stopping,
    /// Everything that was under way has been written down.
    Landed,
    /// The time for that is over.
    GivenUp,
}

/// A running engine. Dropping it leaves the engine running; [`Running::stop`] stops it in order.
pub struct Running {
    inner: Arc<Inner>,
    tasks: mpsc::Receiver<()>,
}

impl Engine {
    /// Starts firing: takes over what an earlier process left behind, then runs until stopped. Call it once.
    pub async fn start(&self) -> Result<Running, StoreError> {
        let inner = &self.inner;
        peers::beat::begin(inner).await?;
        let n_rescued = inner.store.rescue(&inner.settings.node, inner.clock.now()).await?;
        if n_rescued > 0 {
            tracing::info!(n_rescued, "took over deliveries that were cut off when an earlier process ended");
        }
        inner.read_dead().await?;
        let (alive, tasks) = mpsc::channel(1);
        let spawn = |task: BoxFuture<()>| {
            let alive = alive.clone();
            inner.runtime.spawn(Box::pin(async move {
                task.await;
                drop(alive);
            }));
        };
        let settlements = inner.settlements.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(settlements) = settlements {
            spawn(Box::pin(settle::run(inner.clone(), settlements)));
            spawn(Box::pin(deliver::run(inner.clone())));
            spawn(Box::pin(claim::run(inner.clone())));
            spawn(Box::pin(peers::beat::run(inner.clone())));
            spawn(Box::pin(peers::listen::run(inner.clone())));
            if let Some(alarm) = &inner.alarm {
                spawn(Box::pin(alarm::ring(inner.clone(), alarm.clone())));
                spawn(Box::pin(alarm::fill(inner.clone(), alarm.clone())));
                spawn(Box::pin(alarm::follow(inner.clone())));
            }
            spawn(Box::pin(sweep::renew::run(inner.clone())));
            spawn(Box::pin(sweep::fallback::run(inner.clone())));
            spawn(Box::pin(dead::run(inner.clone())));
            spawn(Box::pin(sweep::prune::run(inner.clone())));
        }
        Ok(Running { inner: inner.clone(), tasks })
    }
}

impl Running {
    /// Stops in order: claims nothing more, gives back what has not begun, lets sends in flight end within the grace, writes
    /// down what became of them.
    pub async fn stop(mut self) {
        let inner = &self.inner;
        inner.enter(Phase::Stopping);
        inner.timer.nudge();
        tokio::select! { biased;
            () = inner.land() => inner.enter(Phase::Landed),
            () = inner.clock.pause(inner.settings.stop_grace) => {
                let n_left = inner.flights.len();
                tracing::warn!(n_left, "stopped before every send had ended; those are looked at again at the next start");
                inner.enter(Phase::GivenUp);
            }
        }
        while self.tasks.recv().await.is_some() {}
        inner.say_sums();
    }
}

impl Inner {
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    pub(crate) fn stopping(&self) -> bool {
        *self.phase.borrow() >= Phase::Stopping
    }

    pub(crate) fn landed(&self) -> bool {
        *self.phase.borrow() >= Phase::Landed
    }

    pub(crate) fn given_up(&self) -> bool {
        *self.phase.borrow() >= Phase::GivenUp
    }

    /// Waits until the engine is told to stop.
    pub(crate) async fn stopped(&self) {
        self.reached(Phase::Stopping).await;
    }

    /// Waits until nothing is under way any more, or nobody waits for it.
    pub(crate) async fn landed_all(&self) {
        self.reached(Phase::Landed).await;
    }

    async fn reached(&self, phase: Phase) {
        // The sender lives in `self`, so the wait cannot fail before the phase is reached.
        let _ = self.phase.subscribe().wait_for(|now| *now >= phase).await;
    }

    /// Gives back what has not begun and waits until the rest has been settled.
    async fn land(&self) {
        loop {
            let landed = self.flights.landed();
            tokio::pin!(landed);
            landed.as_mut().enable();
            // A claim may have been under way when the stop came; its flights are withdrawn when they are known.
            let claiming = self.claiming.load(Ordering::Acquire);
            let now = self.clock.now();
            for flight in self.flights.withdraw_all() {
                self.settle_later(withdraw(&flight.claimed, now), None);
            }
            if self.flights.len() == 0 && !claiming {
                return;
            }
            let look_again = self.clock.pause(std::time::Duration::from_millis(50));
            tokio::select! { biased;
                () = &mut landed => {}
                () = look_again => {}
            }
        }
    }
}
