//! The page Keys.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::Browser;
use crate::common::{Home, Server};

/// The secret that a page shows once.
fn secret(page: &str) -> String {
    let field = page.split("id=\"secret\"").nth(1).unwrap_or_else(|| panic!("{page}"));
    field.split("value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// Whether a key opens the API.
async fn opens(server: &Server, key: &str) -> bool {
    server.call_with(key, Method::GET, "/v1/caller", None).await.0 == StatusCode::OK
}

#[tokio::test]
async fn a_key_is_made_rotated_and_deleted() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::with_key(&server, &server.key).await;
    let form = [("name", "my bot"), ("user", "ana"), ("scopes", "read"), ("rate", "10/s")];
    let made = browser.submit("/keys", "/keys", &form).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.text);
    let first = secret(&made.text);
    assert!(opens(&server, &first).await);
    let keys = server.get("/v1/keys").await;
    let key = keys["keys"].as_array().unwrap().iter().find(|key| key["name"] == "my bot").unwrap();
    assert_eq!((&key["user"], &key["scopes"][0]), (&json!("ana"), &json!("read")), "{key}");
    let path = format!("/keys/{}", key["id"].as_str().unwrap());
    let listed = browser.get("/keys").await.text;
    assert!(listed.contains("my bot") && !listed.contains(&first), "a secret is shown once");

    let rotated = browser.submit("/keys", &format!("{path}/rotate"), &[("overlap", "0s")]).await;
    let second = secret(&rotated.text);
    assert!(second != first && opens(&server, &second).await && !opens(&server, &first).await);
    let deleted = browser.submit("/keys", &format!("{path}/delete"), &[]).await;
    assert_eq!((deleted.status, deleted.leads_to()), (StatusCode::SEE_OTHER, "/keys"), "{}", deleted.text);
    assert!(!opens(&server, &second).await);
    assert!(!browser.get("/keys").await.text.contains("my bot"));
}

#[tokio::test]
async fn a_key_that_was_refused_keeps_what_was_written() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::with_key(&server, &server.key).await;
    let form = [("name", "my bot"), ("scopes", "send-test"), ("channels", "console"), ("rate", "often")];
    let page = browser.submit("/keys", "/keys", &form).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", page.text);
    let form = page.text.split("action=\"/keys\"").nth(1).unwrap().split("</form>").next().unwrap();
    assert!(form.contains("value=\"my bot\"") && form.contains("value=\"often\" "), "{form}");
    let ticked: Vec<&str> = form
        .split("<input")
        .filter(|input| input.contains(" checked"))
        .map(|input| input.split("value=\"").nth(1).unwrap().split('"').next().unwrap())
        .collect();
    assert_eq!(ticked, ["send-test", "console"]);
    assert!(form.contains("id=\"new-rate-problem\""), "{form}");
}
