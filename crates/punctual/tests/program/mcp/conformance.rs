//! The scenarios of `@modelcontextprotocol/conformance` that apply to a real server. The others call tools that only a server made for them has.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode, header};
use punctual_testkit::process::output;
use punctual_testkit::{judges, report};

use super::alice;
use crate::common::{Home, Ran};

/// With a handshake and sessions.
const STATEFUL: &[&str] = &[
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
    "server-session-lifecycle",
    "server-sse-multiple-streams",
];
/// Without.
const STATELESS: &[&str] = &[
    "server-stateless",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
    "caching",
    "sep-2164-resource-not-found",
    "server-sse-multiple-streams",
    "input-required-result-unsupported-methods",
    "http-header-validation",
];
/// Four checks of one scenario call a tool `test_…`.
const WITHOUT_TEST_TOOLS: &str = "server:
  - server-stateless:sep-2575-server-rejects-undeclared-capability
  - server-stateless:sep-2575-missing-capability-http-400
  - server-stateless:sep-2575-http-server-no-independent-requests-on-stream
  - server-stateless:sep-2575-server-no-log-without-loglevel
";

#[tokio::test]
async fn the_official_scenarios_for_revision_2025_11_25_pass() {
    scenarios("2025-11-25", STATEFUL).await;
}

#[tokio::test]
async fn the_official_scenarios_for_revision_2026_07_28_pass() {
    scenarios("2026-07-28", STATELESS).await;
}

async fn scenarios(revision: &str, names: &[&str]) {
    let what = format!("scenarios of @modelcontextprotocol/conformance for {revision}");
    let Some((node, modules)) = judges::node(&what) else { return };
    let home = Home::new();
    let server = home.serve();
    let key = alice(&server).await;
    let url = with_key(server.url.clone(), key).await;
    let excused = home.path().join("excused.yml");
    std::fs::write(&excused, WITHOUT_TEST_TOOLS).unwrap();
    for name in names {
        let mut command = std::process::Command::new(&node);
        command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        command.args(["server", "--url", &format!("{url}/mcp"), "--scenario", name, "--spec-version", revision]);
        if *name == "server-stateless" {
            command.arg("--expected-failures").arg(&excused);
        }
        command.current_dir(home.path()).env_remove("http_proxy").env_remove("HTTP_PROXY");
        let ran = tokio::task::spawn_blocking(move || Ran::of(output(&mut command))).await.unwrap();
        assert_eq!(ran.code, Some(0), "{name}:\n{}\n{}", ran.out, ran.err);
        assert!(!ran.out.contains("not applicable"), "{name} did not run:\n{}", ran.out);
    }
    report::ran(&format!("{} {what}: {}", names.len(), names.join(", ")));
}

/// The scenarios show no key, so something in between does it for them. Everything else passes as it came.
async fn with_key(server: String, key: String) -> String {
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    let app = Router::new().fallback(pass).with_state((client, server, key));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

async fn pass(
    State((client, server, key)): State<(reqwest::Client, String, String)>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 1024 * 1024).await.unwrap();
    let mut headers = parts.headers;
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::AUTHORIZATION, format!("Bearer {key}").parse().unwrap());
    let sent = client.request(parts.method, format!("{server}{}", parts.uri)).headers(headers).body(body).send().await;
    let Ok(mut answer) = sent else {
        return Response::builder().status(StatusCode::BAD_GATEWAY).body(Body::empty()).unwrap();
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    *response.headers_mut() = std::mem::take(answer.headers_mut());
    response.headers_mut().remove(header::TRANSFER_ENCODING);
    let chunks = futures_util::stream::unfold(answer, |mut answer| async move {
        let chunk = answer.chunk().await.ok()??;
        Some((Ok::<_, std::convert::Infallible>(chunk), answer))
    });
    *response.body_mut() = Body::from_stream(chunks);
    response
}
