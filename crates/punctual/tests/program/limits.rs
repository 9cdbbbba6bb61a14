//! Limits of requests: what is too much is refused, and nobody else notices. Connections and slow clients are in `connections.rs`.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{Home, Server, answer, soon};

/// The answer to a request that is written by hand.
async fn said_to(server: &Server, request: &[u8]) -> String {
    let mut stream = soon(TcpStream::connect(server.url.strip_prefix("http://").unwrap())).await.unwrap();
    // A server that has seen enough answers and closes.
    let _ = soon(stream.write_all(request)).await;
    let mut said = Vec::new();
    let _ = soon(stream.read_to_end(&mut said)).await;
    String::from_utf8_lossy(&said).into_owned()
}

/// Its status.
async fn status_of(server: &Server, request: &[u8]) -> String {
    said_to(server, request).await.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_head_has_a_hundred_headers_and_16_kilobytes_at_most() {
    let home = Home::new();
    let server = home.serve();
    let head = |n: usize, bytes: usize| {
        let more: String = (0..n).map(|n| format!("x-{n}: {}\r\n", "y".repeat(bytes))).collect();
        format!("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{more}\r\n")
    };
    assert_eq!(status_of(&server, head(90, 10).as_bytes()).await, "HTTP/1.1 200 OK");
    assert_eq!(status_of(&server, head(1, 15_000).as_bytes()).await, "HTTP/1.1 200 OK");
    let too_large = "HTTP/1.1 431 Request Header Fields Too Large";
    assert_eq!(status_of(&server, head(120, 10).as_bytes()).await, too_large);
    assert_eq!(status_of(&server, head(1, 17_000).as_bytes()).await, too_large);
    // What is no request yet is answered without an id and without a body, as the description says.
    let (_, document) = answer(soon(server.request(Method::GET, "/openapi.json").send()).await.unwrap()).await;
    let description = document["info"]["description"].as_str().unwrap();
    for (request, status) in [(head(1, 17_000), "431"), ("no http\r\n\r\n".to_owned(), "400")] {
        let said = said_to(&server, request.as_bytes()).await.to_lowercase();
        assert!(
            said.starts_with(&format!("http/1.1 {status} ")) && description.contains(&format!("({status}")),
            "{said}"
        );
        assert!(said.ends_with("\r\n\r\n") && !said.contains("x-request-id"), "{said}");
    }
}

#[tokio::test]
async fn a_body_is_a_megabyte_and_128_levels_deep_at_most() {
    let home = Home::new();
    let server = home.serve();
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    for (levels, status) in [(100, 422), (127, 422), (129, 400), (20_000, 400)] {
        let request = server.request(Method::POST, "/v1/reminders").bearer_auth(&server.key);
        let request = request.header("content-type", "application/json").body(deep(levels));
        let (found, problem) = answer(soon(request.send()).await.unwrap()).await;
        assert_eq!(found, status, "{levels}: {problem}");
    }
    for (bytes, status) in [(100_000, 422), (1_100_000, 413)] {
        let (found, problem) =
            server.call(Method::POST, "/v1/reminders", Some(json!({ "message": "x".repeat(bytes) }))).await;
        assert_eq!(found, status, "{bytes}: {}", problem["detail"]);
    }
    // Many small values weigh more than their bytes.
    let many: Vec<Value> = vec![json!({}); 250_000];
    let (status, problem) = server.call(Method::POST, "/v1/reminders", Some(Value::Array(many))).await;
    assert_eq!((status.as_u16(), &problem["code"]), (413, &json!("too_large")), "{problem}");
    assert_eq!(server.get("/v1/reminders").await["reminders"], json!([]));
}
