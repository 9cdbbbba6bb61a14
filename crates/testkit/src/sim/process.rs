//! One simulated process: the real engine, on a store that is slow and may fail.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::channel::Channel;
use punctual_core::clock::Clock;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::Address;
use punctual_core::store::Store;
use punctual_engine::{Engine, Parts, Running, Runtime, Settings};

use super::ledger::Ledger;
use super::listener::{self, Listener};
use super::node_clock::NodeClock;
use super::options::Options;
use super::presses::Presses;
use super::receiver::{Receiver, ReceiverFaults};
use super::weather::Weather;
use crate::clock::ManualClock;
use crate::executor::{Executor, Group};
use crate::random::SeededRandom;
use crate::tap::Tapped;

/// What all processes of a world share.
pub(super) struct Surroundings {
    pub(super) options: Options,
    pub(super) seed: u64,
    pub(super) clock: ManualClock,
    pub(super) executor: Executor,
    pub(super) ledger: Ledger,
    pub(super) weather: Arc<SeededRandom>,
    pub(super) receivers: Arc<SeededRandom>,
    pub(super) store_failing: Arc<AtomicBool>,
    pub(super) deaf: Arc<AtomicBool>,
    pub(super) receiver_faults: Arc<ReceiverFaults>,
    /// The platform of those who press buttons, if anybody does.
    pub(super) presses: Option<Arc<Presses>>,
}

/// One process.
pub(super) struct Process {
    pub(super) group: Group,
    pub(super) engine: Engine,
    running: Arc<Mutex<Option<Running>>>,
    /// When it goes on, if it stands still.
    pub(super) frozen_until: Option<SignedDuration>,
    /// Whether it cannot reach the store now,
    pub(super) cut_off: Arc<AtomicBool>,
    /// and until when.
    pub(super) cut_until: Option<SignedDuration>,
}

impl Process {
    /// Starts a process of its own group on `store`.
    pub(super) fn start(around: &Surroundings, group: Group, store: Arc<dyn Store>) -> Self {
        let options = &around.options;
        let is_alone = options.n_nodes == 1;
        let cut_off = Arc::default();
        let random = Arc::new(SeededRandom::stream(around.seed, &format!("engine {group}")));
        let runtime: Arc<dyn Runtime> = Arc::new(around.executor.runtime(group));
        let weather = Weather {
            clock: around.clock.clone(),
            random: around.weather.clone(),
            ledger: around.ledger.clone(),
            failing: around.store_failing.clone(),
            deaf: around.deaf.clone(),
            cut_off: Arc::clone(&cut_off),
            // A database that is near, so that what is late is late for another reason.
            slowest: if !is_alone && options.is_punctual() { 1_000 } else { 20_000 },
            group,
        };
        let mut store = Tapped::before(store, weather);
        let mut clock: Arc<dyn Clock> = Arc::new(around.clock.clone());
        if !is_alone {
            // By up to an hour, half a minute, or so little that a slow answer of the store's could explain it.
            let skew = SeededRandom::stream(around.seed, &format!("clock {group}"));
            let most = *skew.pick(&[3_600_000, 30_000, 30]);
            let millis = if options.skewed { skew.between(-most, most) } else { 0 };
            clock = Arc::new(NodeClock::ahead(&around.clock, SignedDuration::from_millis(millis)));
        }
        if let Some(sabotage) = &around.options.sabotage {
            store = sabotage.store(store, clock.clone(), runtime.clone());
            clock = sabotage.clock(clock);
        }
        let limits = if around.options.tight {
            Settings { batch_max: 2, backlog_batch: 2, in_flight_max: 6, sends_max: 2, ..Settings::default() }
        } else {
            Settings::default()
        };
        let settings = Settings {
            node: format!("node-{group}"),
            subscriptions: if options.subscribed { vec![listener::subscription()] } else { Vec::new() },
            default_channel: DefaultChannel::chosen(Address::new("phone", "nobody in particular")),
            ..limits
        };
        let engine = Engine::new(Parts {
            store,
            channels: channels(around, group),
            clock,
            random,
            runtime,
            settings,
            alarm: None,
            opinion: None,
        });
        let running = Arc::new(Mutex::new(None));
        around.executor.spawn(group, Box::pin(boot(engine.clone(), around.clock.clone(), running.clone())));
        Self { group, engine, running, frozen_until: None, cut_off, cut_until: None }
    }

    /// Whether it has started.
    pub(super) fn is_up(&self) -> bool {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Stops in order. Returns whether it had started at all.
    pub(super) fn stop(&self, executor: &Executor, stopped: Arc<Mutex<bool>>) -> bool {
        let Some(running) = self.running.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return false;
        };
        executor.spawn(
            self.group,
            Box::pin(async move {
                running.stop().await;
                *stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
            }),
        );
        true
    }
}

async fn boot(engine: Engine, clock: ManualClock, slot: Arc<Mutex<Option<Running>>>) {
    loop {
        match engine.start().await {
            Ok(running) => {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
                return;
            }
            Err(_) => clock.pause(Duration::from_secs(1)).await,
        }
    }
}

fn channels(around: &Surroundings, group: Group) -> BTreeMap<String, Arc<dyn Channel>> {
    let receiver = |concurrency, is_call, is_slow, presses: &Option<Arc<Presses>>| -> Arc<dyn Channel> {
        Arc::new(Receiver {
            clock: around.clock.clone(),
            random: around.receivers.clone(),
            ledger: around.ledger.clone(),
            faults: around.receiver_faults.clone(),
            group,
            concurrency,
            is_call,
            is_slow,
            presses: presses.clone(),
        })
    };
    let listener: Arc<dyn Channel> = Arc::new(Listener {
        clock: around.clock.clone(),
        random: around.receivers.clone(),
        ledger: around.ledger.clone(),
        group,
    });
    let channels = [
        ("phone", receiver(1, false, around.options.questions, &None)),
        ("mail", receiver(64, false, false, &around.presses)),
        ("call", receiver(64, true, false, &None)),
        (listener::CHANNEL, listener),
    ];
    channels.map(|(name, channel)| (name.to_owned(), channel)).into()
}
