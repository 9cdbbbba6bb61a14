//! Every field of a reminder, through three doors: `POST /v1/reminders`, `punctual.remind` and `punctual.put_event`.

use punctual_testkit::servers::Postgres;
use reqwest::Method;
use serde_json::{Value, json};

use super::Sql;
use super::cases::cases;
use super::plan::planned;
use crate::common::Home;
use crate::event;

/// The argument of `punctual.remind` that a field of the API is.
fn argument(field: &str) -> String {
    match field {
        "user" => "user_id".into(),
        "schedule" => "at".into(),
        field => field.strip_prefix("schedule.").unwrap_or(field).replace("days", "weekly"),
    }
}

/// A reminder as the API shows it, without what differs whenever two are made.
fn shown(mut reminder: Value) -> Value {
    for field in ["id", "created_at", "updated_at", "created_via"] {
        reminder[field] = Value::Null;
    }
    if reminder["schedule"]["type"] == "interval" && reminder["schedule"]["starts_at"].is_null() {
        reminder["schedule"]["origin"] = Value::Null;
        reminder["next_run_at"] = Value::Null;
        reminder["summary"] = Value::Null;
    }
    reminder
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_accepts_and_refuses_what_http_accepts_and_refuses() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &postgres.url(&database))]);
    let sql = Sql::new(&postgres, &database);
    let (mut n_refused, mut n_failed, mut n_events, mut wrong) = (0, 0, 0, Vec::new());
    let cases = cases();
    for (number, case) in cases.iter().enumerate() {
        let (status, answer) = server.call(Method::POST, "/v1/reminders", Some(case.body.clone())).await;
        let field = answer["field"].as_str().unwrap_or_default();
        n_refused += u32::from(status == 422);
        let mut compare = |door: &str, said: Result<Value, String>, fields: &[String]| {
            let is_same = match &said {
                Ok(made) => status == 201 && *made == shown(answer.clone()),
                Err(column) => status == 422 && fields.contains(column),
            };
            if !is_same {
                let arguments: String = case.remind().chars().take(200).collect();
                wrong.push(format!("{arguments}\n  http {status} {answer}\n  {door} {said:?}"));
            }
        };

        let made = match sql.call("remind", &case.remind()) {
            Ok(id) if case.is_for_core && status == 422 => {
                // The reason is recorded, and names the field that HTTP names.
                let why = planned(&server, &id).await.expect_err(&case.remind());
                assert!(why.starts_with(&format!("{field}: ")), "{}: {why}, {answer}", case.remind());
                n_failed += 1;
                continue;
            }
            Ok(id) => {
                let made = planned(&server, &id).await.unwrap_or_else(|why| panic!("{}: {why}", case.remind()));
                if case.body.get("created_via").is_none() {
                    assert_eq!(made["created_via"], "sql");
                }
                Ok(shown(made))
            }
            Err(column) => Err(column),
        };
        // A time of day is an argument of its own.
        let same = match argument(field).as_str() {
            "time" => vec!["daily".to_owned(), "at_time".to_owned()],
            argument => vec![argument.to_owned()],
        };
        compare("remind", made, &same);

        let key = format!("case:{number}");
        let Some(arguments) = case.put_event(&key) else { continue };
        n_events += 1;
        let made = match sql.call("put_event", &arguments) {
            Ok(is_new) => {
                assert_eq!(is_new, "true", "{arguments}");
                let event = event::planned(&server, &key).await;
                let id = event["reminders"][0]["reminder_id"].as_str().unwrap();
                let mut made = server.get(&format!("/v1/reminders/{id}")).await;
                assert_eq!(made["event"]["key"], json!(key));
                made.as_object_mut().unwrap().remove("event");
                if case.body.get("name").is_none() {
                    assert_eq!(made["name"], json!(key), "an event's reminders have its name");
                    made["name"] = Value::Null;
                }
                Ok(shown(made))
            }
            Err(column) => Err(column),
        };
        compare("put_event", made, &[field.replace("user", "users[0]")]);
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(n_events > 100 && n_refused > 50 && n_failed > 5, "{n_events} {n_refused} {n_failed}");
    println!(
        "{} alike, {n_events} of them as events as well; HTTP refused {n_refused}, {n_failed} of these failed later in SQL",
        cases.len()
    );
}
