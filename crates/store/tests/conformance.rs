//! Every store shows the behaviour every store must show, one rule a test: the one in memory, SQLite with its threads and on the
//! caller's thread, PostgreSQL directly and behind a PgBouncer in transaction mode.
//!
//! The tests are made from the list of rules (libtest-mimic instead of `#[test]`), so that a rule is written down once and a store
//! is one line here. All share one PostgreSQL, which ends with this program; each has a database of its own.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use libtest_mimic::{Arguments, Completion, Trial};
use punctual_core::clock::BoxFuture;
use punctual_core::store::Store;
use punctual_engine::machine;
use punctual_store::postgres::{self, PostgresStore};
use punctual_store::sqlite::{Options, SqliteStore};
use punctual_testkit::clock::ManualClock;
use punctual_testkit::conformance::{Rule, Sql, TableRule, every_rule, every_rule_on_tables};
use punctual_testkit::memory::MemoryStore;
use punctual_testkit::servers::{PgBouncer, Postgres};

fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    if args.test_threads.is_none() {
        args.test_threads = std::env::var("RUST_TEST_THREADS").ok().and_then(|n| n.parse().ok());
    }
    let folder = tempfile::tempdir().expect("a place for temporary files");
    let servers = Shared::default();
    let mut trials = each_rule_on_sqlite_tables();
    trials.extend(each_rule_on_postgres_tables(&servers));
    let mut on = |store: &str, open: Open| trials.extend(each_rule(store, &open));

    on("memory", Arc::new(|| Some(Box::pin(in_memory()))));
    on("sqlite", in_file(folder.path(), "threads", Options::default()));
    on("sqlite_on_the_callers_thread", in_file(folder.path(), "inline", Options { inline: true, durable: false }));
    on("postgres", in_database(&servers, |servers, database| servers.postgres.url(database)));
    on("postgres_behind_pgbouncer", in_database(&servers, |servers, database| servers.pgbouncer.url(database)));

    let needs_servers = |trial: &Trial| trial.name().starts_with("postgres") && !args.is_filtered_out(trial);
    if !args.list && trials.iter().any(needs_servers) {
        // In the thread that lives longest: a server ends with the thread that started it.
        let _ = servers.set(Servers::start());
    }
    libtest_mimic::run(&args, trials).exit_code()
}

/// Opens a new, empty store; `None` where its server is not installed and a test may be skipped for that.
type Open = Arc<dyn Fn() -> Option<BoxFuture<Arc<dyn Store>>> + Send + Sync>;

/// Every rule as a test of its own.
fn each_rule(store: &str, open: &Open) -> Vec<Trial> {
    let trial = |(name, rule): (String, Rule)| {
        let open = Arc::clone(open);
        test(format!("{store}::{name}"), move || {
            let store = open()?;
            Some(Box::pin(async move { rule.show(store.await).await }))
        })
    };
    every_rule().map(trial).collect()
}

