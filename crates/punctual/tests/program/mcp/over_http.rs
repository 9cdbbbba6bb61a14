//! `/mcp`: who may ask, from where, and in which session.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{alice, key};
use crate::common::{Home, Server, answer, soon};

const ACCEPT: &str = "application/json, text/event-stream";

fn post(server: &Server, body: &Value) -> RequestBuilder {
    server.request(Method::POST, "/mcp").header("accept", ACCEPT).json(body)
}

fn initialize() -> Value {
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

/// Begins a session; its id.
async fn begin(server: &Server, key: &str) -> String {
    let response = soon(post(server, &initialize()).bearer_auth(key).send()).await.unwrap();
    assert_eq!(response.status(), 200);
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let told = post(server, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let told = told.bearer_auth(key).header("mcp-session-id", &session).header("mcp-protocol-version", "2025-11-25");
    assert_eq!(soon(told.send()).await.unwrap().status(), 202);
    session
}

fn list(server: &Server, key: &str, session: &str) -> RequestBuilder {
    post(server, &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }))
        .bearer_auth(key)
        .header("mcp-session-id", session)
        .header("mcp-protocol-version", "2025-11-25")
}

/// A call of the tool without a session.
async fn call(server: &Server, key: &str, arguments: Value) -> Value {
    let params = json!({ "name": "scheduler", "arguments": arguments });
    ask(server, key, "tools/call", "scheduler", params).await["structuredContent"].clone()
}

/// A request without a session; its result.
async fn ask(server: &Server, key: &str, method: &str, name: &str, mut params: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params["_meta"] = meta;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = post(server, &body).bearer_auth(key).header("mcp-protocol-version", "2026-07-28");
    let request = request.header("mcp-method", method).header("mcp-name", name);
    let response = soon(request.send()).await.unwrap();
    let text = soon(response.text()).await.unwrap();
    let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&text);
    let answer: Value = serde_json::from_str(data).unwrap_or_else(|_| panic!("{text}"));
    match answer.get("result") {
        Some(result) => result.clone(),
        None => answer,
    }
}

/// Reads the resource `punctual://today`.
async fn today(server: &Server, key: &str) -> Value {
    let read = ask(server, key, "resources/read", "punctual://today", json!({ "uri": "punctual://today" })).await;
    serde_json::from_str(read["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{read}"))).unwrap()
}

#[tokio::test]
async fn without_a_key_or_from_another_site_nothing_is_answered() {
    let home = Home::new();
    let server = home.serve();
    for key in [None, Some("wrong")] {
        let request = post(&server, &initialize());
        let response = match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        let response = soon(response.send()).await.unwrap();
        assert!(response.headers()["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
        assert_eq!(answer(response).await.0, 401);
    }
    for (origin, status) in
        [("http://evil.example", 403), ("null", 403), ("http://localhost:6274", 200), ("http://[::1]:80", 200)]
    {
        let request = post(&server, &initialize()).bearer_auth(&server.key).header("origin", origin);
        assert_eq!(soon(request.send()).await.unwrap().status(), status, "{origin}");
    }
    let get = server.request(Method::GET, "/mcp").bearer_auth(&server.key).header("accept", ACCEPT);
    let get = soon(get.send()).await.unwrap();
    assert_eq!((get.status().as_u16(), get.headers()["allow"].to_str().unwrap()), (405, "POST,DELETE"));
    let large =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "x": "x".repeat(1100 * 1024) } });
    assert_eq!(soon(post(&server, &large).bearer_auth(&server.key).send()).await.unwrap().status(), 413);
}

#[tokio::test]
async fn calls_of_an_assistant_count_against_the_rate_of_its_key() {
    let home = Home::new();
    let server = home.serve();
    let slow = key(&server, json!({ "name": "slow", "user": "alice", "rate": "2/h" })).await;
    for status in [200, 200, 429] {
        let response = soon(post(&server, &initialize()).bearer_auth(&slow).send()).await.unwrap();
        assert_eq!(response.status(), status);
        if status == 429 {
            let seconds: u32 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=3600).contains(&seconds), "{seconds}");
            assert_eq!(answer(response).await.1["code"], "rate_limited");
        }
    }
}

#[tokio::test]
async fn a_session_belongs_to_its_key_and_old_ones_end() {
    let home = Home::new();
    let server = home.serve();
    let (alice, bob) = (
        key(&server, json!({ "name": "a", "user": "alice" })).await,
        key(&server, json!({ "name": "b", "user": "bob" })).await,
    );
    let session = begin(&server, &alice).await;
    assert_eq!(soon(list(&server, &alice, &session).send()).await.unwrap().status(), 200);
    assert_eq!(soon(list(&server, &bob, &session).send()).await.unwrap().status(), 404, "it is another's");
    let end = server.request(Method::DELETE, "/mcp").bearer_auth(&bob).header("mcp-session-id", &session);
    assert_eq!(soon(end.send()).await.unwrap().status(), 404, "it is another's");
    let end = server.request(Method::DELETE, "/mcp").bearer_auth(&alice).header("mcp-session-id", &session);
    assert_eq!(soon(end.send()).await.unwrap().status(), 204);
    assert_eq!(soon(list(&server, &alice, &session).send()).await.unwrap().status(), 404, "it has ended");
    let mut sessions = Vec::new();
    for _ in 0..33 {
        sessions.push(begin(&server, &alice).await);
    }
    assert_eq!(soon(list(&server, &alice, &sessions[0]).send()).await.unwrap().status(), 404, "the oldest has ended");
    assert_eq!(soon(list(&server, &alice, &sessions[32]).send()).await.unwrap().status(), 200);
    let (status, _) = server.stop();
    assert!(status.success(), "open sessions hold nothing up");
}

