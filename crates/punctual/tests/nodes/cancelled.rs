//! Cancelling on one node what another is about to send.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Method;

use crate::books::Books;
use crate::cluster::{Cluster, spread};
use crate::common::soon;
use crate::receiver::Receiver;
use crate::sizes::{self, Dice};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_another_node_has_claimed_is_cancelled_or_sent_and_never_both() {
    let Some(mut cluster) = Cluster::new() else { return };
    let one_by_one = [("PUNCTUAL_WEBHOOK_CONCURRENCY", "1")];
    let nodes = [cluster.add(&one_by_one), cluster.add(&one_by_one)];
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let mut books = Books::default();
    let due_at = cluster.soon(Duration::from_secs(1));
    books.add(cluster.nodes[0].create(&receiver.gate(), &spread(20, due_at, Duration::ZERO)).await);
    // One request of each node; the rest is claimed and waits behind them.
    soon(receiver.until(|arrivals| arrivals.len() == 2)).await;
    cluster
        .until("all are claimed", || nodes.iter().map(|node| cluster.leased_by(*node).len()).sum::<usize>() == 20)
        .await;

    let mut cancelled = BTreeSet::new();
    for holder in nodes {
        for id in cluster.leased_by(holder) {
            let other = 1 - holder;
            let (status, body) = cluster.nodes[other].call(Method::DELETE, &format!("/v1/reminders/{id}"), None).await;
            match status.as_u16() {
                200..300 => drop(cancelled.insert(id)),
                409 => {}
                _ => panic!("{status}: {body}"),
            }
        }
    }
    receiver.open_gate();
    check(&cluster, &receiver, &mut books, &cancelled).await;
    println!("waiting behind a slow receiver: {} of 20 cancelled", cancelled.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_that_races_with_the_instant_succeeds_or_says_that_it_is_too_late() {
    let Some(cluster) = Cluster::of(2) else { return };
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let n_cancels = sizes::cancels();
    let mut books = Books::default();
    let over = Duration::from_millis(n_cancels as u64 * 20);
    let first_at = cluster.soon(Duration::from_secs(1));
    let created = cluster.nodes[0].create(&receiver.hook(), &spread(n_cancels, first_at, over)).await;
    books.add(created.iter().cloned());

    let seed = sizes::seed();
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let mut cancelled = BTreeSet::new();
    for (index, (id, due_at)) in created.into_iter().enumerate() {
        // From well before it is claimed until just after it is sent.
        cluster.sleep_until(due_at - Duration::from_millis(150) + dice.millis(0, 160)).await;
        let node = &cluster.nodes[index % 2];
        let (status, body) = node.call(Method::DELETE, &format!("/v1/reminders/{id}"), None).await;
        match status.as_u16() {
            200..300 => drop(cancelled.insert(id)),
            409 => {}
            _ => panic!("{status}: {body}"),
        }
    }
    check(&cluster, &receiver, &mut books, &cancelled).await;
    println!("racing with the instant: {} of {n_cancels} cancelled", cancelled.len());
    assert!(!cancelled.is_empty(), "a cancel well before the instant succeeds");
}

/// A cancelled reminder never comes; every other comes once.
async fn check(cluster: &Cluster, receiver: &Receiver, books: &mut Books, cancelled: &BTreeSet<String>) {
    let all = books.due.len();
    books.due.retain(|id, _| !cancelled.contains(id));
    soon(receiver.until_all(books.ids())).await;
    cluster.until_settled().await;
    let verdict = books.compare(&receiver.arrivals());
    assert_eq!(verdict.n_others, 0, "sent after its cancel had succeeded: {verdict}");
    assert_eq!(verdict.n_repeats, 0, "{verdict}");
    verdict.holds();
    let count =
        |state: &str| cluster.number(&format!("select count(*) from punctual.occurrence where state = '{state}'"));
    assert_eq!((count("delivered"), count("cancelled")), (all - cancelled.len(), cancelled.len()));
}
