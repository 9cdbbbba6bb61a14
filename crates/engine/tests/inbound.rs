//! Answers from a chat platform: who may give them, how often they come, and which node hears them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use punctual_core::answer::Verb;
use punctual_core::change::Change;
use punctual_core::channel::Channel;
use punctual_core::channel::receive::{End, NotNow, NotTaken, Reaction};
use punctual_core::clock::Clock;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{AckPolicy, Address, Reminder};
use punctual_core::store::{About, Beat, By, Follows, Response, StoreError};
use punctual_core::user::User;
use punctual_engine::Link;
use punctual_testkit::chat::{Chat, Cut};
use punctual_testkit::nodes::Nodes;
use punctual_testkit::sample::{self, once};
use punctual_testkit::tap::Tap;

/// A store that fails while a test says so, and counts the calls that reach it.
#[derive(Clone, Default)]
struct Down {
    is_down: Arc<AtomicBool>,
    n_holds: Arc<AtomicUsize>,
    /// The next change is written, and its answer is lost.
    loses_change: Arc<AtomicBool>,
}

#[async_trait]
impl Tap for Down {
    async fn before(&self, call: &'static str) -> Result<(), StoreError> {
        if self.is_down.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable("it is down".into()));
        }
        if call == "hold" {
            self.n_holds.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    async fn after(&self, call: &'static str) -> Result<(), StoreError> {
        if call == "change" && self.loses_change.swap(false, Ordering::AcqRel) {
            return Err(StoreError::Unavailable("its answer is lost".into()));
        }
        Ok(())
    }
}

struct World {
    chat: Chat,
    nodes: Nodes,
    taps: Vec<Down>,
}

fn seconds(n: i64) -> SignedDuration {
    SignedDuration::from_secs(n)
}

impl World {
    fn start(n: u32) -> Self {
        Self::with(n, Chat::default())
    }

    fn with(n: u32, chat: Chat) -> Self {
        let channel: Arc<dyn Channel> = Arc::new(chat.clone());
        let channels: BTreeMap<String, Arc<dyn Channel>> = [("chat".to_owned(), channel)].into();
        let taps: Vec<Down> = (0..n).map(|_| Down::default()).collect();
        let nodes = Nodes::start(n, &channels, |group, _| taps[group as usize - 1].clone());
        nodes.advance(seconds(5));
        Self { chat, nodes, taps }
    }

    /// A reminder of Ann's that asks for an answer, and has been sent to `address`.
    fn asked(&self, number: u8, address: &str) -> Reminder {
        let now = self.nodes.clock.now();
        let ack = AckPolicy { timeout: Duration::from_secs(600), ..AckPolicy::default() };
        let to = vec![Address::new("chat", address)];
        let reminder = Reminder { ack: Some(ack), to, ..once(number, now + seconds(10), now) };
        self.create(&reminder);
        self.nodes.advance(seconds(11));
        reminder
    }

    fn create(&self, reminder: &Reminder) {
        let (engine, reminder) = (self.living().clone(), reminder.clone());
        self.nodes
            .run(self.group(), async move { engine.create(vec![reminder], "ann", None).await })
            .expect("it is made");
    }

    /// The last node lives in every test.
    fn group(&self) -> u32 {
        self.taps.len() as u32
    }

    fn living(&self) -> &punctual_engine::Engine {
        self.nodes.engine(self.group())
    }

    fn put_user(&self, id: &str, address: &str) {
        let user = User { addresses: vec![Address::new("chat", address)], ..sample::user(id, self.nodes.clock.now()) };
        let engine = self.living().clone();
        self.nodes
            .run(self.group(), async move { engine.store().put_user(user, "ann".into()).await })
            .expect("the store works");
    }

    fn change(&self, reminder: &Reminder, change: Change) {
        let (engine, id, by) = (self.living().clone(), reminder.id, By::new("ann", self.nodes.clock.now()));
        self.nodes.run(self.group(), async move { engine.change(id, change, by).await }).expect("it can be changed");
    }

    fn answers(&self, reminder: &Reminder) -> Vec<Response> {
        let (found, slot) = (Arc::new(Mutex::new(None)), reminder.id);
        let (engine, done) = (self.living().clone(), found.clone());
        self.nodes.run(self.group(), async move {
            let trails = engine.store().occurrences(slot, None, 10).await.expect("the store works");
            *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(trails);
        });
        let trails = found.lock().unwrap_or_else(PoisonError::into_inner).take().expect("it was read");
        trails.into_iter().flat_map(|trail| trail.responses).collect()
    }

