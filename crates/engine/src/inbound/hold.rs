//! Which connections are this node's.
//!
//! The store says which node has which channel, for as long as that node lives. This node asks it when it starts, when a node that has
//! one is gone, when it may itself have been taken for dead, and with the safety sweep; else it asks nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use punctual_core::store::HeldConnection;
use tokio::sync::{Notify, watch};

use super::connect::Connection;
use super::standing::{Link, Standings};
use super::take::Taker;
use crate::dispatch::Channels;
use crate::node::{Node, lock};
use crate::peers::Peers;
use crate::system::Runtime;

/// A node whose last beat was answered longer ago than this takes itself for dead, a little before the others do.
const CUT_OFF_AFTER: Duration = Duration::from_millis(2500);
/// How long the store is left alone when it could not say who has which.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// The connections that this node has, as far as it knows.
pub(crate) struct Holds {
    known: Mutex<Known>,
    /// There is a reason to ask the store again.
    look: Notify,
}

#[derive(Default)]
struct Known {
    /// Which node has which channel.
    nodes: BTreeMap<String, String>,
    /// When the last beat began that was answered, by the clock's own time.
    beaten_at: Option<Duration>,
    /// This node has let go of everything until a beat is answered.
    is_cut_off: bool,
}

impl Holds {
    pub(crate) fn none() -> Self {
        Self { known: Mutex::default(), look: Notify::new() }
    }

    /// Learns from a beat, begun at `begun_at`, which nodes live.
    pub(crate) fn pulse(&self, nodes: &[String], begun_at: Duration) {
        let mut known = lock(&self.known);
        let silent_for = known.beaten_at.replace(begun_at).map_or(Duration::ZERO, |at| begun_at.saturating_sub(at));
        let was_cut_off = std::mem::take(&mut known.is_cut_off) || silent_for > CUT_OFF_AFTER;
        let is_gone = known.nodes.values().any(|holder| !nodes.contains(holder));
        if was_cut_off || is_gone {
            self.look.notify_one();
        }
    }

    /// Asks the store again who has which: another node may have one of this node's.
    pub(super) fn look_again(&self) {
        self.look.notify_one();
    }
}

/// Keeps this node's connections open, and lets go of those that are another's.
pub(crate) struct Holder {
    pub(crate) node: Node,
    pub(crate) channels: Arc<Channels>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) holds: Arc<Holds>,
    pub(crate) standings: Arc<Standings>,
    pub(crate) taker: Arc<Taker>,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) random: Arc<dyn punctual_core::clock::Random>,
}

impl Holder {
    pub(crate) async fn run(self: Arc<Self>) {
        let names = self.standings.names();
        if names.is_empty() {
            // A node of this name may have had connections before it was started again: other nodes take them.
            if self.peers.is_shared()
                && let Err(error) = self.node.store.hold(&self.node.settings.node, names).await
            {
                self.node.health.failed(&error);
            }
            return;
        }
        let connections: BTreeMap<String, watch::Sender<Option<HeldConnection>>> =
            names.iter().map(|name| (name.clone(), watch::Sender::new(None))).collect();
        for (name, held) in &connections {
            let connection = Connection { of: self.clone(), channel: name.clone(), held: held.subscribe() };
            self.runtime.spawn(Box::pin(connection.run()));
        }
        while !self.node.stopping() {
            let is_known = match self.node.store.hold(&self.node.settings.node, names.clone()).await {
                Ok(all) => {
                    self.follow(&connections, all);
                    true
                }
                Err(error) => {
                    self.node.health.failed(&error);
                    false
                }
            };
            let wait = if is_known { self.node.settings.fallback_interval } else { AGAIN_AFTER };
            tokio::select! { biased;
                () = self.node.stopped() => {}
                () = self.holds.look.notified() => {}
                () = self.cut_off() => {
                    // Other nodes may have them by now, and this node could not write down an answer anyway.
                    tracing::warn!("cut off from the database: connections to platforms are left to other nodes");
                    lock(&self.holds.known).is_cut_off = true;
                    connections.values().for_each(let_go);
                    self.beats_again().await;
                }
                () = self.node.clock.pause(wait) => {}
            }
        }
    }

    /// Opens the connections that are this node's, and closes those that are not.
    fn follow(&self, connections: &BTreeMap<String, watch::Sender<Option<HeldConnection>>>, all: Vec<HeldConnection>) {
        let own = &self.node.settings.node;
        // A channel that this node does not have is no business of its own, whoever had it last.
        let all: Vec<HeldConnection> = all.into_iter().filter(|held| connections.contains_key(&held.channel)).collect();
        lock(&self.holds.known).nodes = all.iter().map(|held| (held.channel.clone(), held.node.clone())).collect();
        for held in all {
            let Some(connection) = connections.get(&held.channel) else { continue };
            self.standings.held_by(&held.channel, &held.node);
            if held.node != *own {
                let_go(connection);
                let (metrics, now) = (&self.node.metrics, self.node.now());
                self.standings.link(metrics, &held.channel, Link::Elsewhere, None, now);
                continue;
            }
            connection.send_if_modified(|known| {
                // Under the same number it goes on as it is; how far it was read, it knows best itself.
                let is_new = known.as_ref().is_none_or(|known| known.lease != held.lease);
                if is_new {
                    *known = Some(held);
                }
                is_new
            });
        }
    }

    /// Waits until no beat of this node's has been answered for too long. Never, where no other node can be.
    async fn cut_off(&self) {
        loop {
            let beaten_at = lock(&self.holds.known).beaten_at;
            let Some(beaten_at) = beaten_at.filter(|_| self.peers.is_shared()) else {
                return std::future::pending().await;
            };
            let silent_for = self.node.clock.run_for().saturating_sub(beaten_at);
            if silent_for >= CUT_OFF_AFTER {
                return;
            }
            self.node.clock.pause(CUT_OFF_AFTER - silent_for).await;
        }
    }

    /// Waits until a beat is answered again, which is a reason to ask the store.
    async fn beats_again(&self) {
        tokio::select! { biased;
            () = self.node.stopped() => {}
            () = self.holds.look.notified() => {}
        }
    }
}

fn let_go(connection: &watch::Sender<Option<HeldConnection>>) {
    connection.send_if_modified(|known| known.take().is_some());
}
