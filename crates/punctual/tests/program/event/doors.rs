//! The table of cases through every door: HTTP on SQLite and on PostgreSQL, a batch, the command line, SQL, the library, and the rule itself.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use punctual::embed::{Error, EventAsk, Message, Punctual, Receipt};
use punctual_core::group::{Group, Mode};
use punctual_core::rules::event::{Around, wanted};
use punctual_core::scope::Scope;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use punctual_testkit::servers::Postgres;
use reqwest::Method;
use serde_json::{Value, json};

use super::cases::{Case, GROUPS, START, cases, scopes};
use super::{planned, put};
use crate::common::{Home, Server};
use crate::sql::Sql;

/// Whom an event reminds, and how many seconds before its start; or the field that is refused.
type Outcome = Result<Vec<(String, i64)>, String>;

/// What came of all cases at one door.
struct Door {
    name: &'static str,
    wrong: Vec<String>,
    n_done: usize,
}

impl Door {
    fn new(name: &'static str) -> Self {
        Self { name, wrong: Vec::new(), n_done: 0 }
    }

    fn compare(&mut self, case: &Case, key: &str, came: Outcome) {
        self.n_done += 1;
        let own = |(user, before): &(String, i64)| (user.replace("KEY", key), *before);
        let expect: Outcome = match &case.expect {
            Ok(slots) => Ok(sorted(slots.iter().map(own).collect())),
            Err(field) => Err((*field).to_owned()),
        };
        let came = came.map(sorted).map_err(|field| base(&field));
        if came != expect {
            let mut shown = Value::Object(case.body.clone()).to_string();
            shown.truncate(300);
            self.wrong.push(format!("{}: {shown}\n  expected {expect:?}\n  came     {came:?}", self.name));
        }
    }

    /// What the first reminder of an event says.
    async fn listen(&mut self, server: &Server, case: &Case, key: &str, event: &Value) {
        let Some(says) = case.says else { return };
        let id = event["reminders"][0]["reminder_id"].as_str().unwrap_or_default();
        let reminder = server.get(&format!("/v1/reminders/{id}")).await;
        if reminder["message"] != says.replace("KEY", key) {
            self.wrong.push(format!("{}: it says {} instead of {says:?}", self.name, reminder["message"]));
        }
    }

    fn end(self, n_min: usize) {
        assert!(self.wrong.is_empty(), "{} wrong:\n{}", self.wrong.len(), self.wrong.join("\n"));
        assert!(self.n_done >= n_min, "{}: only {} cases", self.name, self.n_done);
    }
}

fn sorted(mut slots: Vec<(String, i64)>) -> Vec<(String, i64)> {
    slots.sort_unstable_by(|a, b| (&a.0, -a.1).cmp(&(&b.0, -b.1)));
    slots
}

/// A field without its place in a list and below it; an argument of SQL under the name of its field.
fn base(field: &str) -> String {
    let field = field.split(['[', '.']).next().unwrap_or_default();
    if field == "offset_list" { "offsets".to_owned() } else { field.to_owned() }
}

/// The slots that an answer shows.
fn slots(event: &Value, case: &Case) -> Outcome {
    let slot = |reminder: &Value| {
        let due_at: Timestamp = reminder["due_at"].as_str().unwrap().parse().unwrap();
        (reminder["user"].as_str().unwrap().to_owned(), case.starts_at().duration_since(due_at).as_secs())
    };
    Ok(event["reminders"].as_array().unwrap().iter().map(slot).collect())
}

fn refused(answer: &Value) -> Outcome {
    Err(answer["field"].as_str().unwrap_or_default().to_owned())
}

/// The present second: a rule has no finer times.
fn present() -> Timestamp {
    Timestamp::from_second(SystemClock::read().as_second()).unwrap()
}

/// The scopes and groups that the cases name.
async fn furnish(server: &Server) {
    for (path, escaped, offsets) in scopes() {
        let (status, scope) =
            server.call(Method::PUT, &format!("/v1/scopes/{escaped}"), Some(json!({ "offsets": offsets }))).await;
        assert_eq!((status.as_u16(), scope["path"].as_str()), (201, Some(path)), "{scope}");
    }
    for (name, users) in GROUPS {
        let (status, _) =
            server.call(Method::PUT, &format!("/v1/groups/{name}"), Some(json!({ "users": users }))).await;
        assert_eq!(status, 201);
    }
}