    /// Presses a button, and lets what follows happen; returns the last thing that the person was told.
    fn press(&self, message: usize, verb: Verb, who: &str) -> Option<Reaction> {
        let event = self.chat.press(message, verb, who);
        self.nodes.advance(seconds(1));
        self.chat.reactions(event).pop()
    }

    fn shown(&self, message: usize) -> Option<(End, Option<String>)> {
        self.chat.messages()[message].shows.clone().map(|shows| (shows.end, shows.by))
    }

    /// How the connection is, as a node sees it.
    fn link(&self, group: u32) -> Option<Link> {
        self.nodes.engine(group).receiving("chat").and_then(|receiving| receiving.connection)
    }
}

fn is_answered(reaction: &Option<Reaction>, expect: Verb) -> bool {
    matches!(reaction, Some(Reaction::Answered { verb, .. }) if *verb == expect)
}

fn already(reaction: &Option<Reaction>) -> Option<StateKind> {
    match reaction {
        Some(Reaction::Already { state, .. }) => *state,
        _ => None,
    }
}

#[test]
fn a_press_is_recorded_and_the_message_shows_it() {
    let world = World::start(1);
    let reminder = world.asked(1, "ann");
    assert_eq!(world.shown(0), None);
    let told = world.press(0, Verb::Ack, "ann");
    assert!(is_answered(&told, Verb::Ack), "{told:?}");
    let [answer] = world.answers(&reminder).try_into().unwrap();
    assert_eq!((answer.verb, answer.user.as_deref(), answer.actor.as_str()), (Verb::Ack, Some("ann"), "channel:chat"));
    assert_eq!((answer.said.channel.as_deref(), answer.said.name.as_deref()), (Some("chat"), Some("ANN")));
    assert_eq!(world.shown(0), Some((End::Done, Some("ANN".into()))));
    assert_eq!(world.chat.n_unconfirmed(), 0);
    let receiving = world.nodes.engine(1).receiving("chat").unwrap();
    assert_eq!((receiving.answers, receiving.connection), (1, Some(Link::Connected)));
}

#[test]
fn every_message_of_the_run_shows_the_answer_whichever_door_it_came_by() {
    let world = World::start(1);
    let reminder = world.asked(1, "ann");
    // Nobody answers, and it is sent again.
    world.nodes.advance(seconds(601));
    assert_eq!(world.chat.messages().len(), 2);
    world.change(&reminder, Change::Ack);
    world.nodes.advance(seconds(1));
    assert_eq!([world.shown(0), world.shown(1)], [Some((End::Done, None)), Some((End::Done, None))]);
}

#[test]
fn a_snooze_shows_until_when_and_a_second_press_says_what_is() {
    let world = World::start(1);
    let reminder = world.asked(1, "ann");
    let told = world.press(0, Verb::Snooze, "ann");
    let Some(Reaction::Answered { verb: Verb::Snooze, until: Some(until), .. }) = told else { panic!("{told:?}") };
    assert_eq!(world.shown(0), Some((End::Snoozed(until), Some("ANN".into()))));
    world.nodes.advance(seconds(601));
    assert_eq!(world.chat.messages().len(), 2, "it is asked again after the snooze");
    let told = world.press(1, Verb::Ack, "ann");
    assert!(is_answered(&told, Verb::Ack), "{told:?}");
    // The old message has buttons on a phone that was offline.
    for (message, verb) in [(0, Verb::Ack), (1, Verb::Snooze), (0, Verb::Dismiss)] {
        assert_eq!(already(&world.press(message, verb, "ann")), Some(StateKind::Completed));
    }
    assert_eq!(world.answers(&reminder).len(), 2);
}

#[test]
fn only_those_may_answer_whom_the_message_was_for() {
    let world = World::start(1);
    world.put_user("bob", "bob");
    let reminder = world.asked(1, "ann");
    for who in ["bob", "eve"] {
        let told = world.press(0, Verb::Ack, who);
        assert!(matches!(told, Some(Reaction::NotYours { .. })), "{who}: {told:?}");
    }
    assert_eq!((world.answers(&reminder).len(), world.shown(0)), (0, None));
    let receiving = world.nodes.engine(1).receiving("chat").unwrap();
    let unknown: Vec<&str> = receiving.last_unknown.iter().map(|(address, _)| address.as_str()).collect();
    assert_eq!((receiving.unknown_senders, unknown), (1, vec!["eve"]), "bob is known, and eve is not");
}

