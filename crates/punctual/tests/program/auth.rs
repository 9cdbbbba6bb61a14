//! Keys: who may do what, and who sees whose things.

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Server, answer};

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
        (Method::GET, "/v1/keys", None, [403, 200, 403]),
        (Method::POST, "/v1/keys", Some(new_key), [403, 201, 403]),
        (Method::DELETE, "/v1/keys/nothing", None, [403, 404, 403]),
        (Method::GET, "/v1/stats", None, [200, 200, 403]),
        (Method::GET, "/v1/audit", None, [200, 200, 403]),
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
        (Method::GET, format!("/v1/audit?reminder={bobs}"), None),
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
    assert_eq!(audit["entries"][0]["action"], "create");
    assert_eq!(audit["entries"][0]["by"], "key alice");
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
    loop {
        let (status, problem) = server.call_with(&expiring, Method::GET, "/v1/channels", None).await;
        if status == 401 {
            assert!(problem["detail"].as_str().unwrap().contains("expired"), "{problem}");
            break;
        }
    }
    let listed = server.get("/v1/keys").await;
    assert!(!listed.to_string().contains("pk_"), "a key is shown once: {listed}");
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": " " }), "name"),
        (json!({ "name": "x", "scopes": ["admin"] }), "scopes[0]"),
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

#[tokio::test]
async fn metrics_can_ask_for_a_key() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_METRICS_KEY", "true")]);
    assert_eq!(server.request(Method::GET, "/metrics").send().await.unwrap().status(), 401);
    let allowed = server.request(Method::GET, "/metrics").bearer_auth(&server.key).send().await.unwrap();
    assert_eq!(allowed.status(), 200);
}
