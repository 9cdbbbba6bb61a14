//! A person who is erased stands nowhere any more.

use jiff::Timestamp;
use punctual_engine::SystemClock;
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Receiver, Server};

/// A name that stands nowhere by chance.
const NAME: &str = "zoe-q7";

/// The rows of a database that have the name somewhere, each as its table and its text: all tables are read, so that none can be forgotten.
trait Tables {
    fn naming(&self, name: &str) -> Vec<String>;
}

struct File(std::path::PathBuf);

impl Tables for File {
    fn naming(&self, name: &str) -> Vec<String> {
        let db = rusqlite::Connection::open(&self.0).unwrap();
        let mut tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
        let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let mut found = Vec::new();
        for table in tables {
            let mut rows = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
            let n_columns = rows.column_count();
            let mut rows = rows.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                for column in 0..n_columns {
                    let text = match row.get_ref(column).unwrap() {
                        rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => {
                            String::from_utf8_lossy(bytes).into_owned()
                        }
                        _ => continue,
                    };
                    if text.contains(name) {
                        found.push(format!("{table}: {text}"));
                    }
                }
            }
        }
        found
    }
}

struct Database<'a>(&'a Postgres, String);

impl Tables for Database<'_> {
    fn naming(&self, name: &str) -> Vec<String> {
        let tables = self.0.sql(&self.1, "select tablename from pg_tables where schemaname = 'punctual'");
        let naming = |table: &str| {
            let sql = format!("select t::text from punctual.{table} t where t::text like '%{name}%'");
            let rows = self.0.sql(&self.1, &sql);
            rows.lines().map(|row| format!("{table}: {row}")).collect::<Vec<_>>()
        };
        tables.lines().flat_map(naming).collect()
    }
}

/// A calendar of the person's, and one that says that they are on duty.
fn write_calendars(folder: &std::path::Path) {
    let event = |uid: &str, title: &str, more: &str| {
        format!("BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:{title}\r\n{more}END:VEVENT\r\n")
    };
    let calendar = |events: &str| format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{events}END:VCALENDAR\r\n");
    let odd = "DTSTART:20990101T080000Z\r\nRRULE:FREQ=NEVER\r\n";
    let own = [event("u1", "their own secret dentist", "DTSTART:20990101T080000Z\r\n"), event("u2", "odd", odd)];
    std::fs::write(folder.join("own.ics"), calendar(&own.concat())).unwrap();
    let now = SystemClock::read().as_second();
    let at = |hours: i64| Timestamp::from_second(now + hours * 3600).unwrap().strftime("%Y%m%dT%H%M%SZ").to_string();
    let duty = event("d1", NAME, &format!("DTSTART:{}\r\nDTEND:{}\r\n", at(-1), at(9)));
    let both = event("d2", &format!("{NAME} and dan"), &format!("DTSTART:{}\r\nDTEND:{}\r\n", at(10), at(12)));
    std::fs::write(folder.join("oncall.ics"), calendar(&(duty + &both))).unwrap();
}

/// A table of an application's with a row that names the person and cannot be reminded of, and a watch over it; returns where the config file is.
fn write_watch(folder: &std::path::Path) -> String {
    let (app, config) = (folder.join("app.db"), folder.join("watch.toml"));
    let db = rusqlite::Connection::open(&app).unwrap();
    db.execute_batch("create table tasks (id text, due_date text, sent text, owner text)").unwrap();
    let tomorrow = Timestamp::from_second(SystemClock::read().as_second() + 80_000).unwrap().strftime("%Y-%m-%d");
    let due = format!("{tomorrow} at {NAME}'s");
    db.execute("insert into tasks values (?1, ?2, null, 'bob')", [NAME, &due]).unwrap();
    let watch = format!(
        "[watches.tasks]\ndatabase = 'sqlite:{}'\ntable = 'tasks'\nkey = 'id'\ndue = 'due_date'\nsent = 'sent'\nuser = 'owner'\n\
         message = 'x'\nevery = '300d'\n",
        app.display()
    );
    std::fs::write(&config, watch).unwrap();
    config.to_str().unwrap().to_owned()
}

