//! Keys that see little or nothing, and cookies over TLS.

use reqwest::header::SET_COOKIE;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::Browser;
use crate::common::{Home, Server, soon};
use crate::tls;

async fn key(server: &Server, scopes: &[&str]) -> String {
    let body = json!({ "name": scopes.join("+"), "scopes": scopes });
    let (status, key) = server.call(Method::POST, "/v1/keys", Some(body)).await;
    assert_eq!(status, StatusCode::CREATED, "{key}");
    key["key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_key_that_may_not_read_is_led_to_what_it_may_do() {
    let home = Home::new();
    let server = home.serve();
    for (scopes, place) in [("keys", "/keys"), ("send-test", "/channels")] {
        let key = key(&server, &[scopes]).await;
        let mut browser = Browser::with_key(&server, &key).await;
        let today = browser.get("/").await;
        assert_eq!((today.status, today.leads_to()), (StatusCode::SEE_OTHER, place), "{scopes}");
        let page = browser.get(place).await;
        assert_eq!(page.status, StatusCode::OK, "{scopes}: {}", page.text);
        assert!(page.text.contains("action=\"/sign-out\""), "{scopes} has no way out");
        assert!(!page.text.contains("href=\"/browser\""), "{scopes}: a page that would refuse it");
        // Where it may not go it has its rail all the same, with the way on and out.
        let refused = browser.get("/people").await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
        assert!(refused.text.contains("This key may not do that"), "{}", refused.text);
        for way in [&format!("href=\"{place}\""), "action=\"/sign-out\""] {
            assert!(refused.text.contains(way), "{scopes} lacks {way}: {}", refused.text);
        }
    }
}

#[tokio::test]
async fn a_key_for_programs_that_bring_answers_is_told_that_there_is_no_page_for_it() {
    let home = Home::new();
    let server = home.serve();
    let key = key(&server, &["inbound"]).await;
    let mut browser = Browser::with_key(&server, &key).await;
    let page = browser.get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.text.contains("No page is for this key") && page.text.contains("action=\"/sign-out\""),
        "{}",
        page.text
    );
    let out = browser.submit("/", "/sign-out", &[]).await;
    assert_eq!(out.leads_to(), "/sign-in");
}

#[tokio::test]
async fn a_key_that_may_only_test_names_the_channel_and_is_told_the_answer() {
    let home = Home::new();
    let server = home.serve();
    let key = key(&server, &["send-test"]).await;
    let mut browser = Browser::with_key(&server, &key).await;
    let sent = browser
        .submit("/channels", "/channels/test", &[("channel", "console"), ("address", ""), ("message", "hello")])
        .await;
    assert_eq!((sent.status, sent.leads_to()), (StatusCode::SEE_OTHER, "/channels"), "{}", sent.text);
    let said = sent.said();
    assert!(said.starts_with("console: sent in ") && said.ends_with("It was taken."), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_the_cookie_is_for_this_host_and_for_tls_alone() {
    let home = Home::new();
    let folder = home.path().join("tls");
    tls::certificate(&folder, "localhost");
    let server = tls::serve(&home, &folder);
    let client = tls::trusting(&server, &folder, "localhost");
    let url = server.url.replace("127.0.0.1", "localhost");
    let form = format!("key={}", server.key);
    let request = client.post(format!("{url}/sign-in")).header("content-type", "application/x-www-form-urlencoded");
    let page = soon(request.body(form).send()).await.unwrap();
    assert_eq!(page.status(), StatusCode::SEE_OTHER);
    let cookie = page.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.starts_with("__Host-punctual"), "{cookie}");
    for part in ["; Secure", "; HttpOnly", "; SameSite=Lax", "; Path=/;"] {
        assert!(cookie.contains(part), "{cookie} lacks {part}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    let session = cookie.split(';').next().unwrap().to_owned();
    let today = soon(client.get(format!("{url}/")).header("cookie", session).send()).await.unwrap();
    assert_eq!(today.status(), StatusCode::OK);
}
