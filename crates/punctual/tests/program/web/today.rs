//! Today and lists: zones, counts, and what became of the day.

use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use super::Browser;
use crate::common::{Home, Server};

async fn batch(server: &Server, reminders: Vec<Value>) {
    for some in reminders.chunks(500) {
        let (status, made) = server.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": some }))).await;
        assert_eq!(status, 201, "{made}");
    }
}

/// The element of a list that has these words.
fn item<'a>(page: &'a str, words: &str) -> &'a str {
    let items = page.split("<li").flat_map(|item| item.split("<section class=\"ask\""));
    let mut found = items.filter(|item| item.contains(words));
    found.next().unwrap_or_else(|| panic!("{words} is not in {page}"))
}

#[tokio::test]
async fn the_time_in_the_zone_of_a_reminder_stands_beside_the_viewers_where_they_differ() {
    let home = Home::new();
    let server = home.serve();
    let once = |at: &str| json!({ "type": "once", "at": at });
    for (message, at, zone, ack) in [
        ("Call Tokyo", "2h", "Asia/Tokyo", false),
        ("Tea", "2h", "UTC", false),
        ("Was Tokyo called?", "0s", "Asia/Tokyo", true),
        ("Tokyo is asleep", "0s", "Asia/Tokyo", false),
    ] {
        let asked =
            json!({ "user": "me", "message": message, "schedule": once(at), "timezone": zone, "require_ack": ack });
        server.create(asked).await;
    }
    for (key, zone) in [("shibuya", Some("Asia/Tokyo")), ("tea-party", None)] {
        let event = json!({ "starts_at": "2031-05-06T18:30:00Z", "timezone": zone, "message": "x", "users": ["me"] });
        let (status, put) = server.call(Method::PUT, &format!("/v1/events/{key}"), Some(event)).await;
        assert!(status.is_success(), "{put}");
    }
    let mut browser = Browser::with_key(&server, &server.key).await;
    let mut page = String::new();
    until("both were sent", async || {
        page = browser.get("/").await.text;
        page.contains("class=\"ask\"") && page.matches("ms late").count() >= 2
    })
    .await;
    const THERE: &str = " in Asia/Tokyo</small>";
    for words in ["Call Tokyo", "Was Tokyo called?", "Tokyo is asleep"] {
        assert!(item(&page, words).contains(THERE), "{words}: {}", item(&page, words));
    }
    assert!(!item(&page, ">Tea").contains("small class=\"zone\""), "{}", item(&page, ">Tea"));
    let events = browser.get("/events").await.text;
    assert!(item(&events, "shibuya").contains(&format!("03:30{THERE}")), "{events}");
    assert!(!item(&events, "tea-party").contains("small class=\"zone\""), "{events}");
}

#[tokio::test]
async fn a_search_and_everybodys_say_how_many_there_are() {
    let home = Home::new();
    let server = home.serve();
    let daily = json!({ "type": "daily", "time": "09:00" });
    let reminder = |user: &str, message: &str, tag: &str| json!({ "user": user, "message": message, "schedule": daily, "tags": [tag] });
    let mut all: Vec<Value> = (0..1100).map(|n| reminder("bob", &format!("Water plant {n}"), "plants")).collect();
    all.extend((0..50).map(|n| reminder("me", &format!("Polish shoe {n}"), "shoes")));
    batch(&server, all).await;
    let mut browser = Browser::with_key(&server, &server.key).await;
    for (query, expect) in [
        ("q=shoe", "Showing 40 of 50<"),
        ("all=1&q=shoe", "Showing 40 of 50<"),
        ("q=shoe%2049", "Showing all 1<"),
        ("all=1&tag=shoes", "Showing 40 of 50<"),
        ("all=1&status=failed", "Showing all 0<"),
        ("all=1&q=plant", "Showing 40 of more than 1,000<"),
    ] {
        let mut page = String::new();
        until(&format!("{query}: {expect}"), async || {
            page = browser.get(&format!("/reminders?{query}")).await.text;
            let said = page.split("<p class=\"sub\" role=\"status\">").nth(1).unwrap_or_else(|| panic!("{page}"));
            println!("{query}: {}", said.split("</p>").next().unwrap());
            said.starts_with(expect)
        })
        .await;
    }
    // The page after the first says the same.
    let first = browser.get("/reminders?q=shoe").await.text;
    let next = first.split("href=\"").find(|link| link.starts_with("/reminders?q=shoe&amp;cursor=")).unwrap();
    let second = browser.get(&next.split('"').next().unwrap().replace("&amp;", "&")).await.text;
    assert!(second.contains("Showing 10 of 50<"), "{second}");
}

