//! Keys: prefixes, rotation, the last use, rates, and what one key can do to another.

use jiff::Timestamp;
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Server, answer, soon};

async fn made(server: &Server, body: Value) -> (String, Value) {
    let (status, key) = server.call(Method::POST, "/v1/keys", Some(body)).await;
    assert_eq!(status, 201, "{key}");
    (key["key"].as_str().unwrap().to_owned(), key)
}

async fn works(server: &Server, key: &str) -> u16 {
    server.call_with(key, Method::GET, "/v1/reminders", None).await.0.as_u16()
}

#[tokio::test]
async fn a_key_is_recognised_by_its_prefix_and_only_its_hash_is_kept() {
    let home = Home::new();
    let server = home.serve();
    let (secret, key) = made(
        &server,
        json!({ "name": "bot", "user": "ann", "channels": ["console"], "scopes": ["write"], "rate": "30/min", "expires_at": "90d" }),
    )
    .await;
    let prefix = key["prefix"].as_str().unwrap();
    assert!(secret.starts_with(&format!("{prefix}_")) && prefix.starts_with("pk_") && prefix.len() == 11, "{prefix}");
    let id = key["id"].as_str().unwrap();
    let shown = server.get(&format!("/v1/keys/{id}")).await;
    assert_eq!(server.get("/v1/keys").await["keys"], json!([shown]));
    for (field, expect) in [
        ("prefix", json!(prefix)),
        ("user", json!("ann")),
        ("channels", json!(["console"])),
        ("scopes", json!(["read", "write"])),
        ("rate", json!("30/60s")),
        ("last_used_at", Value::Null),
        ("replaced", Value::Null),
    ] {
        assert_eq!(shown[field], expect, "{field}");
    }
    assert!(!shown.to_string().contains(&secret[12..]), "the key is shown once");
    let table = home.run(&["keys"]).ok();
    assert!(table.contains(prefix) && table.contains("ann by console") && table.contains("30/60s"), "{table}");
    server.stop();
    let files = std::fs::read_dir(home.data_dir()).unwrap().map(|file| file.unwrap().path());
    for file in files.filter(|file| file.is_file()) {
        let bytes = std::fs::read(file).unwrap();
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!has(&secret) && !has(&secret[12..]));
    }
}

#[tokio::test]
async fn a_rotated_key_works_with_both_secrets_for_a_while() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let (first, key) = made(&server, json!({ "name": "bot", "user": "ann" })).await;
        let path = format!("/v1/keys/{}/rotate", key["id"].as_str().unwrap());
        let rotate = async |body: Option<Value>| {
            let (status, key) = server.call(Method::POST, &path, body).await;
            assert_eq!(status, 200, "{key}");
            (key["key"].as_str().unwrap().to_owned(), key)
        };
        let (second, rotated) = rotate(Some(json!({ "overlap": "1h" }))).await;
        assert_eq!((&rotated["id"], &rotated["user"]), (&key["id"], &key["user"]));
        assert_eq!((works(&server, &first).await, works(&server, &second).await), (200, 200));
        assert_eq!(rotated["replaced"]["prefix"], key["prefix"]);
        let until: Timestamp = rotated["replaced"]["until"].as_str().unwrap().parse().unwrap();
        let made: Timestamp = key["created_at"].as_str().unwrap().parse().unwrap();
        assert!((3600..3700).contains(&until.duration_since(made).as_secs()), "{rotated}");

        // A third secret ends the first one; without an overlap the second ends as well.
        let (third, _) = rotate(None).await;
        assert_eq!([works(&server, &first).await, works(&server, &second).await], [401, 200]);
        let (fourth, alone) = rotate(Some(json!({ "overlap": "0s" }))).await;
        assert_eq!([works(&server, &second).await, works(&server, &third).await], [401, 401]);
        assert_eq!((works(&server, &fourth).await, &alone["replaced"]), (200, &Value::Null));

        let (fifth, _) = rotate(Some(json!({ "overlap": "200ms" }))).await;
        punctual_testkit::wait::until("the old secret has ended", async || works(&server, &fourth).await == 401).await;
        assert_eq!(works(&server, &fifth).await, 200);
        let (_, problem) = server.call_with(&fourth, Method::GET, "/v1/reminders", None).await;
        assert!(problem["detail"].as_str().unwrap().contains("expired"), "{problem}");
        let kinds = server.get("/v1/audit?kind=key.rotated").await;
        assert_eq!(kinds["entries"].as_array().unwrap().len(), 4);

        for overlap in ["31d", "soon", ""] {
            let (status, problem) = server.call(Method::POST, &path, Some(json!({ "overlap": overlap }))).await;
            assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("overlap")), "{problem}");
        }
        let nobody = server.call(Method::POST, "/v1/keys/nothing/rotate", None).await;
        assert_eq!(nobody.0, 404);
    }
}

