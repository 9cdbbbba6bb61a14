//! How pages look: in the judgement of axe, on a phone, in the dark, in every language; and their screenshots.

use reqwest::Method;
use serde_json::json;

use super::tell;
use super::world::World;
use crate::web::Browser;

#[tokio::test]
async fn axe_finds_no_violation_on_any_page_light_and_dark() {
    let world = World::with(3).await;
    tell("looks/axe", &world.server, json!({ "pages": world.pages(), "items": 3 })).await;
}

#[tokio::test]
async fn axe_finds_no_violation_on_what_is_unfolded_or_stands_over_a_page() {
    let world = World::with(2).await;
    // What a change would do, before it is made.
    let previews = ["/events/game-0?starts_at=2030-01-02T20%3A00", "/scopes?at=guild%3A1&preview=1&offsets=30"];
    let pages: Vec<String> = world.pages().into_iter().chain(previews.map(str::to_owned)).collect();
    tell("looks/axeUnfolded", &world.server, json!({ "pages": pages })).await;
}

/// Pages on which there may be nothing.
pub(super) const EMPTY: [&str; 10] =
    ["/", "/reminders", "/people", "/events", "/scopes", "/watches", "/health", "/channels", "/keys", "/settings"];

#[tokio::test]
async fn axe_finds_no_violation_on_pages_with_nothing_on_them() {
    let (_home, server) = World::empty();
    tell("looks/axe", &server, json!({ "pages": EMPTY, "items": 0 })).await;
}

#[tokio::test]
async fn pages_with_nothing_on_them_fit_a_phone() {
    let (_home, server) = World::empty();
    tell("looks/phone", &server, json!({ "pages": EMPTY, "items": 0 })).await;
}

#[tokio::test]
async fn axe_finds_no_violation_in_any_language() {
    let world = World::with(1).await;
    tell("looks/axeInLanguages", &world.server, json!({ "languages": LANGUAGES })).await;
}

#[tokio::test]
async fn a_phone_of_320_pixels_shows_every_page_without_scrolling_sideways_and_with_targets_for_thumbs() {
    let world = World::with(3).await;
    tell("looks/phone", &world.server, json!({ "pages": world.pages(), "items": 3 })).await;
}

#[tokio::test]
async fn an_instance_of_a_series_is_changed_on_a_phone() {
    let (_home, server) = World::empty();
    tell("looks/instance", &server, json!({})).await;
}

#[tokio::test]
async fn three_hundred_of_everything_fit() {
    let world = World::with(300).await;
    let all = std::env::var("PUNCTUAL_PAGE_SCREENSHOTS").is_ok_and(|wanted| wanted == "all");
    let pages: Vec<String> = world.pages().into_iter().chain(["/?earlier=all".to_owned()]).collect();
    tell("looks/many", &world.server, json!({ "pages": pages, "items": 300, "all": all })).await;
}

/// The languages of the page, as a browser asks for them and as the page says.
const LANGUAGES: [(&str, &str); 4] = [("en-GB", "en"), ("de-DE", "de"), ("hr-HR", "hr"), ("sr-RS", "sr")];

/// Words of the frame, of Today and of sign-in that must not be left in English.
const ENGLISH: [&str; 12] = [
    ">Today<",
    ">Reminders<",
    ">People<",
    ">Events<",
    ">Health<",
    ">Channels<",
    ">Keys<",
    ">Settings<",
    ">Sign out<",
    ">Sign in<",
    "Waiting for an answer",
    ">More<",
];

#[tokio::test]
async fn every_page_is_in_the_language_of_its_viewer() {
    let world = World::with(1).await;
    for (_, said) in LANGUAGES.into_iter().skip(1) {
        let user = json!({ "timezone": "Europe/Berlin", "language": said });
        assert!(world.server.call(Method::PUT, "/v1/users/me", Some(user)).await.0.is_success());
        let mut browser = Browser::with_key(&world.server, &world.server.key).await;
        // Strangers have no language but their browser's, and this one says none.
        for path in world.pages().into_iter().filter(|path| path != "/sign-in") {
            let page = browser.get(&path).await;
            assert_eq!(page.status, 200, "{path}");
            assert!(page.text.contains(&format!("<html lang=\"{said}")), "{path} says another language than {said}");
            let left: Vec<&str> = ENGLISH.into_iter().filter(|word| page.text.contains(word)).collect();
            assert!(left.is_empty(), "{path} in {said} has left in English: {left:?}");
        }
    }
}
