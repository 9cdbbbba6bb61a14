//! One node at a time polls a bot, and another takes over when it dies, sleeps or is cut off.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_testkit::platforms::telegram::{Person, Shown, Telegram};
use punctual_testkit::proxy::Toward;
use reqwest::Method;
use serde_json::json;

use crate::cluster::Cluster;

const TOKEN: &str = "123456789:AAE-s3cret_token";
const ANN: Person = Person { id: 11, name: "Ann" };
/// How long after a node is gone another one polls.
const TAKEN_OVER_WITHIN: SignedDuration = SignedDuration::from_secs(5);

struct World {
    telegram: Telegram,
    cluster: Cluster,
}

impl World {
    async fn of(n_nodes: usize) -> Option<Self> {
        let (telegram, mut cluster) = (Telegram::start(TOKEN), Cluster::new()?);
        let url = telegram.url();
        for _ in 0..n_nodes {
            cluster.add_behind_proxy(&[
                ("PUNCTUAL_CHANNEL_CHAT_KIND", "telegram"),
                ("PUNCTUAL_CHANNEL_CHAT_TOKEN", TOKEN),
                ("PUNCTUAL_CHANNEL_CHAT_API_URL", &url),
                ("PUNCTUAL_CHANNEL_CHAT_RATE", "none"),
                ("PUNCTUAL_CHANNEL_CHAT_ADDRESS_RATE", "none"),
            ]);
        }
        cluster.until_divided().await;
        let world = Self { telegram, cluster };
        world.cluster.until("a node polls", || world.telegram.polls().0 > 0).await;
        Some(world)
    }

    /// The node that has the connection.
    fn holder(&self) -> usize {
        let name = self.holder_name();
        let is_named = |index: &usize| {
            let node = &self.cluster.nodes[*index];
            node.is_running() && name.starts_with(&format!("{}-", node.server().pid()))
        };
        (0..self.cluster.nodes.len()).find(is_named).unwrap_or_else(|| panic!("no node is called {name}"))
    }

    /// Reminders of Ann's that await an answer, sent by `node`; returns their messages.
    async fn ask(&self, node: usize, n: usize) -> Vec<Shown> {
        let before = self.telegram.messages(ANN.id).len();
        for _ in 0..n {
            let asked = json!({
                "user": "ann", "message": "m", "schedule": { "type": "once", "at": "0s" }, "require_ack": true,
                "ack_timeout": "1h", "to": [{ "channel": "chat", "address": ANN.id.to_string() }],
            });
            let (status, body) = self.cluster.nodes[node].call(Method::POST, "/v1/reminders", Some(asked)).await;
            assert_eq!(status, 201, "{body}");
        }
        self.cluster.until("all are sent", || self.telegram.messages(ANN.id).len() == before + n).await;
        let awaiting = "select count(*) from punctual.occurrence where state = 'awaiting_ack'";
        self.cluster.until("all await an answer", || self.cluster.number(awaiting) >= n).await;
        self.telegram.messages(ANN.id).split_off(before)
    }

    /// The name of the node that has the connection.
    fn holder_name(&self) -> String {
        self.cluster.sql("select node from punctual.inbound where channel = 'chat'")
    }

    /// Waits until another node than `before` has the connection and polls; returns how long after `since` that was.
    async fn taken_over(&self, before: &str, n_polls: u64, since: Timestamp) -> SignedDuration {
        let is_polled = || self.holder_name() != before && self.telegram.polls().0 > n_polls;
        self.cluster.until("another node polls", is_polled).await;
        self.cluster.clock.now().duration_since(since)
    }

    /// Waits until `n` runs were answered in all, each once.
    async fn answered(&self, n: usize) {
        let completed = "select count(*) from punctual.occurrence where state = 'completed'";
        self.cluster.until("every press is recorded", || self.cluster.number(completed) == n).await;
        self.cluster.until("the platform has nothing left", || self.telegram.unconfirmed() == 0).await;
        assert_eq!(self.cluster.number("select count(*) from punctual.response"), n, "each counts once");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_whose_node_is_killed_is_polled_by_another_within_five_seconds() {
    let Some(mut world) = World::of(3).await else { return };
    let mut n_answered = 0;
    for _ in 0..2 {
        let holder = world.holder();
        let other = (0..3).find(|node| *node != holder && world.cluster.nodes[*node].is_running()).unwrap();
        let messages = world.ask(other, 4).await;
        // Two before it dies, and two that wait for whoever comes.
        for message in &messages[..2] {
            world.telegram.press(message, "Done", ANN);
        }
        let name = world.holder_name();
        world.cluster.nodes[holder].kill();
        let (n_polls, killed_at) = (world.telegram.polls().0, world.cluster.clock.now());
        for message in &messages[2..] {
            world.telegram.press(message, "Done", ANN);
        }
        let took = world.taken_over(&name, n_polls, killed_at).await;
        println!("polled by another after {:.3} s", took.as_secs_f64());
        assert!(took <= TAKEN_OVER_WITHIN, "{took:?}");
        n_answered += messages.len();
        world.answered(n_answered).await;
        world.cluster.nodes[holder].start();
        world.cluster.until_divided().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_slept_through_the_takeover_answers_nothing_twice() {
    let Some(world) = World::of(2).await else { return };
    let sleeper = world.holder();
    let messages = world.ask(1 - sleeper, 4).await;
    let name = world.holder_name();
    world.cluster.nodes[sleeper].pause();
    let (n_polls, paused_at) = (world.telegram.polls().0, world.cluster.clock.now());
    for message in &messages[..2] {
        world.telegram.press(message, "Done", ANN);
    }
    let took = world.taken_over(&name, n_polls, paused_at).await;
    println!("polled by another after {:.3} s", took.as_secs_f64());
    assert!(took <= TAKEN_OVER_WITHIN, "{took:?}");
    world.answered(2).await;
    world.cluster.nodes[sleeper].wake();
    for message in &messages[2..] {
        world.telegram.press(message, "Done", ANN);
    }
    world.answered(4).await;
    assert_eq!(world.holder(), 1 - sleeper, "it knows that it has lost it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_cut_off_from_the_database_leaves_the_bot_to_another() {
    let Some(world) = World::of(2).await else { return };
    let cut_off = world.holder();
    let messages = world.ask(1 - cut_off, 2).await;
    let proxy = world.cluster.nodes[cut_off].proxy.as_ref().unwrap();
    proxy.swallow(Toward::Both);
    let cut_at = world.cluster.clock.now();
    for message in &messages {
        world.telegram.press(message, "Done", ANN);
    }
    // The node that is cut off still polls, and can write nothing down: it confirms nothing.
    world.cluster.within(Duration::from_secs(10), "the other has it", || world.holder() == 1 - cut_off).await;
    println!("another has it after {:.3} s", world.cluster.clock.now().duration_since(cut_at).as_secs_f64());
    world.answered(2).await;
    proxy.resume();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_stopped_hands_its_bot_over_at_once() {
    let Some(mut world) = World::of(2).await else { return };
    let holder = world.holder();
    let messages = world.ask(1 - holder, 1).await;
    world.cluster.nodes[holder].stop();
    let stopped_at = world.cluster.clock.now();
    world.telegram.press(&messages[0], "Done", ANN);
    world.answered(1).await;
    assert!(world.cluster.clock.now().duration_since(stopped_at) <= SignedDuration::from_secs(2));
}