#[tokio::test]
async fn a_repeated_rotation_shows_no_secret_again() {
    let home = Home::new();
    let server = home.serve();
    let (_, key) = made(&server, json!({ "name": "bot" })).await;
    let rotate = async || {
        let path = format!("/v1/keys/{}/rotate", key["id"].as_str().unwrap());
        let request = server.request(Method::POST, &path).bearer_auth(&server.key).header("idempotency-key", "once");
        answer(soon(request.send()).await.unwrap()).await
    };
    let (status, rotated) = rotate().await;
    assert_eq!(status, 200, "{rotated}");
    let (status, problem) = rotate().await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (409, Some("shown_once")), "{problem}");
    assert_eq!(works(&server, rotated["key"].as_str().unwrap()).await, 200);
}

#[tokio::test]
async fn a_stream_that_the_old_secret_opened_ends_with_it() {
    let home = Home::new();
    let server = home.serve();
    let (secret, key) = made(&server, json!({ "name": "bot" })).await;
    let mut stream = soon(server.request(Method::GET, "/v1/stream").bearer_auth(&secret).send()).await.unwrap();
    let path = format!("/v1/keys/{}/rotate", key["id"].as_str().unwrap());
    assert_eq!(server.call(Method::POST, &path, Some(json!({ "overlap": "0s" }))).await.0, 200);
    let mut text = String::new();
    while let Some(chunk) = soon(stream.chunk()).await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(text.contains("event: end") && text.contains("key_expired"), "{text}");
}

#[tokio::test]
async fn the_last_use_of_a_key_is_shown_and_survives_a_restart() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let (secret, key) = made(&server, json!({ "name": "bot" })).await;
        let (_, unused) = made(&server, json!({ "name": "unused" })).await;
        let path = |key: &Value| format!("/v1/keys/{}", key["id"].as_str().unwrap());
        assert_eq!(works(&server, &secret).await, 200);
        let used_at = server.get(&path(&key)).await["last_used_at"].clone();
        assert!(used_at.is_string(), "it is shown before it is written");
        server.stop();
        let server = home.serve_with(&kept.env());
        assert_eq!(server.get(&path(&key)).await["last_used_at"], used_at);
        assert_eq!(server.get(&path(&unused)).await["last_used_at"], Value::Null);
    }
}

#[tokio::test]
async fn many_uses_of_a_key_are_one_write_in_a_minute() {
    let home = Home::new();
    let server = home.serve();
    let (secret, key) = made(&server, json!({ "name": "bot" })).await;
    let path = format!("/v1/keys/{}", key["id"].as_str().unwrap());
    let settings = async || server.call_with(&secret, Method::GET, "/v1/settings", None).await.0;
    assert_eq!(settings().await, 200);
    // The first use is written beside the request.
    let db = || rusqlite::Connection::open(home.data_dir().join("punctual.db")).unwrap();
    let written = || -> Option<i64> { db().query_row("select used_at from api_key", [], |row| row.get(0)).unwrap() };
    until("the use is written", async || written().is_some()).await;
    let first = written();
    for _ in 0..50 {
        assert_eq!(settings().await, 200);
    }
    let shown: Timestamp = server.get(&path).await["last_used_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(written(), first, "fifty uses later nothing more is written");
    assert!(Some(shown.as_microsecond()) > first, "and yet it is known");
}

#[tokio::test]
async fn a_key_that_asks_too_often_is_told_when_to_come_again() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_KEY_RATE", "5/h")]);
    let (slow, _) = made(&server, json!({ "name": "slow", "rate": "2/h" })).await;
    let (plain, _) = made(&server, json!({ "name": "plain" })).await;
    let post = async |key: &str, n: usize| {
        let body = json!({ "message": "m", "schedule": { "type": "once", "at": "1h" } });
        let request = server.request(Method::POST, "/v1/reminders").bearer_auth(key).json(&body);
        soon(request.header("idempotency-key", format!("{key}{n}")).send()).await.unwrap()
    };
    for n in 0..2 {
        assert_eq!(post(&slow, n).await.status(), 201, "a request counts once, also with an idempotency key");
    }
    let refused = post(&slow, 2).await;
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1700..=1800).contains(&wait), "{wait}");
    let (status, problem) = answer(refused).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (429, Some("rate_limited")), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("2 times in 1h"), "{problem}");
    assert_eq!(server.get("/v1/reminders").await["reminders"].as_array().unwrap().len(), 2, "nothing was changed");

    for _ in 0..5 {
        assert_eq!(works(&server, &plain).await, 200, "one key's requests do not count for another");
    }
    assert_eq!(works(&server, &plain).await, 429, "the setting is for keys without a rate of their own");
    for _ in 0..10 {
        assert_eq!(works(&server, &server.key).await, 200, "the admin's own key is never kept waiting");
    }
    let (status, problem) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "x", "rate": "often" }))).await;
    assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("rate")), "{problem}");
}

