//! How the parts of an engine are put together: each gets those of the others that it needs.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};

use punctual_core::clock::{BoxFuture, Random};
use punctual_core::opinion::Opinion;
use tokio::sync::{Notify, Semaphore};

use crate::alarm::{self, Alarms};
use crate::claim::Claimer;
use crate::commands::change::Changer;
use crate::dispatch::dead::{self, Dead};
use crate::dispatch::{Channels, Dispatcher};
use crate::events::{self, Planner};
use crate::flight::{Fired, Flights};
use crate::inbound::edit::Editor;
use crate::inbound::hold::{Holder, Holds};
use crate::inbound::standing::Standings;
use crate::inbound::take::Taker;
use crate::inbound::words::{OPINIONS_MAX, Words};
use crate::journal::{self, Journal};
use crate::lateness::{self, Lateness};
use crate::leases::Leases;
use crate::log::Log;
use crate::node::{Node, Stop};
use crate::outage::StoreHealth;
use crate::parts::{Parts, Wired};
use crate::peers::Peers;
use crate::peers::beat::Heartbeat;
use crate::peers::listen::Listener;
use crate::search::Indexer;
use crate::settle::{Settlements, Settler};
use crate::subscriptions::Teller;
use crate::sweep::{overdue, prune};
use crate::system::Runtime;
use crate::timer::Timer;
use crate::watches::Watchers;

/// Puts the parts together.
pub(crate) fn wire(parts: Parts) -> Wired {
    let opinion = parts.opinion.clone();
    let (wiring, settler) = Wiring::new(parts);
    let (fired, holds) = (Arc::new(Fired::default()), Arc::new(Holds::none()));
    let planner = wiring.planner();
    let heartbeat = wiring.heartbeat(&holds);
    let changer = wiring.changer(&fired);
    let Inward { editor, standings, words, taker, holder } = wiring.inward(&changer, holds, opinion);
    let watchers = Watchers::new(&wiring.node, &wiring.peers, &wiring.random);

    let mut tasks: Vec<BoxFuture<()>> = vec![
        Box::pin(settler.run()),
        Box::pin(wiring.dispatcher.clone().run()),
        Box::pin(wiring.claimer(fired, &planner).run()),
        Box::pin(heartbeat.clone().run()),
        Box::pin(wiring.listener(&planner).run()),
    ];
    tasks.extend(wiring.tasks());
    tasks.push(Box::pin(holder.run()));
    if wiring.node.settings.search {
        let indexer = Indexer { node: wiring.node.clone(), peers: wiring.peers.clone() };
        tasks.push(Box::pin(indexer.run()));
    }
    for _ in 0..events::PASSES {
        tasks.push(Box::pin(planner.clone().run()));
    }
    tasks.extend(wiring.tellers());
    for watcher in watchers.all() {
        tasks.push(Box::pin(watcher.clone().run()));
    }
    let Wiring { node, channels, timer, peers, flights: _, alarms, dispatcher, leases, dead, random, runtime } = wiring;
    Wired {
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
        tasks: Mutex::new(tasks),
    }
}

/// The parts that most others are made with.
struct Wiring {
    node: Node,
    channels: Arc<Channels>,
    timer: Arc<Timer>,
    peers: Arc<Peers>,
    flights: Arc<Flights>,
    alarms: Arc<Alarms>,
    dispatcher: Arc<Dispatcher>,
    leases: Arc<Leases>,
    dead: Arc<Dead>,
    random: Arc<dyn Random>,
    runtime: Arc<dyn Runtime>,
}

/// What takes answers from the platforms.
struct Inward {
    editor: Arc<Editor>,
    standings: Arc<Standings>,
    words: Arc<Words>,
    taker: Arc<Taker>,
    holder: Arc<Holder>,
}

