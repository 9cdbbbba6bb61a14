//! Reminders are found by words in their text, at once and when they have changed.

use std::collections::BTreeSet;

use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Server};

fn messages(list: &Value) -> Vec<&str> {
    list["reminders"].as_array().unwrap().iter().map(|reminder| reminder["message"].as_str().unwrap()).collect()
}

async fn add(server: &Server, user: &str, message: &str) -> Value {
    server.create(json!({ "user": user, "message": message, "schedule": { "type": "once", "at": "1h" } })).await
}

/// Waits until the index has come to the end of the journal.
async fn indexed(server: &Server) {
    until("all is in the index", async || {
        server.get("/v1/reminders?q=nothing-of-this").await.get("indexing").is_none()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_are_found_at_once_and_follow_changes() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mom = add(&server, "me", "Call Mom about the Čaj").await;
        add(&server, "bob", "mom's birthday").await;
        indexed(&server).await;
        let find = async |query: &str| messages(&server.get(&format!("/v1/reminders?{query}")).await).join(", ");
        assert_eq!(find("q=mom").await, "mom's birthday, Call Mom about the Čaj");
        assert_eq!(find("q=caj&user=me").await, "Call Mom about the Čaj");
        assert_eq!(find("q=%D1%87%D0%B0%D1%98").await, "Call Mom about the Čaj", "чај");
        assert_eq!(find("q=mo&user=bob").await, "mom's birthday");
        assert_eq!(find("q=dad").await, "");

        // What was made or changed a moment ago is found before the index has it.
        add(&server, "me", "water for dad").await;
        assert_eq!(find("q=for+dad").await, "water for dad");
        let path = format!("/v1/reminders/{}", mom["id"].as_str().unwrap());
        server.call(Method::PATCH, &path, Some(json!({ "message": "Call Grandma" }))).await;
        assert_eq!((find("q=grandma").await, find("q=caj").await), ("Call Grandma".to_owned(), String::new()));
        indexed(&server).await;
        assert_eq!((find("q=grandma").await, find("q=caj").await), ("Call Grandma".to_owned(), String::new()));

        server.call(Method::DELETE, &path, None).await;
        assert_eq!(find("q=grandma&status=active").await, "");
        assert_eq!(find("q=grandma&status=cancelled").await, "Call Grandma");
        let first = server.get("/v1/reminders?q=mom&limit=1").await;
        assert_eq!((messages(&first), &first["next_cursor"]), (vec!["mom's birthday"], &Value::Null));

        for (query, field) in
            [("q=mo", "q"), ("q=%20", "q"), ("q=%E2%80%8B", "q"), ("q=mom&channel=webhook", "channel")]
        {
            let (status, problem) = server.call(Method::GET, &format!("/v1/reminders?{query}"), None).await;
            assert_eq!((status.as_u16(), &problem["field"]), (422, &json!(field)), "{query}: {problem}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_before_the_index_is_found_when_it_is_filled() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_SEARCH", "false")]);
    for n in 0..450 {
        add(&server, "me", &format!("plant number {n}")).await;
    }
    let page = server.get("/v1/reminders?q=number+1").await;
    assert!(page["indexing"].as_u64().unwrap() > 0, "{page}");
    drop(server.stop());
    let server = home.serve();
    indexed(&server).await;
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.get(&format!("/v1/reminders?q=plant&limit=100{cursor}")).await;
        found.extend(page["reminders"].as_array().unwrap().iter().map(|reminder| {
            let created_at = reminder["created_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
            (created_at.as_millisecond(), reminder["message"].as_str().unwrap().to_owned())
        }));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    // The ids of reminders that were made in one millisecond have no order.
    assert!(found.is_sorted_by(|(later, _), (earlier, _)| later >= earlier), "the newest comes first: {found:?}");
    let found: BTreeSet<String> = found.into_iter().map(|(_, message)| message).collect();
    assert_eq!(found, (0..450).map(|n| format!("plant number {n}")).collect());
    let listed = home.run(&["list", "number", "44", "--json"]).json();
    assert_eq!(messages(&listed).len(), 11, "{listed}");
    let said = home.run(&["list", "cat"]).ok();
    assert_eq!(said, "No such reminders.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_bound_to_a_user_finds_theirs_alone() {
    let home = Home::new();
    let server = home.serve();
    add(&server, "ann", "call mom").await;
    add(&server, "bob", "call mom, too").await;
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "k", "user": "bob" }))).await;
    for _ in 0..2 {
        let (_, page) = server.call_with(key["key"].as_str().unwrap(), Method::GET, "/v1/reminders?q=mom", None).await;
        assert_eq!(messages(&page), ["call mom, too"]);
        indexed(&server).await;
    }
}
