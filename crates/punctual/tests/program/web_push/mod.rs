//! A browser as an address, on the page: the form behind the button, and what the browser needs to be told.

mod chromium;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::StatusCode;
use serde_json::json;

use crate::common::Home;
use crate::web::Browser;

const ADDRESS: &str = "https://push.example.net/abc#p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4&auth=BTBZMqHH6r4Tts7J_aSIgg";

#[tokio::test]
async fn a_browser_becomes_the_first_address_of_its_person_and_the_others_stay() {
    let home = Home::new();
    let server = home.serve();
    let console = json!({ "channel": "console", "address": "" });
    let entry = json!({ "language": "de", "quiet_hours": { "from": "22:00", "to": "07:00" }, "addresses": [console] });
    let (status, said) = server.call(reqwest::Method::PUT, "/v1/users/me", Some(entry)).await;
    assert!(status.is_success(), "{said}");
    let mut browser = Browser::with_key(&server, &server.key).await;
    let own = json!({ "channel": "webpush", "address": ADDRESS });
    for (wish, expect) in [("add", json!([own, console])), ("add", json!([own, console])), ("remove", json!([console]))]
    {
        let page = browser.submit("/browser", "/browser", &[("wish", wish), ("address", ADDRESS)]).await;
        assert_eq!((page.status, page.leads_to()), (StatusCode::SEE_OTHER, "/browser"), "{}", page.text);
        let user = server.get("/v1/users/me").await;
        assert_eq!(user["addresses"], expect, "{wish}");
        assert_eq!((&user["language"], &user["quiet_hours"]["from"]), (&json!("de"), &json!("22:00")), "{wish}");
    }
    let page = browser.get("/browser").await;
    assert!(page.text.contains("In diesem Browser benachrichtigen"), "{}", page.text);
}

#[tokio::test]
async fn a_wrong_address_is_refused_in_words_and_changes_nothing() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::with_key(&server, &server.key).await;
    let form = [("wish", "add"), ("address", "https://push.example/s3cret")];
    let page = browser.submit("/browser", "/browser", &form).await;
    assert_eq!(page.leads_to(), "/browser", "{}", page.text);
    let cookie = page.headers["set-cookie"].to_str().unwrap();
    let said = cookie.strip_prefix("punctual-said=").unwrap().split(';').next().unwrap();
    let said = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(said).unwrap()).unwrap();
    assert!(said.contains("has no keys behind a #") && !said.contains("s3cret"), "{said}");
    assert_eq!(server.get("/v1/users?limit=1").await["users"], json!([]));
}

#[tokio::test]
async fn only_a_key_that_may_write_makes_its_own_browser_an_address() {
    let home = Home::new();
    let server = home.serve();
    for (scopes, is_offered) in [(json!(["read"]), false), (json!(["read", "write"]), true)] {
        let key = json!({ "name": "k", "user": "ann", "scopes": scopes });
        let (_, key) = server.call(reqwest::Method::POST, "/v1/keys", Some(key)).await;
        let mut browser = Browser::with_key(&server, key["key"].as_str().unwrap()).await;
        let page = browser.get("/browser").await;
        assert_eq!(page.text.contains("<this-browser"), is_offered, "{scopes}: {}", page.text);
    }
    let mut admin = Browser::with_key(&server, &server.key).await;
    assert!(!admin.get("/browser?user=ann").await.text.contains("<this-browser"), "it is not ann's browser");
}

#[tokio::test]
async fn the_service_worker_stands_at_the_root_and_is_asked_for_anew_each_time() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::at(&server);
    for (path, kind, kept) in [
        ("/sw.js", "text/javascript; charset=utf-8", "no-cache"),
        ("/manifest.webmanifest", "application/manifest+json", "public, max-age=86400"),
        ("/icon.svg", "image/svg+xml", "public, max-age=86400"),
        ("/icon-192.png", "image/png", "public, max-age=86400"),
        ("/icon-512.png", "image/png", "public, max-age=86400"),
    ] {
        let page = browser.get(path).await;
        let header = |name: &str| page.headers[name].to_str().unwrap().to_owned();
        assert_eq!(
            (page.status, header("content-type"), header("cache-control")),
            (StatusCode::OK, kind.into(), kept.into()),
            "{path}"
        );
    }
}