impl Wiring {
    /// The parts that most others are made with, and the settler.
    fn new(parts: Parts) -> (Self, Settler) {
        let Parts { store, channels, clock, random, runtime, settings, alarm, opinion: _ } = parts;
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
            settings: Arc::new(settings),
        };
        let channels = Arc::new(channels);
        let flights = Arc::new(Flights::new(node.metrics.in_flight.clone()));
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
        let settler = Settler {
            node: node.clone(),
            flights: flights.clone(),
            timer: timer.clone(),
            alarms: alarms.clone(),
            settlements,
            receiver,
        };
        (Self { node, channels, timer, peers, flights, alarms, dispatcher, leases, dead, random, runtime }, settler)
    }

    fn planner(&self) -> Arc<Planner> {
        Arc::new(Planner {
            node: self.node.clone(),
            timer: self.timer.clone(),
            leases: self.leases.clone(),
            alarms: self.alarms.clone(),
            peers: self.peers.clone(),
            nudged: Notify::new(),
        })
    }

    fn heartbeat(&self, holds: &Arc<Holds>) -> Arc<Heartbeat> {
        Arc::new(Heartbeat {
            node: self.node.clone(),
            holds: holds.clone(),
            peers: self.peers.clone(),
            timer: self.timer.clone(),
            dispatcher: self.dispatcher.clone(),
            random: self.random.clone(),
            has_told_follows: false.into(),
        })
    }

    fn listener(&self, planner: &Arc<Planner>) -> Arc<Listener> {
        Arc::new(Listener {
            node: self.node.clone(),
            peers: self.peers.clone(),
            timer: self.timer.clone(),
            leases: self.leases.clone(),
            dispatcher: self.dispatcher.clone(),
            planner: planner.clone(),
            runtime: self.runtime.clone(),
        })
    }

    fn claimer(&self, fired: Arc<Fired>, planner: &Arc<Planner>) -> Claimer {
        let holding = self.channels.iter().filter(|(_, channel)| channel.holds_unknown());
        Claimer {
            node: self.node.clone(),
            timer: self.timer.clone(),
            flights: self.flights.clone(),
            fired,
            peers: self.peers.clone(),
            alarms: self.alarms.clone(),
            leases: self.leases.clone(),
            dispatcher: self.dispatcher.clone(),
            planner: planner.clone(),
            holding: holding.map(|(name, _)| name.clone()).collect(),
        }
    }

    fn changer(&self, fired: &Arc<Fired>) -> Arc<Changer> {
        Arc::new(Changer {
            node: self.node.clone(),
            timer: self.timer.clone(),
            leases: self.leases.clone(),
            fired: fired.clone(),
            peers: self.peers.clone(),
            alarms: self.alarms.clone(),
        })
    }

    fn inward(&self, changer: &Arc<Changer>, holds: Arc<Holds>, opinion: Option<Arc<dyn Opinion>>) -> Inward {
        let editor = Arc::new(Editor {
            node: self.node.clone(),
            channels: self.channels.clone(),
            dispatcher: self.dispatcher.clone(),
            runtime: self.runtime.clone(),
            n_shown: AtomicUsize::new(0),
        });
        let standings = Arc::new(Standings::of(&self.channels));
        let words = Arc::new(Words {
            node: self.node.clone(),
            changer: changer.clone(),
            editor: editor.clone(),
            opinion,
            opinions: Arc::new(Semaphore::new(OPINIONS_MAX)),
            engine: OnceLock::new(),
        });
        let taker = Arc::new(Taker {
            node: self.node.clone(),
            changer: changer.clone(),
            editor: editor.clone(),
            standings: standings.clone(),
            timer: self.timer.clone(),
            random: self.random.clone(),
            runtime: self.runtime.clone(),
            words: words.clone(),
        });
        let holder = Arc::new(Holder {
            node: self.node.clone(),
            channels: self.channels.clone(),
            peers: self.peers.clone(),
            holds,
            standings: standings.clone(),
            taker: taker.clone(),
            runtime: self.runtime.clone(),
            random: self.random.clone(),
        });
        Inward { editor, standings, words, taker, holder }
    }

    /// The tasks that are made of these parts alone.
    fn tasks(&self) -> Vec<BoxFuture<()>> {
        let Self { node, timer, peers, flights, alarms, dispatcher, leases, dead, .. } = self;
        let sweep = overdue::Sweep { node: node.clone(), timer: timer.clone(), flights: flights.clone() };
        vec![
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
        ]
    }

    /// Those who tell the receiver of each subscription.
    fn tellers(&self) -> Vec<BoxFuture<()>> {
        let Self { node, channels, peers, dispatcher, .. } = self;
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
}