/// A test in a runtime of its own.
fn test(name: String, run: impl FnOnce() -> Option<BoxFuture<()>> + Send + 'static) -> Trial {
    Trial::ignorable_test(name, move || {
        let Some(test) = run() else { return Ok(Completion::ignored_with("its server is not installed")) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        runtime.block_on(test);
        Ok(Completion::Completed)
    })
}

async fn in_memory() -> Arc<dyn Store> {
    // Its clock shows an instant after all that the rules do.
    let after_all = Timestamp::from_second(4_000_000_000).expect("a year that jiff knows");
    Arc::new(MemoryStore::new(Arc::new(ManualClock::at(after_all))))
}

fn in_file(folder: &Path, name: &str, options: Options) -> Open {
    let (folder, name) = (folder.to_owned(), name.to_owned());
    let n_made = std::sync::atomic::AtomicUsize::new(0);
    Arc::new(move || {
        let number = n_made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let store = SqliteStore::open(&folder.join(format!("{name}-{number}.db")), options.clone());
        let store: Arc<dyn Store> = Arc::new(store.expect("a new file opens"));
        Some(Box::pin(async { store }))
    })
}

fn in_database(servers: &Shared, url_of: fn(&Servers, &str) -> String) -> Open {
    let servers = Arc::clone(servers);
    Arc::new(move || {
        let servers = running(&servers)?;
        let url = url_of(servers, &servers.postgres.new_database(Some(&servers.template)));
        Some(Box::pin(async move {
            let store: Arc<dyn Store> =
                Arc::new(PostgresStore::open(&url, &machine()).await.expect("a copy can be used"));
            store
        }))
    })
}

/// What all tests on PostgreSQL share.
struct Servers {
    // It ends before the server that it stands before.
    pgbouncer: PgBouncer,
    postgres: Postgres,
    /// A database with punctual's tables and nothing in them. Copying it is faster than making them.
    template: String,
}

/// Empty until a test needs them; `None` where they are not installed and tests may be skipped for that.
type Shared = Arc<OnceLock<Option<Servers>>>;

fn running(servers: &Shared) -> Option<&Servers> {
    servers.get().expect("main has looked for them").as_ref()
}

impl Servers {
    fn start() -> Option<Self> {
        let postgres = Postgres::start()?;
        let pgbouncer = PgBouncer::start(&postgres)?;
        let template = postgres.new_database(None);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        runtime.block_on(postgres::migrate(&postgres.url(&template), &machine())).expect("a new database can be used");
        Some(Self { pgbouncer, postgres, template })
    }
}

/// Every rule that needs the tables, as a test of its own, on SQLite.
fn each_rule_on_sqlite_tables() -> Vec<Trial> {
    let trial = |(name, rule): (String, TableRule)| {
        test(format!("sqlite::{name}"), move || {
            let folder = tempfile::tempdir().expect("a place for temporary files");
            let path = folder.path().join("tables.db");
            let store = SqliteStore::open(&path, Options::default()).expect("a new file opens");
            let sql: Sql = Arc::new(move |sql| {
                let db = rusqlite::Connection::open(&path).expect("the file can be opened twice");
                let mut statement = db.prepare(&named(sql, "user", "")).expect("SQLite reads it");
                let rows = statement.query_map([], |row| row.get::<_, i64>(0)).expect("the tables are there");
                rows.map(|row| row.expect("a number").to_string()).collect()
            });
            Some(Box::pin(async move {
                let _folder = folder;
                rule.show(Arc::new(store), sql).await;
            }))
        })
    };
    every_rule_on_tables().map(trial).collect()
}

/// The same on PostgreSQL.
fn each_rule_on_postgres_tables(servers: &Shared) -> Vec<Trial> {
    let trial = |(name, rule): (String, TableRule)| {
        let servers = Arc::clone(servers);
        test(format!("postgres::{name}"), move || {
            let Servers { postgres, template, .. } = running(&servers)?;
            let database = postgres.new_database(Some(template));
            let url = postgres.url(&database);
            let servers = Arc::clone(&servers);
            let sql: Sql = Arc::new(move |sql| {
                let server = &running(&servers).expect("it has just made a database").postgres;
                let rows = server.sql(&database, &named(sql, "app_user", "punctual."));
                rows.lines().map(str::to_owned).collect()
            });
            Some(Box::pin(async move {
                let store = PostgresStore::open(&url, &machine()).await.expect("a copy can be used");
                rule.show(Arc::new(store), sql).await;
            }))
        })
    };
    every_rule_on_tables().map(trial).collect()
}

/// A statement with the names that a store has for its tables.
fn named(sql: &str, user: &str, schema: &str) -> String {
    let mut named = sql.replace("{user}", &format!("{schema}{user}"));
    for table in ["reminder", "occurrence", "response"] {
        named = named.replace(&format!("{{{table}}}"), &format!("{schema}{table}"));
    }
    named
}
