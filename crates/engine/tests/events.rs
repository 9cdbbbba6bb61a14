//! An event is planned soon after it was put, however much there is to plan and whatever is being sent meanwhile.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::Channel;
use punctual_core::clock::Clock;
use punctual_core::event::{Event, Offset};
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{Address, Metadata, Misfire, OnUnknown, Priority};
use punctual_core::store::{EventView, PutEvent, REMINDERS_AT_ONCE};
use punctual_engine::Settings;
use punctual_testkit::clock::ManualClock;
use punctual_testkit::nodes::Nodes;
use punctual_testkit::phone::RecordingChannel;
use punctual_testkit::tap::Tap;

/// A store as it is.
struct Plain;

#[async_trait]
impl Tap for Plain {}

struct Stage {
    nodes: Nodes,
    phone: RecordingChannel,
}

impl Stage {
    fn new() -> Self {
        let clock = ManualClock::at(punctual_testkit::sample::instant(punctual_testkit::story::BEGIN));
        let phone = RecordingChannel::default();
        let channel: Arc<dyn Channel> = Arc::new(phone.clone());
        let settings =
            Settings { default_channel: DefaultChannel::chosen(Address::new("phone", "1")), ..Settings::default() };
        let channels = BTreeMap::from([("phone".to_owned(), channel)]);
        let nodes = Nodes::start_at(clock, 1, &channels, &settings, |_, _| Plain);
        nodes.advance(SignedDuration::from_secs(5));
        Self { nodes, phone }
    }

    fn put(&self, events: Vec<Event>) {
        let engine = self.nodes.engine(1).clone();
        let put = events.into_iter().map(|event| PutEvent { event, keeps_instances: true }).collect();
        self.nodes.run(1, async move { engine.put_events(put, "app", None).await }).unwrap();
    }

    fn view(&self, key: &str) -> EventView {
        let found = futures_util::FutureExt::now_or_never(self.nodes.store().event(key));
        found.expect("a store in memory answers at once").unwrap().expect("there is such an event")
    }
}

/// A game of these people's, who are reminded an hour before it.
fn game(key: &str, starts_at: Timestamp, users: Vec<String>) -> Event {
    Event {
        key: key.into(),
        starts_at,
        ends_at: None,
        repeats: None,
        offsets: Some(vec![Offset::minutes_before(60)]),
        scope: None,
        users,
        groups: Vec::new(),
        name: None,
        message: "Game".into(),
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
        source: None,
        created_at: starts_at,
        updated_at: starts_at,
    }
}

fn people(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("u{n}")).collect()
}

#[test]
fn events_with_more_reminders_than_one_transaction_makes_are_planned_when_they_have_been_put() {
    let stage = Stage::new();
    let start = stage.nodes.clock.now() + SignedDuration::from_hours(9);
    let n_people = REMINDERS_AT_ONCE / 2 + 100;
    stage.put((0..3).map(|n| game(&format!("game:{n}"), start, people(n_people))).collect());
    for n in 0..3 {
        let view = stage.view(&format!("game:{n}"));
        assert_eq!((view.n_slots, view.is_planned), (n_people as u64, true), "game:{n}");
    }
    stage.put(vec![game("alone", start, people(REMINDERS_AT_ONCE + 100))]);
    let view = stage.view("alone");
    assert_eq!((view.n_slots, view.is_planned), (REMINDERS_AT_ONCE as u64 + 100, true));
    // The same for one that is removed.
    let engine = stage.nodes.engine(1).clone();
    stage.nodes.run(1, async move { engine.remove_events(vec!["alone".into()], "app").await }).unwrap();
    stage.nodes.advance(SignedDuration::from_hours(9));
    assert_eq!(stage.phone.all().len(), 3 * n_people, "what is withdrawn is not sent");
}

#[test]
fn an_event_that_moves_while_its_reminder_is_being_sent_is_planned_soon_after_that() {
    let stage = Stage::new();
    let now = stage.nodes.clock.now();
    let start = now + SignedDuration::from_secs(3600 + 60);
    stage.put(vec![game("game", start, people(1))]);
    let sent = stage.phone.then_wait();
    stage.nodes.advance(SignedDuration::from_secs(61));
    assert_eq!(stage.phone.all().len(), 1, "it is being sent");
    let later = start + SignedDuration::from_mins(2);
    stage.put(vec![game("game", later, people(1))]);
    assert!(!stage.view("game").is_planned, "what is being sent is left alone");
    sent.notify_one();
    stage.nodes.advance(SignedDuration::from_secs(3));
    let view = stage.view("game");
    assert_eq!((view.slots[0].due_at, view.is_planned), (later - SignedDuration::from_hours(1), true));
    stage.nodes.advance(SignedDuration::from_mins(2));
    assert_eq!(stage.phone.all().len(), 1, "a move makes it due anew, on time");
}
