//! What nodes are told when rows change, and when they are left alone.

use punctual_testkit::servers::Postgres;

use crate::client::{Listener, database};

/// A statement, and what is told of it. `{N}` stands for a moment N seconds from the start, `{N!}` for its microseconds.
async fn check(listener: &mut Listener, statement: &str, expect: &[&str]) {
    let row = "select extract(epoch from at)::bigint from moment";
    let start: i64 = listener.client.query_one(row, &[]).await.unwrap().get(0);
    let fill = |text: &str| {
        let mut parts = text.split(['{', '}']);
        let mut filled = parts.next().unwrap_or_default().to_owned();
        while let (Some(moment), Some(rest)) = (parts.next(), parts.next()) {
            let (seconds, micros) = moment.strip_suffix('!').map_or((moment, false), |seconds| (seconds, true));
            let at = start + seconds.parse::<i64>().unwrap();
            let moment = if micros { format!("{}", at * 1_000_000) } else { format!("to_timestamp({at})") };
            filled = filled + &moment + rest;
        }
        filled
    };
    listener.client.batch_execute(&fill(statement)).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    let expect: Vec<String> = expect.iter().map(|text| fill(text)).collect();
    assert_eq!(listener.told().await, expect, "{statement}");
}

/// Inserts occurrences with these numbers; `values` gives shard and wake_at.
fn insert(values: &str) -> String {
    format!(
        "insert into punctual.occurrence (reminder_id, run, due_at, state, wake_at, priority, shard) \
         select ('0198c0de-0000-7000-8000-' || lpad(v.n::text, 12, '0'))::uuid, 1, now(), 'scheduled', v.at, 1, v.shard \
         from ({values}) as v (n, shard, at)"
    )
}

fn update(what: &str, of: &str) -> String {
    format!("update punctual.occurrence set {what} where right(reminder_id::text, 12)::int {of}")
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_told_once_a_statement_and_only_of_what_is_near() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = database(&server).await;
    let mut listener = Listener::connect(&server.url(&name)).await;
    let listener = &mut listener;
    // Moments are counted from one that the server and the test agree on.
    server.sql(&name, "create table moment as select date_trunc('second', now()) as at");

    check(listener, &insert("values (1, 7, {60})"), &["wake 7:{60!}"]).await;
    // Two of one shard at one moment are one pair; the past counts as well as the next two minutes.
    let some = insert("values (2, 7, {30}), (3, 7, {30}), (4, 8, {30}), (5, 9, {-5}), (6, 9, {3600}), (7, 9, null)");
    check(listener, &some, &["wake 7:{30!} 8:{30!} 9:{-5!}"]).await;
    check(listener, &insert("values (8, 1, '-infinity'::timestamptz), (9, 1, 'infinity')"), &["wake 1:0"]).await;
    // A burst is not listed, and what is far away is told to nobody.
    let burst = "select 1000 + n, n % 256, {20} + n * interval '1 millisecond' from generate_series(1, 51) n";
    check(listener, &insert(burst), &["look"]).await;
    let far = "select 10000 + n, n % 256, {3600} + n * interval '1 second' from generate_series(1, 10000) n";
    check(listener, &insert(far), &[]).await;

    // Nearer, by a little or from afar: that moment. Later, ended or gone: look. Anything else: nothing.
    check(listener, &update("wake_at = {10}", "= 1"), &["wake 7:{10!}"]).await;
    check(listener, &update("wake_at = {11}", "= 6"), &["wake 9:{11!}"]).await;
    check(listener, &update("wake_at = {12}", "= 7"), &["wake 9:{12!}"]).await;
    check(listener, &update("wake_at = {5}", "in (1, 6)"), &["wake 7:{5!} 9:{5!}"]).await;
    check(listener, &update("wake_at = {15}", "= 1"), &["look"]).await;
    check(listener, &update("wake_at = {7200}", "= 1"), &["look"]).await;
    check(listener, &update("wake_at = null, state = 'cancelled'", "= 6"), &["look"]).await;
    check(listener, &update("wake_at = {7300}, attempts = 1", "> 10000"), &[]).await;
    check(listener, &update("attempts = 1, state = 'pending_retry'", "< 2000"), &[]).await;
    check(listener, &update("attempts = 1", "= 999999"), &[]).await;
    check(listener, &update("wake_at = {1}", "> 10000"), &["look"]).await;
    check(listener, &update("wake_at = {9000}", "> 10000"), &["look"]).await;
    check(listener, "delete from punctual.occurrence where wake_at > {8000}", &[]).await;
    check(listener, "delete from punctual.occurrence where wake_at is null", &[]).await;
    check(listener, "delete from punctual.occurrence where shard = 8", &["look"]).await;
    check(listener, "delete from punctual.occurrence where shard = 8", &[]).await;

    // Rolled back, or quiet, nothing is told; the quiet ends with its transaction.
    check(listener, &format!("begin; {}; rollback", insert("values (20, 1, {1})")), &[]).await;
    let quiet = format!(
        "begin; set local punctual.quiet = 'on'; {}; {}; delete from punctual.occurrence; commit",
        insert("values (21, 1, {1})"),
        update("wake_at = {2}", "= 21")
    );
    check(listener, &quiet, &[]).await;
    check(listener, &insert("values (22, 1, {1})"), &["wake 1:{1!}"]).await;

    // One for each statement; very many statements in one transaction become one look.
    let two = format!("begin; {}; {}; commit", insert("values (31, 1, {1})"), insert("values (32, 1, {2})"));
    check(listener, &two, &["wake 1:{1!}", "wake 1:{2!}"]).await;
    let inserts: Vec<String> = (0..200).map(|n| insert(&format!("values ({}, 1, {{{n}}})", 100 + n))).collect();
    let each = (0..50).map(|n| format!("wake 1:{{{n}!}}")).collect::<Vec<_>>();
    let expect: Vec<&str> = each.iter().map(String::as_str).chain(["look"]).collect();
    // The last of them lie beyond what is watched.
    check(listener, &format!("begin; {}; commit", inserts.join(";")), &expect).await;
    check(listener, &insert("values (33, 1, {3})"), &["wake 1:{3!}"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_write_the_table_needs_no_other_rights() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = database(&server).await;
    server.sql(
        &name,
        "create role writer login; grant usage on schema punctual to writer; \
         grant select, insert, update, delete on punctual.occurrence to writer",
    );
    let mut writer = Listener::connect(&server.url(&name).replace("punctual@", "writer@")).await;
    let statements = [
        insert("values (1, 7, now()), (2, 7, now() + interval '1 hour')"),
        update("wake_at = now()", "= 2"),
        "delete from punctual.occurrence".to_owned(),
    ];
    for statement in statements {
        writer.client.batch_execute(&statement).await.unwrap();
        assert_eq!(writer.told().await.len(), 1, "{statement}");
    }
}
