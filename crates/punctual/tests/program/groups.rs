//! People who belong together.

use reqwest::Method;
use serde_json::json;

use crate::common::Home;

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
