//! The API for reminders, users and what became of them.

use punctual_testkit::wait::until_some;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Receiver};

#[tokio::test]
async fn a_reminder_is_shown_as_it_was_asked_for_with_what_the_server_adds() {
    let home = Home::new();
    let server = home.serve();
    let asked = json!({
        "user": "alice", "message": "Take your medicine", "name": "medicine",
        "schedule": { "type": "weekly", "time": "07:30", "days": ["weekdays"] },
        "timezone": "Europe/Berlin", "priority": "high",
        "to": [{ "channel": "webhook", "address": "http://127.0.0.1:9000/hook" }],
        "require_ack": true, "ack_prompt": "Did you take it?", "ack_timeout": "10m", "max_ack_reminders": 3,
        "snooze_allowed": true, "max_retries": 3, "misfire": { "policy": "latest", "within": "1d" },
        "on_unknown": "resend", "created_via": "api", "original_text": "remind me …", "metadata": { "room": 7 }, "tags": ["health"],
    });
    let made = server.create(asked.clone()).await;
    for (field, value) in asked.as_object().unwrap() {
        if field != "schedule" {
            assert_eq!(&made[field], value, "{field}");
        }
    }
    assert_eq!(made["status"], "active");
    assert_eq!(made["summary"], "every weekday at 07:30, Europe/Berlin");
    assert!(made["next_run_at"].is_string() && made["created_at"].is_string());
    assert_eq!(
        (&made["last_run_at"], &made["last_status"], &made["total_runs"]),
        (&Value::Null, &Value::Null, &json!(0))
    );
    assert_eq!(server.get(&format!("/v1/reminders/{}", made["id"].as_str().unwrap())).await, made);
}

#[tokio::test]
async fn only_the_given_fields_change_and_null_clears() {
    let home = Home::new();
    let server = home.serve();
    let made = server
        .create(json!({ "message": "m", "name": "n", "ack_prompt": "p?", "schedule": { "type": "daily", "time": "08:00" } }))
        .await;
    assert_eq!((made["require_ack"].as_bool(), made["ack_prompt"].as_str()), (Some(true), Some("p?")));
    let path = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
    let patch = |body| server.call(Method::PATCH, &path, Some(body));

    let (_, changed) = patch(json!({ "ack_timeout": "5m" })).await;
    assert_eq!((&changed["ack_timeout"], &changed["ack_prompt"]), (&json!("5m"), &json!("p?")));
    let (_, changed) = patch(json!({ "name": null, "ack_prompt": null })).await;
    assert_eq!(
        (&changed["name"], &changed["ack_prompt"], &changed["require_ack"]),
        (&Value::Null, &Value::Null, &json!(true))
    );
    let (_, changed) = patch(json!({ "require_ack": false, "schedule": { "type": "daily", "time": "09:00" } })).await;
    assert_eq!((&changed["require_ack"], &changed["summary"]), (&json!(false), &json!("every day at 09:00, UTC")));
    assert_eq!(changed["message"], "m");
    let (_, changed) = patch(json!({ "timezone": "Asia/Tokyo" })).await;
    assert!(changed["next_run_at"].as_str().unwrap().contains("T00:00:00"), "{changed}");
}

#[tokio::test]
async fn the_zone_is_the_reminders_else_the_users_else_the_servers() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_TIMEZONE", "Asia/Tokyo")]);
    let zone = |user: &str, own: Option<&str>| {
        let body =
            json!({ "user": user, "message": "m", "timezone": own, "schedule": { "type": "daily", "time": "08:00" } });
        let server = &server;
        async move { server.create(body).await["timezone"].as_str().unwrap().to_owned() }
    };
    assert_eq!(zone("alice", None).await, "Asia/Tokyo");
    let put = |body| server.call(Method::PUT, "/v1/users/alice", Some(body));
    assert_eq!(put(json!({ "timezone": "Europe/Berlin" })).await.0, 201);
    assert_eq!(zone("alice", None).await, "Europe/Berlin", "at once, not when the cache forgets");
    assert_eq!(zone("alice", Some("-02:00")).await, "-02:00");
    assert_eq!(put(json!({ "timezone": null })).await.0, 200);
    assert_eq!(zone("alice", None).await, "Asia/Tokyo");
}

