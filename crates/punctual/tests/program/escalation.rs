//! Who does not answer is followed by the next; an answer by anyone is an answer to all.

use jiff::Timestamp;
use punctual_testkit::wait::until_some;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Receiver, Server};

/// Makes a user who is reached at `receiver`.
async fn put_user(server: &Server, id: &str, receiver: &Receiver) {
    let user = json!({ "addresses": [{ "channel": "webhook", "address": receiver.url }], "timezone": "UTC" });
    let (status, body) = server.call(Method::PUT, &format!("/v1/users/{id}"), Some(user)).await;
    assert_eq!(status, 201, "{body}");
}

/// Alice's medicine, due now, with this plan of who is asked next.
fn medicine(escalate: Value) -> Value {
    json!({ "user": "alice", "message": "Take your medicine", "schedule": { "type": "once", "at": "0s" },
        "ack_prompt": "Did you take it?", "escalate": escalate })
}

/// The only run of a reminder, as soon as `is_so`.
async fn run_when(server: &Server, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/v1/occurrences/{id}-1");
    until_some(what, async || Some(server.get(&path).await).filter(|run| is_so(run))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn bob_is_asked_when_alice_is_silent_and_his_answer_ends_it_for_both() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let (mut alice, mut bob, mut eve) =
            (Receiver::listen().await, Receiver::listen().await, Receiver::listen().await);
        for (id, receiver) in [("alice", &alice), ("bob", &bob), ("eve", &eve)] {
            put_user(&server, id, receiver).await;
        }
        home.run(&["groups", "set", "on-call", "eve"]).ok();
        let plan = json!([{ "after": "1s", "to": "bob" }, { "after": "1h", "to": "group:on-call" }]);
        let created = server.create(medicine(plan.clone())).await;
        assert_eq!((&created["escalate"], &created["require_ack"]), (&plan, &json!(true)));
        let id = created["id"].as_str().unwrap();
        assert_eq!(alice.next().await.1["data"]["message"], "Take your medicine");

        let asked = bob.next().await.1;
        let message = asked["data"]["message"].as_str().unwrap();
        assert!(message.starts_with("alice has not answered: \"Take your medicine\" (due "), "{message}");
        let due_at = |value: &Value| value.as_str().unwrap().parse::<Timestamp>().unwrap();
        let run =
            run_when(&server, id, "bob was asked", |run| run["escalation"]["to"][0]["state"] == "awaiting_ack").await;
        let others = &run["escalation"]["to"];
        assert_eq!((&run["escalation"]["state"], &others[0]["user"]), (&json!("asked"), &json!("bob")));
        let waited = due_at(&others[0]["due_at"]).duration_since(due_at(&run["due_at"]));
        assert!(waited.as_millis() >= 1000 && waited.as_secs() < 5, "{waited:#}");
        assert_eq!((&others[1]["user"], &others[1]["state"]), (&json!("eve"), &json!("scheduled")));
        let shown = home.run(&["show", id]).ok();
        for words in ["escalate  1s bob, 1h group:on-call", "asked bob: awaiting_ack", "to ask eve"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }

        let theirs = others[0]["reminder_id"].as_str().unwrap();
        assert_eq!(server.get(&format!("/v1/reminders/{theirs}")).await["escalates"], format!("{id}-1"));
        let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "b", "user": "bob" }))).await;
        let key = key["key"].as_str().unwrap();
        let path = format!("/v1/reminders/{theirs}/ack");
        let (status, body) = server.call_with(key, Method::POST, &path, Some(json!({ "text": "popio je" }))).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(alice.next().await.1["data"]["message"], "✓ bob: done. \"Take your medicine\"");
        let run = server.get(&format!("/v1/occurrences/{id}-1")).await;
        assert_eq!(run["state"], "completed");
        let answer = &run["responses"][0];
        assert_eq!((&answer["user_id"], &answer["response_text"]), (&json!("bob"), &Value::Null), "the words were his");
        assert_eq!(run["escalation"]["to"][1]["state"], "cancelled");
        assert!(home.run(&["show", id]).ok().contains("ack by bob"));
        // A key bound to bob does not see alice's reminder, whatever he was asked about it.
        let (status, _) = server.call_with(key, Method::GET, &format!("/v1/reminders/{id}"), None).await;
        assert_eq!(status, 404);
        assert!(eve.is_quiet(), "she was never asked, so she is told nothing");
        let kinds: Vec<_> = run["audit"].as_array().unwrap().iter().map(|entry| entry["kind"].clone()).collect();
        assert!(kinds.contains(&json!("reminder.escalated")), "{kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_nobody_could_follow_is_refused_with_the_field() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_unchosen_with(&kept.env());
        let receiver = Receiver::listen().await;
        put_user(&server, "alice", &receiver).await;
        put_user(&server, "bob", &receiver).await;
        let wrong = async |escalate: Value, field: &str, words: &str| {
            let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(medicine(escalate))).await;
            assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some(field)), "{problem}");
            assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
        };
        wrong(json!([{ "after": "5m", "to": "carl" }]), "escalate[0].to", "`carl` has no addresses").await;
        wrong(json!([{ "after": "5m", "to": "group:oc" }]), "escalate[0].to", "there is no group `oc`").await;
        wrong(json!([{ "after": "5m", "to": "group:" }]), "escalate[0].to", "group:on-call").await;
        wrong(json!([{ "after": "soon", "to": "bob" }]), "escalate[0].after", "`soon`").await;
        let backwards = json!([{ "after": "5m", "to": "bob" }, { "after": "4m", "to": "bob" }]);
        wrong(backwards, "escalate[1].after", "in order").await;
        let mut silent = medicine(json!([{ "after": "5m", "to": "bob" }]));
        silent["require_ack"] = json!(false);
        silent["ack_prompt"] = Value::Null;
        let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(silent)).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some("escalate")), "{problem}");

        // A key bound to alice must not disturb others, nor learn who is there.
        let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "a", "user": "alice" }))).await;
        let key = key["key"].as_str().unwrap();
        for to in ["bob", "carl"] {
            let body = medicine(json!([{ "after": "5m", "to": to }]));
            let (status, problem) = server.call_with(key, Method::POST, "/v1/reminders", Some(body)).await;
            assert_eq!((status.as_u16(), problem["field"].as_str()), (403, Some("escalate")), "{problem}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_set_and_cleared_on_reminders_and_on_people() {
    let home = Home::new();
    let server = home.serve();
    let receiver = Receiver::listen().await;
    put_user(&server, "alice", &receiver).await;
    put_user(&server, "bob", &receiver).await;
    let added = home.run(&["add", "stretch", "--in", "1h", "--user", "alice", "--escalate", "5m:bob", "--json"]).json();
    assert_eq!((&added["escalate"], &added["require_ack"]), (&json!([{ "after": "5m", "to": "bob" }]), &json!(true)));
    let id = added["id"].as_str().unwrap();
    home.run(&["update", id, "--escalate", "bob"]).fails(2, &["--escalate", "5m:bob"]);
    let updated = home.run(&["update", id, "--escalate", "", "--json"]).json();
    assert_eq!((&updated["escalate"], &updated["require_ack"]), (&json!([]), &json!(true)));
    home.run(&["users", "set", "alice", "--escalate", "10m:bob"]).ok();
    let alice = server.get("/v1/users/alice").await;
    assert_eq!(alice["escalate"], json!([{ "after": "10m", "to": "bob" }]));
    assert!(home.run(&["users"]).ok().contains("10m bob"), "the table shows it");
    home.run(&["users", "set", "alice", "--language", "de"]).ok();
    assert_eq!(server.get("/v1/users/alice").await["escalate"], alice["escalate"], "what is not said stays");
}
