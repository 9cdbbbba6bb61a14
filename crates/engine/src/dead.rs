//! Addresses that their platform calls dead. They are not called again until somebody shows that they live.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::SendError;
use punctual_core::reminder::Address;
use punctual_core::store::{DeadAddress, StoreError};

use crate::command::{Engine, Inner};

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
    /// What is known of an address, if it is dead.
    pub(crate) fn get(&self, address: &Address) -> Option<DeadAddress> {
        if self.n_known.load(Ordering::Acquire) == 0 { None } else { self.lock().get(address).cloned() }
    }

    /// An address was found dead.
    pub(crate) fn note(&self, address: &Address, reason: &str, since: Timestamp) {
        let mut known = self.lock();
        if known.len() < KEPT_MAX {
            let dead = || DeadAddress { address: address.clone(), since, reason: reason.to_owned() };
            known.entry(address.clone()).or_insert_with(dead);
        }
        self.n_known.store(known.len(), Ordering::Release);
    }

    fn forget(&self, address: &Address) {
        let mut known = self.lock();
        known.remove(address);
        self.n_known.store(known.len(), Ordering::Release);
    }

    fn replace(&self, all: BTreeMap<Address, DeadAddress>) {
        self.n_known.store(all.len(), Ordering::Release);
        *self.lock() = all;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Address, DeadAddress>> {
        // Nothing under this lock can panic half-way.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Reads all dead addresses.
    pub(crate) async fn read_dead(&self) -> Result<(), StoreError> {
        let mut all = BTreeMap::new();
        loop {
            let after = all.last_key_value().map(|(address, _): (&Address, _)| address.clone());
            let page = self.store.dead_addresses(after, PAGE).await?;
            let n_read = page.len();
            all.extend(page.into_iter().map(|dead| (dead.address.clone(), dead)));
            if n_read < PAGE || all.len() >= KEPT_MAX {
                break;
            }
        }
        self.dead.replace(all);
        Ok(())
    }
}

/// Reads them again from time to time, where others may have learnt of more.
pub(crate) async fn run(inner: Arc<Inner>) {
    while !inner.stopping() {
        tokio::select! { biased;
            () = inner.stopped() => return,
            () = inner.clock.pause(READ_EVERY) => {}
        }
        if inner.peers.is_shared()
            && let Err(error) = inner.read_dead().await
        {
            inner.store_failed(&error);
        }
    }
}

impl Engine {
    /// Writes down that an address was found dead.
    pub(crate) async fn bury(&self, address: &Address, reason: &str) {
        let since = self.inner.clock.now();
        self.inner.dead.note(address, reason, since);
        let dead = DeadAddress { address: address.clone(), since, reason: reason.to_owned() };
        if let Err(error) = self.inner.store.mark_dead(dead).await {
            self.inner.store_failed(&error);
        }
    }

    /// Takes an address to be alive again; returns whether it was known to be dead.
    pub async fn revive(&self, address: &Address) -> Result<bool, StoreError> {
        let was_dead = self.inner.store.revive(address).await?;
        self.inner.dead.forget(address);
        Ok(was_dead)
    }
}

/// What somebody is told who sends to a dead address.
pub(crate) fn not_called(dead: &DeadAddress) -> SendError {
    // Not gone: nobody found that out now, and somebody may have revived it on another node.
    SendError::Refused(format!("not tried: dead since {}: {}", dead.since, dead.reason))
}
