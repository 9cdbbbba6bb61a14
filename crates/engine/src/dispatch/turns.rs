//! Limits of platforms that several nodes keep to together.
//!
//! A node keeps to every limit by itself, in memory. Where other nodes send, too, it also takes a turn in the store before a send
//! under a rate begins, and tells the others when it is asked to wait. A store that cannot be asked holds back nobody: claimed runs
//! go out at the node's own pace.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::Rate;
use punctual_core::reminder::Address;
use punctual_core::store::Throttle;

use super::Channels;
use super::addresses::bucket_of;
use crate::instant::plus;
use crate::node::{Node, lock};
use crate::peers::Peers;
use crate::system::Runtime;

/// How much is read again of what was read before: a wait that was told then may have been committed a little later.
const READ_AGAIN: SignedDuration = SignedDuration::from_secs(5);

/// A limit that the nodes share.
pub(super) struct SharedLimit {
    /// Its name in the store.
    name: String,
    rate: Rate,
    /// The bucket of the address, or the whole receiver.
    pub(super) bucket: Option<Address>,
}

/// The limits that a send to `to`, in this lane, falls under.
pub(super) fn limits_of(channels: &Channels, lane: &str, to: &Address) -> Vec<SharedLimit> {
    let receiver_rate = channels.get(&to.channel).and_then(|channel| channel.limits().rate);
    let by_receiver = receiver_rate.map(|rate| SharedLimit { name: lane.to_owned(), rate, bucket: None });
    let by_address = bucket_of(channels, to).and_then(|(key, rate)| {
        // A receiver and a bucket of the same name are two limits.
        let name = format!("{} @{}", key.channel, key.address);
        rate.map(|rate| SharedLimit { name, rate, bucket: Some(key) })
    });
    by_receiver.into_iter().chain(by_address).collect()
}

/// The turns that nodes take in the store, and the waits that they tell each other.
pub(super) struct Turns {
    node: Node,
    peers: Arc<Peers>,
    runtime: Arc<dyn Runtime>,
    /// When the waits that other nodes were asked for were last read.
    read_at: Mutex<Option<Timestamp>>,
}

impl Turns {
    pub(super) fn new(node: Node, peers: Arc<Peers>, runtime: Arc<dyn Runtime>) -> Self {
        Self { node, peers, runtime, read_at: Mutex::default() }
    }

    /// Whether other nodes can send, too.
    pub(super) fn are_shared(&self) -> bool {
        self.peers.is_shared()
    }

    /// Takes a turn under all `limits`, or none; returns how long each has to be waited for.
    pub(super) async fn take(&self, limits: &[SharedLimit]) -> Vec<Duration> {
        let limits = limits.iter().map(|limit| (limit.name.clone(), limit.rate)).collect();
        self.node.store.take_turns(limits).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "no turn could be taken in the store; this node keeps to the limit by itself");
            Vec::new()
        })
    }

    /// Tells the other nodes of a wait that was asked for.
    pub(super) fn tell(&self, throttle: Throttle) {
        let (channel, seconds) = (&throttle.channel, throttle.wait.as_secs());
        match throttle.is_address {
            true => tracing::info!(%channel, address = %throttle.name, seconds, "an address asked to be left alone"),
            false => tracing::info!(%channel, receiver = %throttle.name, seconds, "a receiver asked to be left alone"),
        }
        if !self.peers.is_shared() || self.peers.count() < 2 {
            return;
        }
        let store = self.node.store.clone();
        self.runtime.spawn(Box::pin(async move {
            if let Err(error) = store.tell_throttle(throttle).await {
                tracing::debug!(%error, "the others were not told of a wait; each will be asked by itself");
            }
        }));
    }

    /// Reads the waits that other nodes were asked for since they were last read.
    pub(super) async fn read(&self) -> Vec<Throttle> {
        let since = lock(&self.read_at).replace(self.node.now()).map(|at| plus(at, -READ_AGAIN));
        self.node.store.throttles(since).await.unwrap_or_else(|error| {
            *lock(&self.read_at) = None;
            tracing::debug!(%error, "cannot see which waits other nodes were asked for");
            Vec::new()
        })
    }
}
