//! A person's answer is kept, is about the run that was meant, and is taken from its owner alone.

use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Receiver, Server};

/// A reminder of ann's that asks for an answer, and was sent.
async fn asked(server: &Server, receiver: &mut Receiver) -> String {
    let body = json!({ "user": "ann", "message": "m", "schedule": { "type": "interval", "every": "1h" },
        "to": [{ "channel": "webhook", "address": receiver.url }], "require_ack": true });
    let id = server.create(body).await["id"].as_str().unwrap().to_owned();
    fire(server, &id, receiver).await;
    id
}

async fn fire(server: &Server, id: &str, receiver: &mut Receiver) {
    let (status, body) = server.call(Method::POST, &format!("/v1/reminders/{id}/fire"), None).await;
    assert_eq!(status, 200, "{body}");
    let run = receiver.next().await.1["data"]["run_number"].as_u64().unwrap();
    awaits_answer(server, id, run).await;
}

/// Waits until the server knows that it was sent.
async fn awaits_answer(server: &Server, id: &str, run: u64) {
    until("it awaits an answer", async || state(server, id, run).await == "awaiting_ack").await;
}

async fn run(server: &Server, id: &str, run: u64) -> Value {
    server.get(&format!("/v1/occurrences/{id}-{run}")).await
}

async fn state(server: &Server, id: &str, number: u64) -> String {
    run(server, id, number).await["state"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_keeps_the_words_the_minutes_the_channel_and_who() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let id = asked(&server, &mut receiver).await;
        let path = format!("/v1/reminders/{id}");
        let words = json!({ "minutes": 7, "text": "gib mir 7 Minuten", "channel": "telegram" });
        let (status, body) = server.call(Method::POST, &format!("{path}/snooze?user=ann"), Some(words)).await;
        assert_eq!(status, 200, "{body}");
        let answer = run(&server, &id, 2).await["responses"][0].clone();
        assert_eq!(answer["response"], "snooze", "{answer}");
        assert_eq!(answer["response_text"], "gib mir 7 Minuten");
        assert_eq!(answer["snooze_minutes"], 7);
        assert_eq!(answer["user_id"], "ann");
        assert_eq!(answer["channel"], "telegram");

        fire(&server, &id, &mut receiver).await;
        home.run(&["ack", &id, "--text", "popio sam"]).ok();
        let answer = run(&server, &id, 3).await["responses"][0].clone();
        assert_eq!((&answer["response_text"], &answer["user_id"]), (&json!("popio sam"), &json!("ann")), "{answer}");

        let long = json!({ "text": "x".repeat(5000) });
        let (status, problem) = server.call(Method::POST, &format!("{path}/ack"), Some(long)).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("text")), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_names_the_run_it_is_about() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let id = asked(&server, &mut receiver).await;
        fire(&server, &id, &mut receiver).await;
        fire(&server, &id, &mut receiver).await;
        // Without a run it would be run 2, which was the first to ask.
        let post = |verb: &str, body: Value| {
            let path = format!("/v1/reminders/{id}/{verb}");
            let server = &server;
            async move { server.call(Method::POST, &path, Some(body)).await }
        };
        let (status, body) = post("ack", json!({ "run": 3 })).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(state(&server, &id, 3).await, "completed");
        home.run(&["dismiss", &id, "--run", "4"]).ok();
        assert_eq!(state(&server, &id, 4).await, "dismissed");
        assert_eq!(state(&server, &id, 2).await, "awaiting_ack");
        let (status, problem) = post("ack", json!({ "run": 3 })).await;
        assert_eq!(status, 409, "{problem}");
        let (status, problem) = post("snooze", json!({ "run": 99, "minutes": 5 })).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("run")), "{problem}");
        assert_eq!(post("snooze", json!({ "run": 2, "minutes": 5 })).await.0, 200);
        assert_eq!(state(&server, &id, 2).await, "snoozed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_acts_for_one_user_does_not_touch_anothers_reminder() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let id = asked(&server, &mut receiver).await;
        let of = |user: &str| -> Vec<(Method, String)> {
            let reminder = format!("/v1/reminders/{id}");
            let mut calls: Vec<_> = ["ack", "snooze", "dismiss", "pause", "resume", "skip", "fire"]
                .iter()
                .map(|verb| (Method::POST, format!("{reminder}/{verb}?user={user}")))
                .collect();
            calls.push((Method::GET, format!("{reminder}?user={user}")));
            calls.push((Method::GET, format!("{reminder}/occurrences?user={user}")));
            calls.push((Method::GET, format!("/v1/occurrences/{id}-2?user={user}")));
            calls.push((Method::PATCH, format!("{reminder}?user={user}")));
            calls.push((Method::DELETE, format!("{reminder}?user={user}")));
            calls
        };
        for (method, path) in of("bob") {
            let body = (method == Method::PATCH).then(|| json!({ "message": "x" }));
            let (status, problem) = server.call(method.clone(), &path, body).await;
            assert_eq!(status, 404, "{method} {path}: {problem}");
        }
        for (method, path) in of("") {
            let body = (method == Method::PATCH).then(|| json!({ "message": "x" }));
            let (status, problem) = server.call(method.clone(), &path, body).await;
            assert_eq!((status.as_u16(), &problem["field"]), (400, &json!("user")), "{method} {path}: {problem}");
        }
        home.run(&["show", &format!("{id}-2"), "--user", "bob"]).fails(1, &["no such"]);
        let shown = server.get(&format!("/v1/reminders/{id}?user=ann")).await;
        assert_eq!((&shown["message"], &shown["status"]), (&json!("m"), &json!("active")));
        assert!(receiver.is_quiet());
        // The command line says for whom it acts when it is told.
        home.run(&["cancel", &id, "--user", "bob"]).fails(1, &["no such reminder"]);
        home.run(&["cancel", &id, "--user", "ann"]).ok();
        // A key of one user acts for nobody else.
        let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "a", "user": "ann" }))).await;
        let key = key["key"].as_str().unwrap();
        let (status, _) = server.call_with(key, Method::GET, &format!("/v1/reminders/{id}?user=bob"), None).await;
        assert_eq!(status, 403);
    }
}