/// Lets the person leave traces wherever a person can.
async fn live(server: &Server, receiver: &mut Receiver) {
    let to = json!([{ "channel": "webhook", "address": receiver.url }]);
    let put = async |path: &str, body: Value| {
        let (status, body) = server.call(Method::PUT, path, Some(body)).await;
        assert!(status.is_success(), "{path}: {body}");
    };
    put("/v1/users/bob", json!({ "addresses": to })).await;
    put(&format!("/v1/users/{NAME}"), json!({ "addresses": to, "timezone": "UTC" })).await;
    put("/v1/users/dan", json!({ "escalate": [{ "after": "5m", "to": NAME }, { "after": "9m", "to": "bob" }] })).await;
    put("/v1/groups/both", json!({ "users": [NAME, "bob"] })).await;
    put("/v1/groups/alone", json!({ "users": [NAME] })).await;
    put("/v1/groups/duty", json!({ "users": [NAME, "dan"], "rota": "file:oncall.ics" })).await;
    put(&format!("/v1/users/{NAME}/calendars/therapy"), json!({ "url": "file:own.ics", "offsets": [15] })).await;
    put(&format!("/v1/scopes/user:{NAME}"), json!({ "offsets": [30] })).await;
    let plan = json!([{ "after": "5m", "to": NAME }, { "after": "9m", "to": "dan" }]);
    let game = json!({ "starts_at": "2099-01-01T08:00:00Z", "offsets": [60], "message": "m", "users": ["bob"], "require_ack": true,
        "escalate": plan });
    put("/v1/events/game", game).await;
    let ours = json!({ "starts_at": "2099-01-01T08:00:00Z", "offsets": [60], "message": "m", "users": ["bob", NAME] });
    put("/v1/events/ours", ours).await;
    // Nobody reaches gus any more, and his group is gone.
    put("/v1/users/gus", json!({ "addresses": to })).await;
    put("/v1/groups/crew", json!({ "users": ["gus"] })).await;
    let theirs = json!({ "starts_at": "2099-01-01T08:00:00Z", "offsets": [60], "message": "m", "users": ["gus", NAME], "groups": ["crew"] });
    put("/v1/events/theirs", theirs).await;
    for path in ["/v1/groups/crew", "/v1/users/gus"] {
        let (status, body) = server.call(Method::DELETE, path, None).await;
        assert!(status.is_success(), "{path}: {body}");
    }
    let post = async |path: &str, body: Value| {
        let (status, body) = server.call(Method::POST, path, Some(body)).await;
        assert!(status.is_success(), "{path}: {body}");
        body
    };
    let ical = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:i1\r\nSUMMARY:party\r\nDTSTART:20990301T080000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    post("/v1/import/calendar", json!({ "user": NAME, "name": "old", "ical": ical })).await;
    until("their calendar is read", async || {
        let path = format!("/v1/users/{NAME}/calendars");
        server.get(&path).await["calendars"][0]["read_at"].is_string()
    })
    .await;
    until("they are on duty", async || server.get("/v1/groups/duty").await["on_duty"] == json!([NAME])).await;
    let ran = post("/v1/watches/tasks/run", json!({})).await;
    assert_eq!((&ran["seen"], &ran["failed"]), (&json!(1), &json!(1)), "{ran}");
    post("/v1/silences", json!({ "user": NAME, "tag": "x", "until": "9d" })).await;
    let key = post("/v1/keys", json!({ "name": format!("{NAME}'s phone"), "user": NAME })).await;
    let own = key["key"].as_str().unwrap();
    // A request that is answered the same when it comes again,
    let request = server.request(Method::POST, "/v1/reminders").bearer_auth(own).header("Idempotency-Key", "k1");
    let body = json!({ "user": NAME, "message": "later", "schedule": { "type": "daily", "time": "08:00" } });
    assert!(request.json(&body).send().await.unwrap().status().is_success());
    // an answer of theirs to somebody else's reminder,
    let ask = json!({ "user": "bob", "message": "tea?", "schedule": { "type": "once", "at": "now" }, "require_ack": true,
        "escalate": [{ "after": "1h", "to": NAME }] });
    let asked = post("/v1/reminders", ask).await;
    receiver.next().await;
    let said = json!({ "user": "bob", "channel": "webhook", "text": "done" });
    post("/v1/inbound", said).await;
    // The answer may come before the server has written that the message was sent.
    let asked = format!("/v1/reminders/{}", asked["id"].as_str().unwrap());
    until("the answer counts", async || server.get(&asked).await["status"] == "completed").await;
    // and somebody who is asked because they did not answer.
    let ask = json!({ "user": NAME, "message": "their own secret", "schedule": { "type": "once", "at": "now" }, "require_ack": true,
        "ack_timeout": "1s", "max_ack_reminders": 9, "escalate": [{ "after": "1s", "to": "bob" }] });
    post("/v1/reminders", ask).await;
    until("bob is asked", async || {
        server.get("/v1/reminders?user=bob").await["reminders"].as_array().unwrap().len() == 4
    })
    .await;
}

