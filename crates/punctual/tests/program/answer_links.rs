//! Links that answer a reminder with one click.

use axum::http::StatusCode;
use punctual_channels::common::buttons::Verb;
use punctual_channels::common::links::Links;
use punctual_core::id::OccurrenceId;
use punctual_testkit::process::output;
use punctual_testkit::wait::until_some;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Server, soon};

const SECRET: &str = "sixteen or more characters";

fn link(verb: Verb, occurrence: &str) -> String {
    let occurrence: OccurrenceId = occurrence.parse().unwrap();
    Links::new("", SECRET.as_bytes()).link(verb, occurrence)
}

/// Sends a reminder that wants an answer, and waits until it is asked. Returns the id of its run.
async fn asked(server: &Server, user: &str) -> String {
    let made = server
        .create(json!({
            "user": user, "message": "Take <your> medicine", "schedule": { "type": "daily", "time": "03:00" },
            "require_ack": true, "timezone": "UTC",
        }))
        .await;
    fired(server, made["id"].as_str().unwrap()).await
}

async fn fired(server: &Server, id: &str) -> String {
    let (status, _) = server.call(Method::POST, &format!("/v1/reminders/{id}/fire"), None).await;
    assert_eq!(status, 200);
    until_some("the run awaits an answer", async || {
        let page = server.get(&format!("/v1/reminders/{id}/occurrences")).await;
        let mut runs = page["occurrences"].as_array().unwrap().iter();
        runs.find(|run| run["state"] == "awaiting_ack").map(|run| run["id"].as_str().unwrap().to_owned())
    })
    .await
}

async fn state(server: &Server, occurrence: &str) -> String {
    server.get(&format!("/v1/occurrences/{occurrence}")).await["state"].as_str().unwrap().to_owned()
}

/// The page that a browser gets.
async fn browse(server: &Server, method: Method, path: &str) -> (StatusCode, String) {
    let request = server.request(method, path).header("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    let response = soon(request.send()).await.unwrap();
    let headers = response.headers().clone();
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("script-src") && !policy.contains("unsafe"), "{policy}");
    assert!(policy.ends_with("form-action 'self'; base-uri 'none'; frame-ancestors 'none'"), "{policy}");
    assert_eq!((header("cache-control"), header("referrer-policy")), ("no-store".into(), "no-referrer".into()));
    assert_eq!(header("x-robots-tag"), "noindex, nofollow");
    (response.status(), soon(response.text()).await.unwrap())
}

async fn program(server: &Server, method: Method, path: &str) -> (StatusCode, Value) {
    let request = server.request(method, path).header("accept", "application/json");
    crate::common::answer(soon(request.send()).await.unwrap()).await
}

#[tokio::test]
async fn a_page_behind_a_link_has_no_script_and_only_a_click_answers() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_LINK_SECRET", SECRET)]);
    let run = asked(&server, "alice").await;
    let done = link(Verb::Ack, &run);

    // Mail scanners look.
    for _ in 0..2 {
        let (status, page) = browse(&server, Method::GET, &done).await;
        assert_eq!(status, 200);
        assert!(page.contains("<h1>Take &lt;your&gt; medicine</h1>"), "{page}");
        assert!(page.contains("<form method=\"post\"><button>Done</button></form></body>"), "{page}");
        // Some scanners run what a page brings along: it brings nothing that could answer without a click.
        for running in ["<script", "javascript:", "onload", "http-equiv", "autofocus"] {
            assert!(!page.contains(running), "{running} is in {page}");
        }
        assert!(!page.contains("http"), "nothing from elsewhere: {page}");
    }
    assert_eq!(state(&server, &run).await, "awaiting_ack");

    let (status, page) = browse(&server, Method::POST, &done).await;
    assert_eq!(status, 200);
    assert!(page.contains("✓ Done") && page.contains("Take &lt;your&gt; medicine"), "{page}");
    assert_eq!(state(&server, &run).await, "completed");
    let trail = server.get(&format!("/v1/occurrences/{run}")).await;
    assert_eq!(trail["responses"][0]["response"], "ack", "{trail}");

    // Once is enough, and the others are spent, too.
    for verb in [Verb::Ack, Verb::Snooze, Verb::Dismiss] {
        for method in [Method::GET, Method::POST] {
            let (status, page) = browse(&server, method, &link(verb, &run)).await;
            assert_eq!(status, 410);
            assert!(page.contains("answered already"), "{page}");
        }
    }
    assert_eq!(state(&server, &run).await, "completed");
}

