//! Tags and conditions: nobody undoes a change that they have not seen.

use reqwest::header::HeaderMap;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::common::{Home, Kept, Server, answer, soon};
use crate::openapi::Description;

async fn send(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Response {
    let mut request = server.request(method.parse().unwrap(), path).bearer_auth(&server.key);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(body) = body {
        request = request.json(body);
    }
    soon(request.send()).await.unwrap()
}

fn tag_of(headers: &HeaderMap) -> String {
    headers["etag"].to_str().unwrap().to_owned()
}

/// Something that is put, another body for it, and a change that somebody else makes meanwhile.
struct Thing {
    path: &'static str,
    body: Value,
    other: Value,
}

fn things() -> Vec<Thing> {
    let thing = |path, body, other| Thing { path, body, other };
    vec![
        thing("/v1/users/ann", json!({ "language": "de" }), json!({ "language": "en", "timezone": "Europe/Zagreb" })),
        thing("/v1/groups/on-call", json!({ "users": ["ann"] }), json!({ "users": ["ann", "bob"] })),
        thing("/v1/scopes/guild:1", json!({ "offsets": [60] }), json!({ "offsets": [15] })),
        thing(
            "/v1/events/game:42",
            json!({ "starts_at": "2090-03-10T18:00:00Z", "users": ["ann"], "message": "Game", "metadata": { "b": 1, "a": [2] } }),
            json!({ "starts_at": "2090-03-10T19:00:00Z", "users": ["ann"], "message": "Game" }),
        ),
        thing(
            "/v1/users/ann/calendars/work",
            json!({ "url": "https://calendar.example/a.ics" }),
            json!({ "url": "https://calendar.example/b.ics" }),
        ),
    ]
}

#[tokio::test]
async fn whatever_is_put_can_be_put_on_a_condition() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        for Thing { path, body, other } in things() {
            let put =
                async |headers: &[(&str, &str)], body: &Value| send(&server, "PUT", path, headers, Some(body)).await;
            // Nothing is there: a change of something is not made, and a new thing is.
            assert_eq!(put(&[("if-match", "*")], &body).await.status(), 412, "{path}");
            let made = put(&[("if-none-match", "*")], &body).await;
            assert_eq!(made.status(), 201, "{path}");
            assert_eq!(made.headers()["location"], path);
            let first = tag_of(made.headers());
            assert_eq!(put(&[("if-none-match", "*")], &other).await.status(), 412, "{path}");

            // A reader gets the same tag, and does not get again what it has.
            let read = send(&server, "GET", path, &[], None).await;
            // A calendar is being read meanwhile, which is shown and makes it no other.
            let is_read = path.contains("/calendars/");
            let version = |tag: &str| tag.split('-').next().unwrap().to_owned();
            assert_eq!((read.status().as_u16(), version(&tag_of(read.headers()))), (200, version(&first)), "{path}");
            assert!(is_read || tag_of(read.headers()) == first, "{path}");
            if !is_read {
                let again = send(&server, "GET", path, &[("if-none-match", &first)], None).await;
                assert_eq!((again.status().as_u16(), tag_of(again.headers())), (304, first.clone()), "{path}");
                assert_eq!(soon(again.bytes()).await.unwrap().len(), 0, "{path}");
            }

            // Who has seen it may change it; who has not may not.
            let changed = put(&[("if-match", &first)], &other).await;
            assert_eq!(changed.status(), 200, "{path}");
            let second = tag_of(changed.headers());
            assert_ne!(first, second, "{path}");
            let (status, problem) = answer(put(&[("if-match", &first)], &body).await).await;
            assert_eq!((status.as_u16(), &problem["code"]), (412, &json!("precondition_failed")), "{path}");
            assert_eq!(send(&server, "DELETE", path, &[("if-match", &first)], None).await.status(), 412, "{path}");
            let read = send(&server, "GET", path, &[("if-none-match", &first)], None).await;
            let kept = (read.status().as_u16(), version(&tag_of(read.headers())));
            assert_eq!(kept, (200, version(&second)), "nothing was changed: {path}");
            let either = format!("\"of-another\", {second}");
            assert_eq!(send(&server, "DELETE", path, &[("if-match", &either)], None).await.status(), 204, "{path}");
            for wrong in ["", "tag", "*, *", "\"a"] {
                assert_eq!(put(&[("if-match", wrong)], &body).await.status(), 400, "{path}: {wrong:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_reminder_is_changed_as_its_reader_saw_it() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        for schedule in [
            json!({ "type": "once", "at": "90m" }),
            json!({ "type": "interval", "every": "2h", "anchor": "ack" }),
            json!({ "type": "daily", "time": "08:00", "except": ["sat"], "count": 9 }),
            json!({ "type": "weekly", "time": "08:00", "days": ["mon", "thu"], "ends_at": "2099-01-01T00:00:00Z" }),
            json!({ "type": "cron", "expr": "0 8 * * 1-5" }),
            json!({ "type": "smart", "text": "last day of the month at 9" }),
            json!({ "type": "rrule", "ical": "RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=17;BYMINUTE=0" }),
        ] {
            let body = json!({
                "message": "tea", "schedule": schedule, "metadata": { "z": [1, { "y": 2 }], "a": "ü" }, "tags": ["b", "a"], "require_ack": true,
                "timezone": "Europe/Berlin", "to": ["console"], "misfire": { "policy": "all", "within": "2h" },
            });
            let made = send(&server, "POST", "/v1/reminders", &[], Some(&body)).await;
            assert_eq!(made.status(), 201);
            let (tag, place) = (tag_of(made.headers()), made.headers()["location"].to_str().unwrap().to_owned());
            let read = send(&server, "GET", &place, &[], None).await;
            assert_eq!((read.status().as_u16(), tag_of(read.headers())), (200, tag.clone()), "{schedule}");
            assert_eq!(send(&server, "GET", &place, &[("if-none-match", &tag)], None).await.status(), 304);

            let pause = format!("{place}/pause");
            let paused = send(&server, "POST", &pause, &[("if-match", &tag)], None).await;
            assert_eq!(paused.status(), 200, "{schedule}");
            let second = tag_of(paused.headers());
            for (method, path, body) in [
                ("PATCH", &place, Some(json!({ "message": "coffee" }))),
                ("DELETE", &place, None),
                ("POST", &format!("{place}/resume"), None),
            ] {
                let refused = send(&server, method, path, &[("if-match", &tag)], body.as_ref()).await;
                assert_eq!(refused.status(), 412, "{method} {path}");
            }
            let (_, shown) = answer(send(&server, "GET", &place, &[], None).await).await;
            assert_eq!((&shown["message"], &shown["status"]), (&json!("tea"), &json!("paused")), "nothing was changed");
            let change = json!({ "message": "coffee" });
            let changed = send(&server, "PATCH", &place, &[("if-match", &second)], Some(&change)).await;
            assert_eq!(changed.status(), 200);
            let third = tag_of(changed.headers());
            assert_eq!(tag_of(send(&server, "GET", &place, &[], None).await.headers()), third);
            assert_eq!(send(&server, "DELETE", &place, &[("if-match", &third)], None).await.status(), 200);
        }
    }
}

#[tokio::test]
async fn of_many_who_saw_the_same_one_changes_it() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let made = send(&server, "PUT", "/v1/users/ann", &[], Some(&json!({ "language": "de" }))).await;
        let tag = tag_of(made.headers());
        let languages = ["de", "en", "hr"];
        let bodies: Vec<Value> = (0..16).map(|n| json!({ "language": languages[n % 3] })).collect();
        let seen = [("if-match", tag.as_str())];
        let all = bodies.iter().map(|body| send(&server, "PUT", "/v1/users/ann", &seen, Some(body)));
        let statuses: Vec<u16> =
            futures_util::future::join_all(all).await.iter().map(|response| response.status().as_u16()).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 412).count(), 15, "{statuses:?}");
        // The same of those who found nobody.
        let new = [("if-none-match", "*")];
        let all = bodies.iter().map(|body| send(&server, "PUT", "/v1/users/bob", &new, Some(body)));
        let statuses: Vec<u16> =
            futures_util::future::join_all(all).await.iter().map(|response| response.status().as_u16()).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 412).count(), 15, "{statuses:?}");
    }
}

