//! Timers in Redis as a Rust program uses them: prefixes and handlers of its own.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual::redis::{Expired, TimerError, Timers, async_trait};
use punctual_engine::SystemClock;
use punctual_testkit::proxy::{Proxy, Toward};
use punctual_testkit::servers::Redis;
use punctual_testkit::wait::{until, until_some};
use tokio::sync::mpsc;

use crate::common::soon;

/// Tells a test what it was told.
struct Tell {
    prefix: &'static str,
    said: mpsc::UnboundedSender<(String, Timestamp)>,
}

#[async_trait]
impl Expired for Tell {
    fn prefix(&self) -> &str {
        self.prefix
    }

    async fn expired(&self, id: &str) {
        let _ = self.said.send((id.to_owned(), SystemClock::read()));
    }

    async fn forgotten(&self) {
        let _ = self.said.send(("forgotten".to_owned(), SystemClock::read()));
    }
}

fn tell(prefix: &'static str) -> (Arc<Tell>, mpsc::UnboundedReceiver<(String, Timestamp)>) {
    let (said, heard) = mpsc::unbounded_channel();
    (Arc::new(Tell { prefix, said }), heard)
}

/// Panics for the first id, hangs for all others.
struct Bad;

#[async_trait]
impl Expired for Bad {
    fn prefix(&self) -> &str {
        "bad"
    }

    async fn expired(&self, id: &str) {
        assert_ne!(id, "1", "on purpose");
        std::future::pending::<()>().await;
    }
}

/// Waits until it works from end to end.
async fn ready(timers: &Timers) {
    until("the timers work", async || timers.has_heard() && timers.status().problem.is_none()).await;
}

/// Sets a timer, and waits until Redis takes it.
async fn set(timers: &Timers, prefix: &str, id: &str, millis: u64) {
    let set = async || timers.set(prefix, id, "test", Duration::from_millis(millis)).await.is_ok();
    until("Redis takes a timer", set).await;
}

