//! Two nodes on one store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use punctual_core::change::Change;
use punctual_core::channel::Channel;
use punctual_core::clock::Clock;
use punctual_core::store::{By, StoreError};
use punctual_engine::{Engine, Parts, Settings};
use punctual_testkit::clock::ManualClock;
use punctual_testkit::executor::{Executor, Group};
use punctual_testkit::memory::MemoryStore;
use punctual_testkit::phone::RecordingChannel;
use punctual_testkit::random::SeededRandom;
use punctual_testkit::sample::{instant, once};
use punctual_testkit::story::BEGIN;
use punctual_testkit::tap::{Tap, Tapped};

/// A claim's answer arrives this long after the claim is written.
const CLAIM_ANSWERED_AFTER: Duration = Duration::from_millis(10);

struct SlowClaims(ManualClock);

#[async_trait]
impl Tap for SlowClaims {
    async fn after(&self, call: &'static str) -> Result<(), StoreError> {
        if call == "claim" {
            self.0.pause(CLAIM_ANSWERED_AFTER).await;
        }
        Ok(())
    }
}

struct Nodes {
    clock: ManualClock,
    executor: Executor,
    phone: RecordingChannel,
    engines: Vec<Engine>,
}

impl Nodes {
    fn start() -> Self {
        let (clock, executor) = (ManualClock::at(instant(BEGIN)), Executor::default());
        let mut nodes = Self { clock, executor, phone: RecordingChannel::default(), engines: Vec::new() };
        let database = MemoryStore::new(Arc::new(nodes.clock.clone()));
        for group in [1, 2] {
            let phone: Arc<dyn Channel> = Arc::new(nodes.phone.clone());
            let engine = Engine::new(Parts {
                store: Tapped::before(Arc::new(database.connect()), SlowClaims(nodes.clock.clone())),
                channels: [("phone".to_owned(), phone)].into(),
                clock: Arc::new(nodes.clock.clone()),
                random: Arc::new(SeededRandom::new(u64::from(group))),
                runtime: Arc::new(nodes.executor.runtime(group)),
                settings: Settings { node: format!("node-{group}"), ..Settings::default() },
                alarm: None,
            });
            let starting = engine.clone();
            nodes.run(group, async move { starting.start().await.map(drop) }).expect("it starts");
            nodes.engines.push(engine);
        }
        nodes
    }

    /// Lets time pass, instant by instant.
    fn advance(&self, span: SignedDuration) {
        let until = self.clock.elapsed() + span;
        loop {
            self.executor.run_until_idle();
            let left = until - self.clock.elapsed();
            if left <= SignedDuration::ZERO {
                return;
            }
            self.clock.advance(self.clock.until_next().unwrap_or(left).clamp(SignedDuration::ZERO, left));
        }
    }

    /// Runs `work` to its end. Only as much time passes as it needs.
    fn run<T: Send + 'static>(&self, group: Group, work: impl Future<Output = T> + Send + 'static) -> T {
        let slot = Arc::new(Mutex::new(None));
        let done = slot.clone();
        let task = async move { *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(work.await) };
        self.executor.spawn(group, Box::pin(task));
        loop {
            self.executor.run_until_idle();
            if let Some(value) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return value;
            }
            self.clock.advance(self.clock.until_next().expect("somebody waits for something"));
        }
    }
}

#[test]
fn a_cancel_succeeds_on_either_node_while_the_claim_is_being_answered() {
    for group in [1, 2] {
        let nodes = Nodes::start();
        nodes.advance(SignedDuration::from_secs(5));
        let now = nodes.clock.now();
        let reminder = once(1, now + SignedDuration::from_secs(60), now);
        let id = reminder.id;
        let (engine, created) = (nodes.engines[group as usize - 1].clone(), nodes.engines[0].clone());
        nodes.run(1, async move { created.create(vec![reminder], "ann", None).await }).expect("it is created");
        // The run is claimed 40 ms ahead.
        nodes.advance(SignedDuration::from_millis(59_965));
        let by = By::new("ann", nodes.clock.now());
        let cancelled = nodes.run(group, async move { engine.change(id, Change::Cancel, by).await });
        assert!(cancelled.is_ok(), "on node {group}: {:?}", cancelled.err());
        nodes.advance(SignedDuration::from_secs(60));
        nodes.phone.expect_silence();
    }
}
