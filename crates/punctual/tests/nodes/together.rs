//! Limits of a platform, which all nodes keep to together.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::SystemClock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Node, a_reminder, spread};
use crate::common::soon;
use crate::receiver::Receiver;

const NODES: usize = 3;

/// Nodes with a channel `hook`, a webhook that has one limit for all of them.
fn cluster(rate: &str) -> Option<Cluster> {
    let mut cluster = Cluster::new()?;
    let settings = [("KIND", "webhook"), ("ALLOW_PRIVATE", "true"), ("RATE", rate)];
    let names = settings.map(|(name, _)| format!("PUNCTUAL_CHANNEL_HOOK_{name}"));
    let env: Vec<_> = names.iter().map(String::as_str).zip(settings.map(|(_, value)| value)).collect();
    for _ in 0..NODES {
        cluster.add(&env);
    }
    Some(cluster)
}

async fn create(node: &Node, to: &str, wanted: &[(String, Timestamp)]) {
    let reminder = |(user, at): &(String, Timestamp)| {
        let mut reminder = a_reminder(user, &at.to_string(), to);
        reminder["to"][0]["channel"] = "hook".into();
        reminder
    };
    let reminders: Vec<Value> = wanted.iter().map(reminder).collect();
    let (status, body) = node.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": reminders }))).await;
    assert_eq!(status, 201, "{body}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_is_kept_by_all_nodes_together() {
    const COUNT: usize = 60;
    let Some(cluster) = cluster("10/s") else { return };
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let due_at = cluster.soon(Duration::from_secs(1));
    create(&cluster.nodes[0], &receiver.hook(), &spread(COUNT, due_at, Duration::ZERO)).await;
    soon(receiver.until(|arrivals| arrivals.len() == COUNT)).await;
    let mut at: Vec<_> = receiver.arrivals().iter().map(|arrival| arrival.at).collect();
    at.sort();
    let took = at[COUNT - 1].duration_since(at[0]);
    // Each by itself, they would be done after two seconds.
    assert!(took > SignedDuration::from_millis(4_500), "60 at 10 a second came within {took:#}");
    cluster.until_settled().await;
    cluster.all_delivered();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_one_node_is_asked_for_is_kept_by_all() {
    let Some(cluster) = cluster("none") else { return };
    cluster.until_divided().await;
    let asked: Arc<Mutex<Vec<Timestamp>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let busy = post(move || async move {
        seen.lock().unwrap().push(SystemClock::read());
        (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "6")])
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/busy", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/busy", busy)).await });
    // One, and many for all nodes while it is to be left alone.
    let first = cluster.soon(Duration::from_secs(1));
    let others = spread(40, first + Duration::from_millis(1_500), Duration::from_secs(2));
    let wanted: Vec<_> = [("user-x".to_owned(), first)].into_iter().chain(others.clone()).collect();
    create(&cluster.nodes[0], &url, &wanted).await;
    cluster.sleep_until(others[39].1 + SignedDuration::from_secs(1)).await;
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1, "one node was told to wait, and the others asked as well: {asked:?}");
}