async fn connect(redis: &Redis) -> redis::aio::MultiplexedConnection {
    redis::Client::open(redis.url()).unwrap().get_multiplexed_async_connection().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_listener_serves_several_prefixes() {
    let Some(redis) = Redis::start() else { return };
    let ((sessions, mut session), (carts, mut cart)) = (tell("session"), tell("cart:v2"));
    let timers = Timers::open(&redis.url()).unwrap().on(sessions).on(carts).start();
    ready(&timers).await;
    let begun_at = SystemClock::read();
    timers.set("session", "gone", "x", Duration::from_millis(100)).await.unwrap();
    timers.clear("session", "gone").await.unwrap();
    timers.set("session", "moved", "x", Duration::from_millis(50)).await.unwrap();
    timers.set("session", "moved", "x", Duration::from_millis(300)).await.unwrap();
    timers.set("cart:v2", "a:b", "x", Duration::from_millis(200)).await.unwrap();
    // No handler asked for this prefix.
    timers.set("other", "1", "x", Duration::from_millis(100)).await.unwrap();
    let (id, at) = soon(cart.recv()).await.unwrap();
    assert_eq!(id, "a:b");
    assert!(at.duration_since(begun_at) >= SignedDuration::from_millis(200));
    let (id, at) = soon(session.recv()).await.unwrap();
    assert_eq!(id, "moved", "what was cleared does not ring, and what was moved rings once");
    assert!(at.duration_since(begun_at) >= SignedDuration::from_millis(300));
    assert!(session.try_recv().is_err() && cart.try_recv().is_err());

    assert!(matches!(timers.set("", "1", "x", Duration::ZERO).await, Err(TimerError::BadPrefix(_))));
    assert!(matches!(timers.clear("punctual:due", "1").await, Err(TimerError::BadPrefix(_))));
    let mut connection = connect(&redis).await;
    let left: usize = redis::cmd("ZCARD").arg("punctual:due").query_async(&mut connection).await.unwrap();
    assert_eq!(left, 0, "nothing stays in the index");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_panics_or_hangs_stops_nobody() {
    let Some(redis) = Redis::start() else { return };
    let (good, mut heard) = tell("good");
    let timers = Timers::open(&redis.url()).unwrap().on(Arc::new(Bad)).on(good).start();
    ready(&timers).await;
    for n in 1..=100 {
        timers.set("bad", &n.to_string(), "x", Duration::from_millis(1)).await.unwrap();
    }
    timers.set("good", "1", "x", Duration::from_millis(50)).await.unwrap();
    assert_eq!(soon(heard.recv()).await.unwrap().0, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_due_timer_rings_promptly_among_many() {
    let Some(redis) = Redis::start() else { return };
    let (handler, mut heard) = tell("due");
    let timers = Timers::open(&redis.url()).unwrap().on(handler).start();
    ready(&timers).await;
    let now = SystemClock::read();
    let far = |n: i64| (n.to_string(), "x".to_owned(), now + SignedDuration::from_secs(100_000 + n));
    timers.set_all("far", (0..50_000).map(far).collect()).await.unwrap();
    let begin = SystemClock::read() + SignedDuration::from_millis(300);
    let due = |n: i64| (n.to_string(), "x".to_owned(), begin + SignedDuration::from_millis(5 * n));
    timers.set_all("due", (0..200).map(due).collect()).await.unwrap();
    let mut late: Vec<SignedDuration> = Vec::new();
    for _ in 0..200 {
        let (id, at) = soon(heard.recv()).await.unwrap();
        late.push(at.duration_since(begin + SignedDuration::from_millis(5 * id.parse::<i64>().unwrap())));
    }
    late.sort();
    assert!(late[0] >= SignedDuration::ZERO, "never early: {:?}", late[0]);
    // Left to Redis, this would be tens of seconds; here a busy machine is allowed for.
    assert!(late[100] < SignedDuration::from_millis(200), "half of them were later than {:?}", late[100]);
    assert_eq!(timers.status().dropped, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_hears_whoever_made_it_expire() {
    let Some(redis) = Redis::start() else { return };
    let ((first, mut one), (second, mut two)) = (tell("shared"), tell("shared"));
    let first = Timers::open(&redis.url()).unwrap().on(first).start();
    let second = Timers::open(&redis.url()).unwrap().on(second).start();
    ready(&first).await;
    ready(&second).await;
    for id in ["a", "b", "c"] {
        first.set("shared", id, "x", Duration::from_millis(30)).await.unwrap();
        assert_eq!(soon(one.recv()).await.unwrap().0, id);
        assert_eq!(soon(two.recv()).await.unwrap().0, id);
    }
    // Also when the one that set it is gone: the others were told that it comes before all they knew.
    second.set("shared", "d", "x", Duration::from_millis(300)).await.unwrap();
    drop(second);
    assert_eq!(soon(one.recv()).await.unwrap().0, "d");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_database_of_the_same_redis_is_another_world() {
    let Some(redis) = Redis::start() else { return };
    let ((first, mut one), (second, mut two)) = (tell("same"), tell("same"));
    let first = Timers::open(&redis.url()).unwrap().on(first).start();
    let second = Timers::open(&format!("{}1", redis.url())).unwrap().on(second).start();
    ready(&first).await;
    ready(&second).await;
    second.set("same", "2", "x", Duration::from_millis(20)).await.unwrap();
    assert_eq!(soon(two.recv()).await.unwrap().0, "2");
    first.set("same", "1", "x", Duration::from_millis(20)).await.unwrap();
    assert_eq!(soon(one.recv()).await.unwrap().0, "1", "the other's was not heard here");
    assert!(two.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flush_and_a_restart_are_noticed() {
    let Some(mut redis) = Redis::start() else { return };
    let (handler, mut heard) = tell("x");
    let timers = Timers::open(&redis.url()).unwrap().on(handler).start();
    ready(&timers).await;
    timers.set("x", "1", "x", Duration::from_secs(3600)).await.unwrap();
    redis::cmd("FLUSHALL").exec_async(&mut connect(&redis).await).await.unwrap();
    assert_eq!(soon(heard.recv()).await.unwrap().0, "forgotten");
    redis.stop_immediately();
    until("the trouble is noticed", async || timers.status().problem.is_some()).await;
    assert!(matches!(timers.set("x", "2", "x", Duration::ZERO).await, Err(TimerError::Unavailable(_))));
    redis.start_again();
    assert_eq!(soon(heard.recv()).await.unwrap().0, "forgotten");
    set(&timers, "x", "3", 10).await;
    assert_eq!(soon(heard.recv()).await.unwrap().0, "3");
    ready(&timers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_dead_without_a_word_is_replaced() {
    let Some(redis) = Redis::start() else { return };
    let proxy = Proxy::before(redis.port());
    let (handler, mut heard) = tell("x");
    let timers = Timers::open(&proxy.url_for(&redis.url())).unwrap().on(handler).start();
    ready(&timers).await;
    assert_eq!(proxy.swallow_that_said("PSUBSCRIBE", Toward::Both), 1);
    let begun_at = SystemClock::read();
    until("another connection listens", async || proxy.connections_that_said("PSUBSCRIBE") >= 2).await;
    let noticed_after = SystemClock::read().duration_since(begun_at);
    assert!(noticed_after < SignedDuration::from_secs(10), "noticed after {noticed_after}");
    set(&timers, "x", "1", 10).await;
    assert_eq!(soon(heard.recv()).await.unwrap().0, "1");

    // The connection for commands as well.
    let n_before = proxy.accepted();
    proxy.swallow(Toward::Both);
    proxy.resume();
    // The trouble may be over before anybody looks; then both connections are new.
    let noticed = async || timers.status().problem.is_some() || proxy.accepted() >= n_before + 2;
    until("the trouble is noticed", noticed).await;
    // A key that expires before the listener hears again is lost, as the docs say.
    ready(&timers).await;
    set(&timers, "x", "2", 10).await;
    while soon(heard.recv()).await.unwrap().0 != "2" {}
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_are_switched_off_are_switched_on_again() {
    let Some(redis) = Redis::start() else { return };
    let mut connection = connect(&redis).await;
    let config = |value: &str| redis::cmd("CONFIG").arg("SET").arg("notify-keyspace-events").arg(value).to_owned();
    config("Kg").exec_async(&mut connection).await.unwrap();
    let (handler, mut heard) = tell("x");
    let timers = Timers::open(&redis.url()).unwrap().on(handler).start();
    ready(&timers).await;
    let get = redis::cmd("CONFIG").arg("GET").arg("notify-keyspace-events").to_owned();
    let (_, flags): (String, String) = get.query_async(&mut connection).await.unwrap();
    for flag in ['K', 'g', 'E', 'x'] {
        assert!(flags.contains(flag), "what others need stays on: {flags}");
    }
    config("").exec_async(&mut connection).await.unwrap();
    until("events are on again", async || {
        let (_, flags): (String, String) = get.query_async(&mut connection).await.unwrap();
        flags.contains('x')
    })
    .await;
    ready(&timers).await;
    timers.set("x", "1", "x", Duration::from_millis(10)).await.unwrap();
    assert_eq!(soon(heard.recv()).await.unwrap().0, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_events_cannot_be_switched_on_it_is_said_what_to_set() {
    let Some(redis) = Redis::start_with(&["--rename-command", "CONFIG", ""]) else { return };
    let timers = Timers::open(&redis.url()).unwrap().start();
    let problem = until_some("it says what to set", async || {
        timers.status().problem.filter(|problem| problem.contains("notify-keyspace-events"))
    })
    .await;
    assert!(problem.contains("`Ex`"), "{problem}");
    assert!(!timers.has_heard());
    // Everything else works.
    timers.set("x", "1", "x", Duration::from_secs(60)).await.unwrap();
}
