//! Writing what core decided, all of it in one round trip.
//!
//! PostgreSQL takes columns as arrays and makes rows of them with `unnest`. So rows of one table are one statement, however many,
//! planned for the number of rows it really has; and a table's statement is made of its list of columns.

use std::error::Error;
use std::fmt;
use std::sync::LazyLock;

use bytes::{BufMut, BytesMut};
use jiff::Timestamp;
use punctual_core::alarm::NextRun;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::reminder::Priority;
use punctual_core::shard::Shards;
use punctual_core::store::NewReminder;
use punctual_core::whole::Adoption;
use punctual_core::writes::{Planned, Writes, completed};
use tokio_postgres::types::{IsNull, Kind as TypeKind, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use super::batch::Ids;
use super::fault::Fault;
use super::node::recall;
use super::pipeline::{Statement, all, both};
use super::pool::{Connection, Param};
use super::row::{clean, micros, uuid};
use super::settle::n_open;
use super::tell::tell;
use super::{alert, answered, event, inbound};
use crate::columns::{
    ATTEMPT, Column, DEAD_ADDRESS, ENTRY, GROUP, KEPT_REMINDER, KEPT_RUN, Kind, MOVED, NEW_REMINDER, OCCURRENCE,
    PLACED, PLANNED, REMINDER_FIELDS, REPORTED, RESPONSE, SILENCE, Table, Value,
};
use crate::rows;
use crate::watch::{KeptLedger, LEDGER};

/// Writes all of it and commits, and before that tells the admins of what they must hear; returns the runs that were planned for
/// them.
pub(super) async fn commit(db: &Connection<'_>, own: Shards, writes: &Writes) -> Result<Vec<NextRun>, Fault> {
    let is_told = !writes.news.is_empty() || !writes.unreadable.is_empty();
    if !is_told && writes.uncounted.is_empty() {
        both(write(db, own, writes), db.commit()).await?;
        return Ok(Vec::new());
    }
    write(db, own, writes).await?;
    if !writes.uncounted.is_empty() {
        // A series has come to its end, which is rare: now its open runs are counted.
        let n_open = n_open(db, &writes.uncounted).await?;
        write(db, own, &completed(&writes.uncounted, &n_open, writes.now)).await?;
    }
    if !is_told {
        db.commit().await?;
        return Ok(Vec::new());
    }
    let (told, planned) = alert::tell(db, writes).await?;
    both(write(db, own, &told), db.commit()).await?;
    Ok(planned)
}

/// Writes all of it but the news, in one round trip.
///
/// Everybody locks occurrences before reminders, and both in the order of their names, so that nobody waits in a circle.
pub(super) async fn write(db: &Connection<'_>, own: Shards, writes: &Writes) -> Result<(), Fault> {
    let first_runs: Vec<Planned> = writes.created.iter().map(NewReminder::first).collect();
    let mut pipeline: Vec<Statement<'_>> = Vec::new();
    if !writes.answered.is_empty() {
        pipeline.push(Box::pin(answered::insert(db, &writes.answered, writes.now)));
    }
    if !writes.seen.is_empty() {
        pipeline.push(Box::pin(inbound::see(db, &writes.seen)));
    }
    if let Some(place) = &writes.place {
        pipeline.push(Box::pin(inbound::move_place(db, place, writes.now)));
    }
    event::mark_all(&mut pipeline, db, &writes.event.marked);
    let mut occurrences: Vec<_> = writes.occurrences.iter().collect();
    occurrences.sort_unstable_by_key(|occurrence| occurrence.id);
    put(&mut pipeline, db, &UPDATE_OCCURRENCE, &OCCURRENCE, occurrences);
    if !writes.set_aside.is_empty() {
        pipeline.push(Box::pin(set_aside(db, &writes.set_aside, writes.now)));
    }
    if !writes.priorities.is_empty() {
        pipeline.push(Box::pin(reprioritize(db, &writes.priorities)));
    }
    put(&mut pipeline, db, &INSERT_ATTEMPT, &ATTEMPT, writes.attempts.iter().collect());
    put(&mut pipeline, db, &UPDATE_REPORTED, &REPORTED, writes.reported.iter().collect());
    event::write(&mut pipeline, db, &writes.event);
    put(&mut pipeline, db, &UPDATE_REMINDER, &REMINDER_FIELDS, writes.reminders.iter().collect());
    put(&mut pipeline, db, &UPDATE_MOVED, &MOVED, writes.moved.iter().collect());
    put(&mut pipeline, db, &INSERT_REMINDER, &NEW_REMINDER, writes.created.iter().map(|new| &new.reminder).collect());
    // A reminder is ours by now: whoever has it locked gives out its run numbers.
    let planned = writes.planned.iter().chain(&first_runs).collect();
    put(&mut pipeline, db, &INSERT_PLANNED, &PLANNED, planned);
    let mut dead: Vec<_> = writes.dead.iter().collect();
    // In the order of their names, so that two who bury the same addresses do not wait in a circle.
    dead.sort_unstable_by_key(|dead| (&dead.address.channel, &dead.address.address, dead.since));
    put(&mut pipeline, db, &INSERT_DEAD_ADDRESS, &DEAD_ADDRESS, dead);
    put(&mut pipeline, db, &INSERT_RESPONSE, &RESPONSE, writes.responses.iter().collect());
    if !writes.recalls.is_empty() {
        pipeline.push(Box::pin(recall(db, &writes.recalls)));
    }
    // Last, when every lock is taken: of two transactions about one reminder the later one has the larger write.
    if !writes.entries.is_empty() {
        pipeline.push(Box::pin(write_entries(db, &INSERT_ENTRY, &ENTRY, &writes.entries)));
    }
    if !writes.moments.is_empty() {
        pipeline.push(Box::pin(tell(db, own, writes.moments.iter().copied(), writes.now)));
    }
    all(pipeline).await
}

/// Writes what an import adopts, all but its people.
pub(super) async fn adopt(db: &Connection<'_>, own: Shards, adoption: &Adoption) -> Result<(), Fault> {
    // A user is put with their addresses, and a calendar with a statement of its own.
    let Adoption { users: _, feeds: _, groups, silences, reminders, runs, ledger, history, writes } = adoption;
    let ledger: Vec<KeptLedger> = ledger.iter().map(KeptLedger::of).collect();
    let mut pipeline: Vec<Statement<'_>> = Vec::new();
    put(&mut pipeline, db, &INSERT_GROUP, &GROUP, groups.iter().collect());
    put(&mut pipeline, db, &INSERT_SILENCE, &SILENCE, silences.iter().collect());
    put(&mut pipeline, db, &INSERT_KEPT_REMINDER, &KEPT_REMINDER, reminders.iter().collect());
    put(&mut pipeline, db, &INSERT_KEPT_RUN, &KEPT_RUN, runs.iter().collect());
    put(&mut pipeline, db, &INSERT_LEDGER, &LEDGER, ledger.iter().collect());
    if !history.is_empty() {
        pipeline.push(Box::pin(write_entries(db, &INSERT_PLACED, &PLACED, history)));
    }
    all(pipeline).await?;
    write(db, own, writes).await
}

static UPDATE_OCCURRENCE: LazyLock<String> = LazyLock::new(|| update(&OCCURRENCE));
/// One row that should not be there must not stop every settle from now on. Whoever writes attempts of a run has the run's row locked, so nobody
/// else writes the same ones meanwhile, and `on conflict` would only cost a second record in the log for each.
static INSERT_ATTEMPT: LazyLock<String> = LazyLock::new(|| {
    let (names, params, same) = (ATTEMPT.names(""), params(&ATTEMPT), ATTEMPT.same());
    format!(
        "insert into punctual.attempt ({names}) select v.* from unnest({params}) as v ({names}) \
         where not exists (select from punctual.attempt t where {same})"
    )
});
static UPDATE_REPORTED: LazyLock<String> = LazyLock::new(|| update(&REPORTED));
static UPDATE_REMINDER: LazyLock<String> = LazyLock::new(|| update(&REMINDER_FIELDS));
static UPDATE_MOVED: LazyLock<String> = LazyLock::new(|| update(&MOVED));
static INSERT_REMINDER: LazyLock<String> = LazyLock::new(|| insert(&NEW_REMINDER));
static INSERT_PLANNED: LazyLock<String> = LazyLock::new(|| insert(&PLANNED));
static INSERT_DEAD_ADDRESS: LazyLock<String> = LazyLock::new(|| insert_new(&DEAD_ADDRESS));
static INSERT_RESPONSE: LazyLock<String> = LazyLock::new(|| insert(&RESPONSE));
static INSERT_ENTRY: LazyLock<String> = LazyLock::new(|| insert_entries(&ENTRY));
static INSERT_GROUP: LazyLock<String> = LazyLock::new(|| insert(&GROUP));
static INSERT_SILENCE: LazyLock<String> = LazyLock::new(|| insert(&SILENCE));
static INSERT_KEPT_REMINDER: LazyLock<String> = LazyLock::new(|| insert(&KEPT_REMINDER));
static INSERT_KEPT_RUN: LazyLock<String> = LazyLock::new(|| insert(&KEPT_RUN));
static INSERT_LEDGER: LazyLock<String> = LazyLock::new(|| insert(&LEDGER));
static INSERT_PLACED: LazyLock<String> = LazyLock::new(|| insert_entries(&PLACED));

/// Entries, and one header for all of them.
fn insert_entries<T>(table: &Table<T>) -> String {
    let (params, n) = (params(table), table.columns.len());
    format!(
        "with w as (insert into punctual.journal_write (n, node) values (cardinality($1), ${}) returning write) \
         insert into punctual.journal (write, item, {}) select w.write, v.item - 1, {} \
         from w, unnest({params}) with ordinality as v ({}, item)",
        n + 1,
        table.names(""),
        table.names("v."),
        table.names("")
    )
}

pub(super) fn insert<T>(table: &Table<T>) -> String {
    format!("insert into punctual.{} ({}) select * from unnest({})", table.name, table.names(""), params(table))
}

/// Leaves a row that is there as it is.
pub(super) fn insert_new<T>(table: &Table<T>) -> String {
    format!("{} on conflict do nothing", insert(table))
}

/// Replaces a row that is there.
pub(super) fn upsert<T>(table: &Table<T>) -> String {
    let Table { name, .. } = table;
    let (names, params, keys, sets) = (table.names(""), params(table), table.keys(), table.upserts());
    format!(
        "insert into punctual.{name} as t ({names}) select * from unnest({params}) on conflict ({keys}) do update set {sets}"
    )
}

/// Deletes the rows that are named.
pub(super) fn delete<T>(table: &Table<T>) -> String {
    let Table { name, .. } = table;
    let (params, names, same) = (params(table), table.names(""), table.same());
    format!("delete from punctual.{name} t using unnest({params}) as v ({names}) where {same}")
}

pub(super) fn update<T>(table: &Table<T>) -> String {
    let Table { name, .. } = table;
    let (sets, params, names, same) = (table.sets(), params(table), table.names(""), table.same());
    format!("update punctual.{name} t set {sets} from unnest({params}) as v ({names}) where {same}")
}

/// `$1, $2, …`, one for each column.
fn params<T>(table: &Table<T>) -> String {
    let params: Vec<String> = (1..=table.columns.len()).map(|number| format!("${number}")).collect();
    params.join(", ")
}

/// Writes what happened, under the name that this node had at its last beat.
async fn write_entries<T: Sync>(
    db: &Connection<'_>,
    sql: &str,
    table: &'static Table<T>,
    entries: &[T],
) -> Result<(), Fault> {
    let rows: Vec<&T> = entries.iter().collect();
    let node = db.node();
    let node = node.as_deref();
    let cells: Vec<Cells<'_, T>> = table.columns.iter().map(|column| Cells { column, rows: &rows }).collect();
    let mut params: Vec<Param<'_>> = cells.iter().map(|cells| (cells as _, array_of(cells.column.kind))).collect();
    params.push((&node, Type::TEXT));
    db.execute(sql, &params).await?;
    Ok(())
}

/// Adds a statement over `rows` to a pipeline, unless there are none.
pub(super) fn put<'a, T: Sync>(
    pipeline: &mut Vec<Statement<'a>>,
    db: &'a Connection<'_>,
    sql: &'a str,
    table: &'static Table<T>,
    rows: Vec<&'a T>,
) {
    if rows.is_empty() {
        return;
    }
    pipeline.push(Box::pin(async move {
        let cells: Vec<Cells<'_, T>> = table.columns.iter().map(|column| Cells { column, rows: &rows }).collect();
        let params: Vec<Param<'_>> = cells.iter().map(|cells| (cells as _, array_of(cells.column.kind))).collect();
        db.execute(sql, &params).await?;
        Ok(())
    }));
}

