//! JSON-RPC: requests, notifications, batches, and what is wrong with them.

use axum::http::header;
use futures_util::{SinkExt, StreamExt};
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_websockets::Message;

use super::socket::{Socket, open};
use super::{new_key, reminder};
use crate::common::{Home, answer, soon};

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_is_added_listed_and_removed() {
    let home = Home::new();
    let server = home.serve();
    let mut socket = Socket::open(&server).await;
    let added = socket.result("cron.add", json!({ "user": "ann", "text": "call mom every day at 8" })).await;
    assert_eq!((&added["message"], &added["schedule"]["type"]), (&json!("call mom"), &json!("daily")), "{added}");
    let id = added["id"].as_str().unwrap();
    let listed = socket.result("cron.list", json!({ "user": "ann" })).await;
    assert_eq!(listed["reminders"][0]["id"], id);
    assert_eq!(socket.result("cron.remove", json!({ "id": id })).await, json!({ "removed": true }));
    assert_eq!(socket.result("cron.list", json!({ "user": "ann", "status": "active" })).await["reminders"], json!([]));
    socket.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_made_as_the_caller_has_seen_it() {
    let home = Home::new();
    let server = home.serve();
    let mut socket = Socket::open(&server).await;
    let id = socket.result("cron.add", reminder("ann")).await["id"].as_str().unwrap().to_owned();
    let shown = server.request(Method::GET, &format!("/v1/reminders/{id}")).bearer_auth(&server.key);
    let shown = soon(shown.send()).await.unwrap();
    let seen = shown.headers()["etag"].to_str().unwrap().to_owned();
    let changed = socket.result("cron.update", json!({ "id": id, "message": "tea", "if_match": seen })).await;
    assert_eq!(changed["message"], "tea");
    for method in ["cron.update", "cron.remove", "cron.pause"] {
        let mut params = json!({ "id": id, "if_match": seen.trim_matches('"') });
        if method == "cron.update" {
            params["message"] = "coffee".into();
        }
        let error = socket.error(method, params).await;
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-32012), &json!("precondition_failed")),
            "{error}"
        );
    }
    let kept = socket.result("cron.get", json!({ "id": id })).await;
    assert_eq!((&kept["message"], &kept["status"]), (&json!("tea"), &json!("active")), "nothing was changed");
    // A method that is made on no condition says so, and does nothing.
    let mut new = reminder("ann");
    new["if_match"] = "*".into();
    let error = socket.error("cron.add", new).await;
    assert_eq!((&error["code"], &error["data"]["status"]), (&json!(-32602), &json!(400)), "{error}");
    socket.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_says_through_which_door_it_was_and_no_client_can_say_otherwise() {
    let home = Home::new();
    let server = home.serve();
    let mut socket = Socket::open(&server).await;
    let by_ws = socket.result("cron.add", reminder("ann")).await;
    assert_eq!(by_ws["created_via"], "ws");
    socket.result("reminders.pause", json!({ "id": by_ws["id"] })).await;
    let forging = server.request(Method::POST, "/v1/reminders").bearer_auth(&server.key).json(&reminder("ann"));
    let forging = forging.header("door", "ws").header("x-door", "Ws").header("via", "1.1 ws");
    let (status, by_http) = answer(soon(forging.send()).await.unwrap()).await;
    assert_eq!((status.as_u16(), &by_http["created_via"]), (201, &json!("api")));
    let vias = async |id: &Value| -> Vec<Value> {
        let entries = server.get(&format!("/v1/audit?reminder={}", id.as_str().unwrap())).await;
        entries["entries"].as_array().unwrap().iter().map(|entry| entry["via"].clone()).collect()
    };
    assert_eq!(vias(&by_ws["id"]).await, ["ws", "ws"]);
    assert_eq!(vias(&by_http["id"]).await, ["api"]);
    let chat =
        json!({ "user": "ann", "message": "m", "schedule": { "type": "once", "at": "1h" }, "created_via": "chat" });
    assert_eq!(socket.result("cron.add", chat).await["created_via"], "chat", "an application may say so itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_has_the_codes_of_json_rpc() {
    let home = Home::new();
    let server = home.serve();
    let mut socket = Socket::open(&server).await;
    for (message, id, code, words) in [
        ("{\"jsonrpc\":", json!(null), -32700, "not valid JSON at line 1"),
        ("", json!(null), -32700, "not valid JSON"),
        ("[1,2", json!(null), -32700, "not valid JSON"),
        ("[]", json!(null), -32600, "empty"),
        ("7", json!(null), -32600, "object"),
        (r#"{"jsonrpc":"2.0","id":"a","method":1}"#, json!("a"), -32600, "method"),
        (r#"{"id":"b","method":"cron.list"}"#, json!("b"), -32600, "jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":[],"method":"cron.list"}"#, json!(null), -32600, "id"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"cron.lst"}"#, json!(1), -32601, "did you mean `cron.list`"),
        (r#"{"jsonrpc":"2.0","id":2,"method":"cron.get"}"#, json!(2), -32602, "id: is missing"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"cron.list","params":[1]}"#, json!(3), -32602, "by name"),
        (r#"{"jsonrpc":"2.0","id":4,"method":"cron.get","params":{"id":"r1"}}"#, json!(4), -32004, "is not an id"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"nope"}"#, json!(null), -32601, "nope"),
    ] {
        socket.text(message).await;
        let answer = socket.message().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{message}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{message}: {answer}");
    }
    let error =
        socket.error("cron.add", json!({ "user": "ann", "message": "m", "schedule": { "type": "daily" } })).await;
    assert_eq!(error["data"]["errors"][0]["field"], "schedule.time", "{error}");
    assert_eq!(socket.result("cron.list", json!({})).await["reminders"], json!([]), "nothing of it was done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_answered_by_a_list_and_a_notification_by_nothing() {
    let home = Home::new();
    let server = home.serve();
    let mut socket = Socket::open(&server).await;
    let call = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let notify = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
    // In the order in which it was sent: what was added is in the list that is asked for after it.
    let batch = json!([
        call(json!("a"), "cron.add", reminder("ann")),
        notify("cron.add", reminder("ann")),
        1,
        notify("cron.add", json!({ "user": "ann" })),
        call(json!("b"), "nope", json!({})),
        call(json!("c"), "cron.list", json!({ "user": "ann" })),
    ]);
    socket.text(batch).await;
    let answers = socket.message().await;
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("a"), &json!(null), &json!("b"), &json!("c")], "{answers}");
    assert_eq!(answers[1]["error"]["code"], -32600);
    assert_eq!(answers[2]["error"]["code"], -32601);
    assert_eq!(answers[3]["result"]["reminders"].as_array().unwrap().len(), 2);

    // Only notifications: no answer. The next message is the answer to the next request.
    socket.text(json!([notify("cron.add", reminder("bob")), notify("nope", json!({}))])).await;
    socket.text(notify("cron.add", reminder("bob"))).await;
    let n_bobs = async || server.get("/v1/reminders?user=bob").await["reminders"].as_array().unwrap().len();
    until("both are done", async || n_bobs().await == 2).await;
    socket.result("parse", json!({ "text": "tomorrow" })).await;

    let hundred: Vec<Value> = (0..100).map(|n| call(json!(n), "cron.add", reminder("eve"))).collect();
    socket.text(json!(hundred)).await;
    assert_eq!(socket.message().await.as_array().unwrap().len(), 100);
    let more: Vec<Value> = (0..101).map(|n| call(json!(n), "cron.add", reminder("joe"))).collect();
    socket.text(json!(more)).await;
    assert_eq!(socket.message().await["error"]["code"], -32600);
    assert_eq!(socket.result("cron.list", json!({ "user": "joe" })).await["reminders"], json!([]), "none was done");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answers_of_a_batch_are_bounded_and_what_was_not_done_says_so() {
    let home = Home::new();
    let server = home.serve();
    let message = "x".repeat(4000);
    let large = json!({ "user": "ann", "message": message, "schedule": { "type": "once", "at": super::LATER } });
    let batch = json!({ "reminders": vec![large; 300] });
    assert_eq!(server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await.0, 201);
    let mut socket = Socket::open(&server).await;
    let mut requests: Vec<Value> = (0..20)
        .map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "cron.list", "params": { "user": "ann", "limit": 500 } }))
        .collect();
    requests.push(json!({ "jsonrpc": "2.0", "id": 20, "method": "cron.add", "params": reminder("bob") }));
    socket.text(json!(requests)).await;
    let answers = socket.message().await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 21);
    let n_done = answers.iter().filter(|answer| answer["result"].is_object()).count();
    assert!((3..8).contains(&n_done), "{n_done}");
    assert!(answers[20]["error"]["message"].as_str().unwrap().contains("was not done"), "{}", answers[20]);
    assert_eq!(socket.result("cron.list", json!({ "user": "bob" })).await["reminders"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_idempotency_key_adds_once_over_either_door() {
    let home = Home::new();
    let server = home.serve();
    let mut socket = Socket::open(&server).await;
    let mut params = reminder("ann");
    params["idempotency_key"] = json!("once");
    let first = socket.result("cron.add", params.clone()).await;
    assert_eq!(socket.result("reminders.add", params.clone()).await, first);
    let mut again = Socket::open(&server).await;
    assert_eq!(again.result("cron.add", params.clone()).await, first, "also after a new connection");
    let over_http =
        server.request(Method::POST, "/v1/reminders").bearer_auth(&server.key).header("idempotency-key", "once");
    let (_, over_http) = answer(soon(over_http.json(&reminder("ann")).send()).await.unwrap()).await;
    assert_eq!(over_http, first);
    params["message"] = json!("other");
    let error = again.error("cron.add", params).await;
    assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32009), &json!("key_reused")), "{error}");
    assert_eq!(server.get("/v1/reminders?user=ann").await["reminders"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_one_connection_run_side_by_side_and_each_answer_has_its_id() {
    let home = Home::new();
    let server = home.serve();
    let authorization = format!("Bearer {}", server.key);
    let frames = open(&server, &[(header::AUTHORIZATION, authorization.as_str())], None).await.unwrap();
    let (mut sink, mut stream) = frames.split();
    // A thousand at once: far more than are worked on at a time.
    let sending = async {
        for id in 0..1000 {
            let params = reminder(&format!("user{id}"));
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": "cron.add", "params": params });
            sink.send(Message::text(request.to_string())).await.unwrap();
        }
    };
    let receiving = async {
        let (mut seen, mut order) = (vec![false; 1000], Vec::new());
        while order.len() < 1000 {
            let message = stream.next().await.unwrap().unwrap();
            let answer: Value = serde_json::from_str(message.as_text().unwrap()).unwrap();
            let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
            assert_eq!(answer["result"]["user"], format!("user{id}"), "{answer}");
            assert!(!std::mem::replace(&mut seen[id], true), "{id} is answered once");
            order.push(id);
        }
    };
    soon(async { tokio::join!(sending, receiving) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opening_without_a_key_with_a_foreign_page_or_without_an_upgrade_is_refused() {
    let home = Home::new();
    let server = home.serve();
    let (bearer, named) = (format!("Bearer {}", server.key), format!("punctual.v1, punctual.key.{}", server.key));
    let (key, host) = (bearer.as_str(), server.url.as_str());
    for (headers, refused) in [
        (vec![], Some(401)),
        (vec![(header::AUTHORIZATION, "Bearer pk_wrong")], Some(401)),
        (vec![(header::AUTHORIZATION, key)], None),
        (vec![(header::AUTHORIZATION, key), (header::ORIGIN, host)], None),
        // A page of this machine, as at `/mcp`.
        (vec![(header::AUTHORIZATION, key), (header::ORIGIN, "http://localhost:6274")], None),
        (vec![(header::AUTHORIZATION, key), (header::ORIGIN, "https://evil.example")], Some(403)),
        (vec![(header::AUTHORIZATION, key), (header::ORIGIN, "null")], Some(403)),
        (vec![(header::SEC_WEBSOCKET_PROTOCOL, named.as_str())], None),
        (vec![(header::SEC_WEBSOCKET_PROTOCOL, "punctual.v1, punctual.key.pk_wrong")], Some(401)),
    ] {
        assert_eq!(open(&server, &headers, None).await.err(), refused, "{headers:?}");
    }
    let plain = server.request(Method::GET, "/v1/ws").bearer_auth(&server.key);
    let response = soon(plain.send()).await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["upgrade"]), (426, &"websocket".parse().unwrap()));
    assert_eq!(answer(response).await.1["code"], "upgrade_required");
    // A key in the address would be in logs.
    let in_url = server.request(Method::GET, &format!("/v1/ws?key={}", server.key));
    assert_eq!(soon(in_url.send()).await.unwrap().status(), 401);
    let with_query = server.request(Method::GET, "/v1/ws?user=ann").bearer_auth(&server.key);
    assert_eq!(soon(with_query.send()).await.unwrap().status(), 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_asked_for_before_it_closed_is_done() {
    let home = Home::new();
    let server = home.serve();
    let (_, key) = new_key(&server, json!({ "name": "ann", "user": "ann" })).await;
    let authorization = format!("Bearer {key}");
    let mut frames = open(&server, &[(header::AUTHORIZATION, authorization.as_str())], None).await.unwrap();
    let request = json!({ "jsonrpc": "2.0", "method": "cron.add", "params": reminder("ann") }).to_string();
    soon(frames.feed(Message::text(request))).await.unwrap();
    soon(frames.feed(Message::close(None, ""))).await.unwrap();
    soon(frames.flush()).await.unwrap();
    let n_anns = async || server.get("/v1/reminders?user=ann").await["reminders"].as_array().unwrap().len();
    until("it is done", async || n_anns().await == 1).await;
}
