//! Where a reminder goes: its own addresses, then its user's; and what nobody can receive.

use axum::http::StatusCode;
use punctual_testkit::wait::{until, until_some};
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Receiver, Server};

/// A reminder of alice's, due now and tried once.
fn alices(to: &[&str], more: Value) -> Value {
    let to: Vec<Value> = to.iter().map(|url| json!({ "channel": "webhook", "address": url })).collect();
    let mut body = json!({
        "user": "alice", "message": "tea", "schedule": { "type": "once", "at": "0s" }, "max_retries": 0,
    });
    if !to.is_empty() {
        body["to"] = to.into();
    }
    for (field, value) in more.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

async fn put_alice(server: &Server, urls: &[&str]) {
    let addresses: Vec<Value> = urls.iter().map(|url| json!({ "channel": "webhook", "address": url })).collect();
    let (status, body) = server.call(Method::PUT, "/v1/users/alice", Some(json!({ "addresses": addresses }))).await;
    assert!(status.is_success(), "{body}");
}

/// The run of a reminder once it has ended.
async fn ended(server: &Server, reminder: &Value) -> Value {
    let path = format!("/v1/reminders/{}/occurrences", reminder["id"].as_str().unwrap());
    until_some("the run has ended", async || {
        let run = server.get(&path).await["occurrences"][0].clone();
        matches!(run["state"].as_str(), Some("delivered" | "failed")).then_some(run)
    })
    .await
}

fn addresses_tried(run: &Value) -> Vec<&str> {
    run["attempts"].as_array().unwrap().iter().map(|attempt| attempt["address"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_users_other_addresses_come_after_to_unless_the_reminder_says_only() {
    let home = Home::new();
    let server = home.serve();
    let (mut own, broken) = (Receiver::listen().await, Receiver::answering(StatusCode::BAD_GATEWAY).await);
    put_alice(&server, &[&broken.url, &own.url]).await;
    let made = server.create(alices(&[&broken.url], json!({}))).await;
    assert_eq!(made["only"], false);
    let run = ended(&server, &made).await;
    assert_eq!(run["state"], "delivered", "{run}");
    assert_eq!(addresses_tried(&run), [&broken.url, &own.url], "what is in both is tried once");
    assert_eq!(own.next().await.1["data"]["message"], "tea");

    let only = server.create(alices(&[&broken.url], json!({ "only": true }))).await;
    assert_eq!(only["only"], true);
    let run = ended(&server, &only).await;
    assert_eq!((run["state"].as_str(), addresses_tried(&run)), (Some("failed"), vec![broken.url.as_str()]));
    assert!(own.is_quiet());
    let to = format!("webhook:{}", broken.url);
    let by_hand = home.run(&["add", "tea", "--in", "9h", "--user", "alice", "--to", &to, "--only", "--json"]).json();
    assert_eq!(by_hand["only"], true);
    let id = by_hand["id"].as_str().unwrap();
    let changed = home.run(&["update", id, "--user", "alice", "--only=false", "--json"]).json();
    assert_eq!(changed["only"], false);
    for body in [json!({ "only": true }), json!({ "only": true, "to": [] })] {
        let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(alices(&[], body))).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("only")), "{problem}");
    }
}

#[tokio::test]
async fn a_dead_address_in_to_is_a_warning_while_another_lives() {
    let home = Home::new();
    let server = home.serve_unchosen();
    let (live, gone) = (Receiver::listen().await, Receiver::answering(StatusCode::GONE).await);
    let dies = server.create(alices(&[&gone.url], json!({}))).await;
    assert_eq!(ended(&server, &dies).await["state"], "failed");

    let both = alices(&[&gone.url, &live.url], json!({}));
    let made = server.create(both.clone()).await;
    let warning = &made["warnings"][0];
    assert_eq!((warning["field"].as_str(), made["warnings"].as_array().unwrap().len()), (Some("to[0].address"), 1));
    assert!(warning["detail"].as_str().unwrap().contains("has been dead since"), "{warning}");
    assert_eq!(ended(&server, &made).await["state"], "delivered");
    let path = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
    assert_eq!(server.get(&path).await["warnings"], Value::Null, "it is about the request");
    let batch = json!({ "reminders": [alices(&[&live.url], json!({})), both] });
    let (status, made) = server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await;
    assert_eq!((status.as_u16(), &made["reminders"][0]["warnings"]), (201, &Value::Null), "{made}");
    assert_eq!(made["reminders"][1]["warnings"][0]["field"], "to[0].address");
    let [dead_to, live_to] = [&gone.url, &live.url].map(|url| format!("webhook:{url}"));
    let ran = home.run(&["add", "tea", "--in", "9h", "--user", "alice", "--to", &dead_to, "--to", &live_to]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.starts_with("warning: to[0].address: has been dead since"), "{}", ran.err);

    // Where no other lives it is refused.
    let alone = alices(&[&gone.url], json!({}));
    let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(alone.clone())).await;
    assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("to[0].address")), "{problem}");
    put_alice(&server, &[&live.url]).await;
    let made = server.create(alone.clone()).await;
    assert_eq!(made["warnings"][0]["field"], "to[0].address", "the user's follows");
    let mut only = alone;
    only["only"] = true.into();
    let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(only)).await;
    assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("to[0].address")), "{problem}");
}

