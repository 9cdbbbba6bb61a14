//! A body with several mistakes is told of all of them, and the first stays where it was.

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Server};

/// Sends a body with mistakes; checks what is said of each field, in order.
async fn check(server: &Server, method: Method, path: &str, body: Value, expect: &[(&str, &str)]) {
    let (status, problem) = server.call(method, path, Some(body)).await;
    assert_eq!(status, 422, "{problem:#}");
    let errors = problem["errors"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found: Vec<(String, String)> = errors.iter().map(|one| (text(&one["field"]), text(&one["code"]))).collect();
    let expect: Vec<(String, String)> =
        expect.iter().map(|(field, code)| ((*field).to_owned(), (*code).to_owned())).collect();
    assert_eq!(found, expect, "{problem:#}");
    assert_eq!(problem["field"], errors[0]["field"], "{problem:#}");
    assert!(problem["detail"].as_str().unwrap().contains(errors[0]["detail"].as_str().unwrap()), "{problem:#}");
}

#[tokio::test]
async fn a_reminder_is_told_everything_that_is_wrong_with_it() {
    let home = Home::new();
    let server = home.serve();
    let reminder = json!({
        "message": 5, "schedule": { "type": "daily", "time": "25:00" }, "priority": "urgent", "timezone": "Mars/Olympus", "tags": ["a,b", "c"],
        "to": [{ "channel": "pigeon", "address": "x" }, { "channel": "webhook", "address": "no" }], "max_retries": 5000, "id": "x", "colour": "red",
        "ack_timeout": "soon",
    });
    let expect = [
        ("id", "read_only"),
        ("colour", "unknown_field"),
        ("message", "wrong_type"),
        ("timezone", "invalid"),
        ("schedule.time", "invalid"),
        ("priority", "invalid"),
        ("ack_timeout", "invalid"),
        ("tags[0]", "invalid"),
        ("max_retries", "invalid"),
        ("to[0].channel", "invalid"),
        ("to[1].address", "invalid"),
    ];
    check(&server, Method::POST, "/v1/reminders", reminder.clone(), &expect).await;
    check(&server, Method::POST, "/v1/reminders", json!({}), &[("message", "missing"), ("schedule", "missing")]).await;
    // A sentence that says no time, and another mistake beside it.
    let (_, problem) = server
        .call(Method::POST, "/v1/reminders", Some(json!({ "text": "water the plants", "timezone": "Mars/Olympus" })))
        .await;
    assert_eq!(problem["code"], "not_understood", "{problem}");
    assert_eq!(problem["errors"][1]["field"], "timezone", "{problem}");

    let made = server.create(json!({ "text": "tea in an hour" })).await;
    let path = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
    let change = json!({ "user": "bob", "priority": "urgent", "message": "", "only": null });
    let expect = [("only", "invalid"), ("user", "read_only"), ("priority", "invalid"), ("message", "invalid")];
    check(&server, Method::PATCH, &path, change, &expect).await;
    assert_eq!(server.get(&path).await["message"], "tea", "nothing was changed");
}

#[tokio::test]
async fn how_an_answer_is_asked_for_is_checked_where_none_is_asked_for() {
    let home = Home::new();
    let server = home.serve();
    let right = json!({ "message": "m", "schedule": { "type": "once", "at": "1h" }, "require_ack": false, "ack_prompt": "",
        "ack_timeout": "10m", "max_ack_reminders": 3 });
    let made = server.create(right).await;
    assert_eq!((&made["require_ack"], &made["ack_timeout"]), (&json!(false), &Value::Null), "{made}");
    let wrong = json!({ "ack_timeout": "0m", "max_ack_reminders": 99_999 });
    let expect = [("ack_timeout", "invalid"), ("max_ack_reminders", "invalid")];
    for required in [None, Some(false), Some(true)] {
        let with = |mut body: Value| {
            for (field, value) in wrong.as_object().unwrap() {
                body[field] = value.clone();
            }
            if let Some(required) = required {
                body["require_ack"] = json!(required);
            }
            body
        };
        let reminder = with(json!({ "message": "m", "schedule": { "type": "once", "at": "1h" } }));
        check(&server, Method::POST, "/v1/reminders", reminder, &expect).await;
        let path = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
        check(&server, Method::PATCH, &path, with(json!({})), &expect).await;
        let event = with(json!({ "starts_at": "2099-01-01T08:00:00Z", "message": "m", "to": ["console:"] }));
        check(&server, Method::PUT, "/v1/events/game", event, &expect).await;
    }
}

#[tokio::test]
async fn a_batch_is_told_of_every_item_and_of_no_more_than_a_hundred_mistakes() {
    let home = Home::new();
    let server = home.serve();
    let good = json!({ "message": "m", "schedule": { "type": "once", "at": "1h" } });
    let unreachable = json!({ "message": "m", "schedule": { "type": "once", "at": "1h" }, "to": ["pigeon:x"] });
    let items = json!({ "reminders": [good, { "message": 1, "colour": 1 }, unreachable, good, { "schedule": {} }] });
    let expect = [
        ("reminders[1].colour", "unknown_field"),
        ("reminders[1].message", "wrong_type"),
        ("reminders[1].schedule", "missing"),
        ("reminders[2].to[0].channel", "invalid"),
        ("reminders[4].message", "missing"),
        ("reminders[4].schedule.type", "missing"),
    ];
    let (status, problem) = server.call(Method::POST, "/v1/reminders/batch", Some(items)).await;
    assert_eq!((status.as_u16(), &problem["index"]), (422, &json!(1)), "{problem:#}");
    let fields: Vec<&str> =
        problem["errors"].as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap()).collect();
    assert_eq!(fields, expect.map(|(field, _)| field), "{problem:#}");
    let many: Vec<Value> = (0..500).map(|_| json!({ "priority": 1, "colour": 1 })).collect();
    let (status, problem) = server.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": many }))).await;
    assert_eq!((status.as_u16(), problem["errors"].as_array().unwrap().len()), (422, 100));
    assert_eq!(server.get("/v1/reminders").await["reminders"], json!([]), "nothing was written");

    let events =
        json!({ "events": [{ "key": "a", "starts_at": "soon", "message": "m", "users": ["ann"] }, { "key": "b" }] });
    let (_, problem) = server.call(Method::POST, "/v1/events/batch", Some(events)).await;
    let fields: Vec<&str> =
        problem["errors"].as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap()).collect();
    let expect = ["events[0].starts_at", "events[1].starts_at", "events[1].message", "events[1].users"];
    assert_eq!(fields, expect, "{problem:#}");
}