/// A column of some rows, which goes to the server as one array.
struct Cells<'a, T: 'static> {
    column: &'static Column<T>,
    rows: &'a [&'a T],
}

impl<T> fmt::Debug for Cells<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} rows", self.column.name, self.rows.len())
    }
}

impl<T> ToSql for Cells<'_, T> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let TypeKind::Array(member) = kind.kind() else { return Err(format!("{kind} is no array").into()) };
        // One dimension; there may be nulls; of which type; how many; the first is number 1.
        out.put_i32(1);
        out.put_i32(1);
        out.put_u32(member.oid());
        out.put_i32(i32::try_from(self.rows.len())?);
        out.put_i32(1);
        for row in self.rows {
            put_cell((self.column.value)(row), self.column.kind, out)?;
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(kind.kind(), TypeKind::Array(_))
    }

    to_sql_checked!();
}

/// The length of a value, and the value.
fn put_cell(value: Value<'_>, kind: Kind, out: &mut BytesMut) -> Result<(), Box<dyn Error + Sync + Send>> {
    match (value, kind) {
        (Value::Null, _) => out.put_i32(-1),
        (Value::Id(id), _) => {
            out.put_i32(16);
            out.put_slice(id);
        }
        // No count comes near these limits in a lifetime.
        (Value::Number(number), Kind::Small) => {
            out.put_i32(2);
            out.put_i16(i16::try_from(number).unwrap_or(i16::MAX));
        }
        (Value::Number(number), Kind::Int) => {
            out.put_i32(4);
            out.put_i32(i32::try_from(number).unwrap_or(i32::MAX));
        }
        (Value::Number(number), _) => {
            out.put_i32(8);
            out.put_i64(number);
        }
        (Value::Flag(flag), _) => {
            out.put_i32(1);
            out.put_u8(u8::from(flag));
        }
        (Value::Text(text), _) => {
            let text = clean(&text);
            out.put_i32(i32::try_from(text.len())?);
            out.put_slice(text.as_bytes());
        }
        (Value::At(at), _) => {
            out.put_i32(8);
            out.put_i64(micros(at).sent());
        }
    }
    Ok(())
}

