//! Starting, stopping, and what must not start at all.

use jiff::{SignedDuration, Timestamp};
use punctual_core::id::ReminderId;
use punctual_core::reminder::{Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::store::{Create, NewReminder, Store};
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use punctual_store::sqlite::{Options, SqliteStore};
use rustix::process::Signal;
use serde_json::json;

use crate::common::{Home, NOWHERE, Receiver, Server};

#[tokio::test]
async fn a_signal_ends_it_in_order() {
    let home = Home::new();
    let server = home.serve();
    server.create(json!({ "message": "m", "schedule": { "type": "once", "at": "1h" } })).await;
    assert!(home.data_dir().join("server.json").exists());
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(0), "{log:#?}");
    assert!(log.last().unwrap().contains("\"stopped\""), "{log:#?}");
    assert!(!home.data_dir().join("server.json").exists());
    let nobody = format!("no punctual server at {NOWHERE}; start one with `punctual serve`");
    home.run_alone(&["list"]).fails(1, &[&nobody]);
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::hanging().await;
    let to = json!([{ "channel": "webhook", "address": receiver.url }]);
    server.create(json!({ "message": "m", "schedule": { "type": "once", "at": "0s" }, "to": to })).await;
    receiver.next().await;
    server.terminate();
    server.wait_for_log("again to stop at once");
    let (status, log) = server.stop();
    assert_eq!(status.code(), Some(1), "{log:#?}");
}

#[tokio::test]
async fn a_second_server_on_the_same_file_is_told_who_has_it() {
    let home = Home::new();
    let server = home.serve();
    let pid = format!("pid {}", server.pid());
    home.run(&["serve", "--listen", "127.0.0.1:0"]).fails(1, &["is in use by another punctual server", &pid]);
    home.run(&["migrate"]).fails(1, &["is in use", &pid]);
    assert_eq!(server.get("/readyz").await["status"], "ready", "the first is not disturbed");
    assert!(home.data_dir().join("server.json").exists());
}

#[tokio::test]
async fn a_port_in_use_is_said_with_a_way_out() {
    let home = Home::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    home.run(&["serve", "--listen", &address]).fails(1, &[&address, "the port is in use", "--listen 127.0.0.1:0"]);
}

#[tokio::test]
async fn a_reminder_survives_a_kill_and_arrives() {
    let home = Home::new();
    let mut receiver = Receiver::listen().await;
    let server = home.serve();
    let to = json!([{ "channel": "webhook", "address": receiver.url }]);
    server.create(json!({ "message": "still here", "schedule": { "type": "once", "at": "1s" }, "to": to })).await;
    drop(server);
    let server = home.serve();
    assert_eq!(receiver.next().await.1["data"]["message"], "still here");
    server.stop();
    assert!(receiver.is_quiet(), "once");
}

#[tokio::test]
async fn a_reminder_missed_while_no_server_ran_says_how_late_it_is() {
    let home = Home::new();
    let mut receiver = Receiver::listen().await;
    home.serve().stop();
    let store = SqliteStore::open(&home.data_dir().join("punctual.db"), Options::default()).unwrap();
    let due_at = SystemClock::read() - SignedDuration::from_hours(2);
    let reminder = missed(due_at, &receiver.url);
    let new = NewReminder { reminder, first_due_at: due_at };
    store.create(Create { reminders: vec![new], who: "test".into(), answered: None, now: due_at }).await.unwrap();
    drop(store);

    let _server = home.serve();
    let (_, event) = receiver.next().await;
    assert_eq!(event["data"]["message"], "[Late 2h] water the plants");
    assert!(event["data"]["late_seconds"].as_f64().unwrap() >= 7200.0);
}

fn missed(due_at: Timestamp, url: &str) -> Reminder {
    Reminder {
        id: ReminderId::new(due_at, [1; 10]),
        user: "me".into(),
        name: None,
        message: "water the plants".into(),
        schedule: Schedule::new(Rule::Once { at: due_at }),
        timezone: Zone::utc(),
        priority: Priority::Normal,
        to: vec![Address::new("webhook", url)],
        only: false,
        ack: None,
        escalate: Vec::new(),
        escalates: None,
        event: None,
        snooze_allowed: true,
        retries_max: 3,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::default(),
        created_via: "api".into(),
        original_text: None,
        metadata: Metadata::default(),
        tags: Vec::new(),
        status: ReminderStatus::Active,
        created_at: due_at,
        updated_at: due_at,
    }
}

#[test]
fn a_wrong_setting_is_named_with_what_would_be_right() {
    let home = Home::new();
    let file = home.path().join("punctual.toml");
    let serve = |text: &str| {
        std::fs::write(&file, text).unwrap();
        home.run(&["serve", "--config", file.to_str().unwrap()])
    };
    serve("lisen = '127.0.0.1:0'").fails(2, &["punctual.toml", "`lisen` is no setting", "did you mean `listen`"]);
    serve("listen = 7373").fails(2, &["punctual.toml: listen", "must be a text, not a number", "127.0.0.1:7373"]);
    serve("database = 'postgres://u:hush@host/db?sslmode=maybe'").fails(2, &["sslmode must be", "verify-full"]);
    serve("redis_url = 'http://u:hush@host'").fails(2, &["punctual.toml: redis_url", "write redis://"]);
    serve("timezone = 'Europe/Berln'").fails(2, &["Europe/Berlin"]);
    serve("webhook_secret = 'whsec_!!!'").fails(1, &["webhook_secret"]);
    home.run(&["serve", "--config", "/nowhere/at/all.toml"]).fails(2, &["cannot read the config file"]);
    home.run(&["serve", "--listen", "here"]).fails(2, &["--listen", "`here` is no address", "127.0.0.1:7373"]);
    assert!(!home.data_dir().join("punctual.db").exists(), "nothing was made for a server that cannot run");
    serve("listen = '127.0.0.1:0'\ndefault_channel = 'pigeon'")
        .fails(1, &["default_channel", "pigeon", "console, webhook"]);
}