#[tokio::test]
async fn a_silence_has_a_place_and_a_tag() {
    let home = Home::new();
    let server = home.serve();
    let made = send(&server, "POST", "/v1/silences", &[], Some(&json!({ "user": "ann", "until": "3d" }))).await;
    assert_eq!(made.status(), 201);
    let (tag, place) = (tag_of(made.headers()), made.headers()["location"].to_str().unwrap().to_owned());
    let read = send(&server, "GET", &place, &[], None).await;
    assert_eq!((read.status().as_u16(), tag_of(read.headers())), (200, tag.clone()));
    let other = "\"0123456789abcdef-0123456789abcdef\"";
    assert_eq!(send(&server, "DELETE", &place, &[("if-match", other)], None).await.status(), 412);
    assert_eq!(send(&server, "DELETE", &place, &[("if-match", &tag)], None).await.status(), 204);
    assert_eq!(send(&server, "GET", &place, &[], None).await.status(), 404);
}

/// Two who both think that the address has leaked change it once.
#[tokio::test]
async fn the_address_of_a_calendar_is_changed_as_the_caller_has_seen_it() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        assert_eq!(send(&server, "PUT", "/v1/users/ann", &[], Some(&json!({}))).await.status(), 201);
        let place = "/v1/users/ann/calendar";
        let read = send(&server, "GET", place, &[], None).await;
        let tag = tag_of(read.headers());
        assert_eq!(send(&server, "GET", place, &[("if-none-match", &tag)], None).await.status(), 304);
        let renewed = send(&server, "POST", place, &[("if-match", &tag)], None).await;
        assert_eq!(renewed.status(), 200);
        let second = tag_of(renewed.headers());
        assert_ne!(second, tag);
        assert_eq!(send(&server, "POST", place, &[("if-match", &tag)], None).await.status(), 412);
        assert_eq!(tag_of(send(&server, "GET", place, &[], None).await.headers()), second, "it has stayed as it was");
    }
}

