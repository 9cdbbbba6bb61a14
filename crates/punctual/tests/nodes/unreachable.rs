//! A node whose database cannot be reached, with something due.

use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_testkit::proxy::Toward;

use crate::books::Books;
use crate::cluster::{Cluster, spread};
use crate::common::soon;
use crate::receiver::Receiver;

/// For how long it is watched.
const WATCHED: Duration = Duration::from_secs(5);
/// The most connections it may try to make meanwhile.
const TRIES_MAX: usize = 20;
/// How soon it must send when the database can be reached again: the longest wait between two tries, and what it takes to go on.
const BACK_WITHIN: SignedDuration = SignedDuration::from_millis(2_500);

/// A node that is refused every connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_a_database_tries_about_once_a_second_and_is_back_at_once() {
    let Some(mut cluster) = Cluster::new() else { return };
    let node = cluster.add_behind_proxy(&[]);
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let mut books = Books::default();
    // Something is due, again and again.
    let first_at = cluster.soon(Duration::from_secs(1));
    books.add(cluster.nodes[node].create(&receiver.hook(), &spread(50, first_at, WATCHED)).await);
    let proxy = cluster.nodes[node].proxy.as_ref().unwrap();
    // It is about to read what is to come when the database goes away.
    proxy.withhold(Toward::Server);
    cluster.sql("select pg_notify('punctual', 'look')");
    cluster.sleep_until(cluster.clock.now() + Duration::from_millis(300)).await;
    proxy.refuse(true);
    proxy.cut();
    let before = proxy.accepted();
    cluster.sleep_until(cluster.clock.now() + WATCHED).await;
    let n_tries = proxy.accepted() - before;
    println!("{n_tries} tries to connect in {WATCHED:?}");
    assert!((3..TRIES_MAX).contains(&n_tries), "{n_tries} tries to connect in {WATCHED:?}");
    proxy.resume();
    let back_at = cluster.clock.now();
    soon(receiver.until(|arrivals| arrivals.last().is_some_and(|last| last.at > back_at))).await;
    let took = receiver.arrivals().iter().find(|arrival| arrival.at > back_at).unwrap().at.duration_since(back_at);
    println!("sent again {took:#} after the database could be reached");
    assert!(took <= BACK_WITHIN, "sent again only {took:#} after the database could be reached");
    soon(receiver.until_all(books.ids())).await;
    let verdict = books.compare(&receiver.arrivals());
    verdict.holds();
    assert_eq!(verdict.n_repeats, 0, "{verdict}");
}
