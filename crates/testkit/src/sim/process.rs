//! One simulated process: the real engine, on a store that is slow and may fail.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::Channel;
use punctual_core::clock::Clock;
use punctual_core::reach::Fallback;
use punctual_core::reminder::Address;
use punctual_core::store::{Store, StoreError};
use punctual_engine::{Engine, Parts, Running, Runtime, Settings};

use super::ledger::Ledger;
use super::options::Options;
use super::receiver::{Receiver, ReceiverFaults};
use super::weather::Weather;
use crate::clock::ManualClock;
use crate::executor::{Executor, Group};
use crate::random::SeededRandom;
use crate::tap::{Tap, Tapped};

/// What all processes of a world share.
pub(super) struct Surroundings {
    pub(super) options: Options,
    pub(super) seed: u64,
    pub(super) clock: ManualClock,
    pub(super) executor: Executor,
    pub(super) ledger: Ledger,
    pub(super) weather: Arc<SeededRandom>,
    pub(super) receivers: Arc<SeededRandom>,
    pub(super) store_failing: Arc<std::sync::atomic::AtomicBool>,
    pub(super) receiver_faults: Arc<ReceiverFaults>,
}

/// One process.
pub(super) struct Process {
    pub(super) group: Group,
    pub(super) engine: Engine,
    running: Arc<Mutex<Option<Running>>>,
    /// When it goes on, if it stands still.
    pub(super) frozen_until: Option<SignedDuration>,
}

impl Process {
    /// Starts a process of its own group on `store`.
    pub(super) fn start(around: &Surroundings, group: Group, store: Arc<dyn Store>, alone: bool) -> Self {
        let runtime: Arc<dyn Runtime> = Arc::new(around.executor.runtime(group));
        let weather = Weather {
            clock: around.clock.clone(),
            random: around.weather.clone(),
            ledger: around.ledger.clone(),
            failing: around.store_failing.clone(),
            group,
        };
        let mut store = Tapped::before(store, weather);
        if !alone {
            store = Tapped::before(store, RescueNobody);
        }
        let mut clock: Arc<dyn Clock> = Arc::new(around.clock.clone());
        if let Some(sabotage) = &around.options.sabotage {
            store = sabotage.store(store, clock.clone(), runtime.clone());
            clock = sabotage.clock(clock);
        }
        let random = Arc::new(SeededRandom::stream(around.seed, &format!("engine {group}")));
        let limits = if around.options.tight {
            Settings { batch_max: 2, backlog_batch: 2, in_flight_max: 6, sends_max: 2, ..Settings::default() }
        } else {
            Settings::default()
        };
        let settings = Settings {
            node: format!("node-{group}"),
            fallback: Fallback::chosen(Address::new("phone", "nobody in particular")),
            // Two engines learn of each other's leases by the sweep alone.
            fallback_interval: Duration::from_secs(if alone { 300 } else { 20 }),
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
        });
        let running = Arc::new(Mutex::new(None));
        around.executor.spawn(group, Box::pin(boot(engine.clone(), around.clock.clone(), running.clone())));
        Self { group, engine, running, frozen_until: None }
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
    let receiver = |concurrency| -> Arc<dyn Channel> {
        Arc::new(Receiver {
            clock: around.clock.clone(),
            random: around.receivers.clone(),
            ledger: around.ledger.clone(),
            faults: around.receiver_faults.clone(),
            group,
            concurrency,
        })
    };
    BTreeMap::from([("phone".to_owned(), receiver(1)), ("mail".to_owned(), receiver(64))])
}

/// A SQLite file has one owner, so its rescue takes over every lease there is. With two engines on one file it must not.
struct RescueNobody;

#[async_trait]
impl Tap for RescueNobody {
    async fn rescue(&self, _store: &Arc<dyn Store>, _node: &str, _now: Timestamp) -> Result<usize, StoreError> {
        Ok(0)
    }
}
