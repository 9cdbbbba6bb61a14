//! Who may call what.

use std::time::Duration;

use punctual_engine::machine;
use punctual_store::postgres;
use punctual_testkit::servers::Postgres;
use tokio_postgres::Client;

use crate::client::{Listener, database};

/// Each function that is for everybody, with arguments that work.
const CALLS: [&str; 7] = [
    "punctual.remind('ann', 'x', at => now() + interval '1 hour', \"to\" => '[\"webhook:https://example.org\"]')",
    "punctual.cancel(gen_random_uuid())",
    "punctual.put_scope('guild:1', '{60}')",
    "punctual.put_event('game:1', now() + interval '2 hours', scope => 'guild:1', message => '{starts_at}', users => '{ann}')",
    "punctual.put_instance('none', now()::timestamp, cancelled => true)",
    "punctual.remove_scope('guild:1')",
    "punctual.remove_event('game:1')",
];

/// Statements that only the owner may run.
const OTHERS: [&str; 12] = [
    "select * from punctual.reminder",
    "select * from punctual.app_user",
    "select * from punctual.api_key",
    "insert into punctual.scope (path, offsets, updated_at) values ('x', '[]', now())",
    "update punctual.occurrence set wake_at = now()",
    "select * from punctual.throttle",
    "insert into punctual.throttle values ('webhook', false, 'h', now() + interval '1 hour', now())",
    "insert into punctual.recall values (gen_random_uuid(), now())",
    "select punctual.tell('{}', true)",
    "select punctual.take_turns('{x}', '{1}', '{1}')",
    "select punctual.end_open(gen_random_uuid(), '{}')",
    "select punctual.admit('app')",
];

async fn connect(server: &Postgres, name: &str, role: &str) -> Client {
    Listener::connect(&server.url(name).replace("punctual@", &format!("{role}@"))).await.client
}

/// A node that waits for a lock gives up after 30 seconds.
#[expect(clippy::disallowed_methods, reason = "a test that hangs must fail; this is its only clock")]
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it waits for a stranger")
}

async fn is_denied(client: &Client, statement: &str) -> bool {
    let error = client.batch_execute(statement).await.err();
    error.is_some_and(|error| error.code().is_some_and(|code| code.code() == "42501"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_call_the_functions_and_nothing_else() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = database(&server).await;
    server.sql(&name, "create role app login in role punctual_client; create role nobody login");
    let (app, nobody) = (connect(&server, &name, "app").await, connect(&server, &name, "nobody").await);
    // A caller's own functions and tables, put before the system's, do not reach into functions that run as the owner.
    server.sql(&name, "create schema evil; grant all on schema evil to app");
    let evil = "create function evil.clock_timestamp() returns timestamptz language sql as $$ select 1 / 0; select now() $$; \
                create function evil.octet_length(bytea) returns int language sql as $$ select 1 / 0 $$; \
                create temp table setting (name text, value text); set search_path = evil, pg_temp, pg_catalog";
    app.batch_execute(evil).await.unwrap();
    for call in CALLS {
        app.batch_execute(&format!("select {call}")).await.unwrap_or_else(|error| panic!("{call}: {error:?}"));
        assert!(is_denied(&nobody, &format!("select {call}")).await, "{call}");
    }
    for statement in OTHERS {
        assert!(is_denied(&app, statement).await, "{statement}");
    }
    let actors = "select distinct actor from punctual.journal";
    assert_eq!(server.sql(&name, actors), "sql:app", "the journal names who has logged in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_role_has_no_right_and_a_client_may_call_seven_functions() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = database(&server).await;
    server.sql(&name, "create role app login in role punctual_client; create role nobody login");
    let callable = |role: &str| {
        let functions = format!(
            "select coalesce(string_agg(distinct p.proname, ' ' order by p.proname), '') from pg_proc p \
             where p.pronamespace = 'punctual'::regnamespace and has_function_privilege('{role}', p.oid, 'execute')"
        );
        server.sql(&name, &functions)
    };
    assert_eq!(callable("nobody"), "");
    assert_eq!(callable("app"), "cancel put_event put_instance put_scope remind remove_event remove_scope");
    for role in ["nobody", "app"] {
        let readable = format!(
            "select coalesce(string_agg(c.relname, ' '), '') from pg_class c where c.relnamespace = 'punctual'::regnamespace \
             and c.relkind in ('r', 'p', 'v', 'm', 'S') and (case when c.relkind = 'S' \
             then has_sequence_privilege('{role}', c.oid, 'usage, select, update') \
             else has_table_privilege('{role}', c.oid, 'select, insert, update, delete, truncate, references, trigger') \
             or has_any_column_privilege('{role}', c.oid, 'select, insert, update, references') end)"
        );
        assert_eq!(server.sql(&name, &readable), "", "{role}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_anybody_can_take_keeps_no_node_from_starting() {
    let Some(server) = Postgres::start() else { return };
    let name = server.new_database(None);
    server.sql(&name, "create role nobody login");
    let nobody = connect(&server, &name, "nobody").await;
    // Every advisory lock that a node has ever taken, and what it may be guessed to take.
    nobody
        .batch_execute("select pg_advisory_lock(1886744163), pg_advisory_lock(0), pg_advisory_lock(0, 1886744163)")
        .await
        .unwrap();
    assert!(is_denied(&nobody, "create schema punctual").await);
    let url = server.url(&name);
    // Two at once, where there is nothing yet.
    let machine = machine();
    let (one, other) =
        soon(async { tokio::join!(postgres::migrate(&url, &machine), postgres::migrate(&url, &machine)) }).await;
    one.unwrap();
    other.unwrap();
    for locking in [
        "do $$ begin lock table punctual.migration in access share mode; end $$",
        "select 1 from punctual.migration for share",
    ] {
        assert!(is_denied(&nobody, locking).await, "{locking}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_may_make_no_roles_migrates_all_the_same() {
    let Some(server) = Postgres::start() else { return };
    server.sql("postgres", "create role plain login");
    server.sql("postgres", "create database app owner plain");
    let url = server.url("app").replace("punctual@", "plain@");
    postgres::migrate(&url, &machine()).await.unwrap();
    let made = "select count(*) from pg_roles where rolname = 'punctual_client'";
    assert_eq!(server.sql("app", made), "0");
    // Later, by somebody who may.
    server.sql("app", "create role punctual_client nologin; create role client login in role punctual_client");
    let owner = connect(&server, "app", "plain").await;
    owner.batch_execute("select punctual.admit('punctual_client')").await.unwrap();
    let client = connect(&server, "app", "client").await;
    for call in CALLS {
        client.batch_execute(&format!("select {call}")).await.unwrap_or_else(|error| panic!("{call}: {error:?}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_databases_of_one_cluster_migrate_at_once() {
    let Some(server) = Postgres::start() else { return };
    let names: Vec<String> = (0..6).map(|_| server.new_database(None)).collect();
    let tasks: Vec<_> = names
        .iter()
        .flat_map(|name| [server.url(name), server.url(name)])
        .map(|url| tokio::spawn(async move { postgres::migrate(&url, &machine()).await }))
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    server.sql("postgres", "create role app login in role punctual_client");
    for name in &names {
        let app = connect(&server, name, "app").await;
        app.batch_execute(&format!("select {}", CALLS[0])).await.unwrap();
    }
}
