//! Channels from settings, what holds them back, tests that explain themselves, and the dead-man's switch.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{any, get};
use punctual_testkit::wait::{until, until_some};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::common::{Home, Kept, Receiver, Server, soon};

/// A platform that takes everything, and tells what it got.
async fn platform() -> (String, mpsc::UnboundedReceiver<Value>) {
    let (sender, got) = mpsc::unbounded_channel();
    let take = |State(sender): State<mpsc::UnboundedSender<Value>>, body: String| async move {
        let _ = sender.send(serde_json::from_str(&body).unwrap_or_default());
        axum::Json(json!({ "id": "m1", "time": 1, "event": "message", "topic": "t" }))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().fallback(any(take)).with_state(sender);
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, got)
}

fn to(channel: &str, address: &str) -> Value {
    json!([{ "channel": channel, "address": address }])
}

fn now(message: &str, to: &Value) -> Value {
    json!({ "message": message, "schedule": { "type": "once", "at": "0s" }, "to": to, "max_retries": 0 })
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

#[tokio::test]
async fn several_channels_of_one_kind_have_names_of_their_own() {
    let (home, (url, mut got)) = (Home::new(), platform().await);
    let config = home.path().join("punctual.toml");
    let file =
        format!("[channels.home]\nkind = 'ntfy'\nurl = '{url}'\n[channels.work]\nkind = 'ntfy'\nurl = '{url}'\n");
    std::fs::write(&config, file).unwrap();
    let env = [("PUNCTUAL_CONFIG", config.to_str().unwrap()), ("PUNCTUAL_CHANNEL_WORK_TEMPLATE", "at work: {message}")];
    let server = home.serve_with(&env);
    for (channel, expect) in [("home", "water the plants"), ("work", "at work: water the plants")] {
        let reminder = server.create(now("water the plants", &to(channel, "plants"))).await;
        let sent = soon(got.recv()).await.unwrap();
        assert_eq!(sent["topic"], "plants");
        assert!(sent["message"].as_str().unwrap().contains(expect), "{sent}");
        let run = ended(&server, &reminder).await;
        let attempt = &run["attempts"][0];
        assert_eq!(
            (&attempt["channel"], &attempt["status"], &attempt["message_id"]),
            (&json!(channel), &json!("sent"), &json!("m1"))
        );
        let id = run["id"].as_str().unwrap();
        assert!(attempt["idempotency_key"].as_str().unwrap().starts_with(&format!("{id}-")));
        assert!(attempt["attempt_key"].as_str().unwrap().starts_with(&format!("{id}-1-")));
    }
    let kinds: Vec<_> = server.get("/v1/channels").await["channels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|channel| (channel["name"].clone(), channel["kind"].clone()))
        .collect();
    assert!(kinds.contains(&(json!("work"), json!("ntfy"))) && kinds.contains(&(json!("webhook"), json!("webhook"))));
    let listed = home.run(&["channels"]).ok();
    assert!(listed.contains("work") && listed.contains("ntfy"), "{listed}");
}

#[tokio::test]
async fn an_address_that_cannot_be_right_is_refused_at_creation() {
    let (home, (url, _got)) = (Home::new(), platform().await);
    let env = [("PUNCTUAL_CHANNEL_PUSH_KIND", "ntfy"), ("PUNCTUAL_CHANNEL_PUSH_URL", url.as_str())];
    let server = home.serve_with(&env);
    for (channel, address, field) in [("push", "no spaces", "to[0].address"), ("pish", "x", "to[0].channel")] {
        let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(now("x", &to(channel, address)))).await;
        assert_eq!((status, &problem["field"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!(field)), "{problem}");
    }
}

#[test]
fn a_wrong_channel_stops_the_start_and_says_why() {
    let home = Home::new();
    let config = home.path().join("punctual.toml");
    for (file, words) in [
        ("[channels.bot]\nkind = 'telegramm'", &["channels.bot.kind", "`telegramm`", "telegram"][..]),
        ("[channels.bot]\nkind = 'telegram'", &["channels.bot.token", "is missing"]),
        ("[channels.bot]\nkind = 'ntfy'\ntopik = 'x'", &["channels.bot.topik", "is no setting of this kind", "url"]),
        ("[channels.bot]\nkind = 'ntfy'\ntemplate = '{mesage}'", &["channels.bot.template", "{mesage}", "message"]),
        (
            "[channels.bot]\nkind = 'telegram'\ntoken_file = '/no/such/file'",
            &["channels.bot.token_file", "/no/such/file"],
        ),
    ] {
        std::fs::write(&config, file).unwrap();
        let config = config.to_str().unwrap();
        home.run(&["serve", "--listen", "127.0.0.1:0", "--config", config]).fails(1, words);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_explains_the_answer() {
    let home = Home::new();
    let _server = home.serve();
    let taken = Receiver::listen().await;
    let refused = Receiver::answering(StatusCode::FORBIDDEN).await;
    let said = home.run(&["channels", "test", "webhook", &taken.url]).ok();
    assert!(said.starts_with("sent, in ") && said.contains("it was taken"), "{said}");
    home.run(&["channels", "test", "webhook", &refused.url]).fails(1, &["refused", "403", "never taken there"]);
    home.run(&["channels", "test", "webhook", "http://127.0.0.1:1/x"]).fails(1, &["unavailable", "it may work later"]);
    home.run(&["channels", "test", "webhook", "nonsense"]).fails(1, &["address", "http://"]);
    home.run(&["channels", "test", "nowhere", "x"]).fails(1, &["there is no channel named `nowhere`", "webhook"]);
    let told = home.run(&["channels", "test", "webhook", &taken.url, "--json"]).json();
    assert_eq!((&told["outcome"], &told["error"]), (&json!("sent"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_of_a_dead_address_revives_nothing_and_is_recorded() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let (answers, mut receiver) = Receiver::changing(StatusCode::GONE).await;
        let to = to("webhook", &receiver.url);
        server.create(now("one", &to)).await;
        receiver.next().await;
        let dead = async || server.get("/v1/dead-addresses").await["dead_addresses"].as_array().unwrap().len();
        until("the address is dead", async || dead().await > 0).await;
        answers.send_replace(StatusCode::NO_CONTENT);
        let told = home.run(&["channels", "test", "webhook", &receiver.url, "--json"]).json();
        receiver.next().await;
        assert_eq!((&told["outcome"], &told["dead"]), (&json!("sent"), &json!(true)));
        assert!(told["meaning"].as_str().unwrap().contains("channels revive"), "{told}");
        assert_eq!(server.get("/v1/dead-addresses").await["dead_addresses"].as_array().unwrap().len(), 1);
        let (status, _) = server.call(Method::POST, "/v1/reminders", Some(now("two", &to))).await;
        assert_eq!(status, 422, "nobody brought it back");

        let entries = server.get("/v1/audit?kind=channel.test").await["entries"].clone();
        let entry = &entries.as_array().unwrap()[0];
        assert_eq!((&entry["actor"], &entry["user"]), (&json!("admin"), &json!("me")), "{entry}");
        assert_eq!(entry["data"], json!({ "channel": "webhook", "outcome": "sent" }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_one_user_tests_only_that_users_addresses() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let user = json!({ "addresses": [{ "channel": "webhook", "address": receiver.url }] });
    server.call(Method::PUT, "/v1/users/ann", Some(user)).await;
    let path = "/v1/channels/webhook/test";
    let body = json!({ "address": receiver.url });
    for (user, may) in [("ann", 200), ("bob", 404)] {
        let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": user, "user": user }))).await;
        let (status, said) =
            server.call_with(key["key"].as_str().unwrap(), Method::POST, path, Some(body.clone())).await;
        assert_eq!(status, may, "{user}: {said}");
    }
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "r", "scopes": ["read"] }))).await;
    let (status, _) = server.call_with(key["key"].as_str().unwrap(), Method::POST, path, Some(body)).await;
    assert_eq!(status, 403, "who may only read sends nothing");
    receiver.next().await;
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn a_dead_address_is_not_called_again_until_it_is_shown_to_live() {
    let home = Home::new();
    let server = home.serve();
    let mut gone = Receiver::answering(StatusCode::GONE).await;
    let to = to("webhook", &gone.url);
    let first = server.create(now("one", &to)).await;
    gone.next().await;
    assert_eq!(ended(&server, &first).await["attempts"][0]["status"], "refused");
    let dead = home.run(&["channels", "dead"]).ok();
    assert!(dead.contains(&gone.url) && dead.contains("410"), "{dead}");
    // A reminder with this address alone is refused at once.
    let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(now("two", &to))).await;
    assert_eq!((status, &problem["field"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("to[0].address")), "{problem}");
    // So is a user's with this address alone; a user who has another address is reached there.
    let live = Receiver::listen().await;
    let mut body = now("three", &Value::Null);
    body["user"] = json!("bob");
    body.as_object_mut().unwrap().remove("to");
    let [dead, alive] = [&gone.url, &live.url].map(|url| json!({ "channel": "webhook", "address": url }));
    let user = json!({ "addresses": [dead] });
    assert!(server.call(Method::PUT, "/v1/users/bob", Some(user)).await.0.is_success());
    let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(body.clone())).await;
    assert_eq!((status, &problem["field"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("to")), "{problem}");
    let user = json!({ "addresses": [dead, alive] });
    assert!(server.call(Method::PUT, "/v1/users/bob", Some(user)).await.0.is_success());
    let third = server.create(body).await;
    let run = ended(&server, &third).await;
    assert!(run["attempts"][0]["error"].as_str().unwrap().contains("not tried: dead since"), "{run}");
    assert_eq!((&run["state"], &run["attempts"][1]["address"]), (&json!("delivered"), &json!(live.url)));
    assert!(gone.is_quiet(), "nobody called");
    // It is dead after a restart, too.
    drop(server);
    let server = home.serve();
    assert_eq!(server.call(Method::POST, "/v1/reminders", Some(now("four", &to))).await.0, 422);
    home.run(&["channels", "revive", "webhook", &gone.url]).ok();
    home.run(&["channels", "revive", "webhook", &gone.url]).fails(1, &["no such dead address"]);
    server.create(now("five", &to)).await;
    gone.next().await;
}

#[tokio::test]
async fn a_receiver_that_only_fails_can_be_seen() {
    let home = Home::new();
    let server = home.serve();
    let broken = Receiver::answering(StatusCode::INTERNAL_SERVER_ERROR).await;
    let reminders: Vec<_> = (0..12).map(|_| now("x", &to("webhook", &broken.url))).collect();
    let (status, made) =
        server.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": reminders }))).await;
    assert_eq!(status, 201, "{made}");
    for reminder in made["reminders"].as_array().unwrap() {
        ended(&server, reminder).await;
    }
    let page = server.get("/v1/channels").await;
    let webhook = page["channels"].as_array().unwrap().iter().find(|channel| channel["name"] == "webhook").unwrap();
    let closed = &webhook["closed"][0];
    assert!(broken.url.starts_with(closed["to"].as_str().unwrap()), "{page}");
    assert!(closed["failures"].as_u64().unwrap() >= 10, "{page}");
    let metrics = soon(soon(server.request(Method::GET, "/metrics").send()).await.unwrap().text()).await.unwrap();
    assert!(metrics.contains("punctual_receivers_left_alone_total{channel=\"webhook\"} 1"), "{metrics}");
    assert!(metrics.contains("punctual_channel_concurrency{channel=\"webhook\"} 64"), "{metrics}");
    // A key of one person sees no addresses.
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "k", "user": "ann" }))).await;
    let (_, page) = server.call_with(key["key"].as_str().unwrap(), Method::GET, "/v1/channels", None).await;
    assert!(page["channels"].as_array().unwrap().iter().all(|channel| channel.get("closed").is_none()), "{page}");
}

#[tokio::test]
async fn the_monitor_hears_nothing_while_something_is_wrong() {
    let (sender, mut beats) = mpsc::unbounded_channel();
    let beat = |State(sender): State<mpsc::UnboundedSender<()>>| async move {
        let _ = sender.send(());
        StatusCode::OK
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/ping/s3cret-token", listener.local_addr().unwrap());
    let app = Router::new().route("/ping/{id}", get(beat)).with_state(sender);
    tokio::spawn(async move { axum::serve(listener, app).await });
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_HEARTBEAT_URL", &url), ("PUNCTUAL_HEARTBEAT_INTERVAL", "1")]);
    soon(beats.recv()).await.unwrap();
    soon(beats.recv()).await.unwrap();
    // A delivery is given up, and the next beat is left out.
    let refused = Receiver::answering(StatusCode::FORBIDDEN).await;
    let reminder = server.create(now("x", &to("webhook", &refused.url))).await;
    ended(&server, &reminder).await;
    server.wait_for_log("deliveries were given up");
    // And then all is well again.
    while beats.try_recv().is_ok() {}
    soon(beats.recv()).await.unwrap();
    let (_, lines) = server.stop();
    assert!(lines.iter().all(|line| !line.contains("s3cret-token")), "the URL is a secret");
}

#[tokio::test]
async fn the_story_of_a_critical_reminder_that_failed_everywhere() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_RETRY_BASE_DELAY_SECONDS", "critical=1")]);
    let mut admin = Receiver::listen().await;
    let (broken, refused) =
        (Receiver::answering(StatusCode::BAD_GATEWAY).await, Receiver::answering(StatusCode::FORBIDDEN).await);
    let root = json!({ "admin": true, "language": "de", "addresses": to("webhook", &admin.url) });
    assert!(server.call(Method::PUT, "/v1/users/root", Some(root)).await.0.is_success());
    let reminder = server
        .create(json!({
            "user": "alice", "message": "Take your medicine", "priority": "critical", "max_retries": 1,
            "schedule": { "type": "once", "at": "0s" },
            "to": [{ "channel": "webhook", "address": broken.url }, { "channel": "webhook", "address": refused.url }],
        }))
        .await;
    let (_, trouble) = admin.next().await;
    let first = trouble["data"]["message"].as_str().unwrap();
    assert!(first.contains("wurde bisher nicht zugestellt"), "as soon as all have failed once: {first}");
    let (_, alert) = admin.next().await;
    let message = alert["data"]["message"].as_str().unwrap();
    for part in ["wurde nicht zugestellt", "alice", "Take your medicine", "502", "403"] {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    assert!(message.contains("kritische"), "in the admin's language: {message}");
    let run = ended(&server, &reminder).await;
    let statuses: Vec<_> =
        run["attempts"].as_array().unwrap().iter().map(|attempt| attempt["status"].clone()).collect();
    assert_eq!(statuses, ["failed", "refused", "failed"], "alternatives at once, then again what may work");
    let story = home.run(&["show", reminder["id"].as_str().unwrap()]).ok();
    for part in ["failed", "refused", "502", "403", "critical", "alert: made for root"] {
        assert!(story.contains(part), "`{part}` is not in:\n{story}");
    }
    // Nobody can make a reminder that raises no alert.
    let mut silent = now("x", &Value::Null);
    silent["to"] = json!([]);
    silent["created_via"] = json!("alert");
    let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(silent)).await;
    assert_eq!((status, &problem["field"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("created_via")), "{problem}");
}
