//! Answering on one node what another is about to ask again.

use std::collections::BTreeMap;
use std::time::Duration;

use punctual_core::clock::Clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cluster::{Cluster, a_reminder};
use crate::common::soon;
use crate::receiver::Receiver;

/// How many reminders wait in the lanes of both nodes.
const N: usize = 20;
/// An answer stops everything within this time.
const STOPPED_WITHIN: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_on_one_node_withdraws_what_another_has_claimed_within_100_ms() {
    let Some(mut cluster) = Cluster::new() else { return };
    let one_by_one = [("PUNCTUAL_WEBHOOK_CONCURRENCY", "1")];
    let nodes = [cluster.add(&one_by_one), cluster.add(&one_by_one)];
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let ids = ask(&cluster, &receiver.hook(), json!({ "ack_timeout": "4s" })).await;
    soon(receiver.until_all(&ids)).await;
    cluster.until("all wait for an answer", || count(&cluster, "awaiting_ack") == N).await;

    // From now on the receiver answers nothing: one send of each node begins, and the others are claimed and wait behind it.
    let gate = json!([{ "channel": "webhook", "address": receiver.gate() }]);
    for id in &ids {
        let (status, body) =
            cluster.nodes[0].call(Method::PATCH, &format!("/v1/reminders/{id}"), Some(json!({ "to": gate }))).await;
        assert_eq!(status, 200, "{body}");
    }
    cluster
        .until("all are asked again", || nodes.iter().map(|node| cluster.leased_by(*node).len()).sum::<usize>() == N)
        .await;
    soon(receiver.until(|arrivals| arrivals.len() == N + nodes.len())).await;

    // Each is answered at the node that has not claimed it, by a button and by the words of an application alike.
    for holder in nodes {
        for (index, id) in cluster.leased_by(holder).into_iter().enumerate() {
            let verb = if index % 2 == 0 { "ack" } else { "dismiss" };
            let path = format!("/v1/reminders/{id}/{verb}");
            let (status, body) = cluster.nodes[1 - holder].call(Method::POST, &path, Some(json!({ "run": 1 }))).await;
            assert_eq!(status, 200, "{body}");
        }
    }
    cluster.clock.pause(STOPPED_WITHIN).await;
    let n_begun = receiver.arrivals().len();
    receiver.open_gate();

    cluster.until_settled().await;
    // A node that asks one more time does so as soon as it has a place, which it has had by the end of this one.
    let (status, body) = send_one(&cluster, &receiver).await;
    assert_eq!(status, 201, "{body}");
    assert_eq!(receiver.arrivals().len(), n_begun + 1, "nothing is asked again after its answer");
    assert_eq!((count(&cluster, "completed") + count(&cluster, "dismissed"), count(&cluster, "delivered")), (N, 1));
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    receiver.arrivals().into_iter().for_each(|arrival| *asked.entry(arrival.reminder).or_default() += 1);
    assert_eq!(asked.values().filter(|n| **n == 2).count(), nodes.len(), "those that had begun when the answer came");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_withdraws_what_others_are_about_to_be_asked_within_100_ms() {
    let Some(mut cluster) = Cluster::new() else { return };
    let one_by_one = [("PUNCTUAL_WEBHOOK_CONCURRENCY", "1")];
    let nodes = [cluster.add(&one_by_one), cluster.add(&one_by_one)];
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    // Bob's receiver answers nothing: his first question begins, and the others are claimed and wait behind it.
    let bob = json!({ "addresses": [{ "channel": "webhook", "address": receiver.gate() }] });
    let (status, body) = cluster.nodes[0].call(Method::PUT, "/v1/users/bob", Some(bob)).await;
    assert_eq!(status, 201, "{body}");
    let plan = json!({ "escalate": [{ "after": "2s", "to": "bob" }], "ack_timeout": "1h" });
    let ids = ask(&cluster, &receiver.hook(), plan).await;
    soon(receiver.until_all(&ids)).await;
    let leased = || nodes.map(|node| cluster.leased_by(node).len());
    cluster.until("bob is asked about all of them", || leased().iter().sum::<usize>() == N).await;
    soon(receiver.until(|arrivals| arrivals.len() == N + 1)).await;

    // Their own persons answer, at the node that has not claimed bob's.
    let other = if leased()[0] == 0 { 0 } else { 1 };
    for id in &ids {
        let path = format!("/v1/reminders/{id}/ack");
        let (status, body) = cluster.nodes[other].call(Method::POST, &path, Some(json!({}))).await;
        assert_eq!(status, 200, "{body}");
    }
    cluster.clock.pause(STOPPED_WITHIN).await;
    let n_begun = receiver.arrivals().len();
    receiver.open_gate();
    cluster.until_settled().await;
    let (status, body) = send_one(&cluster, &receiver).await;
    assert_eq!(status, 201, "{body}");
    assert_eq!(receiver.arrivals().len(), n_begun + 1, "nobody is asked about what was answered");
    assert_eq!((n_begun, count(&cluster, "completed"), count(&cluster, "cancelled")), (N + 1, N, N));
}

/// Creates reminders that ask for an answer, with these fields; returns their ids.
async fn ask(cluster: &Cluster, to: &str, fields: Value) -> Vec<String> {
    let due_at = cluster.soon(Duration::from_secs(1)).to_string();
    let reminder = |index: usize| {
        let mut reminder = a_reminder(&format!("user-{index}"), &due_at, to);
        reminder["require_ack"] = json!(true);
        reminder["only"] = json!(true);
        for (name, value) in fields.as_object().unwrap() {
            reminder[name] = value.clone();
        }
        reminder
    };
    let reminders: Vec<Value> = (0..N).map(reminder).collect();
    let body = json!({ "reminders": reminders });
    let (status, body) = cluster.nodes[0].call(Method::POST, "/v1/reminders/batch", Some(body)).await;
    assert_eq!(status, 201, "{body}");
    let created = body["reminders"].as_array().unwrap().iter();
    created.map(|reminder| reminder["id"].as_str().unwrap().to_owned()).collect()
}

fn count(cluster: &Cluster, state: &str) -> usize {
    cluster.number(&format!("select count(*) from punctual.occurrence where state = '{state}'"))
}

/// Sends one reminder through the same receiver and waits until it has arrived.
async fn send_one(cluster: &Cluster, receiver: &Receiver) -> (reqwest::StatusCode, Value) {
    let last = a_reminder("user-last", &cluster.soon(Duration::ZERO).to_string(), &receiver.gate());
    let (status, body) = cluster.nodes[0].call(Method::POST, "/v1/reminders", Some(last)).await;
    if let Some(id) = body["id"].as_str() {
        soon(receiver.until_all([&id.to_owned()])).await;
        cluster.until_settled().await;
    }
    (status, body)
}
