//! Setting and clearing.
//!
//! The engine's requests are queued and written in batches, so that nobody waits for Redis. The queue is bounded: when Redis
//! is away for long, what does not fit is dropped and counted, and when it is back everybody is told to set all again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use redis::aio::MultiplexedConnection;
use redis::{RedisError, RedisResult};
use tokio::sync::Notify;

use super::Shared;
use super::health::Part;
use super::keys::{INDEX, MARKER, NUDGE, expires_at};

/// The most in one transaction: few enough that nobody else waits for it in Redis, which does one thing at a time.
pub(super) const BATCH_MAX: usize = 500;
/// The most that waits to be written; more is dropped.
const QUEUE_MAX: usize = 131_072;
/// How long to wait after a write failed.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(250);
/// A timer whose time has passed, or nearly, rings this much later: a key that has expired before it is set would never ring.
const AHEAD_MIN: SignedDuration = SignedDuration::from_millis(2);

/// A change of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Op {
    Set { value: String, at: Timestamp },
    Clear,
}

/// The changes that wait to be written.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    added: Notify,
}

#[derive(Default)]
struct Waiting {
    ops: VecDeque<(String, Op)>,
    /// Something was dropped since everybody was last told.
    lost: bool,
}

impl Queue {
    /// Adds as much as fits; returns how many did not.
    pub(super) fn add(&self, ops: impl IntoIterator<Item = (String, Op)>) -> usize {
        let mut waiting = self.lock();
        let mut n_dropped = 0;
        for op in ops {
            if waiting.ops.len() < QUEUE_MAX {
                waiting.ops.push_back(op);
            } else {
                waiting.lost = true;
                n_dropped += 1;
            }
        }
        drop(waiting);
        self.added.notify_one();
        n_dropped
    }

    async fn next(&self) -> Vec<(String, Op)> {
        loop {
            {
                let mut waiting = self.lock();
                let n = waiting.ops.len().min(BATCH_MAX);
                if n > 0 {
                    return waiting.ops.drain(..n).collect();
                }
            }
            self.added.notified().await;
        }
    }

    /// Whether something was dropped, and everything else has been written. Says so once.
    fn has_lost(&self) -> bool {
        let mut waiting = self.lock();
        waiting.ops.is_empty() && std::mem::take(&mut waiting.lost)
    }

    fn lose(&self) {
        self.lock().lost = true;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing under this lock can panic half-way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the queued changes, for as long as anybody uses the timers.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut connected = shared.connected.subscribe();
    loop {
        let batch = shared.queue.next().await;
        loop {
            let Ok(now) = connected.wait_for(Option::is_some).await.map(|now| now.clone()) else { return };
            // Waited for above.
            let Some(mut now) = now else { continue };
            match write_and_tell(&shared, &mut now.connection, &batch).await {
                Ok(()) => {
                    shared.health.works(Part::Writes);
                    break;
                }
                Err(error) if may_work_later(&error) => shared.clock.pause(TRY_AGAIN_AFTER).await,
                Err(error) => {
                    shared.health.fails(Part::Writes, error.to_string());
                    shared.health.drop_some(batch.len());
                    shared.queue.lose();
                    // Refused once, refused again: not in a hurry.
                    shared.clock.pause(TRY_AGAIN_AFTER).await;
                    break;
                }
            }
        }
    }
}

async fn write_and_tell(
    shared: &Shared,
    connection: &mut MultiplexedConnection,
    batch: &[(String, Op)],
) -> RedisResult<()> {
    write(shared, connection, batch).await?;
    if shared.queue.has_lost() {
        // Without it everybody notices, and sets all again.
        redis::cmd("DEL").arg(MARKER).exec_async(connection).await.inspect_err(|_| shared.queue.lose())?;
    }
    Ok(())
}

/// Writes all of `ops`, in one transaction for each [`BATCH_MAX`]. Of several for one key, the last one counts.
pub(super) async fn write(
    shared: &Shared,
    connection: &mut MultiplexedConnection,
    ops: &[(String, Op)],
) -> RedisResult<()> {
    for ops in ops.chunks(BATCH_MAX) {
        let (earliest_at, ahead) = (shared.clock.now() + AHEAD_MIN, shared.ahead.most());
        let last: HashMap<&str, &Op> = ops.iter().map(|(key, op)| (key.as_str(), op)).collect();
        let mut pipe = redis::pipe();
        pipe.atomic();
        let (mut set, mut cleared, mut earliest) = (redis::cmd("ZADD"), Vec::new(), i64::MAX);
        set.arg(INDEX);
        for (key, op) in last {
            match op {
                Op::Set { value, at } => {
                    let millis = expires_at((*at).max(earliest_at), ahead);
                    earliest = earliest.min(millis);
                    pipe.cmd("SET").arg(key).arg(value).arg("PXAT").arg(millis).ignore();
                    set.arg(millis).arg(key);
                }
                Op::Clear => cleared.push(key),
            }
        }
        if earliest < i64::MAX {
            pipe.add_command(set).ignore();
        }
        if !cleared.is_empty() {
            pipe.cmd("UNLINK").arg(&cleared).ignore();
            pipe.cmd("ZREM").arg(INDEX).arg(&cleared).ignore();
        }
        if shared.is_earlier(earliest) {
            pipe.cmd("PUBLISH").arg(NUDGE).arg(format!("{earliest} {}", shared.name)).ignore();
        }
        pipe.exec_async(connection).await?;
        if earliest < i64::MAX {
            shared.set_for(earliest);
        }
    }
    Ok(())
}

/// Whether the connection is to blame, and not the command.
pub(super) fn may_work_later(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_timeout()
        || error.is_connection_dropped()
        || error.is_unrecoverable_error()
        || matches!(error.code(), Some("LOADING" | "BUSY" | "MASTERDOWN" | "TRYAGAIN"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_what_comes_and_says_so_once() {
        let queue = Queue::default();
        let ops = |n: usize| (0..n).map(|n| (n.to_string(), Op::Clear));
        assert_eq!(queue.add(ops(QUEUE_MAX)), 0);
        assert_eq!(queue.add(ops(3)), 3);
        assert!(!queue.has_lost(), "not before the rest is written");
        queue.lock().ops.clear();
        assert!(queue.has_lost());
        assert!(!queue.has_lost());
    }
}
