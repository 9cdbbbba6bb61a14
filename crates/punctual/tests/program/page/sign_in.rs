//! Signing in and out in several browsers, and what each of them sees.

use jiff::SignedDuration;
use punctual_testkit::faketime::Faketime;
use reqwest::Method;
use serde_json::{Value, json};

use super::world::World;
use super::{tell, tell_with};
use crate::common::{Home, Server};

async fn key(server: &Server, body: Value) -> String {
    let (status, key) = server.call(Method::POST, "/v1/keys", Some(body)).await;
    assert_eq!(status, 201, "{key}");
    key["key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_link_leads_one_browser_to_the_page_and_another_to_the_form() {
    let (_home, server) = World::empty();
    let (status, link) = server.call(Method::POST, "/v1/sign-in", None).await;
    assert_eq!(status, 200, "{link}");
    tell("sign_in/byLink", &server, json!({ "link": link["url"] })).await;
}

#[tokio::test]
async fn a_link_of_eleven_minutes_ago_leads_to_the_form_which_says_why() {
    let Some(clock) = Faketime::new() else { return };
    let home = Home::new();
    let server = home.serve_with(&clock.env());
    let (status, link) = server.call(Method::POST, "/v1/sign-in", None).await;
    assert_eq!(status, 200, "{link}");
    tell_with("sign_in/oldLink", &server, json!({ "link": link["url"] }), async |_| {
        clock.skew(SignedDuration::from_mins(11));
        Value::Null
    })
    .await;
}

#[tokio::test]
async fn somebody_who_signs_out_everywhere_is_signed_out_in_every_browser() {
    let (_home, server) = World::empty();
    tell("sign_in/outEverywhere", &server, json!({})).await;
}

#[tokio::test]
async fn signing_out_leaves_other_browsers_signed_in() {
    let (_home, server) = World::empty();
    tell("sign_in/outHere", &server, json!({})).await;
}

#[tokio::test]
async fn two_people_see_their_own_and_nothing_of_each_other() {
    let (_home, server) = World::empty();
    let ana = key(&server, json!({ "name": "ana", "user": "ana", "scopes": ["read", "write"] })).await;
    let marko = key(&server, json!({ "name": "marko", "user": "marko", "scopes": ["read", "write"] })).await;
    let mut ids = Vec::new();
    for (user, message) in [("ana", "Anas secret rehearsal"), ("marko", "Markos secret rehearsal")] {
        let at = json!({ "type": "once", "at": "2h" });
        ids.push(server.create(json!({ "user": user, "message": message, "schedule": at })).await["id"].clone());
    }
    tell("sign_in/twoPeople", &server, json!({ "ana": ana, "marko": marko, "ids": ids })).await;
}
