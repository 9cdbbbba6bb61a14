//! Hears which keys have expired.
//!
//! One connection hears for all prefixes. A connection can die without a word, and Redis can be told not to tell: so a key of
//! our own is made to expire every second or two, and when that is not heard, the connection is asked whether it lives. What
//! expires while nobody hears is lost, and nobody waits for it: the engine's own timer does not need it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use punctual_core::clock;
use redis::Msg;
use redis::aio::MultiplexedConnection;

use super::health::Part;
use super::keys::{BEAT, EXPIRED, NUDGE, database_of, id_under, key};
use super::{Backoff, Shared};

/// How often a key of our own is made to expire.
const BEAT_EVERY: Duration = Duration::from_millis(1500);
/// So many beats that nobody heard, and the connection is asked. With the time for the answer, that is five seconds.
const BEATS_UNHEARD_MAX: u32 = 2;
/// How long connecting, or an answer, may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How long the key of a beat lives, and how long after that it is touched.
const BEAT_LIVES: Duration = Duration::from_millis(1);
const BEAT_TOUCHED_AFTER: Duration = Duration::from_millis(3);

const EVENTS_OFF: &str = "Redis does not tell what expires: set notify-keyspace-events to `Ex` in it (redis.conf, or the provider's settings)";

/// Listens, for as long as anybody uses the timers.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut backoff = Backoff::new();
    loop {
        let heard = listen(&shared, &mut backoff).await;
        shared.listening.store(false, Ordering::Release);
        if let Err(problem) = heard {
            shared.health.fails(Part::Listening, problem);
        }
        shared.clock.pause(backoff.next()).await;
    }
}

async fn listen(shared: &Arc<Shared>, backoff: &mut Backoff) -> Result<(), String> {
    let text = |error: redis::RedisError| error.to_string();
    let connecting = async {
        let (mut sink, stream) = shared.client.get_async_pubsub().await.map_err(text)?.split();
        sink.psubscribe(EXPIRED).await.map_err(text)?;
        sink.subscribe(NUDGE).await.map_err(text)?;
        Ok::<_, String>((sink, stream))
    };
    let (mut sink, mut stream) = within(shared, connecting).await??;
    shared.health.works(Part::Listening);
    *backoff = Backoff::new();

    let own_beat = key(BEAT, &shared.name);
    // Beats that were sent and have not been heard.
    let unheard = Arc::new(AtomicU32::new(0));
    let hear = |message: &Msg| {
        if hear(shared, message, &own_beat) {
            unheard.store(0, Ordering::Release);
            if !shared.listening.swap(true, Ordering::AcqRel) {
                // Keys that became due while nobody heard have been left alone until now.
                shared.look.notify_one();
            }
            shared.health.works(Part::Events);
        }
    };
    let mut connections = shared.connected.subscribe();
    let mut beat = shared.clock.pause(Duration::ZERO);
    loop {
        tokio::select! { biased;
            message = stream.next() => match message {
                None => return Err("the connection that listens was closed".into()),
                Some(message) => hear(&message),
            },
            // The sender lives in `shared`. A new connection can carry a beat at once.
            _ = connections.changed() => beat = shared.clock.pause(Duration::ZERO),
            () = &mut beat => {
                let connected = shared.connected();
                if unheard.load(Ordering::Acquire) > 0 {
                    // No key is made to expire until it is sure that somebody hears.
                    shared.listening.store(false, Ordering::Release);
                }
                if connected.is_none() || unheard.load(Ordering::Acquire) >= BEATS_UNHEARD_MAX {
                    within(shared, sink.ping::<redis::Value>()).await?.map_err(text)?;
                    // Events from before the answer have arrived by now.
                    while let Some(Some(message)) = stream.next().now_or_never() {
                        hear(&message);
                    }
                }
                if let Some(mut connected) = connected {
                    if unheard.load(Ordering::Acquire) >= BEATS_UNHEARD_MAX {
                        shared.health.fails(Part::Events, EVENTS_OFF.into());
                        super::touch::ask_for_events(shared, &mut connected.connection).await;
                        unheard.store(0, Ordering::Release);
                    }
                    tokio::spawn(send_beat(shared.clone(), connected.connection, unheard.clone()));
                }
                beat = shared.clock.pause(BEAT_EVERY);
            }
        }
    }
}

/// Makes a key expire that only this listener knows.
async fn send_beat(shared: Arc<Shared>, mut connection: MultiplexedConnection, unheard: Arc<AtomicU32>) {
    let own = key(BEAT, &shared.name);
    let lives = BEAT_LIVES.as_millis() as u64;
    // The task that owns the connection notices a failure here.
    if redis::cmd("SET").arg(&own).arg(1).arg("PX").arg(lives).exec_async(&mut connection).await.is_ok() {
        shared.clock.pause(BEAT_TOUCHED_AFTER).await;
        unheard.fetch_add(1, Ordering::AcqRel);
        let _: redis::RedisResult<i64> = redis::cmd("EXISTS").arg(&own).query_async(&mut connection).await;
    }
}

/// Takes one message; true if it was our own beat.
fn hear(shared: &Shared, message: &Msg, own_beat: &str) -> bool {
    let Ok(payload) = message.get_payload::<String>() else { return false };
    if message.get_channel_name() == NUDGE {
        if let Some((millis, who)) = payload.split_once(' ')
            && who != shared.name
            && let Ok(millis) = millis.parse()
        {
            shared.set_for(millis);
        }
        return false;
    }
    // Another application may use the same prefix in another database of the same Redis.
    if database_of(message.get_channel_name()) != Some(shared.client.get_connection_info().redis_settings().db()) {
        return false;
    }
    if payload == own_beat {
        return true;
    }
    for handler in &shared.handlers {
        if let Some(id) = id_under(handler.prefix(), &payload) {
            handler.hand(id);
        }
    }
    false
}

async fn within<T>(shared: &Shared, work: impl Future<Output = T>) -> Result<T, String> {
    let done = clock::within(&*shared.clock, ANSWER_WITHIN, work).await;
    done.ok_or_else(|| format!("no answer within {} s", ANSWER_WITHIN.as_secs()))
}