async fn http(server: &Server, name: &'static str, now: Timestamp) -> Door {
    let mut door = Door::new(name);
    for (index, case) in cases(now).into_iter().enumerate() {
        let key = format!("h{index}");
        let (status, answer) = put(server, &key, Value::Object(case.body.clone())).await;
        match status {
            201 => {
                door.compare(&case, &key, slots(&answer, &case));
                door.listen(server, &case, &key, &answer).await;
            }
            422 => door.compare(&case, &key, refused(&answer)),
            _ => door.wrong.push(format!("{status} {answer}")),
        }
    }
    door
}

async fn batch(server: &Server, now: Timestamp) -> Door {
    let mut door = Door::new("batch");
    let item = |index: usize, case: &Case| {
        let mut item = Value::Object(case.body.clone());
        item["key"] = json!(format!("b{index}"));
        item
    };
    let mut good = Vec::new();
    for (index, case) in cases(now).into_iter().enumerate() {
        if case.expect.is_ok() {
            good.push((index, case));
            continue;
        }
        let items = json!({ "events": [{ "key": "fine", "starts_at": START, "message": "x", "users": ["ann"] }, item(index, &case)] });
        let (status, answer) = server.call(Method::POST, "/v1/events/batch", Some(items)).await;
        assert_eq!((status.as_u16(), &answer["index"]), (422, &json!(1)), "{answer}");
        let refused = refused(&answer).map_err(|field| field.replace("events[1].", ""));
        door.compare(&case, "", refused);
    }
    let (status, _) = server.call(Method::GET, "/v1/events/fine", None).await;
    assert_eq!(status, 404, "a batch with a bad item writes nothing");
    let items: Vec<Value> = good.iter().map(|(index, case)| item(*index, case)).collect();
    let (status, answer) = server.call(Method::POST, "/v1/events/batch", Some(json!({ "events": items }))).await;
    assert_eq!((status.as_u16(), &answer), (200, &json!({ "put": good.len() })));
    for (index, case) in good {
        let key = format!("b{index}");
        let event = planned(server, &key).await;
        door.compare(&case, &key, slots(&event, &case));
        door.listen(server, &case, &key, &event).await;
    }
    door
}

/// The statement that finds the instances of an event which its series does not have.
fn dropped(key: &str) -> String {
    format!(
        "select string_agg(data::json ->> 'dropped', ' ') from punctual.journal where kind = 'event.changed' \
         and data::json ->> 'event' = '{key}' and data::json ->> 'dropped' is not null"
    )
}

async fn sql(server: &Server, sql: &Sql<'_>, now: Timestamp) -> Door {
    let mut door = Door::new("SQL");
    for (index, case) in cases(now).into_iter().enumerate() {
        // Only an array of text can be given, and a name of a type that there is.
        let is_list = |name: &str| case.body.get(name).is_none_or(|value| value.is_null() || value.is_array());
        if !["users", "groups", "tags"].into_iter().all(is_list) {
            continue;
        }
        let key = format!("s{index}");
        match sql.call("put_event", &case.sql(&key)) {
            Err(column) => door.compare(&case, &key, Err(column)),
            Ok(_) => {
                for arguments in case.sql_instances(&key) {
                    assert_eq!(sql.call("put_instance", &arguments), Ok("true".to_owned()));
                }
                let event = planned(server, &key).await;
                match (case.is_for_core, event["error"].as_str()) {
                    (true, Some(error)) => door.compare(&case, &key, Err(error.split(':').next().unwrap().to_owned())),
                    // The journal names what was left out, and it changes nothing.
                    (true, None) if !sql.run(&dropped(&key)).is_empty() => {
                        assert_eq!((slots(&event, &case).unwrap().len(), &event["instances"]), (3, &Value::Null));
                        door.compare(&case, &key, Err("instances".to_owned()));
                    }
                    _ => door.compare(&case, &key, slots(&event, &case)),
                }
                door.listen(server, &case, &key, &event).await;
            }
        }
    }
    door
}

