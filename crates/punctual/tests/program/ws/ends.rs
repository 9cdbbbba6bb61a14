//! How a connection ends, and why.

use std::time::Duration;

use axum::http::header;
use futures_util::{SinkExt, StreamExt};
use punctual_testkit::wait::pause;
use reqwest::Method;
use serde_json::json;
use tokio_websockets::Message;

use super::socket::{Came, Socket, open};
use super::{new_key, reminder};
use crate::common::{Home, Kept, Server, soon, within};
use crate::events::Events;

async fn metrics(server: &Server) -> String {
    soon(soon(server.request(Method::GET, "/metrics").send()).await.unwrap().text()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_answers_what_is_under_way_and_closes_with_1001() {
    let home = Home::new();
    let server = home.serve();
    let mut socket = Socket::open(&server).await;
    let mut idle = Socket::open(&server).await;
    idle.result("cron.list", json!({})).await;
    socket.result("journal.subscribe", json!({})).await;
    socket.result("cron.add", reminder("ann")).await;
    let last = socket.entry().await["id"].clone();
    let stopping = tokio::task::spawn_blocking(move || server.stop());
    let (code, reason, messages) = socket.ended().await;
    assert_eq!((code, reason.as_str()), (1001, "stopping: this server stops"));
    let end = &messages.last().unwrap();
    assert_eq!((&end["method"], &end["params"]["reason"]), (&json!("journal.end"), &json!("stopping")), "{end}");
    assert_eq!((&end["params"]["resume_after"], &end["params"]["subscription"]), (&last, &json!(1)));
    assert_eq!(idle.ended().await.0, 1001);
    let (ended, lines) = stopping.await.unwrap();
    assert!(ended.success());
    assert!(!lines.iter().any(|line| line.contains("did not end in time")), "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_deleted_ends_its_connections_and_no_others() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let (id, key) = new_key(&server, json!({ "name": "ann", "user": "ann" })).await;
        let (_, other) = new_key(&server, json!({ "name": "bob", "user": "bob" })).await;
        let mut subscribed = Socket::open_with(&server, &key).await;
        subscribed.result("journal.subscribe", json!({ "kind": "reminder.sent" })).await;
        // One that asks for nothing, and one that has not even asked yet.
        let mut idle = Socket::open_with(&server, &key).await;
        idle.result("cron.list", json!({})).await;
        let mut silent = Socket::open_with(&server, &key).await;
        let mut others = Socket::open_with(&server, &other).await;
        assert_eq!(server.call(Method::DELETE, &format!("/v1/keys/{id}"), None).await.0, 204);
        for socket in [&mut subscribed, &mut idle, &mut silent] {
            let (code, reason, _) = socket.ended().await;
            assert_eq!((code, reason.as_str()), (4401, "key_deleted: the key was deleted"));
        }
        assert_eq!(others.result("cron.add", reminder("bob")).await["user"], "bob");
        within(Duration::from_secs(30), async {
            while !metrics(&server).await.contains("punctual_websockets_ended_total{reason=\"key_deleted\"} 3") {
                pause().await;
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_expires_ends_its_connections() {
    let home = Home::new();
    let server = home.serve();
    let (_, key) = new_key(&server, json!({ "name": "soon", "expires_at": "5s" })).await;
    let mut socket = Socket::open_with(&server, &key).await;
    socket.result("journal.subscribe", json!({})).await;
    let (code, reason, messages) = socket.ended().await;
    assert_eq!((code, reason.as_str()), (4401, "key_expired: the key has expired"));
    assert_eq!(messages.last().unwrap()["params"]["reason"], "key_expired", "{messages:?}");
    let authorization = format!("Bearer {key}");
    let refused = open(&server, &[(header::AUTHORIZATION, authorization.as_str())], None).await;
    assert_eq!(refused.err(), Some(401));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_or_no_text_ends_the_connection() {
    let home = Home::new();
    let server = home.serve();
    for (message, code) in [(Message::text("x".repeat(3 * 1024 * 1024)), 1009), (Message::binary(b"{}".to_vec()), 1003)]
    {
        let mut socket = Socket::open(&server).await;
        // The server may stop to listen before everything is sent.
        let authorization = format!("Bearer {}", server.key);
        let frames = open(&server, &[(header::AUTHORIZATION, authorization.as_str())], None).await.unwrap();
        let (mut sink, mut stream) = frames.split();
        let (_, came) = soon(async { tokio::join!(sink.send(message), stream.next()) }).await;
        let came = came.unwrap().unwrap();
        let (found, reason) = came.as_close().unwrap();
        assert_eq!((u16::from(found), reason.is_empty()), (code, false), "{reason}");
        // One of just the right size is read.
        let params = json!({ "text": "x".repeat(1000 * 1024) });
        assert_eq!(socket.error("parse", params).await["code"], -32602);
    }
    // Many values are many times their text in memory.
    let mut socket = Socket::open(&server).await;
    socket.text(format!("[{}]", vec!["{}"; 300_000].join(","))).await;
    assert_eq!(socket.message().await["error"]["code"], -32600);
    assert_eq!(socket.result("cron.list", json!({})).await["reminders"], json!([]));
}

/// A connection whose socket takes little, with a subscription.
async fn subscribed(server: &Server) -> Socket {
    let authorization = format!("Bearer {}", server.key);
    let mut socket =
        Socket::of(open(server, &[(header::AUTHORIZATION, authorization.as_str())], Some(4096)).await.unwrap());
    socket.result("journal.subscribe", json!({})).await;
    socket
}

/// Writes more entries than fit between a server and a reader; another reader takes each.
async fn fill(server: &Server, events: &mut Events) {
    let long = "a".repeat(200);
    for _ in 0..8 {
        let batch = json!({ "reminders": (0..2000).map(|_| reminder(&long)).collect::<Vec<_>>() });
        assert_eq!(server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await.0, 201);
        for _ in 0..2000 {
            events.entry().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_too_little_is_dropped_with_a_reason_and_can_go_on() {
    let home = Home::new();
    let server = home.serve();
    let mut slow = subscribed(&server).await;
    let mut events = Events::open(&server, "", None).await;
    fill(&server, &mut events).await;
    // A good part at once, so that it is not taken for a reader that reads nothing; then single entries make the pages that it is behind.
    let mut last = 0;
    for _ in 0..200 {
        last = slow.entry().await["id"].as_i64().unwrap();
    }
    for _ in 0..300 {
        server.create(reminder("ann")).await;
        events.entry().await;
    }
    // When it reads again, it is told why, and from where it can go on.
    let (code, reason, mut messages) = slow.ended().await;
    assert_eq!(code, 4408, "{reason}");
    assert!(reason.starts_with("too_slow: "), "{reason}");
    let end = messages.pop().unwrap();
    assert_eq!((&end["method"], &end["params"]["reason"]), (&json!("journal.end"), &json!("too_slow")), "{end}");
    for message in messages {
        let id = message["params"]["id"].as_i64().unwrap();
        assert_eq!(id, last + 1, "nothing is missing before the end");
        last = id;
    }
    assert_eq!(end["params"]["resume_after"], last);
    let mut again = Socket::open(&server).await;
    again.result("journal.subscribe", json!({ "after": last })).await;
    assert_eq!(again.entry().await["id"], last + 1);
    within(Duration::from_secs(30), async {
        while !metrics(&server).await.contains("punctual_websockets_ended_total{reason=\"too_slow\"} 1") {
            pause().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_nothing_is_cut_off_and_its_reason_is_counted_and_logged() {
    let home = Home::new();
    let server = home.serve();
    let mut stuck = subscribed(&server).await;
    let mut events = Events::open(&server, "", None).await;
    fill(&server, &mut events).await;
    // After 25 seconds, and on a busy machine later.
    within(Duration::from_secs(120), async {
        while !metrics(&server).await.contains("punctual_websockets_ended_total{reason=\"unread\"} 1") {
            pause().await;
        }
    })
    .await;
    let mut last = 0;
    while let Came::Message(message) = stuck.next().await {
        last = message["params"]["id"].as_i64().unwrap();
    }
    let mut again = Socket::open(&server).await;
    again.result("journal.subscribe", json!({ "after": last })).await;
    assert_eq!(again.entry().await["id"], last + 1, "it goes on from the last entry that it has");
    let (_, lines) = server.stop();
    assert!(lines.iter().any(|line| line.contains("its reader took nothing") && line.contains("admin")), "{lines:#?}");
}
