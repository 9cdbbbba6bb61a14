//! What every page says to the browser beside itself, how much there is of it, and whom it lets in.

use reqwest::Method;
use serde_json::{Value, json};

use super::full;
use super::looks::EMPTY;
use super::world::{World, routes};
use crate::common::Server;
use crate::web::Browser;

/// The most that a page may take with its stylesheet and its script, uncompressed.
const BYTES_MAX: usize = 100_000;

#[tokio::test]
async fn every_page_is_private_cannot_be_framed_and_has_nothing_inline() {
    let world = World::with(3).await;
    let mut browser = Browser::with_key(&world.server, &world.server.key).await;
    let pages = world.pages();
    assert!(pages.len() >= 11, "{pages:?}");
    for path in pages {
        let page = browser.get(&path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        let header = |name: &str| page.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        assert_eq!(header("cache-control"), "no-store", "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        let csp = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "script-src 'self'",
        ] {
            assert!(csp.split("; ").any(|found| found == part), "{path} lacks {part}: {csp}");
        }
        assert!(!csp.contains("unsafe") && !csp.contains("http") && !csp.contains('*'), "{path}: {csp}");
        // The policy would refuse them; a page that has none does not depend on it.
        for inline in [" style=\"", " onclick=", " onload=", "<style", "javascript:"] {
            assert!(!page.text.contains(inline), "{path} has {inline}");
        }
    }
}

#[tokio::test]
async fn a_page_with_its_stylesheet_and_script_is_small() {
    let world = World::with(300).await;
    let mut browser = Browser::with_key(&world.server, &world.server.key).await;
    let mut large = Vec::new();
    let full = full::fill(&world).await;
    for path in world.pages().into_iter().chain(["/?earlier=all".to_owned()]).chain(full) {
        let page = browser.get(&path).await;
        let mut bytes = page.text.len();
        for asset in assets(&page.text) {
            let asset = browser.get(&asset).await;
            assert_eq!(asset.status, 200);
            assert!(asset.headers["cache-control"].to_str().unwrap().contains("immutable"));
            bytes += asset.text.len();
        }
        println!("{path} takes {bytes} bytes, {} of them its own", page.text.len());
        large.extend((bytes > BYTES_MAX).then(|| format!("{path} takes {bytes} bytes")));
    }
    assert!(large.is_empty(), "{large:#?}");
}

fn assets(html: &str) -> Vec<String> {
    let tags = html.split('<').filter(|tag| tag.starts_with("script") || tag.contains("rel=\"stylesheet\""));
    let value = |tag: &str, name: &str| Some(tag.split_once(&format!("{name}=\""))?.1.split('"').next()?.to_owned());
    let found: Vec<String> = tags.filter_map(|tag| value(tag, "src").or_else(|| value(tag, "href"))).collect();
    // The page about this browser has a second script, which asks for notifications.
    assert!((2..=3).contains(&found.len()), "a page has one stylesheet and one script: {found:?}");
    found
}

#[tokio::test]
async fn the_page_about_this_browser_is_marked_as_itself_and_as_no_other() {
    let world = World::with(1).await;
    let mut browser = Browser::with_key(&world.server, &world.server.key).await;
    let page = browser.get("/browser").await.text;
    let marked: Vec<&str> = page.split('<').filter(|tag| tag.contains("aria-current")).collect();
    assert!(!marked.is_empty() && marked.iter().all(|tag| tag.contains("href=\"/browser\"")), "{marked:?}");
}

#[tokio::test]
async fn somebody_who_has_not_signed_in_is_led_to_the_form_from_every_page() {
    let world = World::with(1).await;
    let mut stranger = Browser::at(&world.server);
    for path in world.pages().into_iter().filter(|path| path != "/sign-in") {
        let page = stranger.get(&path).await;
        assert!(page.status.is_redirection() && page.leads_to().starts_with("/sign-in"), "{path}: {}", page.status);
        assert!(!page.text.contains("medicine"), "{path} tells something");
    }
    assert_eq!(stranger.get("/stream").await.status, 401);
}

#[tokio::test]
async fn a_form_without_its_proof_changes_nothing_whatever_it_asks() {
    let world = World::with(1).await;
    let server = &world.server;
    let mut browser = Browser::with_key(server, &server.key).await;
    let other = Browser::with_key(server, &server.key).await.get("/").await.proof();
    let seen = async || (server.get("/v1/reminders?limit=500").await, server.get("/v1/users/me").await);
    let before = seen().await;
    let last = server.get("/v1/audit?order=newest&limit=1").await["entries"][0]["id"].clone();
    let all = routes("post");
    assert!(all.contains("/add") && all.contains("/sign-out"), "{all:?}");
    for route in all.iter().filter(|route| *route != "/sign-in") {
        let path = route.replace("{id}", &world.reminder).replace(['{', '}', '*'], "");
        let fields = [("text", "water in 5 minutes"), ("message", "water"), ("user", "me"), ("everywhere", "1")];
        for (proof, why) in [(None, "none"), (Some(""), "an empty one"), (Some(other.as_str()), "another session's")] {
            let form: Vec<_> = fields.into_iter().chain(proof.map(|proof| ("form", proof))).collect();
            assert_eq!(browser.post(&path, &form).await.status, 403, "{path} with {why}");
        }
    }
    assert_eq!(before, seen().await);
    let entries = server.get("/v1/audit?order=newest&limit=1").await;
    assert_eq!(entries["entries"][0]["id"], last, "something has happened: {entries}");
}

#[tokio::test]
async fn a_key_that_may_only_read_is_shown_no_way_to_change_anything() {
    let world = World::with(1).await;
    let mut bound = reader(&world.server, json!({ "user": "me" })).await;
    for path in ["/", "/reminders", &format!("/reminders/{}", world.reminder)] {
        assert_eq!(changes(&mut bound, path).await, (200, vec![]), "{path}");
    }
    let mut browser = reader(&world.server, json!({})).await;
    for path in world.pages().into_iter().filter(|path| path != "/sign-in") {
        let is_asked = path.ends_with("/delete") || path.ends_with("/forget") || path.ends_with("/erase");
        let status = if is_asked {
            404
        } else if path == "/keys" {
            403
        } else {
            200
        };
        assert_eq!(changes(&mut browser, &path).await, (status, vec![]), "{path}");
    }
    let (_home, empty) = World::empty();
    let mut nothing = reader(&empty, json!({})).await;
    for path in EMPTY.into_iter().filter(|path| *path != "/keys") {
        assert_eq!(changes(&mut nothing, path).await, (200, vec![]), "{path} without anything");
    }
    browser.submit("/", "/add", &[("text", "feed the zebra in 5 minutes"), ("user", "me")]).await;
    let found = world.server.get("/v1/reminders?q=zebra").await;
    assert_eq!(found["reminders"], json!([]));
}

/// A browser with a key that may read and nothing else.
async fn reader(server: &Server, bond: Value) -> Browser<'_> {
    let mut body = json!({ "name": "reader", "scopes": ["read"] });
    body.as_object_mut().unwrap().extend(bond.as_object().unwrap().clone());
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(body)).await;
    Browser::with_key(server, key["key"].as_str().unwrap()).await
}

/// The status of a page, and its forms that change something beside the session.
async fn changes(browser: &mut Browser<'_>, path: &str) -> (u16, Vec<String>) {
    let page = browser.get(path).await;
    let forms = page.text.split("<form").skip(1).map(|form| form.split('>').next().unwrap());
    let others = forms.filter(|form| form.contains("method=\"post\"") && !form.contains("/sign-out"));
    (page.status.as_u16(), others.map(str::to_owned).collect())
}
