//! The page Health, with something to say.

use punctual_testkit::wait::until;
use serde_json::json;

use super::Browser;
use crate::common::{Home, NOWHERE};

#[tokio::test]
async fn what_was_sent_stands_on_the_page_as_plots_and_as_numbers() {
    let home = Home::new();
    let server = home.serve();
    let now = json!({ "type": "once", "at": "0s" });
    for n in 0..3 {
        server.create(json!({ "user": "me", "message": format!("Errand {n}"), "schedule": now })).await;
    }
    let nowhere = json!([{ "channel": "webhook", "address": NOWHERE }]);
    let lost =
        json!({ "user": "me", "message": "Lost", "schedule": now, "to": nowhere, "only": true, "max_retries": 0 });
    server.create(lost).await;
    until("all were tried", async || {
        let total = server.get("/v1/lateness").await["total"].clone();
        total["sends"] == 4 && total["failed"] == 1 && total["given_up"] == 1
    })
    .await;
    let mut browser = Browser::with_key(&server, &server.key).await;
    let page = browser.get("/health").await.text;
    assert!(page.contains("<div class=\"\"><dd>4</dd>") || page.contains("<dd>4</dd>"), "{page}");
    assert!(page.contains("<div class=\"bad\"><dd>1</dd>"), "one was given up: {page}");
    for drawn in ["<path class=\"p99\"", "<path class=\"good\"", "<path class=\"bad\"", "<table class=\"histogram\">"] {
        assert!(page.contains(drawn), "{drawn} is missing: {page}");
    }
    // Every number is there as text: sends, failed, given up.
    let table = page.split("<table class=\"of-numbers\">").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(table.contains("<td>4</td><td>1</td><td>1</td>"), "{table}");
}
