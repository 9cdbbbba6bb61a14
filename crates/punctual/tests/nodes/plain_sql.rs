//! What any client changes in plain SQL.

use std::time::Duration;

use crate::books::Books;
use crate::cluster::{Cluster, spread};
use crate::common::soon;
use crate::receiver::Receiver;

/// How soon a change made by any client must take effect. It is aimed at a fiftieth of it.
const WITHIN: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the trigger that tells what any client changes is not there yet"]
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
    let verdict = moved.compare(&receiver.arrivals());
    println!("moved in plain SQL: {verdict}");
    verdict.holds().late_at_most(WITHIN);

    // Written in plain SQL: copies under ids of their own.
    let mut written = Books::default();
    for (id, _) in &created[15..] {
        let row = cluster.sql(&format!(
            "with new as (select gen_random_uuid() as id, clock_timestamp() as at), \
             reminder as (insert into punctual.reminder select (jsonb_populate_record(r, jsonb_build_object('id', new.id))).* \
             from punctual.reminder r, new where r.id = '{id}'), \
             occurrence as (insert into punctual.occurrence select (jsonb_populate_record(o, jsonb_build_object( \
             'reminder_id', new.id, 'due_at', new.at, 'wake_at', new.at))).* \
             from punctual.occurrence o, new where o.reminder_id = '{id}') \
             select id, to_json(at)#>>'{{}}' from new"
        ));
        let (id, due_at) = row.split_once('|').unwrap();
        written.add([(id.to_owned(), due_at.parse().unwrap())]);
        soon(receiver.until_all([&id.to_owned()])).await;
    }
    let arrivals: Vec<_> =
        receiver.arrivals().into_iter().filter(|arrival| written.due.contains_key(&arrival.reminder)).collect();
    let verdict = written.compare(&arrivals);
    println!("written in plain SQL: {verdict}");
    verdict.holds().late_at_most(WITHIN);
}