#[tokio::test]
async fn the_chip_of_those_that_wait_is_narrowed_by_nothing() {
    let home = Home::new();
    let server = home.serve();
    let asked = json!({ "user": "me", "message": "Locked the door?", "require_ack": true, "schedule": { "type": "once", "at": "0s" } });
    server.create(asked).await;
    let mut browser = Browser::with_key(&server, &server.key).await;
    let mut page = String::new();
    until("it waits", async || {
        page = browser.get("/reminders?status=awaiting_ack&q=plants&tag=work&all=1").await.text;
        page.contains("Locked the door?")
    })
    .await;
    assert!(!page.contains("value=\"plants\"") && !page.contains("name=\"status\""), "words look through all: {page}");
    let elsewhere = browser.get("/reminders?q=door&tag=work").await.text;
    assert!(elsewhere.contains("href=\"/reminders?status=awaiting%5Fack\""), "{elsewhere}");
}

#[tokio::test]
async fn folded_runs_that_nobody_answered_are_not_said_to_have_reached_their_person() {
    let home = Home::new();
    let server = home.serve();
    let now = json!({ "type": "once", "at": "0s" });
    let asked = json!({ "user": "me", "message": "Locked the door?", "require_ack": true, "ack_timeout": "1s", "max_ack_reminders": 0, "schedule": now });
    let door = server.create(asked).await;
    let path = format!("/v1/reminders/{}", door["id"].as_str().unwrap());
    until("nobody answered", async || server.get(&path).await["last_status"] == "unanswered").await;
    batch(
        &server,
        (0..7).map(|n| json!({ "user": "me", "message": format!("Errand {n}"), "schedule": now })).collect(),
    )
    .await;
    let mut browser = Browser::with_key(&server, &server.key).await;
    let mut page = String::new();
    until("all are there", async || {
        page = browser.get("/").await.text;
        page.contains("2 earlier today")
    })
    .await;
    let folded = item(&page, "2 earlier today");
    assert!(folded.contains("1 unanswered") && !folded.contains("all reached"), "{folded}");
}

#[tokio::test]
async fn a_question_says_everybody_who_is_told_next_and_when() {
    let home = Home::new();
    let server = home.serve();
    let (status, group) =
        server.call(Method::PUT, "/v1/groups/on-call", Some(json!({ "users": ["eve"], "mode": "all" }))).await;
    assert!(status.is_success(), "{group}");
    let plan = json!([{ "after": "1h", "to": "bob" }, { "after": "2h", "to": "group:on-call" }]);
    let asked = json!({ "user": "me", "message": "Take your medicine", "require_ack": true, "escalate": plan, "schedule": { "type": "once", "at": "0s" } });
    server.create(asked).await;
    let mut browser = Browser::with_key(&server, &server.key).await;
    let mut page = String::new();
    until("it waits", async || {
        page = browser.get("/").await.text;
        page.contains("class=\"ask\"")
    })
    .await;
    let ask = item(&page, "Take your medicine");
    let (bob, eve) =
        (ask.find("bob is told").unwrap_or_else(|| panic!("{ask}")), ask.find("group:on-call is told").unwrap());
    assert!(bob < eve, "{ask}");
}