#[tokio::test]
async fn a_key_acts_for_its_user_and_an_unbound_one_for_whom_it_names() {
    let home = Home::new();
    let server = home.serve();
    let alice = alice(&server).await;
    let reader = key(&server, json!({ "name": "reader", "user": "alice", "scopes": ["read"] })).await;
    let add = |user: Option<&str>| json!({ "action": "add", "message": "m", "at": "1h", "user": user });
    let made = call(&server, &alice, add(None)).await;
    assert_eq!(made["reminder"]["user"], "alice", "{made}");
    assert_eq!(call(&server, &alice, add(Some("bob"))).await["error"]["field"], "user");
    assert_eq!(call(&server, &server.key, add(None)).await["reminder"]["user"], "me");
    let bobs = call(&server, &server.key, add(Some("bob"))).await;
    assert_eq!(bobs["reminder"]["user"], "bob");
    let remove = |id: &Value, user: Option<&str>| json!({ "action": "remove", "job_id": id, "user": user });
    let id = &bobs["reminder"]["id"];
    for (key, user) in [(&alice, None), (&server.key, None), (&server.key, Some("alice"))] {
        let refused = call(&server, key, remove(id, user)).await;
        assert_eq!(refused["ok"], false, "{user:?}: {refused}");
    }
    let told = async || server.get("/v1/audit?order=newest&limit=1").await["entries"][0]["id"].clone();
    let (before, newest) = (server.get(&format!("/v1/reminders/{}", id.as_str().unwrap())).await, told().await);
    for fields in [
        json!({ "action": "update", "message": "mine now" }),
        json!({ "action": "update", "at": "tomorrow at 8" }),
        json!({ "action": "update", "paused": true }),
        json!({ "action": "remove" }),
        json!({ "action": "snooze", "snooze_minutes": 5 }),
        json!({ "action": "snooze", "until": "friday at 6" }),
        json!({ "action": "ack" }),
        json!({ "action": "dismiss" }),
    ] {
        let mut of_bob = fields.clone();
        of_bob["job_id"] = id.clone();
        let refused = call(&server, &alice, of_bob).await;
        assert_eq!(
            (&refused["ok"], &refused["error"]["field"]),
            (&json!(false), &json!("job_id")),
            "{fields}: {refused}"
        );
        assert!(refused.get("reminder").is_none(), "{fields} shows what is another's: {refused}");
    }
    let listed = call(&server, &alice, json!({ "action": "list", "q": id, "status": "all" })).await;
    assert_eq!(listed["reminders"], json!([]), "{listed}");
    let after = (server.get(&format!("/v1/reminders/{}", id.as_str().unwrap())).await, told().await);
    assert_eq!(after, (before, newest), "nothing was changed");
    assert_eq!(call(&server, &reader, add(None)).await["ok"], false, "it may only read");
    assert_eq!(call(&server, &reader, json!({ "action": "list" })).await["ok"], true);
    assert_eq!(call(&server, &server.key, remove(id, Some("bob"))).await["reminder"]["status"], "cancelled");
    let told = server.get("/v1/audit?user=bob&kind=reminder.cancelled").await;
    assert_eq!(told["entries"][0]["via"], "mcp", "{told}");
}

#[tokio::test]
async fn a_body_that_is_no_message_is_answered_as_json_rpc_has_it() {
    let home = Home::new();
    let server = home.serve();
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let batch = format!("[{list}]");
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("{}", -32600),
        ("[]", -32600),
        (&batch, -32600),
        ("5", -32600),
        (r#"{"id":1}"#, -32600),
    ] {
        let request = server.request(Method::POST, "/mcp").bearer_auth(&server.key).header("accept", ACCEPT);
        let request = request.header("content-type", "application/json").body(body.to_owned());
        let (status, told) = answer(soon(request.send()).await.unwrap()).await;
        assert_eq!((status.as_u16(), &told["error"]["code"]), (400, &json!(code)), "{body}: {told}");
        assert_eq!((&told["jsonrpc"], &told["id"]), (&json!("2.0"), &Value::Null), "{body}: {told}");
    }
    let text = server.request(Method::POST, "/mcp").bearer_auth(&server.key).header("accept", ACCEPT);
    let text = text.header("content-type", "text/plain").body(list);
    assert_eq!(answer(soon(text.send()).await.unwrap()).await.1["code"], "wrong_content_type");
}

