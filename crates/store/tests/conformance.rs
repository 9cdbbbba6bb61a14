//! SQLite shows the behaviour every store must show: with its threads, and on the caller's thread.

use std::sync::Arc;

use punctual_core::store::Store;
use punctual_store::sqlite::{Options, SqliteStore};
use punctual_testkit::conformance::exercise;

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
