//! What dashboards and load balancers ask.

use reqwest::Method;
use serde_json::json;

use crate::common::{Home, Receiver, soon};

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

    let response = soon(server.request(Method::GET, "/metrics").send()).await.unwrap();
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    let text = soon(response.text()).await.unwrap();
    for name in [
        "punctual_lateness_seconds_bucket",
        "punctual_retries_total",
        "punctual_claims_lost_total",
        "punctual_fallback_found_total",
        "punctual_queries_total",
        "punctual_pending ",
        "punctual_oldest_due_seconds ",
    ] {
        assert!(text.contains(name), "{name} is not in {text}");
    }
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
}
