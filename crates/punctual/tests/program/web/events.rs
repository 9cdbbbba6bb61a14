//! The pages of events and scopes.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::Browser;
use crate::common::{Home, Server};

async fn signed_in(server: &Server) -> Browser<'_> {
    Browser::with_key(server, &server.key.clone()).await
}

#[tokio::test]
async fn an_event_is_made_moved_after_a_preview_and_removed() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    assert!(browser.get("/events").await.text.contains("No events yet"));
    let new = [
        ("key", "dinner"),
        ("starts_at", "2030-12-10T18:00"),
        ("timezone", "Europe/Zagreb"),
        ("offsets", "60, 15"),
        ("users", "ana"),
        ("message", "Dinner in {minutes} min"),
    ];
    let made = browser.submit("/events", "/events", &new).await;
    assert_eq!((made.status, made.leads_to()), (StatusCode::SEE_OTHER, "/events/dinner"), "{}", made.text);
    let event = server.get("/v1/events/dinner").await;
    assert_eq!(event["offsets"], json!([60, 15]));
    let page = browser.get("/events/dinner").await.text;
    assert!(page.contains("1 h before") && page.contains("15 min before") && page.contains("its own"), "{page}");
    let preview = browser.get("/events/dinner?starts_at=2030-12-10T19%3A00").await.text;
    assert!(preview.contains("Nothing is changed yet"), "{preview}");
    assert_eq!(server.get("/v1/events/dinner").await["starts_at"], event["starts_at"], "a preview changes nothing");
    let moved =
        browser.submit("/events/dinner", "/events/dinner", &[("do", "move"), ("starts_at", "2030-12-10T19:00")]).await;
    assert_eq!(moved.status, StatusCode::SEE_OTHER, "{}", moved.text);
    assert_eq!(server.get("/v1/events/dinner").await["starts_at"], "2030-12-10T18:00:00Z");
    let bad = browser
        .submit(
            "/events/dinner",
            "/events/dinner",
            &[
                ("do", "edit"),
                ("starts_at", "2030-12-10T19:00"),
                ("users", "ana"),
                ("message", "x"),
                ("offsets_from", "own"),
                ("offsets", "soon"),
            ],
        )
        .await;
    assert_eq!(bad.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(bad.text.contains("id=\"edit-offsets-problem\"") && bad.text.contains("value=\"soon\""), "{}", bad.text);
    assert_eq!(browser.submit("/events/dinner/delete", "/events/dinner/delete", &[]).await.leads_to(), "/events");
    assert_eq!(server.call(Method::GET, "/v1/events/dinner", None).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_scope_shows_who_inherits_what_before_and_after_a_change() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    server.call(Method::PUT, "/v1/scopes/club:1", Some(json!({"offsets": [60]}))).await;
    for (key, scope, offsets) in [("inherits", "club:1/team:2", None), ("own", "club:1", Some(json!([5])))] {
        let mut event =
            json!({"starts_at": "2030-12-10T18:00:00Z", "scope": scope, "users": ["ana"], "message": "game"});
        if let Some(offsets) = offsets {
            event["offsets"] = offsets;
        }
        assert_eq!(server.call(Method::PUT, &format!("/v1/events/{key}"), Some(event)).await.0, StatusCode::CREATED);
    }
    let event = browser.get("/events/inherits").await.text;
    assert!(event.contains("from the scope club:1"), "{event}");
    let tree = browser.get("/scopes").await.text;
    assert!(tree.contains("team:2") && tree.contains("from club:1"), "{tree}");
    let preview = browser.get("/scopes?at=club%3A1&preview=1&offsets=30%2C+10").await.text;
    let table = preview.split("id=\"preview\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(table.contains("1 event changes") && table.contains("inherits") && !table.contains(">own<"), "{table}");
    assert!(table.contains("1 h before") && table.contains("30 min before, 10 min before"), "{table}");
    assert_eq!(server.get("/v1/scopes/club:1").await["offsets"], json!([60]), "a preview changes nothing");
    let saved = browser.submit("/scopes", "/scopes", &[("path", "club:1"), ("offsets", "30, 10")]).await;
    assert_eq!((saved.status, saved.leads_to()), (StatusCode::SEE_OTHER, "/scopes?at=club%3A1"), "{}", saved.text);
    assert_eq!(server.get("/v1/scopes/club:1").await["offsets"], json!([30, 10]));
    let gone = browser.get("/scopes?at=club%3A1&remove=1").await.text;
    assert!(gone.contains("nobody is reminded"), "{gone}");
    browser.submit("/scopes", "/scopes", &[("path", "club:1"), ("remove", "1")]).await;
    assert_eq!(server.call(Method::GET, "/v1/scopes/club:1", None).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn one_instance_of_a_series_is_moved_cancelled_and_brought_back() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    let series = json!({"starts_at": "2030-12-10T18:00", "timezone": "Europe/Zagreb", "rrule": "FREQ=WEEKLY", "offsets": [60], "users": ["ana"], "message": "choir"});
    server.call(Method::PUT, "/v1/events/choir", Some(series)).await;
    let page = browser.get("/events/choir").await.text;
    assert!(page.contains("id=\"at-20301217T180000\""), "{page}");
    let one = [("do", "instance"), ("at", "20301217T180000"), ("starts_at", "2030-12-17T19:30")];
    assert_eq!(browser.submit("/events/choir", "/events/choir", &one).await.status, StatusCode::SEE_OTHER);
    assert_eq!(server.get("/v1/events/choir").await["instances"][0]["starts_at"], "2030-12-17T18:30:00Z");
    let back = [("do", "instance-back"), ("at", "20301217T180000")];
    browser.submit("/events/choir", "/events/choir", &back).await;
    browser
        .submit("/events/choir", "/events/choir", &[("do", "instance"), ("at", "20301224T180000"), ("cancel", "1")])
        .await;
    let instances = &server.get("/v1/events/choir").await["instances"];
    assert_eq!((instances.as_array().unwrap().len(), &instances[0]["cancelled"]), (1, &json!(true)), "{instances}");
    assert!(browser.get("/events/choir").await.text.contains("does not take place"));
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_is_said_and_the_page_stays() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    let event =
        json!({"starts_at": "2030-12-10T18:00:00Z", "scope": "club:1", "users": ["ana"], "message": "<b>game</b>"});
    server.call(Method::PUT, "/v1/events/game%2F1", Some(event)).await;
    for (query, is_found) in [
        ("", true),
        ("?scope=club%3A1", true),
        ("?scope=club%3A2", false),
        ("?person=ana", true),
        ("?from=2031-01-01", false),
    ] {
        let page = browser.get(&format!("/events{query}")).await;
        assert_eq!(
            (page.status, page.text.contains("/events/game%2F1")),
            (StatusCode::OK, is_found),
            "{query}: {}",
            page.text
        );
    }
    let bad = browser.get("/events?from=purple").await;
    assert!(bad.text.contains("id=\"filter-from-problem\""), "{}", bad.text);
    let event = browser.get("/events/game%2F1").await;
    assert_eq!(event.status, StatusCode::OK);
    assert!(event.text.contains("&lt;b&gt;game") && !event.text.contains("<b>game"), "{}", event.text);
}

#[tokio::test]
async fn two_who_change_one_event_or_scope_do_not_overwrite_each_other() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = signed_in(&server).await;
    let event = json!({"starts_at": "2030-12-10T18:00:00Z", "scope": "club:1", "users": ["ana"], "message": "game"});
    server.call(Method::PUT, "/v1/events/game", Some(event.clone())).await;
    server.call(Method::PUT, "/v1/scopes/club:1", Some(json!({"offsets": [60]}))).await;

    let page = browser.get("/events/game").await;
    let (edit, moved) = (page.seen("value=\"edit\""), browser.get("/events/game?starts_at=2030-12-11T18%3A00").await);
    let moved = moved.seen("value=\"move\"");
    let mut other = event;
    other["message"] = json!("match");
    server.call(Method::PUT, "/v1/events/game", Some(other)).await;
    let form =
        [("do", "edit"), ("seen", &edit), ("starts_at", "2030-12-10T18:00"), ("users", "ana"), ("message", "cup")];
    let lost = browser.submit("/events/game", "/events/game", &form).await;
    assert_eq!(lost.status, StatusCode::CONFLICT, "{}", lost.text);
    assert!(lost.text.contains("Somebody has changed this") && lost.text.contains("value=\"cup\""), "{}", lost.text);
    assert!(lost.text.contains("Now it says: match"), "{}", lost.text);
    let form = [("do", "move"), ("seen", &moved), ("starts_at", "2030-12-11T18:00")];
    let lost = browser.submit("/events/game", "/events/game", &form).await;
    assert_eq!(lost.status, StatusCode::CONFLICT, "{}", lost.text);
    let now = server.get("/v1/events/game").await;
    assert_eq!((&now["message"], &now["starts_at"]), (&json!("match"), &json!("2030-12-10T18:00:00Z")));
    let again = lost.seen("value=\"edit\"");
    let form =
        [("do", "edit"), ("seen", &again), ("starts_at", "2030-12-10T18:00"), ("users", "ana"), ("message", "cup")];
    assert_eq!(browser.submit("/events/game", "/events/game", &form).await.status, StatusCode::SEE_OTHER);
    assert_eq!(server.get("/v1/events/game").await["message"], "cup");
    let (page, seen) = ("/events/game/delete", browser.get("/events/game/delete").await.seen("name=\"seen\""));
    let moved = json!({"starts_at": "2030-12-12T18:00:00Z", "scope": "club:1", "users": ["ana"], "message": "final"});
    server.call(Method::PUT, "/v1/events/game", Some(moved)).await;
    assert_eq!(browser.submit(page, page, &[("seen", &*seen)]).await.leads_to(), "/events/game");
    assert_eq!(server.get("/v1/events/game").await["message"], "final", "it is not as it was asked about");

    let scope = browser.get("/scopes?at=club%3A1&preview=1&offsets=30").await.seen("name=\"path\"");
    server.call(Method::PUT, "/v1/scopes/club:1", Some(json!({"offsets": [45]}))).await;
    for remove in [&[][..], &[("remove", "1")]] {
        let form = [&[("path", "club:1"), ("seen", &scope), ("offsets", "30")], remove].concat();
        let lost = browser.submit("/scopes", "/scopes", &form).await;
        assert_eq!(lost.status, StatusCode::CONFLICT, "{}", lost.text);
        assert!(lost.text.contains("value=\"30\""), "{}", lost.text);
    }
    assert_eq!(server.get("/v1/scopes/club:1").await["offsets"], json!([45]));
    // A scope that was not there when the form was shown.
    let unborn = browser.get("/scopes?at=club%3A2&preview=1&offsets=30").await.seen("name=\"path\"");
    assert_eq!(unborn, "");
    server.call(Method::PUT, "/v1/scopes/club:2", Some(json!({"offsets": [5]}))).await;
    let form = [("path", "club:2"), ("seen", &*unborn), ("offsets", "30")];
    assert_eq!(browser.submit("/scopes", "/scopes", &form).await.status, StatusCode::CONFLICT);
    assert_eq!(server.get("/v1/scopes/club:2").await["offsets"], json!([5]));
}

#[tokio::test]
async fn every_scope_of_a_full_tree_is_reached() {
    let home = Home::new();
    let server = home.serve();
    let offsets = json!({ "offsets": [60] });
    let paths = (0..70).map(|n| format!("company:{n}")).chain((0..60).map(|n| format!("company:7/room:{n}")));
    let paths: Vec<String> = paths.collect();
    for path in &paths {
        let path = format!("/v1/scopes/{path}");
        let (status, put) = server.call(Method::PUT, &path, Some(offsets.clone())).await;
        assert!(status.is_success(), "{put}");
    }
    let mut browser = signed_in(&server).await;
    let page = browser.get("/scopes").await.text;
    let shown = |page: &str| page.split("<div class=\"node\">").count() - 1;
    assert_eq!(shown(&page), 100, "the first level, and what fits of the next");
    assert!(page.contains(">30 more</a>"), "{page}");
    // The rest stands on the page of the scope, which has pages of its own.
    let (mut on, mut rooms) = ("/scopes?at=company%3A7".to_owned(), 0);
    loop {
        let page = browser.get(&on).await.text;
        rooms += shown(&page);
        let Some(next) = page.split("href=\"").find(|link| link.starts_with("/scopes?at=company%3A7&amp;from=")) else {
            break;
        };
        on = next.split('"').next().unwrap().replace("&amp;", "&");
    }
    assert_eq!(rooms, 60);
}

#[tokio::test]
async fn the_command_line_says_the_next_start_of_a_series_as_the_page_does() {
    let home = Home::new();
    let server = home.serve();
    // 2099-01-02 is a Friday.
    let (at, rule) = ("2099-01-02T18:00", "FREQ=WEEKLY;BYDAY=MO");
    let put = ["events", "put", "choir", "--at", at, "--rrule", rule, "--tz", "UTC", "--user", "ana", "--message", "x"];
    let said = home.run(&put).ok();
    assert!(said.lines().next().unwrap().contains("Mon 5 Jan 2099 18:00"), "{said}");
    assert_eq!(server.get("/v1/events/choir").await["starts_at"], "2099-01-02T18:00:00Z");
    let listed = home.run(&["events", "list"]).ok();
    assert!(listed.contains("Mon 5 Jan 2099 18:00 ↻") && !listed.contains("2 Jan"), "{listed}");
    let mut browser = signed_in(&server).await;
    for path in ["/events", "/events/choir"] {
        let page = browser.get(path).await.text;
        assert!(page.contains("Mon 5 Jan 2099 18:00"), "{path}: {page}");
    }
}

#[tokio::test]
async fn a_series_that_moves_as_a_whole_has_new_reminders() {
    let home = Home::new();
    let server = home.serve();
    let start = |hour: &str| {
        let day = punctual_engine::SystemClock::read() + jiff::SignedDuration::from_hours(48);
        format!("{}T{hour}:00Z", day.strftime("%F"))
    };
    let put = async |hour: &str| {
        let series = json!({ "starts_at": start(hour), "timezone": "UTC", "rrule": "FREQ=DAILY;COUNT=3", "offsets": [0], "users": ["ana"], "message": "choir" });
        let (status, event) = server.call(Method::PUT, "/v1/events/choir", Some(series)).await;
        assert!(status.is_success(), "{event}");
        let reminders = event["reminders"].as_array().unwrap().iter();
        reminders.map(|one| one["reminder_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let status = async |id: &String| server.get(&format!("/v1/reminders/{id}")).await["status"].clone();
    let before = put("18:00").await;
    let [unseen, snoozed, cancelled] = before.as_slice() else { panic!("{before:?}") };
    let (done, answer) =
        server.call(Method::POST, &format!("/v1/reminders/{snoozed}/snooze"), Some(json!({ "until": "6d" }))).await;
    assert!(done.is_success(), "{answer}");
    server.call(Method::DELETE, &format!("/v1/reminders/{cancelled}"), None).await;
    let after = put("19:00").await;
    for (id, expect) in [(unseen, "cancelled"), (snoozed, "active"), (cancelled, "cancelled")] {
        assert_eq!(status(id).await, expect);
    }
    let new: Vec<&String> = after.iter().filter(|id| !before.contains(id)).collect();
    assert_eq!(new.len(), 3, "each new instance has its own: {before:?} {after:?}");
}
