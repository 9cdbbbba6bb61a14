//! People who belong together.

use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::json;

use crate::common::{Home, Kept};

#[tokio::test]
async fn a_group_is_kept_replaced_and_removed() {
    let home = Home::new();
    let server = home.serve();
    let (status, made) = server.call(Method::PUT, "/v1/groups/on-call", Some(json!({ "users": ["bob", "eve"] }))).await;
    assert_eq!((status.as_u16(), &made["mode"], &made["users"]), (201, &json!("in_order"), &json!(["bob", "eve"])));
    let all = json!({ "users": ["eve"], "mode": "all" });
    let (status, changed) = server.call(Method::PUT, "/v1/groups/on-call", Some(all)).await;
    assert_eq!((status.as_u16(), &changed["mode"], &changed["created_at"]), (200, &json!("all"), &made["created_at"]));
    assert_eq!(server.get("/v1/groups/on-call").await, changed);
    server.call(Method::PUT, "/v1/groups/family", Some(json!({ "users": ["ann"] }))).await;
    let page = server.get("/v1/groups?limit=1").await;
    assert_eq!((&page["groups"][0]["name"], &page["next_cursor"]), (&json!("family"), &json!("family")));
    assert_eq!(server.call(Method::DELETE, "/v1/groups/on-call", None).await.0, 204);
    assert_eq!(server.call(Method::DELETE, "/v1/groups/on-call", None).await.0, 404);
    assert_eq!(server.call(Method::GET, "/v1/groups/on-call", None).await.0, 404);
}

#[tokio::test]
async fn a_wrong_group_is_refused_with_its_field() {
    let home = Home::new();
    let server = home.serve();
    for (name, body, field) in [
        ("On%20call", json!({ "users": ["bob"] }), "name"),
        ("oc", json!({}), "users"),
        ("oc", json!({ "users": [] }), "users"),
        ("oc", json!({ "users": ["bob", "bob"] }), "users[1]"),
        ("oc", json!({ "users": ["bob"], "mode": "some" }), "mode"),
        ("oc", json!({ "users": ["bob"], "rota": "x" }), "rota"),
    ] {
        let (status, problem) = server.call(Method::PUT, &format!("/v1/groups/{name}"), Some(body.clone())).await;
        assert_eq!((status.as_u16(), &problem["field"]), (422, &json!(field)), "{body}: {problem}");
    }
    assert_eq!(server.get("/v1/groups").await["groups"], json!([]));
}

#[tokio::test]
async fn a_key_that_is_bound_to_a_user_sees_no_groups() {
    let home = Home::new();
    let server = home.serve();
    server.call(Method::PUT, "/v1/groups/on-call", Some(json!({ "users": ["bob"] }))).await;
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "bobs", "user": "bob" }))).await;
    let bobs = key["key"].as_str().unwrap();
    let (_, page) = server.call_with(bobs, Method::GET, "/v1/groups", None).await;
    assert_eq!(page["groups"], json!([]));
    for (method, body) in [(Method::GET, None), (Method::DELETE, None), (Method::PUT, Some(json!({ "users": ["x"] })))]
    {
        let (status, problem) = server.call_with(bobs, method.clone(), "/v1/groups/on-call", body).await;
        assert_eq!(status, 404, "{method}: {problem}");
    }
    assert_eq!(server.get("/v1/groups/on-call").await["users"], json!(["bob"]));
}

