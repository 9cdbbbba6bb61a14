//! The parts of an engine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use punctual_core::alarm::Alarm;
use punctual_core::channel::Channel;
use punctual_core::clock::{BoxFuture, Clock, Random};
use punctual_core::model::lateness::Stretch;
use punctual_core::opinion::Opinion;
use punctual_core::store::{Store, StoreError};

use crate::alarm::Alarms;
use crate::commands::change::Changer;
use crate::dispatch::dead::Dead;
use crate::dispatch::standing::ChannelStanding;
use crate::dispatch::{Channels, Dispatcher};
use crate::events::Planner;
use crate::feeds::FeedsNudge;
use crate::inbound::edit::Editor;
use crate::inbound::outcome::Outcome;
use crate::inbound::standing::{Receiving, Standings};
use crate::inbound::take::Taker;
use crate::inbound::words::Words;
use crate::leases::Leases;
use crate::metrics::Metrics;
use crate::node::Node;
use crate::outcomes::Outcomes;
use crate::peers::beat::Heartbeat;
use crate::peers::{Peers, Standing};
use crate::settings::Settings;
use crate::system::Runtime;
use crate::timer::Timer;
use crate::watches::Watchers;
use crate::wiring::wire;

/// The parts that an engine is made of.
pub struct Parts {
    /// Where reminders live.
    pub store: Arc<dyn Store>,
    /// How they reach people, by name.
    pub channels: BTreeMap<String, Arc<dyn Channel>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Tasks.
    pub runtime: Arc<dyn Runtime>,
    /// Limits and delays.
    pub settings: Settings,
    /// A timer outside this process, if there is one.
    pub alarm: Option<Arc<dyn Alarm>>,
    /// Gives a second opinion on words that are no answer in any language; none where nobody is asked.
    pub opinion: Option<Arc<dyn Opinion>>,
}

/// The engine. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) parts: Arc<Wired>,
}

/// The parts that commands, the start and the stop use. Each task has its own.
pub(crate) struct Wired {
    pub(crate) node: Node,
    pub(crate) channels: Arc<Channels>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) timer: Arc<Timer>,
    pub(crate) alarms: Arc<Alarms>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) dead: Arc<Dead>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) changer: Arc<Changer>,
    pub(crate) planner: Arc<Planner>,
    pub(crate) editor: Arc<Editor>,
    pub(crate) taker: Arc<Taker>,
    pub(crate) words: Arc<Words>,
    pub(crate) standings: Arc<Standings>,
    pub(crate) heartbeat: Arc<Heartbeat>,
    pub(crate) leases: Arc<Leases>,
    /// Wakes those who read calendars.
    pub(crate) feeds: Arc<FeedsNudge>,
    pub(crate) watchers: Watchers,
    /// The tasks, until they are started.
    pub(crate) tasks: Mutex<Vec<BoxFuture<()>>>,
}

/// How the engine is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// The store's last failure, until something works again.
    pub store_error: Option<String>,
    /// How it stands among other nodes, if there can be others.
    pub standing: Option<Standing>,
}

impl Engine {
    /// Puts an engine together. Nothing fires before [`Engine::start`].
    pub fn new(parts: Parts) -> Self {
        let parts = Arc::new(wire(parts));
        parts.watchers.belong_to(&parts);
        // The only one who sets it.
        let _ = parts.words.engine.set(Arc::downgrade(&parts));
        Self { parts }
    }

    /// Where reminders live.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.node.store
    }

    /// Time.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.parts.node.clock
    }

    /// Randomness.
    pub fn random(&self) -> &Arc<dyn Random> {
        &self.parts.random
    }

    /// How reminders reach people.
    pub fn channels(&self) -> &BTreeMap<String, Arc<dyn Channel>> {
        &self.parts.channels
    }

    /// Its counters.
    pub fn metrics(&self) -> &Metrics {
        &self.parts.node.metrics
    }

    /// Limits and delays.
    pub fn settings(&self) -> &Settings {
        &self.parts.node.settings
    }

    /// The timer outside this process, if there is one.
    pub fn alarm(&self) -> Option<&Arc<dyn Alarm>> {
        self.parts.alarms.alarm()
    }

    /// How it is.
    pub fn health(&self) -> Health {
        Health { store_error: self.parts.node.health.error(), standing: self.parts.peers.standing() }
    }

    /// How each channel stands, by name.
    pub fn channel_standings(&self) -> Vec<ChannelStanding> {
        self.parts.dispatcher.standings()
    }

    /// What became of the last sends of a channel on this node.
    pub fn outcomes(&self, channel: &str) -> Outcomes {
        self.parts.node.outcomes.of(channel, self.parts.node.now())
    }

    /// When this run of the node began.
    pub fn since(&self) -> Timestamp {
        self.parts.node.lateness.since()
    }

    /// How late the sends of all nodes were in the stretches from `from` on and before `to`.
    pub async fn lateness(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Stretch>, StoreError> {
        let node = &self.parts.node;
        Ok(node.lateness.with_own(node.store.lateness(from, to).await?, from, to))
    }

    /// How many addresses this node knows to be dead, by channel: up to 100,000 in all.
    pub fn dead_by_channel(&self) -> BTreeMap<String, usize> {
        self.parts.dead.by_channel()
    }

    /// How answers come by a channel, if they do.
    pub fn receiving(&self, channel: &str) -> Option<Receiving> {
        self.parts.standings.get(channel)
    }

    /// Counts a request that says it comes from a channel's platform, and does not prove it; returns how many there were.
    pub fn count_forged(&self, channel: &str) -> u64 {
        self.parts.node.metrics.count_inbound(channel, Outcome::Forged);
        self.parts.standings.forged(channel)
    }
}
