//! Nodes whose machines' clocks are wrong: the database's clock is the clock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_testkit::report;
use reqwest::Method;

use crate::books::Books;
use crate::cluster::{Cluster, a_reminder, spread};
use crate::common::soon;
use crate::receiver::Receiver;

/// How late anything may be, on a machine that is busy with other tests.
const LATE_MAX: Duration = Duration::from_secs(1);

/// The library that shows programs another time, or why there is no test.
fn faketime() -> Option<PathBuf> {
    let found = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let found = found.map(|entry| entry.path().join("faketime/libfaketime.so.1")).find(|file| file.is_file());
    if found.is_none() {
        let reason = "libfaketime is not installed (Debian package faketime; scripts/test installs it)";
        let may_skip = std::env::var("PUNCTUAL_TEST_SKIP_SERVERS").is_ok_and(|value| value == "1");
        assert!(may_skip, "{reason}; PUNCTUAL_TEST_SKIP_SERVERS=1 skips the tests that need it");
        report::left_out(&format!("a test that needs libfaketime: {reason}"));
    }
    found
}

/// Clocks that are wrong from the beginning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_clocks_make_nothing_early_and_nothing_late() {
    let (Some(library), Some(mut cluster)) = (faketime(), Cluster::new()) else { return };
    for skew in ["+3s", "-3s", "+1h"] {
        cluster.add(&[("LD_PRELOAD", library.to_str().unwrap()), ("DONT_FAKE_MONOTONIC", "1"), ("FAKETIME", skew)]);
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
    let (Some(library), Some(mut cluster)) = (faketime(), Cluster::new()) else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("now");
    set(&file, "+0s");
    cluster.add(&[
        ("LD_PRELOAD", library.to_str().unwrap()),
        ("DONT_FAKE_MONOTONIC", "1"),
        ("FAKETIME_TIMESTAMP_FILE", file.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
    ]);
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let mut books = Books::default();
    let first_at = cluster.soon(Duration::from_secs(1));
    books.add(cluster.nodes[0].create(&receiver.hook(), &spread(400, first_at, Duration::from_secs(8))).await);
    for (after, skew) in [(2, "+1h"), (4, "-10m"), (6, "+3s")] {
        cluster.sleep_until(first_at + Duration::from_secs(after)).await;
        set(&file, skew);
    }
    soon(receiver.until_all(books.ids())).await;
    let verdict = books.compare(&receiver.arrivals());
    println!("{verdict}");
    // A clock that was set back is noticed with the next beat, which may itself be late by a little.
    verdict.holds().late_at_most(Duration::from_secs(2));
}

/// Sets the clock; never leaves a file that is half written.
fn set(file: &Path, skew: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, format!("{skew}\n")).unwrap();
    std::fs::rename(new, file).unwrap();
}
