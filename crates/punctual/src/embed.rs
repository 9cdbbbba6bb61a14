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
//! crash, and is delivered when the program next runs. The file is used by one process at a time. With
//! [`Punctual::connect`] reminders are kept in PostgreSQL, and any number of processes share them.
//!
//! docs/embedding.md goes through all of it: PostgreSQL, a timer in Redis, channels of one's own, watches and the stop.
//!
//! A program can let its own table be watched ([`Builder::watch`]): what is due there within a day is reminded of once.

/// Watches of a program's own tables.
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use async_trait::async_trait;
use punctual_channels::Closure;
use punctual_core::alarm::Alarm;
pub use punctual_core::change::Change;
pub use punctual_core::channel::{Channel, Limits, Message, Receipt, SendError};
use punctual_core::clock::Machine;
pub use punctual_core::id::ReminderId;
pub use punctual_core::invalid::Invalid;
use punctual_core::journal::Who;
use punctual_core::model::offset;
use punctual_core::reach::{DefaultChannel, ME};
use punctual_core::reminder::{AckPolicy, Metadata, Misfire, OnUnknown, Reminder, ReminderStatus};
pub use punctual_core::reminder::{Address, Priority};
use punctual_core::schedule::Schedule;
use punctual_core::scope::Scope;
use punctual_core::steps::Steps;
use punctual_core::store::{By, ChangeError, PutEvent, Store, StoreError};
pub use punctual_core::store::{EventView, ReminderView};
pub use punctual_core::zone::Zone;
use punctual_engine::{CreateError, Parts, Running, Settings, TokioRuntime, machine};
pub use punctual_engine::{Engine, Ran, WatchError};
use punctual_store::postgres::{self, PostgresStore};
use punctual_store::sqlite::{self, OpenError, SqliteStore};
use serde_json::{Map, Value, json};

use crate::http::{AskedEvent, UnsaidOfEvent, event_of};
use crate::redis::{Reminders, TimerError};

/// How many times a reminder is tried again that does not say it.
const RETRIES_MAX: u32 = 3;

