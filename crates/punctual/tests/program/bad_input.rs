//! Everything a caller can get wrong, and what it is told. Nothing of it changes anything.

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Server, answer, soon};

/// A reminder that is right, with `change` made to it.
fn asked(change: Value) -> Value {
    let mut body = json!({ "message": "hello", "schedule": { "type": "once", "at": "1h" } });
    for (field, value) in change.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

#[track_caller]
fn check_problem(problem: &Value, status: u16, field: Option<&str>, words: &[&str]) {
    assert_eq!(problem["status"], status, "{problem}");
    assert_eq!(problem["field"].as_str(), field, "{problem}");
    assert!(problem["title"].is_string() && problem["type"].is_string(), "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    for word in words {
        assert!(detail.contains(word), "`{word}` is not in: {detail}");
    }
}

async fn n_reminders(server: &Server) -> usize {
    server.get("/v1/reminders?limit=500").await["reminders"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_wrong_field_is_named_with_what_would_be_right() {
    let home = Home::new();
    let server = home.serve();
    let hook =
        |address: &str| json!({ "to": [{ "channel": "console" }, { "channel": "webhook", "address": address }] });
    let schedule = |schedule: Value| json!({ "schedule": schedule });
    let rows: Vec<(Value, &str, &[&str])> = vec![
        (json!({ "timezone": "Europe/Berln" }), "timezone", &["Europe/Berlin"]),
        (json!({ "message": "" }), "message", &["empty"]),
        (json!({ "message": "  \n" }), "message", &["empty"]),
        (json!({ "message": null }), "message", &["missing"]),
        (json!({ "message": 5 }), "message", &["must be text, not a number"]),
        (json!({ "message": "x".repeat(70_000) }), "message", &["70000 bytes", "at most 65536"]),
        (json!({ "schedule": null }), "schedule", &["missing", "\"at\":\"5m\""]),
        (schedule(json!({ "type": "once", "at": "2020-01-01T00:00:00Z" })), "schedule.at", &["in the past"]),
        (schedule(json!({ "type": "once", "at": "5" })), "schedule.at", &["no unit"]),
        (schedule(json!({ "type": "onse", "at": "5m" })), "schedule.type", &["once"]),
        (schedule(json!({ "type": "cron", "expr": "0 8 * *" })), "schedule.expr", &["0 8 * *"]),
        (schedule(json!({ "type": "cron", "expr": "0 25 * * *" })), "schedule.expr", &["25"]),
        (schedule(json!({ "type": "daily", "time": "25:00" })), "schedule.time", &["25:00"]),
        (schedule(json!({ "type": "daily", "tiem": "08:00" })), "schedule.tiem", &["`time`"]),
        (
            schedule(json!({ "type": "weekly", "time": "08:00", "days": ["mon", "funday"] })),
            "schedule.days[1]",
            &["funday"],
        ),
        (schedule(json!({ "type": "interval", "every": "-5m" })), "schedule.every", &["negative"]),
        (json!({ "to": [{ "channel": "webhok", "address": "x" }] }), "to[0].channel", &["webhok", "webhook"]),
        (hook("not a url"), "to[1].address", &["https://example.org"]),
        (json!({ "to": [{ "address": "x" }] }), "to[0].channel", &["missing"]),
        (json!({ "to": [{ "channel": "console", "adress": "x" }] }), "to[0].adress", &["`address`"]),
        (json!({ "to": "console" }), "to", &["must be a list"]),
        (json!({ "priority": "urgent" }), "priority", &["low, normal, high, critical"]),
        (json!({ "ack_timeout": 10, "require_ack": true }), "ack_timeout", &["no unit", "10m"]),
        (json!({ "ack_timeout": "0m", "require_ack": false }), "ack_timeout", &["between 1s and 366d"]),
        (json!({ "ack_timeout": "0" }), "ack_timeout", &["no unit; write 5m"]),
        (json!({ "max_ack_reminders": 99_999 }), "max_ack_reminders", &["at most 1000"]),
        (json!({ "max_retries": -1 }), "max_retries", &["from 0 up"]),
        (json!({ "misfire": { "policy": "newest" } }), "misfire.policy", &["latest, all, skip"]),
        (json!({ "misfire": { "polcy": "all" } }), "misfire.polcy", &["`policy`"]),
        (json!({ "metadata": [1] }), "metadata", &["must be an object"]),
        (json!({ "mesage": "x" }), "mesage", &["did you mean `message`"]),
        (json!({ "status": "active" }), "status", &["set by the server"]),
        (json!({ "user": "" }), "user", &["empty"]),
    ];
    for (change, field, words) in rows {
        let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(asked(change))).await;
        assert_eq!(status, 422, "{problem}");
        check_problem(&problem, 422, Some(field), words);
        assert_eq!(problem["errors"][0]["field"], field);
    }
    assert_eq!(n_reminders(&server).await, 0);
}

#[tokio::test]
async fn a_bad_item_names_its_place_in_the_batch_and_nothing_is_written() {
    let home = Home::new();
    let server = home.serve();
    let with = |index: usize, bad: Value| {
        let mut items = vec![asked(json!({})); 20];
        items[index] = bad;
        Some(json!({ "reminders": items }))
    };
    let past = asked(json!({ "schedule": { "type": "once", "at": "2020-01-01T00:00:00Z" } }));
    let unknown = asked(json!({ "to": [{ "channel": "pigeon" }] }));
    for (index, bad, field) in [
        (17, past, "reminders[17].schedule.at"),
        (3, unknown, "reminders[3].to[0].channel"),
        (0, json!("hello"), "reminders[0]"),
    ] {
        let (status, problem) = server.call(Method::POST, "/v1/reminders/batch", with(index, bad)).await;
        assert_eq!(status, 422, "{problem}");
        check_problem(&problem, 422, Some(field), &["nothing was written"]);
        assert_eq!(problem["index"], index);
    }
    for (body, field) in [
        (json!({}), "reminders"),
        (json!({ "reminders": [] }), "reminders"),
        (json!({ "reminders": vec![json!(1); 10_001] }), "reminders"),
        (json!([]), "body"),
    ] {
        let (_, problem) = server.call(Method::POST, "/v1/reminders/batch", Some(body)).await;
        check_problem(&problem, 422, Some(field), &[]);
    }
    assert_eq!(n_reminders(&server).await, 0);

    let (status, created) = server.call(Method::POST, "/v1/reminders/batch", with(0, asked(json!({})))).await;
    assert_eq!((status.as_u16(), created["created"].as_u64()), (201, Some(20)));
    assert_eq!(n_reminders(&server).await, 20);
}

#[tokio::test]
async fn a_request_that_cannot_be_read_says_where_and_why() {
    let home = Home::new();
    let server = home.serve();
    let post = |body: String, kind: &str| {
        let request = server.request(Method::POST, "/v1/reminders").bearer_auth(&server.key);
        let request = request.header("content-type", kind).body(body);
        async move {
            let response = soon(request.send()).await.unwrap();
            assert_eq!(response.headers()["content-type"], "application/problem+json");
            answer(response).await.1
        }
    };
    let json = "application/json";
    check_problem(&post("{\"message\":\n  nope}".into(), json).await, 400, None, &["line 2, column", "not valid JSON"]);
    check_problem(&post("{\"message\": \"a\"".into(), json).await, 400, None, &["line 1", "EOF"]);
    check_problem(&post("[".repeat(100_000), json).await, 400, None, &["recursion limit"]);
    check_problem(&post(String::new(), json).await, 400, None, &["empty"]);
    check_problem(&post("[1]".into(), json).await, 422, Some("body"), &["must be an object, not a list"]);
    check_problem(&post("a=b".into(), "application/x-www-form-urlencoded").await, 415, None, &["application/json"]);
    let ten_megabytes = asked(json!({ "message": "x".repeat(10 * 1024 * 1024) })).to_string();
    check_problem(&post(ten_megabytes, json).await, 413, None, &["larger than 1 MB"]);
    assert_eq!(n_reminders(&server).await, 0);
}

#[tokio::test]
async fn a_thing_that_is_not_there_is_not_found() {
    let home = Home::new();
    let server = home.serve();
    let id = "0198c0de-0000-7000-8000-000000000000";
    for (method, path, status, words) in [
        (Method::GET, "/v2".to_owned(), 404, "/openapi.json"),
        (Method::GET, "/v1/reminder".to_owned(), 404, "nothing at /v1/reminder"),
        (Method::PUT, "/v1/reminders".to_owned(), 405, "PUT is not possible"),
        (Method::GET, format!("/v1/reminders/{id}"), 404, "no such reminder"),
        (Method::DELETE, format!("/v1/reminders/{id}"), 404, "no such reminder"),
        (Method::POST, format!("/v1/reminders/{id}/ack"), 404, "no such reminder"),
        (Method::POST, format!("/v1/reminders/{id}/explode"), 404, "known are ack"),
        (Method::GET, "/v1/reminders/nonsense".to_owned(), 404, "ids look like"),
        (Method::GET, format!("/v1/occurrences/{id}-1"), 404, "no such occurrence"),
        (Method::GET, "/v1/occurrences/nonsense".to_owned(), 404, "not an id"),
        (Method::GET, "/v1/users/nobody".to_owned(), 404, "no such user"),
        (Method::GET, "/v1/users/%ff".to_owned(), 400, "the path cannot be read"),
        (Method::DELETE, "/v1/keys/nothing".to_owned(), 404, "no such key"),
        (Method::GET, "/v1/reminders?stauts=active".to_owned(), 400, "did you mean `status`"),
        (Method::GET, "/v1/reminders?limit=501".to_owned(), 400, "1 to 500"),
        (Method::GET, "/v1/reminders?cursor=x".to_owned(), 400, "next_cursor"),
        (Method::GET, "/v1/reminders?status=activ".to_owned(), 422, "active"),
        (Method::GET, "/v1/reminders?from=soon".to_owned(), 422, "from:"),
    ] {
        let (_, problem) = server.call(method, &path, None).await;
        assert_eq!(problem["status"], status, "{path}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{path}: {problem}");
    }
    let wrong_method = server.request(Method::PUT, "/v1/reminders").send().await.unwrap();
    assert_eq!(wrong_method.headers()["allow"], "GET,HEAD,POST");
}

#[tokio::test]
async fn a_change_that_is_wrong_changes_nothing() {
    let home = Home::new();
    let server = home.serve();
    let before = server.create(asked(json!({}))).await;
    let path = format!("/v1/reminders/{}", before["id"].as_str().unwrap());
    for (patch, field) in [
        (json!({}), "body"),
        (json!({ "mesage": "x" }), "mesage"),
        (json!({ "message": null }), "message"),
        (json!({ "user": "bob" }), "user"),
        (json!({ "message": "ok", "timezone": "Mars/Base" }), "timezone"),
        (json!({ "to": [{ "channel": "pigeon" }] }), "to[0].channel"),
        (json!({ "schedule": { "type": "once", "at": "2020-01-01T00:00:00Z" } }), "schedule.at"),
    ] {
        let (status, problem) = server.call(Method::PATCH, &path, Some(patch)).await;
        assert_eq!(status, 422, "{problem}");
        check_problem(&problem, 422, Some(field), &[]);
    }
    for (body, field) in [
        (json!({ "minutes": 0 }), "minutes"),
        (json!({ "minutes": 5, "until": "5m" }), "until"),
        (json!({ "until": "2020-01-01T00:00:00Z" }), "until"),
        (json!({ "hours": 5 }), "hours"),
    ] {
        let (_, problem) = server.call(Method::POST, &format!("{path}/snooze"), Some(body)).await;
        check_problem(&problem, 422, Some(field), &[]);
    }
    assert_eq!(server.get(&path).await, before);
}

#[tokio::test]
async fn a_private_address_is_refused_unless_allowed() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_WEBHOOK_ALLOW_PRIVATE", "false")]);
    let body = asked(json!({ "to": [{ "channel": "webhook", "address": "http://127.0.0.1:9/hook" }] }));
    let (_, problem) = server.call(Method::POST, "/v1/reminders", Some(body)).await;
    check_problem(&problem, 422, Some("to[0].address"), &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nul_character_is_named_and_refused_on_every_database() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let with_nul = "a\0b";
        let hook = json!({ "channel": "webhook", "address": format!("http://h/{with_nul}") });
        let rows: Vec<(Method, &str, Option<Value>, &str)> = vec![
            (Method::GET, "/v1/users/a%00b", None, "path"),
            (Method::PUT, "/v1/users/a%00b", Some(json!({})), "path"),
            (Method::DELETE, "/v1/users/a%00b", None, "path"),
            (Method::DELETE, "/v1/keys/a%00b", None, "path"),
            (Method::GET, "/v1/occurrences/a%00b", None, "path"),
            (Method::POST, "/v1/channels/a%00b/test", Some(json!({})), "path"),
            (Method::GET, "/v1/reminders?user=a%00b", None, "query"),
            (Method::GET, "/v1/reminders?match=a%00b", None, "query"),
            (Method::GET, "/v1/users?cursor=a%00b", None, "query"),
            (Method::GET, "/v1/import/sends?source=a%00b", None, "query"),
            (Method::POST, "/v1/keys", Some(json!({ "name": with_nul })), "name"),
            (Method::POST, "/v1/keys", Some(json!({ "name": "n", "user": with_nul })), "user"),
            (Method::PUT, "/v1/users/ann", Some(json!({ "language": with_nul })), "language"),
            (Method::PUT, "/v1/users/ann", Some(json!({ "addresses": [hook] })), "addresses[0].address"),
            (Method::POST, "/v1/reminders", Some(asked(json!({ "message": with_nul }))), "message"),
            (Method::POST, "/v1/reminders", Some(asked(json!({ "user": with_nul }))), "user"),
            (Method::POST, "/v1/reminders", Some(asked(json!({ "to": [hook] }))), "to[0].address"),
            (Method::POST, "/v1/channels/webhook/revive", Some(json!({ "address": with_nul })), "address"),
            (Method::POST, "/v1/parse", Some(json!({ "text": "in 5 minutes", "user": with_nul })), "user"),
        ];
        for (method, path, body, field) in rows {
            let (status, problem) = server.call(method.clone(), path, body).await;
            assert_eq!(status, 422, "{method} {path}: {problem}");
            check_problem(&problem, 422, Some(field), &["NUL"]);
        }
        assert_eq!(n_reminders(&server).await, 0);
    }
}

/// Four kilobytes that took a core for seconds: every COUNT has to be counted out.
fn heavy() -> Value {
    let rules: String = (1..=50).map(|n| format!("\nRRULE:FREQ=DAILY;INTERVAL={n};COUNT=100000")).collect();
    json!({ "type": "rrule", "ical": format!("DTSTART:00010101T080000{rules}") })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_takes_too_long_to_work_out_is_refused_at_every_door_by_the_name_of_its_part() {
    let home = Home::new();
    let server = home.serve();
    let with = |schedule: Value| json!({ "user": "ann", "message": "tea", "schedule": schedule });
    let light = with(json!({ "type": "daily", "time": "08:00" }));
    let made = server.create(light.clone()).await;
    let one = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
    // A batch shares what one request may take: the first is accepted, and a later one is not.
    let counted = json!({ "type": "rrule", "ical": "DTSTART:20200101T080000\nRRULE:FREQ=DAILY;COUNT=100000" });
    let mut batch = vec![light.clone(); 10];
    batch.extend(vec![with(counted); 44]);
    for (method, path, body, field) in [
        (Method::POST, "/v1/reminders", with(heavy()), "schedule.ical"),
        (
            Method::POST,
            "/v1/reminders/batch",
            json!({ "reminders": [light, with(heavy())] }),
            "reminders[1].schedule.ical",
        ),
        (Method::POST, "/v1/reminders/batch", json!({ "reminders": batch }), "reminders[11].schedule.ical"),
        (Method::PATCH, &one, json!({ "schedule": heavy() }), "schedule.ical"),
    ] {
        let (status, problem) = server.call(method, path, Some(body)).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some(field)), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("takes too long to work out"), "{problem}");
    }
    // In an import it is one row's matter.
    let series = with(json!({ "type": "rrule", "ical": "DTSTART:20300101T080000\nRRULE:FREQ=DAILY;COUNT=3" }));
    let items = json!([{ "key": "1", "reminder": with(heavy()) }, { "key": "2", "reminder": series }]);
    let (status, done) = server.call(Method::POST, "/v1/import", Some(json!({ "source": "s", "items": items }))).await;
    assert_eq!((status.as_u16(), done["items"][0]["field"].as_str()), (200, Some("schedule.ical")), "{done}");
    let listed = server.get("/v1/reminders?user=ann").await;
    let kinds = listed["reminders"].as_array().unwrap().iter().map(|one| one["schedule"]["type"].as_str().unwrap());
    assert_eq!(kinds.collect::<std::collections::BTreeSet<_>>(), ["daily", "smart"].into(), "{listed}");
}