#[test]
fn the_command_line_sets_shows_and_removes_groups() {
    let home = Home::new();
    let _server = home.serve();
    let shown = home.run(&["groups", "set", "on-call", "bob", "eve"]).ok();
    assert_eq!(shown, "GROUP    MODE      USERS\non-call  in_order  bob, eve\n");
    let shown = home.run(&["groups", "set", "on-call", "--mode", "all"]).ok();
    assert_eq!(shown, "GROUP    MODE  USERS\non-call  all   bob, eve\n", "what is not given stays");
    assert_eq!(home.run(&["groups"]).ok(), shown);
    assert_eq!(home.run(&["groups", "delete", "on-call"]).ok(), "removed the group on-call; its users stay\n");
    assert!(home.run(&["groups", "list"]).ok().starts_with("No groups yet."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rota_that_cannot_be_read_is_told_and_an_escalation_says_that_nobody_is_on_duty() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let mut env = kept.env();
        env.push(("PUNCTUAL_CALENDAR_FILES", home.path().to_str().unwrap()));
        let server = home.serve_with(&env);
        let odd = "BEGIN:VEVENT\r\nUID:weekly\r\nSUMMARY:ann\r\nDTSTART:20260101T080000Z\r\nRRULE:FREQ=NEVER\r\nEND:VEVENT\r\n";
        let calendar = |events: &str| format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{events}END:VCALENDAR\r\n");
        std::fs::write(home.path().join("odd.ics"), calendar(odd)).unwrap();
        std::fs::write(home.path().join("good.ics"), calendar("")).unwrap();
        home.run(&["groups", "set", "family", "ann"]).ok();
        for (group, rota) in [("bare", "file:nope.ics"), ("good", "file:good.ics"), ("odd", "file:odd.ics")] {
            home.run(&["groups", "set", group, "--rota", rota]).ok();
        }
        let problem = async || server.get("/v1/groups/bare").await["problem"].clone();
        until("it is tried", async || problem().await.is_string()).await;
        until("the other is read", async || server.get("/v1/groups/odd").await["problems"].is_array()).await;
        let bare = server.get("/v1/groups/bare").await;
        let why = bare["problem"].as_str().unwrap();
        assert!(why.starts_with("the file cannot be read") && bare["on_duty"] == json!([]), "{bare}");
        let odd = server.get("/v1/groups/odd").await;
        assert!(odd["problem"].is_null() && odd["problems"][0].as_str().unwrap().starts_with("weekly: RRULE"), "{odd}");
        let good = server.get("/v1/groups/good").await;
        assert!(good.get("problem").is_none() && good.get("problems").is_none(), "{good}");
        let page = server.get("/v1/groups").await;
        let problems: Vec<_> = page["groups"].as_array().unwrap().iter().map(|group| &group["problem"]).collect();
        assert_eq!(problems, [&bare["problem"], &json!(null), &json!(null), &json!(null)], "{page}");
        let told = json!({ "rota": "file:odd.ics", "problems": [] });
        let (status, said) = server.call(Method::PUT, "/v1/groups/odd", Some(told)).await;
        assert_eq!((status.as_u16(), &said["errors"][0]["code"]), (422, &json!("read_only")), "{said}");

        let shown = home.run(&["groups", "show", "bare"]).ok();
        assert!(shown.contains("PROBLEM") && shown.contains("the file cannot be read"), "{shown}");
        assert_eq!(home.run(&["groups", "show", "bare", "--json"]).json()["problem"], bare["problem"]);
        assert!(!home.run(&["groups", "show", "good"]).ok().contains("PROBLEM"));
        let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "anns", "user": "ann" }))).await;
        let (status, _) = server.call_with(key["key"].as_str().unwrap(), Method::GET, "/v1/groups/bare", None).await;
        assert_eq!(status, 404);

        let asks = json!({
            "user": "ann", "message": "The pump is off", "schedule": { "type": "once", "at": "0s" }, "require_ack": true,
            "ack_timeout": "1h", "to": [{ "channel": "console" }], "escalate": [{ "after": "1s", "to": "group:bare" }],
        });
        let made = server.create(asks).await;
        let audit = async || server.get("/v1/audit?kind=reminder.escalated").await["entries"].clone();
        until("it is escalated", async || audit().await[0].is_object()).await;
        assert_eq!(audit().await[0]["data"]["unknown"], json!(["group:bare: nobody is on duty"]));
        let shown = home.run(&["show", made["id"].as_str().unwrap()]).ok();
        assert!(shown.contains("escalated to nobody; group:bare: nobody is on duty"), "{shown}");
    }
}