pub use self::watch::Watch;

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database cannot be used.
    #[error(transparent)]
    Connect(#[from] postgres::OpenError),
    /// The URL of the Redis is wrong.
    #[error(transparent)]
    Redis(#[from] TimerError),
    /// Something about the request is wrong.
    #[error(transparent)]
    Invalid(#[from] Invalid),
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

/// Where an embedded punctual keeps its reminders.
enum Place {
    File(PathBuf),
    Postgres(String),
}

/// What an embedded punctual is made of: a file or a database, channels, a zone, watches.
pub struct Builder {
    place: Place,
    watches: Vec<(String, Watch)>,
    channels: BTreeMap<String, Arc<dyn Channel>>,
    default_channel: Option<Address>,
    redis: Option<String>,
    zone: Zone,
}

impl Punctual {
    /// Keeps reminders in the file at `path`, which is made if it is not there.
    pub fn open(path: impl AsRef<Path>) -> Builder {
        Builder::at(Place::File(path.as_ref().to_owned()))
    }

    /// Keeps reminders in the PostgreSQL at `url`, in a schema of their own. Other processes, and servers, may use it at the same time.
    pub fn connect(url: &str) -> Builder {
        Builder::at(Place::Postgres(url.to_owned()))
    }

    /// Runs a watch now, or joins the run that is going; returns when it has ended.
    pub async fn run_watch(&self, name: &str) -> Result<Ran, WatchError> {
        self.engine.run_watch(name).await
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
        self.change(id, Change::Cancel).await.map(drop)
    }

    /// Changes a reminder, or answers it: [`Change::Ack`], [`Change::Snooze`] and [`Change::Dismiss`] are what a person says. When this has
    /// returned, it survives a crash.
    pub async fn change(&self, id: ReminderId, change: Change) -> Result<ReminderView, Error> {
        let by = By::new(who(), self.engine.clock().now());
        Ok(self.engine.change(id, change, by).await?.view)
    }

    /// Writes or replaces an event of the application's, and plans its reminders. When this has returned, both survive a crash.
    pub async fn put_event(&self, event: EventAsk) -> Result<EventView, Error> {
        let EventAsk { key, fields } = event;
        let (now, steps) = (self.engine.clock().now(), &Steps::of_request(1));
        let unsaid = UnsaidOfEvent { zone: &self.zone, retries_max: RETRIES_MAX, now, steps };
        let AskedEvent { event, keeps_instances } = event_of(Value::Object(fields), Some(&key), unsaid)?;
        self.engine.put_events(vec![PutEvent { event, keeps_instances }], who(), None).await?;
        let put = self.engine.store().event(&key).await?;
        put.ok_or_else(|| Error::Store(StoreError::Broken(format!("the event {key} was removed again at once"))))
    }

    /// Removes an event and withdraws its reminders; says whether there was one.
    pub async fn remove_event(&self, key: &str) -> Result<bool, Error> {
        Ok(!self.engine.remove_events(vec![key.to_owned()], who()).await?.done.is_empty())
    }

    /// Writes or replaces the offsets for events below `path` that have none of their own, such as `guild:1/channel:2`; each offset is as the
    /// HTTP API takes it. Returns how many events are planned anew.
    pub async fn put_scope(&self, path: &str, offsets: Value) -> Result<u64, Error> {
        let offsets = offset::read_list("offsets", &offsets)?;
        let scope = Scope { path: path.parse()?, offsets, updated_at: self.engine.clock().now() };
        Ok(self.engine.put_scope(scope, who()).await?.n_events)
    }

    /// Removes a scope, so that events which depended on it depend on the next one up; says whether there was one.
    pub async fn remove_scope(&self, path: &str) -> Result<bool, Error> {
        Ok(self.engine.remove_scope(&path.parse()?, who()).await?.is_some())
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
    fn at(place: Place) -> Self {
        let (watches, channels) = (Vec::new(), BTreeMap::new());
        Self { place, watches, channels, default_channel: None, redis: None, zone: Zone::utc() }
    }

    /// Looks into a table of the program's own for what is due soon. A watch of the same name replaces the one before.
    #[must_use]
    pub fn watch(mut self, name: &str, watch: Watch) -> Self {
        self.watches.retain(|(known, _)| known != name);
        self.watches.push((name.to_owned(), watch));
        self
    }

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

    /// Adds a second timer, in the Redis at `url`, such as `redis://127.0.0.1:6379/0`. It holds no truth: reminders are as durable and as
    /// punctual without it, and nothing is late while it is away.
    #[must_use]
    pub fn redis(mut self, url: &str) -> Self {
        self.redis = Some(url.to_owned());
        self
    }

    /// The zone of reminders that have none; UTC without it.
    #[must_use]
    pub fn timezone(mut self, zone: Zone) -> Self {
        self.zone = zone;
        self
    }

    /// Opens the file or the database and starts. What was missed while nothing ran is delivered now.
    pub async fn start(self) -> Result<Punctual, Error> {
        let default_channel = self.default_channel.ok_or(Error::NoChannel)?;
        let machine = machine();
        let defaults = Settings::default();
        let (store, node): (Arc<dyn Store>, String) = match &self.place {
            Place::File(path) => {
                (Arc::new(SqliteStore::open(path, sqlite::Options::default())?), defaults.node.clone())
            }
            Place::Postgres(url) => {
                // A name that no other process has had: leases under it are this process's alone.
                let [a, b, c, d, ..] = machine.random.ten();
                let node = format!("{}-{a:02x}{b:02x}{c:02x}{d:02x}", std::process::id());
                (Arc::new(PostgresStore::open(url, &machine).await?), node)
            }
        };
        let watches = self.watches.iter().map(|(name, watch)| watch.defined(name, &machine));
        let settings = Settings {
            node,
            default_channel: DefaultChannel::chosen(default_channel),
            watches: watches.collect::<Result<_, _>>()?,
            ..defaults
        };
        let Machine { clock, random } = machine;
        let alarm = match &self.redis {
            Some(url) => Some(Arc::new(Reminders::at(url, Arc::clone(&clock))?) as Arc<dyn Alarm>),
            None => None,
        };
        let engine = Engine::new(Parts {
            store,
            channels: self.channels,
            clock,
            random,
            runtime: Arc::new(TokioRuntime::current()),
            settings,
            alarm,
            opinion: None,
        });
        let running = engine.start().await?;
        Ok(Punctual { engine, running, zone: self.zone })
    }
}

/// Who acts, for the journal.
fn who() -> Who {
    Who::from("embedded").via("embedded")
}

/// An event of the application's, whose reminders move with it.
///
/// ```
/// use punctual::embed::EventAsk;
/// use serde_json::json;
///
/// let game = EventAsk::new("game:42", "2026-03-10T18:00:00Z", "{title} in {minutes} min")
///     .offsets(json!([60, "PT15M", { "after": "end", "by": "10m" }]))
///     .field("ends_at", "2026-03-10T20:00:00Z")
///     .user("ann")
///     .field("metadata", json!({ "title": "Chess" }));
/// # drop(game);
/// ```
#[derive(Debug, Clone)]
pub struct EventAsk {
    key: String,
    fields: Map<String, Value>,
}

impl EventAsk {
    /// An event with the application's own name for it, its start and what to say.
    pub fn new(key: impl Into<String>, starts_at: impl ToString, message: impl Into<String>) -> Self {
        let fields = Map::new();
        Self { key: key.into(), fields }.field("starts_at", starts_at.to_string()).field("message", message.into())
    }

    /// When its people are reminded, as the HTTP API takes it; without it the nearest scope says so.
    #[must_use]
    pub fn offsets(self, offsets: Value) -> Self {
        self.field("offsets", offsets)
    }

    /// Reminds this user, too.
    #[must_use]
    pub fn user(self, user: impl Into<String>) -> Self {
        self.with("users", Value::String(user.into()))
    }

    /// Sends to this address; several are tried in order.
    #[must_use]
    pub fn to(self, channel: &str, address: &str) -> Self {
        self.with("to", json!({ "channel": channel, "address": address }))
    }

    /// Any field of an event, as the HTTP API takes it.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    fn with(mut self, list: &str, item: Value) -> Self {
        match self.fields.entry(list).or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(items) => items.push(item),
            other => *other = Value::Array(vec![item]),
        }
        self
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
            retries_max: RETRIES_MAX,
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
