//! Starting and stopping.

use std::sync::Arc;
use std::time::Duration;

use punctual_core::decide::withdraw;
use punctual_core::store::StoreError;
use tokio::sync::mpsc;

use crate::Engine;
use crate::flight::Flights;
use crate::node::{Node, Phase, lock};
use crate::parts::Wired;
use crate::settle::Settlements;

/// How often a stop looks again for flights that a claim has brought meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

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
        let Wired { node, timer, landing, .. } = &*self.parts;
        node.stop.enter(Phase::Stopping);
        timer.nudge();
        tokio::select! { biased;
            () = landing.land() => node.stop.enter(Phase::Landed),
            () = node.clock.pause(node.settings.stop_grace) => {
                let n_left = landing.flights.len();
                tracing::warn!(n_left, "stopped before every send had ended; those are looked at again at the next start");
                node.stop.enter(Phase::GivenUp);
            }
        }
        while self.tasks.recv().await.is_some() {}
        node.log.say_sums();
    }
}

/// The end of all flights.
pub(crate) struct Landing {
    pub(crate) node: Node,
    pub(crate) flights: Arc<Flights>,
    pub(crate) settlements: Arc<Settlements>,
}

impl Landing {
    /// Gives back the flights that have not begun and waits until the rest has been settled.
    async fn land(&self) {
        let Self { node, flights, settlements } = self;
        loop {
            let landed = flights.landed();
            tokio::pin!(landed);
            landed.as_mut().enable();
            // A claim may have been under way when the stop came; its flights are withdrawn when they are known.
            let is_claiming = flights.is_claiming();
            let now = node.now();
            for flight in flights.withdraw_all() {
                settlements.hand(withdraw(&flight.claimed, now));
            }
            if flights.len() == 0 && !is_claiming {
                return;
            }
            tokio::select! { biased;
                () = &mut landed => {}
                () = node.clock.pause(LOOK_AGAIN) => {}
            }
        }
    }
}