async fn command_line(server: &Server, home: &Home, now: Timestamp) -> Door {
    let mut door = Door::new("command line");
    for (index, case) in cases(now).into_iter().enumerate() {
        let key = format!("c{index}");
        let (Some(arguments), Some(instances)) = (case.cli(&key), case.cli_instances(&key)) else { continue };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--json"]).collect();
        if arguments.iter().any(|argument| argument.len() > 100_000) || arguments.len() > 2_000 {
            continue;
        }
        let ran = home.run(&arguments);
        let changed = |arguments: &Vec<String>| {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            home.run(&arguments).code == Some(0)
        };
        match ran.code {
            Some(0) if !instances.iter().all(changed) => door.compare(&case, &key, Err("instances".to_owned())),
            Some(0) => {
                let event = planned(server, &key).await;
                door.compare(&case, &key, slots(&event, &case));
                door.listen(server, &case, &key, &event).await;
            }
            _ => {
                // `error: offsets[0]: …`, or the option: `error: --to: …`.
                let said = ran.err.trim_start_matches("error: ").trim_start_matches("--");
                let field = said.split([':', ' ']).next().unwrap_or_default();
                let field = if field == "tz" { "timezone" } else { field };
                door.compare(&case, &key, Err(field.to_owned()));
            }
        }
    }
    door
}

/// The library, and the rule that all doors lead to.
async fn embedded(now: Timestamp) -> (Door, Door) {
    let dir = tempfile::tempdir().unwrap();
    let print = |_: Message| async { Ok(Receipt::default()) };
    let punctual = Punctual::open(dir.path().join("events.db")).channel("console", print).start().await.unwrap();
    let mut known: Vec<Scope> = Vec::new();
    for (path, _, offsets) in scopes() {
        assert_eq!(punctual.put_scope(path, offsets.clone()).await.unwrap(), 0);
        let offsets = punctual_core::model::offset::read_list("offsets", &offsets).unwrap();
        known.push(Scope { path: path.parse().unwrap(), offsets, updated_at: now });
    }
    let group = |(name, users): (&str, &[&str])| Group {
        name: name.to_owned(),
        mode: Mode::All,
        users: users.iter().map(|user| (*user).to_owned()).collect(),
        rota: None,
        shifts: Vec::new(),
        created_at: now,
        updated_at: now,
    };
    let groups: Vec<Group> = GROUPS.into_iter().map(group).collect();
    for group in &groups {
        punctual.engine().put_group(group.clone(), "test").await.unwrap();
    }
    let (zone, zones) = (Zone::utc(), HashMap::new());
    let around = Around { scopes: &known, groups: &groups, zones: &zones, zone: &zone, planned_until: None };
    let (mut door, mut rule) = (Door::new("library"), Door::new("rule"));
    for (index, case) in cases(now).into_iter().enumerate() {
        let key = format!("e{index}");
        // This program's channels are its own.
        if case.expect == Err("to") {
            continue;
        }
        let ask =
            case.body.iter().fold(EventAsk::new(&key, "", ""), |ask, (name, value)| ask.field(name, value.clone()));
        let before = |at: Timestamp| case.starts_at().duration_since(at).as_secs();
        match punctual.put_event(ask).await {
            Ok(view) => {
                let slots = view.slots.iter().map(|slot| (slot.slot.user.clone(), before(slot.due_at)));
                door.compare(&case, &key, Ok(slots.collect()));
                let present = SystemClock::read();
                let wanted = wanted(&view.event, around, &BTreeSet::new(), present).unwrap();
                let ahead = wanted.slots.iter().filter(|(_, want)| want.due_at > present);
                rule.compare(
                    &case,
                    &key,
                    Ok(ahead.map(|(slot, want)| (slot.user.clone(), before(want.due_at))).collect()),
                );
            }
            Err(Error::Invalid(invalid)) => door.compare(&case, &key, Err(invalid.field)),
            Err(error) => door.wrong.push(format!("{error}")),
        }
    }
    assert!(punctual.remove_event("e0").await.unwrap() && !punctual.remove_event("e0").await.unwrap());
    assert!(punctual.remove_scope("guild:1").await.unwrap() && !punctual.remove_scope("guild:1").await.unwrap());
    punctual.stop().await;
    (door, rule)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_door_leads_to_the_same_reminders_on_sqlite() {
    let now = present();
    let home = Home::new();
    let server = home.serve();
    furnish(&server).await;
    http(&server, "HTTP on SQLite", now).await.end(110);
    batch(&server, now).await.end(110);
    command_line(&server, &home, now).await.end(80);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_door_leads_to_the_same_reminders_on_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let now = present();
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &postgres.url(&database))]);
    furnish(&server).await;
    http(&server, "HTTP on PostgreSQL", now).await.end(110);
    sql(&server, &Sql::new(&postgres, &database), now).await.end(110);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_library_and_the_rule_lead_to_the_same_reminders() {
    let (door, rule) = embedded(present()).await;
    door.end(110);
    rule.end(40);
}
