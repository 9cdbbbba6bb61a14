//! WhatsApp: buttons by Meta's requests.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::routing::any;
use punctual_testkit::platforms::signed;
use punctual_testkit::wait::until_some;
use serde_json::{Value, json};

use super::{answers, asked, known, post, receives, run, second};
use crate::common::{Home, Server, soon};

const SECRET: &str = "app-secret";
const NUMBER: &str = "106540352242922";
const ANA: &str = "+4915112345678";

type Sent = Arc<Mutex<Vec<Value>>>;

/// Meta's API, which takes everything.
async fn meta() -> (String, Sent) {
    let sent = Sent::default();
    let take = |State(sent): State<Sent>, body: String| async move {
        let mut sent = sent.lock().unwrap();
        sent.push(serde_json::from_str(&body).unwrap());
        axum::Json(json!({ "messages": [{ "id": format!("wamid.{}", sent.len()) }] }))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().fallback(any(take)).with_state(sent.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, sent)
}

fn serve(home: &Home, url: &str) -> Server {
    home.serve_with(&[
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "whatsapp"),
        ("PUNCTUAL_CHANNEL_CHAT_TOKEN", "EAA"),
        ("PUNCTUAL_CHANNEL_CHAT_PHONE_NUMBER_ID", NUMBER),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", url),
        ("PUNCTUAL_CHANNEL_CHAT_APP_SECRET", SECRET),
        ("PUNCTUAL_CHANNEL_CHAT_VERIFY_TOKEN", "our-token"),
    ])
}

/// A press on the button at `n` under the first message, at a second.
fn press(sent: &Sent, n: usize, from: &str, id: &str, at: i64) -> Value {
    let data = sent.lock().unwrap()[0]["interactive"]["action"]["buttons"][n]["reply"]["id"].clone();
    let message = json!({
        "from": from.trim_start_matches('+'), "id": id, "timestamp": at.to_string(), "type": "interactive",
        "context": {"id": "wamid.1"}, "interactive": {"type": "button_reply", "button_reply": {"id": data, "title": "x"}},
    });
    let value = json!({"metadata": {"phone_number_id": NUMBER}, "messages": [message]});
    json!({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}]})
}

#[tokio::test]
async fn a_press_is_taken_once_and_confirmed_by_a_message() {
    let (home, (url, sent)) = (Home::new(), meta().await);
    let server = serve(&home, &url);
    let id = asked(&server, "medicine", ANA).await;
    let notification = press(&sent, 1, ANA, "wamid.in.1", second());
    for forged in [signed::whatsapp("another secret", &notification), {
        let mut tampered = signed::whatsapp(SECRET, &notification);
        tampered.body.push(b' ');
        tampered
    }] {
        assert_eq!(post(&server, "", &forged).await, (401, String::new()));
    }
    assert_eq!(run(&server, &id).await["state"], "awaiting_ack");
    let request = signed::whatsapp(SECRET, &notification);
    for _ in 0..2 {
        assert_eq!(post(&server, "", &request).await.0, 200);
        assert_eq!(answers(&server, &id).await.len(), 1, "a copy is recognised");
    }
    let told = until_some("ann is told", async || sent.lock().unwrap().get(1).cloned()).await;
    assert_eq!((&told["context"]["message_id"], &told["to"]), (&json!("wamid.in.1"), &json!(ANA)), "{told}");
    assert!(told["text"]["body"].as_str().unwrap().starts_with("💤 Snoozed until "), "{told}");
    assert_eq!(receives(&server).await["forged"], 2);
}

#[tokio::test]
async fn a_press_from_before_the_last_answer_is_stale() {
    let (home, (url, sent)) = (Home::new(), meta().await);
    let server = serve(&home, &url);
    let id = asked(&server, "medicine", ANA).await;
    let first = press(&sent, 1, ANA, "wamid.in.1", second());
    assert_eq!(post(&server, "", &signed::whatsapp(SECRET, &first)).await.0, 200);
    assert_eq!(answers(&server, &id).await.len(), 1);
    // Whoever kept an old press and gives it another name learns that its time is signed.
    let old = press(&sent, 1, ANA, "wamid.in.0", second() - 3600);
    assert_eq!(post(&server, "", &signed::whatsapp(SECRET, &old)).await.0, 200);
    assert_eq!(answers(&server, &id).await.len(), 1);
}

