//! Timers in Redis that ring on time, however many there are.
//!
//! A timer is a key `PREFIX:ID` that expires at its instant. When Redis removes an expired key it says so
//! (`__keyevent@*__:expired`), and one listener hands the id to the handler of the prefix. Left alone, Redis removes a
//! key when it happens to come across it: seconds late with a few thousand keys, and practically never with a million. So
//! every key also stands in an ordered index, and a task sleeps until the first of them is due and touches what is due, which
//! makes Redis expire it there and then.
//!
//! Redis holds no truth here. It may be down, flushed, restarted or slow: events are lost then, and an application that uses
//! timers of its own must be able to do without one, as punctual does. A Rust program finds this crate as `punctual::redis`.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use punctual_redis::{Expired, Timers, async_trait};
//!
//! struct Sessions;
//!
//! #[async_trait]
//! impl Expired for Sessions {
//!     fn prefix(&self) -> &str {
//!         "session"
//!     }
//!
//!     async fn expired(&self, id: &str) {
//!         println!("session {id} has ended");
//!     }
//! }
//!
//! # async fn example() -> Result<(), punctual_redis::TimerError> {
//! let timers = Timers::open("redis://127.0.0.1:6379/0")?.on(Arc::new(Sessions)).start();
//! timers.set("session", "42", "alice", Duration::from_secs(1800)).await?;
//! # Ok(())
//! # }
//! ```

/// The names of keys and channels, and the arithmetic of instants.
mod keys;

/// By how much Redis's clock is ahead of ours.
mod ahead;

/// How it is, said once when it changes.
mod health;

/// Setting and clearing.
mod write;

/// Makes due keys expire.
mod touch;

/// Hears which keys have expired.
mod listen;

/// Handing it to whom it concerns.
mod dispatch;

/// The timer behind reminders.
mod reminders;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::clock::{Clock, Random};
use punctual_core::id::hex;
use punctual_engine::{SystemClock, SystemRandom};
use redis::aio::MultiplexedConnection;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

pub use dispatch::Expired;
pub use reminders::Reminders;

use ahead::Ahead;
use dispatch::Handler;
use health::Health;
use write::{Op, Queue};

/// Why a timer was not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimerError {
    /// The URL cannot be used. The reason does not repeat it, because it may hold a password.
    #[error("{0}")]
    BadUrl(String),
    /// The prefix cannot be used.
    #[error("`{0}` cannot be a prefix: it must not be empty or begin with `punctual`")]
    BadPrefix(String),
    /// Redis did not do it.
    #[error("redis: {0}")]
    Unavailable(String),
}

/// How the timers are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// Why nothing rings, if nothing does.
    pub problem: Option<String>,
    /// How many timers are set, as last seen.
    pub armed: u64,
    /// How many could not be set, or rung for, since the start.
    pub dropped: u64,
}

/// The Redis to listen to, and the handlers that listen.
pub struct Builder {
    client: redis::Client,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    handlers: Vec<Arc<dyn Expired>>,
}

impl Builder {
    /// Hands what expires under the handler's prefix to it. A handler that panics or hangs stops no other.
    #[must_use]
    pub fn on(mut self, handler: Arc<dyn Expired>) -> Self {
        self.handlers.push(handler);
        self
    }

    /// Uses this clock instead of one of its own.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Starts listening, in the background of the present tokio runtime. It succeeds whether Redis can be reached or not,
    /// and goes on trying until it can.
    pub fn start(self) -> Timers {
        let mut tasks = JoinSet::new();
        let health = Arc::new(Health::default());
        let handlers = self.handlers.into_iter();
        let handlers = handlers.map(|handler| Handler::start(handler, &self.clock, &health, &mut tasks)).collect();
        let mut name = [0; 8];
        self.random.fill(&mut name);
        let shared = Arc::new(Shared {
            client: self.client,
            clock: self.clock,
            random: self.random,
            name: hex(&name),
            handlers,
            health,
            queue: Queue::default(),
            connected: watch::channel(None).0,
            listening: AtomicBool::new(false),
            head: Mutex::new(None),
            look: Notify::new(),
            ahead: Ahead::default(),
            marker: Mutex::new(None),
        });
        tasks.spawn(write::run(shared.clone()));
        tasks.spawn(listen::run(shared.clone()));
        tasks.spawn(touch::run(shared.clone()));
        Timers { shared, _tasks: Arc::new(tasks) }
    }
}

/// Timers in one Redis. Clones are the same; when the last one is dropped, nobody listens any more.
#[derive(Clone)]
pub struct Timers {
    shared: Arc<Shared>,
    _tasks: Arc<JoinSet<()>>,
}

impl Timers {
    /// Prepares timers in the Redis at `url`: `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, `rediss://…` with TLS, or
    /// `unix:/PATH`. Nothing is connected before [`Builder::start`].
    pub fn open(url: &str) -> Result<Builder, TimerError> {
        Ok(Builder {
            client: client(url)?,
            clock: Arc::new(SystemClock::start()),
            random: Arc::new(SystemRandom),
            handlers: Vec::new(),
        })
    }

    /// Rings for `id` under `prefix` when `after` has passed, in place of what was set before. The value is for people
    /// who look into Redis: it is gone when the timer rings.
    pub async fn set(&self, prefix: &str, id: &str, value: &str, after: Duration) -> Result<(), TimerError> {
        let at = self.shared.clock.now().checked_add(after).unwrap_or(Timestamp::MAX);
        self.write(vec![(key(prefix, id)?, Op::Set { value: value.to_owned(), at })]).await
    }

