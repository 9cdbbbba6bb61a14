//! The questions of dashboards and load balancers: `/healthz`, `/readyz`, `/metrics`.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use punctual_testkit::proxy::{Proxy, Toward};
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::until_some;
use reqwest::Method;
use serde_json::json;

use crate::common::{Home, Receiver, Server, soon, within};

#[tokio::test]
async fn health_stats_and_metrics_are_told() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let to = json!([{ "channel": "webhook", "address": receiver.url }]);
    server.create(json!({ "message": "later", "schedule": { "type": "once", "at": "1h" } })).await;
    server.create(json!({ "message": "now", "schedule": { "type": "once", "at": "0s" }, "to": to })).await;
    receiver.next().await;

    assert_eq!(server.get("/healthz").await["status"], "ok");
    assert_eq!(server.get("/readyz").await["status"], "ready");
    let stats = server.get("/v1/stats").await;
    assert!(stats["pending"].as_u64().unwrap() >= 1, "{stats}");
    assert!(stats["reminders"]["active"].as_u64().unwrap() >= 1, "{stats}");
    let channels = server.get("/v1/channels").await;
    assert_eq!(channels["channels"][0]["name"], "console");

    let (kind, text) = scraped(&server, None).await;
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    for name in [
        "# TYPE punctual_lateness_seconds histogram\n",
        "punctual_lateness_seconds_bucket{le=\"0.0005\"}",
        "punctual_lateness_seconds_bucket{le=\"+Inf\"} ",
        "# TYPE punctual_retries_total counter\npunctual_retries_total 0\n",
        "punctual_attempts_total{channel=\"webhook\",outcome=\"sent\"} 1\n",
        "punctual_claims_lost_total",
        "punctual_fallback_found_total",
        "punctual_queries_total",
        "# TYPE punctual_pending gauge\npunctual_pending ",
        "\npunctual_oldest_due_seconds ",
        "\npunctual_stats_age_seconds ",
    ] {
        assert!(text.contains(name), "{name} is not in {text}");
    }
    assert!(!text.contains("# EOF") && !text.contains("# UNIT"), "{text}");
}

#[tokio::test]
async fn requests_are_counted_by_route_and_by_nothing_that_a_caller_invents() {
    let home = Home::new();
    let server = home.serve();
    let id =
        server.create(json!({ "message": "later", "schedule": { "type": "once", "at": "1h" } })).await["id"].clone();
    server.get(&format!("/v1/reminders/{}", id.as_str().unwrap())).await;
    for unknown in 0..3 {
        let (status, _) = server.call(Method::GET, &format!("/v1/reminders/unknown{unknown}"), None).await;
        assert_eq!(status, 404);
        server.call(Method::GET, &format!("/nowhere/{unknown}"), None).await;
        let invented = Method::from_bytes(format!("BREW{unknown}").as_bytes()).unwrap();
        server.call(invented, "/v1/reminders", None).await;
    }
    let (_, text) = scraped(&server, None).await;
    for (labels, n) in [
        ("method=\"POST\",route=\"/v1/reminders\",status=\"2xx\"", 1.0),
        ("method=\"GET\",route=\"/v1/reminders/{id}\",status=\"2xx\"", 1.0),
        ("method=\"GET\",route=\"/v1/reminders/{id}\",status=\"4xx\"", 3.0),
        ("method=\"GET\",route=\"none\",status=\"4xx\"", 3.0),
        ("method=\"other\",route=\"/v1/reminders\",status=\"4xx\"", 3.0),
    ] {
        assert_eq!(gauge(&text, &format!("punctual_http_requests_total{{{labels}}}")), n, "{text}");
    }
    let of_route = "{method=\"GET\",route=\"/v1/reminders/{id}\"}";
    assert_eq!(gauge(&text, &format!("punctual_http_request_seconds_count{of_route}")), 4.0);
    assert!(gauge(&text, &format!("punctual_http_request_seconds_sum{of_route}")) > 0.0);
    for invented in ["unknown0", "nowhere", "BREW"] {
        assert!(!text.contains(invented), "{text}");
    }
}

