//! The journal live, over the WebSocket.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use punctual_testkit::wait::pause;
use reqwest::Method;
use serde_json::{Value, json};

use super::socket::Socket;
use super::{new_key, reminder};
use crate::common::{Home, Kept, Server, soon, within};

async fn remind(server: &Server, user: &str) -> String {
    server.create(reminder(user)).await["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_is_told_each_entry_as_the_audit_shows_it() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        remind(&server, "before").await;
        let mut socket = Socket::open(&server).await;
        let begun = socket.result("journal.subscribe", json!({})).await;
        assert_eq!((&begun["subscription"], begun["after"].is_i64()), (&json!(1), true), "{begun}");
        let id = remind(&server, "ann").await;
        let mut entry = socket.entry().await;
        assert_eq!(entry["subscription"], 1);
        entry.as_object_mut().unwrap().remove("subscription");
        assert_eq!(
            server.get(&format!("/v1/audit?reminder={id}")).await["entries"],
            json!([entry]),
            "one shape everywhere"
        );
        // Also what this connection does itself.
        let own = socket.result("cron.add", reminder("eve")).await;
        assert_eq!(socket.entry().await["reminder_id"], own["id"]);
        // From the beginning, in a second subscription; the first goes on.
        let again = socket.result("journal.subscribe", json!({ "after": 0 })).await;
        assert_eq!(again, json!({ "subscription": 2, "after": 0 }));
        for user in ["before", "ann", "eve"] {
            let entry = socket.entry().await;
            assert_eq!((&entry["subscription"], &entry["user"]), (&json!(2), &json!(user)));
        }
        remind(&server, "joe").await;
        let mut told: Vec<Value> =
            vec![socket.entry().await["subscription"].take(), socket.entry().await["subscription"].take()];
        told.sort_by_key(Value::as_i64);
        assert_eq!(told, [1, 2]);
        // After the end of one, nothing of it is told.
        assert_eq!(
            socket.result("journal.unsubscribe", json!({ "subscription": 1 })).await,
            json!({ "removed": true })
        );
        let error = socket.error("journal.unsubscribe", json!({ "subscription": 1 })).await;
        assert_eq!((&error["code"], &error["data"]["field"]), (&json!(-32004), &json!("subscription")));
        for user in ["kim", "lea"] {
            remind(&server, user).await;
            let entry = socket.entry().await;
            assert_eq!((&entry["subscription"], &entry["user"]), (&json!(2), &json!(user)));
        }
        socket.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_shows_what_it_was_asked_for_and_what_its_key_may_see() {
    let home = Home::new();
    let server = home.serve();
    let (_, key) = new_key(&server, json!({ "name": "ann", "user": "ann", "scopes": ["read"] })).await;
    let anns = remind(&server, "ann").await;
    let mut sockets = Vec::new();
    for (key, filter) in [
        (&key, json!({})),
        (&server.key, json!({ "user": "ann" })),
        (&server.key, json!({ "reminder": anns })),
        (&server.key, json!({ "kind": ["reminder.cancelled", "user.changed"], "user": "ann" })),
    ] {
        let mut socket = Socket::open_with(&server, key).await;
        socket.result("journal.subscribe", filter).await;
        sockets.push(socket);
    }
    let bobs = remind(&server, "bob").await;
    server.call(Method::DELETE, &format!("/v1/reminders/{bobs}"), None).await;
    server.call(Method::PATCH, &format!("/v1/reminders/{anns}"), Some(json!({ "message": "tea" }))).await;
    server.call(Method::DELETE, &format!("/v1/reminders/{anns}"), None).await;
    for socket in &mut sockets[..3] {
        assert_eq!(socket.entry().await["kind"], "reminder.changed");
    }
    for socket in &mut sockets {
        assert_eq!(socket.entry().await["kind"], "reminder.cancelled");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_has_at_most_sixteen_subscriptions_and_their_places_are_free_again() {
    let home = Home::new();
    let server = home.serve();
    let mut socket = Socket::open(&server).await;
    for number in 1..=16 {
        assert_eq!(socket.result("journal.subscribe", json!({})).await["subscription"], number);
    }
    let error = socket.error("journal.subscribe", json!({})).await;
    assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32029), &json!("too_many")), "{error}");
    socket.result("journal.unsubscribe", json!({ "subscription": 7 })).await;
    let metrics =
        async || soon(soon(server.request(Method::GET, "/metrics").send()).await.unwrap().text()).await.unwrap();
    within(Duration::from_secs(30), async {
        while !metrics().await.contains("punctual_websocket_subscriptions 15\n") {
            pause().await;
        }
    })
    .await;
    assert_eq!(socket.result("journal.subscribe", json!({})).await["subscription"], 17);
    assert!(metrics().await.contains("punctual_websockets 1\n"));
    // A subscription in a batch begins after the batch was answered.
    let mut other = Socket::open(&server).await;
    let call = |id: i64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    other.text(json!([call(1, "journal.subscribe", json!({})), call(2, "cron.add", reminder("ann"))])).await;
    let answers = other.message().await;
    assert_eq!(answers[0]["result"]["subscription"], 1);
    assert_eq!(other.entry().await["reminder_id"], answers[1]["result"]["id"]);
}

/// Writes reminders, one request after the other, until it is told to stop; returns how many.
async fn writing(server: &Server, stop: &AtomicUsize) -> usize {
    let mut n_written = 0;
    while stop.load(Ordering::Acquire) == 0 {
        let batch = json!({ "reminders": (0..7).map(|_| reminder("ann")).collect::<Vec<_>>() });
        assert_eq!(server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await.0, 201);
        n_written += 7;
        // The reader shares the processors with the writers.
        pause().await;
    }
    n_written
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_reconnects_under_load_misses_none_and_sees_none_twice() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let stop = AtomicUsize::new(0);
        let reading = async {
            let (mut seen, mut after) = (Vec::new(), 0);
            for connection in 0..500_usize {
                let mut socket = Socket::open(&server).await;
                let begun = socket.result("journal.subscribe", json!({ "after": after })).await;
                assert_eq!(begun["after"], after);
                for _ in 0..connection % 4 {
                    after = socket.entry().await["id"].as_i64().unwrap();
                    seen.push(after);
                }
                // Some say goodbye, others are just gone.
                if connection % 10 == 0 {
                    socket.close().await;
                }
            }
            stop.store(1, Ordering::Release);
            (seen, after)
        };
        let ((mut seen, after), n_one, n_other) = within(Duration::from_secs(300), async {
            tokio::join!(reading, writing(&server, &stop), writing(&server, &stop))
        })
        .await;
        let n_written = n_one + n_other;
        let mut socket = Socket::open(&server).await;
        socket.result("journal.subscribe", json!({ "after": after })).await;
        while seen.len() < n_written {
            seen.push(socket.entry().await["id"].as_i64().unwrap());
        }
        assert!(seen.is_sorted_by(|a, b| a < b), "none twice, and in order");
        let (mut listed, mut cursor) = (Vec::new(), String::from("0"));
        loop {
            let page = server.get(&format!("/v1/audit?limit=500&cursor={cursor}")).await;
            listed.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_i64().unwrap()));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = next.to_owned();
        }
        assert_eq!(seen, listed, "none missed");
    }
}
