//! The log lines of a healthy server, and the key of each attempt.

use axum::http::StatusCode;
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Receiver};

/// The messages of a log, one for each line.
fn messages(lines: &[String]) -> Vec<String> {
    let entries = lines.iter().map(|line| serde_json::from_str::<Value>(line).expect("every line is JSON"));
    entries.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_tells_the_life_of_a_reminder_in_json_lines_without_its_words() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_RETRY_BASE_DELAY_SECONDS", "1")]);
    let (answers, mut receiver) = Receiver::changing(StatusCode::INTERNAL_SERVER_ERROR).await;
    let to = json!([{ "channel": "webhook", "address": receiver.url }, { "channel": "console" }]);
    let once = |to: &Value, at: &str| json!({ "message": "hush", "schedule": { "type": "once", "at": at }, "to": to, "max_retries": 2 });
    let only_hook = json!([{ "channel": "webhook", "address": receiver.url }]);
    let made = server.create(once(&only_hook, "0s")).await;
    receiver.next().await;
    answers.send_replace(StatusCode::NO_CONTENT);
    receiver.next().await;
    server.create(once(&to, "1h")).await;
    let other = server.create(once(&only_hook, "1h")).await;
    let path = format!("/v1/reminders/{}", other["id"].as_str().unwrap());
    assert_eq!(server.call(Method::DELETE, &path, None).await.0, 200);
    let run = format!("/v1/occurrences/{}-1", made["id"].as_str().unwrap());
    until("it is delivered", async || server.get(&run).await["state"] == "delivered").await;
    let (_, lines) = server.stop();
    let said = messages(&lines);
    let expected = ["created", "processing (attempt 1 of 3)", "processing (attempt 2 of 3)", "sent", "cancelled"];
    for words in expected {
        assert!(said.iter().any(|message| message == words), "`{words}` is not in {said:#?}");
    }
    assert!(said.iter().any(|message| message.starts_with("failed, retrying at 2")), "{said:#?}");
    assert!(!lines.iter().any(|line| line.contains("hush")), "what people are told is nobody else's business");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_start_line_names_version_database_and_node() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let entries = server.started_with.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let start = entries.into_iter().find(|entry| entry["version"].is_string()).unwrap();
        assert_eq!(start["version"], env!("CARGO_PKG_VERSION"));
        assert!(start["node"].as_str().is_some_and(|node| !node.is_empty()), "{start}");
        let database = start["database"].as_str().unwrap();
        assert!(database.ends_with("punctual.db") || database.starts_with("postgres"), "{start}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_lines_in_a_second_are_summed_up() {
    let home = Home::new();
    let server = home.serve();
    let one = json!({ "message": "m", "schedule": { "type": "once", "at": "1h" } });
    let batch = json!({ "reminders": vec![one; 300] });
    assert_eq!(server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await.0, 201);
    let (_, lines) = server.stop();
    let said = messages(&lines);
    let n_singly = said.iter().filter(|message| *message == "created").count();
    // The batch may fall on the turn of a second.
    assert!((50..=100).contains(&n_singly), "{n_singly}");
    let more =
        said.iter().filter_map(|message| message.strip_prefix("… and ")?.split(' ').next()?.parse::<usize>().ok());
    assert_eq!(n_singly + more.sum::<usize>(), 300, "{said:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attempt_has_a_key_of_its_own_beside_the_stable_one() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let mut env = kept.env();
        env.push(("RETRY_BASE_DELAY_SECONDS", "1"));
        let server = home.serve_with(&env);
        let (answers, mut receiver) = Receiver::changing(StatusCode::INTERNAL_SERVER_ERROR).await;
        let to = json!([{ "channel": "webhook", "address": receiver.url }]);
        let made = server.create(json!({ "message": "m", "schedule": { "type": "once", "at": "0s" }, "to": to })).await;
        let first = receiver.next().await;
        answers.send_replace(StatusCode::NO_CONTENT);
        let second = receiver.next().await;
        let id = format!("{}-1", made["id"].as_str().unwrap());
        let run = server.get(&format!("/v1/occurrences/{id}")).await;
        for (n, (headers, event)) in [first, second].into_iter().enumerate() {
            let key = headers["punctual-attempt-key"].to_str().unwrap();
            let hex = key.strip_prefix(&format!("{id}-{}-", n + 1)).unwrap();
            assert!(hex.len() == 8 && hex.chars().all(|c| c.is_ascii_hexdigit()), "{key}");
            assert_eq!((&event["data"]["attempt_key"], &run["attempts"][n]["attempt_key"]), (&json!(key), &json!(key)));
            assert_eq!(
                headers["webhook-id"].to_str().unwrap(),
                run["attempts"][n]["idempotency_key"].as_str().unwrap()
            );
        }
        assert_eq!(run["attempts"][0]["idempotency_key"], run["attempts"][1]["idempotency_key"]);
    }
}
