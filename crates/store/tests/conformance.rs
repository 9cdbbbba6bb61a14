//! Every store shows the behaviour every store must show: SQLite with its threads and on the caller's thread, PostgreSQL
//! directly and behind a PgBouncer in transaction mode.

use std::sync::Arc;

use punctual_core::store::Store;
use punctual_store::postgres::{self, PostgresStore};
use punctual_store::sqlite::{Options, SqliteStore};
use punctual_testkit::conformance::exercise;
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
