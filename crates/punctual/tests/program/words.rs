//! Answers in words: `POST /v1/inbound`.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Receiver, Server};

/// Sends a reminder of `user`'s that asks for an answer; returns its id.
async fn asked(server: &Server, receiver: &mut Receiver, user: &str, more: Value) -> String {
    let mut body = json!({ "user": user, "message": "take the pill", "schedule": { "type": "once", "at": "1h" },
        "to": [{ "channel": "webhook", "address": receiver.url }], "require_ack": true });
    for (field, value) in more.as_object().unwrap() {
        body[field] = value.clone();
    }
    let id = server.create(body).await["id"].as_str().unwrap().to_owned();
    let (status, problem) = server.call(Method::POST, &format!("/v1/reminders/{id}/fire"), None).await;
    assert_eq!(status, 200, "{problem}");
    receiver.next().await;
    until("it awaits an answer", async || state(server, &id).await == "awaiting_ack").await;
    id
}

async fn last_run(server: &Server, id: &str) -> Value {
    server.get(&format!("/v1/reminders/{id}/occurrences")).await["occurrences"][0].clone()
}

async fn state(server: &Server, id: &str) -> String {
    last_run(server, id).await["state"].as_str().unwrap().to_owned()
}

async fn say(server: &Server, body: Value) -> Value {
    let (status, heard) = server.call(Method::POST, "/v1/inbound", Some(body.clone())).await;
    assert_eq!(status, 200, "{body}: {heard}");
    heard
}

