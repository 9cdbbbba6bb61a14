//! punctual inside another program.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use punctual::embed::{Ask, Message, Punctual, Receipt};
//!
//! # async fn example() -> Result<(), punctual::embed::Error> {
//! let punctual = Punctual::open("reminders.db")
//!     .channel("print", |message: Message| async move {
//!         println!("{}", message.text);
//!         Ok(Receipt::default())
//!     })
//!     .start()
//!     .await?;
//! punctual.remind(Ask::new("stretch your legs").after(Duration::from_secs(60))).await?;
//! # punctual.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! It keeps the same promises as the server: what `Punctual::remind` has returned survives a
//! crash, and is delivered when the program next runs. The file is used by one process at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use punctual_channels::Closure;
pub use punctual_core::channel::{Channel, Message, Receipt, SendError};
pub use punctual_core::id::ReminderId;
use punctual_core::journal::Who;
use punctual_core::reach::{DefaultChannel, ME};
use punctual_core::reminder::{AckPolicy, Metadata, Misfire, OnUnknown, Reminder, ReminderStatus};
pub use punctual_core::reminder::{Address, Priority};
use punctual_core::schedule::Schedule;
pub use punctual_core::store::ReminderView;
use punctual_core::store::{By, ChangeError, StoreError};
pub use punctual_core::zone::Zone;
pub use punctual_engine::Engine;
use punctual_engine::{CreateError, Parts, Running, Settings, SystemClock, SystemRandom, TokioRuntime};
use punctual_store::sqlite::{self, OpenError, SqliteStore};
use serde_json::{Value, json};

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Something about the request is wrong.
    #[error(transparent)]
    Invalid(#[from] punctual_core::invalid::Invalid),
    /// The reminder's state does not allow it.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no channel to send by.
    #[error("no channel: add one with `channel` before `start`")]
    NoChannel,
}

impl From<CreateError> for Error {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Invalid { invalid, .. } => Self::Invalid(invalid),
            CreateError::Store(error) => Self::Store(error),
        }
    }
}

/// Reminders that run in this process.
pub struct Punctual {
    engine: Engine,
    running: Running,
    zone: Zone,
}

/// What an embedded punctual is made of: a file, channels, a zone.
pub struct Builder {
    path: PathBuf,
    channels: BTreeMap<String, Arc<dyn Channel>>,
    default_channel: Option<Address>,
    zone: Zone,
}

impl Punctual {
    /// Keeps reminders in the file at `path`, which is made if it is not there.
    pub fn open(path: impl AsRef<Path>) -> Builder {
        Builder { path: path.as_ref().to_owned(), channels: BTreeMap::new(), default_channel: None, zone: Zone::utc() }
    }

    /// Asks for a reminder. When this has returned, it survives a crash.
    pub async fn remind(&self, ask: Ask) -> Result<ReminderView, Error> {
        let now = self.engine.clock().now();
        let reminder = ask.reminder(ReminderId::new(now, self.engine.random().ten()), &self.zone, now)?;
        let mut views = self.engine.create(vec![reminder], "embedded", None).await?;
        Ok(views.remove(0))
    }

    /// Cancels a reminder. When this has returned, nothing of it is sent any more.
    pub async fn cancel(&self, id: ReminderId) -> Result<(), Error> {
        let by = By::new(Who::from("embedded").via("embedded"), self.engine.clock().now());
        self.engine.change(id, punctual_core::change::Change::Cancel, by).await?;
        Ok(())
    }

    /// The engine, for everything else.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Stops claiming, lets sends in flight end, and writes down what became of them.
    pub async fn stop(self) {
        self.running.stop().await;
    }
}

impl Builder {
    /// Hands reminders to `handle`, under the channel name `name`. The first channel is where
    /// reminders go that do not say where.
    #[must_use]
    pub fn channel<F, Sending>(self, name: &str, handle: F) -> Self
    where
        F: Fn(Message) -> Sending + Send + Sync + 'static,
        Sending: Future<Output = Result<Receipt, SendError>> + Send + 'static,
    {
        self.with_channel(name, Arc::new(Closure::new(handle)))
    }

    /// Adds a channel that is more than a function.
    #[must_use]
    pub fn with_channel(mut self, name: &str, channel: Arc<dyn Channel>) -> Self {
        self.default_channel.get_or_insert_with(|| Address::new(name, ""));
        self.channels.insert(name.to_owned(), channel);
        self
    }

