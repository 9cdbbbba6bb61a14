//! The hot statements find rows by their keys, whatever the statistics say.
//!
//! The server explains every statement it runs into its log. None may look at a whole table, with rows loaded in bulk and never
//! analysed, nor with statistics from before anything was ever claimed.
//!
//! `PUNCTUAL_TEST_PLAN_ROWS=1000000` runs it at the size the numbers in `postgres/batch.rs` are from.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use punctual_core::change::Change;
use punctual_core::channel::{Receipt, SendError};
use punctual_core::decide::{decide, withdraw};
use punctual_core::id::ReminderId;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{Address, Priority, Reminder};
use punctual_core::retry::RetryPolicy;
use punctual_core::shard::Shards;
use punctual_core::store::{
    About, Beat, By, Claim, Create, Follows, JournalQuery, NewReminder, Start, Store, UpcomingQuery,
};
use punctual_core::user::User;
use punctual_engine::machine;
use punctual_store::postgres::PostgresStore;
use punctual_testkit::sample::{instant, once};
use punctual_testkit::servers::{Postgres, PostgresOptions};

const NOW: &str = "2026-05-04T08:00:00Z";
/// Tables of one row, or of one for each node, which are best read as a whole.
const SMALL: [&str; 2] = ["Seq Scan on node ", "Seq Scan on journal_turn "];

fn rows() -> usize {
    std::env::var("PUNCTUAL_TEST_PLAN_ROWS").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000)
}

/// As many reminders as asked for, one in fifty due at once, the others far in the future, a third of them every hour; and as many
/// entries of the journal about them, ten in a write, that have no place yet.
fn load(n: usize) -> String {
    format!(
        r#"insert into punctual.reminder (id, user_id, message, schedule, timezone, priority, ack_reminders_max,
             snooze_allowed, retries_max, misfire, misfire_within, on_unknown, created_via, metadata, status, created_at,
             updated_at, last_run, carried_by, planned)
           select ('0198c0de-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'user-' || n % 100, 'water the plants',
             case when n % 3 = 0 then '{{"type":"interval","every":"1h","origin":"{NOW}"}}'
                  else '{{"type":"once","at":"{NOW}"}}' end,
             'UTC', 1, 0, true, 3, 'latest', 86400000, 'resend', 'test', '{{}}', 'active', '{NOW}', '{NOW}', 1,
             case when n % 3 = 0 then 1 end, 1 from generate_series(1, {n}) n;
           insert into punctual.occurrence (reminder_id, run, due_at, state, wake_at, priority, shard)
           select id, 1, t.at, 'scheduled', t.at, 1, 0 from (select id, row_number() over () n from punctual.reminder) r,
             lateral (select '{NOW}'::timestamptz + case when n % 50 = 0 then interval '0' else n * interval '3 seconds'
               + interval '30 days' end as at) t;
           insert into punctual.journal_write (n) select 10 from generate_series(1, {n} / 10);
           insert into punctual.journal (write, item, at, kind, reminder_id, user_id)
           select w.write, i, '{NOW}', 'reminder.created',
             ('0198c0de-0000-7000-8000-' || lpad(to_hex(w.write * 10 + i), 12, '0'))::uuid, 'user-' || i
           from punctual.journal_write w, generate_series(0, 9) i"#
    )
}

/// How long each kind of statement took in the worst case, and which looked at whole tables.
fn explained(log: &str, n_given_max: usize) -> (HashMap<String, f64>, Vec<String>) {
    let (mut slowest, mut scans) = (HashMap::new(), Vec::new());
    for entry in log.split("duration: ").skip(1) {
        let Some((millis, rest)) = entry.split_once(" ms  plan:") else { continue };
        let text = rest.split("Query Text: ").nth(1).unwrap_or_default();
        let name: String = text.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        let millis: f64 = millis.parse().unwrap_or(0.0);
        let worst: &mut f64 = slowest.entry(name.clone()).or_default();
        *worst = worst.max(millis);
        let is_scan = |line: &&str| line.contains("Seq Scan on") && !SMALL.iter().any(|small| line.contains(small));
        for line in rest.lines().filter(is_scan).filter(|line| !line.contains("never executed")) {
            scans.push(format!("{name}: {}\n{rest}", line.trim()));
        }
        // An index walked from end to end: a filter that a key should have been.
        for line in rest.lines().filter(|line| line.contains("Rows Removed by Filter")) {
            let n: usize = line.rsplit(' ').next().and_then(|n| n.trim().parse().ok()).unwrap_or(0);
            if n > n_given_max + 10 {
                scans.push(format!("{name}: {}\n{rest}", line.trim()));
            }
        }
        // A nested loop over all that were given, for each row: the trap.
        for line in rest.lines().filter(|line| line.contains("Rows Removed by Join Filter")) {
            scans.push(format!("{name}: {}\n{rest}", line.trim()));
        }
    }
    (slowest, scans)
}

