//! Twilio: its requests are taken when they are signed.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::routing::any;
use punctual_testkit::platforms::signed;
use serde_json::json;

use super::{answers, asked, known, post, receives, run};
use crate::common::{Home, Server};

const ACCOUNT: &str = "ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const TOKEN: &str = "auth-token";

const URL: &str = "https://p.example/v1/inbound/chat";

fn serve(home: &Home, api_url: &str) -> Server {
    home.serve_with(&[
        ("PUNCTUAL_PUBLIC_URL", "https://p.example"),
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "twilio"),
        ("PUNCTUAL_CHANNEL_CHAT_ACCOUNT_SID", ACCOUNT),
        ("PUNCTUAL_CHANNEL_CHAT_AUTH_TOKEN", TOKEN),
        ("PUNCTUAL_CHANNEL_CHAT_FROM", "+14155552345"),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", api_url),
        ("PUNCTUAL_CHANNEL_CHAT_FOLLOW", "false"),
    ])
}

type Sent = Arc<Mutex<Vec<String>>>;

/// Twilio's API, which takes everything.
async fn api() -> (String, Sent) {
    let sent = Sent::default();
    let take = |State(sent): State<Sent>, body: String| async move {
        sent.lock().unwrap().push(body);
        (axum::http::StatusCode::CREATED, axum::Json(json!({ "sid": "SM7", "status": "queued" })))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().fallback(any(take)).with_state(sent.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, sent)
}

#[tokio::test]
async fn a_report_moves_the_attempt() {
    for (status, code, expect, error) in
        [("delivered", "", "delivered", None), ("undelivered", "30007", "refused", Some("30007"))]
    {
        let (home, (url, sent)) = (Home::new(), api().await);
        let server = serve(&home, &url);
        let id = asked(&server, "medicine", "+4915112345678").await;
        assert!(sent.lock().unwrap()[0].contains(&id), "the message says where its report goes");
        let query = format!("?o={id}");
        let fields = [("MessageSid", "SM7"), ("AccountSid", ACCOUNT), ("MessageStatus", status), ("ErrorCode", code)];
        let forged = signed::twilio("another token", &format!("{URL}{query}"), &fields);
        assert_eq!(post(&server, &query, &forged).await.0, 401);
        let request = signed::twilio(TOKEN, &format!("{URL}{query}"), &fields);
        assert_eq!(post(&server, &query, &request).await.0, 200);
        let attempt = run(&server, &id).await["attempts"][0].clone();
        assert_eq!(attempt["status"], expect, "{attempt}");
        assert_eq!(attempt["error"].as_str().map(|said| said.contains(error.unwrap())), error.map(|_| true));
    }
}

#[tokio::test]
async fn a_signed_request_is_taken_and_a_forged_one_never() {
    let home = Home::new();
    let server = serve(&home, "http://127.0.0.1:1");
    let fields = [("MessageSid", "SM1"), ("AccountSid", ACCOUNT), ("From", "+4915112345678"), ("Body", "popio sam")];
    // Twilio signs the address that it was given, not the one behind a proxy.
    let request = signed::twilio(TOKEN, URL, &fields);
    let (status, body) = post(&server, "", &request).await;
    assert_eq!((status, body.as_str()), (200, "<Response></Response>"));
    for forged in [
        signed::twilio("another token", URL, &fields),
        signed::twilio(TOKEN, &format!("{}/v1/inbound/chat", server.url), &fields),
    ] {
        assert_eq!(post(&server, "", &forged).await, (401, String::new()));
    }
    let receives = receives(&server).await;
    assert_eq!((&receives["way"], &receives["forged"]), (&"webhook".into(), &2.into()), "{receives}");
}

#[tokio::test]
async fn an_sms_answers_once() {
    let (home, (url, _)) = (Home::new(), api().await);
    let server = serve(&home, &url);
    known(&server, "ann", "+4915112345678").await;
    let id = asked(&server, "medicine", "+4915112345678").await;
    let fields = [("MessageSid", "SM1"), ("AccountSid", ACCOUNT), ("From", "+4915112345678"), ("Body", "popio sam")];
    for _ in 0..2 {
        let (status, _) = post(&server, "", &signed::twilio(TOKEN, URL, &fields)).await;
        assert_eq!(status, 200);
        assert_eq!(answers(&server, &id).await.len(), 1, "a copy is recognised");
    }
}

#[tokio::test]
async fn an_sms_from_somebody_else_answers_nothing() {
    let (home, (url, _)) = (Home::new(), api().await);
    let server = serve(&home, &url);
    known(&server, "ann", "+4915112345678").await;
    known(&server, "bob", "+4915187654321").await;
    let id = asked(&server, "medicine", "+4915112345678").await;
    for (sid, from) in [("SM1", "+4915187654321"), ("SM2", "+4915100000000")] {
        let fields = [("MessageSid", sid), ("AccountSid", ACCOUNT), ("From", from), ("Body", "popio sam")];
        let (status, body) = post(&server, "", &signed::twilio(TOKEN, URL, &fields)).await;
        assert_eq!((status, body.as_str()), (200, "<Response></Response>"), "nobody learns what is asked of whom");
    }
    let run = run(&server, &id).await;
    assert_eq!((&run["state"], run["responses"].as_array().unwrap().len()), (&"awaiting_ack".into(), 0), "{run}");
}
