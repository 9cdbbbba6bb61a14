//! The pages of people and groups.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::Browser;
use crate::common::{Home, Server};

async fn signed_in(server: &Server) -> Browser<'_> {
    Browser::with_key(server, &server.key.clone()).await
}

#[tokio::test]
async fn the_example_on_the_empty_page_makes_a_person() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    let empty = browser.get("/people").await;
    assert!(empty.text.contains("Nobody has an entry yet"), "{}", empty.text);
    let example = [
        ("name", "ana"),
        ("timezone", "Europe/Zagreb"),
        ("language", "hr"),
        ("channel", "console"),
        ("address", "ana"),
    ];
    let made = browser.submit("/people", "/people", &example).await;
    assert_eq!((made.status, made.leads_to()), (StatusCode::SEE_OTHER, "/people/ana"), "{}", made.text);
    let ana = server.get("/v1/users/ana").await;
    assert_eq!((&ana["timezone"], &ana["language"]), (&json!("Europe/Zagreb"), &json!("hr")));
    assert_eq!(ana["addresses"], json!([{"channel": "console", "address": "ana"}]));
    let page = browser.get("/people/ana").await;
    assert!(page.text.contains("Europe/Zagreb") && page.text.contains("Hrvatski"), "{}", page.text);
    let again = browser.submit("/people", "/people", &example).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY, "an entry is not overwritten");
    assert!(again.text.contains("There is somebody of this name already"), "{}", again.text);
}

#[tokio::test]
async fn a_refused_form_says_at_its_field_what_would_be_right_and_keeps_what_was_written() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    let page = browser
        .submit("/people/ana", "/people/ana", &[("do", "about"), ("timezone", "Europe/Zagrebb"), ("morning", "06:30")])
        .await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    let field = page.text.split("id=\"about-timezone\"").nth(1).unwrap().split("</div>").next().unwrap();
    assert!(field.contains("value=\"Europe/Zagrebb\"") && field.contains("did you mean Europe/Zagreb"), "{field}");
    assert!(page.text.contains("value=\"06:30\""), "{}", page.text);
    assert_eq!(server.call(Method::GET, "/v1/users/ana", None).await.0, StatusCode::NOT_FOUND, "nothing was written");
}

#[tokio::test]
async fn addresses_are_added_sorted_and_removed_without_a_script() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    for address in ["one", "two", "three"] {
        let added = browser
            .submit("/people/ana", "/people/ana", &[("do", "address"), ("channel", "console"), ("address", address)])
            .await;
        assert_eq!(added.status, StatusCode::SEE_OTHER, "{}", added.text);
    }
    let order = [("do", "addresses"), ("order", "console:one"), ("order", "console:two"), ("order", "console:three")];
    for (moved, expect) in [
        ("up console:three", "one three two"),
        ("down console:one", "three one two"),
        ("drop console:one", "three two"),
    ] {
        let now: Vec<String> = names(&server).await.iter().map(|name| format!("console:{name}")).collect();
        let mut form = vec![order[0]];
        form.extend(now.iter().map(|name| ("order", name.as_str())));
        form.push(("move", moved));
        browser.submit("/people/ana", "/people/ana", &form).await;
        assert_eq!(names(&server).await.join(" "), expect, "{moved}");
    }
    // As the script sends it after a drag.
    browser
        .submit(
            "/people/ana",
            "/people/ana",
            &[("do", "addresses"), ("order", "console:two"), ("order", "console:three")],
        )
        .await;
    assert_eq!(names(&server).await.join(" "), "two three");
    let unknown = browser
        .submit("/people/ana", "/people/ana", &[("do", "address"), ("channel", "pigeon"), ("address", "x")])
        .await;
    assert_eq!(unknown.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(unknown.text.contains("pigeon"), "{}", unknown.text);
}