#[tokio::test]
async fn a_sentence_that_can_mean_two_times_says_the_other_beside_undo() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::with_key(&server, &server.key).await;
    for (language, text, asks) in
        [("en", "call mom friday at 6", "Or did you mean: "), ("de", "Freitag um 6 Mama anrufen", "Oder meinten Sie: ")]
    {
        let zone = json!({ "timezone": "Europe/Berlin", "language": language });
        assert!(server.call(Method::PUT, "/v1/users/me", Some(zone)).await.0.is_success());
        let added = browser.submit("/", "/add", &[("text", text), ("back", "/")]).await;
        let page = browser.follow(&added).await;
        let (said, other) = page.toast().split_once(asks).unwrap_or_else(|| panic!("{}", page.text));
        assert!(said.contains("18:00") && !said.contains("06:00"), "{said}");
        assert!(other.contains("06:00?") && other.contains("data-undo"), "{other}");
    }
    let added = browser.submit("/", "/add", &[("text", "in 5 Minuten Tee"), ("back", "/")]).await;
    let page = browser.follow(&added).await;
    assert!(page.toast().contains("Tee") && !page.toast().contains("meinten"), "{}", page.text);
    // A time that is changed in words says it, too.
    let made = server.create(json!({ "user": "me", "message": "x", "schedule": { "type": "once", "at": "2h" } })).await;
    let on = format!("/reminders/{}", made["id"].as_str().unwrap());
    let edited = browser.submit(&on, &format!("{on}/edit"), &[("when", "Freitag um 6"), ("back", "/")]).await;
    assert!(browser.follow(&edited).await.toast().contains("06:00?"), "{}", edited.text);
}

#[tokio::test]
async fn a_sentence_for_somebody_without_an_address_leads_to_where_one_is_added() {
    let home = Home::new();
    let server = home.serve_unchosen();
    let mut browser = Browser::with_key(&server, &server.key).await;
    for (language, says, add) in [
        ("en", "Nobody can receive this: ann has no address that works.", "Add an address"),
        ("de", "Das kann niemand empfangen: ann hat keine Adresse, die geht.", "Adresse hinzufügen"),
    ] {
        let viewer = json!({ "language": language });
        assert!(server.call(Method::PUT, "/v1/users/me", Some(viewer)).await.0.is_success());
        let form = [("text", "tea in 5 minutes"), ("user", "ann"), ("back", "/?user=ann")];
        let refused = browser.submit("/", "/add", &form).await;
        let page = browser.follow(&refused).await;
        let toast = page.toast();
        assert!(toast.contains(says) && !toast.contains("webhook"), "{toast}");
        assert!(toast.contains(&format!("<a href=\"/people/ann#addresses\">{add}</a>")), "{toast}");
        assert!(page.text.contains("value=\"tea in 5 minutes\""), "what was typed stays: {}", page.text);
    }
    assert!(browser.get("/people/ann").await.text.contains("id=\"addresses\""));
}

#[tokio::test]
async fn a_snooze_of_a_series_says_until_when_and_when_the_next_run_is() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::with_key(&server, &server.key).await;
    let asked = async |message: &str| {
        let schedule = json!({ "type": "interval", "every": "24h" });
        let asked = json!({ "user": "me", "message": message, "require_ack": true, "schedule": schedule });
        let path = format!("/reminders/{}", server.create(asked).await["id"].as_str().unwrap());
        server.call(Method::POST, &format!("/v1{path}/fire"), None).await;
        until("it waits for an answer", async || {
            let runs = server.get(&format!("/v1{path}/occurrences")).await;
            runs["occurrences"].as_array().unwrap().iter().any(|run| run["state"] == "awaiting_ack")
        })
        .await;
        path
    };
    let on = asked("Medicine").await;
    let snoozed = browser.submit(&on, &format!("{on}/snooze"), &[("until", "3d"), ("back", "/")]).await.said();
    assert!(snoozed.contains("“Medicine” comes again ") && snoozed.contains(" The next run is "), "{snoozed}");
    let now = server.get(&format!("/v1{on}")).await;
    assert_ne!(now["snoozed_until"], now["next_run_at"], "{now}");

    asked("Plants").await;
    let said = home.run(&["snooze", "Plants", "4d"]).ok();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[1].contains("every 24 hours") && !lines[1].contains("in 4 days"), "{said}");
    assert!(lines[2].starts_with("  snoozed until ") && lines[2].ends_with("in 4 days"), "{said}");
}