    /// The zone of reminders that have none; UTC without it.
    #[must_use]
    pub fn timezone(mut self, zone: Zone) -> Self {
        self.zone = zone;
        self
    }

    /// Opens the file and starts. What was missed while nothing ran is delivered now.
    pub async fn start(self) -> Result<Punctual, Error> {
        let default_channel = self.default_channel.ok_or(Error::NoChannel)?;
        let store = SqliteStore::open(&self.path, sqlite::Options::default())?;
        let engine = Engine::new(Parts {
            store: Arc::new(store),
            channels: self.channels,
            clock: Arc::new(SystemClock::start()),
            random: Arc::new(SystemRandom),
            runtime: Arc::new(TokioRuntime::current()),
            settings: Settings { default_channel: DefaultChannel::chosen(default_channel), ..Settings::default() },
            alarm: None,
            opinion: None,
        });
        let running = engine.start().await?;
        Ok(Punctual { engine, running, zone: self.zone })
    }
}

/// What to be reminded of, and when: in an hour, unless told otherwise.
#[derive(Debug, Clone)]
pub struct Ask {
    message: String,
    user: String,
    schedule: Value,
    timezone: Option<Zone>,
    priority: Priority,
    to: Vec<Address>,
    only: bool,
    ack: Option<AckPolicy>,
}

impl Ask {
    /// Says `message`.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            user: ME.into(),
            schedule: json!({ "type": "once", "at": "1h" }),
            timezone: None,
            priority: Priority::Normal,
            to: Vec::new(),
            only: false,
            ack: None,
        }
    }

    /// Once, after `span`.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        self.at(format!("in {}", punctual_core::span::format(span)))
    }

    /// Once, at a time such as `2026-03-02T08:00:00+01:00` or `08:00`.
    #[must_use]
    pub fn at(self, time: impl Into<String>) -> Self {
        self.schedule(json!({ "type": "once", "at": time.into() }))
    }

    /// By a cron expression, such as `0 8 * * 1-5`.
    #[must_use]
    pub fn cron(self, expr: &str) -> Self {
        self.schedule(json!({ "type": "cron", "expr": expr }))
    }

    /// By any schedule, as the HTTP API takes it.
    #[must_use]
    pub fn schedule(mut self, schedule: Value) -> Self {
        self.schedule = schedule;
        self
    }

    /// For this user; `me` without it.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = user.into();
        self
    }

    /// With local times meant in this zone.
    #[must_use]
    pub fn timezone(mut self, zone: Zone) -> Self {
        self.timezone = Some(zone);
        self
    }

    /// With this priority.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// To this address; several are tried in order, and after them the user's others.
    #[must_use]
    pub fn to(mut self, channel: &str, address: &str) -> Self {
        self.to.push(Address::new(channel, address));
        self
    }

    /// To these addresses and no others of the user's.
    #[must_use]
    pub fn only(mut self) -> Self {
        self.only = true;
        self
    }

    /// And asks for an answer, with this question.
    #[must_use]
    pub fn ack(mut self, prompt: impl Into<String>) -> Self {
        self.ack = Some(AckPolicy { prompt: Some(prompt.into()), ..AckPolicy::default() });
        self
    }

    fn reminder(self, id: ReminderId, zone: &Zone, now: jiff::Timestamp) -> Result<Reminder, Error> {
        let timezone = self.timezone.unwrap_or_else(|| zone.clone());
        let schedule =
            Schedule::from_input(&self.schedule, &timezone, now).map_err(|invalid| invalid.within("schedule"))?;
        Ok(Reminder {
            id,
            user: self.user,
            name: None,
            message: self.message,
            schedule,
            timezone,
            priority: self.priority,
            to: self.to,
            only: self.only,
            ack: self.ack,
            escalate: Vec::new(),
            escalates: None,
            event: None,
            snooze_allowed: true,
            retries_max: 3,
            misfire: Misfire::default(),
            on_unknown: OnUnknown::default(),
            created_via: "library".into(),
            original_text: None,
            metadata: Metadata::default(),
            tags: Vec::new(),
            status: ReminderStatus::Active,
            created_at: now,
            updated_at: now,
        })
    }
}