#[tokio::test]
async fn later_and_not_needed_are_answers_too() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_LINK_SECRET", SECRET)]);
    server.call(Method::PUT, "/v1/users/dora", Some(json!({ "language": "de" }))).await;
    let run = asked(&server, "dora").await;
    let (status, page) = browse(&server, Method::POST, &link(Verb::Snooze, &run)).await;
    assert_eq!(status, 200);
    assert!(page.contains("<html lang=\"de\">") && page.contains("✓ Verschoben auf "), "{page}");
    assert_eq!(state(&server, &run).await, "snoozed");

    let other = asked(&server, "dora").await;
    let (status, said) = program(&server, Method::GET, &link(Verb::Dismiss, &other)).await;
    assert_eq!((status.as_u16(), &said["answered"], &said["response"]), (200, &json!(false), &json!("dismiss")));
    let (status, said) = program(&server, Method::POST, &link(Verb::Dismiss, &other)).await;
    assert_eq!((status.as_u16(), &said["answered"]), (200, &json!(true)));
    assert_eq!(said["occurrence_id"], other);
    assert_eq!(state(&server, &other).await, "dismissed");
    let (status, problem) = program(&server, Method::POST, &link(Verb::Dismiss, &other)).await;
    assert_eq!((status.as_u16(), &problem["code"]), (410, &json!("answered")));
}

#[tokio::test]
async fn an_old_link_never_answers_a_new_run() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_LINK_SECRET", SECRET)]);
    let first = asked(&server, "alice").await;
    program(&server, Method::POST, &link(Verb::Ack, &first)).await;
    let second = fired(&server, first.rsplit_once('-').unwrap().0).await;
    assert_ne!(first, second);
    let (status, _) = program(&server, Method::POST, &link(Verb::Dismiss, &first)).await;
    assert_eq!((status.as_u16(), state(&server, &second).await.as_str()), (410, "awaiting_ack"));
}

#[tokio::test]
async fn a_link_that_is_not_ours_finds_nothing() {
    let home = Home::new();
    let server = home.serve();
    let run = asked(&server, "alice").await;
    let forged = link(Verb::Ack, &run);
    let kept = std::fs::read_to_string(home.data_dir().join("link.secret")).unwrap();
    let real = Links::new("", kept.trim().as_bytes());
    let nowhere: OccurrenceId = "0198c0de-0000-7000-8000-000000000000-1".parse().unwrap();
    for path in [
        forged.as_str(),
        "/a/x",
        "/a/ack..",
        "/a/%00",
        &real.link(Verb::Ack, nowhere),
        &real.link(Verb::Ack, run.parse().unwrap()).replace("ack", "dismiss"),
    ] {
        for method in [Method::GET, Method::POST] {
            let (status, page) = browse(&server, method.clone(), path).await;
            assert_eq!(status, 404, "{path}");
            assert!(page.contains("This link is not valid."), "{page}");
            assert_eq!(program(&server, method, path).await.0, 404);
        }
    }
    let request = server.request(Method::GET, &forged).header("accept-language", "it, de-AT;q=0.8, en;q=0.5");
    let page = soon(soon(request.send()).await.unwrap().text()).await.unwrap();
    assert!(page.contains("Dieser Link ist ungültig."), "{page}");
    assert_eq!(state(&server, &run).await, "awaiting_ack");
    // The secret of the first start is that of every start: links in yesterday's mail work today.
    let good = real.link(Verb::Ack, run.parse().unwrap());
    server.stop();
    let server = home.serve();
    assert_eq!(program(&server, Method::POST, &good).await.0, 200);
}

#[test]
fn a_secret_that_can_be_guessed_is_refused() {
    let home = Home::new();
    let ran = output(home.command(["serve", "--listen", "127.0.0.1:0"]).env("PUNCTUAL_LINK_SECRET", "short"));
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(said.contains("PUNCTUAL_LINK_SECRET: is too short; write at least 16 random characters"), "{said}");
}

#[tokio::test]
async fn an_answer_by_link_keeps_the_channel_that_the_link_was_sent_on() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_LINK_SECRET", SECRET)]);
    let occurrence = asked(&server, "me").await;
    browse(&server, Method::POST, &link(Verb::Snooze, &occurrence)).await;
    let answer = server.get(&format!("/v1/occurrences/{occurrence}")).await["responses"][0].clone();
    let kept = [&answer["channel"], &answer["snooze_minutes"], &answer["user_id"], &answer["response_text"]];
    assert_eq!(kept, [&json!("console"), &json!(10), &json!("me"), &Value::Null], "{answer}");
}
