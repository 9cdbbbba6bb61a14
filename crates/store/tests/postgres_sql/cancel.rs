//! A cancel in SQL is core's cancel, also beside claims and settles.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::change::{Change, Refused};
use punctual_core::channel::{Receipt, SendError};
use punctual_core::decide::decide;
use punctual_core::id::ReminderId;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{AckPolicy, Address, Reminder};
use punctual_core::retry::RetryPolicy;
use punctual_core::shard::Shards;
use punctual_core::step::Step;
use punctual_core::store::{By, ChangeError, Claim, Create, NewReminder, Store};
use punctual_store::postgres::PostgresStore;
use punctual_testkit::sample::{every, instant, once, user};
use punctual_testkit::servers::Postgres;

use crate::client::{Listener, database};

fn at(second: i64) -> Timestamp {
    instant("2026-05-04T08:00:00Z") + SignedDuration::from_secs(second)
}

fn by(second: i64) -> By {
    By::new("sql:punctual", at(second))
}

async fn create(store: &PostgresStore, reminders: &[Reminder]) {
    let new = |reminder: &Reminder| NewReminder { reminder: reminder.clone(), first_due_at: at(0) };
    let reminders = reminders.iter().map(new).collect();
    store.create(Create { reminders, who: "ann".into(), answered: None, now: at(0) }).await.unwrap();
}

fn claim(now: i64, limit: usize) -> Claim {
    Claim {
        now: at(now),
        from: Timestamp::MIN,
        until: at(now),
        shards: Shards::ALL,
        limit,
        node: "n".into(),
        lease_until: at(now + 15),
        default_channel: DefaultChannel::chosen(Address::new("console", "")),
        only: None,
        holding: Default::default(),
    }
}

/// Claims all that is due and settles it with what `said` says.
async fn send(store: &PostgresStore, now: i64, said: impl Fn(&Reminder) -> Result<Receipt, SendError>) {
    let claims = store.claim(claim(now, 100)).await.unwrap();
    let settlements = claims
        .to_send
        .iter()
        .map(|claimed| decide(claimed, said(&claimed.reminder), &RetryPolicy::default(), 0.0, at(now), at(now)));
    store.settle(settlements.collect(), at(now)).await.unwrap();
}

fn asking(reminder: Reminder) -> Reminder {
    let ack = AckPolicy { prompt: None, timeout: Duration::from_secs(600), reminders_max: 3 };
    Reminder { ack: Some(ack), ..reminder }
}

/// One reminder in every state there is; the same in every database.
async fn one_of_each(store: &PostgresStore) -> Vec<(&'static str, ReminderId)> {
    let failing = |number| Reminder { message: "fail".into(), ..once(number, at(0), at(0)) };
    let sent = [
        ("delivered, over", once(1, at(0), at(0))),
        ("delivered, goes on", every(2, Duration::from_secs(3600), at(0))),
        ("awaiting an answer", asking(once(3, at(0), at(0)))),
        ("awaiting an answer, goes on", asking(every(4, Duration::from_secs(3600), at(0)))),
        ("to be tried again", failing(5)),
        ("to be tried again after it reached somebody", asking(failing(6))),
        ("put off", asking(once(7, at(0), at(0)))),
        ("put off, goes on", asking(every(8, Duration::from_secs(3600), at(0)))),
        ("answered", asking(once(9, at(0), at(0)))),
    ];
    create(store, &sent.clone().map(|(_, reminder)| reminder)).await;
    send(store, 0, |reminder| match &reminder.message {
        text if text == "fail" && reminder.ack.is_none() => Err(SendError::Unavailable("not now".into())),
        _ => Ok(Receipt::default()),
    })
    .await;
    // The one with an answer is asked again, and that fails.
    send(store, 601, |reminder| match &reminder.message {
        text if text == "fail" => Err(SendError::Unavailable("not now".into())),
        _ => Ok(Receipt::default()),
    })
    .await;
    let until = at(7200);
    for (number, change) in [(7, Change::Snooze { until }), (8, Change::Snooze { until }), (9, Change::Ack)] {
        let id = once(number, at(0), at(0)).id;
        store.change(id, change, by(602)).await.unwrap();
    }
    let waiting = [
        ("scheduled", once(11, at(0), at(0))),
        ("scheduled, recurring", every(12, Duration::from_secs(3600), at(0))),
        ("paused", once(13, at(0), at(0))),
        ("paused, recurring", every(14, Duration::from_secs(3600), at(0))),
        ("cancelled", once(15, at(0), at(0))),
        ("fired beside", once(16, at(0), at(0))),
    ];
    create(store, &waiting.clone().map(|(_, reminder)| reminder)).await;
    for (number, change) in [(13, Change::Pause), (14, Change::Pause), (15, Change::Cancel), (16, Change::Fire)] {
        store.change(once(number, at(0), at(0)).id, change, by(700)).await.unwrap();
    }
    let held = ("being sent", once(21, at(0) - SignedDuration::from_secs(9), at(0)));
    let ids = sent.iter().chain(&waiting).chain([&held]).map(|(name, reminder)| (*name, reminder.id)).collect();
    let new = NewReminder { reminder: held.1, first_due_at: at(-9) };
    let new = Create { reminders: vec![new], who: "ann".into(), answered: None, now: at(0) };
    store.create(new).await.unwrap();
    assert_eq!(store.claim(claim(-9, 1)).await.unwrap().to_send.len(), 1);
    ids
}

