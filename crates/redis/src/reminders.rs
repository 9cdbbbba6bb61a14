//! The timer behind reminders: `reminder:{id}` = `{user}:{channel}`.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::alarm::{Alarm, AlarmHealth, Filled, NextRun, Ring};
use punctual_core::clock::Clock;
use punctual_core::id::ReminderId;
use redis::Script;
use tokio::sync::{Mutex, Notify, mpsc};

use super::keys::{self, FILLED, FILLING, MARKER};
use super::write::{self, Op};
use super::{Builder, Expired, TimerError, Timers};

/// The keys of reminders begin with this.
pub(crate) const PREFIX: &str = "reminder";
/// The most rings that wait for the engine; more are dropped, because its own timer knows of them.
const RINGS_MAX: usize = 65_536;
/// The most that one ring names.
const RING_MAX: usize = 1024;
/// How long a node may take between two batches before another one may begin to fill.
const FILLING_FOR: Duration = Duration::from_secs(30);

/// Takes or keeps the right to fill; returns how far everything is set.
const BEGIN: &str = r"
    local holder = redis.call('GET', KEYS[1])
    if holder and holder ~= ARGV[1] then return false end
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return {redis.call('GET', KEYS[2]) or '', redis.call('GET', KEYS[3]) or ''}
";
/// Keeps the right to fill; returns whether it was still held.
const RENEW: &str = r"
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])
";
/// Writes down how far everything is set, and gives the right back.
const END: &str = r"
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    redis.call('SET', KEYS[2], ARGV[2])
    return redis.call('DEL', KEYS[1])
";

/// Reminders in Redis, for the engine.
pub struct Reminders {
    timers: Timers,
    rung: Mutex<mpsc::Receiver<ReminderId>>,
    forgotten: Arc<Notify>,
    /// The marker when this node began to fill, under which the fill counts.
    begun_under: std::sync::Mutex<String>,
    begin: Script,
    renew: Script,
    end: Script,
}

impl Reminders {
    /// Starts listening, beside whatever `builder` listens for already.
    pub fn start(builder: Builder) -> Self {
        let (sender, rung) = mpsc::channel(RINGS_MAX);
        let forgotten = Arc::new(Notify::new());
        let timers = builder.on(Arc::new(Handler { sender, forgotten: forgotten.clone() })).start();
        Self {
            timers,
            rung: Mutex::new(rung),
            forgotten,
            begun_under: std::sync::Mutex::default(),
            begin: Script::new(BEGIN),
            renew: Script::new(RENEW),
            end: Script::new(END),
        }
    }

    /// Starts listening at `url`.
    pub fn at(url: &str, clock: Arc<dyn Clock>) -> Result<Self, TimerError> {
        Ok(Self::start(Timers::open(url)?.clock(clock)))
    }

    /// The timers, for keys of the application's own.
    pub fn timers(&self) -> &Timers {
        &self.timers
    }
}

struct Handler {
    sender: mpsc::Sender<ReminderId>,
    forgotten: Arc<Notify>,
}

#[async_trait]
impl Expired for Handler {
    fn prefix(&self) -> &str {
        PREFIX
    }

    async fn expired(&self, id: &str) {
        // A key that is not one of ours is nobody's reminder.
        if let Ok(id) = id.parse() {
            let _ = self.sender.try_send(id);
        }
    }

    async fn forgotten(&self) {
        self.forgotten.notify_one();
    }
}

fn op(entry: NextRun) -> (String, Op) {
    let value = format!("{}:{}", entry.user, entry.channel);
    (keys::key(PREFIX, &entry.reminder.to_string()), Op::Set { value, at: entry.at })
}

#[async_trait]
impl Alarm for Reminders {
    fn set(&self, entries: Vec<NextRun>) {
        let shared = &self.timers.shared;
        let n_dropped = shared.queue.add(entries.into_iter().map(op));
        shared.health.drop_some(n_dropped);
    }

    fn clear(&self, reminders: Vec<ReminderId>) {
        let shared = &self.timers.shared;
        let ops = reminders.into_iter().map(|id| (keys::key(PREFIX, &id.to_string()), Op::Clear));
        let n_dropped = shared.queue.add(ops);
        shared.health.drop_some(n_dropped);
    }

    async fn rung(&self) -> Ring {
        let mut rung = self.rung.lock().await;
        let mut ids = Vec::new();
        tokio::select! { biased;
            () = self.forgotten.notified() => Ring::Forgotten,
            // The sender lives as long as the timers do.
            _ = rung.recv_many(&mut ids, RING_MAX) => Ring::Due(ids),
        }
    }

    async fn begin_fill(&self) -> Option<Filled> {
        let shared = &self.timers.shared;
        let mut connection = shared.connected()?.connection;
        let begun: redis::RedisResult<Option<(String, String)>> = self
            .begin
            .key(FILLING)
            .key(MARKER)
            .key(FILLED)
            .arg(&shared.name)
            .arg(FILLING_FOR.as_millis() as u64)
            .invoke_async(&mut connection)
            .await;
        // The task that owns the connection reports a failure.
        let (marker, filled) = begun.ok()??;
        let filled = read_filled(&filled, &marker);
        *self.begun_under.lock().unwrap_or_else(PoisonError::into_inner) = marker;
        Some(filled)
    }

    async fn fill(&self, entries: Vec<NextRun>) -> bool {
        let shared = &self.timers.shared;
        let Some(mut connected) = shared.connected() else { return false };
        let ops: Vec<_> = entries.into_iter().map(op).collect();
        if write::write(shared, &mut connected.connection, &ops).await.is_err() {
            return false;
        }
        let mut renew = self.renew.key(FILLING);
        renew.arg(&shared.name).arg(FILLING_FOR.as_millis() as u64);
        renew.invoke_async::<i64>(&mut connected.connection).await.is_ok_and(|held| held == 1)
    }

    async fn end_fill(&self, until: Timestamp) {
        let shared = &self.timers.shared;
        let Some(mut connected) = shared.connected() else { return };
        let filled = {
            let marker = self.begun_under.lock().unwrap_or_else(PoisonError::into_inner);
            filled(&marker, until)
        };
        let mut end = self.end.key(FILLING);
        end.key(FILLED).arg(&shared.name).arg(filled);
        // Not written down, it is filled again, which does no harm.
        let _: redis::RedisResult<i64> = end.invoke_async(&mut connected.connection).await;
    }

    fn health(&self) -> AlarmHealth {
        let status = self.timers.status();
        AlarmHealth { problem: status.problem, armed: status.armed, dropped: status.dropped }
    }
}

/// The text that a fill leaves in Redis: `{until} {marker}`.
fn filled(marker: &str, until: Timestamp) -> String {
    format!("{} {marker}", until.as_millisecond())
}

/// Reads that text. Keys that were set under another marker have been lost since.
fn read_filled(kept: &str, marker: &str) -> Filled {
    let until = kept.split_once(' ').filter(|(_, under)| *under == marker).and_then(|(until, _)| until.parse().ok());
    Filled { until: until.and_then(|millis| Timestamp::from_millisecond(millis).ok()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_counts_under_its_own_marker_only() {
        let at = Timestamp::from_second(70).unwrap();
        let kept = filled("run 1", at);
        assert_eq!(read_filled(&kept, "run 1"), Filled { until: Some(at) });
        assert_eq!(read_filled(&kept, "run 2"), Filled::default());
        for bad in ["", "70000", "run 1", "x run 1", "99999999999999999999 run 1"] {
            assert_eq!(read_filled(bad, "run 1"), Filled::default(), "{bad}");
        }
    }
}
