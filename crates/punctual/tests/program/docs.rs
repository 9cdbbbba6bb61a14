//! The page at `/docs`: complete, and nothing in it comes from elsewhere.

use reqwest::Method;
use serde_json::Value;

use crate::common::{Home, soon};

#[tokio::test]
async fn the_page_shows_every_operation_and_loads_nothing() {
    let home = Home::new();
    let server = home.serve();
    let response = soon(server.request(Method::GET, "/docs").send()).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
    let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let page = soon(response.text()).await.unwrap();
    for loads in ["<script", "<link", "<img", "<iframe", "<object", "@import", "url(", " src=", "http-equiv", " style="]
    {
        assert!(!page.contains(loads), "{loads}");
    }
    let document: Value = server.get("/openapi.json").await;
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(page.contains(&format!("<article id=\"{id}\">")), "{id}");
        }
    }
}