#[tokio::test]
async fn everything_else_that_is_put_is_told_all_of_it_too() {
    let home = Home::new();
    let server = home.serve();
    let user = json!({
        "timezone": "Mars/Olympus", "language": "much too long a language", "addresses": [{ "channel": "pigeon" }, { "address": "x" }],
        "quiet_hours": { "from": "25:00", "except": "nobody" }, "paused_until": "yesterday",
    });
    let expect = [
        ("timezone", "invalid"),
        ("addresses[1].channel", "missing"),
        ("quiet_hours.except", "invalid"),
        ("quiet_hours.from", "invalid"),
        ("quiet_hours.to", "missing"),
        ("paused_until", "invalid"),
        ("language", "invalid"),
    ];
    check(&server, Method::PUT, "/v1/users/ann", user, &expect).await;
    let group = json!({ "users": ["a", "", "a"], "mode": "both", "size": 3 });
    let expect = [("size", "unknown_field"), ("mode", "invalid"), ("users[1]", "invalid"), ("users[2]", "invalid")];
    check(&server, Method::PUT, "/v1/groups/on-call", group, &expect).await;
    let silence = json!({ "group": "nobody", "from": "never", "tag": "a,b" });
    let expect = [("from", "invalid"), ("until", "missing"), ("tag", "invalid"), ("group", "invalid")];
    check(&server, Method::POST, "/v1/silences", silence, &expect).await;
    let event = json!({ "message": "{what}", "starts_at": "soon", "priority": 3, "groups": ["none"], "offsets": "x" });
    let expect = [
        ("offsets", "wrong_type"),
        ("priority", "wrong_type"),
        ("starts_at", "invalid"),
        ("message", "invalid"),
        ("groups[0]", "invalid"),
    ];
    check(&server, Method::PUT, "/v1/events/game", event, &expect).await;
    let calendar = json!({ "url": "ftp://x", "every": "1s", "alarms": "loud" });
    let expect = [("url", "invalid"), ("alarms", "invalid"), ("every", "invalid")];
    check(&server, Method::PUT, "/v1/users/ann/calendars/work", calendar, &expect).await;
}

