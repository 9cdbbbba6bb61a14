//! An application's own table, in PostgreSQL and in SQLite: the same facts for both, and for every form in which applications keep dates.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::rules::watch::{Form, Found, due_row, mark};
use punctual_core::schedule::{CronExpr, Rule, Schedule};
use punctual_core::source::{Bounds, Mark, Mode, Source, SourceError};
use punctual_core::watch::{Asks, Place, Raw, Rows, SourceRow, Text, Watch};
use punctual_core::zone::Zone;
use punctual_engine::machine;
use punctual_store::watched;
use punctual_testkit::servers::{Postgres, PostgresOptions};

/// A server whose own zone is far from UTC, which must not matter.
fn postgres() -> Option<Arc<Postgres>> {
    let settings = [("timezone", "Pacific/Auckland"), ("datestyle", "German")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Postgres::start_with(PostgresOptions { settings, ..PostgresOptions::default() }).map(Arc::new)
}

/// A database of an application's.
enum App {
    Postgres(Arc<Postgres>, String),
    Sqlite(tempfile::TempDir),
}

impl App {
    /// Each kind that this machine has.
    fn each() -> Vec<Self> {
        let mut all = vec![Self::Sqlite(tempfile::tempdir().unwrap())];
        all.extend(postgres().map(Self::on));
        all
    }

    fn on(postgres: Arc<Postgres>) -> Self {
        let database = postgres.new_database(None);
        Self::Postgres(postgres, database)
    }

    fn url(&self) -> String {
        match self {
            Self::Postgres(postgres, database) => postgres.url(database),
            Self::Sqlite(dir) => format!("sqlite:{}", dir.path().join("app.db").display()),
        }
    }

    /// Runs SQL as the application would; returns rows as lines.
    fn sql(&self, sql: &str) -> String {
        match self {
            Self::Postgres(postgres, database) => postgres.sql(database, sql),
            Self::Sqlite(dir) => {
                let db = rusqlite::Connection::open(dir.path().join("app.db")).unwrap();
                if !sql.trim_start().to_lowercase().starts_with("select") {
                    db.execute_batch(sql).unwrap();
                    return String::new();
                }
                let mut statement = db.prepare(sql).unwrap();
                let n = statement.column_count();
                let text = |value: rusqlite::types::Value| match value {
                    rusqlite::types::Value::Null => String::new(),
                    rusqlite::types::Value::Integer(n) => n.to_string(),
                    rusqlite::types::Value::Real(n) => n.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    rusqlite::types::Value::Blob(bytes) => format!("{bytes:?}"),
                };
                let rows = statement.query_map([], |row| {
                    let fields: Result<Vec<_>, _> = (0..n).map(|index| row.get(index).map(text)).collect();
                    fields.map(|fields| fields.join("|"))
                });
                rows.unwrap().map(Result::unwrap).collect::<Vec<_>>().join("\n")
            }
        }
    }

    fn source(&self, watch: &Watch) -> Arc<dyn Source> {
        watched::open(&self.url(), Arc::new(watch.clone()), &machine()).unwrap()
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-03-02T08:00:00Z")
}

fn bounds() -> Bounds {
    let day = Duration::from_secs(86_400);
    Bounds { from: now(), until: now() + day, sent_before: Some(now() - day) }
}

fn watch() -> Watch {
    let day = Duration::from_secs(86_400);
    Watch {
        name: "tasks".into(),
        database: String::new(),
        rows: Rows::Table("tasks".into()),
        key: "id".into(),
        due: "due_date".into(),
        sent: Some("reminder_sent_at".into()),
        user: Some("owner".into()),
        to: None,
        message: Text::parse("{title}").unwrap(),
        schedule: Schedule::new(Rule::Cron(CronExpr::parse("0 * * * *").unwrap())),
        zone: Zone::utc(),
        window: day,
        again_after: day,
        batch: 1000,
        only: None,
        asks: Asks::default(),
    }
}

/// A table of tasks whose dates have this type.
fn tasks(app: &App, due: &str, sent: &str, key: &str) {
    app.sql(&format!(
        "create table tasks (id {key} primary key, due_date {due}, reminder_sent_at {sent}, owner text, title text)"
    ));
}

fn keys(rows: &[SourceRow]) -> Vec<String> {
    rows.iter().map(|row| row.key.as_ref().map(ToString::to_string).unwrap_or_default()).collect()
}

/// The rows that are to be reminded of.
async fn due(source: &dyn Source, watch: &Watch) -> Vec<SourceRow> {
    let rows = source.read(bounds(), None, 100).await.unwrap();
    rows.into_iter().filter(|row| due_row(watch, row.clone(), None, false, now()).unwrap().is_some()).collect()
}

fn mark_of(row: &SourceRow, form: Form, at: Timestamp) -> Mark {
    let mark = mark(form, &Zone::utc(), row.sent.as_ref(), &row.due, at);
    Mark { key: row.key.clone().unwrap(), due: row.due.clone(), previous: row.sent.clone(), mark }
}

fn form_of(mode: &Mode) -> Form {
    match mode {
        Mode::Column(form) => *form,
        Mode::Ledger(why) => panic!("it marks rows in their column: {why}"),
    }
}

/// The forms in which applications keep dates: PostgreSQL or not, the types of both columns, and how an instant is written.
type Kind = (bool, &'static str, &'static str, fn(&str) -> String);

const KINDS: &[Kind] = &[
    (true, "timestamptz", "timestamptz", |at| format!("'{at}+00'")),
    (true, "timestamp", "timestamp", |at| format!("'{at}'")),
    (true, "timestamp(0)", "timestamp(0)", |at| format!("'{at}'")),
    (true, "timestamptz", "timestamptz(3)", |at| format!("'{at}+00'")),
    (true, "text", "text", |at| format!("'{}Z'", at.replace(' ', "T"))),
    (true, "bigint", "bigint", |at| seconds(at).to_string()),
    (true, "bigint", "bigint", |at| format!("{}000", seconds(at))),
    (true, "double precision", "numeric(20,2)", |at| seconds(at).to_string()),
    (true, "timestamptz", "text", |at| format!("'{at}+00'")),
    (false, "datetime", "datetime", |at| format!("'{at}'")),
    (false, "text", "text", |at| format!("'{}Z'", at.replace(' ', "T"))),
    (false, "timestamp", "timestamp", |at| format!("'{at}.000000'")),
    (false, "text", "text", |at| format!("'{at}+00:00'")),
    (false, "integer", "integer", |at| seconds(at).to_string()),
    (false, "integer", "integer", |at| format!("{}000", seconds(at))),
    (false, "real", "real", |at| format!("{}.5", seconds(at))),
    (false, "", "", |at| format!("'{at}'")),
];

fn seconds(text: &str) -> i64 {
    at(&format!("{text}Z").replace(' ', "T")).as_second()
}

#[tokio::test]
async fn rows_are_found_and_marked_in_every_form_of_dates() {
    let apps = App::each();
    for (is_postgres, due_type, sent_type, write) in KINDS {
        for app in apps.iter().filter(|app| matches!(app, App::Postgres(..)) == *is_postgres) {
            let shown = format!("{due_type} {sent_type} {}", write("2026-03-02 12:00:00"));
            tasks(app, due_type, sent_type, "integer");
            for (id, due, sent) in [
                (1, "2026-03-02 12:00:00", None),
                (2, "2026-03-02 10:00:00", Some("2026-03-01 07:00:00")),
                (3, "2026-03-02 11:00:00", Some("2026-03-01 09:00:00")),
                (4, "2026-03-02 07:59:58", None),
                (5, "2026-03-03 08:00:01", None),
                (6, "2026-03-03 07:59:58", None),
            ] {
                // A column of other type than the due date has its own words.
                let sent =
                    sent.map_or("null".to_owned(), |sent| match *sent_type == "text" && *due_type == "timestamptz" {
                        true => format!("'{sent}+00'"),
                        false => write(sent),
                    });
                app.sql(&format!("insert into tasks values ({id}, {}, {sent}, 'ann', 'Taxes')", write(due)));
            }
            let (watch, source) = (watch(), app.source(&watch()));
            let form = form_of(&source.check().await.unwrap().mode);
            let rows = due(&*source, &watch).await;
            assert_eq!(keys(&rows), ["2", "1", "6"], "{shown}: in the order of their due dates");
            assert_eq!(rows[0].values, [Some("ann".into()), Some("Taxes".into())]);
            let run = at("2026-03-02T08:00:00.123456Z");
            let marks: Vec<Mark> = rows.iter().map(|row| mark_of(row, form, run)).collect();
            assert_eq!(source.set_sent(&marks).await.unwrap(), [true, true, true], "{shown}");
            assert_eq!(source.set_sent(&marks).await.unwrap(), [false, false, false], "{shown}: somebody did it");
            assert_eq!(keys(&due(&*source, &watch).await), Vec::<String>::new(), "{shown}: they are reminded of");
            // What is there is recognised, whatever the column made of it.
            let found = source.sent_of(&[marks[0].key.clone(), Raw::Text("99".into())]).await.unwrap();
            let Found::Sent(Some(sent)) = &found[0] else { panic!("{shown}: {found:?}") };
            let read = |raw: &Raw| punctual_core::rules::instant::read(&raw.to_string(), &Zone::utc()).unwrap();
            assert_eq!(read(sent), read(&marks[0].mark), "{shown}");
            assert_eq!(found[1], Found::Gone);
            app.sql("drop table tasks");
        }
    }
}

#[tokio::test]
async fn pages_follow_each_other_where_due_dates_are_equal_and_keys_are_of_any_type() {
    for app in App::each() {
        let uuid = |n: i32| format!("'00000000-0000-0000-0000-{n:012}'");
        let (words, uuids) =
            (("text", (|n| format!("'k{n:02}'")) as fn(i32) -> String), ("uuid", uuid as fn(i32) -> String));
        for (kind, key) in [("integer", (|n| n.to_string()) as fn(i32) -> String), words, uuids] {
            tasks(&app, if matches!(app, App::Postgres(..)) { "timestamptz" } else { "text" }, "text", kind);
            for n in 1..=25 {
                let due = format!("2026-03-02 {:02}:00:00+00", 9 + n / 10);
                app.sql(&format!("insert into tasks values ({}, '{due}', null, 'ann', 'T')", key(n)));
            }
            let source = app.source(&watch());
            source.check().await.unwrap();
            let (mut place, mut seen) = (None, Vec::new());
            loop {
                let rows = source.read(bounds(), place.as_ref(), 4).await.unwrap();
                seen.extend(keys(&rows));
                let Some(last) = rows.last().filter(|_| rows.len() == 4) else { break };
                place = Some(Place { due: last.due.clone(), key: last.key.clone().unwrap() });
            }
            let expect: Vec<String> = (1..=25).map(|n| key(n).trim_matches('\'').to_owned()).collect();
            assert_eq!(seen, expect, "{kind}");
            // Another node goes on where this one was.
            let other = app.source(&watch());
            let place = Place { due: place.clone().unwrap().due, key: place.unwrap().key };
            assert_eq!(keys(&other.read(bounds(), Some(&place), 4).await.unwrap()), expect[24..], "{kind}");
            app.sql("drop table tasks");
        }
    }
}

#[tokio::test]
async fn rows_without_a_key_are_apart_and_keep_no_others_from_being_read() {
    for app in App::each() {
        app.sql("create table tasks (id integer, due_date text, reminder_sent_at text, owner text, title text)");
        for (key, hour) in [("null", 9), ("null", 9), ("7", 9), ("null", 10), ("8", 10), ("null", 11), ("9", 12)] {
            app.sql(&format!("insert into tasks values ({key}, '2026-03-02T{hour:02}:00:00Z', null, 'ann', 'T')"));
        }
        app.sql("insert into tasks values (null, '2020-01-01T00:00:00Z', null, 'ann', 'past')");
        let of_query = Watch { rows: Rows::Query("select * from tasks".into()), ..watch() };
        for watch in [watch(), of_query] {
            let source = app.source(&watch);
            source.check().await.unwrap();
            for _ in 0..2 {
                assert_eq!(keys(&source.nameless(bounds(), 9).await.unwrap()), ["", "", "", ""]);
                assert_eq!(source.nameless(bounds(), 3).await.unwrap().len(), 3);
                let first = source.read(bounds(), None, 2).await.unwrap();
                assert_eq!(keys(&first), ["7", "8"]);
                let place = Place { due: first[1].due.clone(), key: first[1].key.clone().unwrap() };
                assert_eq!(keys(&source.read(bounds(), Some(&place), 2).await.unwrap()), ["9"]);
            }
        }
        app.sql("drop table tasks");
        tasks(&app, "text", "text", "integer");
        assert_eq!(app.source(&watch()).nameless(bounds(), 9).await.unwrap(), []);
        app.sql("drop table tasks");
    }
}

#[tokio::test]
async fn a_row_that_the_application_has_changed_meanwhile_is_not_marked() {
    for app in App::each() {
        tasks(&app, "text", "text", "integer");
        for n in 1..=4 {
            app.sql(&format!("insert into tasks values ({n}, '2026-03-02T12:00:00Z', null, 'ann', 'T')"));
        }
        let source = app.source(&watch());
        let form = form_of(&source.check().await.unwrap().mode);
        let rows = due(&*source, &watch()).await;
        let marks: Vec<Mark> = rows.iter().map(|row| mark_of(row, form, now())).collect();
        app.sql("update tasks set reminder_sent_at = '2026-03-02T07:59:59Z' where id = 1");
        app.sql("update tasks set due_date = '2026-03-02T13:00:00Z' where id = 2");
        app.sql("delete from tasks where id = 3");
        assert_eq!(source.set_sent(&marks).await.unwrap(), [false, false, false, true]);
        let keys: Vec<Raw> = marks.iter().map(|mark| mark.key.clone()).collect();
        let found = source.sent_of(&keys).await.unwrap();
        assert_eq!(found[0], Found::Sent(Some(Raw::Text("2026-03-02T07:59:59Z".into()))));
        assert_eq!((&found[1], &found[2]), (&Found::Sent(None), &Found::Gone));
    }
}

#[tokio::test]
async fn a_row_that_a_trigger_refuses_stops_its_statement_and_no_other_row() {
    for app in App::each() {
        tasks(&app, "text", "text", "integer");
        for n in 1..=3 {
            app.sql(&format!("insert into tasks values ({n}, '2026-03-02T12:00:00Z', null, 'ann', 'T')"));
        }
        match &app {
            App::Postgres(..) => app.sql(
                "create function no() returns trigger language plpgsql as $$ begin \
                 if new.id = 2 then raise 'task 2 is closed'; end if; return new; end $$; \
                 create trigger no before update on tasks for each row execute function no()",
            ),
            App::Sqlite(_) => app.sql(
                "create trigger no before update on tasks when new.id = 2 begin select raise(abort, 'task 2 is closed'); end",
            ),
        };
        let source = app.source(&watch());
        let form = form_of(&source.check().await.unwrap().mode);
        let rows = due(&*source, &watch()).await;
        let marks: Vec<Mark> = rows.iter().map(|row| mark_of(row, form, now())).collect();
        let Err(SourceError::Refused(why)) = source.set_sent(&marks).await else { panic!("it is refused") };
        assert!(why.contains("task 2 is closed"), "{why}");
        assert_eq!(
            app.sql("select count(*) from tasks where reminder_sent_at is not null"),
            "0",
            "all of it was undone"
        );
        assert_eq!(source.set_sent(&marks[..1]).await.unwrap(), [true]);
        assert!(matches!(source.set_sent(&marks[1..2]).await, Err(SourceError::Refused(_))));
        assert_eq!(source.set_sent(&marks[2..]).await.unwrap(), [true]);
    }
}

async fn mode(app: &App, watch: &Watch) -> Mode {
    app.source(watch).check().await.unwrap().mode
}

#[tokio::test]
async fn a_table_that_cannot_be_marked_has_a_ledger_and_says_why() {
    for app in App::each() {
        tasks(&app, "text", "text", "integer");
        app.sql("insert into tasks values (1, '2026-03-02T12:00:00Z', null, 'ann', 'T')");
        assert_eq!(mode(&app, &watch()).await.as_str(), "column");
        let ledger = async |watch: &Watch, words: &str| match mode(&app, watch).await {
            Mode::Ledger(why) => assert!(why.contains(words), "{why}"),
            Mode::Column(_) => panic!("{words}"),
        };
        ledger(&Watch { sent: None, ..watch() }, "names no `sent`").await;
        let query = Rows::Query("select * from tasks where title <> 'x';".into());
        let of_query = Watch { rows: query, ..watch() };
        ledger(&of_query, "a query cannot be written").await;
        let rows = app.source(&of_query).read(Bounds { sent_before: None, ..bounds() }, None, 9).await.unwrap();
        assert_eq!(keys(&rows), ["1"]);
        // A trigger that sets its own instant.
        match &app {
            App::Postgres(..) => app.sql(
                "create function own() returns trigger language plpgsql as $$ begin \
                 new.reminder_sent_at = '2020-01-01T00:00:00Z'; return new; end $$; \
                 create trigger own before update on tasks for each row execute function own()",
            ),
            App::Sqlite(_) => app.sql(
                "create trigger own after update of reminder_sent_at on tasks begin \
                 update tasks set reminder_sent_at = '2020-01-01T00:00:00Z' where id = new.id; end",
            ),
        };
        ledger(&watch(), "a trigger changes").await;
        assert_eq!(app.sql("select count(*) from tasks where reminder_sent_at is null"), "1", "a check leaves nothing");
    }
}

#[tokio::test]
async fn a_role_or_a_file_that_may_only_be_read_has_a_ledger() {
    if let Some(app) = postgres().map(App::on) {
        tasks(&app, "timestamptz", "timestamptz", "integer");
        app.sql("insert into tasks values (1, '2026-03-02T12:00:00Z', null, 'ann', 'T')");
        app.sql("drop role if exists reader; create role reader login; grant select on tasks to reader");
        let url = app.url().replace("punctual@", "reader@");
        let source = watched::open(&url, Arc::new(watch()), &machine()).unwrap();
        let Mode::Ledger(why) = source.check().await.unwrap().mode else { panic!("it may not be written") };
        assert_eq!(why, "this role may not write `reminder_sent_at`");
        assert_eq!(keys(&source.read(bounds(), None, 9).await.unwrap()), ["1"]);
        app.sql("create table dates (id int, due_date timestamptz, reminder_sent_at date, owner text, title text)");
        let dates = Watch { rows: Rows::Table("dates".into()), ..watch() };
        let Mode::Ledger(why) = mode(&app, &dates).await else { panic!("a day holds no instant") };
        assert!(why.contains("cannot hold an instant"), "{why}");
    }
}

#[tokio::test]
async fn names_are_taken_as_they_are_written_and_what_is_missing_is_named() {
    for app in App::each() {
        app.sql(
            "create table \"My Tasks\" (\"Id\" integer, \"due\" text, \"Sent At\" text, \"Who\" text, \"order\" text)",
        );
        app.sql("insert into \"My Tasks\" values (1, '2026-03-02T12:00:00Z', null, 'ann', 'O\"x')");
        let odd = Watch {
            rows: Rows::Table("My Tasks".into()),
            key: "Id".into(),
            due: "due".into(),
            sent: Some("Sent At".into()),
            user: Some("Who".into()),
            message: Text::parse("{order} {due}").unwrap(),
            only: Some("\"order\" <> 'x'".into()),
            ..watch()
        };
        let source = app.source(&odd);
        let form = form_of(&source.check().await.unwrap().mode);
        let rows = source.read(bounds(), None, 9).await.unwrap();
        assert_eq!(rows[0].values, [Some("ann".into()), Some("O\"x".into())]);
        assert_eq!(source.set_sent(&[mark_of(&rows[0], form, now())]).await.unwrap(), [true]);

        let refused = async |watch: Watch| match app.source(&watch).check().await {
            Err(SourceError::Refused(why)) => why,
            other => panic!("it is refused: {other:?}"),
        };
        let why = refused(Watch { due: "when".into(), ..odd.clone() }).await;
        assert!(why.contains("has no column `when`; there are Id, due, Sent At, Who, order"), "{why}");
        let why = refused(Watch { message: Text::parse("{titel}").unwrap(), ..odd.clone() }).await;
        assert!(why.contains("`titel`"), "{why}");
        let why = refused(Watch { rows: Rows::Table("nothing".into()), ..odd }).await;
        assert!(why.contains("nothing"), "{why}");
    }
}

#[tokio::test]
async fn sql_of_the_applications_own_may_end_with_a_comment() {
    for app in App::each() {
        tasks(&app, "timestamptz", "timestamptz", "integer");
        app.sql("insert into tasks values (1, '2026-03-02 12:00:00+00', null, 'ann', 'Taxes')");
        let of_table = Watch { only: Some("owner = 'ann' -- hers".into()), ..watch() };
        let query = Rows::Query("select * from tasks -- all of them".into());
        for watch in [Watch { rows: query, ..of_table.clone() }, of_table] {
            let source = app.source(&watch);
            source.check().await.unwrap();
            assert_eq!(keys(&due(&*source, &watch).await), ["1"], "{:?}", watch.rows);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_cannot_be_looked_up_is_refused_with_its_statement() {
    let Some(postgres) = postgres() else { return };
    let app = App::on(postgres);
    tasks(&app, "timestamptz", "timestamptz", "integer");
    app.sql("alter table tasks drop constraint tasks_pkey");
    app.sql("insert into tasks values (1, '2026-03-02 12:00:00+00', null, 'ann', 'Taxes'), (2, '2026-03-02 12:00:00+00', null, 'ann', 'x'), \
             (2, '2026-03-02 12:00:00+00', null, 'ann', 'y')");
    let source = app.source(&watch());
    source.check().await.unwrap();
    let text = |key: &str| Raw::Text(key.into());
    for key in ["2", "a word"] {
        let refused = source.sent_of(&[text("1"), text(key)]).await;
        assert!(matches!(refused, Err(SourceError::Refused(_))), "{key}: {refused:?}");
    }
    assert_eq!(source.sent_of(&[text("1")]).await, Ok(vec![Found::Sent(None)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_there_is_lost_and_not_refused() {
    let watch = Arc::new(watch());
    for url in ["sqlite:/nowhere/app.db", "postgres://app@127.0.0.1:1/app"] {
        let source = watched::open(url, watch.clone(), &machine()).unwrap();
        assert!(matches!(source.check().await, Err(SourceError::Lost(_))), "{url}");
    }
    assert!(watched::open("mysql://x", watch, &machine()).is_err());
    assert_eq!(watched::shown("postgres://app:hush@db/app").unwrap(), "postgres://app@db:5432/app");
}

#[tokio::test]
async fn a_lock_of_the_applications_is_waited_for_and_then_said() {
    let Some(app) = postgres().map(App::on) else { return };
    tasks(&app, "timestamptz", "timestamptz", "integer");
    app.sql("insert into tasks values (1, '2026-03-02T12:00:00Z', null, 'ann', 'T')");
    let source = app.source(&watch());
    let form = form_of(&source.check().await.unwrap().mode);
    let rows = source.read(bounds(), None, 9).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&app.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("begin; update tasks set title = 'mine'").await.unwrap();
    let marks = [mark_of(&rows[0], form, now())];
    assert!(matches!(source.set_sent(&marks).await, Err(SourceError::Busy(_))));
    client.batch_execute("rollback").await.unwrap();
    assert_eq!(source.set_sent(&marks).await.unwrap(), [true]);
}
