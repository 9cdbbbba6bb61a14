//! The journal on PostgreSQL: entries get their place after their commit, whoever writes and whoever places.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::change::Change;
use punctual_core::journal::Placed;
use punctual_core::store::{By, Create, JournalQuery, NewReminder, Start, Store};
use punctual_engine::machine;
use punctual_store::postgres::PostgresStore;
use punctual_testkit::sample::{instant, once};
use punctual_testkit::servers::{Postgres, PostgresOptions};
use tokio_postgres::{Client, NoTls};

const NOW: &str = "2026-05-04T08:00:00Z";

fn now() -> Timestamp {
    instant(NOW)
}

async fn open(server: &Postgres, database: &str) -> PostgresStore {
    PostgresStore::open(&server.url(database), &machine()).await.expect("the database can be used")
}

async fn connect(server: &Postgres, database: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(&server.url(database), NoTls).await.expect("the server is there");
    tokio::spawn(connection);
    client
}

/// A reminder for `user`, made by another program in its own transaction.
fn remind(user: &str) -> String {
    format!("select punctual.remind('{user}', 'x', at => now() + interval '1 day')")
}

/// Places what is committed, and reads it all.
async fn all(store: &PostgresStore) -> Vec<Placed> {
    store.place().await.expect("the store works");
    store.journal(JournalQuery::new(Start::OLDEST, 100_000)).await.expect("the store works").entries
}

/// Whose entries these are, in their order.
fn users(entries: &[Placed]) -> Vec<&str> {
    entries.iter().map(|entry| entry.user.as_deref().unwrap_or_default()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_delays_its_own_entries_and_no_others() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server, &database).await;
    let (a, b, c) =
        (connect(&server, &database).await, connect(&server, &database).await, connect(&server, &database).await);
    // Three begin in this order, and end in another.
    a.batch_execute(&format!("begin; {}", remind("a"))).await.unwrap();
    b.batch_execute(&format!("begin; {}", remind("b"))).await.unwrap();
    c.batch_execute(&format!("begin; {}", remind("c"))).await.unwrap();
    assert!(all(&store).await.is_empty());
    for number in 0..50 {
        let user = format!("u{number}");
        a.batch_execute("savepoint s; release s").await.unwrap();
        connect(&server, &database).await.batch_execute(&remind(&user)).await.unwrap();
        assert_eq!(users(&all(&store).await).last(), Some(&user.as_str()), "it waits for nobody");
    }
    c.batch_execute("commit").await.unwrap();
    assert_eq!(users(&all(&store).await)[50..], ["c"]);
    b.batch_execute("rollback").await.unwrap();
    connect(&server, &database).await.batch_execute(&remind("d")).await.unwrap();
    assert_eq!(users(&all(&store).await)[50..], ["c", "d"]);
    a.batch_execute("commit").await.unwrap();
    let entries = all(&store).await;
    assert_eq!(users(&entries)[50..], ["c", "d", "a"], "in the order of their commits");
    let positions: Vec<i64> = entries.iter().map(|entry| entry.position).collect();
    assert_eq!(positions, (1..=53).collect::<Vec<_>>(), "what was rolled back leaves no hole");
}