async fn names(server: &Server) -> Vec<String> {
    let ana = server.get("/v1/users/ana").await;
    ana["addresses"].as_array().unwrap().iter().map(|address| address["address"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn quiet_hours_a_pause_and_a_silence_begin_and_end_on_the_page() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    let on = "/people/ana";
    browser.submit(on, on, &[("do", "about"), ("timezone", "Europe/Zagreb")]).await;
    let quiet = [("do", "quiet"), ("from", "22:00"), ("to", "07:00"), ("except", "high"), ("digest", "1")];
    assert_eq!(browser.submit(on, on, &quiet).await.status, StatusCode::SEE_OTHER);
    let hours = &server.get("/v1/users/ana").await["quiet_hours"];
    assert_eq!(*hours, json!({"from": "22:00", "to": "07:00", "except": "high", "digest": true}));
    let page = browser.get(on).await.text;
    assert!(page.contains("22:00 to 07:00 (9 h) in Europe/Zagreb."), "{page}");
    assert!(
        page.contains("role=\"img\" aria-label=\"24 hours in Europe/Zagreb: 22:00 to 07:00"),
        "the bar says its numbers: {page}"
    );
    assert_eq!(browser.submit(on, on, &[("do", "pause"), ("paused_until", "3d")]).await.status, StatusCode::SEE_OTHER);
    let ana = server.get("/v1/users/ana").await;
    assert!(
        ana["paused_until"].is_string() && ana["timezone"] == "Europe/Zagreb" && ana["quiet_hours"].is_object(),
        "{ana}"
    );
    assert!(browser.get("/people").await.text.contains("paused until"));
    browser.submit(on, on, &[("do", "resume")]).await;
    assert!(server.get("/v1/users/ana").await["paused_until"].is_null());
    let bad = browser.submit(on, on, &[("do", "pause"), ("paused_until", "purple")]).await;
    assert_eq!(bad.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(bad.text.contains("id=\"pause-paused_until-problem\""), "{}", bad.text);
    browser.submit(on, on, &[("do", "no-quiet")]).await;
    assert!(server.get("/v1/users/ana").await["quiet_hours"].is_null());
    let silent = browser.submit(on, on, &[("do", "silence"), ("tag", "chores"), ("until", "2d")]).await;
    assert_eq!(silent.status, StatusCode::SEE_OTHER, "{}", silent.text);
    let silences = server.get("/v1/silences?user=ana").await;
    let id = silences["silences"][0]["id"].as_str().unwrap();
    assert_eq!(silences["silences"][0]["tag"], "chores");
    assert!(browser.get("/people").await.text.contains("silent about chores until"));
    browser.submit(on, on, &[("do", "silence-end"), ("name", id)]).await;
    assert_eq!(server.get("/v1/silences?user=ana").await["silences"], json!([]));
}

#[tokio::test]
async fn a_bound_key_shows_and_changes_its_own_person_alone() {
    let home = Home::new();
    let server = home.serve();
    server.call(Method::PUT, "/v1/users/bob", Some(json!({"timezone": "Asia/Tokyo"}))).await;
    server.call(Method::PUT, "/v1/users/ana", Some(json!({"timezone": "UTC", "admin": true}))).await;
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({"name": "ana", "user": "ana"}))).await;
    let mut browser = Browser::with_key(&server, key["key"].as_str().unwrap()).await;
    let people = browser.get("/people").await;
    assert_eq!((people.status, people.leads_to()), (StatusCode::SEE_OTHER, "/people/ana"));
    for path in ["/people/bob", "/people/bob/delete", "/people/ana/erase", "/groups/any", "/events/any", "/watches/any"]
    {
        assert_eq!(browser.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let own = browser
        .submit("/people/ana", "/people/ana", &[("do", "about"), ("timezone", "Europe/Vienna"), ("admin", "1")])
        .await;
    assert_eq!(own.status, StatusCode::SEE_OTHER, "{}", own.text);
    let ana = server.get("/v1/users/ana").await;
    assert_eq!((&ana["timezone"], &ana["admin"]), (&json!("Europe/Vienna"), &json!(true)), "what the form lacks stays");
    let other = browser.submit("/people/ana", "/people/bob", &[("do", "about"), ("timezone", "UTC")]).await;
    assert_eq!(other.status, StatusCode::NOT_FOUND);
    assert_eq!(server.get("/v1/users/bob").await["timezone"], "Asia/Tokyo");
}

#[tokio::test]
async fn somebody_is_removed_only_after_a_question() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    server.call(Method::PUT, "/v1/users/ana", Some(json!({}))).await;
    server.create(json!({"user": "ana", "message": "tea", "schedule": {"type": "once", "at": "2h"}})).await;
    assert!(browser.get("/people/ana/delete").await.text.contains("Delete the entry of ana?"));
    assert_eq!(browser.submit("/people/ana/delete", "/people/ana/delete", &[]).await.leads_to(), "/people");
    assert_eq!(
        server.get("/v1/reminders?user=ana").await["reminders"].as_array().unwrap().len(),
        1,
        "the reminders stay"
    );
    let wrong = browser.submit("/people/ana/erase", "/people/ana/erase", &[("confirm", "anna")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(server.get("/v1/reminders?user=ana").await["reminders"].as_array().unwrap().len(), 1);
    let erased = browser.submit("/people/ana/erase", "/people/ana/erase", &[("confirm", "ana")]).await;
    assert_eq!((erased.status, erased.leads_to()), (StatusCode::SEE_OTHER, "/people"), "{}", erased.text);
    assert_eq!(server.get("/v1/reminders?user=ana").await["reminders"], json!([]));
}

#[tokio::test]
async fn a_group_is_made_sorted_and_removed_on_its_page() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    let made =
        browser.submit("/people", "/groups", &[("name", "on-call"), ("users", "bob, eve"), ("mode", "in_order")]).await;
    assert_eq!((made.status, made.leads_to()), (StatusCode::SEE_OTHER, "/groups/on-call"), "{}", made.text);
    assert!(browser.get("/groups/on-call").await.text.contains("Asked first: bob"));
    let form = [("do", "members"), ("order", "bob"), ("order", "eve"), ("move", "up eve")];
    browser.submit("/groups/on-call", "/groups/on-call", &form).await;
    assert_eq!(server.get("/v1/groups/on-call").await["users"], json!(["eve", "bob"]));
    browser.submit("/groups/on-call", "/groups/on-call", &[("do", "member"), ("users", "ana")]).await;
    browser.submit("/groups/on-call", "/groups/on-call", &[("do", "settings"), ("mode", "all")]).await;
    let group = server.get("/v1/groups/on-call").await;
    assert_eq!((&group["users"], &group["mode"]), (&json!(["eve", "bob", "ana"]), &json!("all")));
    let bad = browser.submit("/people", "/groups", &[("name", "On Call"), ("users", "bob")]).await;
    assert_eq!(bad.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(bad.text.contains("value=\"On Call\""), "{}", bad.text);
    assert_eq!(browser.submit("/groups/on-call/delete", "/groups/on-call/delete", &[]).await.leads_to(), "/people");
    assert_eq!(server.call(Method::GET, "/v1/groups/on-call", None).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_long_list_of_people_has_pages_and_a_name_is_only_text() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    for n in 0..60 {
        server.call(Method::PUT, &format!("/v1/users/p{n:02}"), Some(json!({}))).await;
    }
    let evil = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    server.call(Method::PUT, &format!("/v1/users/{evil}"), Some(json!({}))).await;
    let first = browser.get("/people").await.text;
    assert!(first.contains("p20") && !first.contains("p59"), "{first}");
    assert!(first.contains("&lt;script&gt;") && !first.contains("<script>alert"), "{first}");
    let next = first
        .split("href=\"")
        .filter_map(|rest| rest.split('"').next())
        .find(|link| link.starts_with("/people?cursor="))
        .unwrap();
    let second = browser.get(next).await.text;
    assert!(second.contains("p59") && !second.contains(">p20<"), "{second}");
    assert_eq!(browser.get(&format!("/people/{evil}")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn two_who_change_one_person_or_group_do_not_overwrite_each_other() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    // Somebody has no entry yet, and gets one from another.
    let form = "value=\"about\"";
    let unborn = browser.get("/people/ana").await.seen(form);
    server.call(Method::PUT, "/v1/users/ana", Some(json!({"timezone": "Europe/Zagreb"}))).await;
    let about = [("do", "about"), ("timezone", "Europe/Vienna"), ("seen", &*unborn)];
    let lost = browser.submit("/people/ana", "/people/ana", &about).await;
    assert_eq!(lost.status, StatusCode::CONFLICT, "{}", lost.text);
    assert!(
        lost.text.contains("value=\"Europe/Vienna\"") && lost.text.contains("Now it says: Europe/Zagreb"),
        "{}",
        lost.text
    );
    assert_eq!(server.get("/v1/users/ana").await["timezone"], "Europe/Zagreb");
    let again = [("do", "about"), ("timezone", "Europe/Vienna"), ("seen", &*lost.seen(form))];
    assert_eq!(browser.submit("/people/ana", "/people/ana", &again).await.status, StatusCode::SEE_OTHER);
    assert_eq!(server.get("/v1/users/ana").await["timezone"], "Europe/Vienna");

    server.call(Method::PUT, "/v1/groups/choir", Some(json!({"users": ["ana", "bob"], "mode": "all"}))).await;
    let seen = browser.get("/groups/choir").await.seen("value=\"settings\"");
    server
        .call(Method::PUT, "/v1/groups/choir", Some(json!({"users": ["ana", "bob", "eve"], "mode": "in_order"})))
        .await;
    let settings = [("do", "settings"), ("mode", "all"), ("rota", ""), ("seen", &*seen)];
    assert_eq!(browser.submit("/groups/choir", "/groups/choir", &settings).await.status, StatusCode::CONFLICT);
    assert_eq!(server.get("/v1/groups/choir").await["mode"], "in_order");
    // A list is changed as it is now, and loses nobody.
    let order = [("do", "members"), ("order", "bob"), ("order", "ana"), ("seen", &*seen)];
    assert_eq!(browser.submit("/groups/choir", "/groups/choir", &order).await.status, StatusCode::SEE_OTHER);
    assert_eq!(server.get("/v1/groups/choir").await["users"], json!(["bob", "ana", "eve"]));

    // Somebody is not removed who has changed since the question.
    for (page, path, changed) in [
        ("/people/ana", "/v1/users/ana", json!({"timezone": "Europe/Paris"})),
        ("/groups/choir", "/v1/groups/choir", json!({"users": ["ana"], "mode": "all"})),
    ] {
        let delete = format!("{page}/delete");
        let seen = browser.get(&delete).await.seen("name=\"seen\"");
        server.call(Method::PUT, path, Some(changed)).await;
        assert_eq!(browser.submit(&delete, &delete, &[("seen", &*seen)]).await.leads_to(), page);
        assert_eq!(server.call(Method::GET, path, None).await.0, StatusCode::OK, "it is not as it was asked about");
        let seen = browser.get(&delete).await.seen("name=\"seen\"");
        assert_eq!(browser.submit(&delete, &delete, &[("seen", &*seen)]).await.leads_to(), "/people");
        assert_eq!(server.call(Method::GET, path, None).await.0, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn every_silence_of_many_is_reached_and_can_be_ended() {
    let home = Home::new();
    let server = home.serve();
    for n in 0..25 {
        let silence = json!({ "user": "ana", "tag": format!("chores-{n}"), "until": "2035-01-01T00:00:00Z" });
        let (status, made) = server.call(Method::POST, "/v1/silences", Some(silence)).await;
        assert!(status.is_success(), "{made}");
    }
    let mut browser = signed_in(&server).await;
    let page = browser.get("/people/ana").await.text;
    assert!(page.contains("Showing 20 of 25.") && page.contains("/people/ana?silences=20#silences"), "{page}");
    let ends = |page: &str| page.matches("value=\"silence-end\"").count();
    let rest = browser.get("/people/ana?silences=20").await.text;
    assert_eq!((ends(&page), ends(&rest)), (20, 5));
    assert!(!rest.contains("silences=25"), "there are no more");
}

#[tokio::test]
async fn a_person_is_reachable_where_a_reminder_for_them_is_taken() {
    let home = Home::new();
    let server = home.serve_unchosen();
    for (id, entry) in
        [("ann", json!({})), ("bob", json!({ "addresses": [{ "channel": "console", "address": "bob" }] }))]
    {
        assert!(server.call(Method::PUT, &format!("/v1/users/{id}"), Some(entry)).await.0.is_success());
    }
    const NOBODY: &str = "not reachable: no address";
    let mut browser = signed_in(&server).await;
    for (id, is_taken) in [("nosuch", false), ("ann", false), ("bob", true), ("me", true)] {
        let reminder = json!({ "user": id, "message": "tea", "schedule": { "type": "once", "at": "9h" } });
        assert_eq!(server.call(Method::POST, "/v1/reminders", Some(reminder)).await.0.is_success(), is_taken, "{id}");
        let page = browser.get(&format!("/people/{id}")).await.text;
        assert_eq!((page.contains(NOBODY), page.contains("> reachable<")), (!is_taken, is_taken), "{id}: {page}");
        assert_eq!(page.contains("default channel is used"), id == "me", "{id}: {page}");
    }
    let list = browser.get("/people").await.text;
    let of = |id: &str| list.split("<li").find(|row| row.contains(&format!("/people/{id}\""))).unwrap().to_owned();
    assert!(of("ann").contains(NOBODY) && !of("bob").contains(NOBODY), "{list}");
    // A key that may make no reminder for others is not told, and its page does not guess.
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({"name": "ann", "user": "ann"}))).await;
    let mut ann = Browser::with_key(&server, key["key"].as_str().unwrap()).await;
    let page = ann.get("/people/ann").await.text;
    assert!(page.contains("not known yet: no address") && !page.contains("> reachable<"), "{page}");
    let before = server.get("/v1/reminders?limit=500").await["reminders"].as_array().unwrap().len();
    assert_eq!(before, 2, "a page makes no reminder");

    let home = Home::new();
    let server = home.serve();
    let page = signed_in(&server).await.get("/people/nosuch").await.text;
    assert!(page.contains("> reachable<") && page.contains("default channel is used"), "{page}");
}
