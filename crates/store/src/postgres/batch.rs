//! One statement for many rows.
//!
//! PostgreSQL takes columns as arrays and makes rows of them with `unnest`. So a batch of any size is one statement, planned
//! for the number of rows it really has.

use jiff::Timestamp;
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::Occurrence;
use punctual_core::reminder::Reminder;
use punctual_core::shard::shard_of;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::fault::Fault;
use super::pool::Connection;
use super::row::{At, clean, int, micros, uuid};

/// Begins a transaction that writes.
///
/// A node that stops in the middle of one, with its machine or by SIGSTOP, holds locks that others would step around for
/// ever; the server ends its transaction instead, after a second and a half in which the node said nothing. A statement that the
/// server itself takes long for does not count, and a node that was only slow does it again. The trigger keeps quiet: [`super::tell`] says what others must know.
pub(super) const BEGIN: &str =
    "begin; set local punctual.quiet = on; set local idle_in_transaction_session_timeout = 1500";

/// Makes the rest of the transaction find rows by the keys it is given, one by one.
///
/// A statement over a batch begins with the rows it is given and finds each in its table by primary key. Left to itself the
/// planner does so only while its statistics are right. After a bulk load, a burst, or a night of pruning they say that a
/// table has one row, or that none is `processing`; then it walks the whole table and compares each row with all that were
/// given. That is quick in every test, and took 29 s for a settle of 10,000 among 1,000,000 rows that were last analysed
/// before the claim; by key it takes 0.18 s. Turning off whole-table scans is not enough: it walks an index from end to end
/// instead. So index scans are off as well, and what is left is a bitmap scan, which needs a key. JIT is off because the cost
/// of what is off would start it. `tests/postgres_plans.rs` holds it.
pub(super) const BY_KEY: &str = "set local jit = off; set local enable_seqscan = off; set local enable_indexscan = off; \
    set local enable_bitmapscan = on; set local enable_hashjoin = off; set local enable_mergejoin = off";

/// Begins a transaction over a batch.
pub(super) const BEGIN_BY_KEY: &str = "begin; set local punctual.quiet = on; set local idle_in_transaction_session_timeout = 1500; set local jit = off; \
    set local enable_seqscan = off; set local enable_indexscan = off; set local enable_hashjoin = off; \
    set local enable_mergejoin = off";

/// Begins a transaction whose first statement takes the first few of an index, in its order. Whatever the statistics say, it
/// stops when it has enough, and never gathers and sorts what it will not take.
pub(super) const BEGIN_IN_ORDER: &str = "begin; set local punctual.quiet = on; set local idle_in_transaction_session_timeout = 1500; \
    set local jit = off; set local enable_seqscan = off; set local enable_bitmapscan = off";

/// The same for reading, all of it at one moment.
pub(super) const BEGIN_READ_IN_ORDER: &str = "begin isolation level repeatable read, read only; set local jit = off; \
    set local enable_seqscan = off; set local enable_bitmapscan = off";

/// Begins a transaction that sees one moment of the database, and fails when what it writes has changed since.
pub(super) const BEGIN_SNAPSHOT: &str = "begin isolation level repeatable read; set local punctual.quiet = on; \
    set local idle_in_transaction_session_timeout = 1500";

/// Begins a transaction that reads, all of it at one moment.
pub(super) const BEGIN_READ: &str = "begin isolation level repeatable read, read only";

/// The names of occurrences, as two columns. In the order of their names, so that two transactions over the same rows
/// wait for each other instead of each holding what the other needs.
pub(super) struct Ids {
    pub(super) reminders: Vec<Uuid>,
    pub(super) runs: Vec<i32>,
}

impl FromIterator<OccurrenceId> for Ids {
    fn from_iter<I: IntoIterator<Item = OccurrenceId>>(ids: I) -> Self {
        let (reminders, runs) = ids.into_iter().map(|id| (uuid(id.reminder), int(id.run))).unzip();
        Self { reminders, runs }
    }
}

