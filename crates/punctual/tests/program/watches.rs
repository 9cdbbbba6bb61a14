//! Standing queries over an application's own table.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use punctual::embed::{Message, Punctual, Receipt, Watch};
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::common::{Home, Kept, Ran, Server, soon, within};

/// An application's database with a table of tasks.
enum App {
    Sqlite(tempfile::TempDir),
    Postgres(Box<Postgres>, String),
}

impl App {
    fn each() -> Vec<Self> {
        let mut all = vec![Self::Sqlite(tempfile::tempdir().unwrap())];
        all.extend(Self::postgres());
        all.iter().for_each(Self::make);
        all
    }

    fn postgres() -> Option<Self> {
        let postgres = Postgres::start()?;
        let database = postgres.new_database(None);
        Some(Self::Postgres(Box::new(postgres), database))
    }

    fn sqlite() -> Self {
        let app = Self::Sqlite(tempfile::tempdir().unwrap());
        app.make();
        app
    }

    fn make(&self) {
        let (key, at) = match self {
            Self::Sqlite(_) => ("integer primary key", "text"),
            Self::Postgres(..) => ("bigint primary key", "timestamptz"),
        };
        self.sql(&format!(
            "create table tasks (id {key}, title text, owner text, due_date {at}, reminder_sent_at {at}, status text)"
        ));
    }

    fn url(&self) -> String {
        match self {
            Self::Sqlite(dir) => format!("sqlite:{}", dir.path().join("app.db").display()),
            Self::Postgres(postgres, database) => postgres.url(database),
        }
    }

    fn db(&self) -> rusqlite::Connection {
        let Self::Sqlite(dir) = self else { panic!("it is no file") };
        let db = rusqlite::Connection::open(dir.path().join("app.db")).unwrap();
        db.busy_timeout(Duration::from_secs(10)).unwrap();
        db
    }

    fn sql(&self, sql: &str) {
        match self {
            Self::Sqlite(_) => self.db().execute_batch(sql).unwrap(),
            Self::Postgres(postgres, database) => drop(postgres.sql(database, sql)),
        }
    }

    fn count(&self, wheres: &str) -> usize {
        let sql = format!("select count(*) from tasks where {wheres}");
        match self {
            Self::Sqlite(_) => self.db().query_row(&sql, [], |row| row.get(0)).unwrap(),
            Self::Postgres(postgres, database) => postgres.sql(database, &sql).parse().unwrap(),
        }
    }

    /// `n` open tasks of ann's that are due within the hour.
    fn fill(&self, n: usize) {
        let due = now() + Duration::from_secs(3000);
        let rows = (1..=n).map(|id| format!("({id}, 'Task {id}', 'ann', '{due}', null, 'open')"));
        self.sql(&format!("insert into tasks values {}", rows.collect::<Vec<_>>().join(", ")));
    }
}

fn now() -> Timestamp {
    SystemClock::start().now()
}

/// Writes a config file with a watch over the tasks, which nothing but a request runs; returns where it is.
fn config(home: &Home, app: &App, more: &str) -> String {
    let path = home.path().join("config.toml");
    let watch = format!(
        "[watches.tasks]\ndatabase = '{}'\ntable = 'tasks'\nkey = 'id'\ndue = 'due_date'\nsent = 'reminder_sent_at'\nuser = 'owner'\n\
         message = '{{title}} is due {{due}}'\nevery = '300d'\nwhere = \"status = 'open'\"\n{more}\n",
        app.url()
    );
    std::fs::write(&path, watch).unwrap();
    path.to_str().unwrap().to_owned()
}

fn serve(home: &Home, kept: &Kept, file: &str) -> Server {
    home.serve_with(&[&kept.env()[..], &[("PUNCTUAL_CONFIG", file)]].concat())
}

async fn run(server: &Server) -> Value {
    let (status, run) = server.call(Method::POST, "/v1/watches/tasks/run", None).await;
    assert_eq!(status, 200, "{run}");
    run
}

