//! The page Channels.

use axum::http::StatusCode;
use punctual_testkit::wait::until;
use serde_json::json;

use super::Browser;
use crate::common::{Home, Receiver};

#[tokio::test]
async fn a_test_from_the_page_says_what_the_platform_answered() {
    let home = Home::new();
    let server = home.serve();
    let receiver = Receiver::listen().await;
    let broken = Receiver::answering(StatusCode::INTERNAL_SERVER_ERROR).await;
    let mut browser = Browser::with_key(&server, &server.key).await;
    for (url, outcome, meaning) in
        [(&receiver.url, "sent in ", "It was taken."), (&broken.url, "not reached in ", "It may work later")]
    {
        let form = [("address", url.as_str()), ("message", "hello")];
        let said = browser.submit("/channels", "/channels/webhook/test", &form).await.said();
        assert!(said.starts_with(&format!("webhook: {outcome}")) && said.contains(meaning), "{said}");
        assert_eq!(said.contains("The platform says: ") && said.contains("500"), outcome.starts_with("not"), "{said}");
    }
}

#[tokio::test]
async fn a_dead_address_is_revived_on_the_page() {
    let home = Home::new();
    let server = home.serve();
    let mut gone = Receiver::answering(StatusCode::GONE).await;
    let to = json!([{ "channel": "webhook", "address": gone.url }]);
    server
        .create(json!({ "message": "x", "schedule": { "type": "once", "at": "0s" }, "to": to, "max_retries": 0 }))
        .await;
    gone.next().await;
    let dead = async || server.get("/v1/dead-addresses").await["dead_addresses"].as_array().unwrap().len();
    until("the address is dead", async || dead().await == 1).await;
    let mut browser = Browser::with_key(&server, &server.key).await;
    let page = browser.get("/channels").await.text;
    assert!(page.contains("1 dead address") && page.contains(&gone.url), "{page}");
    // What a test says of it: it was refused once more.
    let tested =
        browser.submit("/channels", "/channels/webhook/test", &[("address", &gone.url), ("message", "")]).await;
    assert!(tested.said().starts_with("webhook: nobody there in "), "{}", tested.said());
    let revived = browser.submit("/channels", "/channels/webhook/revive", &[("address", &gone.url)]).await;
    assert_eq!(revived.said(), format!("{} is used again.", gone.url));
    assert_eq!(dead().await, 0);
    assert!(browser.get("/channels").await.text.contains("No address is dead."));
}

#[tokio::test]
async fn a_receiver_that_is_left_alone_stands_on_its_channel_with_the_reason() {
    let home = Home::new();
    let server = home.serve_with(&[
        ("PUNCTUAL_CHANNEL_HOOK_KIND", "webhook"),
        ("PUNCTUAL_CHANNEL_HOOK_RATE", "100/s"),
        ("PUNCTUAL_CHANNEL_HOOK_ALLOW_PRIVATE", "true"),
    ]);
    let broken = Receiver::answering(StatusCode::INTERNAL_SERVER_ERROR).await;
    let to = json!([{ "channel": "hook", "address": broken.url }]);
    let now = json!({ "message": "x", "schedule": { "type": "once", "at": "0s" }, "to": to, "max_retries": 0 });
    let all = json!({ "reminders": vec![now; 12] });
    let (status, made) = server.call(reqwest::Method::POST, "/v1/reminders/batch", Some(all)).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let mut browser = Browser::with_key(&server, &server.key).await;
    let mut page = String::new();
    until("it is left alone", async || {
        page = browser.get("/channels").await.text;
        page.contains("Left alone")
    })
    .await;
    let card = page.split("id=\"channel-hook\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(card.contains("everything fails") && card.contains("only fails (1"), "{card}");
    assert!(card.contains("of 6,000 that one receiver may get"), "{card}");
}
