//! Addresses that their platform calls dead. They are not called again until somebody shows that they live.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use punctual_core::channel::SendError;
use punctual_core::reminder::Address;
use punctual_core::store::{DeadAddress, Store, StoreError};

use crate::node::{Node, lock};
use crate::peers::Peers;

/// How many are read at a time.
const PAGE: usize = 1000;
/// The most that are kept in memory; beyond it, a dead address is called once more and says so itself.
const KEPT_MAX: usize = 100_000;
/// How often they are read again, where other nodes may have learnt of more.
const READ_EVERY: Duration = Duration::from_secs(60);

/// The dead addresses that this node knows of.
#[derive(Default)]
pub(crate) struct Dead {
    known: Mutex<BTreeMap<Address, DeadAddress>>,
    /// How many, so that nobody who is sent to waits for a lock because of none.
    n_known: AtomicUsize,
}

impl Dead {
    /// Since when and why an address is dead, if it is.
    pub(crate) fn get(&self, address: &Address) -> Option<DeadAddress> {
        if self.n_known.load(Ordering::Acquire) == 0 { None } else { self.lock().get(address).cloned() }
    }

    /// An address was found dead.
    pub(crate) fn add(&self, dead: DeadAddress) {
        let mut known = self.lock();
        if known.len() < KEPT_MAX {
            known.entry(dead.address.clone()).or_insert(dead);
        }
        self.n_known.store(known.len(), Ordering::Release);
    }

    /// An address was revived.
    pub(crate) fn forget(&self, address: &Address) {
        let mut known = self.lock();
        known.remove(address);
        self.n_known.store(known.len(), Ordering::Release);
    }

    /// Reads all dead addresses.
    pub(crate) async fn read(&self, store: &dyn Store) -> Result<(), StoreError> {
        let mut all = BTreeMap::new();
        loop {
            let after = all.last_key_value().map(|(address, _): (&Address, _)| address.clone());
            let page = store.dead_addresses(after, PAGE).await?;
            let n_read = page.len();
            all.extend(page.into_iter().map(|dead| (dead.address.clone(), dead)));
            if n_read < PAGE || all.len() >= KEPT_MAX {
                break;
            }
        }
        self.n_known.store(all.len(), Ordering::Release);
        *self.lock() = all;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Address, DeadAddress>> {
        lock(&self.known)
    }
}

/// Reads them again from time to time, where other nodes may have learnt of more.
pub(crate) async fn run(node: Node, dead: Arc<Dead>, peers: Arc<Peers>) {
    while node.pause(READ_EVERY).await {
        if peers.is_shared()
            && let Err(error) = dead.read(&*node.store).await
        {
            node.health.failed(&error);
        }
    }
}

/// The error of a send to a dead address.
pub(super) fn not_called(dead: &DeadAddress) -> SendError {
    // Not gone: nobody found that out now, and somebody may have revived it on another node.
    SendError::Refused(format!("not tried: dead since {}: {}", dead.since, dead.reason))
}
