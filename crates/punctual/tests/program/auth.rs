//! Keys: who may do what, and who sees whose things.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use punctual_testkit::process::output;
use punctual_testkit::wait::until_some;
use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{Home, Ran, Server, answer};
use crate::openapi::Description;

async fn key(server: &Server, body: Value) -> (String, String) {
    let (status, key) = server.call(Method::POST, "/v1/keys", Some(body)).await;
    assert_eq!(status, 201, "{key}");
    (key["key"].as_str().unwrap().to_owned(), key["id"].as_str().unwrap().to_owned())
}

fn reminder(user: &str) -> Value {
    json!({ "user": user, "message": "hello", "schedule": { "type": "once", "at": "1h" } })
}

#[tokio::test]
async fn without_a_valid_key_nothing_is_told() {
    let home = Home::new();
    let server = home.serve();
    for header in [None, Some("Bearer wrong"), Some("Bearer "), Some("Basic abc"), Some("nonsense")] {
        let mut request = server.request(Method::GET, "/v1/reminders");
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        let response = request.send().await.unwrap();
        assert!(response.headers()["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
        let (status, problem) = answer(response).await;
        assert_eq!((status.as_u16(), problem["status"].as_u64()), (401, Some(401)), "{header:?}");
    }
    for open in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(server.request(Method::GET, open).send().await.unwrap().status(), 200, "{open}");
    }
    let listed = server.request(Method::GET, "/v1/reminders").header("authorization", format!("bearer {}", server.key));
    assert_eq!(listed.send().await.unwrap().status(), 200, "the scheme's case does not matter");
}

#[tokio::test]
async fn scopes_and_bonds_decide_what_a_key_may_do() {
    let home = Home::new();
    let server = home.serve();
    let (reader, _) = key(&server, json!({ "name": "reader", "scopes": ["read"] })).await;
    let (writer, _) = key(&server, json!({ "name": "writer" })).await;
    let (alice, _) = key(&server, json!({ "name": "alice", "user": "alice" })).await;
    let new_key = json!({ "name": "another" });
    let rows: Vec<(Method, &str, Option<Value>, [u16; 3])> = vec![
        (Method::GET, "/v1/reminders", None, [200, 200, 200]),
        (Method::POST, "/v1/reminders", Some(reminder("alice")), [403, 201, 201]),
        (Method::POST, "/v1/reminders", Some(reminder("bob")), [403, 201, 403]),
        (Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": [reminder("bob")] })), [403, 201, 403]),
        (Method::GET, "/v1/reminders?user=bob", None, [200, 200, 403]),
        (Method::GET, "/v1/keys", None, [403, 403, 403]),
        (Method::POST, "/v1/keys", Some(new_key), [403, 403, 403]),
        (Method::DELETE, "/v1/keys/nothing", None, [403, 403, 404]),
        (Method::GET, "/v1/stats", None, [200, 200, 403]),
        (Method::GET, "/v1/audit", None, [200, 200, 200]),
        (Method::GET, "/v1/channels", None, [200, 200, 200]),
        (Method::PUT, "/v1/users/alice", Some(json!({ "timezone": "Europe/Berlin" })), [403, 201, 200]),
        (Method::PUT, "/v1/users/alice", Some(json!({ "admin": true })), [403, 200, 200]),
        (Method::PUT, "/v1/users/bob", Some(json!({})), [403, 201, 404]),
        (Method::GET, "/v1/users/bob", None, [200, 200, 404]),
        (Method::DELETE, "/v1/users/bob", None, [403, 204, 404]),
    ];
    for (method, path, body, expect) in rows {
        for (key, expect) in [&reader, &writer, &alice].into_iter().zip(expect) {
            let (status, answer) = server.call_with(key, method.clone(), path, body.clone()).await;
            assert_eq!(status, expect, "{method} {path}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_key_bound_to_a_user_sees_only_that_users_things() {
    let home = Home::new();
    let server = home.serve();
    let (alice, _) = key(&server, json!({ "name": "alice", "user": "alice" })).await;
    let bobs = server.create(reminder("bob")).await["id"].as_str().unwrap().to_owned();
    let (_, own) = server
        .call_with(
            &alice,
            Method::POST,
            "/v1/reminders",
            Some(json!({ "message": "m", "schedule": { "type": "once", "at": "1h" } })),
        )
        .await;
    assert_eq!(own["user"], "alice", "a bound key means its user");

    for (method, path, body) in [
        (Method::GET, format!("/v1/reminders/{bobs}"), None),
        (Method::PATCH, format!("/v1/reminders/{bobs}"), Some(json!({ "message": "mine now" }))),
        (Method::DELETE, format!("/v1/reminders/{bobs}"), None),
        (Method::POST, format!("/v1/reminders/{bobs}/pause"), None),
        (Method::POST, format!("/v1/reminders/{bobs}/snooze"), Some(json!({ "minutes": 5 }))),
        (Method::POST, format!("/v1/reminders/{bobs}/snooze"), Some(json!({ "until": "5m" }))),
        (Method::POST, format!("/v1/reminders/{bobs}/fire"), None),
        (Method::GET, format!("/v1/reminders/{bobs}/occurrences"), None),
        (Method::GET, format!("/v1/occurrences/{bobs}-1"), None),
    ] {
        let (status, answer) = server.call_with(&alice, method.clone(), &path, body).await;
        assert_eq!(status, 404, "{method} {path}: {answer}");
    }
    for list in ["/v1/reminders".to_owned(), format!("/v1/reminders?match={bobs}")] {
        let (_, page) = server.call_with(&alice, Method::GET, &list, None).await;
        assert!(page["reminders"].as_array().unwrap().iter().all(|reminder| reminder["user"] == "alice"), "{page}");
    }
    assert_eq!(server.get(&format!("/v1/reminders/{bobs}")).await["status"], "active");
    let (_, audit) = server
        .call_with(&alice, Method::GET, &format!("/v1/audit?reminder={}", own["id"].as_str().unwrap()), None)
        .await;
    assert_eq!(audit["entries"][0]["kind"], "reminder.created");
    assert_eq!(audit["entries"][0]["actor"], "key alice");
    let (status, _) = server.call_with(&alice, Method::PUT, "/v1/users/alice", Some(json!({ "admin": true }))).await;
    assert_eq!(status, 403, "nobody makes themselves an admin");
}

#[tokio::test]
async fn a_key_ends_when_it_is_deleted_or_expires() {
    let home = Home::new();
    let server = home.serve();
    let (deleted, id) = key(&server, json!({ "name": "a" })).await;
    let list = || server.call_with(&deleted, Method::GET, "/v1/reminders", None);
    assert_eq!(list().await.0, 200);
    assert_eq!(server.call(Method::DELETE, &format!("/v1/keys/{id}"), None).await.0, 204);
    assert_eq!(list().await.0, 401, "at once, not when the cache forgets");

    let (expiring, _) = key(&server, json!({ "name": "b", "expires_at": "200ms" })).await;
    let problem = until_some("the key has expired", async || {
        let (status, problem) = server.call_with(&expiring, Method::GET, "/v1/channels", None).await;
        (status == 401).then_some(problem)
    })
    .await;
    assert!(problem["detail"].as_str().unwrap().contains("expired"), "{problem}");
    let listed = server.get("/v1/keys").await;
    assert!(!listed.to_string().contains(&expiring[12..]), "a key is shown once: {listed}");
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": " " }), "name"),
        (json!({ "name": "x", "scopes": ["read", "dance"] }), "scopes[1]"),
        (json!({ "name": "x", "scopes": [] }), "scopes"),
        (json!({ "name": "x", "expires_at": "2020-01-01T00:00:00Z" }), "expires_at"),
    ] {
        let (status, problem) = server.call(Method::POST, "/v1/keys", Some(body)).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some(field)), "{problem}");
    }
}

#[tokio::test]
async fn the_admin_key_comes_from_the_environment_or_is_kept_privately() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_API_KEY", "a-long-enough-admin-key")]);
    assert_eq!(server.call(Method::GET, "/v1/keys", None).await.0, 200);
    let (_, log) = server.stop();
    assert!(!log.concat().contains("a-long-enough-admin-key"));
    let server = home.serve();
    assert!(server.key.starts_with("pk_") && server.key.len() == 67);
    use std::os::unix::fs::PermissionsExt;
    for (file, mode) in
        [("", 0o700), ("admin.key", 0o600), ("webhook.secret", 0o600), ("server.json", 0o600), ("punctual.db", 0o600)]
    {
        let path = home.data_dir().join(file);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode, "{file}");
    }
    let kept = server.key.clone();
    server.stop();
    assert_eq!(home.serve().key, kept);
}

