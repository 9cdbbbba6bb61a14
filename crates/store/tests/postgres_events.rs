//! Events on a PostgreSQL that nodes share: planners work side by side, and a move meets a claim at the same moment.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::event::{Event, Offset};
use punctual_core::occurrence::StateKind;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{Address, Metadata, Misfire, OnUnknown, Priority};
use punctual_core::shard::Shards;
use punctual_core::store::{ByPlanner, Claim, EventView, Events, PLANNED_AT_ONCE, Put, PutEvent, ReminderQuery, Store};
use punctual_core::zone::Zone;
use punctual_engine::machine;
use punctual_store::postgres::PostgresStore;
use punctual_testkit::servers::Postgres;

const ROUNDS: usize = 60;

/// Two nodes on one new database; `None` where no server is installed and a test may be skipped for that.
async fn two_nodes() -> Option<(Postgres, Arc<PostgresStore>, Arc<PostgresStore>)> {
    let server = Postgres::start()?;
    let url = server.url(&server.new_database(None));
    let open = || async { Arc::new(PostgresStore::open(&url, &machine()).await.expect("the store works")) };
    let (one, other) = (open().await, open().await);
    Some((server, one, other))
}

/// A game that starts at `start`, of which ann is reminded an hour before.
fn game(key: &str, start: Timestamp) -> Event {
    Event {
        key: key.into(),
        starts_at: start,
        ends_at: None,
        repeats: None,
        offsets: Some(vec![Offset::minutes_before(60)]),
        scope: None,
        users: vec!["ann".into()],
        groups: Vec::new(),
        name: None,
        message: "Chess in {minutes} min".into(),
        timezone: None,
        priority: Priority::Normal,
        to: vec![Address::new("phone", "ann")],
        only: false,
        ack: None,
        escalate: Vec::new(),
        snooze_allowed: true,
        retries_max: 3,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Auto,
        metadata: Metadata::default(),
        tags: Vec::new(),
        source: None,
        created_at: start,
        updated_at: start,
    }
}

/// The present, to the microsecond, as it is kept.
fn now() -> Timestamp {
    Timestamp::from_microsecond(machine().clock.now().as_microsecond()).expect("it was an instant before")
}

fn by(now: Timestamp) -> ByPlanner {
    ByPlanner { who: "app".into(), zone: Zone::utc(), now }
}

async fn put(store: &PostgresStore, events: Vec<Event>, now: Timestamp) -> Put {
    let put = events.into_iter().map(|event| PutEvent { event, keeps_instances: true });
    store.put_events(put.collect(), None, by(now)).await.expect("the store takes it")
}

async fn view(store: &PostgresStore, key: &str) -> EventView {
    store.event(key).await.expect("the store works").expect("the event is there")
}

/// Plans until nothing is due; returns the events for which it made reminders.
async fn plan(store: Arc<PostgresStore>, now: Timestamp) -> Vec<String> {
    let mut made = Vec::new();
    loop {
        let planned = store.plan_events(None, by(now)).await.expect("the store works");
        made.extend(planned.events.iter().filter(|event| event.n_made > 0).map(|event| event.key.clone()));
        // Behind a full page there may be more; and where the other has what is due, it is looked at again until that is done.
        let is_full = planned.events.len() >= PLANNED_AT_ONCE;
        if !is_full && planned.next_at.is_none_or(|at| at > now) {
            return made;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_planners_divide_the_work_and_a_slot_has_one_reminder() {
    let Some((_server, one, other)) = two_nodes().await else { return };
    let now = now();
    let n_events = 1500;
    let games = (0..n_events).map(|n| game(&format!("game:{n}"), now + SignedDuration::from_hours(9))).collect();
    put(&one, games, now).await;
    let (first, second) = tokio::join!(tokio::spawn(plan(one.clone(), now)), tokio::spawn(plan(other, now)));
    let (first, second) = (first.expect("it ended"), second.expect("it ended"));
    assert!(!first.is_empty() && !second.is_empty(), "one of them did everything");
    let keys: BTreeSet<&String> = first.iter().chain(&second).collect();
    assert_eq!((first.len() + second.len(), keys.len()), (n_events, n_events), "an event was planned twice");
    let query = ReminderQuery { limit: 10_000, ..ReminderQuery::default() };
    assert_eq!(one.reminders(query).await.expect("the store works").len(), n_events);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_leased_or_moved_and_never_both() {
    let Some((_server, one, other)) = two_nodes().await else { return };
    let (mut n_leased, mut n_moved) = (0, 0);
    for round in 0..ROUNDS {
        let now = now();
        let key = format!("game:{round}");
        // Its reminder has just become due.
        let start = now + SignedDuration::from_hours(1);
        put(&one, vec![game(&key, start)], now - SignedDuration::from_secs(1)).await;
        let reminder = view(&one, &key).await.slots[0].reminder;
        let claim = Claim {
            now,
            from: Timestamp::MIN,
            until: now,
            shards: Shards::ALL,
            limit: 100,
            node: "one".into(),
            lease_until: now + SignedDuration::from_mins(15),
            default_channel: DefaultChannel::chosen(Address::new("console", "")),
            only: Some(vec![reminder]),
            holding: Default::default(),
        };
        let later = start + SignedDuration::from_hours(1);
        let (claiming, moving) = (one.clone(), other.clone());
        let moved = game(&key, later);
        let (claims, put) = tokio::join!(
            tokio::spawn(async move { claiming.claim(claim).await.expect("the store works") }),
            tokio::spawn(async move { put(&moving, vec![moved], now).await })
        );
        let (claims, put) = (claims.expect("it ended"), put.expect("it ended"));
        let slot = view(&one, &key).await.slots.remove(0);
        match claims.to_send.is_empty() {
            true => {
                n_moved += 1;
                assert_eq!(slot.due_at, later - SignedDuration::from_hours(1), "round {round}");
                assert_eq!((slot.state, slot.reminder), (Some(StateKind::Scheduled), reminder));
                assert!(put.planned.busy.is_empty());
            }
            false => {
                n_leased += 1;
                assert_eq!(put.planned.busy, [reminder], "round {round}: who moves it must ask for it back");
                assert_eq!(slot.due_at, start - SignedDuration::from_hours(1), "round {round}");
                assert!(!view(&one, &key).await.is_planned);
            }
        }
    }
    assert_eq!(n_leased + n_moved, ROUNDS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_that_put_the_same_new_event_at_once_make_one_reminder_a_slot() {
    let Some((_server, one, other)) = two_nodes().await else { return };
    let start = now() + SignedDuration::from_hours(9);
    for round in 0..ROUNDS {
        let key = format!("game:{round}");
        let putting = |store: &Arc<PostgresStore>, ahead: i64| {
            let (store, event) = (store.clone(), game(&key, start));
            tokio::spawn(async move { put(&store, vec![event], now() + SignedDuration::from_millis(ahead)).await })
        };
        let (first, second) = tokio::join!(putting(&one, 0), putting(&other, 1));
        let are_new = [first, second].map(|put| put.expect("it ended").done[0].is_new);
        assert_ne!(are_new[0], are_new[1], "round {round}: one of them was first");
    }
    let query = ReminderQuery { limit: 10_000, ..ReminderQuery::default() };
    assert_eq!(one.reminders(query).await.expect("the store works").len(), ROUNDS);
}