fn array_of(kind: Kind) -> Type {
    match kind {
        Kind::Id => Type::UUID_ARRAY,
        Kind::Small => Type::INT2_ARRAY,
        Kind::Int => Type::INT4_ARRAY,
        Kind::Big => Type::INT8_ARRAY,
        Kind::Flag => Type::BOOL_ARRAY,
        Kind::Text => Type::TEXT_ARRAY,
        Kind::At => Type::TIMESTAMPTZ_ARRAY,
    }
}

/// Fails runs that cannot be read, whatever stands in them.
async fn set_aside(db: &Connection<'_>, runs: &[(OccurrenceId, String)], now: Timestamp) -> Result<(), Fault> {
    let ids: Ids = runs.iter().map(|(id, _)| *id).collect();
    let errors: Vec<_> = runs.iter().map(|(_, error)| clean(error)).collect();
    db.execute(
        "update punctual.occurrence o set state = 'failed', wake_at = null, at = $4, error = v.error, waits_for = null, \
         node = null, channel = null, address = null, message_id = null, readdressed = false, own_at = null, escalation = null, \
         escalate_at = null \
         from unnest($1, $2, $3) as v (reminder_id, run, error) where o.reminder_id = v.reminder_id and o.run = v.run",
        &[
            (&ids.reminders, Type::UUID_ARRAY),
            (&ids.runs, Type::INT4_ARRAY),
            (&errors, Type::TEXT_ARRAY),
            (&micros(now), Type::TIMESTAMPTZ),
        ],
    )
    .await?;
    Ok(())
}