#[test]
fn a_short_admin_key_is_refused() {
    let home = Home::new();
    for key in ["x", "fifteen-letters"] {
        let mut command = home.command(["serve", "--listen", "127.0.0.1:0"]);
        let ran = Ran::of(output(command.env("PUNCTUAL_API_KEY", key)));
        assert!(!ran.err.contains(key) || key.len() == 1, "{}", ran.err);
        ran.fails(1, &["PUNCTUAL_API_KEY", "can be guessed", "at least 16"]);
    }
    std::fs::write(home.data_dir().join("admin.key"), "x").unwrap();
    let again = home.run(&["serve", "--listen", "127.0.0.1:0"]);
    again.fails(1, &["admin.key", "at least 16", "remove the file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_in_place_of_a_killed_server_gets_no_key_that_opens_anything() {
    let home = Home::new();
    let server = home.serve();
    let admin_key = server.key.clone();
    home.run(&["list"]).ok();
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    server.signal(Signal::KILL);
    drop(server);
    assert!(home.data_dir().join("server.json").exists(), "a killed server takes nothing back");

    let impostor = Impostor::at(&address).await;
    for args in [&["list"][..], &["--url", &format!("http://{address}"), "list"]] {
        home.run(args).fails(1, &[&address, "is not the server of this data directory", "punctual serve"]);
    }
    let heard = impostor.heard();
    assert!(heard.len() >= 2 && !heard.iter().any(|key| key.contains(&admin_key)), "{heard:?}");
    let server = home.serve();
    for bearer in heard {
        let key = bearer.strip_prefix("Bearer ").unwrap();
        assert_eq!(server.call_with(key, Method::GET, "/v1/keys", None).await.0, 401);
    }
    home.run(&["list"]).ok();
    // Where no server has said that it is there, no key is sent at all.
    server.stop();
    home.run(&["--url", &format!("http://{address}"), "list"]).fails(1, &["asks for a key", "PUNCTUAL_API_KEY"]);
    assert_eq!(impostor.heard(), Vec::<String>::new());
}

/// A program that listens where a server was, and writes down which keys it is given.
struct Impostor(Arc<Mutex<Vec<String>>>);

impl Impostor {
    async fn at(address: &str) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let listen = |State(heard): State<Arc<Mutex<Vec<String>>>>, headers: HeaderMap| async move {
            let key = headers.get("authorization").map(|key| key.to_str().unwrap().to_owned());
            heard.lock().unwrap().extend(key);
            StatusCode::UNAUTHORIZED
        };
        let app = Router::new().fallback(listen).with_state(Arc::clone(&heard));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self(heard)
    }

    /// The keys it was given since it was last asked.
    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[tokio::test]
async fn metrics_can_ask_for_a_key() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_METRICS_KEY", "true")]);
    let mut description = Description::of(&server).await;
    let (status, problem) = answer(server.request(Method::GET, "/metrics").send().await.unwrap()).await;
    assert_eq!(status, 401);
    description.check("/metrics", "get", 401, &problem);
    let allowed = server.request(Method::GET, "/metrics").bearer_auth(&server.key).send().await.unwrap();
    assert_eq!(allowed.status(), 200);
    for (body, expect) in [
        (json!({ "name": "monitor", "scopes": ["read"] }), 200),
        (json!({ "name": "bot", "scopes": ["inbound"] }), 403),
        (json!({ "name": "alice", "user": "alice" }), 403),
        (json!({ "name": "screen", "channels": ["console"] }), 403),
    ] {
        let (key, _) = key(&server, body).await;
        let response = server.request(Method::GET, "/metrics").bearer_auth(&key).send().await.unwrap();
        assert_eq!(response.status(), expect);
        if expect == 403 {
            description.check("/metrics", "get", expect, &answer(response).await.1);
        }
    }
}
