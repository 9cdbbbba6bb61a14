//! The same request answered the same.

use punctual_testkit::servers::Postgres;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Receiver, Server, answer};
use crate::openapi::Description;

async fn post(server: &Server, api_key: &str, path: &str, key: &str, body: &Value) -> (u16, Value, bool) {
    let request = server.request(Method::POST, path).bearer_auth(api_key).header("Idempotency-Key", key).json(body);
    let response = request.send().await.unwrap();
    let replayed = response.headers().contains_key("idempotency-replayed");
    let (status, body) = answer(response).await;
    (status.as_u16(), body, replayed)
}

fn reminder(message: &str) -> Value {
    json!({ "message": message, "schedule": { "type": "once", "at": "1h" } })
}

#[tokio::test]
async fn the_same_key_and_body_are_answered_the_same_and_another_body_is_a_conflict() {
    let home = Home::new();
    let server = home.serve();
    let admin = server.key.clone();
    let (status, first, replayed) = post(&server, &admin, "/v1/reminders", "k1", &reminder("a")).await;
    assert_eq!((status, replayed), (201, false));
    assert_eq!(post(&server, &admin, "/v1/reminders", "k1", &reminder("a")).await, (201, first.clone(), true));
    let (status, problem, _) = post(&server, &admin, "/v1/reminders", "k1", &reminder("b")).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("key_reused")));
    let batch = json!({ "reminders": [reminder("a")] });
    assert_eq!(post(&server, &admin, "/v1/reminders/batch", "k1", &batch).await.0, 409);

    let (status, made, _) = post(&server, &admin, "/v1/reminders/batch", "k2", &batch).await;
    assert_eq!(status, 201);
    assert_eq!(post(&server, &admin, "/v1/reminders/batch", "k2", &batch).await, (201, made, true));

    let shown = server.get(&format!("/v1/reminders/{}", first["id"].as_str().unwrap())).await;
    assert_eq!(shown, first, "what was answered is what was written");
    assert_eq!(server.get("/v1/reminders").await["reminders"].as_array().unwrap().len(), 2);
    assert_eq!(post(&server, &admin, "/v1/reminders", &"x".repeat(256), &reminder("a")).await.0, 400);
}

#[tokio::test]
async fn a_refused_request_does_not_use_up_its_key() {
    let home = Home::new();
    let server = home.serve();
    let admin = server.key.clone();
    assert_eq!(post(&server, &admin, "/v1/reminders", "k", &reminder("")).await.0, 422);
    assert_eq!(post(&server, &admin, "/v1/reminders", "k", &reminder("a")).await.0, 201);
}

#[tokio::test]
async fn keys_of_different_callers_do_not_meet() {
    let home = Home::new();
    let server = home.serve();
    let (_, alice) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "a", "user": "alice" }))).await;
    let alice = alice["key"].as_str().unwrap();
    let (_, admins, _) = post(&server, &server.key, "/v1/reminders", "k", &reminder("a")).await;
    let (status, alices, replayed) = post(&server, alice, "/v1/reminders", "k", &reminder("a")).await;
    assert_eq!((status, replayed), (201, false));
    assert_ne!(admins["id"], alices["id"]);
}

