//! Web push: a browser is an address, and the buttons of its notification are requests that its service worker makes.

use punctual_testkit::platforms::webpush::{Browser, PushService, Pushed};
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::until_some;
use reqwest::Method;
use serde_json::{Value, json};

use super::{answers, run};
use crate::common::{Home, Server, soon};

const PRIVATE: (&str, &str) = ("PUNCTUAL_WEBPUSH_ALLOW_PRIVATE", "true");

/// The key with which browsers subscribe.
async fn public_key(server: &Server) -> String {
    let all = server.get("/v1/channels").await;
    let channel = all["channels"].as_array().unwrap().iter().find(|channel| channel["name"] == "webpush").unwrap();
    channel["public_key"].as_str().unwrap().to_owned()
}

async fn serve(home: &Home) -> (Server, PushService, Browser) {
    let server = home.serve_with(&[PRIVATE]);
    let push = PushService::start();
    let browser = push.subscribe(&public_key(&server).await);
    (server, push, browser)
}

/// Sends a reminder of ann's to her browser that wants an answer; returns the id of its run and the push.
async fn shown(server: &Server, push: &PushService, browser: &Browser) -> (String, Pushed) {
    let n_before = push.pushed(browser).len();
    let to = json!([{ "channel": "webpush", "address": browser.address }]);
    let reminder = json!({
        "user": "ann", "message": "medicine", "schedule": { "type": "once", "at": "0s" }, "require_ack": true, "to": to,
    });
    let made = server.create(reminder).await;
    let path = format!("/v1/reminders/{}/occurrences", made["id"].as_str().unwrap());
    let id = until_some("the run awaits an answer", async || {
        let run = server.get(&path).await["occurrences"][0].clone();
        (run["state"] == "awaiting_ack").then(|| run["id"].as_str().unwrap().to_owned())
    })
    .await;
    let pushed = push.pushed(browser).into_iter().nth(n_before).unwrap_or_else(|| panic!("{:?}", push.refused()));
    (id, pushed)
}