#[tokio::test]
async fn a_query_parameter_that_a_change_does_not_have_is_refused() {
    let home = Home::new();
    let server = home.serve();
    let made = server.create(json!({ "text": "tea in an hour" })).await;
    let path = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
    for (method, path, parameter) in [
        (Method::POST, "/v1/reminders?usr=alice".to_owned(), "usr"),
        (Method::POST, "/v1/reminders/batch?dry_run=true".to_owned(), "dry_run"),
        (Method::PATCH, format!("{path}?notify=1"), "notify"),
        (Method::POST, format!("{path}/pause?until=noon"), "until"),
        (Method::PUT, "/v1/users/alice?merge=1".to_owned(), "merge"),
        (Method::DELETE, format!("{path}?force=1"), "force"),
    ] {
        let (status, problem) = server.call(method, &path, Some(json!({ "text": "tea in an hour" }))).await;
        assert_eq!((status.as_u16(), &problem["code"]), (400, &json!("bad_request")), "{path}: {problem}");
        assert_eq!(problem["field"], parameter, "{path}: {problem}");
    }
    assert_eq!(server.get("/v1/reminders").await["reminders"].as_array().unwrap().len(), 1, "nothing was made");
    let (status, _) = server.call(Method::POST, &format!("{path}/pause?user=me"), None).await;
    assert_eq!(status, 200);
}
