//! Foreign calendars that are followed, rotas, and calendars that are taken over.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::SystemClock;
use punctual_testkit::faketime::Faketime;
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Kept, Server};

/// A calendar's own server: what it says can be changed, and it counts what it was asked.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    status: u16,
    text: String,
    etag: String,
    n_asked: usize,
    /// How often it said that nothing is different.
    n_unchanged: usize,
}

impl Page {
    async fn listen(&self) -> String {
        async fn answer(State(page): State<Page>, headers: HeaderMap) -> Response {
            let mut said = page.0.lock().unwrap();
            said.n_asked += 1;
            if headers.get("if-none-match").is_some_and(|tag| tag.to_str().unwrap() == said.etag) {
                said.n_unchanged += 1;
                return StatusCode::NOT_MODIFIED.into_response();
            }
            let status = StatusCode::from_u16(said.status).unwrap();
            (status, [(header::ETAG, said.etag.clone())], said.text.clone()).into_response()
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/secret/work.ics", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    fn say(&self, status: u16, text: &str) {
        let mut said = self.0.lock().unwrap();
        let etag = format!("\"{}-{}\"", said.n_asked, text.len());
        (said.status, said.text, said.etag) = (status, text.to_owned(), etag);
    }
}

/// An event of a calendar, so many hours from now.
fn event(uid: &str, title: &str, hours: i64, more: &str) -> String {
    let at = SystemClock::read() + SignedDuration::from_hours(hours);
    let stamp = |at: Timestamp| jiff::tz::Offset::UTC.to_datetime(at).strftime("%Y%m%dT%H%M%SZ").to_string();
    let end = stamp(at + SignedDuration::from_hours(2));
    format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:{title}\r\nDTSTART:{}\r\nDTEND:{end}\r\n{more}END:VEVENT\r\n",
        stamp(at)
    )
}

fn calendar(events: &[String]) -> String {
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{}END:VCALENDAR\r\n", events.concat())
}

/// The messages of a user's active reminders, by when they are due.
async fn coming(server: &Server, user: &str) -> Vec<String> {
    let page = server.get(&format!("/v1/reminders?user={user}&status=active&limit=500")).await;
    let text = |reminder: &Value, field: &str| reminder[field].as_str().unwrap_or_default().to_owned();
    let reminders = page["reminders"].as_array().unwrap().iter();
    let mut found: Vec<(String, String)> =
        reminders.map(|reminder| (text(reminder, "next_run_at"), text(reminder, "message"))).collect();
    found.sort();
    found.into_iter().map(|(_, message)| message).collect()
}

async fn read_now(server: &Server, name: &str) {
    let path = format!("/v1/users/alice/calendars/{name}/read");
    let (status, said) = server.call(Method::POST, &path, None).await;
    assert_eq!(status, 202, "{said}");
}