#[tokio::test]
async fn everything_that_is_asked_is_told_all_of_it_too() {
    let home = Home::new();
    let server = home.serve();
    let key = json!({ "user": 5, "scopes": ["read", "fly", "swim"], "channels": ["pigeon"], "rate": "often", "expires_at": "yesterday", "id": "x" });
    let expect = [
        ("id", "read_only"),
        ("user", "wrong_type"),
        ("name", "missing"),
        ("channels[0]", "invalid"),
        ("scopes[1]", "invalid"),
        ("scopes[2]", "invalid"),
        ("rate", "invalid"),
        ("expires_at", "invalid"),
    ];
    check(&server, Method::POST, "/v1/keys", key, &expect).await;
    let parse = json!({ "lang": "klingon", "tz": "Mars/Olympus", "now": "never", "colour": 1 });
    let expect =
        [("colour", "unknown_field"), ("text", "missing"), ("lang", "invalid"), ("tz", "invalid"), ("now", "invalid")];
    check(&server, Method::POST, "/v1/parse", parse, &expect).await;
    let inbound = json!({ "text": 5, "address": "1", "reply_to": "x".repeat(3000) });
    let expect = [("text", "wrong_type"), ("reply_to", "invalid"), ("channel", "missing")];
    check(&server, Method::POST, "/v1/inbound", inbound, &expect).await;
    check(&server, Method::POST, "/v1/inbound", json!({}), &[("text", "missing"), ("user", "missing")]).await;
    let resend = json!({ "failed": false, "since": "next year", "tag": 5 });
    let expect = [("tag", "wrong_type"), ("failed", "invalid"), ("since", "invalid")];
    check(&server, Method::POST, "/v1/resend", resend, &expect).await;

    let made = server.create(json!({ "text": "tea in an hour" })).await;
    let path = |verb: &str| format!("/v1/reminders/{}/{verb}", made["id"].as_str().unwrap());
    let snooze = json!({ "run": "x", "minutes": 0, "channel": "x".repeat(300), "held": true });
    let expect = [("run", "wrong_type"), ("held", "unknown_field"), ("channel", "invalid"), ("minutes", "invalid")];
    check(&server, Method::POST, &path("snooze"), snooze, &expect).await;
    let ack = json!({ "minutes": 5, "until": "noon", "held": true });
    let expect = [("minutes", "unknown_field"), ("until", "unknown_field"), ("held", "unknown_field")];
    check(&server, Method::POST, &path("ack"), ack, &expect).await;
    let resend = json!({ "minutes": 5, "text": "x", "colour": 1 });
    let expect = [("colour", "unknown_field"), ("minutes", "unknown_field"), ("text", "unknown_field")];
    check(&server, Method::POST, &path("resend"), resend, &expect).await;
}

