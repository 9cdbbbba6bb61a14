//! What only PostgreSQL does: many connections, many stores, servers that go away.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::change::{Change, Patch, Refused};
use punctual_core::channel::Receipt;
use punctual_core::decide::decide;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{Address, Reminder};
use punctual_core::retry::RetryPolicy;
use punctual_core::rules::search::Words;
use punctual_core::shard::{Shards, shard_of};
use punctual_core::store::{
    Answer, Answered, By, ChangeError, Claim, Claimed, Create, FindQuery, Index, IndexText, NewReminder, Search,
    Settlement, Store, StoreError,
};
use punctual_core::user::User;
use punctual_engine::machine;
use punctual_store::postgres::{self, MigrateReport, OpenError, PostgresStore};
use punctual_testkit::proxy::Proxy;
use punctual_testkit::sample::{every, instant, once};
use punctual_testkit::servers::{PgBouncer, Postgres, PostgresOptions};
use punctual_testkit::wait::until_blocking;

const NOW: &str = "2026-05-04T08:00:00Z";
/// Ends every connection of a store.
const CUT: &str = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'punctual'";

fn now() -> Timestamp {
    instant(NOW)
}

fn create(reminders: &[Reminder]) -> Create {
    let new = |reminder: &Reminder| NewReminder { reminder: reminder.clone(), first_due_at: now() };
    Create { reminders: reminders.iter().map(new).collect(), who: "ann".into(), answered: None, now: now() }
}

/// Reminders that are due now, by as many users.
fn due(n: u16) -> Vec<Reminder> {
    let reminder = |number: u16| {
        let mut random = [0; 10];
        random[8..].copy_from_slice(&number.to_be_bytes());
        let user = format!("user-{number}");
        Reminder { id: ReminderId::new(now(), random), user, ..once(0, now(), now()) }
    };
    (0..n).map(reminder).collect()
}

fn claim(node: &str, limit: usize) -> Claim {
    Claim {
        now: now(),
        from: Timestamp::MIN,
        until: now(),
        shards: Shards::ALL,
        limit,
        node: node.into(),
        lease_until: now() + SignedDuration::from_secs(15),
        default_channel: DefaultChannel::chosen(Address::new("console", "")),
        only: None,
        holding: Default::default(),
    }
}

fn delivered(claimed: &Claimed) -> Settlement {
    decide(claimed, Ok(Receipt::default()), &RetryPolicy::default(), 0.0, now(), now())
}

fn by() -> By {
    By::new("ann", now())
}

async fn open(url: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::open(url, &machine()).await.expect("the database can be used"))
}

