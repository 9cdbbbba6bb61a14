//! Starting and stopping.

use std::sync::Arc;

use punctual_core::store::StoreError;
use tokio::sync::mpsc;

use crate::Engine;
use crate::node::{Phase, lock};
use crate::parts::Wired;

/// A running engine. Dropping it leaves the engine running; [`Running::stop`] stops it in order.
pub struct Running {
    parts: Arc<Wired>,
    tasks: mpsc::Receiver<()>,
}

impl Engine {
    /// Starts firing: takes over what an earlier process left behind, then runs until stopped. Call it once.
    pub async fn start(&self) -> Result<Running, StoreError> {
        let Wired { node, heartbeat, dead, runtime, .. } = &*self.parts;
        heartbeat.begin().await?;
        let n_rescued = node.store.rescue(&node.settings.node, node.now()).await?;
        if n_rescued > 0 {
            tracing::info!(n_rescued, "took over deliveries that were cut off when an earlier process ended");
        }
        dead.read(&*node.store).await?;
        let (alive, ended) = mpsc::channel(1);
        for task in std::mem::take(&mut *lock(&self.parts.tasks)) {
            let alive = alive.clone();
            runtime.spawn(Box::pin(async move {
                task.await;
                drop(alive);
            }));
        }
        Ok(Running { parts: self.parts.clone(), tasks: ended })
    }
}

impl Running {
    /// Stops in order: claims nothing more, gives back the flights that have not begun, lets sends under way end within the grace,
    /// and writes down what became of them.
    pub async fn stop(mut self) {
        let Wired { node, timer, leases, .. } = &*self.parts;
        node.stop.enter(Phase::Stopping);
        timer.nudge();
        tokio::select! { biased;
            () = leases.land() => node.stop.enter(Phase::Landed),
            () = node.clock.pause(node.settings.stop_grace) => {
                let n_left = leases.flights.len();
                tracing::warn!(n_left, "stopped before every send had ended; those are looked at again at the next start");
                node.stop.enter(Phase::GivenUp);
            }
        }
        while self.tasks.recv().await.is_some() {}
        node.log.say_sums();
    }
}