/// What the service worker does when the button with this label is pressed; returns the status.
async fn press(server: &Server, pushed: &Pushed, label: &str) -> u16 {
    let actions = pushed.payload["actions"].as_array().unwrap();
    let action = actions.iter().find(|action| action["title"] == label).unwrap();
    let url = format!("{}/{}", server.url, action["link"].as_str().unwrap());
    soon(server.client.post(url).header("accept", "application/json").send()).await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_answers() {
    let home = Home::new();
    let (server, push, browser) = serve(&home).await;
    for (label, response, state) in
        [("Done", "ack", "completed"), ("In 10 minutes", "snooze", "snoozed"), ("Not needed", "dismiss", "dismissed")]
    {
        let (id, pushed) = shown(&server, &push, &browser).await;
        assert_eq!(pushed.payload["body"], "medicine\nDone?");
        assert_eq!(press(&server, &pushed, label).await, 200, "{label}");
        let [answer] = answers(&server, &id).await.try_into().unwrap();
        assert_eq!((&answer["response"], &answer["channel"]), (&json!(response), &json!("webpush")), "{answer}");
        assert_eq!(run(&server, &id).await["state"], state, "{label}");
        until_some("the notification shows it", async || {
            let last = push.pushed(&browser).pop()?;
            (last.topic == pushed.topic && last.payload["ended"] == true).then_some(())
        })
        .await;
    }
    assert_eq!(push.refused(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_elsewhere_takes_the_notification_away() {
    let home = Home::new();
    let (server, push, browser) = serve(&home).await;
    let (id, pushed) = shown(&server, &push, &browser).await;
    let reminder = &id[..36];
    let (status, said) = server.call(Method::POST, &format!("/v1/reminders/{reminder}/ack"), Some(json!({}))).await;
    assert!(status.is_success(), "{said}");
    let last = until_some("the notification shows it", async || {
        push.pushed(&browser).pop().filter(|last| last.payload["ended"] == true)
    })
    .await;
    assert_eq!((&last.topic, &last.payload["tag"]), (&pushed.topic, &pushed.payload["tag"]));
    assert_eq!(last.payload["body"], "medicine\n✓ Done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_that_comes_again_is_told_so_and_counts_once() {
    let home = Home::new();
    let (server, push, browser) = serve(&home).await;
    let (id, pushed) = shown(&server, &push, &browser).await;
    assert_eq!(press(&server, &pushed, "Done").await, 200);
    for _ in 0..2 {
        assert_eq!(press(&server, &pushed, "Done").await, 410);
    }
    assert_eq!(answers(&server, &id).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_was_tampered_with_changes_nothing() {
    let home = Home::new();
    let (server, push, browser) = serve(&home).await;
    let (id, mut pushed) = shown(&server, &push, &browser).await;
    let link = pushed.payload["actions"][0]["link"].as_str().unwrap().to_owned();
    for forged in [link.replace("a/ack.", "a/dismiss."), link[..link.len() - 1].to_owned()] {
        pushed.payload["actions"][0]["link"] = forged.into();
        assert_eq!(press(&server, &pushed, "Done").await, 404);
    }
    assert_eq!(run(&server, &id).await["state"], "awaiting_ack");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_has_ended_its_subscription_is_a_dead_address_and_the_next_one_is_told() {
    let home = Home::new();
    let (server, push, gone) = serve(&home).await;
    let other = push.subscribe(&public_key(&server).await);
    push.unsubscribe(&gone);
    let to = |browser: &Browser| json!({ "channel": "webpush", "address": browser.address });
    let body = json!({
        "user": "ann", "message": "tea", "schedule": { "type": "once", "at": "0s" }, "to": [to(&gone), to(&other)],
    });
    server.create(body).await;
    until_some("the other browser is told", async || push.pushed(&other).pop()).await;
    let dead = until_some("the address is dead", async || {
        server.get("/v1/dead-addresses").await["dead_addresses"].as_array()?.first().cloned()
    })
    .await;
    assert_eq!((&dead["channel"], &dead["address"]), (&json!("webpush"), &json!(gone.address)));
    assert!(dead["reason"].as_str().unwrap().contains("answered 410 Gone: the subscription has ended"), "{dead}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_stays_the_same_through_a_restart_and_another_one_is_refused() {
    let home = Home::new();
    let (server, push, browser) = serve(&home).await;
    let key = public_key(&server).await;
    drop(server);
    let server = home.serve_with(&[PRIVATE]);
    assert_eq!(public_key(&server).await, key);
    shown(&server, &push, &browser).await;
    drop(server);
    let server = home.serve_with(&[PRIVATE, ("PUNCTUAL_WEBPUSH_KEY", "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")]);
    assert_ne!(public_key(&server).await, key);
    let path = "/v1/channels/webpush/test";
    let (_, tested) = server.call(Method::POST, path, Some(json!({ "address": browser.address }))).await;
    assert_eq!(tested["outcome"], "refused", "{tested}");
    let why = "answered 403 Forbidden: the key is not the one that the browser subscribed with";
    assert!(tested["error"].as_str().unwrap().ends_with(why), "{tested}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_on_one_database_sign_with_one_key() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let (a, b) = (Home::new(), Home::new());
    let of = [("PUNCTUAL_DATABASE_URL", url.as_str())];
    let (a, b) = (a.serve_with(&of), b.serve_with(&of));
    assert_eq!(public_key(&a).await, public_key(&b).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_address_is_refused_and_not_repeated() {
    let home = Home::new();
    let server = home.serve_with(&[]);
    let push = PushService::start();
    let browser = push.subscribe(&public_key(&server).await);
    let body = |address: &str| json!({ "addresses": [{ "channel": "webpush", "address": address }] });
    for (address, why) in [
        ("https://push.example/s3cret", "has no keys behind a #"),
        (browser.address.as_str(), "a push service is called by https alone"),
    ] {
        let (status, said): (_, Value) = server.call(Method::PUT, "/v1/users/ann", Some(body(address))).await;
        assert_eq!((status.as_u16(), &said["field"]), (422, &json!("addresses[0].address")), "{said}");
        let said = said["detail"].as_str().unwrap();
        assert!(said.contains(why) && !said.contains("s3cret"), "{said}");
    }
}
