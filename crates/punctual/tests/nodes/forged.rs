//! A role without any rights, which may connect and therefore `NOTIFY`, says everything that nodes say to each other.

use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_engine::machine;
use punctual_store::postgres::Session;

use crate::books::Books;
use crate::cluster::{Cluster, spread};
use crate::common::soon;
use crate::receiver::Receiver;

/// How many reminders are due, and over how long.
const REMINDERS: usize = 120;
const OVER: Duration = Duration::from_secs(4);
/// How late they may be while the stranger talks.
const LATE_MAX: Duration = Duration::from_millis(1_500);
/// How many statements a node may run a second because of it. Without the stranger it is a few dozen.
const QUERIES_A_SECOND_MAX: f64 = 600.0;

/// Says each of the lines of `$1` to the nodes, each in a transaction of its own: the same twice in one would count once.
const SAY: &str = "do $say$ declare line text; begin \
    for line in select unnest(string_to_array($lines$LINES$lines$, E'\\n')) loop \
    perform pg_notify('punctual', line); commit; end loop; end $say$";

#[tokio::test(flavor = "multi_thread")]
async fn a_strangers_notifications_make_no_reminder_late_lost_or_early() {
    let Some(mut cluster) = Cluster::of(2) else { return };
    cluster.until_divided().await;
    cluster.sql("create role stranger login");
    let url = cluster.postgres.url(&cluster.database).replace("punctual@", "stranger@");
    let stranger = Session::open(&url, &machine()).await.unwrap();
    for table in ["node", "occurrence", "throttle", "recall"] {
        let denied = stranger.texts(&format!("select 'x' from punctual.{table}")).await.unwrap_err().to_string();
        assert!(denied.contains("permission denied"), "{table}: {denied}");
    }

    let receiver = Receiver::listen().await;
    let first = cluster.soon(Duration::from_secs(2));
    let mut books = Books::default();
    books.add(cluster.nodes[0].create(&receiver.hook(), &spread(REMINDERS, first, OVER)).await);

    let host = receiver.hook().trim_end_matches("/hook").to_owned();
    let mut said = forged(&host);
    // It cannot know these; if it could, it would be no better off.
    said.extend(books.ids().map(|id| format!("recall {id}")));
    let names = cluster.sql("select name from punctual.node");
    said.extend(names.lines().map(|name| format!("beat {name}")));

    let mut queries = Vec::new();
    for node in &cluster.nodes {
        queries.push(node.metric("punctual_queries_total").await);
    }
    let began_at = cluster.clock.now();
    let until = first + OVER + Duration::from_millis(500);
    let statement = SAY.replace("LINES", &said.join("\n"));
    let mut n_said = 0;
    while cluster.clock.now() < until {
        stranger.run(&statement, &[]).await.unwrap();
        n_said += said.len();
        cluster.clock.pause(Duration::from_millis(20)).await;
    }
    let seconds = cluster.clock.now().duration_since(began_at).as_secs_f64();
    let mut rates = Vec::new();
    for (node, before) in cluster.nodes.iter().zip(&queries) {
        let per_second = (node.metric("punctual_queries_total").await - before) / seconds;
        println!("a node ran {per_second:.0} statements a second while it heard {:.0}", n_said as f64 / seconds);
        rates.push(per_second);
    }
    let moved = "select count(*) from punctual.occurrence where wake_at > due_at + interval '10 seconds'";
    assert_eq!(cluster.number(moved), 0, "something was put off");
    soon(receiver.until_all(books.ids())).await;
    cluster.until_settled().await;
    let verdict = books.compare(&receiver.arrivals());
    println!("while a stranger spoke {n_said} times: {verdict}");
    verdict.holds().late_at_most(LATE_MAX);
    assert_eq!(verdict.n_repeats, 0, "{verdict}");
    cluster.all_delivered();
    assert!(rates.iter().all(|rate| *rate < QUERIES_A_SECOND_MAX), "statements a second: {rates:?}");

    for node in &mut cluster.nodes {
        let log = node.stop_and_read_log();
        let warned = log.iter().filter(|line| line.contains("no node sends")).count();
        assert!((1..=5).contains(&warned), "it says so, and not for every one: {warned} times of {}", log.len());
    }
}

/// Notifications that a stranger can make up: of every kind, with words behind it and without, and nonsense.
fn forged(host: &str) -> Vec<String> {
    let mut said: Vec<String> =
        ["look", "left", "throttle", "recall", "beat", "wake", "", "x", "drop table"].map(String::from).into();
    for wait in ["18446744073709551615", "86400000000", "-1"] {
        for name in [host, "", "127.0.0.1"] {
            said.push(format!("throttle receiver {wait} webhook {name}"));
            said.push(format!("throttle address {wait} webhook {name}"));
        }
    }
    said.push("recall 01890000-0000-7000-8000-000000000000".into());
    let now = punctual_engine::SystemClock::read();
    for millis in [-1_000_000_000, -20_000, -1_000, 0, 100, 1_000, 3_000, 60_000, 10_000_000_000] {
        let at = (now + SignedDuration::from_millis(millis)).as_microsecond();
        let shards = (0..40).map(|n| format!("{}:{}", n * 6, at + n * 17_000));
        said.push(format!("wake {}", shards.collect::<Vec<_>>().join(" ")));
    }
    // As long as a notification can be.
    let many: Vec<_> = (0..330).map(|n| format!("{}:{}", n % 256, now.as_microsecond() + n * 10_000)).collect();
    said.push(format!("wake {}", many.join(" ")));
    said.push("x".repeat(7_999));
    said.push(format!("throttle receiver 60000000 webhook {}", "h".repeat(7_900)));
    said.extend((0..50).map(|n| format!("nonsense {n}")));
    said
}
