//! Many nodes on one PostgreSQL: who lives, who has which shards, what they tell each other, whose clock counts.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::change::Change;
use punctual_core::channel::{Rate, Receipt};
use punctual_core::decide::decide;
use punctual_core::id::ReminderId;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{Address, Reminder, ReminderStatus};
use punctual_core::retry::RetryPolicy;
use punctual_core::shard::{Shards, shard_of};
use punctual_core::store::{
    About, Beat, By, Claim, Create, Ears, Follows, Heard, NewReminder, Pulse, Store, Throttle, UpcomingQuery,
};
use punctual_engine::machine;
use punctual_store::postgres::{PostgresStore, Session};
use punctual_testkit::proxy::Proxy;
use punctual_testkit::sample::once;
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait;

/// One node's view of the database.
struct Node {
    name: String,
    store: Arc<PostgresStore>,
}

impl Node {
    async fn start(name: &str, url: &str) -> Self {
        let node = Self {
            name: name.to_owned(),
            store: Arc::new(PostgresStore::open(url, &machine()).await.expect("the store works")),
        };
        node.beat().await;
        node
    }

    async fn beat(&self) -> Pulse {
        self.store
            .beat(Beat {
                node: self.name.clone(),
                echo: None,
                shared: String::new(),
                follows: Follows::No,
                about: About::default(),
            })
            .await
            .expect("the store works")
            .expect("the store works")
    }

    async fn ears(&self) -> Box<dyn Ears> {
        self.store.listen().await.expect("the store works").expect("the store works")
    }

    /// Writes reminders, each due at its instant.
    async fn create(&self, due: &[(Reminder, Timestamp)], now: Timestamp) {
        let new =
            |(reminder, at): &(Reminder, Timestamp)| NewReminder { reminder: reminder.clone(), first_due_at: *at };
        let reminders = due.iter().map(new).collect();
        self.store.create(Create { reminders, who: "ann".into(), answered: None, now }).await.expect("the store works");
    }

    fn claim(&self, now: Timestamp, shards: Shards) -> Claim {
        Claim {
            now,
            from: Timestamp::MIN,
            until: now,
            shards,
            limit: 10_000,
            node: self.name.as_str().into(),
            lease_until: now + SignedDuration::from_secs(15),
            default_channel: DefaultChannel::chosen(Address::new("console", "")),
            only: None,
            holding: Default::default(),
        }
    }
}

/// Reminders of many users, due at `at`.
fn reminders(n: u16, at: Timestamp) -> Vec<(Reminder, Timestamp)> {
    let reminder = |number: u16| {
        let mut random = [0; 10];
        random[8..].copy_from_slice(&number.to_be_bytes());
        let user = format!("user-{number}");
        (Reminder { id: ReminderId::new(at, random), user, ..once(0, at, at) }, at)
    };
    (0..n).map(reminder).collect()
}

