//! The trigger of docs/events.md, as it stands there.

use punctual_core::journal::Who;
use punctual_core::store::{ByPlanner, Events};
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use punctual_testkit::servers::Postgres;

use crate::client::database;

const DOCS: &str = include_str!("../../../../docs/events.md");
/// The application's own table.
const GAMES: &str = "create table games (id bigint primary key, starts_at timestamptz not null, title text not null, players text[] not null, \
                     guild_id bigint not null, channel_id bigint not null)";

/// The block of SQL that the page shows.
fn recipe() -> &'static str {
    let (_, from) = DOCS.split_once("```sql recipe\n").expect("the page has the recipe");
    from.split_once("\n```").expect("the block ends").0
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reminders_follow_the_rows_of_an_applications_table() {
    let Some(server) = Postgres::start() else { return };
    let (store, name) = database(&server).await;
    let sql = |text: &str| server.sql(&name, text);
    sql(
        "insert into punctual.setting values ('default_channel_chosen', 'true') on conflict (name) do update set value = 'true'",
    );
    sql("create role shop login in role punctual_client; grant create on schema public to shop");
    // The application's role makes its own table and trigger.
    let as_shop = |text: &str| sql(&format!("set role shop; {text}"));
    as_shop(GAMES);
    as_shop(recipe());
    sql("select punctual.put_scope('guild:1', '{60,15}')");
    let waiting = async || {
        loop {
            let (who, zone, now) = (Who::ENGINE, Zone::utc(), SystemClock::read());
            if store.plan_events(None, ByPlanner { who, zone, now }).await.unwrap().events.is_empty() {
                break;
            }
        }
        sql(
            "select string_agg(l.event_key || ' ' || l.user_id || ' ' || to_char(o.due_at at time zone 'UTC', 'HH24:MI') || ' ' || r.message, E'\\n' \
             order by l.event_key, l.user_id, o.due_at) from punctual.event_reminder l join punctual.reminder r on r.id = l.reminder_id \
             join punctual.occurrence o on o.reminder_id = r.id where o.wake_at is not null",
        )
    };
    as_shop("insert into games values (7, '2099-06-01 18:00+00', 'Chess', '{ann,bob}', 1, 2)");
    let expect = "game:7 ann 17:00 Chess in 60 min\ngame:7 ann 17:45 Chess in 15 min\n\
                  game:7 bob 17:00 Chess in 60 min\ngame:7 bob 17:45 Chess in 15 min";
    assert_eq!(waiting().await, expect);
    let metadata = "select distinct metadata from punctual.reminder";
    assert_eq!(sql(metadata), r#"{"game_id":7,"title":"Chess"}"#);
    as_shop("update games set starts_at = starts_at + interval '1 hour', players = '{ann}' where id = 7");
    assert_eq!(waiting().await, "game:7 ann 18:00 Chess in 60 min\ngame:7 ann 18:45 Chess in 15 min");
    // What is rolled back never was.
    as_shop("begin; update games set title = 'Go'; delete from games; rollback");
    assert_eq!(waiting().await, "game:7 ann 18:00 Chess in 60 min\ngame:7 ann 18:45 Chess in 15 min");
    // A column that the reminders do not depend on, and the same again.
    let entries = "select count(*) from punctual.journal where kind = 'event.changed'";
    let before = sql(entries);
    as_shop("update games set id = id; update games set starts_at = starts_at");
    assert_eq!(sql(entries), before);
    as_shop("delete from games where id = 7");
    assert_eq!(waiting().await, "");
    as_shop("insert into games select n, '2099-06-01 18:00+00', 'Chess', '{ann}', 1, n from generate_series(1, 500) n");
    assert_eq!(waiting().await.lines().count(), 1000);
    as_shop("delete from games");
    assert_eq!(waiting().await, "");
}