async fn shows(home: &Home, server: &Server, tables: &dyn Tables) {
    let mut receiver = Receiver::listen().await;
    live(server, &mut receiver).await;
    let before = tables.naming(NAME);
    assert!(before.iter().any(|row| row.contains(&format!("`{NAME} and dan` names"))), "{before:#?}");
    for table in [
        "reminder",
        "journal",
        "answered",
        "api_key",
        "user_group",
        "silence",
        "user_address",
        "feed",
        "scope",
        "event",
        "event_reminder",
        "rota_shift",
        "watch_bad",
    ] {
        assert!(before.iter().any(|row| row.starts_with(&format!("{table}: "))), "{table} names them: {before:#?}");
    }
    let entries = server.get("/v1/audit?limit=500").await["entries"].as_array().unwrap().clone();

    home.run(&["users", "erase", NAME]).fails(2, &["nothing was erased", "--yes"]);
    let ran = home.run(&["users", "erase", NAME, "--yes", "--json"]).json();
    assert_eq!((&ran["is_done"], &ran["reminders"]), (&json!(true), &json!(6)), "{ran}");

    // What happens afterwards is about nobody who was erased.
    assert_eq!(tables.naming(NAME), Vec::<String>::new());
    assert_eq!(tables.naming("their own secret"), Vec::<String>::new());
    let after = server.get("/v1/audit?limit=500").await["entries"].as_array().unwrap().clone();
    for (before, after) in entries.iter().zip(&after) {
        for field in ["id", "at", "kind", "reminder_id"] {
            assert_eq!(before[field], after[field], "an entry keeps its place");
        }
    }
    // What was sent to bob just before may be entered after it.
    let erased = after.iter().find(|entry| entry["kind"] == "user.erased").expect("the journal says that it was done");
    assert_eq!((&erased["user"], &erased["data"]["reminders"]), (&Value::Null, &json!(6)), "{erased}");
    assert_eq!(server.get("/v1/groups").await["groups"][0]["users"], json!(["bob"]));
    assert_eq!(server.get("/v1/users/dan").await["escalate"][0]["to"], "bob");
    // A group whose rota says who is on duty stays, and events of others go on without them.
    let duty = server.get("/v1/groups/duty").await;
    assert_eq!((&duty["users"], &duty["on_duty"]), (&json!(["dan"]), &json!([])), "{duty}");
    assert_eq!(server.get("/v1/events/game").await["escalate"][0]["to"], "dan");
    assert_eq!(server.get("/v1/events/ours").await["users"], json!(["bob"]));
    assert_eq!(server.get("/v1/events/theirs").await["users"], json!(["gus"]));

    // Once more, and there is nothing to do: whoever has mistyped a name is told.
    let again = format!("/v1/users/{NAME}/erase");
    let (_, ran) = server.call(Method::POST, &again, Some(json!({ "confirm": NAME }))).await;
    assert_eq!((&ran["is_done"], &ran["reminders"], &ran["records"]), (&json!(true), &json!(0), &json!(0)), "{ran}");
    home.run(&["users", "erase", NAME, "--yes"]).fails(1, &["no such user", "nothing was erased"]);
    assert_eq!(n_erased(server).await, 1, "nothing was there the second time");
}