async fn with_alice(server: &Server) {
    let alice = json!({ "timezone": "Europe/Berlin", "addresses": [{ "channel": "console" }] });
    server.call(Method::PUT, "/v1/users/alice", Some(alice)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_follow_their_calendar() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let mut env = kept.env();
        env.push(("PUNCTUAL_CALENDAR_ALLOW_PRIVATE", "true"));
        let server = home.serve_with(&env);
        with_alice(&server).await;
        let (page, alarm) = (Page::default(), "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT30M\r\nEND:VALARM\r\n");
        let url = page.listen().await;
        page.say(200, &calendar(&[event("a", "Dentist", 30, alarm), event("b", "Lunch", 40, alarm)]));
        let work = json!({ "url": url, "every": "1h" });
        let (status, made) = server.call(Method::PUT, "/v1/users/alice/calendars/work", Some(work)).await;
        assert_eq!((status.as_u16(), made["source"].as_str().unwrap().contains("secret")), (201, false), "{made}");
        until("both are planned", async || coming(&server, "alice").await == ["Dentist", "Lunch"]).await;

        // One is moved behind the other, one is new, and one has another title.
        let moved =
            [event("a", "Dentist", 50, alarm), event("b", "Long lunch", 40, alarm), event("c", "Tea", 60, alarm)];
        page.say(200, &calendar(&moved));
        read_now(&server, "work").await;
        until("moves follow", async || coming(&server, "alice").await == ["Long lunch", "Dentist", "Tea"]).await;
        page.say(200, &calendar(&moved[1..]));
        read_now(&server, "work").await;
        until("deletions follow", async || coming(&server, "alice").await == ["Long lunch", "Tea"]).await;

        // A page that is no calendar, and a server that fails, change nothing.
        let problem = async || server.get("/v1/users/alice/calendars").await["calendars"][0]["problem"].clone();
        page.say(200, "<html>please sign in</html>");
        read_now(&server, "work").await;
        until("it says why", async || problem().await.as_str().is_some_and(|why| why.contains("no calendar"))).await;
        page.say(500, "");
        read_now(&server, "work").await;
        until("it says why", async || problem().await.as_str().is_some_and(|why| why.contains("500"))).await;
        assert_eq!(coming(&server, "alice").await, ["Long lunch", "Tea"]);
        let audit = server.get("/v1/audit?kind=calendar.read&user=alice").await;
        let entries = audit["entries"].as_array().unwrap();
        assert!(entries.iter().any(|entry| entry["data"]["added"] == 2), "{audit}");
        assert!(!audit.to_string().contains("secret"), "{audit}");

        assert_eq!(server.call(Method::DELETE, "/v1/users/alice/calendars/work", None).await.0, 204);
        until("all are withdrawn", async || coming(&server, "alice").await.is_empty()).await;
        assert_eq!(server.call(Method::DELETE, "/v1/users/alice/calendars/work", None).await.0, 404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calendar_that_is_as_it_was_is_not_sent_again() {
    let Some(clock) = Faketime::new() else { return };
    // In the morning: a calendar is read as a whole once a day.
    let morning = SystemClock::read().to_zoned(TimeZone::UTC).tomorrow().unwrap().with().hour(8).build().unwrap();
    clock.set(morning.timestamp());
    let home = Home::new();
    let mut env = clock.env().to_vec();
    env.push(("PUNCTUAL_CALENDAR_ALLOW_PRIVATE", "true"));
    let server = home.serve_with(&env);
    with_alice(&server).await;
    let page = Page::default();
    let url = page.listen().await;
    page.say(200, &calendar(&[event("a", "Dentist", 90, "")]));
    let work = json!({ "url": url, "every": "1h", "offsets": [15] });
    assert_eq!(server.call(Method::PUT, "/v1/users/alice/calendars/work", Some(work)).await.0, 201);
    until("it is planned", async || coming(&server, "alice").await == ["Dentist"]).await;
    let work = async || server.get("/v1/users/alice/calendars/work").await;
    // Its events are planned before it is written that it was read.
    until("it is read", async || !work().await["read_at"].is_null()).await;
    let first = work().await;

    clock.set(morning.timestamp() + SignedDuration::from_mins(61));
    until("it is asked again", async || page.0.lock().unwrap().n_unchanged == 1).await;
    until("that is written", async || work().await["read_at"] != first["read_at"]).await;
    let now = work().await;
    assert_eq!((&now["problem"], &now["changed_at"]), (&Value::Null, &first["changed_at"]), "{now}");
    assert_eq!(page.0.lock().unwrap().n_asked, 2);
    assert_eq!(coming(&server, "alice").await, ["Dentist"]);
    let audit = server.get("/v1/audit?kind=calendar.read&user=alice").await;
    assert_eq!(audit["entries"].as_array().unwrap().len(), 1, "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calendar_that_is_too_long_is_refused_and_its_events_stay() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_CALENDAR_ALLOW_PRIVATE", "true")]);
    with_alice(&server).await;
    let page = Page::default();
    let url = page.listen().await;
    page.say(200, &calendar(&[event("a", "Dentist", 30, "")]));
    let work = json!({ "url": url, "every": "1h", "offsets": [15] });
    assert_eq!(server.call(Method::PUT, "/v1/users/alice/calendars/work", Some(work)).await.0, 201);
    until("it is planned", async || coming(&server, "alice").await == ["Dentist"]).await;
    // It is a calendar all the same, and has another event.
    let long = format!("X-LONG:{}\r\n", "a".repeat(10 * 1024 * 1024));
    page.say(200, &calendar(&[event("b", "Lunch", 40, &long)]));
    read_now(&server, "work").await;
    let problem = async || server.get("/v1/users/alice/calendars").await["calendars"][0]["problem"].clone();
    until("it says why", async || problem().await.as_str().is_some_and(|why| why.contains("more than 10 MB"))).await;
    assert_eq!(coming(&server, "alice").await, ["Dentist"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_follows_a_calendar() {
    let home = Home::new();
    let write = |hours: i64| {
        let text = calendar(&[event("a", "Dentist", hours, "")]);
        std::fs::write(home.path().join("team.ics"), text).unwrap();
    };
    write(30);
    let server = home.serve_with(&[("PUNCTUAL_CALENDAR_FILES", home.path().to_str().unwrap())]);
    let calendars = |args: &[&str]| home.run(&[&["users", "calendars", "alice"], args].concat());
    let message = "{title} in {minutes} min";
    let said = calendars(&["add", "team", "file:team.ics", "--offset", "60", "--message", message]).ok();
    assert!(said.contains("file:team.ics"), "{said}");
    until("it is planned", async || coming(&server, "alice").await == ["Dentist in 60 min"]).await;
    let due_at = async || server.get("/v1/reminders?user=alice").await["reminders"][0]["next_run_at"].clone();
    let before = due_at().await;
    write(31);
    calendars(&["read", "team"]).ok();
    until("it has moved", async || due_at().await != before).await;
    calendars(&["add", "team", "http://example.org/a.ics"]).fails(1, &["url", "https://"]);
    calendars(&["remove", "team"]).ok();
    assert!(coming(&server, "alice").await.is_empty());
    calendars(&["remove", "team"]).fails(1, &["follows no such calendar"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn much_that_vanishes_at_once_is_waited_for() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_CALENDAR_ALLOW_PRIVATE", "true")]);
    with_alice(&server).await;
    let page = Page::default();
    let url = page.listen().await;
    let all: Vec<String> = (0..6).map(|n| event(&format!("e{n}"), &format!("Event {n}"), 30 + n, "")).collect();
    page.say(200, &calendar(&all));
    let work = json!({ "url": url, "every": "1h", "offsets": [15] });
    server.call(Method::PUT, "/v1/users/alice/calendars/work", Some(work)).await;
    until("all are planned", async || coming(&server, "alice").await.len() == 6).await;
    page.say(200, &calendar(&all[..1]));
    read_now(&server, "work").await;
    until("it is looked at again in a minute", async || {
        let shown = server.get("/v1/users/alice/calendars").await["calendars"][0].clone();
        let at = |field: &str| shown[field].as_str().and_then(|text| text.parse::<Timestamp>().ok());
        let (Some(read), Some(next)) = (at("read_at"), at("next_read_at")) else { return false };
        (50..70).contains(&next.duration_since(read).as_secs())
    })
    .await;
    assert_eq!(coming(&server, "alice").await.len(), 6, "a mistake of the other side costs nothing");
    read_now(&server, "work").await;
    until("the second reading believes it", async || coming(&server, "alice").await == ["Event 0"]).await;
    // An empty answer counts the same.
    page.say(200, &calendar(&all));
    read_now(&server, "work").await;
    until("they are there again", async || coming(&server, "alice").await.len() == 6).await;
    page.say(200, &calendar(&[]));
    for n_left in [6, 0] {
        let read_at = async || server.get("/v1/users/alice/calendars").await["calendars"][0]["read_at"].clone();
        let before = read_at().await;
        read_now(&server, "work").await;
        until("it is read", async || read_at().await != before).await;
        until("its events are as they should be", async || coming(&server, "alice").await.len() == n_left).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calendars_in_the_servers_own_network_are_not_read() {
    let home = Home::new();
    let server = home.serve();
    with_alice(&server).await;
    for (url, words) in [
        ("https://127.0.0.1/a.ics", "private address"),
        ("https://localhost/a.ics", "private address"),
        ("http://example.org/a.ics", "https://"),
        ("file:///etc/passwd", "calendar_files"),
        ("file:a.ics", "calendar_files"),
        ("/etc/passwd", "is no URL"),
    ] {
        let (status, problem) =
            server.call(Method::PUT, "/v1/users/alice/calendars/x", Some(json!({ "url": url }))).await;
        assert_eq!((status.as_u16(), &problem["field"]), (422, &json!("url")), "{url}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{url}: {problem}");
        let (status, problem) = server.call(Method::PUT, "/v1/groups/oc", Some(json!({ "rota": url }))).await;
        assert_eq!((status.as_u16(), &problem["field"]), (422, &json!("rota")), "{url}: {problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rota_says_who_is_on_duty_and_an_escalation_asks_them() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let duties = [event("1", "On call: bob", -1, ""), event("2", "eve", 1, "")];
        std::fs::write(home.path().join("oncall.ics"), calendar(&duties)).unwrap();
        let folder = home.path().to_str().unwrap().to_owned();
        let mut env = kept.env();
        env.push(("PUNCTUAL_CALENDAR_FILES", &folder));
        let server = home.serve_with(&env);
        for user in ["alice", "bob", "eve"] {
            let body = json!({ "addresses": [{ "channel": "console" }] });
            server.call(Method::PUT, &format!("/v1/users/{user}"), Some(body)).await;
        }
        for wrong in ["file:../secret.ics", "file:/etc/passwd", "file:"] {
            let (status, problem) = server.call(Method::PUT, "/v1/groups/oc", Some(json!({ "rota": wrong }))).await;
            assert_eq!((status.as_u16(), &problem["field"]), (422, &json!("rota")), "{wrong}: {problem}");
        }
        let (status, made) =
            server.call(Method::PUT, "/v1/groups/oc", Some(json!({ "rota": "file:oncall.ics" }))).await;
        assert_eq!(status, 201, "{made}");
        until("bob is on duty", async || server.get("/v1/groups/oc").await["on_duty"] == json!(["bob"])).await;
        let asks = json!({
            "user": "alice", "message": "The pump is off", "schedule": { "type": "once", "at": "0s" }, "require_ack": true,
            "ack_timeout": "1h", "to": [{ "channel": "console" }], "escalate": [{ "after": "1s", "to": "group:oc" }],
        });
        server.create(asks).await;
        let asked = async || server.get("/v1/audit?kind=reminder.escalated").await["entries"][0]["data"]["to"].clone();
        until("bob is asked", async || asked().await[0]["user"] == "bob").await;
        assert_eq!(asked().await.as_array().map(Vec::len), Some(1), "eve is on duty later");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calendar_is_taken_over_and_once_more() {
    let home = Home::new();
    let server = home.serve();
    with_alice(&server).await;
    let file = home.path().join("holidays.ics");
    let path = file.to_str().unwrap();
    let write = |events: &[String]| std::fs::write(&file, calendar(events)).unwrap();
    let alarm = "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT30M\r\nEND:VALARM\r\n";
    let (weekly, never) = (format!("RRULE:FREQ=WEEKLY;COUNT=10\r\n{alarm}"), "RRULE:FREQ=NEVER\r\n");
    write(&[
        event("a", "Party", 30, alarm),
        event("b", "Choir", 40, &weekly),
        event("c", "Past", -100, ""),
        event("d", "Odd", 50, never),
    ]);
    let outcomes = |said: &Value| -> Vec<String> {
        said["items"].as_array().unwrap().iter().map(|item| item["outcome"].as_str().unwrap().to_owned()).collect()
    };
    let look = home.run(&["import", path, "--user", "alice", "--json"]).json();
    assert_eq!((outcomes(&look), &look["over"]), (vec!["would_import".to_owned(); 2], &json!(1)), "{look}");
    assert!(look["problems"][0].as_str().unwrap().starts_with("d: RRULE"), "{look}");
    assert!(coming(&server, "alice").await.is_empty(), "nothing was written");

    let taken = home.run(&["import", path, "--user", "alice", "--apply", "--json"]).json();
    assert_eq!(outcomes(&taken), ["created", "created"], "{taken}");
    let now = coming(&server, "alice").await;
    assert_eq!((now.first().map(String::as_str), now.contains(&"Choir".to_owned())), (Some("Party"), true), "{now:?}");

    write(&[event("a", "Party", 35, alarm), event("e", "Cake", 60, alarm)]);
    let again = home.run(&["import", path, "--user", "alice", "--apply"]).ok();
    assert!(again.contains("changed") && again.contains("created"), "{again}");
    let now = coming(&server, "alice").await;
    assert!(now.contains(&"Choir".to_owned()) && now.contains(&"Cake".to_owned()), "nothing is removed: {now:?}");
}
