//! Every request has an id: in its answer, in a problem, and in the log.

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, answer, soon};

#[tokio::test]
async fn an_answer_has_the_id_of_its_request() {
    let home = Home::new();
    let server = home.serve();
    let mut made = std::collections::BTreeSet::new();
    for (path, given) in [("/healthz", None), ("/v1/nothing", Some("has spaces")), ("/v1/reminders?limit=0", Some(""))]
    {
        let mut request = server.request(Method::GET, path).bearer_auth(&server.key);
        if let Some(given) = given {
            request = request.header("x-request-id", given);
        }
        let response = soon(request.send()).await.unwrap();
        let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
        assert!(id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        let (status, body) = answer(response).await;
        if status.as_u16() >= 400 {
            assert_eq!(body["request_id"], *id, "{body}");
        }
        assert!(made.insert(id), "each has its own");
    }
    // Problems of the layers around the handlers have it as well.
    for (method, path, body) in [
        (Method::PUT, "/v1/reminders", None),
        (Method::GET, "/nowhere", None),
        (Method::POST, "/v1/reminders", Some(json!({ "message": 1 }))),
        (Method::GET, "/v1/reminders/%00", None),
    ] {
        let mut request = server.request(method, path).bearer_auth(&server.key).header("x-request-id", "shop-7/42");
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = soon(request.send()).await.unwrap();
        assert_eq!(response.headers()["x-request-id"], "shop-7/42", "{path}");
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
        assert_eq!(answer(response).await.1["request_id"], "shop-7/42", "{path}");
    }
}

#[tokio::test]
async fn the_log_has_the_id_of_the_request() {
    let home = Home::new();
    let server = home.serve();
    let body = json!({ "message": "tea", "schedule": { "type": "once", "at": "1h" } });
    for (key, id) in [(None, "shop-7"), (Some("k"), "shop-8")] {
        let mut request = server.request(Method::POST, "/v1/reminders").bearer_auth(&server.key);
        request = request.header("x-request-id", id).json(&body);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        assert_eq!(soon(request.send()).await.unwrap().status(), 201);
    }
    let (_, log) = server.stop();
    let lines: Vec<Value> = log.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let created: Vec<&Value> = lines.iter().filter(|line| line["message"] == "created").collect();
    let ids: Vec<&Value> = created.iter().map(|line| &line["span"]["request_id"]).collect();
    assert_eq!(ids, ["shop-7", "shop-8"], "{created:#?}");
}
