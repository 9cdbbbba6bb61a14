//! A person's day: what happened, what is to come, and what waits for an answer.

use punctual_testkit::wait::until_some;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Server};

/// The page that `query` asks for.
async fn runs(server: &Server, query: &str) -> Value {
    server.get(&format!("/v1/occurrences?{query}")).await
}

fn messages(page: &Value) -> Vec<&str> {
    page["runs"].as_array().unwrap().iter().map(|run| run["reminder"]["message"].as_str().unwrap()).collect()
}

async fn remind(server: &Server, user: &str, message: &str, at: &str, more: Value) -> String {
    let mut body = json!({ "user": user, "message": message, "schedule": { "type": "once", "at": at } });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.create(body).await["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_says_what_happened_how_late_and_what_is_to_come() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let sent = remind(&server, "alice", "now", "0s", json!({})).await;
        remind(&server, "alice", "in an hour", "1h", json!({})).await;
        let later = remind(&server, "alice", "in two years", "730d", json!({})).await;
        let later = server.get(&format!("/v1/reminders/{later}")).await["next_run_at"].as_str().unwrap().to_owned();
        remind(&server, "bob", "bobs", "1h", json!({})).await;
        let done = until_some("it was sent", async || {
            let page = runs(&server, "user=alice&status=delivered&from=today&to=2099-01-01").await;
            Some(page).filter(|page| messages(page) == ["now"])
        })
        .await;
        let run = &done["runs"][0]["occurrence"];
        assert_eq!((&run["reminder_id"], &run["run_number"]), (&json!(sent), &json!(1)));
        let late = run["late_ms"].as_f64().unwrap();
        assert!((0.0..30_000.0).contains(&late), "{late}");
        assert_eq!(run["attempts"][0]["channel"], "console");
        assert_eq!((&done["user"], &done["next_cursor"]), (&json!("alice"), &Value::Null));

        let all = "user=alice&from=2020-01-01&to=2099-01-01";
        let page = runs(&server, all).await;
        assert_eq!(messages(&page), ["now", "in an hour", "in two years"]);
        assert_eq!(page["runs"][1]["occurrence"]["late_ms"], Value::Null);
        let newest = runs(&server, &format!("{all}&order=newest&limit=2")).await;
        assert_eq!(messages(&newest), ["in two years", "in an hour"]);
        let cursor = newest["next_cursor"].as_str().unwrap();
        let rest = runs(&server, &format!("{all}&order=newest&limit=2&cursor={cursor}")).await;
        assert_eq!((messages(&rest), &rest["next_cursor"]), (vec!["now"], &Value::Null));
        assert_eq!(messages(&runs(&server, &format!("user=alice&from={later}")).await), ["in two years"]);
        assert!(!messages(&runs(&server, "user=alice").await).contains(&"in two years"), "nobody said when: today");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_questions_say_when_they_are_asked_again_and_who_is_asked_next() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let plan = json!([{ "after": "1h", "to": "bob" }, { "after": "90m", "to": "group:on-call" }]);
        let user = json!({ "addresses": [{ "channel": "console", "address": "" }], "escalate": plan });
        server.call(Method::PUT, "/v1/groups/on-call", Some(json!({ "users": ["eve"] }))).await;
        let (status, answer) = server.call(Method::PUT, "/v1/users/alice", Some(user)).await;
        assert_eq!(status, 201, "{answer}");
        let asked = json!({ "require_ack": true, "ack_timeout": "10m" });
        let id = remind(&server, "alice", "medicine", "0s", asked.clone()).await;
        remind(&server, "alice", "to come", "1h", asked).await;
        let page = until_some("it was asked", async || {
            let page = runs(&server, "user=alice&status=awaiting_ack").await;
            Some(page).filter(|page| !messages(page).is_empty())
        })
        .await;
        assert_eq!(messages(&page), ["medicine"]);
        let run = &page["runs"][0]["occurrence"];
        let instant = |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert!(instant(&run["ask_again_at"]) > instant(&run["due_at"]), "{run}");
        let next = &run["escalation"]["next"];
        assert_eq!((&next[0]["to"], &next[1]["to"]), (&json!("bob"), &json!("group:on-call")));
        assert_eq!(next[0]["at"], run["escalation"]["at"]);
        let between = instant(&next[1]["at"]).duration_since(instant(&next[0]["at"]));
        assert_eq!(between.as_secs(), 30 * 60);
        assert_eq!(server.get(&format!("/v1/occurrences/{id}-1")).await["escalation"]["next"], *next);

        server.call(Method::POST, &format!("/v1/reminders/{id}/ack"), None).await;
        assert_eq!(messages(&runs(&server, "user=alice&status=awaiting_ack").await), Vec::<&str>::new());
    }
}

#[tokio::test]
async fn a_day_is_asked_for_in_words_that_are_understood() {
    let home = Home::new();
    let server = home.serve();
    for (query, field, words) in [
        ("status=nonsense", "status", "awaiting_ack"),
        ("from=nonsense", "from", "nonsense"),
        ("order=backwards", "order", "oldest, newest"),
        ("cursor=here", "cursor", "next_cursor"),
        ("usr=alice", "usr", "did you mean `user`?"),
        ("limit=0", "limit", "1 to 500"),
    ] {
        let (status, problem) = server.call(Method::GET, &format!("/v1/occurrences?{query}"), None).await;
        assert!(status.is_client_error(), "{query}: {problem}");
        assert_eq!(problem["field"], field, "{query}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{query}: {problem}");
    }
}