#[tokio::test(flavor = "multi_thread")]
async fn subtransactions_and_prepared_ones_count_when_they_are_committed() {
    let settings = vec![("max_prepared_transactions".to_owned(), "5".to_owned())];
    let Some(server) = Postgres::start_with(PostgresOptions { settings, ..PostgresOptions::default() }) else { return };
    let database = server.new_database(None);
    let store = open(&server, &database).await;
    let client = connect(&server, &database).await;
    client.batch_execute(&format!("begin; savepoint s; {}; release s; {}", remind("a"), remind("b"))).await.unwrap();
    client.batch_execute(&format!("savepoint t; {}; rollback to t", remind("gone"))).await.unwrap();
    assert!(all(&store).await.is_empty());
    client.batch_execute("prepare transaction 'p'").await.unwrap();
    connect(&server, &database).await.batch_execute(&remind("c")).await.unwrap();
    assert_eq!(users(&all(&store).await), ["c"]);
    client.batch_execute("commit prepared 'p'").await.unwrap();
    assert_eq!(users(&all(&store).await), ["c", "a", "b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_resume_anywhere_under_load_read_the_same_once() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = Arc::new(open(&server, &database).await);
    let url = server.url(&database);
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let url = url.clone();
        writers.spawn(async move {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            tokio::spawn(connection);
            for number in 0..60 {
                // Some stay open a while after they have written, some are undone.
                let end = if (number + writer) % 7 == 0 { "rollback" } else { "commit" };
                let rest = (number * 31 + writer * 17) % 20;
                let user = format!("w{writer}-{number}");
                let work = format!("begin; {}; select pg_sleep({rest} * 0.001); {end}", remind(&user));
                client.batch_execute(&work).await.unwrap();
            }
        });
    }
    let mut placers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let store = open(&server, &database).await;
        placers.spawn(async move {
            loop {
                store.place().await.expect("a pass works beside others");
                tokio::task::yield_now().await;
            }
        });
    }
    let n_written = |writer: i32| (0..60).filter(|number| (number + writer) % 7 != 0).count();
    let n_expected: usize = (0..8).map(n_written).sum();
    let mut readers = tokio::task::JoinSet::new();
    for reader in 0..8_usize {
        let store = store.clone();
        readers.spawn(async move {
            let (mut read, mut after): (Vec<Placed>, i64) = (Vec::new(), 0);
            while read.len() < n_expected {
                let limit = 1 + (read.len() * 7 + reader) % 40;
                let page = store.journal(JournalQuery::new(Start::After(after), limit)).await.unwrap();
                after = page.reached;
                read.extend(page.entries);
                tokio::task::yield_now().await;
            }
            read
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let lists = readers.join_all().await;
    placers.abort_all();
    let everything = all(&store).await;
    assert_eq!(everything.len(), n_expected);
    let different: BTreeSet<&str> = users(&everything).into_iter().collect();
    assert_eq!(different.len(), n_expected, "each once");
    for list in lists {
        assert!(list == everything, "a reader read something else");
    }
    // What one writer committed before it began the next stands before it.
    for writer in 0..8 {
        let prefix = format!("w{writer}-");
        let numbers = users(&everything).into_iter().filter_map(|user| user.strip_prefix(&prefix)?.parse::<i32>().ok());
        assert!(numbers.is_sorted(), "writer {writer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_one_reminder_stand_in_the_order_in_which_they_were_made() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = Arc::new(open(&server, &database).await);
    let reminder = once(1, now(), now());
    let id = reminder.id;
    let new = vec![NewReminder { reminder, first_due_at: now() }];
    store.create(Create { reminders: new, who: "ann".into(), answered: None, now: now() }).await.unwrap();
    let mut jobs = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let store = Arc::new(open(&server, &database).await);
        for change in [Change::Pause, Change::Resume] {
            let store = store.clone();
            jobs.spawn(async move {
                for _ in 0..40 {
                    // Refused while the other has not been.
                    let _ = store.change(id, change.clone(), By::new("ann", now())).await;
                }
            });
        }
    }
    jobs.join_all().await;
    let entries = all(&store).await;
    let did: Vec<&str> = entries[1..].iter().map(|entry| entry.data.as_deref().unwrap_or_default()).collect();
    assert!(did.len() > 2, "{did:?}");
    for (index, did) in did.iter().enumerate() {
        let expect = if index % 2 == 0 { r#"{"did":"pause"}"# } else { r#"{"did":"resume"}"# };
        assert_eq!(*did, expect, "entry {index}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_is_cut_off_leaves_everything_to_the_next() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server, &database).await;
    let client = connect(&server, &database).await;
    client.batch_execute(&remind("a")).await.unwrap();
    let placer = connect(&server, &database).await;
    let pid: i32 = placer.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let pass = "begin; select punctual.place_writes(true)";
    placer.batch_execute(pass).await.unwrap();
    // Another does not wait for it when it need not.
    let busy: Option<i64> = client.query_one("select punctual.place_writes(false)", &[]).await.unwrap().get(0);
    assert_eq!(busy, None);
    server.sql(&database, &format!("select pg_terminate_backend({pid}, 5000)"));
    client.batch_execute(&remind("b")).await.unwrap();
    assert_eq!(users(&all(&store).await), ["a", "b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_restored_where_transactions_have_lower_ids_goes_on() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server, &database).await;
    for user in ["a", "b"] {
        server.sql(&database, &remind(user));
    }
    assert_eq!(users(&all(&store).await), ["a", "b"]);
    // As it would look in a server that has not come so far.
    server.sql(&database, "update punctual.journal_write set xact = (xact::text::bigint + 1000000000)::text::xid8");
    let forged = "update punctual.journal_place set snapshot = '1000009999:1000009999:' where snapshot is not null";
    server.sql(&database, forged);
    let client = connect(&server, &database).await;
    client.batch_execute(&format!("begin; {}", remind("open"))).await.unwrap();
    server.sql(&database, &remind("c"));
    assert_eq!(server.sql(&database, "select punctual.unplaced()"), "t");
    assert_eq!(users(&all(&store).await), ["a", "b", "c"]);
    assert_eq!(server.sql(&database, "select punctual.unplaced()"), "f");
    server.sql(&database, &remind("d"));
    client.batch_execute("commit").await.unwrap();
    let entries = all(&store).await;
    let mut last: Vec<&str> = users(&entries)[3..].to_vec();
    last.sort_unstable();
    assert_eq!((entries.len(), last), (5, vec!["d", "open"]));
    // Also where nothing was new.
    server.sql(&database, "update punctual.journal_write set xact = '2000000000'");
    server.sql(
        &database,
        "update punctual.journal_place set snapshot = '2000009999:2000009999:' where snapshot is not null",
    );
    assert_eq!(all(&store).await.len(), 5);
    server.sql(&database, &remind("e"));
    assert_eq!(users(&all(&store).await).last(), Some(&"e"));
    assert_eq!(all(&store).await.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_beat_says_whether_something_waits_for_its_place() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server, &database).await;
    let waits = || server.sql(&database, "select punctual.unplaced()") == "t";
    assert!(!waits());
    let client = connect(&server, &database).await;
    client.batch_execute(&format!("begin; {}", remind("a"))).await.unwrap();
    server.sql(&database, &remind("b"));
    assert!(waits());
    store.place().await.unwrap();
    assert!(!waits(), "an open transaction is nothing to wait for");
    client.batch_execute("commit").await.unwrap();
    assert!(waits());
    store.place().await.unwrap();
    assert!(!waits());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_finds_nothing_writes_nothing() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server, &database).await;
    let client = connect(&server, &database).await;
    client.batch_execute(&remind("a")).await.unwrap();
    let pass = async || {
        client.batch_execute("begin").await.unwrap();
        let head: i64 = client.query_one("select punctual.place_writes(true)", &[]).await.unwrap().get(0);
        let written = "select pg_current_xact_id_if_assigned() is not null";
        let has_written: bool = client.query_one(written, &[]).await.unwrap().get(0);
        client.batch_execute("commit").await.unwrap();
        (head, has_written)
    };
    assert_eq!(pass().await, (1, true));
    assert_eq!(pass().await, (1, false));
    // Nobody places what they have not committed.
    let own = format!("begin; {}; select punctual.place_writes(true)", remind("b"));
    let refused = client.batch_execute(&own).await.unwrap_err();
    assert_eq!(refused.as_db_error().unwrap().message(), "entries are placed after their commit");
    client.batch_execute("rollback").await.unwrap();
    assert_eq!(store.place().await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duty_is_one_nodes_until_it_ends_by_the_databases_clock() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server, &database).await;
    let take = async |node: &str| store.take_duty("tell", node, now()).await.unwrap().map(|duty| duty.lease);
    assert_eq!(take("a").await, Some(1));
    assert_eq!(take("b").await, None, "another has it");
    server.sql(&database, "update punctual.duty set until = clock_timestamp() - interval '1 millisecond'");
    assert_eq!(take("b").await, Some(2));
    assert_eq!(take("a").await, None);
}
