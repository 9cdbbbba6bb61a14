//! Addresses that their platform calls dead. They are not called again until somebody shows that they live.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
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
    known: Mutex<Known>,
    /// How many, so that nobody who is sent to waits for a lock because of none.
    n_known: AtomicUsize,
}

/// The dead addresses, and how many there are of each channel: counting them while somebody sends would keep the sender waiting.
#[derive(Default)]
struct Known {
    all: BTreeMap<Address, DeadAddress>,
    by_channel: BTreeMap<String, usize>,
}

impl Known {
    fn of(all: BTreeMap<Address, DeadAddress>) -> Self {
        let mut by_channel = BTreeMap::new();
        for address in all.keys() {
            *by_channel.entry(address.channel.clone()).or_default() += 1;
        }
        Self { all, by_channel }
    }

    fn add(&mut self, dead: DeadAddress) {
        if self.all.len() < KEPT_MAX
            && let Entry::Vacant(place) = self.all.entry(dead.address.clone())
        {
            *self.by_channel.entry(dead.address.channel.clone()).or_default() += 1;
            place.insert(dead);
        }
    }

    fn forget(&mut self, address: &Address) {
        if self.all.remove(address).is_some()
            && let Some(n) = self.by_channel.get_mut(&address.channel)
        {
            *n -= 1;
        }
    }
}

impl Dead {
    /// Since when and why an address is dead, if it is.
    pub(crate) fn get(&self, address: &Address) -> Option<DeadAddress> {
        if self.n_known.load(Ordering::Acquire) == 0 { None } else { self.lock().all.get(address).cloned() }
    }

    /// An address was found dead.
    pub(crate) fn add(&self, dead: DeadAddress) {
        let mut known = self.lock();
        known.add(dead);
        self.n_known.store(known.all.len(), Ordering::Release);
    }

    /// An address was revived.
    pub(crate) fn forget(&self, address: &Address) {
        let mut known = self.lock();
        known.forget(address);
        self.n_known.store(known.all.len(), Ordering::Release);
    }

    /// How many this node knows of, by channel.
    pub(crate) fn by_channel(&self) -> BTreeMap<String, usize> {
        self.lock().by_channel.clone()
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
        let known = Known::of(all);
        self.n_known.store(known.all.len(), Ordering::Release);
        *self.lock() = known;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
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

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn dead(channel: &str, address: &str) -> DeadAddress {
        DeadAddress { address: Address::new(channel, address), since: Timestamp::UNIX_EPOCH, reason: "gone".into() }
    }

    #[test]
    fn dead_addresses_are_counted_by_channel_as_they_die_and_are_revived() {
        let known = Dead::default();
        let counted = || known.by_channel().into_iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>();
        for (channel, address) in [("sms", "1"), ("sms", "2"), ("sms", "2"), ("webhook", "http://a")] {
            known.add(dead(channel, address));
        }
        assert_eq!(counted(), ["sms 2", "webhook 1"], "an address dies once");
        known.forget(&Address::new("sms", "1"));
        known.forget(&Address::new("sms", "never dead"));
        assert_eq!(counted(), ["sms 1", "webhook 1"]);
        let all = [dead("sms", "1"), dead("sms", "3")].map(|dead| (dead.address.clone(), dead));
        assert_eq!(Known::of(all.into()).by_channel["sms"], 2);
    }
}
