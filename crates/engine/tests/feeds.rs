//! A calendar that is removed while it is being read leaves nothing behind.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use punctual_core::calendars::{Calendars, Contents, ReadError, Reading};
use punctual_core::channel::Channel;
use punctual_core::clock::Clock;
use punctual_core::event::{Event, Offset};
use punctual_core::feed::{EVERY, Feed, FeedKey, FeedSettings};
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{Address, Metadata, Misfire, OnUnknown, Priority, ReminderStatus};
use punctual_core::store::{EventQuery, Events, Feeds, ReminderQuery, Store, StoreError};
use punctual_core::zone::Zone;
use punctual_engine::{Engine, Parts, Settings};
use punctual_testkit::clock::ManualClock;
use punctual_testkit::executor::Executor;
use punctual_testkit::memory::MemoryStore;
use punctual_testkit::phone::RecordingChannel;
use punctual_testkit::random::SeededRandom;
use punctual_testkit::sample::instant;
use punctual_testkit::story::BEGIN;
use punctual_testkit::tap::{Tap, Tapped};

/// Says that ann has an appointment tomorrow.
struct Appointment;

#[async_trait]
impl Calendars for Appointment {
    async fn read(&self, feed: &Feed, _zone: &Zone, now: Timestamp) -> Result<Reading, ReadError> {
        let event = Event {
            key: format!("{}:1", feed.key.source()),
            starts_at: now + SignedDuration::from_hours(24),
            ends_at: None,
            repeats: None,
            offsets: Some(vec![Offset::minutes_before(15)]),
            scope: None,
            users: vec![feed.key.owner.clone()],
            groups: Vec::new(),
            name: None,
            message: "appointment".into(),
            timezone: None,
            priority: Priority::Normal,
            to: Vec::new(),
            only: false,
            ack: None,
            escalate: Vec::new(),
            snooze_allowed: true,
            retries_max: 3,
            misfire: Misfire::default(),
            on_unknown: OnUnknown::Auto,
            metadata: Metadata::default(),
            tags: Vec::new(),
            source: Some(feed.key.source()),
            created_at: now,
            updated_at: now,
        };
        Ok(Reading::Changed(Box::new(Contents { events: vec![event], ..Contents::default() })))
    }
}

/// Removes ann's calendar just before this call.
struct Removing {
    at: Option<&'static str>,
    database: MemoryStore,
    clock: ManualClock,
}

#[async_trait]
impl Tap for Removing {
    async fn before(&self, call: &'static str) -> Result<(), StoreError> {
        if self.at == Some(call) {
            self.database.remove_feed(&FeedKey::of_user("ann", "work"), "ann".into(), self.clock.now()).await?;
        }
        Ok(())
    }
}

/// How many events and active reminders there are after ann's calendar was put, when it is removed just before the call `at`.
fn left(at: Option<&'static str>) -> (usize, usize) {
    let clock = ManualClock::at(instant(BEGIN));
    let executor = Executor::default();
    let database = MemoryStore::new(Arc::new(clock.clone()));
    let removing = Removing { at, database: database.connect(), clock: clock.clone() };
    let phone: Arc<dyn Channel> = Arc::new(RecordingChannel::default());
    let engine = Engine::new(Parts {
        store: Tapped::before(Arc::new(database.connect()), removing),
        channels: BTreeMap::from([("phone".to_owned(), phone)]),
        clock: Arc::new(clock.clone()),
        random: Arc::new(SeededRandom::new(1)),
        runtime: Arc::new(executor.runtime(1)),
        settings: Settings {
            node: "node-1".into(),
            default_channel: DefaultChannel::chosen(Address::new("phone", "1")),
            ..Settings::default()
        },
        alarm: None,
        opinion: None,
    });
    engine.follow_calendars(Arc::new(Appointment));
    let (starting, now) = (engine.clone(), clock.now());
    let task = async move {
        let running = starting.start().await.unwrap();
        let key = FeedKey::of_user("ann", "work");
        let feed = Feed::new(key, "https://x.example/".into(), FeedSettings::default(), EVERY, now);
        starting.put_feed(feed, "ann").await.unwrap();
        std::mem::forget(running);
    };
    executor.spawn(1, Box::pin(task));
    for _ in 0..10 {
        executor.run_until_idle();
        clock.advance(SignedDuration::from_millis(200));
    }
    executor.run_until_idle();
    let events = database.events(EventQuery { limit: 10, ..EventQuery::default() }).now_or_never().unwrap().unwrap();
    let query = ReminderQuery { limit: 10, ..ReminderQuery::default() };
    let reminders = database.reminders(query).now_or_never().unwrap().unwrap();
    let active = reminders.iter().filter(|view| view.reminder.status == ReminderStatus::Active).count();
    (events.len(), active)
}

#[test]
fn a_calendar_that_is_removed_while_it_is_being_read_leaves_nothing() {
    assert_eq!(left(None), (1, 1), "its event is there, and reminds of itself");
    for at in ["put_events", "end_feed"] {
        assert_eq!(left(Some(at)), (0, 0), "it was removed before {at}");
    }
}