fn not_handled() -> Value {
    json!({ "handled": false })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_words_is_recorded_and_said_back_in_the_persons_language() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let entry = json!({ "language": "hr", "timezone": "Europe/Zagreb",
            "addresses": [{ "channel": "webhook", "address": receiver.url }] });
        server.call(Method::PUT, "/v1/users/ana", Some(entry)).await;
        let id = asked(&server, &mut receiver, "ana", json!({})).await;
        let heard = say(&server, json!({ "user": "ana", "text": "još 5 minuta" })).await;
        assert_eq!((&heard["response"], &heard["minutes"]), (&json!("snooze"), &json!(5)), "{heard}");
        assert_eq!(heard["reminder_id"], json!(id));
        assert!(heard["say"].as_str().unwrap().starts_with("⏰ Odgođeno do "), "{heard}");
        assert_eq!(state(&server, &id).await, "snoozed");

        let heard = say(&server, json!({ "user": "ana", "channel": "webhook", "text": "popio sam" })).await;
        assert_eq!((&heard["handled"], &heard["response"]), (&json!(true), &json!("ack")), "{heard}");
        assert_eq!(heard["say"], "✓ Gotovo: „take the pill”");
        let run = last_run(&server, &id).await;
        let answer = &run["responses"][1];
        assert_eq!(run["state"], "completed");
        assert_eq!(
            (&answer["response_text"], &answer["channel"], &answer["user_id"]),
            (&json!("popio sam"), &json!("webhook"), &json!("ana")),
            "{answer}"
        );
        assert_eq!(heard["occurrence_id"], run["id"]);

        let again = say(&server, json!({ "user": "ana", "text": "gotovo" })).await;
        assert_eq!((&again["handled"], &again["refused"]), (&json!(true), &json!("already_answered")), "{again}");
        assert!(again["say"].as_str().unwrap().starts_with("To je već gotovo"), "{again}");
        assert_eq!(last_run(&server, &id).await["responses"].as_array().unwrap().len(), 2, "nothing was written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_are_no_answer_and_people_whom_nobody_knows_are_left_alone() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let id = asked(&server, &mut receiver, "ann", json!({})).await;
        for body in [
            json!({ "user": "ann", "text": "what a lovely day" }),
            json!({ "user": "ann", "text": "call mom tomorrow at 8" }),
            json!({ "user": "ann", "text": "" }),
            json!({ "user": "ann", "text": "done ".repeat(100) }),
            json!({ "user": "nobody", "text": "done" }),
            json!({ "channel": "webhook", "address": "https://elsewhere.example", "text": "done" }),
            json!({ "channel": "no-such-channel", "address": "7", "text": "done" }),
            json!({ "user": "ann", "text": "done", "reply_to": "another message" }),
        ] {
            assert_eq!(say(&server, body.clone()).await, not_handled(), "{body}");
        }
        assert_eq!(state(&server, &id).await, "awaiting_ack");
        for (body, field) in [
            (json!({ "user": "ann" }), "text"),
            (json!({ "text": "done" }), "user"),
            (json!({ "address": "7", "text": "done" }), "channel"),
            (json!({ "user": "ann", "text": "done", "txt": 1 }), "txt"),
        ] {
            let (status, problem) = server.call(Method::POST, "/v1/inbound", Some(body.clone())).await;
            assert_eq!((status.as_u16(), &problem["field"]), (422, &json!(field)), "{body}: {problem}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_the_person_is_asked_which() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let pill = asked(&server, &mut receiver, "ann", json!({})).await;
        let plants = asked(&server, &mut receiver, "ann", json!({ "message": "water the plants" })).await;
        let heard = say(&server, json!({ "user": "ann", "text": "done" })).await;
        assert_eq!(
            (&heard["refused"], &heard["say"]),
            (&json!("ambiguous"), &json!("Which one do you mean?")),
            "{heard}"
        );
        let choices = heard["choices"].as_array().unwrap();
        assert!(choices[0]["label"].as_str().unwrap().ends_with("water the plants"), "{heard}");
        assert!(choices[1]["label"].as_str().unwrap().ends_with("take the pill"), "{heard}");
        let run = choices[1]["occurrence_id"].as_str().unwrap();
        assert_eq!(choices[1]["data"], format!("punctual:ack:{run}"));
        assert_eq!(
            (state(&server, &pill).await, state(&server, &plants).await),
            ("awaiting_ack".into(), "awaiting_ack".into())
        );

        let later = say(&server, json!({ "user": "ann", "text": "until tomorrow at 9" })).await;
        let until: jiff::Timestamp = later["choices"][1]["until"].as_str().unwrap().parse().unwrap();
        assert_eq!(later["choices"][1]["data"], format!("pn:@{}:{run}", until.as_second()), "{later}");
        let heard = say(&server, json!({ "user": "ann", "text": "not needed", "channel": "webhook" })).await;
        assert_eq!(heard["refused"], "ambiguous", "both were sent there: {heard}");
        server.call(Method::POST, &format!("/v1/reminders/{plants}/ack"), None).await;
        let heard = say(&server, json!({ "user": "ann", "text": "done" })).await;
        assert_eq!((&heard["response"], &heard["reminder_id"]), (&json!("ack"), &json!(pill)), "{heard}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_finds_its_users_and_a_bound_key_answers_for_its_own_alone() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let here = json!({ "addresses": [{ "channel": "webhook", "address": receiver.url }] });
        for user in ["ann", "bob"] {
            server.call(Method::PUT, &format!("/v1/users/{user}"), Some(here.clone())).await;
        }
        let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "k", "user": "bob" }))).await;
        let bobs_key = key["key"].as_str().unwrap();
        let anns = asked(&server, &mut receiver, "ann", json!({})).await;
        let done = json!({ "channel": "webhook", "address": receiver.url, "text": "done" });
        let (_, heard) = server.call_with(bobs_key, Method::POST, "/v1/inbound", Some(done.clone())).await;
        assert_eq!(heard, not_handled(), "the key is bob's");
        let anns_words = json!({ "user": "ann", "text": "done" });
        assert_eq!(server.call_with(bobs_key, Method::POST, "/v1/inbound", Some(anns_words)).await.0, 403);
        assert_eq!(say(&server, done).await["reminder_id"], json!(anns));
        assert_eq!(last_run(&server, &anns).await["responses"][0]["user_id"], "ann", "it was hers");

        let bobs = asked(&server, &mut receiver, "bob", json!({})).await;
        let (_, heard) = server.call_with(bobs_key, Method::POST, "/v1/inbound", Some(json!({ "text": "done" }))).await;
        assert_eq!(heard["reminder_id"], json!(bobs), "{heard}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_must_not_be_put_off_and_what_was_cancelled_is_said() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let strict = asked(&server, &mut receiver, "ann", json!({ "snooze_allowed": false })).await;
    let heard = say(&server, json!({ "user": "ann", "text": "an hour" })).await;
    assert_eq!((&heard["response"], &heard["refused"]), (&json!("snooze"), &json!("snooze_not_allowed")), "{heard}");
    assert!(
        heard["say"].as_str().unwrap().starts_with("This one cannot be put off: “take the pill”. I will ask again at"),
        "{heard}"
    );
    assert_eq!(state(&server, &strict).await, "awaiting_ack");
    server.call(Method::DELETE, &format!("/v1/reminders/{strict}"), None).await;
    let heard = say(&server, json!({ "user": "ann", "text": "done" })).await;
    assert_eq!(
        (&heard["refused"], &heard["say"]),
        (&json!("cancelled"), &json!("That reminder was cancelled: “take the pill”")),
        "{heard}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snooze_takes_the_phrases_that_people_say() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let entry =
        json!({ "timezone": "Europe/Zagreb", "addresses": [{ "channel": "webhook", "address": receiver.url }] });
    server.call(Method::PUT, "/v1/users/ana", Some(entry)).await;
    asked(&server, &mut receiver, "ana", json!({})).await;
    for (text, minutes) in
        [("an hour", Some(60)), ("za sat vremena", Some(60)), ("noch 20 Minuten", Some(20)), ("later", Some(10))]
    {
        let heard = say(&server, json!({ "user": "ana", "text": text })).await;
        assert_eq!(
            (heard["response"].as_str(), heard["minutes"].as_u64()),
            (Some("snooze"), minutes),
            "{text}: {heard}"
        );
    }
    let heard = say(&server, json!({ "user": "ana", "text": "until tomorrow at 9" })).await;
    let until: jiff::Timestamp = heard["until"].as_str().unwrap().parse().unwrap();
    let local = until.in_tz("Europe/Zagreb").unwrap();
    assert_eq!((local.hour(), local.minute()), (9, 0), "{heard}");
}

/// An endpoint for chat completions that always says `content`, or never anything; what it was asked is kept.
async fn endpoint(content: Option<&'static str>) -> (String, Arc<Mutex<Vec<Value>>>) {
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let answer = async move |State(asked): State<Arc<Mutex<Vec<Value>>>>, Json(body): Json<Value>| {
        asked.lock().unwrap().push(body);
        match content {
            Some(content) => Json(json!({ "choices": [{ "message": { "content": content } }] })),
            None => std::future::pending().await,
        }
    };
    let router = Router::new().route("/v1/chat/completions", post(answer)).with_state(asked.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/chat/completions", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_opinion_is_told_the_prompt_and_the_reply_and_nothing_else() {
    let home = Home::new();
    let (url, told) = endpoint(Some("{\"answer\":\"ack\"}")).await;
    let env = [
        ("PUNCTUAL_OPINION_URL", url.as_str()),
        ("PUNCTUAL_OPINION_MODEL", "small"),
        ("PUNCTUAL_OPINION_KEY", "s3cret"),
    ];
    let server = home.serve_with(&env);
    let mut receiver = Receiver::listen().await;
    let id = asked(&server, &mut receiver, "ann", json!({ "ack_prompt": "Did you take it?" })).await;
    let words = "gulped it down with the last of the orange juice";
    let heard = say(&server, json!({ "user": "ann", "text": words })).await;
    assert_eq!(
        (&heard["handled"], &heard["response"], &heard["reminder_id"]),
        (&json!(true), &json!("ack"), &json!(id)),
        "{heard}"
    );
    assert_eq!(state(&server, &id).await, "completed");
    let body = told.lock().unwrap()[0].to_string();
    assert!(body.contains("Did you take it?") && body.contains(words), "{body}");
    assert!(!body.contains("ann") && !body.contains("take the pill") && !body.contains(&id), "{body}");

    let n_asked = || told.lock().unwrap().len();
    assert_eq!(say(&server, json!({ "user": "ann", "text": words })).await, not_handled(), "nothing waits any more");
    assert_eq!(say(&server, json!({ "user": "nobody", "text": words })).await, not_handled());
    let (pill, plants) =
        (asked(&server, &mut receiver, "ann", json!({})).await, asked(&server, &mut receiver, "ann", json!({})).await);
    assert_eq!(say(&server, json!({ "user": "ann", "text": words })).await, not_handled(), "two may be meant");
    assert_eq!(say(&server, json!({ "user": "ann", "text": "x".repeat(201) })).await, not_handled());
    assert_eq!(n_asked(), 1, "nobody was asked about these");
    assert_eq!(
        (state(&server, &pill).await, state(&server, &plants).await),
        ("awaiting_ack".into(), "awaiting_ack".into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opinion_that_lies_or_never_comes_changes_nothing() {
    for content in [None, Some("it is surely done"), Some("{\"answer\":\"none\"}")] {
        let home = Home::new();
        let (url, told) = endpoint(content).await;
        let env = [
            ("PUNCTUAL_OPINION_URL", url.as_str()),
            ("PUNCTUAL_OPINION_MODEL", "small"),
            ("PUNCTUAL_OPINION_TIMEOUT", "1s"),
        ];
        let server = home.serve_with(&env);
        let mut receiver = Receiver::listen().await;
        let id = asked(&server, &mut receiver, "ann", json!({})).await;
        assert_eq!(
            say(&server, json!({ "user": "ann", "text": "gulped it down" })).await,
            not_handled(),
            "{content:?}"
        );
        assert_eq!(state(&server, &id).await, "awaiting_ack");
        assert_eq!(told.lock().unwrap().len(), 1);
        let heard = say(&server, json!({ "user": "ann", "text": "done" })).await;
        assert_eq!(heard["response"], "ack", "what words say is not asked about: {heard}");
        assert_eq!(told.lock().unwrap().len(), 1);
    }
}
