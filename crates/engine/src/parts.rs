//! The parts of an engine, and how they are put together.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};

use jiff::Timestamp;
use punctual_core::alarm::Alarm;
use punctual_core::channel::Channel;
use punctual_core::clock::{BoxFuture, Clock, Random};
use punctual_core::model::lateness::Stretch;
use punctual_core::opinion::Opinion;
use punctual_core::store::{Store, StoreError};
use tokio::sync::{Notify, Semaphore};

use crate::alarm::{self, Alarms};
use crate::claim::Claimer;
use crate::commands::change::Changer;
use crate::dispatch::dead::{self, Dead};
use crate::dispatch::standing::ChannelStanding;
use crate::dispatch::{Channels, Dispatcher};
use crate::events::{self, Planner};
use crate::feeds::FeedsNudge;
use crate::flight::{Fired, Flights};
use crate::inbound::edit::Editor;
use crate::inbound::hold::{Holder, Holds};
use crate::inbound::outcome::Outcome;
use crate::inbound::standing::{Receiving, Standings};
use crate::inbound::take::Taker;
use crate::inbound::words::{OPINIONS_MAX, Words};
use crate::journal::{self, Journal};
use crate::lateness::{self, Lateness};
use crate::leases::Leases;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::node::{Node, Stop};
use crate::outage::StoreHealth;
use crate::outcomes::Outcomes;
use crate::peers::beat::Heartbeat;
use crate::peers::listen::Listener;
use crate::peers::{Peers, Standing};
use crate::search::Indexer;
use crate::settings::Settings;
use crate::settle::{Settlements, Settler};
use crate::subscriptions::Teller;
use crate::sweep::{overdue, prune};
use crate::system::Runtime;
use crate::timer::Timer;
use crate::watches::Watchers;

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
        let Parts { store, channels, clock, random, runtime, settings, alarm, opinion } = parts;
        let (channels, settings) = (Arc::new(channels), Arc::new(settings));
        let (timer, peers) = (Arc::new(Timer::new()), Arc::new(Peers::none()));
        let node = Node {
            store,
            health: Arc::new(StoreHealth::new(clock.clone(), timer.clone(), peers.clone())),
            log: Arc::new(Log::new(clock.clone(), runtime.clone())),
            journal: Arc::new(Journal::new()),
            lateness: Arc::new(Lateness::new(settings.node.clone(), clock.now())),
            outcomes: Arc::default(),
            metrics: Arc::default(),
            stop: Stop::new(),
            clock,
            settings,
        };
        let (flights, fired) = (Arc::new(Flights::new(node.metrics.in_flight.clone())), Arc::new(Fired::default()));
        let default_channel = node.settings.default_channel.address.channel.clone();
        let alarms = Arc::new(Alarms::new(alarm, node.clock.clone(), default_channel));
        let (settlements, receiver) = Settlements::new(node.clone());
        let (settlements, dead) = (Arc::new(settlements), Arc::new(Dead::default()));
        let dispatcher = Arc::new(Dispatcher::new(
            node.clone(),
            channels.clone(),
            runtime.clone(),
            random.clone(),
            settlements.clone(),
            dead.clone(),
            peers.clone(),
        ));
        let leases = Arc::new(Leases {
            node: node.clone(),
            flights: flights.clone(),
            settlements: settlements.clone(),
            peers: peers.clone(),
        });
        let holds = Arc::new(Holds::none());
        let heartbeat = Arc::new(Heartbeat {
            node: node.clone(),
            holds: holds.clone(),
            peers: peers.clone(),
            timer: timer.clone(),
            dispatcher: dispatcher.clone(),
            random: random.clone(),
            has_told_follows: false.into(),
        });
        let planner = Arc::new(Planner {
            node: node.clone(),
            timer: timer.clone(),
            leases: leases.clone(),
            alarms: alarms.clone(),
            peers: peers.clone(),
            nudged: Notify::new(),
        });
        let listener = Arc::new(Listener {
            node: node.clone(),
            peers: peers.clone(),
            timer: timer.clone(),
            leases: leases.clone(),
            dispatcher: dispatcher.clone(),
            planner: planner.clone(),
            runtime: runtime.clone(),
        });
        let settler = Settler {
            node: node.clone(),
            flights: flights.clone(),
            timer: timer.clone(),
            alarms: alarms.clone(),
            settlements: settlements.clone(),
            receiver,
        };
        let holding = channels.iter().filter(|(_, channel)| channel.holds_unknown());
        let claimer = Claimer {
            node: node.clone(),
            timer: timer.clone(),
            flights: flights.clone(),
            fired: fired.clone(),
            peers: peers.clone(),
            alarms: alarms.clone(),
            leases: leases.clone(),
            dispatcher: dispatcher.clone(),
            planner: planner.clone(),
            holding: holding.map(|(name, _)| name.clone()).collect(),
        };
        let sweep = overdue::Sweep { node: node.clone(), timer: timer.clone(), flights: flights.clone() };
        let changer = Arc::new(Changer {
            node: node.clone(),
            timer: timer.clone(),
            leases: leases.clone(),
            fired,
            peers: peers.clone(),
            alarms: alarms.clone(),
        });
        let editor = Arc::new(Editor {
            node: node.clone(),
            channels: channels.clone(),
            dispatcher: dispatcher.clone(),
            runtime: runtime.clone(),
            n_shown: AtomicUsize::new(0),
        });
        let standings = Arc::new(Standings::of(&channels));
        let words = Arc::new(Words {
            node: node.clone(),
            changer: changer.clone(),
            editor: editor.clone(),
            opinion,
            opinions: Arc::new(Semaphore::new(OPINIONS_MAX)),
            engine: OnceLock::new(),
        });
        let taker = Arc::new(Taker {
            node: node.clone(),
            changer: changer.clone(),
            editor: editor.clone(),
            standings: standings.clone(),
            timer: timer.clone(),
            random: random.clone(),
            runtime: runtime.clone(),
            words: words.clone(),
        });
        let holder = Arc::new(Holder {
            node: node.clone(),
            channels: channels.clone(),
            peers: peers.clone(),
            holds,
            standings: standings.clone(),
            taker: taker.clone(),
            runtime: runtime.clone(),
            random: random.clone(),
        });
        let mut tasks: Vec<BoxFuture<()>> = vec![
            Box::pin(settler.run()),
            Box::pin(dispatcher.clone().run()),
            Box::pin(claimer.run()),
            Box::pin(heartbeat.clone().run()),
            Box::pin(listener.run()),
            Box::pin(alarm::ring(node.clone(), alarms.clone(), flights.clone(), timer.clone())),
            Box::pin(alarm::fill(node.clone(), alarms.clone())),
            Box::pin(alarm::follow(node.clone(), alarms.clone(), peers.clone())),
            Box::pin(leases.clone().run()),
            Box::pin(journal::place(node.clone())),
            Box::pin(journal::tail(node.clone())),
            Box::pin(sweep.run()),
            Box::pin(dead::run(node.clone(), dead.clone(), peers.clone())),
            Box::pin(prune::run(node.clone())),
            Box::pin(lateness::run(node.clone(), dispatcher.clone())),
            Box::pin(holder.run()),
        ];
        if node.settings.search {
            tasks.push(Box::pin(Indexer { node: node.clone(), peers: peers.clone() }.run()));
        }
        for _ in 0..events::PASSES {
            tasks.push(Box::pin(planner.clone().run()));
        }
        tasks.extend(tellers(&node, &peers, &dispatcher, &channels));
        let watchers = Watchers::new(&node, &peers, &random);
        for watcher in watchers.all() {
            tasks.push(Box::pin(watcher.clone().run()));
        }
        let tasks = Mutex::new(tasks);
        let parts = Wired {
            node,
            channels,
            random,
            runtime,
            timer,
            alarms,
            peers,
            dead,
            dispatcher,
            changer,
            planner,
            editor,
            taker,
            words,
            standings,
            heartbeat,
            leases,
            feeds: Arc::default(),
            watchers,
            tasks,
        };
        let parts = Arc::new(parts);
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

/// Those who tell the receiver of each subscription.
fn tellers(
    node: &Node,
    peers: &Arc<Peers>,
    dispatcher: &Arc<Dispatcher>,
    channels: &BTreeMap<String, Arc<dyn Channel>>,
) -> Vec<BoxFuture<()>> {
    let mut tellers: Vec<BoxFuture<()>> = Vec::new();
    for subscription in node.settings.subscriptions.clone() {
        let Some(channel) = channels.get(&subscription.to.channel).cloned() else {
            let (name, channel) = (&subscription.name, &subscription.to.channel);
            tracing::error!(%name, %channel, "a subscription names a channel that is not there; it is not told");
            continue;
        };
        let (node, peers, dispatcher) = (node.clone(), peers.clone(), dispatcher.clone());
        tellers.push(Box::pin(Teller { node, peers, dispatcher, channel, subscription }.run()));
    }
    tellers
}
