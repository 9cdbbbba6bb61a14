//! A cancel that is undone, by HTTP and by the command line, also one that was made in SQL.

use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Receiver, Server};

fn path(reminder: &Value, verb: &str) -> String {
    format!("/v1/reminders/{}{verb}", reminder["id"].as_str().unwrap())
}

async fn cancel(server: &Server, reminder: &Value) {
    let (status, cancelled) = server.call(Method::DELETE, &path(reminder, ""), None).await;
    assert_eq!((status.as_u16(), &cancelled["status"]), (200, &json!("cancelled")), "{cancelled}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undone_cancel_is_sent_after_all() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let to = json!([{ "channel": "webhook", "address": receiver.url }]);
        let schedule = json!({ "type": "once", "at": "3s" });
        let made = server.create(json!({ "user": "me", "message": "water", "schedule": schedule, "to": to })).await;
        cancel(&server, &made).await;
        let (status, undone) = server.call(Method::POST, &path(&made, "/undo"), None).await;
        assert_eq!((status.as_u16(), &undone["status"]), (200, &json!("active")), "{undone}");
        assert_eq!(undone["next_run_at"], made["next_run_at"]);
        assert_eq!(receiver.next().await.1["data"]["message"], "water");
        let (status, problem) = server.call(Method::POST, &path(&made, "/undo"), None).await;
        assert_eq!(status, 409, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("not cancelled"), "{problem}");
        let (status, problem) = server.call(Method::POST, &path(&made, "/undo"), Some(json!({ "run": 1 }))).await;
        assert_eq!((status.as_u16(), &problem["field"]), (422, &json!("body")), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fell_due_before_the_undo_is_missed() {
    let home = Home::new();
    let server = home.serve();
    let schedule = json!({ "type": "interval", "every": "2s" });
    let made = server.create(json!({ "user": "me", "message": "stand up", "schedule": schedule })).await;
    cancel(&server, &made).await;
    let first = made["next_run_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    until("its first run is due", async || punctual_engine::SystemClock::read() > first).await;
    let undone = home.run(&["undo", "stand up", "--json"]).json();
    assert_eq!(undone["status"], "active");
    assert!(undone["next_run_at"].as_str().unwrap() > made["next_run_at"].as_str().unwrap(), "{undone}");
    let runs = server.get(&path(&made, "/occurrences")).await;
    let states: Vec<&str> =
        runs["occurrences"].as_array().unwrap().iter().map(|run| run["state"].as_str().unwrap()).collect();
    assert_eq!(states.last(), Some(&"missed"), "{runs}");
    let shown = home.run(&["show", "stand up"]).ok();
    assert!(shown.contains("undo"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_undoes_the_last_cancel() {
    let home = Home::new();
    let server = home.serve();
    home.run(&["undo"]).fails(1, &["nothing was cancelled that could be brought back"]);
    for message in ["first", "second"] {
        home.run(&["add", message, "--in", "1h"]).ok();
    }
    home.run(&["add", "another's", "--in", "1h", "--user", "bob"]).ok();
    home.run(&["cancel", "first"]).ok();
    home.run(&["cancel", "second"]).ok();
    home.run(&["cancel", "another's", "--user", "bob"]).ok();
    let said = home.run(&["undo"]).ok();
    assert!(said.contains("brought back") && said.contains("second"), "{said}");
    let said = home.run(&["undo", "--user", "bob"]).ok();
    assert!(said.contains("another's"), "{said}");
    home.run(&["undo"]).fails(1, &["it is active, not cancelled"]);
    let listed = home.run(&["list", "--json"]).json();
    assert_eq!(listed["reminders"].as_array().unwrap().len(), 1, "{listed}");

    // A key that is bound to a user undoes what is theirs alone.
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "k", "user": "bob" }))).await;
    let first = server.get("/v1/reminders?match=first").await["reminders"][0].clone();
    let bobs = key["key"].as_str().unwrap();
    assert_eq!(server.call_with(bobs, Method::POST, &path(&first, "/undo"), None).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_brought_back_stands_as_its_event_says_by_now() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let to = json!([{ "channel": "console", "address": "" }]);
        let put = async |starts_at: &str, offsets: Value| {
            let body =
                json!({ "starts_at": starts_at, "offsets": offsets, "to": to, "message": "Chess in {minutes} min" });
            let (status, event) = server.call(Method::PUT, "/v1/events/game", Some(body)).await;
            assert!(status.is_success(), "{event}");
        };
        put("2099-06-01T18:00:00Z", json!([60, 15])).await;
        let slots = server.get("/v1/events/game").await["reminders"].clone();
        let reminder = |n: usize| json!({ "id": slots[n]["reminder_id"] });
        cancel(&server, &reminder(0)).await;
        cancel(&server, &reminder(1)).await;
        put("2099-06-02T18:00:00Z", json!([60])).await;
        let (status, undone) = server.call(Method::POST, &path(&reminder(0), "/undo"), None).await;
        let stands = (status.as_u16(), &undone["status"], &undone["next_run_at"]);
        assert_eq!(stands, (200, &json!("active"), &json!("2099-06-02T17:00:00Z")), "{undone}");
        // The offset of the other is gone.
        for _ in 0..2 {
            let (status, problem) = server.call(Method::POST, &path(&reminder(1), "/undo"), None).await;
            assert_eq!(status, 409, "{problem}");
            assert_eq!(server.get(&path(&reminder(1), "")).await["status"], "cancelled");
        }
    }
}
