//! Breaks that take two nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::State;
use punctual_core::shard::Shards;
use punctual_core::store::{Claim, Claims, JournalPage, JournalQuery, Settled, Settlement, Store, StoreError};

use crate::tap::Tap;

/// More nodes than a short world has.
const NODES_MAX: u32 = 8;

/// Forgets the lease check: a node that has lost a lease uses the present one.
pub(super) struct ForgedLease;

impl ForgedLease {
    /// The present lease, whichever node has it.
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
            if let Some(lease) = Self::present(store, settlement.occurrence.id).await? {
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
        // No lease ever counts as lost.
        Ok(Vec::new())
    }
}

/// Takes what other nodes have leased: their leases are over as soon as somebody claims.
pub(super) struct ClaimsLeased;

#[async_trait]
impl Tap for ClaimsLeased {
    async fn claim(&self, store: &Arc<dyn Store>, claim: Claim) -> Result<Claims, StoreError> {
        let others = (1..=NODES_MAX).map(|number| format!("node-{number}")).filter(|name| **name != *claim.node);
        for other in others {
            store.rescue(&other, claim.now).await?;
        }
        store.claim(Claim { shards: Shards::ALL, ..claim }).await
    }
}

/// Leases for a year: nobody takes over what a dead node has.
pub(super) struct EndlessLease;

#[async_trait]
impl Tap for EndlessLease {
    async fn claim(&self, store: &Arc<dyn Store>, claim: Claim) -> Result<Claims, StoreError> {
        let lease_until = claim.lease_until + SignedDuration::from_hours(365 * 24);
        store.claim(Claim { lease_until, ..claim }).await
    }
}

/// Gives nothing back that another node asks for.
pub(super) struct IgnoredRecall;

#[async_trait]
impl Tap for IgnoredRecall {
    async fn recalled(&self, _store: &Arc<dyn Store>) -> Result<Vec<ReminderId>, StoreError> {
        Ok(Vec::new())
    }
}

/// Forgets, when it takes over, that the platform can be asked: the run is sent as if nothing were known of it.
pub(super) struct ForgottenNote;

#[async_trait]
impl Tap for ForgottenNote {
    async fn claim(&self, store: &Arc<dyn Store>, claim: Claim) -> Result<Claims, StoreError> {
        let mut claims = store.claim(claim).await?;
        claims.to_send.iter_mut().for_each(|claimed| claimed.message_id = None);
        Ok(claims)
    }
}

/// Leaves out one entry of fifty where the journal is read.
#[derive(Default)]
pub(super) struct HoledPage(AtomicU64);

#[async_trait]
impl Tap for HoledPage {
    async fn journal(&self, store: &Arc<dyn Store>, query: JournalQuery) -> Result<JournalPage, StoreError> {
        let mut page = store.journal(query).await?;
        page.entries.retain(|_| self.0.fetch_add(1, Ordering::Relaxed) % 50 != 49);
        Ok(page)
    }
}