#[tokio::test]
async fn a_key_for_keys_gets_hold_of_none_that_may_do_more() {
    let home = Home::new();
    let server = home.serve();
    let (keeper, _) = made(&server, json!({ "name": "keeper", "scopes": ["keys", "read"] })).await;
    let (_, admin) = made(&server, json!({ "name": "boss", "scopes": ["admin"] })).await;
    let (_, reader) = made(&server, json!({ "name": "reader", "scopes": ["read"] })).await;
    let call = async |method: Method, path: &str, body: Option<Value>| {
        let (status, answer) = server.call_with(&keeper, method, path, body).await;
        (status.as_u16(), answer)
    };
    for (scopes, expect) in [
        (json!(["read"]), 201),
        (json!(["keys"]), 201),
        (json!(["write"]), 403),
        (json!(["read", "inbound"]), 403),
        (json!(["admin"]), 403),
    ] {
        let (status, problem) = call(Method::POST, "/v1/keys", Some(json!({ "name": "new", "scopes": scopes }))).await;
        assert_eq!(status, expect, "{scopes}: {problem}");
    }
    let (status, problem) = call(Method::POST, "/v1/keys", Some(json!({ "name": "new" }))).await;
    assert_eq!((status, problem["field"].as_str()), (403, Some("scopes")), "unsaid it would be read and write");
    let path = |key: &Value| format!("/v1/keys/{}", key["id"].as_str().unwrap());
    assert_eq!(call(Method::POST, &format!("{}/rotate", path(&admin)), None).await.0, 403);
    assert_eq!(call(Method::DELETE, &path(&admin), None).await.0, 403);
    assert_eq!(call(Method::GET, &path(&admin), None).await.0, 200);
    assert_eq!(call(Method::POST, &format!("{}/rotate", path(&reader)), None).await.0, 200);
    assert_eq!(call(Method::DELETE, &path(&reader), None).await.0, 204);
    assert_eq!(call(Method::POST, "/v1/reminders", Some(json!({}))).await.0, 403);
    for body in [
        json!({ "name": "x", "user": "ann", "scopes": ["keys"] }),
        json!({ "name": "x", "channels": ["console"], "scopes": ["admin"] }),
    ] {
        let (status, problem) = server.call(Method::POST, "/v1/keys", Some(body)).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("scopes")), "{problem}");
    }
}