#[tokio::test]
async fn lists_page_and_filter() {
    let home = Home::new();
    let server = home.serve();
    let items: Vec<Value> = (1..=7)
        .map(|n| {
            let user = if n % 2 == 0 { "even" } else { "odd" };
            let schedule = json!({ "type": "once", "at": format!("{n}h") });
            json!({ "user": user, "message": format!("m{n}"), "name": format!("n{n}"), "schedule": schedule })
        })
        .collect();
    assert_eq!(server.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": items }))).await.0, 201);
    let mut seen = Vec::new();
    let mut path = "/v1/reminders?limit=3".to_owned();
    loop {
        let page = server.get(&path).await;
        let reminders = page["reminders"].as_array().unwrap();
        seen.extend(reminders.iter().map(|reminder| reminder["message"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        assert_eq!(reminders.len(), 3);
        path = format!("/v1/reminders?limit=3&cursor={cursor}");
    }
    seen.sort();
    assert_eq!(seen, ["m1", "m2", "m3", "m4", "m5", "m6", "m7"]);
    for (query, n) in [
        ("user=even", 3),
        ("user=nobody", 0),
        ("mine=true", 0),
        ("match=n3", 1),
        ("status=cancelled", 0),
        ("from=210m", 4),
        ("to=210m", 3),
        ("from=90m&to=210m&user=odd", 1),
    ] {
        let page = server.get(&format!("/v1/reminders?{query}")).await;
        assert_eq!(page["reminders"].as_array().unwrap().len(), n, "{query}");
    }
}

#[tokio::test]
async fn a_fired_reminder_leaves_a_trail() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let made = server
        .create(json!({
            "message": "m", "schedule": { "type": "daily", "time": "08:00" },
            "to": [{ "channel": "webhook", "address": receiver.url }],
        }))
        .await;
    let path = format!("/v1/reminders/{}", made["id"].as_str().unwrap());
    assert_eq!(server.call(Method::POST, &format!("{path}/fire"), None).await.0, 200);
    let (_, event) = receiver.next().await;
    let run = until_some("the run has ended", async || {
        let run = server.get(&format!("/v1/occurrences/{}", event["data"]["occurrence_id"].as_str().unwrap())).await;
        (run["state"] != "processing").then_some(run)
    })
    .await;
    assert_eq!(run["state"], "delivered");
    assert_eq!(run["attempts"][0]["status"], "sent");
    assert_eq!(run["attempts"][0]["address"].as_str(), Some(receiver.url.as_str()));
    let page = server.get(&format!("{path}/occurrences?limit=1")).await;
    assert_eq!(page["occurrences"][0]["run_number"], run["run_number"]);
    assert!(page["audit"].as_array().unwrap().iter().any(|entry| entry["kind"] == "reminder.created"), "{page}");
    assert_eq!(server.get(&path).await["status"], "active", "the series goes on");
    let metrics = server.request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains(r#"punctual_occurrences_total{state="delivered",via="manual"} 1"#), "{metrics}");
    let (status, problem) = server.call(Method::POST, &format!("{path}/resume"), None).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (409, Some("conflict")), "{problem}");
}

#[tokio::test]
async fn a_reminder_without_an_address_goes_where_the_user_is_reached() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let user = json!({ "addresses": [{ "channel": "webhook", "address": receiver.url }] });
    let (_, put) = server.call(Method::PUT, "/v1/users/a%20lice", Some(user)).await;
    assert_eq!((put["id"].as_str(), &put["quiet_hours"]), (Some("a lice"), &Value::Null));
    server.create(json!({ "user": "a lice", "message": "m", "schedule": { "type": "once", "at": "0s" } })).await;
    assert_eq!(receiver.next().await.1["data"]["user"], "a lice");
    assert_eq!(server.get("/v1/users").await["users"][0]["id"], "a lice");
    for (body, field) in [
        (json!({ "timezone": "Nowhere" }), "timezone"),
        (json!({ "addresses": [{ "channel": "webhok", "address": "x" }] }), "addresses[0].channel"),
        (json!({ "quiet_hours": { "from": "22:00" } }), "quiet_hours.to"),
        (json!({ "quiet_hours": { "from": "25:00", "to": "07:00" } }), "quiet_hours.from"),
        (json!({ "quiet_hours": { "from": "22:00", "to": "22:00" } }), "quiet_hours"),
        (json!({ "quiet_hours": { "from": "22:00", "to": "07:00", "except": "low" } }), "quiet_hours.except"),
        (json!({ "quiet_hours": { "from": "22:00", "to": "07:00", "digest": "yes" } }), "quiet_hours.digest"),
        (json!({ "quiet_hours": { "from": "22:00", "to": "07:00", "excpt": "high" } }), "quiet_hours.excpt"),
        (json!({ "paused_until": "2020-01-01T00:00:00Z" }), "paused_until"),
        (json!({ "paused_until": "someday" }), "paused_until"),
        (json!({ "paused_until": "every monday" }), "paused_until"),
        (json!({ "paused_until": "9999-01-01T00:00:00Z" }), "paused_until"),
        (json!({ "paused_until": 5 }), "paused_until"),
        (json!({ "tz": "UTC" }), "tz"),
    ] {
        let (status, problem) = server.call(Method::PUT, "/v1/users/a%20lice", Some(body)).await;
        assert_eq!((status.as_u16(), problem["field"].as_str()), (422, Some(field)), "{problem}");
    }
    assert_eq!(server.call(Method::DELETE, "/v1/users/a%20lice", None).await.0, 204);
}
