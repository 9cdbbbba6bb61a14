//! The command line with a server of a later version, which has words and fields that this one does not know.

use axum::Router;
use axum::http::{Method, StatusCode, Uri};
use serde_json::{Value, json};

use crate::common::{Home, Ran};

const ID: &str = "019c0000-0000-7000-8000-0000000000aa";

/// A reminder in which every word is one of tomorrow's, and one of them is meant for the terminal.
fn reminder() -> Value {
    json!({
        "id": ID, "user": "me", "name": null, "message": "water the plants", "schedule": { "type": "tidal", "at": "high" },
        "timezone": "UTC", "priority": "cosmic",
        "to": [{ "channel": "webhook", "address": "https://example.org/hook", "label": "lighthouse" }], "only": false, "require_ack": false, "snooze_allowed": true,
        "max_retries": 3, "misfire": { "policy": "someday", "within": "24h" }, "on_unknown": "ask", "created_via": "api",
        "original_text": null, "metadata": {}, "status": "dor\u{1b}mant", "next_run_at": null, "snoozed_until": null,
        "summary": "at high tide", "last_run_at": "2026-03-01T11:00:00Z", "last_status": "echoed", "total_runs": 1, "consecutive_errors": 0,
        "created_at": "2026-03-01T10:00:00Z", "updated_at": "2026-03-01T10:00:00Z", "moon": "full",
        "understood": { "kind": "tide", "summary": "at high tide", "lang": "en" },
    })
}

fn run() -> Value {
    json!({
        "id": format!("{ID}-1"), "reminder_id": ID, "run_number": 1, "due_at": "2026-03-01T11:00:00Z", "state": "ebbing", "at": null,
        "why": "moon", "attempts": [{
            "number": 1, "channel": "webhook", "address": "https://example.org/hook", "status": "bottled",
            "started_at": "2026-03-01T11:00:00Z", "ended_at": null, "error": null, "message_id": null, "idempotency_key": "k",
        }],
        "responses": [], "audit": [],
    })
}

fn user() -> Value {
    json!({
        "id": "me", "timezone": null, "language": null, "addresses": [],
        "quiet_hours": { "from": "22:00", "to": "07:00", "except": "cosmic", "digest": false },
        "paused_until": null, "admin": false, "created_at": "2026-03-01T10:00:00Z", "updated_at": "2026-03-01T10:00:00Z",
    })
}

/// Twenty-three mistakes.
fn problem() -> Value {
    let errors: Vec<Value> = (1..=23)
        .map(|n| json!({ "field": format!("to[{n}]"), "detail": format!("is wrong\u{1b}[2J in way {n}") }))
        .collect();
    json!({
        "type": "about:blank", "title": "Unprocessable Entity", "status": 422, "code": "invalid", "field": "to[1]",
        "detail": "the reminder has 23 mistakes", "errors": errors,
    })
}

async fn answer(method: Method, uri: Uri, body: String) -> (StatusCode, axum::Json<Value>) {
    let (status, answer) = match (method.as_str(), uri.path()) {
        ("POST", "/v1/reminders") if body.contains("mistakes") => (422, problem()),
        ("POST", "/v1/reminders") => (201, reminder()),
        ("GET", "/v1/reminders") => (200, json!({ "reminders": [reminder()], "next_cursor": null })),
        ("GET", "/v1/users") => (200, json!({ "users": [user()], "next_cursor": null })),
        ("GET", path) if path.ends_with("/occurrences") => {
            (200, json!({ "occurrences": [run()], "audit": [], "next_cursor": null }))
        }
        ("GET", path) if path.starts_with("/v1/reminders/") => (200, reminder()),
        _ => (404, json!({})),
    };
    (StatusCode::from_u16(status).unwrap(), axum::Json(answer))
}

/// Runs the program with that server.
async fn with_newer_server(args: &[&str]) -> Ran {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    let home = Home::new();
    let mut command = home.command(args);
    command.env("PUNCTUAL_URL", url).env("PUNCTUAL_API_KEY", "pk_tomorrow");
    let ran = Ran::of(punctual_testkit::process::output(&mut command));
    serving.abort();
    ran
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_a_newer_server_are_shown_as_they_are() {
    for (args, words) in [
        (&["list", "--all"][..], &["dor\u{fffd}mant", "water the plants"][..]),
        (
            &["show", ID],
            &["dor\u{fffd}mant", "cosmic", "echoed", "ebbing, moon", "bottled to webhook:https://example.org/hook"],
        ),
        (&["add", "water the plants at high tide"], &["added", "dor\u{fffd}mant"]),
        (&["users"], &["22:00-07:00 but cosmic"]),
    ] {
        let out = with_newer_server(args).await.ok();
        for word in words {
            assert!(out.contains(word), "{args:?}: `{word}` is not in:\n{out}");
        }
        assert!(!out.contains('\u{1b}'), "{args:?}: {out:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_get_the_words_of_a_newer_server() {
    let listed = with_newer_server(&["list", "--all", "--json"]).await.json();
    let shown = with_newer_server(&["show", ID, "--json"]).await.json();
    let added = with_newer_server(&["add", "water the plants at high tide", "--json"]).await.json();
    for found in [&listed["reminders"][0], &shown, &added] {
        for field in ["status", "priority", "misfire", "on_unknown", "last_status", "schedule", "understood"] {
            assert_eq!(found[field], reminder()[field], "{field}");
        }
    }
    let seen = &shown["occurrences"][0];
    assert_eq!((&seen["state"], &seen["why"]), (&json!("ebbing"), &json!("moon")));
    assert_eq!(seen["attempts"][0]["status"], "bottled");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mistake_is_named_with_its_field_and_there_is_an_end() {
    let ran = with_newer_server(&["add", "mistakes", "--in", "5m"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 22, "{}", ran.err);
    assert_eq!(lines[0], "error: the reminder has 23 mistakes");
    assert_eq!(lines[1], "  to[1]: is wrong\u{fffd}[2J in way 1");
    assert_eq!(lines[20], "  to[20]: is wrong\u{fffd}[2J in way 20");
    assert_eq!(lines[21], "  and 3 more");
}