#[tokio::test]
async fn the_same_request_many_times_at_once_makes_one_reminder() {
    let home = Home::new();
    let server = home.serve();
    let body = reminder("once");
    let calls = (0..16).map(|_| post(&server, &server.key, "/v1/reminders", "race", &body));
    let answers = futures_util::future::join_all(calls).await;
    for (status, answer, _) in &answers {
        assert_eq!((*status, &answer["id"]), (201, &answers[0].1["id"]));
    }
    assert_eq!(server.get("/v1/reminders").await["reminders"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_answer_survives_a_restart() {
    let home = Home::new();
    let server = home.serve();
    let admin = server.key.clone();
    let (_, first, _) = post(&server, &admin, "/v1/reminders", "k", &reminder("a")).await;
    server.stop();
    let server = home.serve();
    assert_eq!(post(&server, &admin, "/v1/reminders", "k", &reminder("a")).await, (201, first, true));
}

async fn due_later(server: &Server, receiver: &Receiver) -> String {
    let to = json!([{ "channel": "webhook", "address": receiver.url }]);
    let made = server
        .create(
            json!({ "message": "m", "schedule": { "type": "interval", "every": "1h" }, "to": to, "require_ack": true }),
        )
        .await;
    made["id"].as_str().unwrap().to_owned()
}

async fn runs(server: &Server, id: &str) -> usize {
    server.get(&format!("/v1/reminders/{id}/occurrences")).await["occurrences"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn fire_twice_with_one_key_sends_once() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let id = due_later(&server, &receiver).await;
        let path = format!("/v1/reminders/{id}/fire");
        let (status, first, replayed) = post(&server, &server.key, &path, "f1", &json!({})).await;
        assert_eq!((status, replayed), (200, false), "{first}");
        assert_eq!(post(&server, &server.key, &path, "f1", &json!({})).await, (200, first, true));
        assert_eq!(runs(&server, &id).await, 2, "the planned run and the one that was fired");
        receiver.next().await;
        // A new key fires again; the same key on another path is a mistake.
        assert_eq!(post(&server, &server.key, &path, "f2", &json!({})).await.0, 200);
        receiver.next().await;
        assert_eq!(runs(&server, &id).await, 3);
        let other = format!("/v1/reminders/{id}/skip");
        let (status, problem, _) = post(&server, &server.key, &other, "f1", &json!({})).await;
        assert_eq!((status, problem["code"].as_str()), (409, Some("key_reused")));
        assert!(receiver.is_quiet());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_fired_many_times_at_once_on_two_nodes_sends_once() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let env = [("PUNCTUAL_DATABASE_URL", url.as_str()), ("PUNCTUAL_API_KEY", "pk_for-both-of-the-two-nodes")];
    let (one, two) = (Home::new(), Home::new());
    let nodes = [one.serve_with(&env), two.serve_with(&env)];
    let mut receiver = Receiver::listen().await;
    let id = due_later(&nodes[0], &receiver).await;
    for verb in ["fire", "skip", "pause", "resume"] {
        let path = format!("/v1/reminders/{id}/{verb}");
        let body = json!({});
        let calls = (0..16).map(|n| post(&nodes[n % 2], &nodes[0].key, &path, verb, &body));
        let answers = futures_util::future::join_all(calls).await;
        for (status, answer, _) in &answers {
            assert_eq!((*status, answer), (200, &answers[0].1), "{verb}");
        }
    }
    receiver.next().await;
    // The first run, which was skipped, the one that was fired, and the next of the series.
    assert_eq!(runs(&nodes[1], &id).await, 3);
    assert!(receiver.is_quiet());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_post_answers_the_same_key_with_the_same_answer() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let id = due_later(&server, &receiver).await;
        let of = |verb: &str| format!("/v1/reminders/{id}/{verb}");
        let (status, _) = server.call(Method::POST, &of("fire"), None).await;
        assert_eq!(status, 200);
        receiver.next().await;
        let item = json!({ "key": "1", "reminder": {
            "user": "ann", "message": "m", "schedule": { "type": "once", "at": "2090-01-01T00:00:00Z" } } });
        let calls = [
            (of("snooze"), json!({ "minutes": 90 })),
            (of("skip"), json!({})),
            (of("pause"), json!({})),
            (of("resume"), json!({})),
            ("/v1/import".to_owned(), json!({ "source": "s", "items": [item] })),
            ("/v1/parse".to_owned(), json!({ "text": "call mom in 5 minutes" })),
            ("/v1/channels/webhook/test".to_owned(), json!({ "address": receiver.url })),
        ];
        for (path, body) in calls {
            let (status, first, replayed) = post(&server, &server.key, &path, &path, &body).await;
            assert_eq!((status, replayed), (200, false), "{path}: {first}");
            let again = post(&server, &server.key, &path, &path, &body).await;
            assert_eq!(again, (200, first, true), "{path}");
            let mut other = body.clone();
            other["text"] = "another".into();
            let (status, problem, _) = post(&server, &server.key, &path, &path, &other).await;
            assert_eq!((status, problem["code"].as_str()), (409, Some("key_reused")), "{path}");
        }
        receiver.next().await;
        assert!(receiver.is_quiet(), "the test was sent once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_for_a_key_is_refused_and_makes_no_second_one() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let body = json!({ "name": "bot" });
        let (status, made, _) = post(&server, &server.key, "/v1/keys", "k", &body).await;
        assert_eq!(status, 201);
        let (status, problem, _) = post(&server, &server.key, "/v1/keys", "k", &body).await;
        assert_eq!((status, problem["code"].as_str()), (409, Some("shown_once")), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(made["id"].as_str().unwrap()), "{problem}");
        assert!(!problem.to_string().contains(made["key"].as_str().unwrap()));
        assert_eq!(server.get("/v1/keys").await["keys"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_signs_in_is_not_kept_for_a_repeated_request() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let (status, link, _) = post(&server, &server.key, "/v1/sign-in", "k", &json!({})).await;
        assert_eq!((status, link["url"].is_string()), (200, true), "{link}");
        let (status, problem, _) = post(&server, &server.key, "/v1/sign-in", "k", &json!({})).await;
        assert_eq!((status, problem["code"].as_str()), (409, Some("shown_once")), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_while_the_first_is_under_way_is_refused_and_does_nothing() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::hanging().await;
    let body = json!({ "address": receiver.url });
    let path = "/v1/channels/webhook/test";
    let first = post(&server, &server.key, path, "slow", &body);
    let second = async {
        receiver.next().await;
        post(&server, &server.key, path, "slow", &body).await
    };
    let (status, problem, _) = tokio::select! {
        second = second => second,
        first = first => panic!("it was answered: {first:?}"),
    };
    assert_eq!((status, problem["code"].as_str()), (409, Some("in_progress")), "{problem}");
    assert!(receiver.is_quiet());
}

/// With a key the layer reads the body before the handler does, and must let through what the handler would.
#[tokio::test]
async fn a_body_may_be_as_large_with_a_key_as_without() {
    let home = Home::new();
    let server = home.serve();
    let description = Description::of(&server).await;
    // More than a megabyte, and nothing that any route makes something of.
    let body = json!({ "nothing": "x".repeat(1_200_000) });
    let mut large = Vec::new();
    for (path, _, _) in description.operations().filter(|(path, method, operation)| {
        *method == "post" && operation["requestBody"].is_object() && *path != "/mcp" && *path != "/v1/inbound/{channel}"
    }) {
        let filled = path.replace(['{', '}'], "");
        let (plain, problem) = server.call(Method::POST, &filled, Some(body.clone())).await;
        let (keyed, _, _) = post(&server, &server.key, &filled, &format!("large {path}"), &body).await;
        assert_eq!((plain == 413), (keyed == 413), "{path}: {plain} without a key, {keyed} with one: {problem}");
        if plain != 413 {
            large.push(path.to_owned());
        }
    }
    large.sort_unstable();
    let expect = ["/v1/events/batch", "/v1/import", "/v1/import/calendar", "/v1/import/lines", "/v1/reminders/batch"];
    assert_eq!(large, expect);
}
