//! What the API says in English is said in the viewer's language where the page knows it.

use axum::http::StatusCode;
use reqwest::Method;
use serde_json::json;

use super::Browser;
use crate::common::{Home, NOWHERE, Receiver};

/// Words of the API that stood on pages of every language.
const ENGLISH: [&str; 13] = [
    "it was taken",
    "it may work later",
    "the address is dead",
    "such a message",
    "unavailable",
    " sent in ",
    "is not a time",
    "says more than a time",
    "a timestamp such as",
    "it names no time",
    "connecting,",
    "connected,",
    "listening,",
];

#[tokio::test]
async fn pages_in_other_languages_have_no_english_of_the_api() {
    let home = Home::new();
    let server = home.serve_with(&[
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "telegram"),
        ("PUNCTUAL_CHANNEL_CHAT_TOKEN", "123456:abcdefghijklmnopqrstuvwxyz012345678"),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", NOWHERE),
        ("PUNCTUAL_CHANNEL_CHAT_RECEIVE", "connection"),
    ]);
    let (live, gone) = (Receiver::listen().await, Receiver::answering(StatusCode::GONE).await);
    let broken = Receiver::answering(StatusCode::INTERNAL_SERVER_ERROR).await;
    let at = json!({ "type": "once", "at": "2h" });
    let tea = server.create(json!({ "user": "me", "message": "Tee", "schedule": at })).await;
    let tea = format!("/reminders/{}", tea["id"].as_str().unwrap());
    let mut browser = Browser::with_key(&server, &server.key).await;
    for (language, sent, no_time) in [
        ("de", "Es wurde angenommen.", "„wenn die Hölle gefriert“ nennt keine Zeit."),
        ("hr", "Primljeno je.", "„wenn die Hölle gefriert” ne kaže vrijeme."),
        ("sr", "Primljeno je.", "„wenn die Hölle gefriert” ne kaže vreme."),
        ("sr-Cyrl", "Примљено је.", "не каже време."),
    ] {
        let user = json!({ "timezone": "Europe/Berlin", "language": language });
        let (status, put) = server.call(Method::PUT, "/v1/users/me", Some(user)).await;
        assert!(status.is_success(), "{put}");
        let mut said = Vec::new();
        for url in [&live.url, &broken.url, &gone.url] {
            let form = [("address", url.as_str()), ("message", "")];
            said.push(browser.submit("/channels", "/channels/webhook/test", &form).await.said());
        }
        assert!(said[0].contains(sent), "{language}: {said:?}");
        // What the platform says stays in its words.
        let mut all: Vec<String> =
            said.iter().map(|said| said.split(": ").take(2).collect::<Vec<_>>().join(": ")).collect();
        let put_off =
            browser.submit(&tea, &format!("{tea}/snooze"), &[("until", "wenn die Hölle gefriert")]).await.said();
        assert!(put_off.contains(no_time), "{language}: {put_off}");
        all.push(put_off);
        let edited =
            [("message", "Tee"), ("when", "wenn die Hölle gefriert"), ("priority", "normal"), ("timezone", "UTC")];
        let page = browser.submit(&tea, &format!("{tea}/edit"), &edited).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", page.text);
        all.extend([page.text, browser.get("/channels").await.text]);
        for text in all {
            for english in ENGLISH {
                assert!(!text.contains(english), "{language} has `{english}`: {text}");
            }
        }
    }
}
