//! Nodes that die, and those that take over.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::clock::Clock;

use crate::books::Books;
use crate::cluster::{Cluster, spread};
use crate::common::soon;
use crate::receiver::Receiver;
use crate::sizes::{self, Dice};

/// A lease, and what others need to notice that it has ended.
const LEASE_AND_A_LITTLE: Duration = Duration::from_secs(17);

#[tokio::test(flavor = "multi_thread")]
async fn nodes_come_and_go_and_every_reminder_has_one_effect() {
    let chaos = sizes::chaos();
    let sizes::Chaos { nodes, reminders, over } = chaos;
    let Some(mut cluster) = Cluster::of(nodes) else { return };
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let seed = sizes::seed();
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let mut books = Books::default();

    let first_at = cluster.soon(chaos.created_within());
    let wanted = spread(reminders, first_at, over);
    for (index, some) in wanted.chunks(1_000).enumerate() {
        books.add(cluster.nodes[index % nodes].create(&receiver.hook(), some).await);
    }
    assert!(cluster.clock.now() < first_at, "all are created before the first is due");
    cluster.sleep_until(first_at).await;

    let (mut n_kills, mut n_stops, mut n_starts) = (0, 0, 0);
    while cluster.clock.now() < first_at + over {
        cluster.clock.pause(dice.millis(50, 700)).await;
        let n_running = cluster.nodes.iter().filter(|node| node.is_running()).count();
        let node = dice.roll(nodes);
        let node = &mut cluster.nodes[node];
        if !node.is_running() {
            node.start();
            n_starts += 1;
        } else if n_running > 1 && dice.roll(4) == 0 {
            node.stop();
            n_stops += 1;
        } else if n_running > 1 {
            node.kill();
            n_kills += 1;
        }
    }
    let over_at = cluster.clock.now();
    soon(receiver.until_all(books.ids())).await;
    cluster.until_settled().await;

    let verdict = books.compare(&receiver.arrivals());
    println!("{nodes} nodes, {n_kills} kills, {n_stops} stops, {n_starts} starts: {verdict}");
    verdict.holds();
    // A run that two nodes claimed before they died one after the other can be late by more than one lease; any other by one at most.
    let waited = cluster.clock.now().duration_since(over_at);
    assert!(waited <= SignedDuration::try_from(LEASE_AND_A_LITTLE).unwrap(), "{waited:?} after the last kill");
    assert_eq!(verdict.n_effects, reminders);
    cluster.all_delivered();
}

/// A node that is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_nodes_work_is_done_by_others() {
    let Some(mut cluster) = Cluster::of(2) else { return };
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;

    // Both nodes hold what their receiver does not answer.
    let mut held = Books::default();
    let due_at = cluster.soon(Duration::from_secs(1));
    held.add(cluster.nodes[0].create(&receiver.gate(), &spread(40, due_at, Duration::ZERO)).await);
    soon(receiver.until_all(held.ids())).await;

    let mut coming = Books::default();
    let n_coming = sizes::left_to_others();
    let first_at = cluster.soon(Duration::from_millis(1_000));
    coming.add(cluster.nodes[1].create(&receiver.hook(), &spread(n_coming, first_at, Duration::from_secs(4))).await);
    cluster.sleep_until(first_at + Duration::from_secs(1)).await;
    let pid = cluster.nodes[0].kill();
    let killed_at = cluster.clock.now();
    // The other node's are answered now; what the dead one had asked is lost with it.
    receiver.open_gate();
    let claimed: BTreeSet<String> = cluster.leased_by_pid(pid).into_iter().collect();
    assert!(held.ids().any(|id| claimed.contains(id)), "the dead node held nothing");

    soon(receiver.until_all(coming.ids())).await;
    cluster.until_settled().await;
    let arrivals = receiver.arrivals();

    // The runs that the dead node had not claimed.
    let mut unclaimed = coming.clone();
    unclaimed.due.retain(|id, _| !claimed.contains(id));
    let of_books = |books: &Books| -> Vec<_> {
        arrivals.iter().filter(|arrival| books.due.contains_key(&arrival.reminder)).cloned().collect()
    };
    let verdict = unclaimed.compare(&of_books(&unclaimed));
    println!("not claimed: {verdict}");
    verdict.holds().late_at_most(Duration::from_secs(2));
    assert_eq!(verdict.n_repeats, 0, "{verdict}");

    // The runs that it had claimed: each was sent again, under the same key, when its lease was over.
    let again_at = |id: &String| arrivals.iter().rfind(|arrival| arrival.reminder == *id).map(|arrival| arrival.at);
    let waited = claimed.iter().filter_map(again_at).map(|at| at.duration_since(killed_at)).max().unwrap();
    println!("claimed: {} of them, the last {:.3} s after the kill", claimed.len(), waited.as_secs_f64());
    assert!(waited <= SignedDuration::try_from(LEASE_AND_A_LITTLE).unwrap(), "{waited:?}");
    let mut all = held;
    all.add(coming.due);
    all.compare(&arrivals).holds();
    cluster.all_delivered();
}
