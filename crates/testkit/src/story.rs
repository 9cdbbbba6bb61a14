//! A stage for engine tests that read like a story: advance the clock, expect a message.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_core::alarm::Alarm;
use punctual_core::change::Change;
use punctual_core::channel::Channel;
use punctual_core::clock::Clock;
use punctual_core::id::ReminderId;
use punctual_core::reminder::Reminder;
use punctual_core::store::{By, ChangeError, Changed, ReminderView, Store, StoreError, Trail};
use punctual_engine::{CreateError, Engine, Parts, Running, Settings};
use punctual_store::sqlite::{Options, SqliteStore};

use crate::clock::ManualClock;
use crate::executor::Executor;
use crate::phone::RecordingChannel;
use crate::random::SeededRandom;
use crate::tap::{Tap, Tapped};

/// The real engine on the real SQLite store, in one thread, with time in the test's hand.
pub struct Story {
    /// What time it is.
    pub clock: ManualClock,
    /// Where messages to `phone:…` arrive.
    pub phone: RecordingChannel,
    /// Where messages to `mail:…` arrive.
    pub mail: RecordingChannel,
    executor: Executor,
    settings: Settings,
    alarm: Option<Arc<dyn Alarm>>,
    is_down: Arc<AtomicBool>,
    n_calls: Arc<Calls>,
    path: PathBuf,
    _folder: tempfile::TempDir,
    process: Option<(Engine, Running)>,
}

/// How often each method of a store was called.
type Calls = Mutex<BTreeMap<&'static str, usize>>;

/// A store that fails while a test says so, and counts the calls that reach it.
struct Down {
    is_down: Arc<AtomicBool>,
    n_calls: Arc<Calls>,
}

#[async_trait]
impl Tap for Down {
    async fn before(&self, call: &'static str) -> Result<(), StoreError> {
        if self.is_down.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable("it is down".into()));
        }
        *self.n_calls.lock().unwrap_or_else(PoisonError::into_inner).entry(call).or_default() += 1;
        Ok(())
    }
}

/// Every story begins here.
pub const BEGIN: &str = "2026-05-04T08:00:00Z";

impl Default for Story {
    fn default() -> Self {
        Self::with(Settings::default())
    }
}

impl Story {
    /// A story whose engine has these settings.
    ///
    /// # Panics
    /// If there is no place for a temporary file.
    pub fn with(settings: Settings) -> Self {
        Self::begin(settings, None)
    }

    /// A story whose engine has an alarm.
    ///
    /// # Panics
    /// If there is no place for a temporary file.
    pub fn with_alarm(alarm: Arc<dyn Alarm>) -> Self {
        Self::begin(Settings::default(), Some(alarm))
    }

    fn begin(settings: Settings, alarm: Option<Arc<dyn Alarm>>) -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no place for a temporary file: {error}"));
        let mut story = Self {
            clock: ManualClock::at(crate::sample::instant(BEGIN)),
            phone: RecordingChannel::default(),
            mail: RecordingChannel::default(),
            executor: Executor::default(),
            settings,
            alarm,
            is_down: Arc::default(),
            n_calls: Arc::default(),
            path: folder.path().join("story.db"),
            _folder: folder,
            process: None,
        };
        story.start();
        story
    }

    /// Starts the engine, as at the begin and after [`Story::crash`].
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(&mut self) {
        let store = SqliteStore::open(&self.path, Options { inline: true, durable: false });
        let store: Arc<dyn Store> = Arc::new(store.unwrap_or_else(|error| panic!("{error}")));
        let store =
            Tapped::before(store, Down { is_down: Arc::clone(&self.is_down), n_calls: Arc::clone(&self.n_calls) });
        let channels: [(String, Arc<dyn Channel>); 2] =
            [("phone".into(), Arc::new(self.phone.clone())), ("mail".into(), Arc::new(self.mail.clone()))];
        let engine = Engine::new(Parts {
            store,
            channels: BTreeMap::from(channels),
            clock: Arc::new(self.clock.clone()),
            random: Arc::new(SeededRandom::new(1)),
            runtime: Arc::new(self.executor.runtime(1)),
            settings: self.settings.clone(),
            alarm: self.alarm.clone(),
            opinion: None,
        });
        let starting = engine.clone();
        let running = self.run(async move { starting.start().await });
        self.process = Some((engine, running.unwrap_or_else(|error| panic!("{error}"))));
    }

    /// Makes the store fail whatever it is asked, or work again.
    pub fn store_is_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::Release);
    }

    /// How many calls of a method have reached the store.
    pub fn n_calls(&self, method: &str) -> usize {
        self.n_calls.lock().unwrap_or_else(PoisonError::into_inner).get(method).copied().unwrap_or(0)
    }

    /// Ends the process in the middle of whatever it does.
    pub fn crash(&mut self) {
        self.executor.kill(1);
        self.process = None;
    }

    /// Stops the process in order.
    ///
    /// # Panics
    /// If it does not run.
    pub fn stop(&mut self) {
        let (_, running) = self.process.take().expect("it runs");
        self.run(running.stop());
        self.executor.kill(1);
    }

    /// Lets time pass, instant by instant, so that everybody who sleeps wakes on time.
    pub fn advance(&self, span: SignedDuration) {
        let until = self.clock.elapsed() + span;
        loop {
            self.executor.run_until_idle();
            let left = until - self.clock.elapsed();
            if left <= SignedDuration::ZERO {
                return;
            }
            let to_next = self.clock.until_next().unwrap_or(left);
            self.clock.advance(to_next.clamp(SignedDuration::ZERO, left));
        }
    }

    /// Sets the clock, as an administrator would.
    pub fn set_clock(&self, at: Timestamp) {
        self.clock.set(at);
        self.executor.run_until_idle();
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Creates reminders.
    pub fn try_create(&self, reminders: Vec<Reminder>) -> Result<Vec<ReminderView>, CreateError> {
        let engine = self.engine().clone();
        self.run(async move { engine.create(reminders, "ann", None).await })
    }

    /// Creates one reminder.
    ///
    /// # Panics
    /// If it is refused.
    pub fn create(&self, reminder: &Reminder) -> ReminderView {
        let mut views = self.try_create(vec![reminder.clone()]).unwrap_or_else(|error| panic!("{error}"));
        views.remove(0)
    }

    /// Gives a command.
    pub fn change(&self, id: ReminderId, change: Change) -> Result<Changed, ChangeError> {
        let engine = self.engine().clone();
        let by = By::new("ann", self.now());
        self.run(async move { engine.change(id, change, by).await })
    }

    /// The runs of a reminder, oldest first.
    ///
    /// # Panics
    /// If the store fails.
    pub fn runs(&self, id: ReminderId) -> Vec<Trail> {
        let store = self.engine().store().clone();
        let mut trails = self.run(async move { store.occurrences(id, None, 100).await }).expect("the store works");
        trails.reverse();
        trails
    }

    /// The engine.
    ///
    /// # Panics
    /// If none runs.
    pub fn engine(&self) -> &Engine {
        &self.process.as_ref().expect("an engine runs").0
    }

    /// Runs `work` to its end. Only as much time passes as it needs.
    ///
    /// # Panics
    /// If it waits for nothing.
    pub fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let slot = Arc::new(Mutex::new(None));
        let done = slot.clone();
        self.executor.spawn(
            1,
            Box::pin(async move {
                let value = work.await;
                *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            }),
        );
        loop {
            self.executor.run_until_idle();
            if let Some(value) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return value;
            }
            let to_next = self.clock.until_next().expect("somebody waits for something");
            self.clock.advance(to_next.max(SignedDuration::ZERO));
        }
    }
}
