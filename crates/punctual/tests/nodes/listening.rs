//! A node that no longer hears what others change.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_testkit::proxy::Toward;

use crate::books::Books;
use crate::cluster::{Cluster, spread};
use crate::common::soon;
use crate::receiver::Receiver;

/// A statement that only the listening connection sends.
const LISTEN: &str = "listen punctual";
/// How soon a node must notice that it hears nothing.
const NOTICED_WITHIN: SignedDuration = SignedDuration::from_secs(15);
/// How late anything may be meanwhile.
const LATE_MAX: Duration = Duration::from_secs(5);

/// A node whose listening connection is swallowed, and for a while every new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listening_connection_that_died_silently_is_noticed_and_made_again() {
    let Some(mut cluster) = Cluster::new() else { return };
    let deaf = cluster.add_behind_proxy(&[]);
    let other = cluster.add(&[]);
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let mut books = Books::default();
    let proxy = cluster.nodes[deaf].proxy.as_ref().unwrap();

    // It dies, and for a while every new one as well.
    proxy.swallow_whoever_says(LISTEN);
    assert_eq!(proxy.swallow_that_said(LISTEN, Toward::Both), 1);
    let died_at = cluster.clock.now();
    let noticed_at = create_until(&cluster, deaf, other, &receiver, &mut books, "poll").await;
    println!("noticed after {:.1} s", noticed_at.duration_since(died_at).as_secs_f64());
    assert!(noticed_at.duration_since(died_at) <= NOTICED_WITHIN);
    assert_eq!(cluster.nodes[deaf].metric("punctual_listening").await, 0.0);
    assert_eq!(cluster.nodes[other].metric("punctual_listening").await, 1.0);

    // While it looks instead.
    let until = cluster.clock.now() + Duration::from_secs(3);
    while cluster.clock.now() < until {
        create(&cluster, other, &receiver, &mut books).await;
    }

    proxy.resume();
    let healed_at = cluster.clock.now();
    let heard_at = create_until(&cluster, deaf, other, &receiver, &mut books, "listen").await;
    println!("heard again {:.1} s after new connections worked", heard_at.duration_since(healed_at).as_secs_f64());
    assert!(heard_at.duration_since(healed_at) <= NOTICED_WITHIN);
    assert_eq!(cluster.nodes[deaf].metric("punctual_listening").await, 1.0);

    soon(receiver.until_all(books.ids())).await;
    let verdict = books.compare(&receiver.arrivals());
    println!("created on another node meanwhile: {verdict}");
    verdict.holds().late_at_most(LATE_MAX);
    assert_eq!(verdict.n_repeats, 0, "{verdict}");
}

/// Creates reminders on one node until the other says that its wake-ups come as `expected`.
async fn create_until(
    cluster: &Cluster,
    deaf: usize,
    other: usize,
    receiver: &Receiver,
    books: &mut Books,
    expected: &str,
) -> Timestamp {
    let give_up_at = cluster.clock.now() + Duration::from_secs(30);
    loop {
        let said = cluster.nodes[deaf].readiness().await;
        assert_eq!(said["status"], "ready", "{said}");
        if said["wake_ups"] == expected {
            return cluster.clock.now();
        }
        assert!(cluster.clock.now() < give_up_at, "its wake-ups never came by {expected}: {said}");
        create(cluster, other, receiver, books).await;
    }
}

/// Ten reminders for different users, which both nodes divide, due at once.
async fn create(cluster: &Cluster, node: usize, receiver: &Receiver, books: &mut Books) {
    let due_at = cluster.soon(Duration::from_millis(200));
    books.add(cluster.nodes[node].create(&receiver.hook(), &spread(10, due_at, Duration::from_millis(50))).await);
    cluster.clock.pause(Duration::from_millis(150)).await;
}
