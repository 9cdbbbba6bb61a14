//! The names by which a server may be called.

use punctual_testkit::process::output;
use reqwest::Method;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{Home, Ran, Server, answer, soon};

async fn asks(server: &Server, path: &str, host: &str) -> (u16, Value) {
    let request = server.request(Method::GET, path).bearer_auth(&server.key).header("host", host);
    let (status, body) = answer(soon(request.send()).await.unwrap()).await;
    (status.as_u16(), body)
}

/// The status line of the answer to a request that is sent as it is.
async fn raw(server: &Server, request: &str) -> String {
    let address = server.url.split("://").nth(1).unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.replace("KEY", &server.key).as_bytes()).await.unwrap();
    let mut said = String::new();
    soon(stream.read_to_string(&mut said)).await.unwrap();
    said.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_page_of_a_strangers_cannot_ask_under_a_name_of_its_own() {
    let home = Home::new();
    let server = home.serve_with(&[
        ("PUNCTUAL_PUBLIC_URL", "https://reminders.example.org"),
        ("PUNCTUAL_ALLOWED_HOSTS", "punctual.internal, *.example.com"),
    ]);
    let port = server.url.rsplit(':').next().unwrap();
    for host in [
        &format!("127.0.0.1:{port}"),
        &format!("localhost:{port}"),
        &format!("[::1]:{port}"),
        "reminders.example.org",
        "punctual.internal:7373",
        "a.example.com",
    ] {
        assert_eq!(asks(&server, "/v1/settings", host).await.0, 200, "{host}");
    }
    for host in
        ["evil.example", &format!("evil.example:{port}"), "192.168.1.1", "example.com", "localhost.evil.example"]
    {
        let (status, problem) = asks(&server, "/v1/settings", host).await;
        assert_eq!((status, problem["code"].as_str()), (421, Some("misdirected")), "{host}: {problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("https://reminders.example.org") && detail.contains("allowed_hosts"), "{detail}");
        // Also without a key, before anything else, and where nothing is.
        for path in ["/v1/nothing", "/openapi.json", "/metrics", "/a/x"] {
            let request = server.request(Method::GET, path).header("host", host).send();
            assert_eq!(soon(request).await.unwrap().status(), 421, "{path}");
        }
        for open in ["/healthz", "/readyz"] {
            assert_eq!(asks(&server, open, host).await.0, 200, "monitors call it as they like: {host} {open}");
        }
    }
}

#[tokio::test]
async fn a_request_says_one_host() {
    let home = Home::new();
    let server = home.serve();
    for (request, expect) in [
        ("GET /v1/settings HTTP/1.1\r\nauthorization: Bearer KEY\r\nconnection: close\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n", "200"),
        ("GET /v1/settings HTTP/1.0\r\nauthorization: Bearer KEY\r\n\r\n", "200"),
        ("GET /v1/settings HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n", "400"),
        ("GET /v1/settings HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n", "400"),
        ("GET /v1/settings HTTP/1.1\r\nhost: \r\nconnection: close\r\n\r\n", "4"),
        ("GET http://evil.example/v1/settings HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", "421"),
        (
            "GET http://localhost/v1/settings HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer KEY\r\nconnection: close\r\n\r\n",
            "200",
        ),
    ] {
        let said = raw(&server, request).await;
        assert!(said.split(' ').nth(1).unwrap_or_default().starts_with(expect), "{request} {said}");
    }
}

#[tokio::test]
async fn any_name_can_be_allowed_and_a_wrong_one_is_refused() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_ALLOWED_HOSTS", "*")]);
    assert_eq!(asks(&server, "/v1/settings", "whatever.example").await.0, 200);
    server.stop();
    for wrong in ["http://a.example", "a.example:80", "a.*.example"] {
        let mut command = home.command(["serve", "--listen", "127.0.0.1:0"]);
        let ran = Ran::of(output(command.env("PUNCTUAL_ALLOWED_HOSTS", wrong)));
        ran.fails(2, &["PUNCTUAL_ALLOWED_HOSTS", wrong, "without a port"]);
    }
}
