//! The functions' text is put in place when it changes, and a newer program's stays.

use punctual_engine::machine;
use punctual_store::postgres::{self, PostgresStore};
use punctual_testkit::servers::Postgres;

use crate::client::database;

/// Another text of one function, as another program would have put it.
const OTHER: &str =
    "create or replace function punctual.actor() returns text language sql stable as $$ select 'other' $$";

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_text_is_put_in_place_and_a_newer_programs_text_stays() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = database(&server).await;
    let sql = |text: &str| server.sql(&name, text);
    let kept = "select program::text || ' ' || hash from punctual.functions";
    let ours = sql(kept);
    for (program, stays) in [("{0,0,0}", false), (&ours[..ours.find(' ').unwrap()], false), ("{999,0,0}", true)] {
        sql(OTHER);
        sql(&format!("update punctual.functions set program = '{program}', hash = 'other'"));
        postgres::migrate(&server.url(&name), &machine()).await.unwrap();
        assert_eq!(sql("select punctual.actor() = 'other'"), if stays { "t" } else { "f" }, "{program}");
        let expect = if stays { format!("{program} other") } else { ours.clone() };
        assert_eq!(sql(kept), expect, "{program}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_text_is_not_put_in_place_again() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = database(&server).await;
    let rows =
        "select string_agg(xmin::text, ' ' order by oid) from pg_proc where pronamespace = 'punctual'::regnamespace";
    let before = server.sql(&name, rows);
    postgres::migrate(&server.url(&name), &machine()).await.unwrap();
    assert_eq!(server.sql(&name, rows), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_with_other_arguments_takes_the_place_of_the_one_before() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = database(&server).await;
    let sql = |text: &str| server.sql(&name, text);
    let all = "select string_agg(p.oid::regprocedure || ' ' || pg_get_function_arguments(p.oid) || ' ' \
               || pg_get_function_result(p.oid), E'\\n' order by p.oid::regprocedure::text) \
               from pg_proc p where p.pronamespace = 'punctual'::regnamespace";
    let expect = sql(all);
    // Fewer arguments, another name, another result, and one that is not wanted any more.
    sql("drop function punctual.cancel, punctual.remove_event, punctual.new_id; \
         create function punctual.cancel(id uuid) returns boolean language sql as 'select true'; \
         create function punctual.remove_event(name text) returns boolean language sql as 'select true'; \
         create function punctual.new_id(at timestamptz) returns text language sql as 'select null::text'; \
         create function punctual.unwanted() returns void language sql as ''; \
         create role shop login; grant execute on function punctual.cancel(uuid), punctual.remove_event(text) to shop; \
         update punctual.functions set hash = 'other'");
    postgres::migrate(&server.url(&name), &machine()).await.unwrap();
    assert_eq!(sql(all), expect);
    let callable = "select string_agg(p.proname, ' ' order by p.proname) from pg_proc p \
                    where p.pronamespace = 'punctual'::regnamespace and has_function_privilege('shop', p.oid, 'execute')";
    assert_eq!(sql(callable), "cancel remove_event", "a role that could call a function still can");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_put_functions_in_place_can_start() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = database(&server).await;
    let rights = "create role app login; grant usage on schema punctual to app; \
                  grant select, insert, update, delete on all tables in schema punctual to app; \
                  update punctual.functions set hash = 'other'";
    server.sql(&name, rights);
    PostgresStore::open(&server.url(&name).replace("punctual@", "app@"), &machine()).await.unwrap();
    assert_eq!(server.sql(&name, "select hash from punctual.functions"), "other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_from_before_the_first_release_is_refused_untouched() {
    let Some(server) = Postgres::start() else { return };
    let later = "create table punctual.functions (program integer[], hash text); \
        create table punctual.attempt (attempt_key text);";
    for (more, n_tables) in [("", "1"), (later, "3")] {
        let name = server.new_database(None);
        let made = format!(
            "create schema punctual; create table punctual.migration (version integer primary key, \
             at timestamptz not null default now()); {more} insert into punctual.migration values (1), (2)"
        );
        server.sql(&name, &made);
        let refused = PostgresStore::open(&server.url(&name), &machine()).await.err().unwrap().to_string();
        assert!(refused.contains("before the first release") && refused.contains("use another database"), "{refused}");
        let tables = "select count(*) from pg_class where relnamespace = 'punctual'::regnamespace and relkind = 'r'";
        assert_eq!(server.sql(&name, tables), n_tables);
    }
}
