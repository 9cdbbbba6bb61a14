//! Nodes whose machines' clocks are wrong: the database's clock is the clock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_testkit::faketime::Faketime;
use reqwest::Method;

use crate::books::Books;
use crate::cluster::{Cluster, a_reminder, spread};
use crate::common::soon;
use crate::receiver::Receiver;

/// How late anything may be, on a machine that is busy with other tests.
const LATE_MAX: Duration = Duration::from_secs(1);

/// Clocks that are wrong from the beginning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_clocks_make_nothing_early_and_nothing_late() {
    let clocks = [3, -3, 3600].map(|skew| Faketime::new().inspect(|clock| clock.skew(SignedDuration::from_secs(skew))));
    let ([Some(a), Some(b), Some(c)], Some(mut cluster)) = (&clocks, Cluster::new()) else { return };
    for clock in [a, b, c] {
        cluster.add(&clock.env());
    }
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let mut books = Books::default();
    let first_at = cluster.soon(Duration::from_secs(1));
    for (index, some) in spread(150, first_at, Duration::from_secs(3)).chunks(50).enumerate() {
        books.add(cluster.nodes[index].create(&receiver.hook(), some).await);
    }
    // Two seconds from now means now by the database's clock.
    for node in &cluster.nodes {
        let before = cluster.clock.now();
        let (status, made) =
            node.call(Method::POST, "/v1/reminders", Some(a_reminder("ann", "2s", &receiver.hook()))).await;
        assert_eq!(status, 201, "{made}");
        let due_at: Timestamp = made["next_run_at"].as_str().unwrap().parse().unwrap();
        let asked_at = due_at - Duration::from_secs(2);
        let slack = Duration::from_millis(50);
        assert!(before - slack <= asked_at && asked_at <= cluster.clock.now() + slack, "{made}");
        books.add([(made["id"].as_str().unwrap().to_owned(), due_at)]);
    }
    soon(receiver.until_all(books.ids())).await;
    let arrivals = receiver.arrivals();
    let verdict = books.compare(&arrivals);
    println!("{verdict}");
    verdict.holds().late_at_most(LATE_MAX);
    assert_eq!(verdict.n_repeats, 0, "{verdict}");
    // Receivers refuse what was signed at another time.
    for arrival in &arrivals {
        let off = arrival.at.duration_since(arrival.sent_at).abs();
        assert!(off <= SignedDuration::from_secs(2), "signed as of {}, arrived at {}", arrival.sent_at, arrival.at);
    }
    // Every one of them had its share.
    for node in &cluster.nodes {
        assert!(node.metric("punctual_attempts_total").await > 0.0);
    }
}

/// A clock that is set while the node runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_makes_nothing_early_and_nothing_late() {
    let (Some(clock), Some(mut cluster)) = (Faketime::new(), Cluster::new()) else { return };
    cluster.add(&clock.env());
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let mut books = Books::default();
    let first_at = cluster.soon(Duration::from_secs(1));
    books.add(cluster.nodes[0].create(&receiver.hook(), &spread(400, first_at, Duration::from_secs(8))).await);
    for (after, skew) in [(2, 3600), (4, -600), (6, 3)] {
        cluster.sleep_until(first_at + Duration::from_secs(after)).await;
        clock.skew(SignedDuration::from_secs(skew));
    }
    soon(receiver.until_all(books.ids())).await;
    let verdict = books.compare(&receiver.arrivals());
    println!("{verdict}");
    // A clock that was set back is noticed with the next beat, which may itself be late by a little.
    verdict.holds().late_at_most(Duration::from_secs(2));
}