#[tokio::test]
async fn every_place_of_a_list_and_every_part_of_an_object_is_told() {
    let home = Home::new();
    let server = home.serve();
    let reminder = json!({
        "message": "m", "schedule": { "type": "weekly", "time": "25:00", "days": ["mon", "x", 5] },
        "escalate": [{ "after": "soon", "to": "" }, { "after": "5m", "to": "" }], "misfire": { "policy": "never", "within": "soon" },
    });
    let expect = [
        ("schedule.time", "invalid"),
        ("schedule.days[1]", "invalid"),
        ("schedule.days[2]", "invalid"),
        ("escalate[0].after", "invalid"),
        ("escalate[0].to", "invalid"),
        ("escalate[1].to", "invalid"),
        ("misfire.policy", "invalid"),
        ("misfire.within", "invalid"),
    ];
    check(&server, Method::POST, "/v1/reminders", reminder, &expect).await;
    let event = json!({ "message": "m", "starts_at": "1h", "users": ["me"], "offsets": [60, "x", 15, {}] });
    check(&server, Method::PUT, "/v1/events/game", event, &[("offsets[1]", "invalid"), ("offsets[3]", "invalid")])
        .await;
    let series =
        json!({ "message": "m", "starts_at": "2030-01-01T10:00:00Z", "users": ["me"], "rrule": "FREQ=DAILY;COUNT=9" });
    let (status, event) = server.call(Method::PUT, "/v1/events/series", Some(series)).await;
    assert_eq!(status, 201, "{event}");
    let instance =
        json!({ "colour": 1, "starts_at": "qwrtz", "ends_at": 5, "offsets": ["x"], "cancelled": true, "at": "y" });
    let expect = [
        ("colour", "unknown_field"),
        ("ends_at", "wrong_type"),
        ("at", "invalid"),
        ("starts_at", "invalid"),
        ("offsets[0]", "invalid"),
        ("cancelled", "invalid"),
    ];
    let path = "/v1/events/series/instances/20300102T100000";
    check(&server, Method::PUT, path, instance, &expect).await;
}

#[tokio::test]
async fn imports_keys_and_channels_are_told_all_of_it_too() {
    let home = Home::new();
    let server = home.serve();
    let lines = json!({ "overdue": "perhaps", "check": "yes", "colour": 1 });
    let expect = [("check", "wrong_type"), ("colour", "unknown_field"), ("lines", "missing"), ("overdue", "invalid")];
    let (status, problem) = server.call(Method::POST, "/v1/import/lines", Some(lines)).await;
    let found = problem["errors"].as_array().unwrap_or_else(|| panic!("{status} {problem}"));
    let mut found: Vec<(&str, &str)> =
        found.iter().map(|one| (one["field"].as_str().unwrap(), one["code"].as_str().unwrap())).collect();
    found.sort_unstable();
    assert_eq!((status.as_u16(), &found[..]), (422, &expect[..]), "{problem:#}");
    let lines = json!({ "lines": vec![json!({}); 10_001], "overdue": "perhaps" });
    check(&server, Method::POST, "/v1/import/lines", lines, &[("lines", "invalid"), ("overdue", "invalid")]).await;
    let calendar = json!({ "name": 5, "alarms": "loud", "offsets": ["x", 5, "y"] });
    let expect = [
        ("name", "wrong_type"),
        ("user", "missing"),
        ("ical", "missing"),
        ("alarms", "invalid"),
        ("offsets[0]", "invalid"),
        ("offsets[2]", "invalid"),
    ];
    check(&server, Method::POST, "/v1/import/calendar", calendar, &expect).await;

    let key = json!({ "name": "", "user": " ", "scopes": ["admin"], "channels": ["console"] });
    let expect = [("name", "invalid"), ("user", "invalid"), ("scopes", "invalid")];
    check(&server, Method::POST, "/v1/keys", key, &expect).await;
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "k" }))).await;
    let rotate = format!("/v1/keys/{}/rotate", key["id"].as_str().unwrap());
    let expect = [("colour", "unknown_field"), ("overlap", "invalid")];
    check(&server, Method::POST, &rotate, json!({ "overlap": "soon", "colour": 1 }), &expect).await;

    let test = json!({ "colour": 1, "message": "", "address": "ftp://x" });
    let expect = [("colour", "unknown_field"), ("message", "invalid"), ("address", "invalid")];
    check(&server, Method::POST, "/v1/channels/webhook/test", test, &expect).await;
    let expect = [("colour", "unknown_field"), ("address", "missing")];
    check(&server, Method::POST, "/v1/channels/webhook/revive", json!({ "colour": 1 }), &expect).await;
}