/// Two stores claim at once, and settle what they claimed, until nothing is left.
async fn claim_all_from_two(urls: [String; 2]) {
    const N: u16 = 4000;
    let stores = [open(&urls[0]).await, open(&urls[1]).await];
    stores[0].create(create(&due(N))).await.expect("the store works");
    let tasks: Vec<_> = ["a", "b", "a", "b"]
        .into_iter()
        .zip(stores.iter().chain(&stores).cloned())
        .map(|(node, store)| {
            tokio::spawn(async move {
                let mut mine = Vec::new();
                loop {
                    let claims = store.claim(claim(node, 50)).await.expect("the store works");
                    if claims.to_send.is_empty() {
                        return mine;
                    }
                    let settlements: Vec<_> = claims.to_send.iter().map(delivered).collect();
                    let settled = store.settle(settlements, now()).await.expect("the store works");
                    assert!(settled.lost.is_empty(), "{:?}", settled.lost);
                    mine.extend(claims.to_send.into_iter().map(|claimed| (claimed.before.id, claimed.lease)));
                }
            })
        })
        .collect();
    let mut seen = HashSet::new();
    let mut by_task = Vec::new();
    for task in tasks {
        let mine = task.await.expect("the store works");
        by_task.push(mine.len());
        for (id, lease) in mine {
            assert_eq!(lease, 1);
            assert!(seen.insert(id), "{id} was claimed twice");
        }
    }
    println!("claimed by each: {by_task:?}");
    assert_eq!(seen.len(), usize::from(N));
    assert!(by_task.iter().filter(|n| **n > 0).count() > 1, "nobody competed: {by_task:?}");
    assert_eq!(stores[0].stats(now()).await.expect("the store works").pending, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_never_claim_the_same() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    claim_all_from_two([server.url(&database), server.url(&database)]).await;
    let counts = "select count(*), count(*) filter (where status = 'sent') from punctual.attempt";
    assert_eq!(server.sql(&database, counts), "4000|4000");
    let shards = "select count(*) from punctual.occurrence o join punctual.reminder r on r.id = o.reminder_id \
                  where o.shard <> get_byte(sha256(convert_to(r.user_id, 'UTF8')), 0)";
    assert_eq!(server.sql(&database, shards), "0", "SQL computes the same shards");
    assert_eq!(
        server.sql(&database, "select get_byte(sha256(convert_to('žarko', 'UTF8')), 0)"),
        shard_of("žarko").to_string()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_when_one_of_them_is_behind_pgbouncer() {
    let Some(server) = Postgres::start() else { return };
    let Some(bouncer) = PgBouncer::start(&server) else { return };
    let database = server.new_database(None);
    claim_all_from_two([server.url(&database), bouncer.url(&database)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settle_with_an_old_lease_number_changes_nothing() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let (slow, quick) = (open(&server.url(&database)).await, open(&server.url(&database)).await);
    slow.create(create(&due(100))).await.unwrap();
    let first = slow.claim(claim("slow", 100)).await.unwrap().to_send;
    assert_eq!(first.len(), 100);
    // The slow node sleeps past its lease, and another takes over.
    let later = now() + SignedDuration::from_secs(16);
    let taken_over =
        Claim { now: later, until: later, lease_until: later + SignedDuration::from_secs(15), ..claim("quick", 100) };
    let second = quick.claim(taken_over).await.unwrap().to_send;
    assert_eq!(second.len(), 100);
    let rows = "select string_agg(o::text, ';' order by reminder_id) || (select string_agg(a::text, ';' order by \
                reminder_id, number) from punctual.attempt a) from punctual.occurrence o";
    let before = server.sql(&database, rows);
    let settled = slow.settle(first.iter().map(delivered).collect(), now()).await.unwrap();
    assert_eq!((settled.lost.len(), settled.wakes.len()), (100, 0));
    let leases: Vec<(OccurrenceId, u64)> = first.iter().map(|claimed| (claimed.before.id, claimed.lease)).collect();
    assert_eq!(slow.renew(leases.clone(), later).await.unwrap(), leases);
    assert_eq!(server.sql(&database, rows), before);
    assert!(quick.settle(second.iter().map(delivered).collect(), later).await.unwrap().lost.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_transaction_holds_is_stepped_around() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server.url(&database)).await;
    store.create(create(&due(10))).await.unwrap();
    // Somebody's psql holds three of them while the claim runs; the claim does not wait for it.
    let held =
        "begin; select from punctual.occurrence order by reminder_id limit 3 for update; select pg_sleep(3); rollback";
    let url = (server.url(&database), held);
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| server.sql(&database, url.1));
        let handle = tokio::runtime::Handle::current();
        let n_claimed = tokio::task::block_in_place(|| {
            let locked = "select count(*) from pg_locks \
                          where relation = 'punctual.occurrence'::regclass and mode = 'RowShareLock'";
            until_blocking("psql holds its rows", || server.sql(&database, locked) != "0");
            handle.block_on(async { store.claim(claim("a", 100)).await.unwrap().to_send.len() })
        });
        assert_eq!(n_claimed, 7);
        assert!(!holder.is_finished(), "the claim waited");
        holder.join().unwrap();
    });
    assert_eq!(store.claim(claim("a", 100)).await.unwrap().to_send.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_stores_that_start_at_once_make_one_schema() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let url = server.url(&database);
            tokio::spawn(async move { postgres::migrate(&url, &machine()).await })
        })
        .collect();
    let mut reports = Vec::new();
    for task in tasks {
        reports.push(task.await.unwrap().unwrap());
    }
    assert_eq!(reports.iter().filter(|report| report.from == 0).count(), 1, "{reports:?}");
    let latest = reports[0].to;
    assert!(reports.iter().all(|report| report.to == latest), "{reports:?}");
    assert_eq!(server.sql(&database, "select count(*) from punctual.migration"), latest.to_string());
    let again = postgres::migrate(&server.url(&database), &machine()).await.unwrap();
    assert_eq!(again, MigrateReport { from: latest, to: latest });

    server.sql(&database, "insert into punctual.migration (version) values (99)");
    let refused = PostgresStore::open(&server.url(&database), &machine()).await.err().unwrap();
    assert!(matches!(refused, OpenError::TooNew { found: 99, known, .. } if known == latest), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_an_older_node_made_keeps_its_meaning() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server.url(&database)).await;
    for (number, user, write) in [(1, "null", true), (2, "null", false), (3, "'ann'", true), (4, "'ann'", false)] {
        // As a version writes it that knows no other scopes.
        server.sql(
            &database,
            &format!(
                "insert into punctual.api_key (id, name, hash, user_id, write, expires_at, created_at) \
                 values ('key_{number}', 'k', decode(repeat('0{number}', 32), 'hex'), {user}, {write}, null, now() + interval '{number} s')"
            ),
        );
    }
    let scopes: Vec<String> = store.keys().await.unwrap().iter().map(|key| key.scopes.to_string()).collect();
    assert_eq!(scopes, ["admin", "read", "read,write", "read"]);
    assert_eq!(store.key([1; 32]).await.unwrap().map(|key| key.scopes.to_string()).as_deref(), Some("admin"));
    // And such a node reads of a new key whether it may write.
    assert_eq!(
        server.sql(&database, "select string_agg(id, ',' order by id) from punctual.api_key where write"),
        "key_1,key_3"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_only_use_the_tables_can_start() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    postgres::migrate(&server.url(&database), &machine()).await.unwrap();
    let rights = "create role app login; grant usage on schema punctual to app; \
                  grant select, insert, update, delete on all tables in schema punctual to app";
    server.sql(&database, rights);
    let url = server.url(&database).replace("punctual@", "app:hush@");
    let store = open(&url).await;
    store.create(create(&due(1))).await.unwrap();
    store.probe().await.unwrap();
    let none = server.new_database(None);
    let refused = PostgresStore::open(&url.replace(&database, &none), &machine()).await.err().unwrap().to_string();
    assert!(refused.contains("permission denied") && !refused.contains("hush"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_made_anew() {
    let Some(mut server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server.url(&database)).await;
    store.create(create(&due(1))).await.unwrap();
    for _ in 0..3 {
        // Cut while idle: nobody notices.
        server.sql(&database, CUT);
        store.probe().await.unwrap();
    }
    let others = due(120);
    for (number, reminder) in others[1..].iter().enumerate() {
        // Cut at any moment: whatever is lost, the create is answered, and what was answered is there.
        if number % 4 == 0 {
            std::thread::scope(|scope| {
                let cut = scope.spawn(|| server.sql(&database, CUT));
                let handle = tokio::runtime::Handle::current();
                tokio::task::block_in_place(|| {
                    handle.block_on(async {
                        for _ in 0..number % 7 {
                            store.stats(now()).await.unwrap();
                        }
                        store.create(create(std::slice::from_ref(reminder))).await.unwrap();
                    });
                });
                cut.join().unwrap();
            });
            assert!(store.reminder(reminder.id).await.unwrap().is_some());
        }
    }
    server.stop_immediately();
    let down = store.probe().await;
    assert!(matches!(down, Err(StoreError::Unavailable(_))), "{down:?}");
    let down = store.claim(claim("a", 10)).await;
    assert!(matches!(down, Err(StoreError::Unavailable(_))), "{down:?}");
    server.start_again();
    assert_eq!(store.claim(claim("a", 10)).await.unwrap().to_send.len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_leaves_nothing_half_done() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server.url(&database)).await;
    for number in 0..50 {
        let reminder = due(number + 1).remove(usize::from(number));
        let mut writing = Box::pin(store.create(create(std::slice::from_ref(&reminder))));
        for _ in 0..number {
            if futures_util::poll!(writing.as_mut()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(writing);
        store.probe().await.unwrap();
    }
    // A statement that was sent before the caller went away may still be under way.
    let running = "select count(*) from pg_stat_activity where application_name = 'punctual' and state <> 'idle'";
    until_blocking("nothing is under way", || server.sql(&database, running) == "0");
    let halves = "select count(*) from punctual.reminder r full join punctual.occurrence o on o.reminder_id = r.id \
                  full join punctual.journal a on a.reminder_id = r.id \
                  where r.id is null or o.reminder_id is null or a.reminder_id is null";
    assert_eq!(server.sql(&database, halves), "0");
    println!(
        "of 50 that were dropped, {} were written",
        server.sql(&database, "select count(*) from punctual.reminder")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_use_one_key_one_succeeds() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server.url(&database)).await;
    let answered = Answered { request: [7; 32], answer: Some(Answer { status: 201, body: "made".into() }) };
    let jobs = due(20).into_iter().map(|reminder| {
        let create = Create { answered: Some(("key".into(), answered.clone())), ..create(&[reminder]) };
        store.create(create)
    });
    let answers = futures_util::future::join_all(jobs).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert!(answers.iter().all(|answer| matches!(answer, Ok(()) | Err(StoreError::KeyUsed))), "{answers:?}");
    assert_eq!(server.sql(&database, "select count(*) from punctual.reminder"), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_creates_share_commits_and_one_that_fails_fails_alone() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server.url(&database)).await;
    let first = due(1);
    store.create(create(&first)).await.unwrap();
    let commits = "select xact_commit from pg_stat_database where datname = current_database()";
    let before: u64 = server.sql(&database, commits).parse().unwrap();
    // Two hundred callers, and the first of them asks for what is there already.
    let answers = futures_util::future::join_all(due(200).iter().map(|one| {
        let create = create(std::slice::from_ref(one));
        store.create(create)
    }))
    .await;
    assert!(matches!(answers[0], Err(StoreError::Broken(_))), "{:?}", answers[0]);
    assert!(answers[1..].iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(server.sql(&database, "select count(*) from punctual.reminder"), "200");
    let after: u64 = server.sql(&database, commits).parse().unwrap();
    println!("199 creates in {} commits", after - before);
}

/// Commands, claims and settles of the same reminders at the same time, from two stores: every command either worked or was
/// refused for a reason, nobody waits in a circle, and what was cancelled is not sent.
#[tokio::test(flavor = "multi_thread")]
async fn commands_and_claims_at_once_leave_everything_whole() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let (ours, theirs) = (open(&server.url(&database)).await, open(&server.url(&database)).await);
    let series: Vec<Reminder> = due(60)
        .into_iter()
        .map(|reminder| Reminder {
            schedule: every(1, std::time::Duration::from_secs(3600), now()).schedule,
            ..reminder
        })
        .collect();
    ours.create(create(&series)).await.unwrap();
    let working = |store: Arc<PostgresStore>, node: &'static str| async move {
        let mut n_sent = 0;
        for round in 0..60 {
            let at = now() + SignedDuration::from_secs(round * 1800);
            let lease_until = at + SignedDuration::from_secs(15);
            let claims = store.claim(Claim { now: at, until: at, lease_until, ..claim(node, 20) }).await.unwrap();
            let settle =
                |claimed: &Claimed| decide(claimed, Ok(Receipt::default()), &RetryPolicy::default(), 0.0, at, at);
            let settled = store.settle(claims.to_send.iter().map(settle).collect(), at).await.unwrap();
            n_sent += claims.to_send.len() - settled.lost.len();
        }
        n_sent
    };
    let changing = |store: Arc<PostgresStore>, series: Vec<Reminder>| async move {
        let mut n_begun = 0;
        for round in 0..6 {
            for reminder in &series {
                let patch = Patch { message: Some(format!("water them, {round}")), ..Patch::default() };
                for change in
                    [Change::Update(Box::new(patch)), Change::Pause, Change::Resume, Change::Skip, Change::Fire]
                {
                    match store.change(reminder.id, change, by()).await {
                        Ok(_) | Err(ChangeError::Refused(Refused::NotNow(_) | Refused::Invalid(_))) => {}
                        Err(ChangeError::Refused(Refused::SendBegun)) => n_begun += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
        n_begun
    };
    let tasks = [tokio::spawn(working(ours.clone(), "a")), tokio::spawn(working(theirs.clone(), "b"))];
    let n_begun = changing(theirs.clone(), series.clone()).await;
    let mut n_sent = 0;
    for task in tasks {
        n_sent += task.await.unwrap();
    }
    println!("{n_sent} sent; {n_begun} commands came while a send had begun");
    let broken = "select count(*) from punctual.reminder r where r.carried_by is not null and not exists \
                  (select from punctual.occurrence o where o.reminder_id = r.id and o.run = r.carried_by \
                   and (o.wake_at is not null or o.state = 'paused'))";
    assert_eq!(server.sql(&database, broken), "0", "every series has a run that carries it on");
    let ended = "select count(*) from punctual.occurrence o where o.attempts <> (select count(*) from punctual.attempt a \
                 where a.reminder_id = o.reminder_id and a.run = o.run and a.ended_at is not null)";
    assert_eq!(server.sql(&database, ended), "0", "every attempt has ended");
    let runs = "select count(*) from punctual.reminder r where r.last_run <> (select count(*) from punctual.occurrence o \
                where o.reminder_id = r.id)";
    assert_eq!(server.sql(&database, runs), "0", "no run number was lost or given out twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_kept_as_people_would_read_them() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server.url(&database)).await;
    for (number, due_at, kept) in [
        (1, "2026-05-04T08:00:00.000000001Z", "2026-05-04T08:00:00.000001Z"),
        (2, "2026-05-04T08:00:00.000001Z", "2026-05-04T08:00:00.000001Z"),
        (3, "2026-05-04T07:59:59.999999999Z", "2026-05-04T08:00:00Z"),
        (4, "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00Z"),
    ] {
        let reminder = once(number, instant(due_at), now());
        let new = NewReminder { reminder: reminder.clone(), first_due_at: instant(due_at) };
        store.create(Create { reminders: vec![new], ..create(&[]) }).await.unwrap();
        let trail = store.occurrences(reminder.id, None, 1).await.unwrap().remove(0);
        assert_eq!(trail.occurrence.due_at, instant(kept), "{due_at}");
    }
    let read = "select to_char(due_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') || ' ' || state \
                from punctual.occurrence order by reminder_id limit 1";
    assert_eq!(server.sql(&database, read), "2026-05-04 08:00:00.000001 scheduled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_cannot_be_read_fails_visibly_and_stops_nobody() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server.url(&database)).await;
    let [poisoned, orphaned, odd, healthy] = due(4).try_into().unwrap();
    // An address that PostgreSQL cannot keep as it is, because of its NUL.
    let odd = Reminder { to: vec![Address::new("phone", "a\0b")], ..odd };
    store.create(create(&[poisoned.clone(), orphaned.clone(), odd.clone(), healthy.clone()])).await.unwrap();
    server.sql(&database, &format!("update punctual.reminder set schedule = 'nonsense' where id = '{}'", poisoned.id));
    server.sql(&database, &format!("delete from punctual.reminder where id = '{}'", orphaned.id));
    let claims = store.claim(claim("a", 10)).await.unwrap();
    let mut sent: Vec<_> = claims.to_send.iter().map(|claimed| claimed.reminder.id).collect();
    sent.sort();
    assert_eq!(sent, [odd.id, healthy.id]);
    for (reminder, why) in [(&poisoned, "cannot be read"), (&orphaned, "reminder is gone")] {
        let trail = store.occurrences(reminder.id, None, 1).await.unwrap().remove(0);
        assert!(trail.occurrence.state.error().unwrap().contains(why), "{trail:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_should_not_be_there_stops_no_settle() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server.url(&database)).await;
    store.create(create(&due(2))).await.unwrap();
    let claims = store.claim(claim("a", 10)).await.unwrap();
    let settlements: Vec<_> = claims.to_send.iter().map(delivered).collect();
    let (id, end) = (settlements[0].id(), settlements[0].attempt.as_ref().unwrap());
    server.sql(
        &database,
        &format!(
            "insert into punctual.attempt (reminder_id, run, number, channel, address, status, started_at) \
             values ('{}', {}, {}, 'console', '', 'sent', now())",
            id.reminder, id.run, end.number
        ),
    );
    assert_eq!(store.settle(settlements, now()).await.unwrap().lost, []);
    for claimed in &claims.to_send {
        let trail = store.occurrences(claimed.reminder.id, None, 1).await.unwrap().remove(0);
        assert!(trail.occurrence.state.is_final(), "{trail:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_used_and_checked_as_the_url_asks() {
    let Some(server) = Postgres::start_with(PostgresOptions { tls: true, ..PostgresOptions::default() }) else {
        return;
    };
    let database = server.new_database(None);
    let root = format!("sslrootcert={}", server.certificate().display());
    let (by_address, by_name) = (server.url(&database), server.url(&database).replace("127.0.0.1", "localhost"));
    // The certificate is for `localhost`, and nobody but itself vouches for it.
    for (url, encrypted) in [
        (format!("{by_address}?sslmode=disable"), Some("f")),
        (by_address.clone(), Some("t")),
        (format!("{by_address}?sslmode=require"), Some("t")),
        (format!("{by_address}?sslmode=verify-ca"), None),
        (format!("{by_address}?sslmode=verify-ca&{root}"), Some("t")),
        (format!("{by_address}?sslmode=verify-full&{root}"), None),
        (format!("{by_name}?sslmode=verify-full"), None),
        (format!("{by_name}?sslmode=verify-full&{root}"), Some("t")),
    ] {
        let opened = PostgresStore::open(&url, &machine()).await;
        let seen = opened.as_ref().ok().map(|_| {
            server.sql(&database, "select string_agg(distinct ssl::text, ',') from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'punctual'")
        });
        assert_eq!(seen.as_deref().map(|seen| &seen[..1]), encrypted, "{url}: {:?}", opened.err());
        drop(seen);
        server.sql(
            &database,
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'punctual'",
        );
    }
}

/// A claim that would put something off for somebody who is just being changed leaves it, and decides a moment later by what
/// they are then: else it might wait for the end of a pause that is over.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_waits_for_the_end_of_a_pause_that_is_just_being_ended() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = PostgresStore::open(&server.url(&database), &machine()).await.unwrap();
    let paused = User {
        id: "ann".into(),
        timezone: None,
        language: None,
        addresses: vec![],
        quiet_hours: None,
        paused_until: Some(now() + SignedDuration::from_hours(100)),
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: now(),
        updated_at: now(),
    };
    store.put_user(paused.clone(), "ann".into()).await.unwrap();
    store.create(create(&[once(1, now(), now())])).await.unwrap();

    // Another session is in the middle of ending the pause.
    let session = postgres::Session::open(&server.url(&database), &machine()).await.unwrap();
    session.run("begin", &[]).await.unwrap();
    session.run("update punctual.app_user set paused_until = null where id = 'ann'", &[]).await.unwrap();
    let claims = store.claim(claim("a", 10)).await.unwrap();
    assert_eq!((claims.n_taken, claims.to_send.len()), (0, 0), "nobody knows yet");
    assert_eq!(claims.wakes.len(), 1, "and it is looked at again");
    assert!(claims.wakes[0] < now() + SignedDuration::from_secs(1));
    session.run("commit", &[]).await.unwrap();
    assert_eq!(store.claim(claim("a", 10)).await.unwrap().to_send.len(), 1);

    // The other way round: a change of the person waits for the claim, and then sees the run that the claim has put off.
    store.create(create(&[once(2, now(), now())])).await.unwrap();
    store.put_user(paused.clone(), "ann".into()).await.unwrap();
    assert!(store.claim(claim("a", 10)).await.unwrap().to_send.is_empty());
    let later = now() + SignedDuration::from_secs(1);
    let wakes = store.put_user(User { paused_until: None, updated_at: later, ..paused }, "ann".into()).await.unwrap();
    assert_eq!(wakes, [later]);
}

/// As when a server has no place left, or its door is shut: the connections that it has go on.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_live_are_used_while_new_ones_fail() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let proxy = Proxy::before(server.port());
    let store = open(&proxy.url_for(&server.url(&database))).await;
    store.probe().await.unwrap();
    proxy.refuse(true);
    let n_before = proxy.accepted();
    // More at once than there are connections: somebody finds out that no new one can be made.
    futures_util::future::join_all((0..20).map(|_| store.probe())).await;
    assert!(proxy.accepted() > n_before, "nobody tried to connect");
    for _ in 0..20 {
        store.probe().await.expect("a connection that lives is used");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_the_extension_says_how_to_get_it_and_finds_when_it_has_it() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let store = open(&server.url(&database)).await;
    let reminder = once(1, now(), now());
    store.create(create(std::slice::from_ref(&reminder))).await.unwrap();
    let texts = vec![IndexText { reminder: reminder.id, user: "ann".into(), text: "call mom".into() }];
    store.index(Index { texts, ..Index::default() }).await.unwrap();
    let find = async || {
        let words = Words::read("q", "mom", true).unwrap();
        store.find(FindQuery { words, user: None, before: None, limit: 10 }).await
    };
    store.prepare_search().await.unwrap();
    server.sql(&database, "drop extension pg_trgm cascade");
    for refused in [find().await.map(drop), store.prepare_search().await] {
        let Err(StoreError::Missing(why)) = refused else { panic!("{refused:?}") };
        assert!(why.ends_with("run: create extension pg_trgm"), "{why}");
    }
    server.sql(&database, "create extension pg_trgm schema public");
    assert_eq!(find().await.unwrap().list.len(), 1, "before the index is made again, too");
    store.prepare_search().await.unwrap();
    assert_eq!(server.sql(&database, "select to_regclass('punctual.search_trigrams') is not null"), "t");
    assert_eq!(find().await.unwrap().list.len(), 1);
}