#[tokio::test]
async fn settings_come_from_the_file() {
    let home = Home::new();
    let file = home.path().join("punctual.toml");
    let database = home.path().join("elsewhere/reminders.db");
    std::fs::write(
        &file,
        format!("database = 'sqlite:{}'\ntimezone = 'Asia/Tokyo'\nretry_max_attempts = 7", database.display()),
    )
    .unwrap();
    let server = home.serve_with(&[("PUNCTUAL_CONFIG", file.to_str().unwrap())]);
    let made = server.create(json!({ "message": "m", "schedule": { "type": "once", "at": "1h" } })).await;
    assert_eq!((made["timezone"].as_str(), made["max_retries"].as_u64()), (Some("Asia/Tokyo"), Some(6)));
    assert!(database.exists());
}

#[test]
fn a_file_that_is_no_database_is_refused_untouched() {
    let home = Home::new();
    let file = home.path().join("notes.txt");
    std::fs::write(&file, "these are my notes, and they are longer than a header").unwrap();
    let url = format!("sqlite:{}", file.display());
    home.run(&["serve", "--listen", "127.0.0.1:0", "--database", &url]).fails(1, &["not a punctual database"]);
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("these are my notes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_write_ahead_log_is_noticed_at_the_start() {
    let home = Home::new();
    let file = |name: &str| home.data_dir().join(name);
    let remind = |message: &str| {
        let to = json!([{ "channel": "console", "address": "" }]);
        json!({ "user": "ann", "message": message, "schedule": { "type": "daily", "time": "08:00" }, "to": to })
    };
    let killed = |server: Server| server.signal(Signal::KILL);
    let server = home.serve();
    server.create(remind("one")).await;
    server.stop();
    assert!(!file("punctual.db-wal").exists(), "an orderly stop copies the log into the file");

    // A kill leaves the log behind, and everything is there.
    let server = home.serve();
    server.create(remind("two")).await;
    killed(server);
    assert!(file("punctual.db-wal").exists());
    let server = home.serve();
    assert_eq!(n_reminders(&server).await, 2);
    // A copy that SQLite makes of an open file needs nothing beside it.
    let copy = Home::new();
    std::fs::create_dir(copy.data_dir()).unwrap();
    let db = rusqlite::Connection::open(file("punctual.db")).unwrap();
    db.execute("VACUUM INTO ?1", [copy.data_dir().join("punctual.db").to_str().unwrap()]).unwrap();
    drop(db);
    assert_eq!(n_reminders(&copy.serve()).await, 2);

    // Another program that opens the file of a killed server copies the log into the file: nothing is lost.
    server.create(remind("three")).await;
    killed(server);
    let db = rusqlite::Connection::open(file("punctual.db")).unwrap();
    db.query_row("SELECT count(*) FROM reminder", [], |row| row.get::<_, i64>(0)).unwrap();
    drop(db);
    assert!(!file("punctual.db-wal").exists());
    let server = home.serve();
    assert_eq!(n_reminders(&server).await, 3);

    // Commits that only the log had are lost with it, and the server says so.
    server.create(remind("four")).await;
    killed(server);
    std::fs::rename(file("punctual.db-wal"), file("kept-wal")).unwrap();
    std::fs::remove_file(file("punctual.db-shm")).unwrap();
    let words = ["punctual.db lacks the last", "punctual.db-wal was lost", "restore a backup", "remove", "db.commits"];
    home.run(&["serve", "--listen", "127.0.0.1:0"]).fails(1, &words);
    home.run(&["migrate"]).fails(1, &words);
    let doctor = home.run_alone(&["doctor"]);
    assert_eq!(doctor.code, Some(1));
    assert!(doctor.out.contains("lacks the last") && doctor.out.contains("db.commits"), "{}", doctor.out);

    // The log is put back, and nothing is lost.
    std::fs::rename(file("kept-wal"), file("punctual.db-wal")).unwrap();
    let server = home.serve();
    assert_eq!(n_reminders(&server).await, 4);
    // Or somebody accepts the loss: of the fourth, too, which the log alone had until now.
    server.create(remind("five")).await;
    killed(server);
    std::fs::remove_file(file("punctual.db-wal")).unwrap();
    std::fs::remove_file(file("punctual.db-shm")).unwrap();
    home.run(&["serve", "--listen", "127.0.0.1:0"]).fails(1, &words);
    std::fs::remove_file(file("punctual.db.commits")).unwrap();
    assert_eq!(n_reminders(&home.serve()).await, 3);
}

async fn n_reminders(server: &Server) -> usize {
    server.get("/v1/reminders?user=ann").await["reminders"].as_array().unwrap().len()
}
