//! Five guarantees, broken on purpose, to prove that the checkers notice.
//!
//! Nothing of this is a switch in the product: each saboteur stands between the engine and what it is handed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_core::change::Change;
use punctual_core::clock::{BoxFuture, Clock};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::State;
use punctual_core::store::{By, ChangeError, Changed, Create, Settled, Settlement, Store, StoreError};
use punctual_engine::Runtime;

use crate::sim::Sabotage;
use crate::tap::{Tap, Tapped};

/// Sends before the instant: the engine's clock runs ahead of the world's.
pub struct EarlyClock(pub SignedDuration);

impl Sabotage for EarlyClock {
    fn clock(&self, world: Arc<dyn Clock>) -> Arc<dyn Clock> {
        Arc::new(Ahead { world, by: self.0 })
    }
}

struct Ahead {
    world: Arc<dyn Clock>,
    by: SignedDuration,
}

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        self.world.now() + self.by
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<()> {
        self.world.sleep_until(at - self.by)
    }

    fn pause(&self, span: Duration) -> BoxFuture<()> {
        self.world.pause(span)
    }
}

/// Forgets the lease check: whoever has lost a lease uses the present one.
pub struct ForgedLease;

impl Sabotage for ForgedLease {
    fn store(&self, store: Arc<dyn Store>, _clock: Arc<dyn Clock>, _runtime: Arc<dyn Runtime>) -> Arc<dyn Store> {
        Tapped::before(store, Self)
    }
}

impl ForgedLease {
    /// The lease that holds now, whoever has it.
    async fn present(store: &Arc<dyn Store>, id: OccurrenceId) -> Result<Option<u64>, StoreError> {
        let trail = store.occurrence(id).await?;
        Ok(trail.and_then(|trail| match trail.occurrence.state {
            State::Processing { lease, .. } => Some(lease.number),
            _ => None,
        }))
    }
}

#[async_trait]
impl Tap for ForgedLease {
    async fn settle(
        &self,
        store: &Arc<dyn Store>,
        mut settlements: Vec<Settlement>,
        now: Timestamp,
    ) -> Result<Settled, StoreError> {
        for settlement in &mut settlements {
            if let Some(lease) = Self::present(store, settlement.id()).await? {
                settlement.lease = lease;
            }
        }
        store.settle(settlements, now).await
    }

    async fn renew(
        &self,
        store: &Arc<dyn Store>,
        leases: Vec<(OccurrenceId, u64)>,
        until: Timestamp,
    ) -> Result<Vec<(OccurrenceId, u64)>, StoreError> {
        store.renew(leases, until).await?;
        // Nobody has ever lost anything.
        Ok(Vec::new())
    }
}

/// Acknowledges before the commit: the create is written a little later, if the process lives.
pub struct AckBeforeCommit;

impl Sabotage for AckBeforeCommit {
    fn store(&self, store: Arc<dyn Store>, clock: Arc<dyn Clock>, runtime: Arc<dyn Runtime>) -> Arc<dyn Store> {
        Tapped::before(store, WriteLater { clock, runtime })
    }
}

struct WriteLater {
    clock: Arc<dyn Clock>,
    runtime: Arc<dyn Runtime>,
}

#[async_trait]
impl Tap for WriteLater {
    async fn create(&self, store: &Arc<dyn Store>, new: Create) -> Result<(), StoreError> {
        let (store, clock) = (store.clone(), self.clock.clone());
        self.runtime.spawn(Box::pin(async move {
            clock.pause(Duration::from_secs(5)).await;
            while store.create(new.clone()).await.is_err() {
                clock.pause(Duration::from_secs(1)).await;
            }
        }));
        Ok(())
    }
}

/// Drops a retry: what is to be tried again is put off for ever.
pub struct DroppedRetry;

impl Sabotage for DroppedRetry {
    fn store(&self, store: Arc<dyn Store>, _clock: Arc<dyn Clock>, _runtime: Arc<dyn Runtime>) -> Arc<dyn Store> {
        Tapped::before(store, Self)
    }
}

#[async_trait]
impl Tap for DroppedRetry {
    async fn settle(
        &self,
        store: &Arc<dyn Store>,
        mut settlements: Vec<Settlement>,
        now: Timestamp,
    ) -> Result<Settled, StoreError> {
        for settlement in &mut settlements {
            if let State::PendingRetry { retry_at, .. } = &mut settlement.occurrence.state {
                *retry_at += SignedDuration::from_hours(24 * 365);
            }
        }
        store.settle(settlements, now).await
    }
}

/// Sends after a cancel: the cancel is answered and not done.
pub struct IgnoredCancel;

impl Sabotage for IgnoredCancel {
    fn store(&self, store: Arc<dyn Store>, _clock: Arc<dyn Clock>, _runtime: Arc<dyn Runtime>) -> Arc<dyn Store> {
        Tapped::before(store, Self)
    }
}

#[async_trait]
impl Tap for IgnoredCancel {
    async fn change(
        &self,
        store: &Arc<dyn Store>,
        id: ReminderId,
        change: Change,
        by: By,
    ) -> Result<Changed, ChangeError> {
        if !matches!(change, Change::Cancel) {
            return store.change(id, change, by).await;
        }
        let view = store.reminder(id).await?.ok_or(ChangeError::NotFound)?;
        Ok(Changed { view, occurrence: None, wakes: Vec::new() })
    }
}
