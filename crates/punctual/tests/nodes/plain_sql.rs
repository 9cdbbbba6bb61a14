//! Nodes notice the changes that any client makes in plain SQL.

use std::time::Duration;

use jiff::Timestamp;

use crate::books::Books;
use crate::cluster::{Cluster, spread};
use crate::common::soon;
use crate::receiver::Receiver;

/// How soon a change made by any client must take effect. It is aimed at a fiftieth of it.
const WITHIN: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_change_in_plain_sql_takes_effect_at_once() {
    let Some(cluster) = Cluster::of(3) else { return };
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    // Due in an hour, so that no node watches them.
    let far = cluster.soon(Duration::from_secs(3_600));
    let created = cluster.nodes[0].create(&receiver.hook(), &spread(30, far, Duration::ZERO)).await;

    let mut moved = Books::default();
    for (id, _) in &created[..15] {
        // It is due when the statement runs; the nodes learn of it when it is committed.
        let due_at = cluster.sql(&format!(
            "update punctual.occurrence set (due_at, wake_at) = (select t, t from clock_timestamp() t) \
             where reminder_id = '{id}' returning to_json(due_at)#>>'{{}}'"
        ));
        moved.add([(id.clone(), due_at.parse().unwrap())]);
        soon(receiver.until_all([id])).await;
    }
    check("moved in plain SQL", &moved, &receiver);

    // Written in plain SQL: copies under ids of their own.
    let written = write(&cluster, &receiver, &created[15..], |id| {
        format!(
            "with new as (select gen_random_uuid() as id, clock_timestamp() as at), \
             reminder as (insert into punctual.reminder select (jsonb_populate_record(r, jsonb_build_object('id', new.id))).* \
             from punctual.reminder r, new where r.id = '{id}'), \
             occurrence as (insert into punctual.occurrence select (jsonb_populate_record(o, jsonb_build_object( \
             'reminder_id', new.id, 'due_at', new.at, 'wake_at', new.at))).* \
             from punctual.occurrence o, new where o.reminder_id = '{id}') \
             select id, to_json(at)#>>'{{}}' from new"
        )
    });
    check("written in plain SQL", &written.await, &receiver);

    // And with the function that is made for it, for users of all shards.
    let to = format!("[{{\"channel\": \"webhook\", \"address\": \"{}\"}}]", receiver.hook());
    let reminded = write(&cluster, &receiver, &created[15..], |id| {
        format!(
            "select punctual.remind(user_id => 'user {id}', message => 'm', at => t, \"to\" => '{to}'), to_json(t)#>>'{{}}' \
             from clock_timestamp() t"
        )
    });
    check("punctual.remind", &reminded.await, &receiver);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_finds_a_run_in_anothers_hands_counts_as_lost() {
    let Some(mut cluster) = Cluster::of(2) else { return };
    cluster.until_divided().await;
    let receiver = Receiver::listen().await;
    let due_at = cluster.soon(Duration::from_secs(3));
    let created = cluster.nodes[0].create(&receiver.hook(), &spread(1, due_at, Duration::ZERO)).await;
    let id = &created[0].0;
    let held = "punctual_claims_lost_total";
    let before = cluster.nodes[0].metric(held).await + cluster.nodes[1].metric(held).await;
    // It is locked from before its instant until two heartbeats after it, as by a node that is just claiming it.
    let lock = format!(
        "begin; select 1 from punctual.occurrence where reminder_id = '{id}' for update; select pg_sleep(6); commit"
    );
    cluster.sql(&lock);
    soon(receiver.until_all([id])).await;
    let lost = cluster.nodes[0].metric(held).await + cluster.nodes[1].metric(held).await - before;
    assert!((1.0..=8.0).contains(&lost), "{lost} claims are called lost");
    let logs: Vec<String> = (0..2).flat_map(|node| cluster.nodes[node].stop_and_read_log()).collect();
    assert!(logs.iter().any(|line| line.contains("already claimed elsewhere")), "{logs:#?}");
}

/// Runs one statement after the other, each of which returns the id and the instant of what it wrote.
async fn write(
    cluster: &Cluster,
    receiver: &Receiver,
    templates: &[(String, Timestamp)],
    sql: impl Fn(&str) -> String,
) -> Books {
    let mut books = Books::default();
    for (template, _) in templates {
        let row = cluster.sql(&sql(template));
        let (id, due_at) = row.split_once('|').unwrap();
        books.add([(id.to_owned(), due_at.parse().unwrap())]);
        soon(receiver.until_all([&id.to_owned()])).await;
    }
    books
}

fn check(what: &str, books: &Books, receiver: &Receiver) {
    let arrivals = receiver.arrivals();
    let own: Vec<_> = arrivals.into_iter().filter(|arrival| books.due.contains_key(&arrival.reminder)).collect();
    let verdict = books.compare(&own);
    println!("{what}: {verdict}");
    verdict.holds().late_at_most(WITHIN);
}
