//! A node that is paused past its lease and woken again.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::books::Books;
use crate::cluster::{Cluster, spread};
use crate::common::soon;
use crate::receiver::Receiver;

/// A node that is stopped with SIGSTOP and goes on when its leases are others'.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_slept_past_its_lease_changes_nothing() {
    let Some(mut cluster) = Cluster::new() else { return };
    // Few at once: most of what a node holds has not begun.
    let few = [("PUNCTUAL_WEBHOOK_CONCURRENCY", "3")];
    let (sleeper, other) = (cluster.add(&few), cluster.add(&few));
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let mut books = Books::default();
    let due_at = cluster.soon(Duration::from_secs(1));
    books.add(cluster.nodes[other].create(&receiver.gate(), &spread(40, due_at, Duration::ZERO)).await);
    // Three requests of each node, and the rest of their leases behind them.
    soon(receiver.until(|arrivals| arrivals.len() == 6)).await;
    cluster.until("all are claimed", || cluster.leased_by(sleeper).len() + cluster.leased_by(other).len() == 40).await;

    let held: BTreeSet<String> = cluster.leased_by(sleeper).into_iter().collect();
    assert!(held.len() > 3, "it holds {}", held.len());
    cluster.nodes[sleeper].pause();
    // The answers to the sleeper's requests wait for it in its sockets.
    receiver.open_gate();
    soon(receiver.until_all(books.ids())).await;
    cluster.until_settled().await;
    let verdict = books.compare(&receiver.arrivals());
    println!("while it slept: {verdict}");
    verdict.holds().late_at_most(Duration::from_secs(17));
    cluster.all_delivered();

    let everything = "select o::text from punctual.occurrence o union all select a::text from punctual.attempt a \
                      union all select r::text from punctual.reminder r union all select e::text from punctual.journal e \
                      order by 1";
    let before = cluster.sql(everything);
    let n_requests = receiver.arrivals().len();
    cluster.nodes[sleeper].wake();
    // Everything it held has come to an end in it, too: it knows that it has lost all of it.
    let lost = "punctual_claims_lost_total";
    let mut n_lost = 0.0;
    let give_up_at = cluster.soon(Duration::from_secs(15));
    while n_lost < held.len() as f64 {
        n_lost = cluster.nodes[sleeper].metric(lost).await;
        assert!(cluster.soon(Duration::ZERO) < give_up_at, "it says that it lost {n_lost} of {}", held.len());
        cluster.sleep_until(cluster.soon(Duration::from_millis(20))).await;
    }
    assert_eq!(cluster.nodes[sleeper].metric("punctual_in_flight").await, 0.0);
    assert_eq!(cluster.sql(everything), before, "it changed something");
    assert_eq!(receiver.arrivals().len(), n_requests, "it sent something");

    // And it works on.
    let due_at = cluster.soon(Duration::from_millis(500));
    cluster.nodes[other].kill();
    let after = cluster.nodes[sleeper].create(&receiver.hook(), &spread(5, due_at, Duration::ZERO)).await;
    books.add(after);
    soon(receiver.until_all(books.ids())).await;
    books.compare(&receiver.arrivals()).holds();
}
