//! Several nodes on one store in memory, in one thread, with time in the test's hand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::SignedDuration;
use punctual_core::channel::Channel;
use punctual_core::store::Store;
use punctual_engine::{Engine, Parts, Running, Settings};

use crate::clock::ManualClock;
use crate::executor::{Executor, Group};
use crate::memory::MemoryStore;
use crate::random::SeededRandom;
use crate::sample::instant;
use crate::story::BEGIN;
use crate::tap::{Tap, Tapped};

/// Engines that share a store. The first is node 1.
pub struct Nodes {
    /// What time it is.
    pub clock: ManualClock,
    executor: Executor,
    database: MemoryStore,
    engines: Vec<(Engine, Option<Running>)>,
}

impl Nodes {
    /// Starts `n` nodes with these channels, each with a tap of its own before the store.
    ///
    /// # Panics
    /// If one does not start.
    pub fn start<T: Tap>(
        n: u32,
        channels: &BTreeMap<String, Arc<dyn Channel>>,
        tap: impl Fn(u32, &ManualClock) -> T,
    ) -> Self {
        Self::start_at(ManualClock::at(instant(BEGIN)), n, channels, &Settings::default(), tap)
    }

    /// Starts `n` nodes that go by `clock` and have these settings but for their names.
    ///
    /// # Panics
    /// If one does not start.
    pub fn start_at<T: Tap>(
        clock: ManualClock,
        n: u32,
        channels: &BTreeMap<String, Arc<dyn Channel>>,
        settings: &Settings,
        tap: impl Fn(u32, &ManualClock) -> T,
    ) -> Self {
        let database = MemoryStore::new(Arc::new(clock.clone()));
        let mut nodes = Self { clock, executor: Executor::default(), database, engines: Vec::new() };
        for group in 1..=n {
            let engine = Engine::new(Parts {
                store: Tapped::before(Arc::new(nodes.database.connect()), tap(group, &nodes.clock)),
                channels: channels.clone(),
                clock: Arc::new(nodes.clock.clone()),
                random: Arc::new(SeededRandom::new(u64::from(group))),
                runtime: Arc::new(nodes.executor.runtime(group)),
                settings: Settings { node: format!("node-{group}"), ..settings.clone() },
                alarm: None,
                opinion: None,
            });
            let starting = engine.clone();
            let running = nodes.run(group, async move { starting.start().await }).expect("it starts");
            nodes.engines.push((engine, Some(running)));
        }
        nodes
    }

    /// A node's engine.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn engine(&self, group: Group) -> &Engine {
        &self.engines[group as usize - 1].0
    }

    /// The store, without anything before it.
    pub fn store(&self) -> &dyn Store {
        &self.database
    }

    /// Ends a node in the middle of whatever it does.
    pub fn kill(&self, group: Group) {
        self.executor.kill(group);
    }

    /// Lets a node stand still, or go on.
    pub fn freeze(&self, group: Group, is_frozen: bool) {
        if is_frozen {
            self.executor.freeze(group);
        } else {
            self.executor.thaw(group);
        }
    }

    /// Stops a node in order.
    ///
    /// # Panics
    /// If it does not run.
    pub fn stop(&mut self, group: Group) {
        let running = self.engines[group as usize - 1].1.take().expect("it runs");
        self.run(group, running.stop());
        self.kill(group);
    }

    /// Lets time pass, instant by instant.
    pub fn advance(&self, span: SignedDuration) {
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
    ///
    /// # Panics
    /// If it waits for nothing.
    pub fn run<T: Send + 'static>(&self, group: Group, work: impl Future<Output = T> + Send + 'static) -> T {
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