async fn hot_path(server: &Postgres, database: &str, limit: usize) {
    let store = PostgresStore::open(&server.url(database), &machine()).await.expect("the store works");
    let now: Timestamp = instant(NOW);
    let lease_until = now + SignedDuration::from_secs(15);
    let claim = Claim {
        now,
        from: now - SignedDuration::from_secs(10),
        until: now,
        limit,
        shards: Shards::ALL,
        node: "a".into(),
        lease_until,
        default_channel: DefaultChannel::chosen(Address::new("console", "")),
        only: None,
        holding: Default::default(),
    };
    let before = server.log().len();
    let until = now + SignedDuration::from_secs(60);
    let shards = Shards::share("a", &["a".into(), "b".into()]);
    let window = UpcomingQuery { from: now, until, shards, limit: 16_384 };
    let _ = store.upcoming(window).await.expect("the store works");
    let horizon = now + SignedDuration::from_hours(24 * 60);
    let page = store.coming(now, horizon, None, 1000).await.expect("the store works");
    let after = page.last().map(|(id, entry)| (entry.at, *id));
    assert_eq!(store.coming(now, horizon, after, 1000).await.expect("the store works").len(), 1000);
    let rung = page.iter().map(|(id, _)| id.reminder).collect();
    let nothing = store.claim(Claim { only: Some(rung), ..claim.clone() }).await.expect("the store works");
    assert_eq!(nothing.n_taken, 0, "none of them is due");
    let (mut n_settled, mut claimed_all) = (0, Vec::new());
    for _ in 0..3 {
        // Several batches are under way at once, and none of the statistics knows of any.
        claimed_all.push(store.claim(claim.clone()).await.expect("the store works").to_send);
    }
    for claimed in &claimed_all {
        let leases = claimed.iter().map(|claimed| (claimed.before.id, claimed.lease)).collect();
        assert!(store.renew(leases, lease_until).await.expect("the store works").is_empty());
    }
    for claimed in &claimed_all {
        let settle = |c| decide(c, Ok(Receipt::default()), &RetryPolicy::default(), 0.0, now, now);
        let settled = store.settle(claimed.iter().map(settle).collect(), now).await.expect("the store works");
        assert!(settled.lost.is_empty());
        n_settled += claimed.len();
    }
    assert!(n_settled > 0);
    let changed = claimed_all[0][0].before.id.reminder;
    let by = By::new("ann", now);
    let _ = store.change(changed, Change::Fire, by).await.expect("the store works");
    store.rescue("a", now).await.expect("the store works");
    for ended_since in [None, Some(now - SignedDuration::from_hours(24))] {
        let _ = store.asked(vec!["user-50".into()], ended_since).await.expect("the store works");
    }
    // Rare, and still not for the whole table: somebody pauses and goes on, and a critical reminder fails.
    let user = |paused_until| User {
        id: "user-50".into(),
        timezone: None,
        language: None,
        addresses: vec![],
        quiet_hours: None,
        paused_until,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: true,
        created_at: now,
        updated_at: now,
    };
    store.put_user(user(Some(horizon)), "ann".into()).await.expect("the store works");
    let others = store.claim(claim.clone()).await.expect("the store works").to_send;
    let given_back = others.iter().map(|claimed| withdraw(claimed, now)).collect();
    store.settle(given_back, now).await.expect("the store works");
    store.put_user(user(None), "ann".into()).await.expect("the store works");
    // Of its own each time: what an alert is about decides whether it is made.
    let mut unique = [7; 10];
    unique[..8].copy_from_slice(&before.to_be_bytes());
    let id = ReminderId::new(now, unique);
    let critical = Reminder { id, priority: Priority::Critical, retries_max: 0, ..once(1, now, now) };
    let new = NewReminder { reminder: critical.clone(), first_due_at: now };
    store
        .create(Create { reminders: vec![new], who: "ann".into(), answered: None, now })
        .await
        .expect("the store works");
    let only = Claim { only: Some(vec![critical.id]), ..claim.clone() };
    let failed = store.claim(only).await.expect("the store works").to_send.remove(0);
    let gone = Err(SendError::Gone("moved".into()));
    let failed = decide(&failed, gone, &RetryPolicy::default(), 0.0, now, now);
    let settled = store.settle(vec![failed], now).await.expect("the store works");
    assert_eq!(settled.wakes, [now], "an alert, of {} after {before}: {settled:?}", critical.id);
    let pruned = store.prune(now + SignedDuration::from_secs(1), 1000).await.expect("the store works");
    assert!(pruned > 0);
    read_journal(&store, critical.id).await;
    drop(store);
    let log = server.log();
    let (slowest, scans) = explained(&log[before..], n_settled);
    let mut slowest: Vec<_> = slowest.into_iter().collect();
    slowest.sort_by(|a, b| b.1.total_cmp(&a.1));
    println!("{limit} at a time, {n_settled} in all; the slowest statements, in ms:");
    for (statement, millis) in slowest.iter().take(12) {
        println!("{millis:10.2}  {statement}");
    }
    assert!(scans.is_empty(), "{} statements look at whole tables:\n{}", scans.len(), scans.join("\n"));
}

