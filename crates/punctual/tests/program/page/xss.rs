//! Texts that are attacks are shown as texts.

use reqwest::Method;
use serde_json::{Value, json};

use super::tell;
use super::world::World;

/// Classic vectors: tags, attributes, URLs, comments, templates, and ends of what they may stand in.
const ATTACKS: [&str; 20] = [
    "<script>alert(1)</script>",
    "\"><script>alert(2)</script>",
    "'><img src=x onerror=alert(3)>",
    "<svg/onload=alert(4)>",
    "<svg><script>alert(5)</script></svg>",
    "javascript:alert(6)",
    "</title><script>alert(7)</script>",
    "</textarea><script>alert(8)</script>",
    "--><script>alert(9)</script><!--",
    "\" onfocus=alert(10) autofocus x=\"",
    "' onmouseover='alert(11)",
    "<iframe srcdoc=\"<script>alert(12)</script>\"></iframe>",
    "<a href=\"javascript:alert(13)\">x</a>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(14)>",
    "<details open ontoggle=alert(15)>",
    "<form action=\"https://evil.example\"><button>x</button></form>",
    "<meta http-equiv=refresh content=\"0;url=https://evil.example\">",
    "<base href=\"https://evil.example/\">",
    "{{constructor.constructor('alert(18)')()}}${alert(18)}",
    "<style>@import 'https://evil.example/a.css';</style><img src=https://evil.example/a.png>",
];

#[tokio::test]
async fn texts_that_are_attacks_run_nothing_anywhere() {
    let (_home, server) = World::empty();
    let mut pages: Vec<String> = Vec::new();
    // Fields that refuse a text need not show it.
    let put = async |path: String, body: Value| {
        let (status, answer) = server.call(Method::PUT, &path, Some(body)).await;
        assert!(status.is_success() || status.is_client_error(), "{path}: {answer}");
        status.is_success()
    };
    let encode =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    let mut shown = 0;
    for (number, attack) in ATTACKS.into_iter().enumerate() {
        let user = encode(attack);
        let entry = json!({ "timezone": "Europe/Berlin", "addresses": [{ "channel": "console", "address": attack }], "tags": [attack] });
        if put(format!("/v1/users/{user}"), entry).await {
            pages.extend([format!("/?user={user}"), format!("/people/{user}")]);
        }
        put(format!("/v1/groups/{user}"), json!({ "users": ["me", attack], "mode": "all" })).await;
        let event = json!({ "starts_at": "2030-01-01T20:00:00Z", "message": attack, "users": ["me"], "offsets": [10], "metadata": { attack: attack } });
        if put(format!("/v1/events/{user}"), event).await {
            pages.push(format!("/events/{user}"));
        }
        put(format!("/v1/scopes/{user}"), json!({ "offsets": [60] })).await;
        let reminder = json!({
            "user": "me", "message": attack, "name": attack, "tags": [attack], "metadata": { attack: attack, "x": attack }, "created_via": attack,
            "original_text": attack, "require_ack": number % 2 == 0, "ack_prompt": attack, "schedule": { "type": "once", "at": if number < 6 { "1s" } else { "2h" } },
        });
        let mut tried = reminder.as_object().unwrap().clone();
        // Left out one after the other, until what is left is taken.
        for refused in ["name", "tags", "created_via", "metadata", ""] {
            let (status, made) = server.call(Method::POST, "/v1/reminders", Some(Value::Object(tried.clone()))).await;
            if status == 201 {
                shown += 1;
                pages.push(format!("/reminders/{}", made["id"].as_str().unwrap()));
                break;
            }
            assert!(status.is_client_error(), "{made}");
            tried.remove(refused);
        }
        let (status, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": attack }))).await;
        assert!(status.is_success() || status.is_client_error(), "{key}");
        pages.push(format!("/reminders?q={user}"));
    }
    assert_eq!(shown, ATTACKS.len(), "each is the message of a reminder");
    pages.extend(
        ["/", "/reminders", "/people", "/events", "/keys", "/health", "/channels", "/settings"].map(str::to_owned),
    );
    tell("xss/everywhere", &server, json!({ "pages": pages, "attacks": ATTACKS })).await;
}