#[tokio::test]
async fn an_answer_that_is_given_again_says_where_the_thing_is() {
    let home = Home::new();
    let server = home.serve();
    let body = json!({ "text": "tea in an hour" });
    let mut places = Vec::new();
    for is_again in [false, true] {
        let made = send(&server, "POST", "/v1/reminders", &[("idempotency-key", "k")], Some(&body)).await;
        assert_eq!((made.status().as_u16(), made.headers().contains_key("idempotency-replayed")), (201, is_again));
        places.push(made.headers()["location"].to_str().unwrap().to_owned());
    }
    assert_eq!(places[0], places[1]);
    assert_eq!(server.call(Method::GET, &places[0], None).await.0, 200);
}

#[tokio::test]
async fn a_key_is_changed_as_the_caller_has_seen_it() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let made = send(&server, "POST", "/v1/keys", &[], Some(&json!({ "name": "bot" }))).await;
        assert_eq!(made.status(), 201);
        let (tag, place) = (tag_of(made.headers()), made.headers()["location"].to_str().unwrap().to_owned());
        let read = send(&server, "GET", &place, &[], None).await;
        assert_eq!((read.status().as_u16(), tag_of(read.headers())), (200, tag.clone()));
        assert_eq!(send(&server, "GET", &place, &[("if-none-match", &tag)], None).await.status(), 304);
        let other = "\"0123456789abcdef-0123456789abcdef\"";
        let rotate = format!("{place}/rotate");
        assert_eq!(send(&server, "POST", &rotate, &[("if-match", other)], None).await.status(), 412);
        let rotated = send(&server, "POST", &rotate, &[("if-match", &tag)], None).await;
        assert_eq!(rotated.status(), 200);
        let second = tag_of(rotated.headers());
        assert_ne!(second, tag);
        assert_eq!(send(&server, "POST", &rotate, &[("if-match", &tag)], None).await.status(), 412);
        assert_eq!(send(&server, "DELETE", &place, &[("if-match", &tag)], None).await.status(), 412);
        assert_eq!(tag_of(send(&server, "GET", &place, &[], None).await.headers()), second, "it has stayed as it was");
        assert_eq!(send(&server, "DELETE", &place, &[("if-match", &second)], None).await.status(), 204);
    }
}

/// A caller whose condition was not looked at would believe that it was.
#[tokio::test]
async fn a_condition_is_obeyed_or_refused_on_every_route_that_changes_something() {
    let home = Home::new();
    let server = home.serve();
    let description = Description::of(&server).await;
    let (mut n_obeyed, mut n_refused) = (0, 0);
    for (path, method, operation) in description.operations().filter(|(_, method, _)| *method != "get") {
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&str> =
            parameters.iter().filter_map(|parameter| description.resolved(parameter)["name"].as_str()).collect();
        let is_conditional = names.contains(&"If-Match");
        let filled = path.replace(['{', '}'], "");
        let body = json!({});
        let body = Some(&body).filter(|_| operation["requestBody"].is_object());
        for header in ["if-match", "if-none-match"] {
            let response = send(&server, &method.to_uppercase(), &filled, &[(header, "\"a-b\"")], body).await;
            let (status, problem) = answer(response).await;
            let is_refused =
                problem["detail"].as_str().is_some_and(|detail| detail.contains("is made on no condition"));
            // A platform may send such a header for reasons of its own.
            let is_platforms = path == "/v1/inbound/{channel}";
            assert_eq!(is_refused, !is_conditional && !is_platforms, "{method} {path} {header}: {status} {problem}");
            if is_refused {
                assert_eq!((status.as_u16(), &problem["field"]), (400, &json!(header)), "{method} {path}");
                assert!(operation["responses"].get("400").is_some(), "{method} {path}: a 400 is described");
                n_refused += 1;
            }
        }
        n_obeyed += u32::from(is_conditional);
    }
    assert!(n_obeyed > 15 && n_refused > 30, "{n_obeyed} {n_refused}");
    // A scope of several levels is described with those of one.
    let deeper = "/v1/scopes/guild:1/channel:2";
    let put = send(&server, "PUT", deeper, &[("if-match", "*")], Some(&json!({ "offsets": [60] }))).await;
    assert_eq!(put.status(), 412);
    let made =
        send(&server, "POST", "/v1/reminders", &[("if-none-match", "*")], Some(&json!({ "text": "tea in 1h" }))).await;
    assert_eq!(made.status(), 400);
    assert_eq!(server.get("/v1/reminders").await["reminders"], json!([]), "nothing was made");
}
