//! A file of punctual's own, moved to PostgreSQL.

use std::process::Stdio;

use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::{until, until_blocking};
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Receiver, Server};

/// The API's answer about every reminder, without the counters that begin anew.
async fn everything(server: &Server) -> Vec<Value> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.get(&format!("/v1/reminders?limit=500{cursor}")).await;
        for reminder in page["reminders"].as_array().unwrap() {
            let id = reminder["id"].as_str().unwrap();
            let mut trail = server.get(&format!("/v1/reminders/{id}/occurrences?limit=500")).await;
            forget_places(&mut trail);
            all.push(json!({ "reminder": reminder, "trail": trail }));
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// An entry of the journal has a place of its own in every database, and in a copy no node wrote it.
fn forget_places(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.contains_key("kind") {
                map.remove("id");
                map.remove("node");
            }
            map.values_mut().for_each(forget_places);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_places),
        _ => {}
    }
}

/// A file with something of everything in it.
pub(super) async fn lived_in(home: &Home) -> Vec<Value> {
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let broken = Receiver::answering(axum::http::StatusCode::BAD_REQUEST).await;
    let to = |receiver: &Receiver| json!([{ "channel": "webhook", "address": receiver.url }]);
    let (status, _) = server
        .call(Method::PUT, "/v1/users/ann", Some(json!({ "timezone": "Europe/Berlin", "addresses": ["console"] })))
        .await;
    assert!(status.is_success());
    server.call(Method::POST, "/v1/keys", Some(json!({ "name": "phone", "user": "ann" }))).await;
    let once = |message: &str, more: Value| {
        let mut body = json!({ "user": "ann", "message": message, "schedule": { "type": "once", "at": "1s" } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let sent = server.create(once("sent", json!({ "to": to(&receiver) }))).await;
    receiver.next().await;
    let asked =
        server.create(once("asked", json!({ "to": to(&receiver), "require_ack": true, "ack_prompt": "Well?" }))).await;
    receiver.next().await;
    let refused = server.create(once("refused", json!({ "to": to(&broken), "only": true }))).await;
    for (reminder, state) in [(&sent, "delivered"), (&asked, "awaiting_ack"), (&refused, "failed")] {
        until_last_is(&server, reminder, state).await;
    }
    let id = |reminder: &Value| reminder["id"].as_str().unwrap().to_owned();
    let (status, _) = server
        .call(Method::POST, &format!("/v1/reminders/{}/snooze", id(&asked)), Some(json!({ "minutes": 60 })))
        .await;
    assert!(status.is_success());
    let weekly = json!({ "user": "bob", "message": "stand up", "schedule": { "type": "weekly", "time": "09:55", "days": ["weekdays"] },
        "priority": "critical", "timezone": "America/New_York", "metadata": { "room": [1, "ž\u{7f}"] } });
    let weekly = server.create(weekly).await;
    server.call(Method::POST, &format!("/v1/reminders/{}/pause", id(&weekly)), None).await;
    let cancelled = server.create(json!({ "message": "no", "schedule": { "type": "once", "at": "2h" } })).await;
    server.call(Method::DELETE, &format!("/v1/reminders/{}", id(&cancelled)), None).await;
    let batch: Vec<Value> =
        (0..2000).map(|n| json!({ "user": format!("u{}", n % 7), "message": format!("n {n}"), "schedule": { "type": "once", "at": "9d" } })).collect();
    let (status, _) = server.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": batch }))).await;
    assert_eq!(status, 201);
    let all = everything(&server).await;
    assert!(server.stop().0.success());
    all
}

async fn until_last_is(server: &Server, reminder: &Value, state: &str) {
    let path = format!("/v1/reminders/{}", reminder["id"].as_str().unwrap());
    until(state, async || server.get(&path).await["last_status"] == state).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_the_same_in_the_other_database() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let home = Home::new();
    let before = lived_in(&home).await;
    let file = format!("sqlite:{}", home.data_dir().join("punctual.db").display());
    let into = ["import", &file, "--database", &url];

    let looked = home.run_alone(&into).ok();
    let is_counted = looked.lines().any(|line| line.split_whitespace().eq(["reminder", "2,005", "0"]));
    assert!(is_counted && looked.contains("Nothing was written"), "{looked}");
    assert_eq!(
        postgres.sql(url.rsplit_once('/').unwrap().1, "select count(*) from pg_tables where schemaname = 'punctual'"),
        "0"
    );

    let moved = home.run_alone(&[&into[..], &["--apply", "--json"]].concat()).json();
    for table in moved["tables"].as_array().unwrap() {
        assert_eq!(table["file"], table["database"], "{table}");
        assert_eq!(table["file"], table["copied"], "{table}");
    }
    println!("2,005 reminders in {} s", moved["seconds"]);
    let again = home.run_alone(&[&into[..], &["--apply"]].concat()).ok();
    assert!(again.contains("Nothing was copied"), "{again}");

    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    let after = everything(&server).await;
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    assert_eq!(server.get("/v1/users/ann").await["timezone"], "Europe/Berlin");
    assert_eq!(server.get("/v1/keys").await["keys"][0]["name"], "phone");

    // It goes on there, and another run brings nothing back.
    let asked = after.iter().find(|one| one["reminder"]["message"] == "asked").unwrap();
    let id = asked["reminder"]["id"].as_str().unwrap();
    let (status, body) = server.call(Method::DELETE, &format!("/v1/reminders/{id}"), None).await;
    assert!(status.is_success(), "{body}");
    home.run_alone(&[&into[..], &["--apply"]].concat()).ok();
    assert_eq!(server.get(&format!("/v1/reminders/{id}")).await["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_move_goes_on_and_a_served_file_is_refused() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let url = postgres.url(&database);
    let home = Home::new();
    let server = home.serve();
    for _ in 0..5 {
        let batch: Vec<Value> = (0..10_000)
            .map(|n| json!({ "message": format!("n {n}"), "schedule": { "type": "once", "at": "9d" } }))
            .collect();
        let (status, _) = server.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": batch }))).await;
        assert_eq!(status, 201);
    }
    let file = format!("sqlite:{}", home.data_dir().join("punctual.db").display());
    let apply = ["import", &file, "--database", &url, "--apply", "--json"];
    home.run_alone(&apply).fails(1, &["punctual.db is in use by another punctual server", "stop that one first"]);
    assert!(server.stop().0.success());

    let mut killed = home.command(apply).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let copied = || {
        let there = postgres.sql(&database, "select to_regclass('punctual.probe') is not null");
        if there == "t" {
            postgres.sql(&database, "select count(*) from punctual.reminder").parse::<u64>().unwrap()
        } else {
            0
        }
    };
    until_blocking("something is copied", || {
        assert!(killed.try_wait().unwrap().is_none(), "it was over before it could be killed");
        copied() > 0
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let n_before = copied();
    let rest = home.run_alone(&apply).json();
    let reminders = rest["tables"].as_array().unwrap().iter().find(|table| table["table"] == "reminder").unwrap();
    let n_rest = reminders["copied"].as_u64().unwrap();
    assert!(n_before > 0 && n_rest > 0 && reminders["database"] == 50_000, "{n_before} {rest}");
    let whole = "select (select count(*) from punctual.occurrence), (select count(*) from punctual.journal), \
                 (select count(distinct shard) > 0 from punctual.occurrence)";
    assert_eq!(postgres.sql(&database, whole), "50000|50000|t");
    println!("{n_rest} of 50,000 in {} s", rest["seconds"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mistake_is_answered_with_what_would_be_right() {
    let home = Home::new();
    assert!(home.serve().stop().0.success());
    let file = format!("sqlite:{}", home.data_dir().join("punctual.db").display());
    for (args, code, words) in [
        (&["import", &file][..], 2, &["punctual's own", "--database postgres://"][..]),
        (&["import", &file, "--database", "sqlite:/tmp/x.db"], 2, &["--database", "write postgres://"]),
        (&["import", &file, "--database", "mysql://x"], 2, &["--database", "no database"]),
        (&["import", &file, "--database", "postgres://ann:hush@127.0.0.1:1/x"], 1, &["refused"]),
        (&["import", &file, "--database", "postgres://ann:hush@127.0.0.1:1/x", "--apply"], 1, &["refused"]),
        (&["import", "sqlite:/none.db", "--database", "postgres://h/d"], 2, &["--database", "punctual's own"]),
    ] {
        let ran = home.run_alone(args);
        assert!(!ran.err.contains("hush"), "{}", ran.err);
        ran.fails(code, words);
    }
}
