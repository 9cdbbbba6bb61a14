//! PostgreSQL stopped as a power cut would, again and again, under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use punctual_testkit::servers::{Postgres, PostgresOptions};
use serde_json::Value;

use crate::books::Books;
use crate::cluster::{Cluster, a_reminder};
use crate::common::soon;
use crate::receiver::Receiver;
use crate::sizes::{self, Dice};

/// How soon after the database is ready the first message must come.
const AGAIN_WITHIN: SignedDuration = SignedDuration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_the_database_stops_and_delivering_goes_on_at_once() {
    let Some(postgres) = Postgres::start_with(PostgresOptions { fsync: true, ..PostgresOptions::default() }) else {
        return;
    };
    let Some(mut cluster) = Cluster::on(postgres) else { return };
    cluster.add(&[]);
    cluster.add(&[]);
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let n_stops = sizes::database_stops();
    let seed = sizes::seed();
    println!("seed {seed}");
    let mut dice = Dice::new(seed);

    let is_over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let server = cluster.nodes[client % 2].server();
            let calling = Calling {
                client: server.client.clone(),
                url: format!("{}/v1/reminders", server.url),
                key: server.key.clone(),
                to: receiver.hook(),
                dice: Dice::new(seed + client as u64 + 1),
                is_over: Arc::clone(&is_over),
            };
            tokio::spawn(calling.run(client))
        })
        .collect();

    let (mut again, mut readies) = (Vec::new(), Vec::new());
    for _ in 0..n_stops {
        cluster.clock.pause(dice.millis(800, 1_500)).await;
        cluster.postgres.stop_immediately();
        // The runs that were claimed ahead have been sent when the database comes back.
        cluster.clock.pause(dice.millis(400, 900)).await;
        cluster.postgres.start_again();
        let ready_at = cluster.clock.now();
        let has_come = || receiver.until(|arrivals| arrivals.last().is_some_and(|last| last.at > ready_at));
        soon(has_come()).await;
        let arrivals = receiver.arrivals();
        let first = arrivals.iter().find(|arrival| arrival.at > ready_at).unwrap();
        again.push(first.at.duration_since(ready_at));
        readies.push(ready_at);
    }
    cluster.clock.pause(Duration::from_secs(1)).await;
    is_over.store(true, Ordering::Relaxed);
    let mut books = Books::default();
    let (mut n_failed, mut taken_again) = (0, Vec::new());
    for client in clients {
        let called = soon(client).await.unwrap();
        n_failed += called.n_failed;
        for ready_at in &readies {
            let first = called.taken_at.iter().find(|at| *at > ready_at).expect("a client that goes on");
            taken_again.push(first.duration_since(*ready_at));
        }
        books.add(called.created);
    }
    soon(receiver.until_all(books.ids())).await;
    cluster.until_settled().await;

    let verdict = books.compare(&receiver.arrivals());
    println!("{n_stops} stops, {n_failed} requests refused, {} written without an answer: {verdict}", verdict.n_others);
    for (what, spans) in [("delivering", &mut again), ("taking requests, each node", &mut taken_again)] {
        spans.sort_unstable();
        let millis = |index: usize| spans.get(index).map_or(0, SignedDuration::as_millis);
        let (p50, max) = (millis(spans.len() / 2), millis(spans.len() - 1));
        println!("{what} again after the database was ready: p50 {p50} ms, max {max} ms");
    }
    verdict.holds();
    assert!(verdict.n_effects > n_stops * 10, "there was no load: {verdict}");
    cluster.all_delivered();
    assert!(again.iter().chain(&taken_again).all(|span| *span <= AGAIN_WITHIN), "{again:?} {taken_again:?}");
}

/// The answers to a client's requests.
#[derive(Default)]
struct Called {
    created: Vec<(String, Timestamp)>,
    taken_at: Vec<Timestamp>,
    n_failed: usize,
}

/// A client that creates one reminder after the other and writes down what was acknowledged.
struct Calling {
    client: reqwest::Client,
    url: String,
    key: String,
    to: String,
    dice: Dice,
    is_over: Arc<AtomicBool>,
}

impl Calling {
    async fn run(mut self, number: usize) -> Called {
        let clock = SystemClock::start();
        let mut called = Called::default();
        while !self.is_over.load(Ordering::Relaxed) {
            let due_at = SystemClock::read() + self.dice.millis(100, 1_500);
            let due_at = Timestamp::from_millisecond(due_at.as_millisecond()).unwrap();
            let body = a_reminder(&format!("user-{number}-{}", called.created.len()), &due_at.to_string(), &self.to);
            let answer = soon(self.client.post(&self.url).bearer_auth(&self.key).json(&body).send()).await.unwrap();
            if answer.status() == 201 {
                let body: Value = soon(answer.json()).await.unwrap();
                called.created.push((body["id"].as_str().unwrap().to_owned(), due_at));
                called.taken_at.push(SystemClock::read());
            } else {
                assert_eq!(answer.status(), 503, "{:?}", answer.text().await);
                called.n_failed += 1;
            }
            clock.pause(Duration::from_millis(15)).await;
        }
        called
    }
}
