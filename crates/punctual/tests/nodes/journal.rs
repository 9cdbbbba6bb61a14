//! The journal over many nodes.

use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::clock::Clock;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Node};
use crate::common::{Receiver, soon};
use crate::events::Events;

/// How soon an entry that one node wrote is seen at another: much sooner than by the heartbeat, which comes every second.
const SEEN_WITHIN: SignedDuration = SignedDuration::from_millis(500);
/// How soon another node tells a subscription after the one that did was killed: the duty ends after five seconds, and is asked for every one and
/// a half. The rest is for a busy machine.
const TAKEN_OVER_WITHIN: SignedDuration = SignedDuration::from_secs(12);

async fn remind(node: &Node, user: &str) {
    let at = json!({ "type": "once", "at": "2099-01-01T00:00:00Z" });
    let body = json!({ "user": user, "message": "m", "schedule": at });
    let (status, made) = node.call(Method::POST, "/v1/reminders", Some(body)).await;
    assert_eq!(status, 201, "{made}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_shows_what_any_node_writes_and_goes_on_at_another_node() {
    let Some(mut cluster) = Cluster::of(2) else { return };
    cluster.until_divided().await;
    let mut events = Events::open(cluster.nodes[1].server(), "", None).await;
    // The first entry may come with the heartbeat: the other node has just learnt that somebody follows.
    remind(&cluster.nodes[0], "first").await;
    events.entry().await;
    let mut spans = Vec::new();
    for n in 0..20 {
        let begun_at = cluster.clock.now();
        remind(&cluster.nodes[0], &format!("user{n}")).await;
        assert_eq!(events.entry().await.data["user"], format!("user{n}"));
        spans.push(cluster.clock.now().duration_since(begun_at));
    }
    spans.sort();
    println!("written at one node, seen at another: p50 {:?}, max {:?}", spans[10], spans[19]);
    assert!(spans[10] <= SEEN_WITHIN, "{spans:?}");

    // The node dies, more is written, and the reader goes on at the other.
    let last = events.last_id;
    cluster.nodes[1].kill();
    for n in 20..25 {
        remind(&cluster.nodes[0], &format!("user{n}")).await;
    }
    let mut events = Events::open(cluster.nodes[0].server(), "", last).await;
    for n in 20..25 {
        assert_eq!(events.entry().await.data["user"], format!("user{n}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_of_plain_sql_are_streamed() {
    let Some(cluster) = Cluster::of(1) else { return };
    cluster.until_divided().await;
    let mut events = Events::open(cluster.nodes[0].server(), "?kind=reminder.created", None).await;
    cluster.sql("select punctual.remind(user_id => 'me', message => 'm', at => now() + interval '1 day')");
    let event = events.entry().await;
    assert_eq!((&event.data["via"], &event.data["user"]), (&json!("sql"), &json!("me")), "{event:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_tells_a_subscription_and_another_takes_over_when_it_is_killed() {
    let Some(mut cluster) = Cluster::new() else { return };
    let mut receiver = Receiver::listen().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    let subscription =
        format!("[[subscriptions]]\nname = 'app'\nkinds = ['reminder.created']\nto = 'webhook:{}'", receiver.url);
    std::fs::write(&file, subscription).unwrap();
    for _ in 0..2 {
        cluster.add(&[("PUNCTUAL_CONFIG", file.to_str().unwrap())]);
    }
    cluster.until_divided().await;
    let holder =
        || cluster.sql("select split_part(node, '-', 1) from punctual.duty where name = 'app' and until > now()");
    cluster.until("somebody has the duty", || !holder().is_empty()).await;
    let pid = holder();
    let held_by = usize::from(cluster.nodes[1].server().pid().to_string() == pid);
    let other = 1 - held_by;
    for n in 0..5 {
        remind(&cluster.nodes[other], &format!("user{n}")).await;
    }
    let mut told: Vec<Value> = Vec::new();
    while told.len() < 5 {
        told.push(receiver.next().await.1);
    }
    assert!(receiver.is_quiet(), "one node tells it");
    cluster.nodes[held_by].kill();
    let killed_at = cluster.clock.now();
    remind(&cluster.nodes[other], "after").await;
    // What was told and not yet written down is told again, under the same key.
    let is_told_again = |headers: &HeaderMap, body: &Value| {
        let known = told.iter().find(|told| told["data"]["id"] == body["data"]["id"]).expect("told before");
        let key = headers["webhook-id"].to_str().unwrap();
        assert!(known == body && key.starts_with(&format!("evt-{}-", body["data"]["id"])), "{key}: {body}");
    };
    let body = soon(async {
        loop {
            let (headers, body) = receiver.next().await;
            if body["data"]["user"] == "after" {
                return body;
            }
            is_told_again(&headers, &body);
        }
    })
    .await;
    let after = cluster.clock.now().duration_since(killed_at);
    println!("taken over after {:.1} s", after.as_secs_f64());
    assert!(after <= TAKEN_OVER_WITHIN, "{after:?}: {body}");
    cluster.clock.pause(Duration::from_secs(2)).await;
    // Entries of other reminders do not wait for this one's.
    while let Some((headers, body)) = receiver.next_now() {
        is_told_again(&headers, &body);
    }
}