#[test]
fn everybody_in_a_group_may_answer_what_the_group_was_asked() {
    let world = World::start(1);
    world.put_user("bob", "bob");
    let (first, second) = (world.asked(1, "room"), world.asked(2, "room"));
    assert!(is_answered(&world.press(0, Verb::Ack, "bob"), Verb::Ack));
    assert!(is_answered(&world.press(1, Verb::Ack, "eve"), Verb::Ack));
    let who = |reminder: &Reminder| world.answers(reminder).pop().and_then(|answer| answer.user);
    assert_eq!((who(&first), who(&second)), (Some("bob".into()), None));
    assert_eq!(world.shown(1), Some((End::Done, Some("EVE".into()))));
}

#[test]
fn a_snooze_that_is_not_allowed_is_refused_with_its_reason() {
    let world = World::start(1);
    let now = world.nodes.clock.now();
    let to = vec![Address::new("chat", "ann")];
    let reminder =
        Reminder { ack: Some(AckPolicy::default()), snooze_allowed: false, to, ..once(1, now + seconds(10), now) };
    world.create(&reminder);
    world.nodes.advance(seconds(11));
    let told = world.press(0, Verb::Snooze, "ann");
    assert!(matches!(told, Some(Reaction::NotNow { why: NotNow::SnoozeNotAllowed, .. })), "{told:?}");
    assert!(is_answered(&world.press(0, Verb::Ack, "ann"), Verb::Ack), "it is still open");
}

#[test]
fn a_cancelled_run_says_so() {
    let world = World::start(1);
    let reminder = world.asked(1, "ann");
    world.change(&reminder, Change::Cancel);
    world.nodes.advance(seconds(1));
    assert_eq!(world.shown(0), Some((End::Cancelled, None)));
    assert_eq!(already(&world.press(0, Verb::Ack, "ann")), Some(StateKind::Dismissed));
    assert_eq!(world.answers(&reminder).len(), 0);
}

#[test]
fn an_event_that_comes_again_is_one_answer() {
    for chat in [Chat::default(), Chat::that_forgets()] {
        let world = World::with(1, chat);
        let reminder = world.asked(1, "ann");
        for cut in [Cut::BeforeIt, Cut::BeforeAck, Cut::BeforeAck] {
            world.chat.cut(cut);
            // It is taken, and the platform hears of it only over the next connection, or not at all.
            world.press(0, Verb::Snooze, "ann");
            world.nodes.advance(seconds(2));
            assert_eq!(world.chat.n_unconfirmed(), 0, "{cut:?}");
        }
        assert_eq!(world.answers(&reminder).len(), 3);
        assert_eq!(world.chat.connections(), (1, 4));
    }
}

#[test]
fn an_answer_whose_commit_was_not_answered_counts_once() {
    let world = World::start(1);
    let reminder = world.asked(1, "ann");
    world.taps[0].loses_change.store(true, Ordering::Release);
    let told = world.press(0, Verb::Snooze, "ann");
    assert_eq!(already(&told), Some(StateKind::Snoozed), "the second try finds what the first has written");
    assert_eq!(world.answers(&reminder).len(), 1);
}

#[test]
fn while_the_store_is_down_nothing_is_acknowledged() {
    let world = World::start(1);
    let reminder = world.asked(1, "ann");
    world.taps[0].is_down.store(true, Ordering::Release);
    let event = world.chat.press(0, Verb::Ack, "ann");
    world.nodes.advance(seconds(10));
    assert_eq!((world.chat.n_unconfirmed(), world.chat.reactions(event).len()), (1, 0));
    let (engine, inbound) = (world.nodes.engine(1).clone(), world.chat.event(event));
    let refused = world.nodes.run(1, async move { engine.receive("chat", inbound).await });
    assert_eq!(refused.err(), Some(NotTaken::Unavailable), "a webhook's caller is told to come again");
    world.taps[0].is_down.store(false, Ordering::Release);
    world.nodes.advance(seconds(60));
    assert_eq!((world.chat.n_unconfirmed(), world.answers(&reminder).len()), (0, 1));
}

