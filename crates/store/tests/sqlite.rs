//! What only SQLite does: one file, one owner, shared commits.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::change::Change;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{Address, Reminder};
use punctual_core::shard::Shards;
use punctual_core::store::{By, Claim, Create, Index, IndexText, NewReminder, Search, Store, StoreError};
use punctual_store::sqlite::{OpenError, Options, SqliteStore, migrate};
use punctual_testkit::sample::{instant, once};

const NOW: &str = "2026-05-04T08:00:00Z";

fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path, Options::default())
}

fn create(reminder: &Reminder, first_due_at: Timestamp) -> Create {
    let reminders = vec![NewReminder { reminder: reminder.clone(), first_due_at }];
    Create { reminders, who: "ann".into(), answered: None, now: instant(NOW) }
}

/// Why the file is refused.
fn refusal(path: &Path) -> OpenError {
    open(path).err().expect("the file is refused")
}

#[tokio::test]
async fn everything_is_there_again_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    let reminder = once(1, instant(NOW), instant(NOW));
    {
        let store = open(&path).unwrap();
        store.create(create(&reminder, instant(NOW))).await.unwrap();
        let by = By::new("ann", instant(NOW));
        store.change(reminder.id, Change::Pause, by).await.unwrap();
    }
    let store = open(&path).unwrap();
    let view = store.reminder(reminder.id).await.unwrap().unwrap();
    assert_eq!(view.reminder.status.as_str(), "paused");
    assert_eq!(store.occurrences(reminder.id, None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn instants_are_kept_in_microseconds_rounded_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("p.db")).unwrap();
    for (number, due_at, kept) in [
        (1, "2026-05-04T08:00:00.000000001Z", "2026-05-04T08:00:00.000001Z"),
        (2, "2026-05-04T08:00:00.000001Z", "2026-05-04T08:00:00.000001Z"),
        (3, "2026-05-04T07:59:59.999999999Z", "2026-05-04T08:00:00Z"),
        (4, "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00Z"),
        (5, "1969-12-31T23:59:59.000000001Z", "1969-12-31T23:59:59.000001Z"),
    ] {
        let reminder = once(number, instant(due_at), instant(NOW));
        store.create(create(&reminder, instant(due_at))).await.unwrap();
        let trail = store.occurrences(reminder.id, None, 1).await.unwrap().remove(0);
        assert_eq!(trail.occurrence.due_at, instant(kept), "{due_at}");
    }
}

#[tokio::test]
async fn many_writes_share_commits_and_one_that_fails_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    let store = Arc::new(open(&path).unwrap());
    let taken = once(0, instant(NOW), instant(NOW));
    store.create(create(&taken, instant(NOW))).await.unwrap();

    let reminders: Vec<Reminder> = (1..=250).map(|number| once(number, instant(NOW), instant(NOW))).collect();
    // Started together, they wait together; every tenth brings an id that is taken.
    let jobs = reminders.iter().enumerate().map(|(index, reminder)| {
        let mut new = create(reminder, instant(NOW));
        if index % 10 == 0 {
            new.reminders.push(NewReminder { reminder: taken.clone(), first_due_at: instant(NOW) });
        }
        store.create(new)
    });
    let answers = futures_util::future::join_all(jobs).await;
    for (index, (answer, reminder)) in answers.into_iter().zip(&reminders).enumerate() {
        let there = store.reminder(reminder.id).await.unwrap().is_some();
        assert_eq!((answer.is_ok(), there), (index % 10 != 0, index % 10 != 0), "job {index}");
    }
    let frames = wal_frames(&path);
    assert!(frames < 250, "250 creates wrote {frames} pages to the log: they did not share commits");
}

/// How many pages the log holds; each commit writes several.
fn wal_frames(path: &Path) -> u64 {
    let log = std::fs::metadata(format!("{}-wal", path.display())).expect("a log beside the file");
    log.len() / (4096 + 24)
}

#[tokio::test]
async fn a_dropped_caller_leaves_its_write_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("p.db")).unwrap();
    let reminder = once(1, instant(NOW), instant(NOW));
    {
        let mut writing = Box::pin(store.create(create(&reminder, instant(NOW))));
        // Polled once, so that the job is handed over; then nobody waits for it any more.
        let _ = futures_util::poll!(writing.as_mut());
    }
    store.probe().await.unwrap();
    assert!(store.reminder(reminder.id).await.unwrap().is_some());
    assert_eq!(store.occurrences(reminder.id, None, 10).await.unwrap().len(), 1);
}

#[test]
fn a_second_server_is_told_who_has_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    let _first = open(&path).unwrap();
    let OpenError::InUse { holder, .. } = refusal(&path) else { panic!("in use") };
    assert!(holder.contains(&std::process::id().to_string()), "{holder}");
    assert!(matches!(migrate(&path), Err(OpenError::InUse { .. })));
}

