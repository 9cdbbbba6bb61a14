//! Applications that are told what happened.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use punctual_channels::webhook;
use punctual_testkit::wait::until;
use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Receiver, Server, soon, within};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Writes a config file with these subscriptions; returns where it is.
fn config(home: &Home, subscriptions: &str) -> String {
    let path = home.path().join("config.toml");
    std::fs::write(&path, subscriptions).unwrap();
    path.to_str().unwrap().to_owned()
}

fn serve(home: &Home, kept: &Kept, file: &str) -> Server {
    let own = [("PUNCTUAL_CONFIG", file), ("PUNCTUAL_WEBHOOK_SECRET", SECRET)];
    home.serve_with(&[&kept.env()[..], &own].concat())
}

async fn remind(server: &Server, user: &str) -> String {
    let at = json!({ "type": "once", "at": "2099-01-01T00:00:00Z" });
    server.create(json!({ "user": user, "message": "m", "schedule": at })).await["id"].as_str().unwrap().to_owned()
}

/// Waits until the server tells its subscriptions: a new one hears what comes, and not what was before.
async fn until_told(server: &Server) {
    until("the subscription is attended to", async || metric(server, "punctual_subscription_behind").await.is_some())
        .await;
}

async fn metric(server: &Server, name: &str) -> Option<f64> {
    let metrics = soon(server.request(Method::GET, "/metrics").bearer_auth(&server.key).send()).await.unwrap();
    let text = soon(metrics.text()).await.unwrap();
    let line = text.lines().find(|line| line.starts_with(&format!("{name}{{")))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Checks that a request is signed and names its event; returns its key.
fn key_of(headers: &HeaderMap, body: &Value) -> String {
    let header = |name: &str| headers[name].to_str().unwrap();
    assert!(header("webhook-id").starts_with(&format!("evt-{}-", body["data"]["id"])), "{headers:?}");
    assert_eq!(header("idempotency-key"), header("webhook-id"));
    assert_eq!(body["type"], body["data"]["kind"]);
    header("webhook-id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_is_told_what_it_asked_for_signed_and_as_the_journal_has_it() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let mut receiver = Receiver::listen().await;
        let kinds = "kinds = ['reminder.created', 'reminder.cancelled']\nuser = ['ann', 'eve']";
        let file = config(&home, &format!("[[subscriptions]]\nname = 'app'\n{kinds}\nto = 'webhook:{}'", receiver.url));
        let server = serve(&home, &kept, &file);
        until_told(&server).await;
        remind(&server, "bob").await;
        let id = remind(&server, "ann").await;
        server.call(Method::PATCH, &format!("/v1/reminders/{id}"), Some(json!({ "message": "tea" }))).await;
        server.call(Method::DELETE, &format!("/v1/reminders/{id}"), None).await;
        for kind in ["reminder.created", "reminder.cancelled"] {
            let (headers, body) = receiver.next().await;
            assert_eq!((&body["type"], &body["data"]["reminder_id"]), (&json!(kind), &json!(id)));
            key_of(&headers, &body);
            assert_eq!(body["timestamp"], body["data"]["at"]);
            let listed = server.get(&format!("/v1/audit?kind={kind}&user=ann")).await;
            assert_eq!(listed["entries"], json!([body["data"]]), "one shape everywhere");
        }
        until("it has caught up", async || metric(&server, "punctual_subscription_behind").await == Some(0.0)).await;
        assert_eq!(metric(&server, "punctual_subscription_told_total").await, Some(2.0));
        assert!(receiver.is_quiet());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_is_told_of_the_reminders_with_a_tag() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let mut receiver = Receiver::listen().await;
        let file = config(
            &home,
            &format!(
                "[[subscriptions]]\nkinds = ['reminder.created']\ntag = 'Health'\nto = 'webhook:{}'",
                receiver.url
            ),
        );
        let server = serve(&home, &kept, &file);
        until_told(&server).await;
        for (user, tags) in [("ann", json!([])), ("bob", json!(["garden"])), ("eve", json!(["garden", "health"]))] {
            let at = json!({ "type": "once", "at": "2099-01-01T00:00:00Z" });
            server.create(json!({ "user": user, "message": "m", "tags": tags, "schedule": at })).await;
        }
        assert_eq!(receiver.next().await.1["data"]["user"], "eve");
        until("it has caught up", async || metric(&server, "punctual_subscription_behind").await == Some(0.0)).await;
        assert!(receiver.is_quiet());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_verifies_with_the_servers_secret() {
    let home = Home::new();
    let (sender, mut requests) = tokio::sync::mpsc::unbounded_channel();
    let take = move |headers: HeaderMap, body: axum::body::Bytes| async move { drop(sender.send((headers, body))) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(
        async move { axum::serve(listener, axum::Router::new().route("/hook", axum::routing::post(take))).await },
    );
    let file = config(&home, &format!("[[subscriptions]]\nkinds = ['reminder.created']\nto = 'webhook:{url}'"));
    let server = home.serve_with(&[("PUNCTUAL_CONFIG", &file), ("PUNCTUAL_WEBHOOK_SECRET", SECRET)]);
    until_told(&server).await;
    remind(&server, "ann").await;
    let (headers, body) = soon(requests.recv()).await.unwrap();
    let header = |name: &str| headers[name].to_str().unwrap();
    let secret: webhook::Secret = SECRET.parse().unwrap();
    let signed = secret.sign(header("webhook-id"), header("webhook-timestamp").parse().unwrap(), &body);
    assert_eq!(signed, header("webhook-signature"));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_one_reminder_come_in_order_through_failures() {
    let home = Home::new();
    let (says, mut receiver) = Receiver::changing(StatusCode::SERVICE_UNAVAILABLE).await;
    let file = config(
        &home,
        &format!(
            "[[subscriptions]]\nkinds = ['reminder.created', 'reminder.changed', 'reminder.cancelled']\nto = 'webhook:{}'",
            receiver.url
        ),
    );
    let server = home.serve_with(&[("PUNCTUAL_CONFIG", &file)]);
    until_told(&server).await;
    let ids = [remind(&server, "ann").await, remind(&server, "bob").await];
    for id in &ids {
        server.call(Method::PATCH, &format!("/v1/reminders/{id}"), Some(json!({ "message": "tea" }))).await;
        server.call(Method::DELETE, &format!("/v1/reminders/{id}"), None).await;
    }
    // The first of each is tried, and tried again; those behind it wait.
    let mut tried = Vec::new();
    while tried.len() < 4 {
        let (headers, body) = receiver.next().await;
        assert_eq!(body["type"], "reminder.created");
        tried.push(key_of(&headers, &body));
    }
    tried.sort();
    tried.dedup();
    assert!(tried.len() <= 2, "the same key each time: {tried:?}");
    says.send_replace(StatusCode::NO_CONTENT);
    let mut by_reminder: [Vec<Value>; 2] = [Vec::new(), Vec::new()];
    while by_reminder.iter().any(|told| told.last().is_none_or(|kind| kind != "reminder.cancelled")) {
        let (_, body) = within(Duration::from_secs(60), receiver.next()).await;
        let index = ids.iter().position(|id| body["data"]["reminder_id"] == **id).unwrap();
        by_reminder[index].push(body["type"].clone());
    }
    for told in by_reminder {
        let mut told: Vec<&str> = told.iter().map(|kind| kind.as_str().unwrap()).collect();
        // The try that was under way when the receiver came back may stand there as well.
        told.dedup();
        assert_eq!(told, ["reminder.created", "reminder.changed", "reminder.cancelled"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_the_application_is_told_the_rest_and_nothing_is_left_out() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let (says, mut receiver) = Receiver::changing(StatusCode::NO_CONTENT).await;
        let file = config(
            &home,
            &format!("[[subscriptions]]\nname = 'app'\nkinds = ['reminder.created']\nto = 'webhook:{}'", receiver.url),
        );
        let server = serve(&home, &kept, &file);
        until_told(&server).await;
        remind(&server, "first").await;
        assert_eq!(receiver.next().await.1["data"]["user"], "first");
        // From here on it cannot be told, and then it is killed.
        says.send_replace(StatusCode::SERVICE_UNAVAILABLE);
        let mut expect = Vec::new();
        for n in 0..20 {
            remind(&server, &format!("user{n}")).await;
            expect.push(format!("user{n}"));
        }
        receiver.next().await;
        server.signal(Signal::KILL);
        drop(server);
        says.send_replace(StatusCode::NO_CONTENT);
        let server = serve(&home, &kept, &file);
        remind(&server, "last").await;
        expect.push("last".into());
        let mut told = Vec::new();
        while !told.contains(&"last".to_owned()) || told.len() < expect.len() {
            let (headers, body) = receiver.next().await;
            key_of(&headers, &body);
            let user = body["data"]["user"].as_str().unwrap().to_owned();
            // A request that was on its way at the kill, or that was told and not yet written down.
            if !told.contains(&user) && user != "first" {
                told.push(user);
            }
        }
        told.sort();
        expect.sort();
        assert_eq!(told, expect);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_refused_holds_back_no_other_and_a_receiver_that_is_gone_is_left_alone() {
    let home = Home::new();
    let (says, mut receiver) = Receiver::changing(StatusCode::BAD_REQUEST).await;
    let file = config(
        &home,
        &format!("[[subscriptions]]\nname = 'app'\nkinds = ['reminder.created']\nto = 'webhook:{}'", receiver.url),
    );
    let server = home.serve_with(&[("PUNCTUAL_CONFIG", &file)]);
    until_told(&server).await;
    remind(&server, "ann").await;
    receiver.next().await;
    until("it was given up", async || metric(&server, "punctual_subscription_given_up_total").await == Some(1.0)).await;
    // An operator sees that without reading the log.
    let note = async || server.get("/v1/subscriptions").await["subscriptions"][0].clone();
    until("the note is written", async || note().await["note"].is_string()).await;
    let shown = note().await;
    assert_eq!((&shown["name"], &shown["channel"]), (&json!("app"), &json!("webhook")), "{shown}");
    assert_eq!(
        (&shown["node"], &shown["users"], &shown["tag"]),
        (&json!("local"), &json!([]), &Value::Null),
        "{shown}"
    );
    assert!(shown["note"].as_str().unwrap().contains("(reminder.created) was not told"), "{shown}");
    assert!(!shown.to_string().contains(&receiver.url), "an address may be a secret: {shown}");
    let listed = home.run(&["subscriptions"]);
    assert!(listed.out.contains("app") && listed.out.contains("was not told"), "{}", listed.out);
    let found: Value = serde_json::from_str(&home.run(&["doctor", "--json"]).out).unwrap();
    let check = found["checks"].as_array().unwrap().iter().find(|check| check["name"] == "told").unwrap();
    assert!(check["status"] == "note" && check["detail"].as_str().unwrap().starts_with("app: "), "{check}");
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "ann", "user": "ann" }))).await;
    let bound = server.request(Method::GET, "/v1/subscriptions").bearer_auth(key["key"].as_str().unwrap());
    assert_eq!(soon(bound.send()).await.unwrap().status(), 403);
    says.send_replace(StatusCode::NO_CONTENT);
    remind(&server, "bob").await;
    assert_eq!(receiver.next().await.1["data"]["user"], "bob");
    says.send_replace(StatusCode::GONE);
    remind(&server, "eve").await;
    assert_eq!(receiver.next().await.1["data"]["user"], "eve");
    server.wait_for_log("its receiver is gone");
    remind(&server, "zoe").await;
    let (_, lines) = server.stop();
    assert!(receiver.is_quiet(), "{lines:#?}");
    // A restart tries again, from the event that found nobody.
    says.send_replace(StatusCode::NO_CONTENT);
    let _server = home.serve_with(&[("PUNCTUAL_CONFIG", &file)]);
    let mut told = [receiver.next().await, receiver.next().await].map(|(_, body)| body["data"]["user"].clone());
    told.sort_by_key(Value::to_string);
    assert_eq!(told, [json!("eve"), json!("zoe")]);
}

#[test]
fn a_subscription_that_could_not_work_stops_the_start() {
    for (subscription, words) in [
        ("to = 'pigeon:x'", &["pigeon", "webhook"][..]),
        ("to = 'console:'", &["console", "tells people", "webhook"]),
        ("to = 'webhook:ftp://hush.example'", &["subscription `webhook-"]),
        ("kinds = ['reminder.send']\nto = 'webhook:https://hush.example'", &["reminder.sent"]),
    ] {
        let home = Home::new();
        let file = config(&home, &format!("[[subscriptions]]\n{subscription}"));
        let ran = home.run_alone(&["--config", &file, "serve", "--listen", "127.0.0.1:0"]);
        assert_ne!(ran.code, Some(0));
        for word in words {
            assert!(ran.err.contains(word), "{word}: {}", ran.err);
        }
        assert!(!ran.err.contains("hush"), "{}", ran.err);
    }
}