/// All that is kept of a reminder but for when it was changed.
fn kept(server: &Postgres, name: &str, id: ReminderId) -> String {
    let parts = [
        ("reminder", "to_jsonb(t) - 'updated_at'", "id", "id"),
        ("occurrence", "to_jsonb(t) - 'at' || jsonb_build_object('at', t.at is null)", "reminder_id", "run"),
        ("attempt", "to_jsonb(t)", "reminder_id", "run, number"),
        ("response", "to_jsonb(t)", "reminder_id", "number"),
        ("journal", "to_jsonb(t) - 'at' - 'write' - 'item' - 'via'", "reminder_id", "write, item"),
    ];
    let part = |(table, what, key, order): (&str, &str, &str, &str)| {
        format!(
            "(select string_agg(({what})::text, E'\\n' order by {order}) from punctual.{table} t where {key} = '{id}')"
        )
    };
    server.sql(name, &format!("select concat_ws(E'\\n', {})", parts.map(part).join(", ")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_in_sql_does_what_cores_cancel_does() {
    let Some(server) = Postgres::start() else { return };
    let (by_sql, a) = database(&server).await;
    let (by_store, b) = database(&server).await;
    let ids = one_of_each(&by_sql).await;
    assert_eq!(one_of_each(&by_store).await, ids);
    let client = Listener::connect(&server.url(&a)).await.client;
    let mut answers = Vec::new();
    for (state, id) in ids {
        let before = kept(&server, &a, id);
        assert_eq!(before, kept(&server, &b, id), "{state}");
        // Not for another user, and not what is not there.
        assert_eq!(server.sql(&a, &format!("select punctual.cancel('{id}', 'bob')")), "f", "{state}");
        assert_eq!(kept(&server, &a, id), before, "{state}");
        let said = client.query_one(&format!("select punctual.cancel('{id}', 'ann')"), &[]).await;
        let said = said.map(|row| row.get::<_, bool>(0)).map_err(|error| error.as_db_error().cloned());
        let expect = by_store.change(id, Change::Cancel, by(800)).await;
        match (&said, &expect) {
            (Ok(true), Ok(_)) | (Ok(false), Err(ChangeError::Refused(Refused::NotNow(_)))) => {}
            (Err(Some(error)), Err(ChangeError::Refused(Refused::SendBegun))) => {
                assert_eq!(error.code().code(), "55000");
                assert!(error.message().starts_with("the send has begun"), "{error}");
            }
            _ => panic!("{state}: {said:?}, {expect:?}"),
        }
        answers.push(format!("{state}: {}", said.map_or("begun", |said| if said { "cancelled" } else { "nothing" })));
        assert_eq!(kept(&server, &a, id), kept(&server, &b, id), "{state}");
    }
    println!("{}", answers.join("\n"));
    assert_eq!(answers.iter().filter(|answer| answer.ends_with("cancelled")).count(), 12);
    assert_eq!(server.sql(&a, "select punctual.cancel(gen_random_uuid()), punctual.cancel(null)"), "f|f");
}

/// Sends what is due of `id`.
async fn send_only(store: &PostgresStore, id: ReminderId, now: i64, said: Result<Receipt, SendError>) {
    let claims = store.claim(Claim { only: Some(vec![id]), ..claim(now, 1) }).await.unwrap();
    let settlement = decide(&claims.to_send[0], said, &RetryPolicy::default(), 0.0, at(now), at(now));
    store.settle(vec![settlement], at(now)).await.unwrap();
}

/// Ann was asked in vain at second 0, bob was asked in her place at second 30, and eve follows at second 50.
async fn asked_in_turn(store: &PostgresStore, server: &Postgres, name: &str, number: u8) -> [ReminderId; 3] {
    let step = |seconds, to: &str| Step { after: Duration::from_secs(seconds), to: to.parse().unwrap() };
    let ann = Reminder { escalate: vec![step(30, "bob"), step(50, "eve")], ..asking(once(number, at(0), at(0))) };
    create(store, std::slice::from_ref(&ann)).await;
    send_only(store, ann.id, 0, Ok(Receipt::default())).await;
    store.claim(Claim { only: Some(vec![ann.id]), ..claim(30, 1) }).await.unwrap();
    let other = |user| {
        let sql = format!("select id from punctual.reminder where escalates_id = '{}' and user_id = '{user}'", ann.id);
        server.sql(name, &sql).parse().unwrap()
    };
    let [bob, eve] = ["bob", "eve"].map(other);
    send_only(store, bob, 30, Ok(Receipt::default())).await;
    [ann.id, bob, eve]
}

/// Families in every state that matters to a cancel; the same in every database.
async fn families(store: &PostgresStore, server: &Postgres, name: &str) -> Vec<(&'static str, [ReminderId; 3])> {
    for id in ["ann", "bob", "eve"] {
        store.put_user(user(id, at(0)), "ann".into()).await.unwrap();
    }
    let until = at(7200);
    let later = || Change::Snooze { until };
    // Who does what before the cancel: 0 is ann, 1 bob, 2 eve.
    let before: [(&str, Vec<(usize, Change)>); 10] = [
        ("bob awaits, eve is scheduled", vec![]),
        ("bob is paused while he is asked", vec![(1, Change::Pause)]),
        ("eve is paused before she is asked", vec![(2, Change::Pause)]),
        ("bob has put it off", vec![(1, later())]),
        ("bob has put it off and is paused", vec![(1, later()), (1, Change::Pause)]),
        ("bob is asked twice", vec![(1, Change::Fire)]),
        ("ann is paused", vec![(0, Change::Pause)]),
        ("bob and eve are cancelled", vec![(1, Change::Cancel), (2, Change::Cancel)]),
        ("ann is paused and has answered", vec![(0, Change::Pause), (0, Change::Ack)]),
        ("bob has answered", vec![(1, Change::Ack)]),
    ];
    let mut families = Vec::new();
    for (number, (state, changes)) in (1..).zip(before) {
        let family = asked_in_turn(store, server, name, number).await;
        for (who, change) in changes {
            store.change(family[who], change, by(40)).await.unwrap();
        }
        families.push((state, family));
    }
    let retried = asked_in_turn(store, server, name, 21).await;
    send_only(store, retried[1], 630, Err(SendError::Unavailable("not now".into()))).await;
    families.push(("bob is tried again after he was reached", retried));
    let sending = asked_in_turn(store, server, name, 22).await;
    store.claim(Claim { only: Some(vec![sending[2]]), ..claim(50, 1) }).await.unwrap();
    families.push(("eve is just being asked", sending));
    families
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_in_sql_ends_the_questions_of_others_as_cores_does() {
    let Some(server) = Postgres::start() else { return };
    let (by_sql, a) = database(&server).await;
    let (by_store, b) = database(&server).await;
    let all = families(&by_sql, &server, &a).await;
    assert_eq!(families(&by_store, &server, &b).await, all);
    let client = Listener::connect(&server.url(&a)).await.client;
    let mut answers = Vec::new();
    for (state, family) in all {
        for id in family {
            assert_eq!(kept(&server, &a, id), kept(&server, &b, id), "{state}");
        }
        let said = client.query_one(&format!("select punctual.cancel('{}')", family[0]), &[]).await;
        let said = said.map(|row| row.get::<_, bool>(0)).map_err(|error| error.code().unwrap().code().to_owned());
        let expect = by_store.change(family[0], Change::Cancel, by(800)).await;
        match (&said, &expect) {
            (Ok(true), Ok(_)) | (Ok(false), Err(ChangeError::Refused(Refused::NotNow(_)))) => {}
            (Err(code), Err(ChangeError::Refused(Refused::OtherBegun(_)))) => assert_eq!(code, "55000"),
            _ => panic!("{state}: {said:?}, {expect:?}"),
        }
        answers.push(format!("{state}: {}", said.map_or("begun", |said| if said { "cancelled" } else { "nothing" })));
        for (who, id) in ["ann", "bob", "eve"].into_iter().zip(family) {
            assert_eq!(kept(&server, &a, id), kept(&server, &b, id), "{state}: {who}");
        }
    }
    println!("{}", answers.join("\n"));
    assert_eq!(answers.iter().filter(|answer| answer.ends_with("cancelled")).count(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_dies_with_its_transaction_and_nobody_waits_for_it() {
    let Some(server) = Postgres::start() else { return };
    let (store, name) = database(&server).await;
    create(&store, &[once(1, at(0), at(0)), once(2, at(0), at(0))]).await;
    let mut listener = Listener::connect(&server.url(&name)).await;
    let client = Listener::connect(&server.url(&name)).await.client;
    let id = once(1, at(0), at(0)).id;
    client.batch_execute(&format!("begin; select punctual.cancel('{id}')")).await.unwrap();
    // The claim steps around what the open transaction holds.
    assert_eq!(store.claim(claim(0, 10)).await.unwrap().to_send.len(), 1);
    listener.told().await;
    client.batch_execute("rollback").await.unwrap();
    assert_eq!(listener.told().await, Vec::<String>::new());
    assert_eq!(store.claim(claim(0, 10)).await.unwrap().to_send.len(), 1);
    create(&store, &[once(3, at(0), at(0))]).await;
    listener.told().await;
    let id = once(3, at(0), at(0)).id;
    assert_eq!(server.sql(&name, &format!("select punctual.cancel('{id}')")), "t");
    assert_eq!(listener.told().await, ["look"]);
    assert_eq!(store.claim(claim(0, 10)).await.unwrap().to_send.len(), 0);
}

/// A cancelled run is never sent and a run under way is never cancelled, whichever comes first.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_and_a_claim_of_the_same_reminder_agree_who_was_first() {
    const N: u16 = 600;
    let Some(server) = Postgres::start() else { return };
    let (store, name) = database(&server).await;
    let store = Arc::new(store);
    let reminders: Vec<Reminder> = (0..N)
        .map(|number| {
            let mut random = [0; 10];
            random[8..].copy_from_slice(&number.to_be_bytes());
            let id = ReminderId::new(at(0), random);
            // Every third goes on, so that settles plan further runs while it is cancelled.
            match number % 3 {
                0 => Reminder { id, ..every(0, Duration::from_secs(1), at(0)) },
                _ => Reminder { id, ..once(0, at(0), at(0)) },
            }
        })
        .collect();
    create(&store, &reminders).await;
    let claiming = tokio::spawn({
        let store = store.clone();
        async move {
            for round in 0..60 {
                let claims = store.claim(claim(round, 20)).await.unwrap();
                let settle = |claimed: &_| {
                    decide(claimed, Ok(Receipt::default()), &RetryPolicy::default(), 0.0, at(round), at(round))
                };
                store.settle(claims.to_send.iter().map(settle).collect(), at(round)).await.unwrap();
            }
        }
    });
    let cancelling = |url: String, ids: Vec<ReminderId>| async move {
        let client = Listener::connect(&url).await.client;
        let (mut n_cancelled, mut n_begun) = (0, 0);
        for id in ids {
            match client.query_one(&format!("select punctual.cancel('{id}')"), &[]).await {
                Ok(row) => n_cancelled += u32::from(row.get::<_, bool>(0)),
                Err(error) if error.code().is_some_and(|code| code.code() == "55000") => n_begun += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
        (n_cancelled, n_begun)
    };
    let ids: Vec<ReminderId> = reminders.iter().map(|reminder| reminder.id).collect();
    let backwards: Vec<ReminderId> = ids.iter().rev().copied().collect();
    let other = tokio::spawn(cancelling(server.url(&name), backwards));
    let ((a, a_begun), (b, b_begun)) = (cancelling(server.url(&name), ids).await, other.await.unwrap());
    claiming.await.unwrap();
    println!("{} cancelled, {} had begun", a + b, a_begun + b_begun);
    let cancelled = "select count(*) from punctual.reminder where status = 'cancelled'";
    assert_eq!(server.sql(&name, cancelled), (a + b).to_string(), "each was cancelled once");
    let entries = "select count(*) from punctual.journal where kind = 'reminder.cancelled'";
    assert_eq!(server.sql(&name, entries), (a + b).to_string());
    let alive = "select count(*) from punctual.occurrence o join punctual.reminder r on r.id = o.reminder_id \
                 where r.status = 'cancelled' and (o.wake_at is not null or r.carried_by is not null)";
    assert_eq!(server.sql(&name, alive), "0", "nothing of what was cancelled is left");
    let sent = "select count(*) from punctual.occurrence o where o.state = 'cancelled' and exists (select from \
                punctual.attempt t where t.reminder_id = o.reminder_id and t.run = o.run)";
    assert_eq!(server.sql(&name, sent), "0", "nothing of what was cancelled was sent");
}
