//! Pages of other origins: none may use the API, unless the config names them.

use axum::http::header;
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::common::{Home, Server, soon};
use crate::ws::socket as ws;

const PAGE: &str = "https://app.example.org";

/// What a browser is told that asks whether a page of `origin` may send a request with a key.
async fn asked(server: &Server, origin: &str) -> (StatusCode, HeaderMap) {
    let request = server
        .request(Method::OPTIONS, "/v1/reminders")
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type,idempotency-key,if-match");
    let response = soon(request.send()).await.unwrap();
    (response.status(), response.headers().clone())
}

#[tokio::test]
async fn no_page_may_use_the_api_unless_its_origin_is_named() {
    let home = Home::new();
    let server = home.serve();
    let (status, headers) = asked(&server, PAGE).await;
    assert_eq!(status, 405);
    assert!(!headers.contains_key("access-control-allow-origin"));
    let response = soon(server.request(Method::GET, "/healthz").header("origin", PAGE).send()).await.unwrap();
    assert!(!response.headers().keys().any(|name| name.as_str().starts_with("access-control-")));
}

#[tokio::test]
async fn a_page_of_a_named_origin_may() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_CORS_ORIGINS", "https://app.example.org, http://localhost:3000")]);
    for origin in [PAGE, "http://localhost:3000"] {
        let (status, headers) = asked(&server, origin).await;
        assert_eq!((status.as_u16(), headers["access-control-allow-origin"].to_str().unwrap()), (200, origin));
        let allowed = headers["access-control-allow-headers"].to_str().unwrap();
        for name in ["authorization", "content-type", "idempotency-key", "if-match"] {
            assert!(allowed.contains(name), "{allowed}");
        }
        assert!(headers["access-control-allow-methods"].to_str().unwrap().contains("PATCH"));
        assert!(!headers.contains_key("access-control-allow-credentials"));
        assert_eq!(headers["x-request-id"].len(), 24, "every answer has an id");
        let request = server.request(Method::GET, "/v1/reminders").bearer_auth(&server.key).header("origin", origin);
        let response = soon(request.send()).await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["access-control-allow-origin"]),
            (200, &origin.parse().unwrap())
        );
        let shown = response.headers()["access-control-expose-headers"].to_str().unwrap().to_owned();
        assert!(["etag", "location", "retry-after", "x-request-id"].iter().all(|name| shown.contains(name)), "{shown}");
    }
    for other in ["https://app.example.org.evil.example", "null", "http://app.example.org"] {
        assert!(!asked(&server, other).await.1.contains_key("access-control-allow-origin"), "{other}");
    }
}

#[tokio::test]
async fn a_page_of_a_named_origin_may_open_a_websocket_and_ask_as_an_assistant() {
    let home = Home::new();
    for (named, ws, mcp) in [(true, Ok(()), 200), (false, Err(403), 403)] {
        let server = if named { home.serve_with(&[("PUNCTUAL_CORS_ORIGINS", PAGE)]) } else { home.serve() };
        let key = format!("Bearer {}", server.key);
        let opened = ws::open(&server, &[(header::AUTHORIZATION, key.as_str()), (header::ORIGIN, PAGE)], None).await;
        assert_eq!(opened.map(drop), ws, "named: {named}");
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let asked = server.request(Method::POST, "/mcp").bearer_auth(&server.key).header("origin", PAGE).json(&begin);
        let asked = soon(asked.header("accept", "application/json, text/event-stream").send()).await.unwrap();
        assert_eq!(asked.status(), mcp, "named: {named}");
        let allowed = asked.headers().get("access-control-allow-origin").map(|origin| origin.to_str().unwrap());
        assert_eq!(allowed, named.then_some(PAGE));
        let told = asked.headers().get("access-control-expose-headers").map(|names| names.to_str().unwrap().to_owned());
        assert_eq!(
            told.is_some_and(|names| names.contains("mcp-session-id")),
            named,
            "a page must be able to read its session"
        );
    }
}

#[test]
fn an_origin_that_is_none_is_named() {
    let home = Home::new();
    for wrong in ["*", "https://app.example.org/", "app.example.org", "ftp://x.example"] {
        let ran = crate::common::Ran::of(punctual_testkit::process::output(
            home.command(["serve", "--listen", "127.0.0.1:0"]).env("PUNCTUAL_CORS_ORIGINS", wrong),
        ));
        ran.fails(2, &["PUNCTUAL_CORS_ORIGINS", wrong, "https://app.example.org"]);
    }
}