#[tokio::test]
async fn a_reminder_that_nobody_can_receive_is_refused_at_every_door() {
    let home = Home::new();
    let server = home.serve_unchosen();
    let nobodys = alices(&[], json!({}));
    let is_refused = |(status, problem): (StatusCode, Value), field: &str| {
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some(field)), "{problem}");
        let detail = problem["detail"].as_str().unwrap().to_owned();
        for part in ["nobody can receive it", "`alice` has no addresses", "write `to`", "`addresses`"] {
            assert!(detail.contains(part), "`{part}` is not in: {detail}");
        }
    };
    is_refused(server.call(Method::POST, "/v1/reminders", Some(nobodys.clone())).await, "to");
    let batch = json!({ "reminders": [{ "message": "mine", "schedule": { "type": "once", "at": "9h" } }, nobodys] });
    is_refused(server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await, "reminders[1].to");
    home.run(&["add", "tea", "--in", "9h", "--user", "alice"]).fails(1, &["to", "nobody can receive it", "alice"]);
    let mut item = nobodys.clone();
    item["schedule"]["at"] = "2099-01-01T00:00:00Z".into();
    let import = json!({ "source": "s", "dry_run": true, "items": [{ "key": "1", "reminder": item }] });
    let (_, done) = server.call(Method::POST, "/v1/import", Some(import)).await;
    assert_eq!((&done["items"][0]["outcome"], &done["items"][0]["field"]), (&json!("refused"), &json!("to")), "{done}");
    assert!(server.get("/v1/reminders").await["reminders"].as_array().unwrap().is_empty(), "nothing was written");

    let made =
        server.create(alices(&[], json!({ "to": ["console"], "schedule": { "type": "once", "at": "9h" } }))).await;
    let path = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
    is_refused(server.call(Method::PATCH, &path, Some(json!({ "to": [] }))).await, "to");
    put_alice(&server, &["http://127.0.0.1:9/hook"]).await;
    server.create(nobodys.clone()).await;

    // The user `me`, who sits at the machine, is reached by its console.
    let mine = home.run(&["add", "stretch", "--in", "0s", "--json"]).json();
    assert_eq!(ended(&server, &mine).await["attempts"][0]["channel"], "console");
    home.run(&["users", "set", "me", "--timezone", "Europe/Berlin"]).ok();
    let mine = home.run(&["add", "stretch", "--in", "0s", "--json"]).json();
    assert_eq!(ended(&server, &mine).await["attempts"][0]["channel"], "console", "also after the zone was set");

    // A default channel that was set counts as chosen.
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_DEFAULT_CHANNEL", "console")]);
    let made = server.create(nobodys).await;
    assert_eq!(ended(&server, &made).await["state"], "delivered");
}

#[tokio::test]
async fn a_user_without_an_address_any_more_is_not_reached_by_the_console() {
    let home = Home::new();
    let server = home.serve_unchosen();
    let mut admin = Receiver::listen().await;
    home.run(&["users", "set", "root", "--admin", "--to", &format!("webhook:{}", admin.url)]).ok();
    put_alice(&server, &["http://127.0.0.1:9/hook"]).await;
    let made = server
        .create(alices(&[], json!({ "priority": "critical", "schedule": { "type": "interval", "every": "9h" } })))
        .await;
    put_alice(&server, &[]).await;
    let path = format!("/v1/reminders/{}/fire", made["id"].as_str().unwrap());
    assert!(server.call(Method::POST, &path, None).await.0.is_success());
    let (_, alert) = admin.next().await;
    let message = alert["data"]["message"].as_str().unwrap();
    assert!(message.contains("nobody can receive it"), "{message}");
    let run = ended(&server, &made).await;
    assert_eq!((run["state"].as_str(), run["attempts"].as_array().unwrap().len()), (Some("failed"), 0), "{run}");
    assert!(run["error"].as_str().unwrap().contains("`alice` has no addresses"), "{run}");
}

#[tokio::test]
async fn admins_hear_of_trouble_at_once_and_again_when_it_got_through() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_RETRY_BASE_DELAY_SECONDS", "critical=1")]);
    let mut admin = Receiver::listen().await;
    home.run(&["users", "set", "root", "--admin", "--to", &format!("webhook:{}", admin.url)]).ok();
    let (broken, live) = (Receiver::answering(StatusCode::BAD_GATEWAY).await, Receiver::listen().await);
    let made = server.create(alices(&[&broken.url], json!({ "priority": "critical", "max_retries": 10 }))).await;
    let mut heard = async || {
        let (_, alert) = admin.next().await;
        let data = &alert["data"];
        assert_eq!(data["metadata"]["about"]["reminder_id"], made["id"], "{data}");
        data["message"].as_str().unwrap().to_owned()
    };
    let trouble = heard().await;
    assert!(trouble.contains("has not been delivered so far and is tried again"), "{trouble}");
    let path = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
    let to = json!({ "to": [{ "channel": "webhook", "address": live.url }] });
    // A send may be under way just now.
    let patch = async || server.call(Method::PATCH, &path, Some(to.clone())).await.0.is_success();
    until("the address is changed", patch).await;
    let recovered = heard().await;
    assert!(recovered.contains("was delivered after all"), "{recovered}");
    assert_eq!(ended(&server, &made).await["state"], "delivered");
    assert!(admin.is_quiet(), "nothing is told three times");
}