#[tokio::test]
async fn a_stranger_is_told_no_and_the_challenge_is_answered() {
    let (home, (url, sent)) = (Home::new(), meta().await);
    let server = serve(&home, &url);
    known(&server, "bob", "+4915187654321").await;
    let id = asked(&server, "medicine", ANA).await;
    let theirs = press(&sent, 0, "+4915187654321", "wamid.in.1", second());
    assert_eq!(post(&server, "", &signed::whatsapp(SECRET, &theirs)).await.0, 200);
    let told = until_some("bob is told", async || sent.lock().unwrap().get(1).cloned()).await;
    assert_eq!(told["text"]["body"], "This reminder is for somebody else.");
    assert_eq!(run(&server, &id).await["state"], "awaiting_ack");
    for (token, expect) in [("our-token", (200, "1158201444")), ("guess", (401, ""))] {
        let query = format!("hub.mode=subscribe&hub.verify_token={token}&hub.challenge=1158201444");
        let asked = server.client.get(format!("{}/v1/inbound/chat?{query}", server.url)).send();
        let response = soon(asked).await.unwrap();
        let status = response.status().as_u16();
        assert_eq!((status, soon(response.text()).await.unwrap().as_str()), expect);
    }
}

/// What Meta says of the first message.
fn status(sent: &Sent, word: &str, errors: Value) -> Value {
    let key = sent.lock().unwrap()[0]["biz_opaque_callback_data"].clone();
    let status =
        json!({"id": "wamid.1", "status": word, "timestamp": "1", "biz_opaque_callback_data": key, "errors": errors});
    let value = json!({"metadata": {"phone_number_id": NUMBER}, "statuses": [status]});
    json!({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}]})
}

#[tokio::test]
async fn a_report_moves_the_attempt_once_and_only_forward() {
    let (home, (url, sent)) = (Home::new(), meta().await);
    let server = serve(&home, &url);
    let id = asked(&server, "medicine", ANA).await;
    let failed = json!([{"code": 131_026, "title": "Message undeliverable"}]);
    for (word, errors, expect) in [
        ("sent", Value::Null, "sent"),
        ("read", Value::Null, "delivered"),
        ("delivered", Value::Null, "delivered"),
        ("failed", failed, "delivered"),
    ] {
        let request = signed::whatsapp(SECRET, &status(&sent, word, errors));
        assert_eq!(post(&server, "", &request).await.0, 200);
        let run = run(&server, &id).await;
        assert_eq!((&run["attempts"][0]["status"], &run["state"]), (&json!(expect), &json!("awaiting_ack")), "{word}");
    }
}

#[tokio::test]
async fn a_message_that_was_not_delivered_goes_to_the_next_address() {
    let (home, (url, sent)) = (Home::new(), meta().await);
    let server = serve(&home, &url);
    let other = "+4915187654321";
    let made = server
        .create(json!({
            "user": "ann", "message": "medicine", "schedule": { "type": "once", "at": "0s" }, "require_ack": true,
            "to": [{ "channel": "chat", "address": ANA }, { "channel": "chat", "address": other }],
        }))
        .await;
    let id = format!("{}-1", made["id"].as_str().unwrap());
    until_some("the run awaits an answer", async || (run(&server, &id).await["state"] == "awaiting_ack").then_some(()))
        .await;
    let failed = json!([{"code": 131_026, "title": "Message undeliverable"}]);
    let request = signed::whatsapp(SECRET, &status(&sent, "failed", failed));
    assert_eq!(post(&server, "", &request).await.0, 200);
    let next = until_some("the other address is tried", async || sent.lock().unwrap().get(1).cloned()).await;
    assert_eq!(next["to"], other);
    let first = run(&server, &id).await["attempts"][0].clone();
    assert_eq!(first["status"], "refused", "{first}");
    assert!(first["error"].as_str().unwrap().contains("131026"), "{first}");
}
