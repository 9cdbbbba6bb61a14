//! The nodes that use the store, for those who look after them.

use std::sync::atomic::Ordering;

use jiff::Timestamp;
use punctual_core::shard::Shards;
use punctual_core::store::{About, StoreError};

use crate::Engine;
use crate::dispatch::Dispatcher;
use crate::node::Node;
use crate::peers::Peers;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStanding {
    /// Its name.
    pub name: String,
    /// Whether it said a moment ago that it lives.
    pub is_alive: bool,
    /// When it was started.
    pub since: Timestamp,
    /// When it last said that it lives.
    pub seen_at: Timestamp,
    /// The shards that are its own.
    pub shards: Vec<u8>,
    /// What it says of itself.
    pub about: About,
}

/// All nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllNodes {
    /// By name.
    pub nodes: Vec<NodeStanding>,
    /// The clock by which they go.
    pub now: Timestamp,
    /// Whether there can be several.
    pub is_shared: bool,
}

/// What this node says of itself.
pub(crate) fn about(node: &Node, peers: &Peers, dispatcher: &Dispatcher) -> About {
    let is_shared = peers.is_shared();
    About {
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        clock_offset_micros: is_shared.then(|| peers.clock_offset.load(Ordering::Relaxed)),
        in_flight: u64::try_from(node.metrics.in_flight.get()).ok(),
        waiting: Some(dispatcher.n_waiting()),
        hears: is_shared.then(|| peers.hears()),
    }
}

impl Engine {
    /// The nodes that use the store. Where there can be one only, it is this one.
    pub async fn nodes(&self) -> Result<AllNodes, StoreError> {
        let parts = &self.parts;
        let own = &parts.node.settings.node;
        let Some(known) = parts.node.store.nodes().await? else {
            let now = parts.node.now();
            let this = NodeStanding {
                name: own.clone(),
                is_alive: true,
                since: parts.node.lateness.since(),
                seen_at: now,
                shards: listed(Shards::ALL),
                about: about(&parts.node, &parts.peers, &parts.dispatcher),
            };
            return Ok(AllNodes { nodes: vec![this], now, is_shared: false });
        };
        let living: Vec<String> =
            known.nodes.iter().filter(|node| node.is_alive).map(|node| node.name.clone()).collect();
        let standing = |node: punctual_core::store::KnownNode| NodeStanding {
            shards: if node.is_alive { listed(Shards::share(&node.name, &living)) } else { Vec::new() },
            name: node.name,
            is_alive: node.is_alive,
            since: node.since,
            seen_at: node.seen_at,
            about: node.about,
        };
        let nodes = known.nodes.into_iter().map(standing).collect();
        Ok(AllNodes { nodes, now: known.now, is_shared: true })
    }
}

fn listed(shards: Shards) -> Vec<u8> {
    (0..=u8::MAX).filter(|shard| shards.contains(*shard)).collect()
}
