//! Makes due keys expire.
//!
//! This task owns the connection for commands: it connects, sleeps until the first of the index is due, and touches what is
//! due by Redis's own clock, which makes Redis expire it and say so. Several nodes may do it at once; each finds what the
//! others left. With every look it also learns whether Redis still has what was set.

use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisResult, Script};

use super::health::Part;
use super::keys::{INDEX, MARKER, rings_at, run_id, with_expired};
use super::{Backoff, Connected, Shared};

/// The most that is touched at once: few enough that nobody else waits for it in Redis, which does one thing at a time.
const BATCH_MAX: i64 = 500;
/// How often the index is looked at while there is something in it, whatever is known of its head.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// And while there is nothing in it.
const LOOK_EVERY_EMPTY: Duration = Duration::from_secs(5);
/// How long after the first is due the index is looked at, and the shortest time between two such looks. What is due close
/// together is touched together, and not at the very instant at which the engine's own timer sends: on a small machine
/// Redis and everybody who hears of it would then take the sender's place.
const TOUCH_AFTER: SignedDuration = SignedDuration::from_millis(10);
/// How long connecting, and any one answer, may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const ANSWER_WITHIN: Duration = Duration::from_secs(4);
/// How often a new connection is asked for the time, so that what is set first is set well.
const FIRST_QUESTIONS: usize = 5;

/// Touches the keys that are due, and returns when the next one is.
///
/// `PTTL` finds that a key has expired, removes it and tells everybody. A key that has time left was set again meanwhile, or
/// Redis's clock stepped back: it goes back into the index. A marker is made where there is none, or where the one there is
/// was made by an earlier run of Redis, which may have saved less than was set.
static TOUCH: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now), 'LIMIT', 0, ARGV[1])
        local gone = {}
        for _, key in ipairs(due) do
            local left = redis.call('PTTL', key)
            if left >= 0 then
                redis.call('ZADD', KEYS[1], string.format('%.0f', now + left), key)
            else
                gone[#gone + 1] = key
            end
        end
        if #gone > 0 then redis.call('ZREM', KEYS[1], unpack(gone)) end
        local marker = redis.call('GET', KEYS[2])
        if not marker or string.sub(marker, 1, #ARGV[2]) ~= ARGV[2] then
            marker = ARGV[2] .. ' ' .. ARGV[3]
            redis.call('SET', KEYS[2], marker)
        end
        local head = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
        return {#due, head[2] or '', time[1], time[2], redis.call('ZCARD', KEYS[1]), marker}
        ",
    )
});

/// The result of a look at the index. A Lua table ends at the first nil, so an empty text stands for no head.
type Look = (i64, String, i64, i64, u64, String);

/// Connects, and touches due keys, for as long as anybody uses the timers.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut backoff = Backoff::new();
    loop {
        let problem = match connect(&shared).await {
            Ok(connected) => {
                shared.connected.send_replace(Some(connected.clone()));
                shared.health.works(Part::Commands);
                backoff = Backoff::new();
                let Err(error) = touch(&shared, connected).await;
                shared.connected.send_replace(None);
                error
            }
            Err(error) => error,
        };
        shared.health.fails(Part::Commands, problem.to_string());
        shared.clock.pause(backoff.next()).await;
    }
}

pub(super) async fn connect(shared: &Shared) -> RedisResult<Connected> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_WITHIN))
        .set_response_timeout(Some(ANSWER_WITHIN));
    let mut connection = shared.client.get_multiplexed_async_connection_with_config(&config).await?;
    // Where it is not permitted, a restart is noticed by the missing marker alone.
    let info: String = redis::cmd("INFO").arg("server").query_async(&mut connection).await.unwrap_or_default();
    ask_for_events(shared, &mut connection).await;
    for _ in 0..FIRST_QUESTIONS {
        let asked_at = shared.clock.now();
        let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut connection).await?;
        shared.ahead.answer(seconds * 1_000_000 + micros, asked_at, shared.clock.now());
    }
    Ok(Connected { connection, run_id: run_id(&info).unwrap_or("run").to_owned() })
}

/// Makes Redis tell what expires, if it does not and lets us. Whether it does is seen by the beat.
pub(super) async fn ask_for_events(shared: &Shared, connection: &mut MultiplexedConnection) {
    const SETTING: &str = "notify-keyspace-events";
    let flags: RedisResult<(String, String)> =
        redis::cmd("CONFIG").arg("GET").arg(SETTING).query_async(connection).await;
    let Ok((_, flags)) = flags else { return };
    let Some(wanted) = with_expired(&flags) else { return };
    let set: RedisResult<()> = redis::cmd("CONFIG").arg("SET").arg(SETTING).arg(&wanted).exec_async(connection).await;
    match set {
        Ok(()) => tracing::info!("set {SETTING} to `{wanted}` in Redis, so that it tells what expires"),
        Err(error) => {
            let why = format!("{SETTING} is `{flags}` and cannot be changed ({error}): set it to `{wanted}` in Redis");
            shared.health.fails(Part::Events, why);
        }
    }
}

async fn touch(shared: &Shared, mut connected: Connected) -> RedisResult<std::convert::Infallible> {
    loop {
        let listening = shared.listening.load(Ordering::Acquire);
        let look = look(shared, &mut connected, if listening { BATCH_MAX } else { 0 }).await?;
        if look.n_due == BATCH_MAX {
            continue;
        }
        let now = shared.clock.now();
        let next =
            look.next_at.filter(|_| listening).map(|at| at.max(now).checked_add(TOUCH_AFTER).unwrap_or(Timestamp::MAX));
        let look_again = if look.next_at.is_some() { LOOK_EVERY } else { LOOK_EVERY_EMPTY };
        tokio::select! { biased;
            () = shared.look.notified() => {}
            () = shared.clock.sleep_until(next.unwrap_or(Timestamp::MAX)), if next.is_some() => {}
            () = shared.clock.pause(look_again) => {}
        }
    }
}

struct Seen {
    n_due: i64,
    next_at: Option<Timestamp>,
}

/// Touches up to `limit` keys that are due, and remembers what it saw.
async fn look(shared: &Shared, connected: &mut Connected, limit: i64) -> RedisResult<Seen> {
    let asked_at = shared.clock.now();
    let look: Look = TOUCH
        .key(INDEX)
        .key(MARKER)
        .arg(limit)
        .arg(&connected.run_id)
        .arg(shared.token())
        .invoke_async(&mut connected.connection)
        .await?;
    let (n_due, head, seconds, micros, armed, marker) = look;
    shared.ahead.answer(seconds * 1_000_000 + micros, asked_at, shared.clock.now());
    shared.health.armed.store(armed, Ordering::Relaxed);
    let head = head.parse::<f64>().ok().map(|millis| millis as i64);
    *shared.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
    let known = shared.marker.lock().unwrap_or_else(PoisonError::into_inner).replace(marker.clone());
    if known.is_some_and(|known| known != marker) {
        tracing::warn!("Redis has lost what was set: it was flushed or started again; it is set anew");
        shared.handlers.iter().for_each(super::dispatch::Handler::forgotten);
    }
    Ok(Seen { n_due, next_at: head.map(|millis| rings_at(millis, shared.ahead.most())) })
}
