//! Servers with something to see, and their pages by the routes that the page has.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::SignedDuration;
use punctual_engine::SystemClock;
use punctual_testkit::wait::until;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::common::{Home, Server};

/// A server with something on every page: three of each, one of them in trouble.
pub(super) struct World {
    pub(super) server: Server,
    /// A reminder that waits for an answer.
    pub(super) reminder: String,
    /// Its run.
    story: String,
    /// A run of a watch, with a row that it could not remind of.
    run: String,
    home: Home,
}

/// The settings of a server whose page is looked at.
const SETTINGS: &str = r#"
default_channel = "console"
[watches.tasks]
database = "sqlite:APP"
table = "tasks"
key = "id"
due = "due_date"
sent = "sent"
user = "owner"
message = "{title} is due"
every = "1h"
"#;

impl World {
    /// A server on which nothing has happened yet.
    pub(super) fn empty() -> (Home, Server) {
        let home = Home::new();
        let server = home.serve();
        (home, server)
    }

    /// A server with about `n` of each.
    pub(super) async fn with(n: usize) -> Self {
        let home = Home::new();
        let app = home.path().join("app.db");
        let db = rusqlite::Connection::open(&app).unwrap();
        let due = SystemClock::read() + SignedDuration::from_mins(30);
        db.execute_batch(&format!(
            "create table tasks (id integer primary key, title text, due_date text, owner text, sent text);
             insert into tasks values (1, 'The tax return', '{due}', 'user-1', null), (2, 'The bank', '{due}', null, null)"
        ))
        .unwrap();
        drop(db);
        let config = home.path().join("punctual.toml");
        std::fs::write(&config, SETTINGS.replace("APP", app.to_str().unwrap())).unwrap();
        let server = home.serve_with(&[("PUNCTUAL_CONFIG", config.to_str().unwrap())]);
        let put = async |path: String, body: Value| {
            let (status, answer) = server.call(Method::PUT, &path, Some(body)).await;
            assert!(status.is_success(), "{path}: {answer}");
        };
        // The quiet hours lie elsewhere in the day, at whatever hour the test runs.
        let hour = |hours: i64| {
            let at = SystemClock::read() + SignedDuration::from_hours(hours);
            at.in_tz("Europe/Berlin").unwrap().strftime("%H:00").to_string()
        };
        let berlin = json!({
            "timezone": "Europe/Berlin", "language": "en", "quiet_hours": { "from": hour(4), "to": hour(13) },
            "addresses": [{ "channel": "console", "address": "" }, { "channel": "webhook", "address": "http://127.0.0.1:9/one" }],
        });
        put("/v1/users/me".into(), berlin.clone()).await;
        for number in 1..n {
            put(format!("/v1/users/user-{number}"), berlin.clone()).await;
        }
        for number in 0..n.min(30) {
            put(format!("/v1/groups/group-{number}"), json!({ "users": ["me", "user-1"], "mode": "in_order" })).await;
        }
        put("/v1/scopes/guild:1".into(), json!({ "offsets": [60, 15] })).await;
        let mut reminders = vec![
            json!({ "user": "me", "message": "Take your medicine", "name": "medicine", "require_ack": true,
                "ack_prompt": "Did you take your medicine?", "schedule": { "type": "once", "at": "1s" }, "tags": ["health"] }),
            json!({ "user": "me", "message": "Water the plants", "schedule": { "type": "once", "at": "1s" } }),
            json!({ "user": "me", "message": "Backup finished?", "schedule": { "type": "once", "at": "1s" }, "only": true,
                "max_retries": 0, "to": [{ "channel": "webhook", "address": "http://127.0.0.1:9/nobody" }] }),
        ];
        for number in 0..n {
            let time = format!("{:02}:{:02}", number % 24, number % 60);
            reminders.push(
                json!({ "user": "me", "message": format!("Stand up, number {number}"), "timezone": "Europe/Berlin",
                "schedule": { "type": "daily", "time": time }, "tags": ["work"] }),
            );
        }
        // A full day: more has happened than is shown at once.
        for number in (0..90).take_while(|_| n >= 300) {
            let message = format!("Errand number {number}");
            reminders.push(json!({ "user": "me", "message": message, "schedule": { "type": "once", "at": "1s" } }));
        }
        let (status, made) =
            server.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": reminders }))).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        for number in 0..n {
            let event = json!({ "starts_at": "2030-01-01T20:00:00Z", "scope": "guild:1/channel:2", "message": "Game in {minutes} min", "users": ["me"] });
            put(format!("/v1/events/game-{number}"), event).await;
        }
        let series = json!({ "starts_at": "2025-01-07T19:00:00Z", "rrule": "FREQ=WEEKLY;BYDAY=TU", "message": "Club in {minutes} min",
            "users": ["me"], "offsets": [60] });
        put("/v1/events/club".into(), series).await;
        for number in 0..n.min(30) {
            let key = json!({ "name": format!("key {number}"), "scopes": ["read"] });
            let (status, answer) = server.call(Method::POST, "/v1/keys", Some(key)).await;
            assert_eq!(status, StatusCode::CREATED, "{answer}");
        }
        let reminder = made["reminders"][0]["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/reminders/{reminder}");
        until("a reminder waits for an answer", async || server.get(&path).await["last_status"] == "awaiting_ack")
            .await;
        let story =
            server.get(&format!("{path}/occurrences")).await["occurrences"][0]["id"].as_str().unwrap().to_owned();
        let failed = format!("/v1/reminders/{}", made["reminders"][2]["id"].as_str().unwrap());
        until("a reminder has failed", async || server.get(&failed).await["last_status"] == "failed").await;
        let (status, run) = server.call(Method::POST, "/v1/watches/tasks/run?wait=20", None).await;
        assert!(status.is_success(), "{run}");
        let sent = "/v1/reminders?match=The+tax+return+is+due";
        until("the watch has reminded", async || server.get(sent).await["reminders"][0]["last_status"] == "delivered")
            .await;
        let run = run["run_id"].as_str().unwrap_or_else(|| panic!("{run}")).to_owned();
        Self { server, reminder, story, run, home }
    }

    /// What the server keeps, to be written as it would have been long ago.
    pub(super) fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.home.data_dir().join("punctual.db")).unwrap()
    }

    /// Every page there is: the routes, with something in the place of each parameter.
    pub(super) fn pages(&self) -> Vec<String> {
        let series = "/events/club".to_owned();
        routes("get").iter().filter_map(|route| self.page_of(route)).chain([series]).collect()
    }

    fn page_of(&self, route: &str) -> Option<String> {
        // Parts of pages, and what is no page.
        let others = [
            "/stream",
            "/add/understood",
            "/reminders/{id}/tools",
            "/browser/renewal",
            "/manifest.webmanifest",
            "/sw.js",
        ];
        // The way back to a reminder from one of its forms.
        if others.contains(&route) || route.starts_with("/assets") || route == "/reminders/{id}/{verb}" {
            return None;
        }
        if route == "/watches/{name}/runs/{run}" {
            return Some(format!("/watches/tasks/runs/{}", self.run));
        }
        let page = [
            ("/reminders/{id}", self.reminder.as_str()),
            ("/runs/{", self.story.as_str()),
            ("/people/{", "me"),
            ("/groups/{", "group-0"),
            ("/events/{", "game-0"),
            ("/scopes/{", "guild:1"),
            ("/watches/{", "tasks"),
            ("/channels/{", "console"),
        ];
        let Some(at) = route.find('{') else { return Some(route.to_owned()) };
        let (_, value) = page
            .iter()
            .find(|(begin, _)| route.starts_with(begin))
            .unwrap_or_else(|| panic!("{route} is a new page: say in world.rs what stands for its parameter"));
        let rest = route[at..].split_once('}').map_or("", |(_, rest)| rest);
        assert!(!rest.contains('{'), "{route}: one parameter is filled");
        Some(format!("{}{value}{rest}", &route[..at]))
    }
}

/// The routes of the page by their method, as its source has them.
pub(super) fn routes(method: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    read_routes(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../web/src")), method, &mut found);
    assert!(found.contains("/sign-in"), "routes are written otherwise than they were: {found:?}");
    found
}

fn read_routes(dir: &Path, method: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_routes(&path, method, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for rest in text.split(".route(").skip(1) {
            let Some((name, handlers)) = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'))
            else {
                continue;
            };
            let handlers = handlers.split(".route(").next().unwrap().split(';').next().unwrap();
            if handlers.contains(&format!("{method}(")) {
                found.insert(name.to_owned());
            }
        }
    }
}