/// Keeps the priority of runs that are still to come in step with their reminders'.
async fn reprioritize(db: &Connection<'_>, priorities: &[(ReminderId, Priority)]) -> Result<(), Fault> {
    let ids: Vec<Uuid> = priorities.iter().map(|(id, _)| uuid(*id)).collect();
    let ranks: Vec<i16> = priorities.iter().map(|(_, priority)| i16::from(priority.rank())).collect();
    let sql = format!(
        "update punctual.occurrence o set priority = v.priority from unnest($1, $2) as v (id, priority) \
         where o.reminder_id = v.id and o.priority <> v.priority and {}",
        rows::OPEN
    );
    db.execute(&sql, &[(&ids, Type::UUID_ARRAY), (&ranks, Type::INT2_ARRAY)]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statements_name_every_column_once() {
        assert_eq!(
            *INSERT_DEAD_ADDRESS,
            "insert into punctual.dead_address (channel, address, since, reason) select * from unnest($1, $2, $3, $4) \
             on conflict do nothing"
        );
        assert!(UPDATE_MOVED.starts_with("update punctual.reminder t set status = v.status, "), "{}", *UPDATE_MOVED);
        assert!(UPDATE_MOVED.ends_with(") where t.id = v.id"), "{}", *UPDATE_MOVED);
    }
}
