//! Reminders of a user, a group or a tag are not sent for a while.

use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Receiver, Server};

async fn silence(server: &Server, body: Value) -> Value {
    let (status, made) = server.call(Method::POST, "/v1/silences", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    made
}

fn chore(receiver: &Receiver, user: &str) -> Value {
    json!({ "user": user, "message": "sweep", "tags": ["Chores"], "schedule": { "type": "once", "at": "1s" },
        "to": [{ "channel": "webhook", "address": receiver.url }] })
}

async fn run(server: &Server, made: &Value) -> Value {
    server.get(&format!("/v1/occurrences/{}-1", made["id"].as_str().unwrap())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_tag_waits_and_is_sent_when_the_silence_is_ended() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let mut receiver = Receiver::listen().await;
        let made = silence(&server, json!({ "tag": "CHORES", "until": "3d" })).await;
        assert_eq!((&made["tag"], &made["user"]), (&json!("chores"), &Value::Null));
        let chore = server.create(chore(&receiver, "ann")).await;
        until("it waits", async || run(&server, &chore).await["state"] == "waiting").await;
        let waiting = run(&server, &chore).await;
        assert_eq!((&waiting["why"], &waiting["until"]), (&json!("silenced"), &made["until"]), "{waiting}");
        let shown = home.run(&["show", chore["id"].as_str().unwrap()]).ok();
        assert!(shown.contains("waiting for the end of a silence"), "{shown}");

        let path = format!("/v1/silences/{}", made["id"].as_str().unwrap());
        assert_eq!(server.call(Method::DELETE, &path, None).await.0, 204);
        assert_eq!(receiver.next().await.1["data"]["message"], "sweep");
        assert_eq!(server.call(Method::DELETE, &path, None).await.0, 404);
        assert_eq!(server.get("/v1/silences").await["silences"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_silence_is_refused_with_its_field() {
    let home = Home::new();
    let server = home.serve();
    for (body, field) in [
        (json!({ "tag": "chores" }), "until"),
        (json!({ "tag": "chores", "until": "someday" }), "until"),
        (json!({ "tag": "chores", "until": "2001-01-01T00:00:00Z" }), "until"),
        (json!({ "tag": "chores", "from": "2h", "until": "1h" }), "until"),
        (json!({ "tag": "chores", "until": "5000d" }), "until"),
        (json!({ "tag": "a,b", "until": "1h" }), "tag"),
        (json!({ "group": "nobody", "until": "1h" }), "group"),
        (json!({ "until": "1h", "hours": 1 }), "hours"),
    ] {
        let (status, problem) = server.call(Method::POST, "/v1/silences", Some(body.clone())).await;
        assert_eq!((status.as_u16(), &problem["field"]), (422, &json!(field)), "{body}: {problem}");
    }
    assert_eq!(server.get("/v1/silences").await["silences"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_key_silences_its_own_user_alone() {
    let home = Home::new();
    let server = home.serve();
    server.call(Method::PUT, "/v1/groups/family", Some(json!({ "users": ["ann", "bob"] }))).await;
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "k", "user": "bob" }))).await;
    let bobs = key["key"].as_str().unwrap();
    let everybodys = silence(&server, json!({ "tag": "chores", "until": "1h" })).await;
    let post = async |body: Value| server.call_with(bobs, Method::POST, "/v1/silences", Some(body)).await;
    let (status, made) = post(json!({ "tag": "chores", "until": "1h" })).await;
    assert_eq!((status.as_u16(), &made["user"]), (201, &json!("bob")), "{made}");
    assert_eq!(post(json!({ "user": "ann", "until": "1h" })).await.0, 403);
    assert_eq!(post(json!({ "group": "family", "until": "1h" })).await.0, 403);
    let (_, page) = server.call_with(bobs, Method::GET, "/v1/silences", None).await;
    assert_eq!(page["silences"], json!([made]), "it sees its own");
    let end = async |silence: &Value| {
        let path = format!("/v1/silences/{}", silence["id"].as_str().unwrap());
        server.call_with(bobs, Method::DELETE, &path, None).await.0.as_u16()
    };
    assert_eq!((end(&everybodys).await, end(&made).await), (404, 204));
    let mine = silence(&server, json!({ "until": "1h" })).await;
    assert_eq!(mine["user"], "me", "an unbound key means `me` where it says nobody");
}

#[test]
fn the_command_line_silences_lists_and_ends() {
    let home = Home::new();
    let _server = home.serve();
    let said = home.run(&["silence", "2h", "--tag", "chores"]).ok();
    assert!(said.starts_with("nothing is sent to anybody about chores until "), "{said}");
    let listed = home.run(&["silence", "list", "--json"]).json();
    let id = listed["silences"][0]["id"].as_str().unwrap().to_owned();
    let said = home.run(&["silence", "until tomorrow", "--user", "ann", "--from", "1h"]).ok();
    assert!(said.starts_with("nothing is sent to ann from "), "{said}");
    assert_eq!(home.run(&["silence", "end", &id[28..]]).ok(), "ended; what waited is sent now\n");
    let listed = home.run(&["silence", "list"]).ok();
    assert!(listed.contains("ann") && !listed.contains("chores"), "{listed}");
    home.run(&["silence", "end", "ffffffff"]).fails(2, &["no silence has an id that ends with `ffffffff`"]);
}
