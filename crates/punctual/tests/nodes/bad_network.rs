//! Nodes whose way to the database is slow, stuck, cut and swallowed, at random.

use std::time::Duration;

use punctual_core::clock::Clock;
use punctual_testkit::proxy::Toward;

use crate::books::Books;
use crate::cluster::{Cluster, spread};
use crate::common::soon;
use crate::receiver::Receiver;
use crate::sizes::{self, Dice};

#[tokio::test(flavor = "multi_thread")]
async fn every_reminder_has_one_effect_on_any_bad_network() {
    let chaos = sizes::bad_network();
    let sizes::Chaos { nodes, reminders, over } = chaos;
    let Some(mut cluster) = Cluster::new() else { return };
    for _ in 0..nodes {
        cluster.add_behind_proxy(&[]);
    }
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let seed = sizes::seed();
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let mut books = Books::default();
    let first_at = cluster.soon(chaos.created_within());
    for (index, some) in spread(reminders, first_at, over).chunks(1_000).enumerate() {
        books.add(cluster.nodes[index % nodes].create(&receiver.hook(), some).await);
    }
    cluster.sleep_until(first_at).await;

    let mut n_faults = 0;
    while cluster.clock.now() < first_at + over {
        let proxy = cluster.nodes[dice.roll(nodes)].proxy.as_ref().unwrap();
        let toward = [Toward::Server, Toward::Client, Toward::Both][dice.roll(3)];
        match dice.roll(6) {
            0 => proxy.delay(toward, dice.millis(1, 150)),
            1 => proxy.withhold(toward),
            2 => proxy.swallow(toward),
            3 => proxy.cut(),
            4 => {
                proxy.refuse(true);
                proxy.cut();
            }
            _ => proxy.resume(),
        }
        n_faults += 1;
        cluster.clock.pause(dice.millis(50, 400)).await;
    }
    for node in &cluster.nodes {
        node.proxy.as_ref().unwrap().resume();
    }
    soon(receiver.until_all(books.ids())).await;
    cluster.until_settled().await;
    let verdict = books.compare(&receiver.arrivals());
    println!("{nodes} nodes, {n_faults} faults: {verdict}");
    verdict.holds();
    cluster.all_delivered();

    // All of them are well again, by themselves.
    cluster.until_divided().await;
    let due_at = cluster.soon(Duration::from_millis(500));
    for node in &cluster.nodes {
        books.add(node.create(&receiver.hook(), &spread(20, due_at, Duration::ZERO)).await);
    }
    soon(receiver.until_all(books.ids())).await;
    books.compare(&receiver.arrivals()).holds();
}