    /// Sets many at once: ids, values and instants.
    pub async fn set_all(&self, prefix: &str, timers: Vec<(String, String, Timestamp)>) -> Result<(), TimerError> {
        let op = |(id, value, at): (String, String, Timestamp)| Ok((key(prefix, &id)?, Op::Set { value, at }));
        self.write(timers.into_iter().map(op).collect::<Result<_, TimerError>>()?).await
    }

    /// Does not ring for `id`.
    pub async fn clear(&self, prefix: &str, id: &str) -> Result<(), TimerError> {
        self.write(vec![(key(prefix, id)?, Op::Clear)]).await
    }

    /// How it is.
    pub fn status(&self) -> Status {
        self.shared.health.status()
    }

    /// Whether something has expired and been heard since it last failed: then it works from end to end.
    pub fn has_heard(&self) -> bool {
        self.shared.health.has_heard()
    }

    async fn write(&self, ops: Vec<(String, Op)>) -> Result<(), TimerError> {
        let mut connected = self.shared.connected().ok_or_else(|| {
            let problem = self.shared.health.status().problem;
            TimerError::Unavailable(problem.unwrap_or_else(|| "not connected yet".into()))
        })?;
        let written = write::write(&self.shared, &mut connected.connection, &ops).await;
        written.map_err(|error| TimerError::Unavailable(error.to_string()))
    }
}

/// A client for `url`, or what is wrong with it.
fn client(url: &str) -> Result<redis::Client, TimerError> {
    // The webhook channel does the same; the first one wins, and both choose ring.
    let _ = rustls::crypto::ring::default_provider().install_default();
    redis::Client::open(url).map_err(|error| {
        let why = error.detail().unwrap_or("it is no URL").to_owned();
        TimerError::BadUrl(if why.contains(url) { "it is no URL".into() } else { why })
    })
}

/// Whether `url` is one that [`Timers::open`] takes; and how it is shown, without its password.
pub fn check_url(url: &str) -> Result<String, TimerError> {
    let client = client(url)?;
    let info = client.get_connection_info();
    Ok(format!("{}/{}", info.addr(), info.redis_settings().db()))
}

fn key(prefix: &str, id: &str) -> Result<String, TimerError> {
    if prefix.is_empty() || prefix.starts_with("punctual") {
        return Err(TimerError::BadPrefix(prefix.to_owned()));
    }
    Ok(keys::key(prefix, id))
}

/// The state that the tasks share.
struct Shared {
    client: redis::Client,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    /// This process, among others on the same Redis.
    name: String,
    handlers: Vec<Handler>,
    health: Arc<Health>,
    queue: Queue,
    connected: watch::Sender<Option<Connected>>,
    /// Whether events are heard. Nothing is made to expire while nobody here would hear of it.
    listening: AtomicBool,
    /// The earliest timer, as far as is known here, in Redis's milliseconds.
    head: Mutex<Option<i64>>,
    /// Something earlier has been set.
    look: Notify,
    /// By how much Redis's clock is ahead of ours.
    ahead: Ahead,
    /// Changes when Redis has lost keys that were set.
    marker: Mutex<Option<String>>,
}

/// A connection for commands.
#[derive(Clone)]
struct Connected {
    connection: MultiplexedConnection,
    /// Changes when Redis is started again.
    run_id: String,
}

impl Shared {
    fn connected(&self) -> Option<Connected> {
        self.connected.borrow().clone()
    }

    /// A timer has been set for `millis`. Wakes a task that waits for a later one.
    fn set_for(&self, millis: i64) {
        if self.is_earlier(millis) {
            *self.head.lock().unwrap_or_else(PoisonError::into_inner) = Some(millis);
            self.look.notify_one();
        }
    }

    fn is_earlier(&self, millis: i64) -> bool {
        self.head.lock().unwrap_or_else(PoisonError::into_inner).is_none_or(|head| millis < head)
    }

    fn token(&self) -> String {
        hex(&self.random.ten())
    }
}

/// How long to wait before the next try: twice as long each time, up to a few seconds.
struct Backoff(Duration);

impl Backoff {
    const MIN: Duration = Duration::from_millis(50);
    const MAX: Duration = Duration::from_secs(2);

    fn new() -> Self {
        Self(Self::MIN)
    }

    fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 2).min(Self::MAX);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_checked_without_being_repeated() {
        assert_eq!(check_url("redis://ann:hush@db.example:7000/3").unwrap(), "db.example:7000/3");
        assert_eq!(check_url("rediss://db.example").unwrap(), "db.example:6379/0");
        for bad in ["hush", "http://hush@h", "redis://:hush@", "redis://:hush@h/x", "redis://h:port:hush", ""] {
            let error = check_url(bad).unwrap_err().to_string();
            assert!(!error.contains("hush") && !error.is_empty(), "{bad}: {error}");
        }
    }

    #[test]
    fn a_prefix_of_our_own_is_refused() {
        assert_eq!(key("session", "a:b").unwrap(), "session:a:b");
        assert!(key("", "1").is_err() && key("punctual", "1").is_err() && key("punctual:beat", "1").is_err());
    }

    #[test]
    fn tries_come_ever_less_often() {
        let mut backoff = Backoff::new();
        let waits: Vec<_> = (0..8).map(|_| backoff.next().as_millis()).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1600, 2000, 2000]);
    }
}