#[tokio::test]
async fn what_waits_and_what_is_open_is_found_behind_hundreds_of_others() {
    let home = Home::new();
    let server = home.serve();
    let alice = alice(&server).await;
    let schedule = json!({ "type": "once", "at": "1h" });
    let open = json!({ "user": "alice", "name": "walk", "message": "Walk the dog", "schedule": schedule });
    let open = server.create(open).await;
    let many = |name: &str, n: usize| {
        let one = json!({ "user": "alice", "name": name, "message": "Walk the dog", "schedule": schedule });
        json!({ "reminders": vec![one; n] })
    };
    let (status, ended) = server.call(Method::POST, "/v1/reminders/batch", Some(many("walk", 25))).await;
    assert_eq!(status, 201, "{ended}");
    for one in ended["reminders"].as_array().unwrap() {
        let path = format!("/v1/reminders/{}", one["id"].as_str().unwrap());
        let (status, _) = server.call(Method::DELETE, &path, None).await;
        assert_eq!(status, 200);
    }
    let (status, newer) = server.call(Method::POST, "/v1/reminders/batch", Some(many("other", 250))).await;
    assert_eq!(status, 201, "{newer}");
    let snoozed = call(&server, &alice, json!({ "action": "update", "job_id": "walk", "priority": "high" })).await;
    assert_eq!(snoozed["reminder"]["id"], open["id"], "{snoozed}");
    let done = call(&server, &alice, json!({ "action": "ack" })).await;
    assert_eq!(done["reminder"]["name"], "waiting", "{done}");
    let none = call(&server, &alice, json!({ "action": "ack" })).await;
    assert!(none["error"]["detail"].as_str().unwrap().contains("no reminder waits for an answer"), "{none}");
}

#[tokio::test]
async fn today_is_the_day_of_the_user_of_the_key_and_has_what_waits_and_what_ran() {
    let home = Home::new();
    let server = home.serve();
    let alice = alice(&server).await;
    let bob = key(&server, json!({ "name": "b", "user": "bob" })).await;
    let tokyo = json!({ "timezone": "Asia/Tokyo", "addresses": [{ "channel": "console", "address": "" }] });
    let (status, user) = server.call(Method::PUT, "/v1/users/bob", Some(tokyo)).await;
    assert!(status.is_success(), "{user}");
    let day = today(&server, &bob).await;
    assert_eq!((&day["user"], &day["timezone"]), (&json!("bob"), &json!("Asia/Tokyo")), "an empty day: {day}");
    assert_eq!((&day["waiting_for_an_answer"], &day["ran_today"]), (&json!([]), &json!([])), "{day}");
    let day = today(&server, &alice).await;
    assert_eq!((&day["user"], &day["timezone"]), (&json!("alice"), &json!("Europe/Berlin")), "{day}");
    let waiting = &day["waiting_for_an_answer"][0];
    assert_eq!((&waiting["name"], &waiting["state"]), (&json!("waiting"), &json!("awaiting_ack")), "{day}");
    assert_eq!(day["ran_today"][0]["message"], "Lunch", "{day}");
    let plan = ask(&server, &alice, "prompts/get", "plan-my-day", json!({ "name": "plan-my-day" })).await;
    let shown = plan["messages"][1]["content"]["resource"]["text"].as_str().unwrap_or_else(|| panic!("{plan}"));
    assert!(shown.contains("waiting_for_an_answer") && shown.contains("Lunch"), "{shown}");
}

#[tokio::test]
async fn a_bound_key_reads_no_resource_of_another_user() {
    let home = Home::new();
    let server = home.serve();
    let alice = alice(&server).await;
    let bob = key(&server, json!({ "name": "b", "user": "bob" })).await;
    let list = server.get("/v1/reminders?user=alice").await;
    let id = list["reminders"][0]["id"].as_str().unwrap();
    let uri = format!("punctual://reminders/{id}");
    let own = ask(&server, &alice, "resources/read", &uri, json!({ "uri": uri })).await;
    assert!(own["contents"][0]["text"].as_str().unwrap().contains("Lunch"), "{own}");
    let foreign = ask(&server, &bob, "resources/read", &uri, json!({ "uri": uri })).await;
    assert!(foreign["error"]["code"].is_number() && !foreign.to_string().contains("Lunch"), "{foreign}");
    for uri in ["punctual://journal", "punctual://today"] {
        let own = ask(&server, &alice, "resources/read", uri, json!({ "uri": uri })).await;
        assert!(own["contents"][0]["text"].as_str().unwrap().contains(id), "{own}");
        let foreign = ask(&server, &bob, "resources/read", uri, json!({ "uri": uri })).await;
        assert!(foreign["contents"][0]["text"].is_string() && !foreign.to_string().contains(id), "{foreign}");
    }
    let plan = ask(&server, &bob, "prompts/get", "plan-my-day", json!({ "name": "plan-my-day" })).await;
    assert!(plan["messages"][1].is_object() && !plan.to_string().contains(id), "{plan}");
}
