//! ntfy: the buttons under a notification are requests that the app makes.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use punctual_testkit::wait::until_some;
use reqwest::Method;
use serde_json::{Value, json};

use super::{answers, asked, run};
use crate::common::{Home, Server, soon};

type Published = Arc<Mutex<Vec<Value>>>;

/// A server that takes notifications; returns its address and what it was given.
async fn ntfy() -> (String, Published) {
    let published = Published::default();
    let publish = async |State(published): State<Published>, Json(body): Json<Value>| {
        published.lock().unwrap().push(body);
        Json(json!({ "id": "m1" }))
    };
    let router = Router::new().route("/", post(publish)).with_state(published.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, published)
}

/// A run that asks for an answer on a phone: its id, and the address of the button with this label.
async fn shown(server: &Server, published: &Published, label: &str) -> (String, String) {
    let id = asked(server, "medicine", "pills").await;
    let button = until_some("the notification is there", async || {
        let last = published.lock().unwrap().last().cloned()?;
        last["actions"].as_array()?.iter().find(|action| action["label"] == label).cloned()
    })
    .await;
    assert_eq!((&button["action"], &button["method"]), (&json!("http"), &json!("POST")), "{button}");
    (id, button["url"].as_str().unwrap().to_owned())
}

/// What the app does when a button is pressed; returns the status.
async fn press(server: &Server, method: Method, url: &str) -> u16 {
    soon(server.client.request(method, url).send()).await.unwrap().status().as_u16()
}

async fn serve(home: &Home) -> (Server, Published) {
    let (url, published) = ntfy().await;
    let server = home.serve_with(&[("PUNCTUAL_CHANNEL_CHAT_KIND", "ntfy"), ("PUNCTUAL_CHANNEL_CHAT_URL", &url)]);
    (server, published)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_answers() {
    let home = Home::new();
    let (server, published) = serve(&home).await;
    for (label, response, state) in
        [("Done", "ack", "completed"), ("In 10 minutes", "snooze", "snoozed"), ("Not needed", "dismiss", "dismissed")]
    {
        let (id, url) = shown(&server, &published, label).await;
        assert_eq!(press(&server, Method::POST, &url).await, 200, "{label}");
        let [answer] = answers(&server, &id).await.try_into().unwrap();
        assert_eq!((&answer["response"], &answer["channel"]), (&json!(response), &json!("chat")), "{answer}");
        assert_eq!(run(&server, &id).await["state"], state, "{label}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_comes_again_is_told_so_and_counts_once() {
    let home = Home::new();
    let (server, published) = serve(&home).await;
    let (id, done) = shown(&server, &published, "Done").await;
    assert_eq!(press(&server, Method::POST, &done).await, 200);
    // The app tries again when it got no answer, and a notification stays on other devices.
    for _ in 0..2 {
        assert_eq!(press(&server, Method::POST, &done).await, 410);
    }
    assert_eq!(answers(&server, &id).await.len(), 1);
    assert_eq!(run(&server, &id).await["state"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_was_tampered_with_changes_nothing() {
    let home = Home::new();
    let (server, published) = serve(&home).await;
    let (other, _) = shown(&server, &published, "Done").await;
    let (id, done) = shown(&server, &published, "Done").await;
    let (start, proof) = done.rsplit_once('.').unwrap();
    for url in [
        done.replace("/a/ack.", "/a/dismiss."),
        done.replace(&id, &other),
        format!("{start}.{}", proof.chars().rev().collect::<String>()),
        format!("{start}."),
        start.to_owned(),
    ] {
        assert_ne!(url, done);
        assert_eq!(press(&server, Method::POST, &url).await, 404, "{url}");
    }
    // To look is no answer.
    assert_eq!(press(&server, Method::GET, &done).await, 200);
    for id in [&id, &other] {
        let run = run(&server, id).await;
        assert_eq!((&run["state"], &run["responses"]), (&json!("awaiting_ack"), &json!([])), "{run}");
    }
}