#[tokio::test]
async fn the_version_the_nodes_the_journal_and_dead_addresses_are_told() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::answering(reqwest::StatusCode::GONE).await;
    let (_, text) = scraped(&server, None).await;
    let version = format!("punctual_build_info{{version=\"{}\",", env!("CARGO_PKG_VERSION"));
    assert!(text.lines().any(|line| line.starts_with(&version) && line.ends_with("} 1")), "{text}");
    assert_eq!((gauge(&text, "punctual_nodes"), gauge(&text, "punctual_shards")), (1.0, 256.0));
    assert_eq!((gauge(&text, "punctual_journal_lag_seconds"), gauge(&text, "punctual_journal_untold")), (0.0, 0.0));
    let dead = "punctual_dead_addresses{channel=\"webhook\"}";
    assert_eq!(gauge(&text, dead), 0.0, "a channel without any says so");

    let to = json!([{ "channel": "webhook", "address": receiver.url }]);
    server.create(json!({ "message": "now", "schedule": { "type": "once", "at": "0s" }, "to": to })).await;
    receiver.next().await;
    let counted = async |n: f64| {
        until_some("it is counted", async || {
            let (_, text) = scraped(&server, None).await;
            (gauge(&text, dead) == n).then_some(())
        })
        .await;
    };
    counted(1.0).await;
    let body = json!({ "address": receiver.url });
    let (status, _) = server.call(Method::POST, "/v1/channels/webhook/revive", Some(body)).await;
    assert_eq!(status, 200);
    counted(0.0).await;
}

#[tokio::test]
async fn promtool_is_content_with_the_metrics() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let to = json!([{ "channel": "webhook", "address": receiver.url }]);
    server.create(json!({ "message": "now", "schedule": { "type": "once", "at": "0s" }, "to": to })).await;
    receiver.next().await;
    let (_, text) = scraped(&server, None).await;
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = promtool.spawn().unwrap();
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let checked = promtool.wait_with_output().unwrap();
    let said = [checked.stdout, checked.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    assert!(checked.status.success() && said.is_empty(), "{:?}: {said}{text}", checked.status);
}

#[tokio::test]
async fn open_metrics_are_for_whoever_asks_for_them() {
    let home = Home::new();
    let server = home.serve();
    let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                      text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    for (accept, open) in [
        (prometheus, true),
        ("application/openmetrics-text", true),
        ("text/plain;q=0.5, Application/OpenMetrics-Text; version=1.0.0", true),
        ("text/plain", false),
        ("*/*", false),
        ("text/html,application/xhtml+xml,*/*;q=0.8", false),
        ("text/plain;version=0.0.4, application/openmetrics-text;q=0.5", false),
        ("application/openmetrics-text;q=0, text/plain", false),
    ] {
        let (kind, text) = scraped(&server, Some(accept)).await;
        assert_eq!(kind.starts_with("application/openmetrics-text; version=1.0.0"), open, "{accept}: {kind}");
        assert_eq!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1, open, "{accept}");
        assert_eq!(text.contains("# TYPE punctual_retries counter\n"), open, "{accept}: {text}");
    }
}

/// A database that takes connections and says nothing is the worst case: every query waits.
#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_is_silent_gauges_stay_and_say_how_old_they_are() {
    let Some(postgres) = Postgres::start() else { return };
    let proxy = Proxy::before(postgres.port());
    let url = proxy.url_for(&postgres.url(&postgres.new_database(None)));
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    for _ in 0..3 {
        server.create(json!({ "message": "later", "schedule": { "type": "once", "at": "1h" } })).await;
    }
    let (_, text) = scraped(&server, None).await;
    assert_eq!(gauge(&text, "punctual_pending"), 3.0, "{text}");
    assert!(gauge(&text, "punctual_stats_age_seconds") < 10.0, "{text}");

    proxy.swallow(Toward::Client);
    let age = until_some("the figures are old", async || {
        let (_, text) = within(Duration::from_secs(3), scraped(&server, None)).await;
        assert_eq!(gauge(&text, "punctual_pending"), 3.0, "{text}");
        assert_eq!(gauge(&text, "punctual_oldest_due_seconds"), 0.0, "{text}");
        Some(gauge(&text, "punctual_stats_age_seconds")).filter(|age| *age > 11.0)
    })
    .await;
    assert!(age < 30.0, "{age}");
}

fn gauge(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is not in {metrics}")).parse().unwrap()
}

/// What `/metrics` answers: its content type and its text.
async fn scraped(server: &Server, accept: Option<&str>) -> (String, String) {
    let mut request = server.request(Method::GET, "/metrics");
    if let Some(accept) = accept {
        request = request.header("accept", accept);
    }
    let response = soon(request.send()).await.unwrap();
    assert_eq!(response.status(), 200);
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    (kind, soon(response.text()).await.unwrap())
}
