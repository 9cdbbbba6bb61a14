//! PostgreSQL stopped for longer than a lease, while nodes send.

use std::time::Duration;

use punctual_core::clock::Clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::books::Books;
use crate::cluster::{Cluster, a_reminder, spread};
use crate::common::soon;
use crate::receiver::Receiver;

/// A lease is 15 s.
const AWAY: Duration = Duration::from_secs(17);
/// How many are due in how long.
const DUE: (usize, Duration) = (600, Duration::from_secs(4));

#[tokio::test(flavor = "multi_thread")]
async fn a_lone_node_sends_nothing_twice_after_an_outage_longer_than_its_leases() {
    send_through_an_outage(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_send_nothing_twice_after_an_outage_longer_than_their_leases() {
    send_through_an_outage(2).await;
}

/// Reminders to a receiver that answers at once and to one that answers when the database is back; half of them must not be repeated.
async fn send_through_an_outage(n_nodes: usize) {
    let Some(mut cluster) = Cluster::of(n_nodes) else { return };
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let mut books = Books::default();
    let first_at = cluster.soon(Duration::from_secs(2));
    let wanted = spread(DUE.0, first_at, DUE.1);
    let reminder = |(index, (user, at)): (usize, &(String, jiff::Timestamp))| {
        // One in ten is answered late.
        let to = if index % 10 == 0 { receiver.gate() } else { receiver.hook() };
        let mut reminder = a_reminder(user, &at.to_string(), &to);
        reminder["on_unknown"] = if index % 2 == 0 { "hold" } else { "resend" }.into();
        reminder
    };
    let reminders: Vec<Value> = wanted.iter().enumerate().map(reminder).collect();
    let body = json!({ "reminders": reminders });
    let (status, created) = cluster.nodes[0].call(Method::POST, "/v1/reminders/batch", Some(body)).await;
    assert_eq!(status, 201, "{created}");
    let ids = created["reminders"].as_array().unwrap().iter().map(|made| made["id"].as_str().unwrap().to_owned());
    books.add(ids.zip(wanted.iter().map(|(_, at)| *at)));

    cluster.sleep_until(first_at + DUE.1 / 2).await;
    cluster.postgres.stop_immediately();
    let n_before = receiver.arrivals().len();
    cluster.sleep_until(cluster.clock.now() + AWAY).await;
    cluster.postgres.start_again();
    cluster.sleep_until(cluster.clock.now() + Duration::from_secs(2)).await;
    receiver.open_gate();
    soon(receiver.until_all(books.ids())).await;
    cluster.until_settled().await;
    let verdict = books.compare(&receiver.arrivals());
    println!("{n_nodes} nodes, {n_before} sent before the outage: {verdict}");
    assert!(n_before > 100, "there was no load: {n_before}");
    verdict.holds();
    assert_eq!(verdict.n_repeats, 0, "{verdict}");
    cluster.all_delivered();
}