impl Ids {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

/// Writes changed occurrences over the old ones. Their lease numbers stay, so whoever still holds a lease of one finds that
/// it is no longer `processing` and is refused.
pub(super) async fn update_occurrences(db: &Connection<'_>, changed: &[&Occurrence]) -> Result<(), Fault> {
    if changed.is_empty() {
        return Ok(());
    }
    let ids: Ids = changed.iter().map(|o| o.id).collect();
    let due: Vec<At> = changed.iter().map(|o| micros(o.due_at)).collect();
    let states: Vec<&str> = changed.iter().map(|o| o.state.kept_kind().as_str()).collect();
    let wakes: Vec<Option<At>> = changed.iter().map(|o| o.state.wake_at(o.due_at).map(micros)).collect();
    let ats: Vec<Option<At>> = changed.iter().map(|o| o.state.at().map(micros)).collect();
    let errors: Vec<_> = changed.iter().map(|o| o.state.kept_note().map(clean)).collect();
    let attempts: Vec<i32> = changed.iter().map(|o| int(o.tries.attempts)).collect();
    let rounds: Vec<i32> = changed.iter().map(|o| int(o.tries.rounds)).collect();
    let positions: Vec<i32> = changed.iter().map(|o| int(o.tries.position)).collect();
    let refused: Vec<i64> = changed.iter().map(|o| o.tries.refused as i64).collect();
    let asks: Vec<i32> = changed.iter().map(|o| int(o.tries.asks)).collect();
    let reached: Vec<i32> = changed.iter().map(|o| int(o.tries.reached)).collect();
    let at_once: Vec<bool> = changed.iter().map(|o| o.at_once).collect();
    let made_for: Vec<Option<At>> = changed.iter().map(|o| o.moved_from().map(micros)).collect();
    db.execute(
        "update punctual.occurrence o set due_at = v.due_at, state = v.state, wake_at = v.wake_at, \
         node = case when v.state = 'processing' then o.node end, at = v.at, error = v.error, attempts = v.attempts, \
         rounds = v.rounds, position = v.position, refused = v.refused, asks = v.asks, reached = v.reached, \
         at_once = v.at_once, made_for = v.made_for \
         from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) as v (reminder_id, run, due_at, state, \
         wake_at, at, error, attempts, rounds, position, refused, asks, reached, at_once, made_for) \
         where o.reminder_id = v.reminder_id and o.run = v.run",
        &[
            (&ids.reminders, Type::UUID_ARRAY),
            (&ids.runs, Type::INT4_ARRAY),
            (&due, Type::TIMESTAMPTZ_ARRAY),
            (&states, Type::TEXT_ARRAY),
            (&wakes, Type::TIMESTAMPTZ_ARRAY),
            (&ats, Type::TIMESTAMPTZ_ARRAY),
            (&errors, Type::TEXT_ARRAY),
            (&attempts, Type::INT4_ARRAY),
            (&rounds, Type::INT4_ARRAY),
            (&positions, Type::INT4_ARRAY),
            (&refused, Type::INT8_ARRAY),
            (&asks, Type::INT4_ARRAY),
            (&reached, Type::INT4_ARRAY),
            (&at_once, Type::BOOL_ARRAY),
            (&made_for, Type::TIMESTAMPTZ_ARRAY),
        ],
    )
    .await?;
    Ok(())
}

/// Writes occurrences that were planned just now, each of the reminder beside it.
pub(super) async fn insert_occurrences(db: &Connection<'_>, planned: &[(&Occurrence, &Reminder)]) -> Result<(), Fault> {
    if planned.is_empty() {
        return Ok(());
    }
    let ids: Ids = planned.iter().map(|(o, _)| o.id).collect();
    let due: Vec<At> = planned.iter().map(|(o, _)| micros(o.due_at)).collect();
    let states: Vec<&str> = planned.iter().map(|(o, _)| o.state.kept_kind().as_str()).collect();
    let wakes: Vec<Option<At>> = planned.iter().map(|(o, _)| o.state.wake_at(o.due_at).map(micros)).collect();
    let ats: Vec<Option<At>> = planned.iter().map(|(o, _)| o.state.at().map(micros)).collect();
    let priorities: Vec<i16> = planned.iter().map(|(_, r)| i16::from(r.priority.rank())).collect();
    let shards: Vec<i16> = planned.iter().map(|(_, r)| i16::from(shard_of(&r.user))).collect();
    let at_once: Vec<bool> = planned.iter().map(|(o, _)| o.at_once).collect();
    db.execute(
        "insert into punctual.occurrence (reminder_id, run, due_at, state, wake_at, at, priority, shard, at_once) \
         select * from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        &[
            (&ids.reminders, Type::UUID_ARRAY),
            (&ids.runs, Type::INT4_ARRAY),
            (&due, Type::TIMESTAMPTZ_ARRAY),
            (&states, Type::TEXT_ARRAY),
            (&wakes, Type::TIMESTAMPTZ_ARRAY),
            (&ats, Type::TIMESTAMPTZ_ARRAY),
            (&priorities, Type::INT2_ARRAY),
            (&shards, Type::INT2_ARRAY),
            (&at_once, Type::BOOL_ARRAY),
        ],
    )
    .await?;
    Ok(())
}

/// Marks attempts of occurrences that nobody will settle any more.
pub(super) async fn cut_off(db: &Connection<'_>, ids: &Ids, now: Timestamp) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    db.execute(
        "update punctual.attempt a set status = 'unknown', ended_at = $3, error = 'cut off in flight' \
         from unnest($1, $2) as v (reminder_id, run) \
         where a.reminder_id = v.reminder_id and a.run = v.run and a.status = 'sending'",
        &[(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY), (&micros(now), Type::TIMESTAMPTZ)],
    )
    .await?;
    Ok(())
}

/// Who did what to which run.
pub(super) struct Entry<'a> {
    pub(super) actor: &'a str,
    pub(super) action: &'a str,
    pub(super) reminder: Uuid,
    pub(super) run: Option<u32>,
    pub(super) detail: Option<String>,
}

/// Writes down who did what.
pub(super) async fn audit(db: &Connection<'_>, entries: &[Entry<'_>], at: Timestamp) -> Result<(), Fault> {
    if entries.is_empty() {
        return Ok(());
    }
    let actors: Vec<_> = entries.iter().map(|entry| clean(entry.actor)).collect();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action).collect();
    let reminders: Vec<Uuid> = entries.iter().map(|entry| entry.reminder).collect();
    let runs: Vec<Option<i32>> = entries.iter().map(|entry| entry.run.map(int)).collect();
    let details: Vec<_> = entries.iter().map(|entry| entry.detail.as_deref().map(clean)).collect();
    db.execute(
        "insert into punctual.audit (at, actor, action, reminder_id, run, detail) \
         select $1, v.* from unnest($2, $3, $4, $5, $6) as v",
        &[
            (&micros(at), Type::TIMESTAMPTZ),
            (&actors, Type::TEXT_ARRAY),
            (&actions, Type::TEXT_ARRAY),
            (&reminders, Type::UUID_ARRAY),
            (&runs, Type::INT4_ARRAY),
            (&details, Type::TEXT_ARRAY),
        ],
    )
    .await?;
    Ok(())
}