/// The next news that is no beat.
#[expect(clippy::disallowed_methods, reason = "a test that hangs must fail")]
async fn hear(ears: &mut Box<dyn Ears>) -> Heard {
    tokio::time::timeout(Duration::from_secs(20), ears.hear())
        .await
        .expect("something was told")
        .expect("the store works")
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_live_divide_the_shards_and_one_that_leaves_is_replaced_at_once() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let url = server.url(&database);
    let (a, b) = (Node::start("a", &url).await, Node::start("b", &url).await);
    let (of_a, of_b) = (a.beat().await, b.beat().await);
    assert_eq!((&of_a.nodes, &of_b.nodes), (&vec!["a".to_owned(), "b".to_owned()], &of_a.nodes));
    assert!((0..=u8::MAX).all(|shard| of_a.shards.contains(shard) != of_b.shards.contains(shard)));

    let mut ears = a.ears().await;
    b.store.leave("b").await.unwrap();
    assert_eq!(hear(&mut ears).await, Heard::Left);
    assert_eq!(a.beat().await.shards, Shards::ALL);

    // One that died says nothing; it is not counted when it has not been seen for a while, and forgotten later.
    b.beat().await;
    server.sql(&database, "update punctual.node set seen_at = seen_at - interval '10 seconds' where name = 'b'");
    assert_eq!(a.beat().await.nodes, ["a"]);
    server.sql(&database, "update punctual.node set seen_at = seen_at - interval '10 minutes' where name = 'b'");
    a.store
        .beat(Beat {
            node: "a".into(),
            echo: Some("e1".into()),
            shared: String::new(),
            follows: Follows::No,
            about: About::default(),
        })
        .await
        .unwrap();
    assert_eq!(server.sql(&database, "select string_agg(name, ' ') from punctual.node"), "a");
    assert_eq!(hear(&mut ears).await, Heard::Beat("e1".into()), "a beat is heard back by who asks for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_takes_its_own_and_anybody_can_take_the_rest() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url(&server.new_database(None));
    let (a, b) = (Node::start("a", &url).await, Node::start("b", &url).await);
    let pulse = a.beat().await;
    let due = reminders(500, pulse.now);
    a.create(&due, pulse.now).await;
    let n_own = due.iter().filter(|(reminder, _)| pulse.shards.contains(shard_of(&reminder.user))).count();
    assert!((100..400).contains(&n_own), "{n_own}");
    assert_eq!(a.beat().await.first_at.unwrap(), round_up(pulse.now));

    let window = UpcomingQuery { from: Timestamp::MIN, until: Timestamp::MAX, shards: pulse.shards, limit: 1000 };
    assert_eq!(a.store.upcoming(window).await.unwrap().instants.len(), n_own);
    let now = pulse.now + SignedDuration::from_secs(1);
    let claimed = a.store.claim(a.claim(now, pulse.shards)).await.unwrap().to_send;
    assert_eq!(claimed.len(), n_own);
    assert!(claimed.iter().all(|claimed| pulse.shards.contains(shard_of(&claimed.reminder.user))));
    assert_eq!(b.store.claim(b.claim(now, Shards::ALL)).await.unwrap().to_send.len(), 500 - n_own);
}

/// As instants are kept.
fn round_up(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond() + i64::from(at.subsec_nanosecond() % 1000 > 0))
        .expect("an instant of today")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_told_what_others_plan_for_it_and_nothing_else() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url(&server.new_database(None));
    let (a, b) = (Node::start("a", &url).await, Node::start("b", &url).await);
    let (of_a, _) = (a.beat().await, b.beat().await);
    let mut ears = b.ears().await;
    let soon = round_up(of_a.now + SignedDuration::from_secs(30));
    let far = of_a.now + SignedDuration::from_hours(1);
    let of = |due: Vec<(Reminder, Timestamp)>, own: bool| -> Vec<_> {
        due.into_iter().filter(|(reminder, _)| of_a.shards.contains(shard_of(&reminder.user)) == own).collect()
    };
    // A run that is its own, or far away, is not told to other nodes.
    a.create(&of(reminders(200, soon), true), of_a.now).await;
    a.create(&of(reminders(200, far), false), of_a.now).await;
    let foreign = of(reminders(200, soon), false);
    a.create(&foreign[..1], of_a.now).await;
    assert_eq!(hear(&mut ears).await, Heard::Wake(vec![(shard_of(&foreign[0].0.user), soon)]));
    // Too many to list.
    let shards = (0..100).map(|number| (foreign[1 + number % 50].0.clone(), number));
    let many: Vec<_> = shards
        .map(|(reminder, number)| {
            let at = soon + SignedDuration::from_millis(number as i64);
            let mut random = [7; 10];
            random[0] = number as u8;
            (Reminder { id: ReminderId::new(at, random), ..reminder }, at)
        })
        .collect();
    a.create(&many, of_a.now).await;
    assert_eq!(hear(&mut ears).await, Heard::Look);
    a.store.recall(foreign[0].0.id).await.unwrap();
    assert_eq!(hear(&mut ears).await, Heard::Recalled);
    assert_eq!(b.store.recalled().await.unwrap(), [foreign[0].0.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_take_no_more_turns_together_than_a_limit_has() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let url = server.url(&database);
    let nodes = [Node::start("a", &url).await, Node::start("b", &url).await];
    let per = Duration::from_secs(600);
    let limits = |names: [&str; 2]| vec![(names[0].into(), Rate { n: 7, per }), (names[1].into(), Rate { n: 9, per })];
    let takes: Vec<_> = (0..40)
        .map(|number| {
            let store = nodes[number % 2].store.clone();
            // In both orders, so that they would wait for each other if that were possible.
            let limits =
                if number % 4 < 2 { limits(["x", "y"]) } else { limits(["x", "y"]).into_iter().rev().collect() };
            tokio::spawn(async move { store.take_turns(limits).await.unwrap() })
        })
        .collect();
    let mut n_taken = 0;
    for take in takes {
        let waits = take.await.unwrap();
        n_taken += usize::from(waits.iter().all(Duration::is_zero));
        assert!(waits.iter().all(|wait| *wait <= per), "{waits:?}");
    }
    assert_eq!(n_taken, 7, "as many as the smaller limit has");
    // A turn that could not be taken under both limits was taken under neither.
    let y = || vec![("y".to_owned(), Rate { n: 9, per })];
    let mut n_left = 0;
    while nodes[0].store.take_turns(y()).await.unwrap()[0].is_zero() {
        n_left += 1;
    }
    assert_eq!(n_left, 2);
    // When its time is over, a turn is there again.
    let short = || vec![("z".to_owned(), Rate { n: 1, per: Duration::from_millis(50) })];
    assert!(nodes[0].store.take_turns(short()).await.unwrap()[0].is_zero());
    let wait = nodes[1].store.take_turns(short()).await.unwrap()[0];
    server.sql(&database, "select pg_sleep(0.05)");
    assert!(wait <= Duration::from_millis(50));
    assert!(nodes[1].store.take_turns(short()).await.unwrap()[0].is_zero());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_one_node_was_asked_for_is_told_to_all() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url(&server.new_database(None));
    let (a, b) = (Node::start("a", &url).await, Node::start("b", &url).await);
    let mut ears = b.ears().await;
    let (channel, name) = ("chat".to_owned(), "https://example.org:1 x".to_owned());
    let hold = Throttle { channel, name, is_address: true, wait: Duration::from_secs(30) };
    a.store.tell_throttle(hold.clone()).await.unwrap();
    assert_eq!(hear(&mut ears).await, Heard::Throttled);
    let told = b.store.throttles(None).await.unwrap().remove(0);
    assert!(told.wait <= hold.wait && told.wait > Duration::from_secs(20), "{told:?}");
    assert_eq!(Throttle { wait: hold.wait, ..told }, hold);
    let now = a.beat().await.now;
    assert_eq!(b.store.throttles(Some(now)).await.unwrap(), [], "it was told before");
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_that_nodes_tell_each_other_are_bounded_in_length_and_number() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let a = Node::start("a", &server.url(&database)).await;
    let hold = |name: &str, is_address| {
        let wait = Duration::from_micros(u64::MAX);
        Throttle { channel: "chat".into(), name: name.into(), is_address, wait }
    };
    for is_address in [false, true] {
        a.store.tell_throttle(hold("x", is_address)).await.unwrap();
    }
    let told = a.store.throttles(None).await.unwrap();
    let longest = |is_address| told.iter().find(|hold| hold.is_address == is_address).unwrap().wait;
    assert!(longest(false) <= Duration::from_secs(60) && longest(true) <= Duration::from_secs(24 * 3600), "{told:?}");
    let ahead = "select max(until) <= clock_timestamp() + interval '1 day' from punctual.throttle";
    assert_eq!(server.sql(&database, ahead), "t", "nothing is stored further ahead than it is believed");

    // Many, of which most have ended.
    server.sql(
        &database,
        "insert into punctual.throttle select 'chat', true, 'n' || n, now() + n * interval '1 second', now() \
         from generate_series(-900, 10000) n",
    );
    let count = || server.sql(&database, "select count(*) from punctual.throttle").parse::<usize>().unwrap();
    let before = count();
    a.store.tell_throttle(hold("one too many", true)).await.unwrap();
    assert!(count() < before - 800, "what has ended is forgotten");
    a.store.tell_throttle(hold("one too many", true)).await.unwrap();
    assert!(count() <= 10_010, "{}", count());
    assert_eq!(a.store.throttles(None).await.unwrap().len(), 1000, "no reading takes more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_clock_runs_ahead_takes_neither_leases_nor_the_future() {
    let Some(server) = Postgres::start() else { return };
    let url = server.url(&server.new_database(None));
    let (a, b) = (Node::start("a", &url).await, Node::start("b", &url).await);
    let now = a.beat().await.now;
    a.create(&reminders(10, now), now).await;
    let later = now + SignedDuration::from_mins(30);
    let other = reminders(20, later).split_off(10);
    a.create(&other, now).await;
    let now = now + SignedDuration::from_millis(1);
    assert_eq!(a.store.claim(a.claim(now, Shards::ALL)).await.unwrap().to_send.len(), 10);
    let wrong = now + SignedDuration::from_hours(1);
    let claims = b.store.claim(b.claim(wrong, Shards::ALL)).await.unwrap();
    assert_eq!(claims.to_send.len(), 0, "the leases hold, and the rest is not due, by the database's clock");
}

/// Waits until a query answers `wanted`.
async fn until(server: &Postgres, database: &str, query: &str, wanted: &str) {
    wait::until(wanted, async || server.sql(database, query) == wanted).await;
}

/// A node, and a claim of its that was written although its answer was lost, with leases of this length.
async fn a_claim_whose_answer_was_lost(
    server: &Postgres,
    lease_for: SignedDuration,
) -> (Arc<Node>, Claim, String, Proxy) {
    let database = server.new_database(None);
    let proxy = Proxy::before(server.port());
    let node = Arc::new(Node::start("a", &proxy.url_for(&server.url(&database))).await);
    let now = node.beat().await.now;
    node.create(&reminders(1, now), now).await;
    // The commit takes a second, time enough to lose the connection while it is made.
    server.sql(
        &database,
        "create function slowly() returns trigger language plpgsql as 'begin perform pg_sleep(1); return null; end'; \
         create constraint trigger slowly after update on punctual.occurrence deferrable initially deferred \
         for each row execute function slowly()",
    );
    let mut claim = node.claim(now + SignedDuration::from_millis(1), Shards::ALL);
    claim.lease_until = claim.now + lease_for;
    let claiming = tokio::spawn({
        let (node, claim) = (node.clone(), claim.clone());
        async move { node.store.claim(claim).await }
    });
    until(server, &database, "select count(*) from pg_stat_activity where wait_event = 'PgSleep'", "1").await;
    proxy.cut();
    assert!(claiming.await.expect("it does not panic").is_err(), "nobody knows whether it was written");
    until(server, &database, "select state from punctual.occurrence", "processing").await;
    (node, claim, database, proxy)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_answer_was_lost_is_found_again() {
    let Some(server) = Postgres::start() else { return };
    let (node, claim, _, _proxy) = a_claim_whose_answer_was_lost(&server, SignedDuration::from_secs(15)).await;
    let found = node.store.claim(claim.clone()).await.unwrap();
    assert_eq!(found.to_send.iter().map(|claimed| claimed.lease).collect::<Vec<_>>(), [1]);
    assert!(found.n_taken >= claim.limit, "it says nothing about what this claim asked for");
    assert_eq!(node.store.claim(claim).await.unwrap().to_send.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_was_claiming_when_it_fell_silent_is_free_within_two_seconds() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let proxy = Proxy::before(server.port());
    let silent = Arc::new(Node::start("a", &proxy.url_for(&server.url(&database))).await);
    let other = Node::start("b", &server.url(&database)).await;
    let now = silent.beat().await.now;
    silent.create(&reminders(1, now), now).await;
    let now = now + SignedDuration::from_millis(1);
    // It locks its row, and nothing that it says afterwards arrives.
    proxy.swallow_whoever_says("left join punctual.app_user");
    // On a new connection: the proxy remembers only what was said first.
    proxy.cut();
    let claiming = tokio::spawn({
        let (node, claim) = (silent.clone(), silent.claim(now, Shards::ALL));
        async move { node.store.claim(claim).await }
    });
    until(&server, &database, "select count(*) from pg_stat_activity where state = 'idle in transaction'", "1").await;
    let silent_since = other.beat().await.now;
    let free_after = loop {
        let claims = other.store.claim(other.claim(now, Shards::ALL)).await.unwrap();
        let waited = other.beat().await.now.duration_since(silent_since);
        if claims.to_send.len() == 1 {
            break waited;
        }
        assert!(waited < SignedDuration::from_secs(8), "the silent node holds its row for ever");
    };
    println!("free after {free_after:#}");
    assert!(free_after < SignedDuration::from_secs(2), "free only after {free_after:#}");
    claiming.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_the_server_is_slow_with_is_not_given_up() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let node = Node::start("a", &server.url(&database)).await;
    let now = node.beat().await.now;
    node.create(&reminders(1, now), now).await;
    server.sql(
        &database,
        "create function slowly() returns trigger language plpgsql as 'begin perform pg_sleep(2); return new; end'; \
         create trigger slowly before update on punctual.occurrence for each row execute function slowly()",
    );
    let claims = node.store.claim(node.claim(now + SignedDuration::from_millis(1), Shards::ALL)).await.unwrap();
    assert_eq!(claims.to_send.iter().map(|claimed| claimed.lease).collect::<Vec<_>>(), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_answer_was_lost_is_found_again_also_after_its_leases_ended() {
    let Some(server) = Postgres::start() else { return };
    let (node, mut claim, database, _proxy) =
        a_claim_whose_answer_was_lost(&server, SignedDuration::from_secs(1)).await;
    until(&server, &database, "select wake_at < clock_timestamp() from punctual.occurrence", "t").await;
    claim.now = node.beat().await.now;
    (claim.until, claim.lease_until) = (claim.now, claim.now + SignedDuration::from_secs(15));
    let found = node.store.claim(claim.clone()).await.unwrap();
    // The same lease: nothing of it was begun, so it is not called cut off.
    let leases: Vec<_> = found.to_send.iter().map(|claimed| (claimed.lease, claimed.lease_until)).collect();
    assert_eq!(leases, [(1, claim.lease_until)]);
    let attempts = "select attempts, (select count(*) from punctual.attempt) from punctual.occurrence";
    assert_eq!(server.sql(&database, attempts), "1|0", "one attempt, which has not ended");
    // And it holds again.
    let other = Node::start("b", &server.url(&database)).await;
    assert_eq!(other.store.claim(other.claim(claim.now, Shards::ALL)).await.unwrap().to_send.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_whose_last_two_runs_end_at_once_on_two_nodes_is_over() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let url = server.url(&database);
    let (a, b) = (Node::start("a", &url).await, Node::start("b", &url).await);
    let now = a.beat().await.now;
    let due = reminders(1, now);
    let id = due[0].0.id;
    a.create(&due, now).await;
    a.store.change(id, Change::Fire, By::new("ann", now)).await.unwrap();
    let claimed = a.store.claim(a.claim(now + SignedDuration::from_millis(1), Shards::ALL)).await.unwrap().to_send;
    assert_eq!(claimed.len(), 2);
    // Somebody has the reminder locked until both nodes wait for it.
    let other = Session::open(&url, &machine()).await.unwrap();
    other.run("begin", &[]).await.unwrap();
    other.run("select from punctual.reminder for update", &[]).await.unwrap();
    let settles = [a.store, b.store].into_iter().zip(claimed).map(|(store, claimed)| {
        let settlement = decide(&claimed, Ok(Receipt::default()), &RetryPolicy::default(), 0.0, now, now);
        tokio::spawn(async move { store.settle(vec![settlement], now).await })
    });
    let settles: Vec<_> = settles.collect();
    until(&server, &database, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'", "2").await;
    other.run("commit", &[]).await.unwrap();
    for settle in settles {
        assert!(settle.await.unwrap().unwrap().lost.is_empty());
    }
    let status = format!("select status from punctual.reminder where status <> '{}'", ReminderStatus::Completed);
    assert_eq!(server.sql(&database, &status), "");
}