/// How many erasures the journal tells of.
async fn n_erased(server: &Server) -> usize {
    let entries = server.get("/v1/audit?limit=500&kind=user.erased").await["entries"].as_array().unwrap().clone();
    entries.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_is_entered_when_something_was_there() {
    let home = Home::new();
    let server = home.serve();
    let erase = async |user: &str, after: Option<&str>| {
        let body = json!({ "confirm": user, "after": after });
        let (status, ran) = server.call(Method::POST, &format!("/v1/users/{user}/erase"), Some(body)).await;
        assert!(status.is_success() && ran["is_done"] == true, "{ran}");
        ran["records"].as_u64().unwrap()
    };
    assert_eq!((erase("ghosty", None).await, n_erased(&server).await), (0, 0));
    let there = [
        ("/v1/users/ann", json!({ "timezone": "UTC" }), "ann"),
        ("/v1/scopes/user:eve", json!({ "offsets": [30] }), "eve"),
    ];
    for (n_before, (path, body, user)) in there.into_iter().enumerate() {
        let (status, body) = server.call(Method::PUT, path, Some(body)).await;
        assert!(status.is_success(), "{path}: {body}");
        assert!(erase(user, None).await > 0, "{user}");
        assert_eq!(n_erased(&server).await, n_before + 1, "{user}");
    }
    // The rest of one that was cut off finds nothing more.
    assert_eq!((erase("gone", Some("journal/0/3/")).await, n_erased(&server).await), (3, 3));
    assert_eq!((erase("ann", None).await, n_erased(&server).await), (0, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_is_erased_stands_in_no_table_of_a_file() {
    let home = Home::new();
    write_calendars(home.path());
    let (folder, config) = (home.path().to_str().unwrap(), write_watch(home.path()));
    let server = home.serve_with(&[("PUNCTUAL_CALENDAR_FILES", folder), ("PUNCTUAL_CONFIG", &config)]);
    shows(&home, &server, &File(home.data_dir().join("punctual.db"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_is_erased_stands_in_no_table_of_a_database() {
    let Some(postgres) = Postgres::start() else { return };
    let name = postgres.new_database(None);
    let home = Home::new();
    write_calendars(home.path());
    let (url, folder, config) = (postgres.url(&name), home.path().to_str().unwrap(), write_watch(home.path()));
    let server = home.serve_with(&[
        ("PUNCTUAL_DATABASE_URL", &url),
        ("PUNCTUAL_CALENDAR_FILES", folder),
        ("PUNCTUAL_CONFIG", &config),
    ]);
    shows(&home, &server, &Database(&postgres, name)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_is_under_way_is_waited_for() {
    let home = Home::new();
    let server = home.serve();
    let hanging = Receiver::hanging().await;
    let to = json!([{ "channel": "webhook", "address": hanging.url }]);
    let body =
        json!({ "user": NAME, "message": "m", "schedule": { "type": "once", "at": "now" }, "to": to, "only": true });
    let reminder = server.create(body).await;
    let path = format!("/v1/reminders/{}/occurrences", reminder["id"].as_str().unwrap());
    until("it is being sent", async || server.get(&path).await["occurrences"][0]["state"] == "processing").await;
    let erase = json!({ "confirm": NAME });
    let (status, answer) = server.call(Method::POST, &format!("/v1/users/{NAME}/erase"), Some(erase)).await;
    assert!(status.is_success() && answer["is_done"] == false, "{answer}");
    // The receiver is gone: the send ends, and nothing follows it.
    drop(hanging);
    let ran = home.run(&["users", "erase", NAME, "--yes", "--json"]).json();
    assert_eq!((&ran["is_done"], &ran["reminders"]), (&json!(true), &json!(1)), "{ran}");
    assert_eq!(n_erased(&server).await, 1, "it was begun twice");
    let (status, body) =
        server.call(Method::POST, &format!("/v1/users/{NAME}/erase"), Some(json!({ "confirm": "zoe" }))).await;
    assert_eq!((status.as_u16(), body["field"].as_str()), (422, Some("confirm")), "{body}");
}