#[test]
fn a_file_that_another_program_has_locked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    drop(open(&path).unwrap());
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE probe SET value = 0; COMMIT;")
        .unwrap();
    let refused = refusal(&path);
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused}");
    drop(other);
    open(&path).unwrap();
}

#[test]
fn a_file_of_a_later_punctual_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    drop(open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let refused = refusal(&path);
    assert!(matches!(refused, OpenError::TooNew { found: 99, .. }), "{refused}");
    let version: u32 =
        rusqlite::Connection::open(&path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 99);
}

#[test]
fn a_file_from_before_the_first_release_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE reminder (id BLOB PRIMARY KEY)").unwrap();
    for (id, version) in [("0x70756e63", 1), ("0x706e6374", 1), ("0x706e6374", 15)] {
        let old = format!("PRAGMA application_id = {id}; PRAGMA user_version = {version}");
        rusqlite::Connection::open(&path).unwrap().execute_batch(&old).unwrap();
        let refused = refusal(&path);
        assert!(matches!(refused, OpenError::NotOurs { .. }), "{refused}");
        assert!(refused.to_string().contains("before the first release"), "{refused}");
    }
    let tables: u32 = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn a_file_that_is_not_ours_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE recipe (name TEXT)").unwrap();
    let refused = refusal(&foreign);
    assert!(matches!(refused, OpenError::NotOurs { .. }), "{refused}");
    let tables: u32 = rusqlite::Connection::open(&foreign)
        .unwrap()
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);

    let text = folder.path().join("letter.txt");
    std::fs::write(&text, "Dear Ann, this is a letter and not a database, however long it may be. ".repeat(100))
        .unwrap();
    let before = std::fs::read(&text).unwrap();
    let refused = refusal(&text);
    assert!(matches!(refused, OpenError::NotOurs { .. }), "{refused}");
    assert_eq!(std::fs::read(&text).unwrap(), before);
}

#[tokio::test]
async fn a_write_that_finds_the_file_locked_fails_and_later_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    let store = open(&path).unwrap();
    let lock = rusqlite::Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = store.probe().await;
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    lock.execute_batch("ROLLBACK").unwrap();
    store.probe().await.unwrap();
}

#[test]
fn sqlite_is_newer_than_the_bug_that_corrupted_logs() {
    let numbers: Vec<u32> = punctual_store::sqlite::version().split('.').map(|part| part.parse().unwrap()).collect();
    assert!(numbers >= vec![3, 51, 3], "{numbers:?}");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_fails_visibly_and_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    let store = open(&path).unwrap();
    let (poisoned, healthy) = (once(1, instant(NOW), instant(NOW)), once(2, instant(NOW), instant(NOW)));
    for reminder in [&poisoned, &healthy] {
        store.create(create(reminder, instant(NOW))).await.unwrap();
    }
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute("UPDATE reminder SET schedule = 'nonsense' WHERE id = ?", [poisoned.id.as_bytes()]).unwrap();

    let claim = Claim {
        now: instant(NOW),
        from: Timestamp::MIN,
        until: instant(NOW),
        limit: 10,
        shards: Shards::ALL,
        node: "n".into(),
        lease_until: instant("2026-05-04T08:00:15Z"),
        default_channel: DefaultChannel::chosen(Address::new("console", "")),
        only: None,
        holding: Default::default(),
    };
    let claims = store.claim(claim).await.unwrap();
    assert_eq!(claims.to_send.iter().map(|claimed| claimed.reminder.id).collect::<Vec<_>>(), [healthy.id]);
    let trail = store.occurrences(poisoned.id, None, 1).await.unwrap().remove(0);
    assert!(trail.occurrence.state.error().unwrap().contains("cannot be read"), "{trail:?}");
}

#[tokio::test]
async fn the_index_of_texts_stays_whole_and_keeps_nothing_that_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    let reminders: Vec<Reminder> = (1..=40).map(|number| once(number, instant(NOW), instant(NOW))).collect();
    {
        let store = open(&path).unwrap();
        for reminder in &reminders {
            store.create(create(reminder, instant(NOW))).await.unwrap();
        }
        for round in ["call mom", "feed the cat", "feed the cat"] {
            let text = |reminder: &Reminder| IndexText {
                reminder: reminder.id,
                user: reminder.user.clone(),
                text: format!("{round} {}", reminder.id),
            };
            let texts = reminders.iter().map(text).collect();
            store.index(Index { texts, ..Index::default() }).await.unwrap();
        }
        for reminder in &reminders[..30] {
            store.change(reminder.id, Change::Cancel, By::new("ann", instant(NOW))).await.unwrap();
        }
        store.prune(Timestamp::MAX, 100).await.unwrap();
    }
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)", []).unwrap();
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM search_text"), 10);
    assert_eq!(count("SELECT count(*) FROM search WHERE search MATCH '\"cat\"'"), 10);
    assert_eq!(count("SELECT count(*) FROM search WHERE search MATCH '\"mom\"'"), 0);
}
