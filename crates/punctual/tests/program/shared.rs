//! Nodes on one PostgreSQL share secrets and keys although nobody set any.

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use punctual_channels::common::buttons::Verb;
use punctual_channels::common::links::Links;
use punctual_channels::webhook;
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::common::{Home, NOWHERE, Server, soon};

/// Requests as they came.
async fn receiver() -> (String, mpsc::UnboundedReceiver<(HeaderMap, Bytes)>) {
    type Sender = mpsc::UnboundedSender<(HeaderMap, Bytes)>;
    let (sender, requests) = mpsc::unbounded_channel();
    let take = |State(sender): State<Sender>, headers: HeaderMap, body: Bytes| async move {
        let _ = sender.send((headers, body));
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(
        async move { axum::serve(listener, Router::new().route("/hook", post(take)).with_state(sender)).await },
    );
    (url, requests)
}

fn file(home: &Home, name: &str) -> String {
    std::fs::read_to_string(home.data_dir().join(name)).unwrap()
}

/// Nodes with nothing in common but the database, and nothing set.
fn nodes<const N: usize>(url: &str) -> ([Home; N], Vec<Server>) {
    let homes = [(); N].map(|()| Home::new());
    let servers = homes.iter().map(|home| home.serve_with(&[("PUNCTUAL_DATABASE_URL", url)])).collect();
    (homes, servers)
}

/// Waits until each of `n` nodes knows of all.
async fn until_divided(servers: &[Server]) {
    for server in servers {
        until("they know each other", async || server.get("/readyz").await["nodes"] == servers.len()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_nodes_webhook_verifies_with_the_one_secret_and_any_node_knows_any_link() {
    let Some(postgres) = Postgres::start() else { return };
    let (homes, servers) = nodes::<3>(&postgres.url(&postgres.new_database(None)));
    until_divided(&servers).await;
    let (hook, mut requests) = receiver().await;
    // Of many users, so that every node sends some of them.
    const COUNT: usize = 24;
    let reminder = |user: usize| {
        json!({ "user": format!("user-{user}"), "message": "m", "schedule": { "type": "once", "at": "1s" },
            "to": [{ "channel": "webhook", "address": hook }], "require_ack": true })
    };
    let batch = json!({ "reminders": (0..COUNT).map(reminder).collect::<Vec<_>>() });
    let (status, answer) = servers[0].call(Method::POST, "/v1/reminders/batch", Some(batch)).await;
    assert_eq!(status, 201, "{answer}");

    let secret: webhook::Secret = file(&homes[0], "webhook.secret").parse().unwrap();
    let (mut n_wrong, mut runs) = (0, Vec::new());
    for _ in 0..COUNT {
        let (headers, body) = soon(requests.recv()).await.unwrap();
        let header = |name: &str| headers[name].to_str().unwrap();
        let signed = secret.sign(header("webhook-id"), header("webhook-timestamp").parse().unwrap(), &body);
        n_wrong += usize::from(signed != header("webhook-signature"));
        let event: Value = serde_json::from_slice(&body).unwrap();
        runs.push(event["data"]["occurrence_id"].as_str().unwrap().to_owned());
    }
    assert_eq!(n_wrong, 0, "of {COUNT} did not verify");

    // A link that one node makes is answered by the others.
    let links = Links::new("", file(&homes[0], "link.secret").as_bytes());
    for (server, run) in servers.iter().zip(&runs) {
        let path = format!("/v1/occurrences/{run}");
        until("it awaits an answer", async || server.get(&path).await["state"] == "awaiting_ack").await;
        let link = links.link(Verb::Ack, run.parse().unwrap());
        let answer =
            soon(server.request(Method::POST, &link).header("accept", "application/json").send()).await.unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
        assert_eq!(server.get(&format!("/v1/occurrences/{run}")).await["state"], "completed");
    }
    for (home, server) in homes.iter().zip(servers) {
        assert_eq!(file(home, "webhook.secret"), file(&homes[0], "webhook.secret"));
        assert_eq!(server.get("/readyz").await.get("disagrees"), None);
        let (_, log) = server.stop();
        for name in ["webhook.secret", "link.secret", "admin.key"] {
            let secret = file(home, name);
            assert!(!log.iter().any(|line| line.contains(secret.trim())), "{name} is in the log");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_nodes_admin_key_works_on_every_node_as_the_same_caller() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let (homes, servers) = nodes::<3>(&postgres.url(&database));
    let get =
        async |server: &Server, key: &str| server.call_with(key, Method::GET, "/v1/reminders", None).await.0.as_u16();
    for home in &homes {
        for server in &servers {
            assert_eq!(get(server, &file(home, "admin.key")).await, 200, "each node's admin key works on all");
        }
    }
    // The same request with the same key is the same request, whichever node it reaches.
    let body = json!({ "message": "m", "schedule": { "type": "once", "at": "1h" } });
    let mut made = Vec::new();
    for server in &servers {
        let request = server.request(Method::POST, "/v1/reminders").bearer_auth(file(&homes[0], "admin.key"));
        let answer = soon(request.header("idempotency-key", "once").json(&body).send()).await.unwrap();
        made.push(soon(answer.json::<Value>()).await.unwrap()["id"].clone());
    }
    assert!(made[0].is_string() && made.iter().all(|id| *id == made[0]), "{made:?}");

    // The database has only the key's hash.
    let admin = file(&homes[0], "admin.key");
    let kept = postgres.sql(&database, "select string_agg(a::text, ' ') from punctual.admin_key a");
    assert!(!kept.contains(admin.trim()), "{kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_deleted_on_one_node_works_on_none_after_a_second() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let env = [("PUNCTUAL_DATABASE_URL", url.as_str()), ("PUNCTUAL_API_KEY", "the-key-of-all-nodes")];
    let homes = [(); 3].map(|()| Home::new());
    let servers: Vec<Server> = homes.iter().map(|home| home.serve_with(&env)).collect();
    let get =
        async |server: &Server, key: &str| server.call_with(key, Method::GET, "/v1/reminders", None).await.0.as_u16();
    let (_, key) = servers[0].call(Method::POST, "/v1/keys", Some(json!({ "name": "all" }))).await;
    let (id, key) = (key["id"].as_str().unwrap(), key["key"].as_str().unwrap());
    for server in &servers {
        assert_eq!(get(server, key).await, 200);
    }
    assert_eq!(servers[0].call(Method::DELETE, &format!("/v1/keys/{id}"), None).await.0, 204);
    let clock = SystemClock::start();
    clock.pause(Duration::from_secs(1)).await;
    for server in &servers {
        assert_eq!(get(server, key).await, 401, "it was deleted a second ago");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_key_that_was_set_and_is_no_more_stops_working() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let home = Home::new();
    let (old, new) = ("the-old-key-of-all-nodes", "the-new-key-of-all-nodes");
    let start = |key: &str| home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url), ("PUNCTUAL_API_KEY", key)]);
    start(old).stop();
    let server = start(new);
    for (key, status) in [(old, 401), (new, 200)] {
        assert_eq!(server.call_with(key, Method::GET, "/v1/keys", None).await.0, status, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_seeds_the_secret_a_setting_wins_and_nodes_that_disagree_say_so() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let url = postgres.url(&database);
    let env = [("PUNCTUAL_DATABASE_URL", url.as_str())];
    let homes = [(); 3].map(|()| Home::new());
    let [first, second, third] = &homes;
    // Two that ran alone before, each with a secret of its own.
    let seed = |home: &Home, secret: &str| {
        std::fs::create_dir_all(home.data_dir()).unwrap();
        std::fs::write(home.data_dir().join("webhook.secret"), secret).unwrap();
    };
    let (one, two) = ("whsec_b25lb25lb25lb25lb25lb25lb25lb25l", "whsec_dHdvdHdvdHdvdHdvdHdvdHdvdHdvdHdv");
    seed(first, one);
    seed(second, two);
    let servers = [first.serve_with(&env), second.serve_with(&env)];
    assert_eq!((file(first, "webhook.secret").as_str(), file(second, "webhook.secret").as_str()), (one, one));
    until_divided(&servers).await;
    let [one_server, two_server] = servers;
    assert_eq!(two_server.get("/readyz").await.get("disagrees"), None, "the second took the first one's");
    let (_, log) = two_server.stop();
    assert!(!log.concat().contains(two), "a secret is in the log");

    // A third that was told something else.
    let set = [env[0], ("PUNCTUAL_WEBHOOK_SECRET", two)];
    let set_server = third.serve_with(&set);
    for server in [&one_server, &set_server] {
        let disagrees = async || server.get("/readyz").await["disagrees"] == json!(["webhook_secret"]);
        until("they disagree", disagrees).await;
        assert_eq!(server.get("/readyz").await["status"], "ready");
    }
    let doctor = third.run(&["doctor", "--database", &url, "--json"]);
    let found: Value = serde_json::from_str(&doctor.out).unwrap();
    let check = found["checks"].as_array().unwrap().iter().find(|check| check["name"] == "secrets").unwrap();
    assert_eq!(check["status"], "wrong", "{check}");
    assert!(check["detail"].as_str().unwrap().contains("webhook_secret"), "{check}");

    // The setting has won: a node that starts now without one takes it; and when all nodes have it, none complains.
    let (_, log) = one_server.stop();
    let said =
        log.iter().filter(|line| line.contains("use different secrets") && line.contains("webhook_secret")).count();
    assert_eq!(said, 1, "{log:#?}");
    let one_server = first.serve_with(&env);
    assert_eq!(file(first, "webhook.secret"), two);
    until("they agree", async || set_server.get("/readyz").await.get("disagrees").is_none()).await;
    assert_eq!(one_server.get("/readyz").await.get("disagrees"), None);

    // A secret that cannot be one is refused before anybody else gets it.
    let mut wrong = third.command(["serve", "--listen", "127.0.0.1:0"]);
    let wrong = punctual_testkit::process::output(wrong.envs([env[0], ("PUNCTUAL_WEBHOOK_SECRET", "hush")]));
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(!wrong.status.success() && said.contains("webhook_secret") && !said.contains("hush"), "{said}");
    assert_eq!(postgres.sql(&database, "select value from punctual.secret where name = 'webhook_secret'"), two);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_say_when_the_answers_of_a_channel_come_in_different_ways() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    // A bot that nobody answers: what counts is the setting.
    let serve = |home: &Home, receive: &str| {
        home.serve_with(&[
            ("PUNCTUAL_DATABASE_URL", url.as_str()),
            ("PUNCTUAL_CHANNEL_CHAT_KIND", "telegram"),
            ("PUNCTUAL_CHANNEL_CHAT_TOKEN", "123456789:AAE-token_of_tests"),
            ("PUNCTUAL_CHANNEL_CHAT_API_URL", NOWHERE),
            ("PUNCTUAL_CHANNEL_CHAT_RECEIVE", receive),
        ])
    };
    let homes = [(); 2].map(|()| Home::new());
    let servers = [serve(&homes[0], "connection"), serve(&homes[1], "off")];
    for server in &servers {
        let disagrees = async || server.get("/readyz").await["disagrees"] == json!(["channels.chat.receive"]);
        until("they disagree", disagrees).await;
    }
    let doctor = homes[1].run(&["doctor", "--database", &url, "--json"]);
    let found: Value = serde_json::from_str(&doctor.out).unwrap();
    let check = found["checks"].as_array().unwrap().iter().find(|check| check["name"] == "answers").unwrap();
    assert_eq!(check["status"], "wrong", "{check}");
    assert!(check["detail"].as_str().unwrap().contains("channels.chat.receive"), "{check}");
    let [first, second] = servers;
    // The second says so at its first beat, before it listens; the first when the second has come.
    first.wait_for_log("take the answers of a channel in different ways");
    let (_, log) = second.stop();
    assert!(!log.iter().any(|line| line.contains("different secrets")), "{log:#?}");
    let second = serve(&homes[1], "connection");
    until("they agree", async || first.get("/readyz").await.get("disagrees").is_none()).await;
    until("they agree", async || second.get("/readyz").await.get("disagrees").is_none()).await;
}