/// Places what was written, reads from every part of the journal, and removes its oldest entries.
async fn read_journal(store: &PostgresStore, reminder: ReminderId) {
    let beat =
        || Beat { node: "a".into(), echo: None, shared: String::new(), follows: Follows::Yes, about: About::default() };
    let pulse = store.beat(beat()).await.expect("the store works").expect("there can be other nodes");
    assert!(pulse.unplaced);
    let head = store.place().await.expect("the store works");
    let pulse = store.beat(beat()).await.expect("the store works").expect("there can be other nodes");
    assert_eq!((pulse.unplaced, pulse.head, store.place().await.expect("the store works")), (false, head, head));
    for start in
        [Start::OLDEST, Start::After(head / 2), Start::After(head - 10), Start::NEWEST, Start::Before(head / 2)]
    {
        let page = store.journal(JournalQuery::new(start, 100)).await.expect("the store works");
        assert!(!page.entries.is_empty() && page.head == head, "{start:?}");
    }
    let of_it = JournalQuery { reminder: Some(reminder), ..JournalQuery::new(Start::OLDEST, 100) };
    assert!(!store.journal(of_it).await.expect("the store works").entries.is_empty());
    assert_eq!(store.prune_journal(Timestamp::MAX, 5).await.expect("the store works"), 5);
}

fn start() -> Option<Postgres> {
    let settings = [
        ("autovacuum", "off"),
        ("session_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("auto_explain.log_analyze", "on"),
        ("auto_explain.log_timing", "off"),
        ("auto_explain.log_nested_statements", "on"),
        ("max_wal_size", "4GB"),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Postgres::start_with(PostgresOptions { settings, ..PostgresOptions::default() })
}

#[tokio::test(flavor = "multi_thread")]
async fn right_after_a_bulk_load_that_nobody_analysed() {
    let Some(server) = start() else { return };
    let database = server.new_database(None);
    drop(PostgresStore::open(&server.url(&database), &machine()).await.unwrap());
    server.sql(&database, &load(rows()));
    for limit in [7, 256, 1024] {
        hot_path(&server, &database, limit.min(rows() / 200)).await;
    }
    if rows() >= 1_000_000 {
        hot_path(&server, &database, 5000).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_statistics_from_before_anything_was_claimed() {
    let Some(server) = start() else { return };
    let database = server.new_database(None);
    drop(PostgresStore::open(&server.url(&database), &machine()).await.unwrap());
    // First of empty tables, then of rows that all wait: either way, nothing is `processing` as far as anybody knows.
    server.sql(&database, "analyze punctual.reminder, punctual.occurrence, punctual.attempt");
    server.sql(&database, &load(rows()));
    hot_path(&server, &database, 256.min(rows() / 200)).await;
    server.sql(&database, "analyze punctual.reminder, punctual.occurrence, punctual.attempt");
    for limit in [7, 256, 1024] {
        hot_path(&server, &database, limit.min(rows() / 200)).await;
    }
    if rows() >= 1_000_000 {
        hot_path(&server, &database, 3000).await;
    }
}