/// What became of a run's rows.
fn counts(run: &Value) -> [u64; 5] {
    ["seen", "sent", "skipped", "failed", "retried"].map(|name| run[name].as_u64().unwrap())
}

/// The keys of the rows that were reminded of, in order.
async fn reminded(server: &Server) -> Vec<u64> {
    let mut keys = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.get(&format!("/v1/reminders?limit=500{cursor}")).await;
        for reminder in page["reminders"].as_array().unwrap() {
            assert_eq!(reminder["created_via"], "watch");
            keys.push(reminder["metadata"]["watch"]["key"].as_str().unwrap().parse().unwrap());
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    keys.sort_unstable();
    keys
}

#[tokio::test(flavor = "multi_thread")]
async fn each_due_task_is_reminded_of_once_and_bad_ones_are_named() {
    for index in 0..Kept::everywhere().len() {
        for app in App::each() {
            let (home, kept) = (Home::new(), Kept::everywhere().remove(index));
            app.fill(240);
            // Eight bad ones, two that are closed, one that is too late, one that is too far ahead.
            app.sql("update tasks set owner = null where id % 30 = 0");
            app.sql("update tasks set status = 'closed' where id in (1, 2)");
            app.sql(&format!("update tasks set due_date = '{}' where id = 3", now() - Duration::from_secs(60)));
            app.sql(&format!("update tasks set due_date = '{}' where id = 4", now() + Duration::from_secs(100_000)));
            let server = serve(&home, &kept, &config(&home, &app, "batch = 50"));
            let (status, tested) = server.call(Method::POST, "/v1/watches/tasks/test", None).await;
            assert_eq!((status.as_u16(), &tested["mode"], &tested["n_due"]), (200, &json!("column"), &json!(228)));
            assert_eq!(tested["rows"].as_array().unwrap().len(), 100);
            assert!(tested["rows"][0]["message"].as_str().unwrap().starts_with("Task 5 is due "), "{tested}");
            assert_eq!(tested["bad"].as_array().unwrap().len(), 8);
            assert_eq!(app.count("reminder_sent_at is not null"), 0, "a test writes nothing");

            let first = run(&server).await;
            assert_eq!(counts(&first), [236, 228, 0, 8, 0], "{first}");
            assert_eq!((&first["state"], &first["joined"]), (&json!("done"), &json!(false)));
            let expect: Vec<u64> = (5..=240).filter(|id| id % 30 != 0).collect();
            assert_eq!(reminded(&server).await, expect);
            assert_eq!(app.count("reminder_sent_at is not null"), 228);
            assert_eq!(app.count("reminder_sent_at is not null and owner is null"), 0, "a bad row stays unmarked");

            let shown =
                server.get(&format!("/v1/watches/tasks/runs/{}?limit=5", first["run_id"].as_str().unwrap())).await;
            let bad = &shown["bad"][0];
            assert_eq!((&bad["key"], &bad["field"]), (&json!("30"), &json!("owner")));
            let rest = format!(
                "/v1/watches/tasks/runs/{}?cursor={}",
                first["run_id"].as_str().unwrap(),
                shown["next_cursor"].as_str().unwrap()
            );
            assert_eq!(server.get(&rest).await["bad"].as_array().unwrap().len(), 3);

            let again = run(&server).await;
            assert_eq!(counts(&again), [8, 0, 0, 8, 0], "nobody is reminded twice");
            let long_ago = now() - Duration::from_secs(25 * 3600);
            app.sql(&format!("update tasks set reminder_sent_at = '{long_ago}' where id = 7"));
            app.sql(&format!(
                "update tasks set reminder_sent_at = '{}' where id = 8",
                long_ago + Duration::from_secs(7200)
            ));
            assert_eq!(counts(&run(&server).await)[..2], [9, 1], "after 25 hours again, after 23 not yet");
            assert_eq!(reminded(&server).await.iter().filter(|key| **key == 7).count(), 2);

            let audit = server.get("/v1/audit?kind=watch.run&limit=10").await;
            let entries = audit["entries"].as_array().unwrap();
            assert_eq!(entries.len(), 3);
            let entry = entries.iter().find(|entry| entry["data"]["run"] == first["run_id"]).unwrap();
            assert_eq!(counts(&entry["data"]), [236, 228, 0, 8, 0], "the journal has its counts");
            assert!(entry["data"]["bad"][0].as_str().unwrap().starts_with("30: owner: is empty"), "{entry}");
            let created = server.get("/v1/audit?kind=reminder.created&limit=1").await;
            let data = &created["entries"][0]["data"];
            assert_eq!(
                (&data["watch"], &data["row"], &data["watch_run"]),
                (&json!("tasks"), &json!("5"), &first["run_id"])
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_without_a_key_are_told_once_and_hide_no_others() {
    for app in App::each() {
        app.sql("drop table tasks");
        app.sql(
            "create table tasks (id bigint, title text, owner text, due_date text, reminder_sent_at text, status text)",
        );
        app.fill(5);
        let soon = now() + Duration::from_secs(60);
        for _ in 0..3 {
            app.sql(&format!("insert into tasks values (null, 'Nameless', 'ann', '{soon}', null, 'open')"));
        }
        let home = Home::new();
        let server = serve(&home, &Kept::everywhere()[0], &config(&home, &app, "batch = 3"));
        let (_, tested) = server.call(Method::POST, "/v1/watches/tasks/test", None).await;
        assert_eq!((&tested["n_due"], tested["bad"].as_array().unwrap().len()), (&json!(5), 3), "{tested}");
        let first = run(&server).await;
        assert_eq!(counts(&first), [8, 5, 0, 3, 0], "{first}");
        assert_eq!(reminded(&server).await, [1, 2, 3, 4, 5]);
        assert_eq!(counts(&run(&server).await), [3, 0, 0, 3, 0]);
        let path = format!("/v1/watches/tasks/runs/{}", first["run_id"].as_str().unwrap());
        let shown = server.get(&path).await;
        assert!(shown["bad"][0]["problem"].as_str().unwrap().starts_with("is NULL"), "{shown}");
    }
}

fn ran(home: &Home, server: &Server, args: &[&str]) -> Ran {
    let mut command = home.command(args);
    command.env("PUNCTUAL_URL", &server.url).env("PUNCTUAL_API_KEY", &server.key);
    Ran::of(punctual_testkit::process::output(&mut command))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_lists_tests_and_runs_watches() {
    let (home, app) = (Home::new(), App::sqlite());
    app.fill(3);
    let server = serve(&home, &Kept::everywhere()[0], &config(&home, &app, ""));
    let watches = |args: &[&str]| ran(&home, &server, &[&["watches"], args].concat());
    let listed = watches(&["list"]).ok();
    assert!(listed.contains("tasks") && listed.contains("WATCH"), "{listed}");
    let tested = watches(&["test", "tasks"]).ok();
    assert!(tested.starts_with("3 rows would be reminded of now; nothing was written."), "{tested}");
    assert!(tested.contains("Task 1 is due"), "{tested}");
    let run = watches(&["run", "tasks", "--json"]).json();
    assert_eq!(counts(&run), [3, 3, 0, 0, 0], "{run}");
    assert!(run["run_id"].is_string() && run["seconds"].is_number(), "{run}");
    let shown = watches(&["show", "tasks"]).ok();
    assert!(shown.contains("3 seen, 3 sent, 0 skipped, 0 failed, 0 retried"), "{shown}");
    app.sql("update tasks set reminder_sent_at = null, owner = '' where id = 2");
    let failed = watches(&["run", "tasks"]);
    assert_eq!(failed.code, Some(1), "a bad row is a failure: {}", failed.out);
    app.sql("update tasks set reminder_sent_at = null where id = 3");
    let tested = watches(&["test", "tasks"]).ok();
    assert!(tested.starts_with("1 row would be reminded of now; nothing was written."), "{tested}");
    app.sql("update tasks set reminder_sent_at = (select reminder_sent_at from tasks where id = 1) where id = 3");
    assert!(failed.out.contains("1 seen, 0 sent, 0 skipped, 1 failed"), "{}", failed.out);
    watches(&["run", "nothing"]).fails(1, &["no such watch"]);
    watches(&["forget", "tasks"]).fails(1, &["this server's config file defines it"]);
    drop(server);

    // Without its definition it is remembered, until it is forgotten.
    std::fs::write(home.path().join("config.toml"), "").unwrap();
    let server = serve(&home, &Kept::everywhere()[0], &format!("{}/config.toml", home.path().display()));
    let listed = ran(&home, &server, &["watches"]).ok();
    assert!(listed.contains("not defined here"), "{listed}");
    ran(&home, &server, &["watches", "forget", "tasks"]).ok();
    assert!(ran(&home, &server, &["watches"]).ok().starts_with("No watches."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_asked_for_while_one_is_going_joins_it() {
    let (home, app) = (Home::new(), App::sqlite());
    app.fill(20);
    let server = serve(&home, &Kept::everywhere()[0], &config(&home, &app, ""));
    run(&server).await;
    app.sql("update tasks set reminder_sent_at = null");
    // The application writes for a while, and the run waits for it.
    let db = app.db();
    db.execute_batch("begin immediate; update tasks set title = title where id = 1").unwrap();
    let joins = async {
        until("the run goes", async || server.get("/v1/watches/tasks").await["running"].is_object()).await;
        let ends = async {
            let (status, going) = server.call(Method::POST, "/v1/watches/tasks/run?wait=1", None).await;
            assert_eq!((status.as_u16(), &going["state"]), (202, &json!("running")), "{going}");
            db.execute_batch("commit").unwrap();
            going
        };
        tokio::join!(run(&server), ends)
    };
    let (first, (second, going)) = within(Duration::from_secs(60), async { tokio::join!(run(&server), joins) }).await;
    assert_eq!(first["run_id"], going["run_id"]);
    assert_eq!(first["run_id"], second["run_id"]);
    assert_eq!((&first["joined"], &second["joined"]), (&json!(false), &json!(true)));
    assert_eq!(counts(&first)[..2], [20, 20], "{first}");
    assert_eq!(counts(&second), counts(&first));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_gone_is_tried_again_and_then_the_run_is_given_up() {
    let (home, app) = (Home::new(), App::sqlite());
    app.fill(2);
    let server = serve(&home, &Kept::everywhere()[0], &config(&home, &app, ""));
    let App::Sqlite(dir) = &app else { panic!("it is a file") };
    std::fs::rename(dir.path().join("app.db"), dir.path().join("away.db")).unwrap();
    let given_up = within(Duration::from_secs(60), run(&server)).await;
    assert_eq!((&given_up["state"], counts(&given_up)), (&json!("given_up"), [0, 0, 0, 0, 3]), "{given_up}");
    assert!(given_up["error"].as_str().unwrap().contains("No such file"), "{given_up}");
    assert!(given_up["seconds"].as_f64().unwrap() >= 7.0, "1, 2 and 4 seconds: {given_up}");
    assert!(server.get("/v1/watches").await["watches"][0]["problem"].is_string());
    let file = home.path().join("config.toml");
    server.stop();
    let server = serve(&home, &Kept::everywhere()[0], file.to_str().unwrap());
    let problem = server.get("/v1/watches").await["watches"][0]["problem"].clone();
    assert!(
        problem.as_str().is_some_and(|problem| problem.contains("No such file")),
        "also after a restart: {problem}"
    );
    std::fs::rename(dir.path().join("away.db"), dir.path().join("app.db")).unwrap();
    assert_eq!(counts(&run(&server).await)[..2], [2, 2], "the next one goes on");
    assert!(server.get("/v1/watches").await["watches"][0]["problem"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_without_a_sent_column_has_a_ledger() {
    for app in App::each() {
        let home = Home::new();
        app.fill(5);
        let file = config(&home, &app, "");
        let text = std::fs::read_to_string(&file).unwrap().replace("sent = 'reminder_sent_at'\n", "");
        std::fs::write(&file, text).unwrap();
        let server = serve(&home, &Kept::everywhere()[0], &file);
        assert_eq!(counts(&run(&server).await)[..2], [5, 5]);
        assert_eq!(counts(&run(&server).await)[..2], [0, 0], "the ledger knows them");
        assert_eq!(app.count("reminder_sent_at is not null"), 0, "nothing is written there");
        assert_eq!(server.get("/v1/watches").await["watches"][0]["mode"], "ledger");
        let (status, log) = server.stop();
        assert!(status.success(), "{log:#?}");
        let server = serve(&home, &Kept::everywhere()[0], &file);
        assert_eq!(counts(&run(&server).await)[..2], [0, 0], "after a restart as well");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_of_ones_own_is_watched_and_its_rows_are_reminded_of_once() {
    for index in 0..Kept::everywhere().len() {
        for app in App::each() {
            let (home, kept) = (Home::new(), Kept::everywhere().remove(index));
            app.fill(5);
            app.sql("create table people (task integer, name text)");
            app.sql("insert into people values (1, 'ann'), (2, 'bob'), (3, 'zoe')");
            let path = home.path().join("config.toml");
            let query = "select t.id as task, p.name as who, t.due_date as due, t.title || '!' as title from tasks t \
                         join people p on p.task = t.id where t.id <> 2;";
            let watch = format!(
                "[watches.tasks]\ndatabase = '{}'\nquery = \"{query}\"\nkey = 'task'\ndue = 'due'\nuser = 'who'\n\
                 message = '{{title}}'\nevery = '300d'\nbatch = 1\n",
                app.url()
            );
            std::fs::write(&path, watch).unwrap();
            let server = serve(&home, &kept, path.to_str().unwrap());
            let (_, tested) = server.call(Method::POST, "/v1/watches/tasks/test", None).await;
            assert_eq!((&tested["n_due"], &tested["mode"]), (&json!(2), &json!("ledger")), "{tested}");
            assert_eq!(counts(&run(&server).await), [2, 2, 0, 0, 0]);
            assert_eq!(counts(&run(&server).await), [0, 0, 0, 0, 0], "the ledger knows them");
            assert_eq!(reminded(&server).await, [1, 3]);
            let zoes = server.get("/v1/reminders?user=zoe").await["reminders"][0].clone();
            assert_eq!(zoes["message"], "Task 3!", "{zoes}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_goes_along_with_an_export_and_nobody_is_reminded_twice() {
    let Some(postgres) = Postgres::start() else { return };
    let (from, into, app) = (Home::new(), Home::new(), App::sqlite());
    app.fill(5);
    let of = |home: &Home| {
        let file = config(home, &app, "");
        let text = std::fs::read_to_string(&file).unwrap().replace("sent = 'reminder_sent_at'\n", "");
        std::fs::write(&file, text).unwrap();
        file
    };
    let server = from.serve_with(&[("PUNCTUAL_CONFIG", &of(&from))]);
    assert_eq!(counts(&run(&server).await)[..2], [5, 5]);
    let path = from.path().join("all.jsonl").display().to_string();
    from.run(&["export", "--output", &path]).ok();
    assert!(server.stop().0.success());
    let kinds = std::fs::read_to_string(&path).unwrap();
    assert_eq!(kinds.lines().filter(|line| line.contains("\"line\":\"watch_ledger\"")).count(), 5, "{kinds}");

    let url = postgres.url(&postgres.new_database(None));
    let server = into.serve_with(&[("PUNCTUAL_CONFIG", &of(&into)), ("PUNCTUAL_DATABASE_URL", &url)]);
    let taken = into.run(&["import", &path, "--apply", "--json"]).json();
    assert_eq!((&taken["new"]["watch_ledger"], &taken["new"]["reminder"]), (&json!(5), &json!(5)), "{taken}");
    assert_eq!(counts(&run(&server).await)[..2], [0, 0], "they were reminded of there");
    app.sql(&format!(
        "insert into tasks values (6, 'New', 'ann', '{}', null, 'open')",
        now() + Duration::from_secs(60)
    ));
    assert_eq!(counts(&run(&server).await)[..2], [1, 1]);
    assert_eq!(reminded(&server).await, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_runs_by_its_schedule_and_its_log_says_it() {
    let (home, app) = (Home::new(), App::sqlite());
    app.fill(4);
    let file = config(&home, &app, "");
    let text = std::fs::read_to_string(&file).unwrap().replace("every = '300d'", "every = '1s'");
    std::fs::write(&file, text).unwrap();
    let server = serve(&home, &Kept::everywhere()[0], &file);
    until("every task is reminded of", async || app.count("reminder_sent_at is not null") == 4).await;
    until("the run has ended", async || server.get("/v1/watches/tasks").await["last"]["sent"].is_u64()).await;
    let (_, log) = server.stop();
    let said = |words: &str| log.iter().any(|line| line.contains(words));
    assert!(said("watch run begins") && said("watch run ends") && said("\"seen\":4"), "{log:#?}");
}

/// A worker of the application's own, which does what the design of such workers says: it takes a task by an atomic check-and-set.
/// It takes `n_taken_max` tasks at most, and says when it has taken its first one.
fn other_worker(app: &App, n_taken_max: usize, stop: &AtomicBool, began: std::sync::mpsc::Sender<()>) -> usize {
    let db = app.db();
    let mut n_taken = 0;
    while n_taken < n_taken_max && !stop.load(Ordering::Relaxed) {
        let (now, old) = (now(), now() - Duration::from_secs(86_400));
        let task: Option<i64> = db
            .query_row(
                "select id from tasks where status = 'open' and (reminder_sent_at is null or reminder_sent_at < ?1) order by id desc limit 1",
                [old.to_string()],
                |row| row.get(0),
            )
            .ok();
        let Some(task) = task else { continue };
        let set = db.execute(
            "update tasks set reminder_sent_at = ?1 where id = ?2 and (reminder_sent_at is null or reminder_sent_at < ?3)",
            rusqlite::params![now.to_string(), task, old.to_string()],
        );
        n_taken += set.unwrap();
        if n_taken == 1 {
            let _ = began.send(());
        }
    }
    n_taken
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_the_applications_own_beside_it_shares_the_rows() {
    let (home, app) = (Home::new(), App::sqlite());
    app.sql("pragma journal_mode = wal");
    app.fill(2000);
    let server = serve(&home, &Kept::everywhere()[0], &config(&home, &app, "batch = 100"));
    let stop = AtomicBool::new(false);
    let (began, has_begun) = std::sync::mpsc::channel();
    let (ours, theirs) = std::thread::scope(|scope| {
        // The other worker begins first and leaves half of the tasks, so both have work however busy the machine is.
        let (app, stop_word) = (&app, &stop);
        let theirs = scope.spawn(move || other_worker(app, 1000, stop_word, began));
        has_begun.recv().expect("the other worker takes a task");
        let ours = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(within(Duration::from_secs(60), run(&server)))
        });
        stop.store(true, Ordering::Relaxed);
        (ours, theirs.join().unwrap())
    });
    let again = run(&server).await;
    let sent = ours["sent"].as_u64().unwrap() + again["sent"].as_u64().unwrap();
    assert_eq!(sent + theirs as u64, 2000, "each task is one worker's: {ours}, {theirs} taken beside it");
    assert!(sent > 0 && theirs > 0, "both worked: {sent} and {theirs}");
    let mut keys = reminded(&server).await;
    keys.dedup();
    assert_eq!(keys.len() as u64, sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_its_own_runs_watches_without_the_api() {
    let Some(app) = App::postgres() else { return };
    app.make();
    app.fill(7);
    let App::Postgres(postgres, _) = &app else { return };
    let home = Home::new();
    let file = config(&home, &app, "");
    let text = std::fs::read_to_string(&file).unwrap().replace("every = '300d'", "every = '1s'");
    std::fs::write(&file, text).unwrap();
    let database = postgres.new_database(None);
    let url = postgres.url(&database);
    let mut command = home.command(["watches", "serve", "--database", &url]);
    command.env("PUNCTUAL_CONFIG", &file).env("PUNCTUAL_DEFAULT_CHANNEL", "console").env("PUNCTUAL_LOG", "error");
    let mut worker = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    until("every task is reminded of", async || app.count("reminder_sent_at is not null") == 7).await;
    until("all are delivered", async || {
        postgres.sql(&database, "select count(*) from punctual.occurrence where state = 'delivered'") == "7"
    })
    .await;
    let pid = rustix::process::Pid::from_raw(i32::try_from(worker.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let ended = punctual_testkit::process::ended_within(&mut worker, Duration::from_secs(30)).unwrap();
    assert!(ended.success(), "{ended}");
    home.run_alone(&["watches", "serve"]).fails(1, &["there are no watches"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_bound_to_a_user_sees_no_watches() {
    let (home, app) = (Home::new(), App::sqlite());
    let server = serve(&home, &Kept::everywhere()[0], &config(&home, &app, ""));
    let body = json!({ "name": "ann", "user": "ann", "scopes": ["read", "write"] });
    let key = server.call(Method::POST, "/v1/keys", Some(body)).await.1["key"].as_str().unwrap().to_owned();
    assert_eq!(server.call_with(&key, Method::GET, "/v1/watches", None).await.1["watches"], json!([]));
    for (method, path) in [
        (Method::GET, "/v1/watches/tasks"),
        (Method::POST, "/v1/watches/tasks/run"),
        (Method::POST, "/v1/watches/tasks/test"),
    ] {
        assert_eq!(server.call_with(&key, method, path, None).await.0, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_watches_its_own_table_with_a_file_or_with_postgres() {
    let app = App::sqlite();
    app.fill(3);
    let dir = tempfile::tempdir().unwrap();
    let postgres = Postgres::start();
    let mut places = vec![Punctual::open(dir.path().join("reminders.db"))];
    places.extend(postgres.as_ref().map(|postgres| Punctual::connect(&postgres.url(&postgres.new_database(None)))));
    for place in places {
        app.sql("update tasks set reminder_sent_at = null");
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let watch =
            Watch::over(app.url()).table("tasks").key("id").due("due_date").sent("reminder_sent_at").user("owner");
        let punctual = place
            .channel("room", move |message: Message| {
                let _ = sender.send(message.text.clone());
                async { Ok(Receipt::default()) }
            })
            .watch("tasks", watch.message("{title}"))
            .start()
            .await
            .unwrap();
        let ran = soon(punctual.run_watch("tasks")).await.unwrap();
        assert_eq!((ran.run.counts.seen, ran.run.counts.sent), (3, 3));
        let mut said = Vec::new();
        for _ in 0..3 {
            said.push(soon(receiver.recv()).await.unwrap());
        }
        said.sort();
        assert_eq!(said, ["Task 1", "Task 2", "Task 3"]);
        assert!(punctual.run_watch("nothing").await.is_err());
        punctual.stop().await;
    }
}
