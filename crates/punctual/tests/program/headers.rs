//! The headers that every answer has.

use reqwest::Method;
use serde_json::json;

use crate::common::{Home, soon};

#[tokio::test]
async fn json_answers_are_never_kept_and_never_taken_for_anything_else() {
    let home = Home::new();
    let server = home.serve();
    let good = json!({ "message": "later", "schedule": { "type": "once", "at": "1h" } });
    let made = server.create(good.clone()).await["id"].as_str().unwrap().to_owned();
    let key = server.key.as_str();
    for (method, path, key, body, status) in [
        (Method::GET, "/v1/reminders", key, None, 200),
        (Method::GET, &format!("/v1/reminders/{made}"), key, None, 200),
        (Method::POST, "/v1/reminders", key, Some(good), 201),
        (Method::POST, "/v1/keys", key, Some(json!({ "name": "bot", "scopes": ["read"] })), 201),
        (Method::GET, "/healthz", "", None, 200),
        (Method::GET, "/readyz", "", None, 200),
        // Problems, from a handler, an extractor and the router itself.
        (Method::POST, "/v1/reminders", key, Some(json!({ "message": 7 })), 422),
        (Method::GET, "/v1/reminders?limit=0", key, None, 400),
        (Method::GET, "/v1/reminders", "wrong", None, 401),
        (Method::GET, "/v1/nothing", key, None, 404),
        (Method::PUT, "/v1/reminders", key, None, 405),
        (Method::POST, "/v1/reminders", key, Some(json!("x".repeat(2 * 1024 * 1024))), 413),
    ] {
        let mut request = server.request(method.clone(), path).bearer_auth(key);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = soon(request.send()).await.unwrap();
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(response.status(), status, "{method} {path}");
        assert!(header("content-type").unwrap().contains("json"), "{method} {path}");
        assert_eq!(header("cache-control").as_deref(), Some("no-store"), "{method} {path}");
        assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"), "{method} {path}");
    }
}