#[tokio::test]
async fn a_key_that_ends_or_has_a_rate_gets_hold_of_none_that_has_more() {
    let home = Home::new();
    let server = home.serve();
    let bounded = json!({ "name": "keeper", "scopes": ["keys", "read"], "expires_at": "2d", "rate": "60/min" });
    let (keeper, own) = made(&server, bounded).await;
    let (_, free) = made(&server, json!({ "name": "free", "scopes": ["read"] })).await;
    let call = async |method: Method, path: &str, body: Option<Value>| {
        let (status, answer) = server.call_with(&keeper, method, path, body).await;
        (status.as_u16(), answer)
    };
    let new = |mut fields: Value| {
        fields["name"] = "new".into();
        fields["scopes"] = json!(["read"]);
        Some(fields)
    };
    // What is left out is the key's own.
    let (status, key) = call(Method::POST, "/v1/keys", new(json!({}))).await;
    assert_eq!((status, &key["expires_at"], &key["rate"]), (201, &own["expires_at"], &own["rate"]), "{key}");
    let (status, key) = call(Method::POST, "/v1/keys", new(json!({ "expires_at": "1h", "rate": "1/s" }))).await;
    assert_eq!((status, &key["rate"]), (201, &json!("1/1s")), "less of each: {key}");
    for (field, fields) in [
        ("expires_at", json!({ "expires_at": "3d" })),
        ("rate", json!({ "rate": "61/min" })),
        // As many in an hour, and more of them at once.
        ("rate", json!({ "rate": "3600/h" })),
        ("rate", json!({ "rate": "2/s" })),
    ] {
        let (status, problem) = call(Method::POST, "/v1/keys", new(fields.clone())).await;
        assert_eq!((status, problem["field"].as_str()), (403, Some(field)), "{fields}: {problem}");
    }
    let rotate = |key: &Value| format!("/v1/keys/{}/rotate", key["id"].as_str().unwrap());
    let (status, problem) = call(Method::POST, &rotate(&free), None).await;
    assert_eq!((status, problem["field"].as_str()), (403, Some("expires_at")), "{problem}");
    assert_eq!(call(Method::POST, &rotate(&key), None).await.0, 200);
    assert_eq!(call(Method::POST, &rotate(&own), None).await.0, 200, "its own as well");
    // The secret from before ends within the hour, and gets hold of none that goes on.
    assert_eq!(call(Method::POST, &rotate(&own), None).await.0, 403);
}

/// A database from before there were scopes has keys with `write` alone.
#[tokio::test]
async fn keys_from_before_scopes_keep_their_meaning() {
    let home = Home::new();
    let server = home.serve();
    let mut keys = Vec::new();
    for body in [
        json!({ "name": "all" }),
        json!({ "name": "reader", "scopes": ["read"] }),
        json!({ "name": "ann", "user": "ann" }),
    ] {
        keys.push(made(&server, body).await.0);
    }
    server.stop();
    let db = rusqlite::Connection::open(home.data_dir().join("punctual.db")).unwrap();
    db.execute_batch("update api_key set scopes = null, prefix = null").unwrap();
    drop(db);
    let server = home.serve();
    let scopes: Vec<Value> =
        server.get("/v1/keys").await["keys"].as_array().unwrap().iter().map(|key| key["scopes"].clone()).collect();
    assert_eq!(scopes, [json!(["admin"]), json!(["read"]), json!(["read", "write"])]);
    let expect = [[200, 200, 201], [200, 403, 403], [200, 403, 201]];
    let body = json!({ "message": "m", "schedule": { "type": "once", "at": "1h" } });
    for (key, expect) in keys.iter().zip(expect) {
        let status = async |method: Method, path: &str, body: Option<Value>| {
            server.call_with(key, method, path, body).await.0.as_u16()
        };
        let seen = [
            status(Method::GET, "/v1/reminders", None).await,
            status(Method::GET, "/v1/keys", None).await,
            status(Method::POST, "/v1/reminders", Some(body.clone())).await,
        ];
        assert_eq!(seen, expect);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_made_and_rotated_from_the_command_line() {
    let home = Home::new();
    let server = home.serve();
    let first =
        home.run(&["keys", "create", "screen", "--channel", "console", "--scope", "read,write", "--rate", "10/s"]);
    assert!(first.err.contains("not shown again"), "{}", first.err);
    let first = first.ok().trim().to_owned();
    assert_eq!(works(&server, &first).await, 200);
    let listed = home.run(&["keys", "list", "--json"]).json();
    let key = &listed["keys"][0];
    assert_eq!((&key["channels"], &key["rate"]), (&json!(["console"]), &json!("10/1s")));
    let rotated = home.run(&["keys", "rotate", key["id"].as_str().unwrap(), "--overlap", "0s"]);
    assert!(rotated.err.contains("works no more"), "{}", rotated.err);
    let second = rotated.ok().trim().to_owned();
    assert_eq!((works(&server, &first).await, works(&server, &second).await), (401, 200));
    let again = home.run(&["keys", "rotate", key["id"].as_str().unwrap()]);
    assert!(again.err.contains("the old one works until"), "{}", again.err);
    home.run(&["keys", "create", "x", "--scope", "dance"]).fails(1, &["scopes[0]", "dance", "read, write"]);
    home.run(&["keys", "create", "x", "--scope", "read", "--read-only"]).code.filter(|code| *code == 2).unwrap();
}