#[test]
fn one_node_at_a_time_has_the_connection() {
    let world = World::start(3);
    assert_eq!(world.chat.connections(), (1, 1));
    assert_eq!([1, 2, 3].map(|group| world.link(group)), [Link::Connected, Link::Elsewhere, Link::Elsewhere].map(Some));
    assert_eq!(world.nodes.engine(3).receiving("chat").and_then(|receiving| receiving.node), Some("node-1".into()));
    let reminder = world.asked(1, "ann");
    assert!(is_answered(&world.press(0, Verb::Ack, "ann"), Verb::Ack));
    assert_eq!(world.answers(&reminder).len(), 1);
}

#[test]
fn a_connection_whose_node_dies_is_taken_over_within_five_seconds() {
    let world = World::start(3);
    let reminder = world.asked(1, "ann");
    world.nodes.kill(1);
    assert_eq!(world.chat.connections().0, 0);
    let event = world.chat.press(0, Verb::Ack, "ann");
    world.nodes.advance(seconds(5));
    assert_eq!(world.chat.connections().0, 1);
    assert!(is_answered(&world.chat.reactions(event).pop(), Verb::Ack));
    assert_eq!(world.answers(&reminder).len(), 1);
}

#[test]
fn a_node_that_stops_in_order_is_followed_at_once() {
    let mut world = World::start(2);
    world.nodes.stop(1);
    world.nodes.advance(SignedDuration::from_millis(100));
    assert_eq!(world.chat.connections(), (1, 2));
    assert_eq!(world.link(2), Some(Link::Connected));
}

#[test]
fn a_node_that_slept_through_a_takeover_writes_nothing_by_its_old_connection() {
    let world = World::start(2);
    let reminder = world.asked(1, "ann");
    // It stands still with its connection open.
    world.nodes.freeze(1, true);
    world.nodes.advance(seconds(6));
    assert_eq!((world.chat.connections(), world.link(2)), ((2, 2), Some(Link::Connected)));
    world.chat.press(0, Verb::Snooze, "ann");
    world.nodes.advance(seconds(1));
    assert_eq!(world.answers(&reminder).len(), 1);
    world.nodes.freeze(1, false);
    world.nodes.advance(seconds(5));
    assert_eq!((world.answers(&reminder).len(), world.chat.connections().0), (1, 1), "it let go of its connection");
    assert_eq!(world.link(1), Some(Link::Elsewhere));
}

#[test]
fn a_node_that_is_cut_off_from_the_store_leaves_the_connection_to_others() {
    let world = World::start(2);
    world.taps[0].is_down.store(true, Ordering::Release);
    world.nodes.advance(seconds(5));
    assert_eq!((world.chat.connections().0, world.link(2)), (1, Some(Link::Connected)));
    world.taps[0].is_down.store(false, Ordering::Release);
    world.nodes.advance(seconds(5));
    assert_eq!((world.chat.connections().0, world.link(1)), (1, Some(Link::Elsewhere)));
}

#[test]
fn an_idle_connection_asks_the_store_for_nothing() {
    let world = World::start(2);
    let n_before = world.taps[0].n_holds.load(Ordering::Acquire);
    world.nodes.advance(SignedDuration::from_hours(1));
    let n_asked = world.taps[0].n_holds.load(Ordering::Acquire) - n_before;
    assert!((11..=13).contains(&n_asked), "{n_asked}: only the safety sweep does, every five minutes");
    assert_eq!(world.chat.connections(), (1, 1));
}

#[test]
fn a_channel_that_nobody_has_any_more_is_not_asked_about() {
    let world = World::start(2);
    let engine = world.living().clone();
    world.nodes.run(world.group(), async move {
        let beat = Beat {
            node: "old".into(),
            echo: None,
            shared: String::new(),
            follows: Follows::No,
            about: About::default(),
        };
        engine.store().beat(beat).await.expect("the store works");
        engine.store().hold("old", vec!["attic".into()]).await.expect("the store works");
    });
    // The nodes hear of it with the safety sweep; by then its node is gone.
    world.nodes.advance(seconds(301));
    let n_before = world.taps[0].n_holds.load(Ordering::Acquire);
    world.nodes.advance(seconds(60));
    assert_eq!(world.taps[0].n_holds.load(Ordering::Acquire), n_before);
}
