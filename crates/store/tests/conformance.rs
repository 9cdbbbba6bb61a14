//! Every store shows the behaviour every store must show: SQLite with its threads and on the caller's thread, PostgreSQL
//! directly and behind a PgBouncer in transaction mode.

use std::sync::Arc;

use punctual_core::store::Store;
use punctual_store::postgres::{self, PostgresStore};
use punctual_store::sqlite::{Options, SqliteStore};
use punctual_testkit::conformance::{exercise, exercise_poison};
use punctual_testkit::memory::MemoryStore;
use punctual_testkit::servers::{PgBouncer, Postgres};

async fn run(options: Options) {
    let folder = tempfile::tempdir().expect("a place for temporary files");
    let mut n_made = 0;
    exercise(|| {
        n_made += 1;
        let path = folder.path().join(format!("{n_made}.db"));
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, options.clone()).expect("a new file opens"));
        async { store }
    })
    .await;
}

#[tokio::test]
async fn with_threads() {
    run(Options::default()).await;
}

#[tokio::test]
async fn on_the_callers_thread() {
    run(Options { inline: true, durable: false }).await;
}

#[tokio::test]
async fn in_memory() {
    exercise(|| async { MemoryStore::empty() }).await;
}

/// Shows it on databases that are copies of one, each opened at the URL that `url_of` gives it.
async fn run_postgres(server: &Postgres, url_of: impl Fn(&str) -> String) {
    let template = server.new_database(None);
    postgres::migrate(&server.url(&template)).await.expect("a new database can be used");
    exercise(|| {
        let url = url_of(&server.new_database(Some(&template)));
        async move {
            let store: Arc<dyn Store> = Arc::new(PostgresStore::open(&url).await.expect("a copy can be used"));
            store
        }
    })
    .await;
}

// Several threads, so that a connection can close while a test waits for a copy of its database.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_directly() {
    let Some(server) = Postgres::start() else { return };
    run_postgres(&server, |database| server.url(database)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_behind_pgbouncer() {
    let Some(server) = Postgres::start() else { return };
    let Some(bouncer) = PgBouncer::start(&server) else { return };
    run_postgres(&server, |database| bouncer.url(database)).await;
}

#[tokio::test]
async fn what_cannot_be_read_stops_nobody_on_sqlite() {
    let folder = tempfile::tempdir().expect("a place for temporary files");
    let path = folder.path().join("p.db");
    let store = SqliteStore::open(&path, Options::default()).expect("a new file opens");
    exercise_poison(Arc::new(store), |table, set| {
        let db = rusqlite::Connection::open(&path).expect("the file can be opened twice");
        let sql = format!("UPDATE {table} SET {}", set.replace("{reminder}", "reminder"));
        assert!(db.execute(&sql, []).expect("the table is there") > 0, "{sql}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_stops_nobody_on_postgres() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = PostgresStore::open(&server.url(&database)).await.expect("a new database can be used");
    exercise_poison(Arc::new(store), |table, set| {
        let table = if table == "user" { "app_user" } else { table };
        server
            .sql(&database, &format!("update punctual.{table} set {}", set.replace("{reminder}", "punctual.reminder")));
    })
    .await;
}
