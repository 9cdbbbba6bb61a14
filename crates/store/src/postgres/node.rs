//! One statement says which nodes live, which shards each has, what the database's clock shows, and which moment comes first.

use punctual_core::id::ReminderId;
use punctual_core::shard::Shards;
use punctual_core::store::{About, Beat, Follows, KnownNode, KnownNodes, Pulse, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::fault::Fault;
use super::journal::HEAD;
use super::pool::Connection;
use super::row::{self, clean, get, impossible, reminder_id, uuid};
use super::tell::CHANNEL;

/// A node that has not been seen for this long has no shards. It beats every second, and two beats may be late.
pub(super) const LIVES_FOR: &str = "interval '3 seconds'";
/// A node that has not been seen for this long is forgotten.
const KEPT_FOR: &str = "interval '1 minute'";

pub(super) async fn beat(db: &Connection<'_>, beat: &Beat) -> Result<Pulse, Fault> {
    let first = |rank: u8| {
        format!(
            "(select wake_at from punctual.occurrence where priority = {rank} and wake_at is not null \
             order by wake_at limit 1)"
        )
    };
    let first_at = [3, 2, 1, 0].map(first).join(", ");
    let housekeeping = match beat.echo.is_some() {
        true => format!(
            "waited_enough as (delete from punctual.recall where reminder_id in (select reminder_id from punctual.recall \
             where asked_at < clock_timestamp() - {ASKED_FOR} limit {RECALLED_MAX} for update skip locked)), \
             long_gone as (delete from punctual.node where seen_at < clock_timestamp() - {KEPT_FOR}),"
        ),
        false => String::new(),
    };
    // The housekeeping and the echo are part of the same statement, so that a node that lives costs one query a second.
    let sql = format!(
        "with {housekeeping} beaten as (insert into punctual.node as n (name, started_at, seen_at, shared, follows, about) \
         values ($1, clock_timestamp(), clock_timestamp(), $3, $4, $6) \
         on conflict (name) do update set seen_at = clock_timestamp(), shared = excluded.shared, follows = excluded.follows, \
           about = excluded.about) \
         select array(select name from punctual.node where seen_at > clock_timestamp() - {LIVES_FOR}), least({first_at}), \
         case when $2 is not null then pg_notify('{CHANNEL}', 'beat ' || $2) end, clock_timestamp(), \
         array(select distinct shared from punctual.node where seen_at > clock_timestamp() - {LIVES_FOR} and shared is not null), \
         exists (select from punctual.node where seen_at > clock_timestamp() - {LIVES_FOR} and follows and name <> $1), \
         ({HEAD}), punctual.unplaced(), case when $5 then pg_notify('{CHANNEL}', 'follow') end"
    );
    let rows = db
        .rows(
            &sql,
            &[
                (&clean(&beat.node), Type::TEXT),
                (&beat.echo, Type::TEXT),
                (&beat.shared, Type::TEXT),
                (&(beat.follows != Follows::No), Type::BOOL),
                (&(beat.follows == Follows::Begins), Type::BOOL),
                (&beat.about.to_stored(), Type::TEXT),
            ],
        )
        .await?;
    let found = rows.first().ok_or_else(|| impossible("a beat was not answered"))?;
    let mut nodes: Vec<String> = get(found, 0)?;
    if !nodes.contains(&beat.node) {
        // Its first beat, which the statement itself does not see.
        nodes.push(beat.node.clone());
    }
    nodes.sort_unstable();
    let shards = Shards::share(&beat.node, &nodes);
    Ok(Pulse {
        now: row::instant(found, 3)?,
        shards,
        nodes,
        first_at: row::optional_instant(found, 1)?,
        shared: get(found, 4)?,
        followed: beat.follows != Follows::No || get(found, 5)?,
        head: get(found, 6)?,
        unplaced: get(found, 7)?,
    })
}

/// The nodes that live, or did within the last minute.
pub(super) async fn known(db: &Connection<'_>) -> Result<KnownNodes, Fault> {
    let sql = format!(
        "select name, started_at, seen_at, seen_at > clock_timestamp() - {LIVES_FOR}, about, clock_timestamp() from punctual.node \
         where seen_at > clock_timestamp() - {KEPT_FOR} order by name"
    );
    let rows = db.rows(&sql, &[]).await?;
    let now = rows.first().map(|row| row::instant(row, 5)).transpose()?;
    let node = |row: &Row| -> Result<KnownNode, StoreError> {
        let about: Option<String> = get(row, 4)?;
        Ok(KnownNode {
            name: get(row, 0)?,
            since: row::instant(row, 1)?,
            seen_at: row::instant(row, 2)?,
            is_alive: get(row, 3)?,
            about: About::from_stored(about.as_deref()),
        })
    };
    let nodes = rows.iter().map(node).collect::<Result<Vec<_>, _>>()?;
    // A node that asks has said a second ago that it lives; without any there is no time to tell.
    Ok(KnownNodes { now: now.unwrap_or(jiff::Timestamp::UNIX_EPOCH), nodes })
}

pub(super) async fn leave(db: &Connection<'_>, node: &str) -> Result<(), Fault> {
    let sql = format!(
        "with left_by as (delete from punctual.node where name = $1 returning 1) \
         select pg_notify('{CHANNEL}', 'left') from left_by"
    );
    db.rows(&sql, &[(&clean(node), Type::TEXT)]).await?;
    Ok(())
}

/// A node that asked for a run back longer ago than this waits no more.
const ASKED_FOR: &str = "interval '1 second'";
/// More than this are not asked for at once; the others are told that their reminder is being sent.
const RECALLED_MAX: i64 = 1000;

/// Asks all nodes for what they have of these reminders. The notification leaves with the commit.
pub(super) async fn recall(db: &Connection<'_>, reminders: &[ReminderId]) -> Result<(), Fault> {
    // In the order of their names, so that two who ask for the same do not wait in a circle.
    let sql = format!(
        "with asked as (insert into punctual.recall (reminder_id, asked_at) \
         select distinct id, clock_timestamp() from unnest($1) as v (id) order by id \
         on conflict (reminder_id) do update set asked_at = excluded.asked_at returning 1) \
         select pg_notify('{CHANNEL}', 'recall') from asked limit 1"
    );
    let ids: Vec<Uuid> = reminders.iter().copied().map(uuid).collect();
    db.rows(&sql, &[(&ids, Type::UUID_ARRAY)]).await?;
    Ok(())
}

pub(super) async fn recalled(db: &Connection<'_>) -> Result<Vec<ReminderId>, Fault> {
    let sql = format!(
        "select reminder_id from punctual.recall where asked_at > clock_timestamp() - {ASKED_FOR} limit {RECALLED_MAX}"
    );
    let rows = db.rows(&sql, &[]).await?;
    Ok(rows.iter().map(|row| reminder_id(row, 0)).collect::<Result<_, _>>()?)
}
