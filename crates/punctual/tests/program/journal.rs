//! The journal over HTTP and on the command line.

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Receiver, Server};

/// Makes a reminder of `user`'s that is due in another century.
async fn remind(server: &Server, user: &str) -> String {
    let at = json!({ "type": "once", "at": "2099-01-01T00:00:00Z" });
    let made = server.create(json!({ "user": user, "message": "m", "schedule": at })).await;
    made["id"].as_str().unwrap().to_owned()
}

async fn key_of(server: &Server, user: &str) -> (String, String) {
    let (status, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": user, "user": user }))).await;
    assert_eq!(status, 201, "{key}");
    (key["id"].as_str().unwrap().to_owned(), key["key"].as_str().unwrap().to_owned())
}

fn kinds(page: &Value) -> Vec<&str> {
    page["entries"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect()
}

fn ids(page: &Value) -> Vec<i64> {
    page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_was_done_is_listed_in_order_with_who_did_it() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let ann = remind(&server, "ann").await;
        let bob = remind(&server, "bob").await;
        let patch = json!({ "message": "tea" });
        server.call(Method::PATCH, &format!("/v1/reminders/{ann}"), Some(patch)).await;
        server.call(Method::DELETE, &format!("/v1/reminders/{ann}"), None).await;
        server.call(Method::PUT, "/v1/users/ann", Some(json!({ "timezone": "Europe/Berlin" }))).await;
        let (key_id, key) = key_of(&server, "ann").await;
        server.call(Method::DELETE, &format!("/v1/keys/{key_id}"), None).await;

        let all = server.get("/v1/audit").await;
        let expect = [
            "reminder.created",
            "reminder.created",
            "reminder.changed",
            "reminder.cancelled",
            "user.changed",
            "key.created",
            "key.deleted",
        ];
        assert_eq!(kinds(&all), expect, "{all:#}");
        assert!(ids(&all).is_sorted_by(|a, b| a < b));
        let first = &all["entries"][0];
        assert_eq!(
            (&first["user"], &first["reminder_id"], &first["actor"]),
            (&json!("ann"), &json!(ann), &json!("admin"))
        );
        assert_eq!((&first["occurrence_id"], &first["via"]), (&Value::Null, &json!("api")));
        assert!(first["node"].is_string(), "{first}");
        assert_eq!(all["entries"][2]["data"], json!({ "did": "update", "fields": ["message"] }));
        assert_eq!(all["entries"][6]["data"]["id"], *key_id);
        assert!(!all.to_string().contains(&key), "no secret stands in the journal");

        for (query, expect) in [
            ("?user=bob".to_owned(), vec![1]),
            (format!("?reminder={ann}"), vec![0, 2, 3]),
            ("?kind=reminder.changed,key.created".into(), vec![2, 5]),
            ("?actor=nobody".into(), vec![]),
            (format!("?reminder={bob}&user=ann"), vec![]),
            ("?from=2000-01-01&to=2001-01-01".into(), vec![]),
            ("?from=today&limit=3".into(), vec![0, 1, 2]),
            ("?order=newest&limit=2".into(), vec![6, 5]),
            (format!("?limit=2&cursor={}", ids(&all)[3]), vec![4, 5]),
            (format!("?order=newest&limit=2&cursor={}", ids(&all)[3]), vec![2, 1]),
        ] {
            let page = server.get(&format!("/v1/audit{query}")).await;
            let expect: Vec<i64> = expect.into_iter().map(|index: usize| ids(&all)[index]).collect();
            assert_eq!(ids(&page), expect, "{query}");
        }
        let page = server.get("/v1/audit?limit=5").await;
        let rest = server.get(&format!("/v1/audit?cursor={}", page["next_cursor"].as_str().unwrap())).await;
        assert_eq!([ids(&page), ids(&rest)].concat(), ids(&all));
        assert_eq!(rest["next_cursor"], Value::Null);
        for (query, field) in [
            ("?kind=reminder.send", "kind"),
            ("?order=oldst", "order"),
            ("?from=soon-ish", "from"),
            ("?cursor=x", "cursor"),
        ] {
            let (status, problem) = server.call(Method::GET, &format!("/v1/audit{query}"), None).await;
            assert!(status.is_client_error() && problem["field"] == field, "{query}: {problem}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_bound_to_a_user_sees_that_users_entries_and_no_others() {
    let home = Home::new();
    let server = home.serve();
    let (ann, bob) = (remind(&server, "ann").await, remind(&server, "bob").await);
    let (_, key) = key_of(&server, "ann").await;
    let get = async |path: &str| server.call_with(&key, Method::GET, path, None).await;
    let (status, all) = get("/v1/audit").await;
    assert_eq!((status.as_u16(), kinds(&all)), (200, vec!["reminder.created", "key.created"]));
    assert!(all["entries"].as_array().unwrap().iter().all(|entry| entry["user"] == "ann"));
    assert_eq!(ids(&get(&format!("/v1/audit?reminder={bob}")).await.1).len(), 0);
    assert_eq!(ids(&get(&format!("/v1/audit?reminder={ann}")).await.1).len(), 1);
    assert_eq!(get("/v1/audit?user=bob").await.0, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_became_of_a_reminder_stands_in_the_journal_and_in_show() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let to = json!([{ "channel": "webhook", "address": receiver.url }]);
    let now = json!({ "type": "once", "at": "now" });
    let made = json!({ "user": "ann", "message": "tea", "schedule": now, "to": to, "only": true, "require_ack": true });
    let id = server.create(made).await["id"].as_str().unwrap().to_owned();
    receiver.next().await;
    let audit = format!("/v1/audit?reminder={id}");
    punctual_testkit::wait::until("it was sent", async || kinds(&server.get(&audit).await).len() == 2).await;
    let answer = json!({ "text": "popio sam", "channel": "webhook" });
    let (status, _) = server.call(Method::POST, &format!("/v1/reminders/{id}/ack"), Some(answer)).await;
    assert_eq!(status, 200);
    let all = server.get(&audit).await;
    assert_eq!(kinds(&all), ["reminder.created", "reminder.sent", "reminder.acknowledged"]);
    let sent = &all["entries"][1];
    assert_eq!(sent["occurrence_id"], format!("{id}-1"));
    assert_eq!((&sent["actor"], &sent["via"]), (&json!("engine"), &Value::Null));
    assert_eq!(sent["data"], json!({ "channel": "webhook", "attempt": 1 }));
    assert!(!all.to_string().contains(&receiver.url), "an address may be a secret");
    assert_eq!(all["entries"][2]["data"]["text"], "popio sam");
    let shown = home.run(&["show", &id]).ok();
    assert!(shown.contains("sent to webhook:") && shown.contains("ack by ann on webhook: “popio sam”"), "{shown}");
    assert!(!shown.contains("reminder.sent"), "the attempt tells it: {shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_lists_and_exports() {
    let home = Home::new();
    let server = home.serve();
    // More than a page.
    let reminder = |n: usize| json!({ "user": format!("u{}", n % 2), "message": "m", "schedule": { "type": "once", "at": "2099-01-01T00:00:00Z" } });
    let batch = json!({ "reminders": (0..1203).map(reminder).collect::<Vec<_>>() });
    assert_eq!(server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await.0, 201);
    let lines = home.run(&["audit", "--json"]).ok();
    let exported: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(exported.len(), 1203);
    assert!(exported.iter().map(|entry| entry["id"].as_i64().unwrap()).is_sorted_by(|a, b| a < b));
    assert_eq!(home.run(&["audit", "--json", "--user", "u1"]).ok().lines().count(), 601);
    let id = exported[7]["reminder_id"].as_str().unwrap();
    let shown = home.run(&["audit", "--reminder", id]).ok();
    assert!(
        shown.lines().count() == 1 && shown.contains("reminder.created  u1") && shown.contains("by admin via api"),
        "{shown}"
    );
    assert_eq!(home.run(&["audit"]).ok().lines().count(), 50);
    assert_eq!(home.run(&["audit", "-n", "700", "--kind", "reminder.created"]).ok().lines().count(), 700);
    assert_eq!(home.run(&["audit", "--kind", "key.created"]).ok(), "No such entries.\n");
    home.run(&["audit", "--kind", "reminder.send"]).fails(1, &["kind", "reminder.sent"]);
}
