//! The things that people see who look at their day, or who look after a server.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::model::lateness::Stretch;
use punctual_core::occurrence::Attempt;
use punctual_core::shard::shard_of;
use punctual_core::store::{
    DatabaseState, DuePlace, Escalated, HowMany, KnownNodes, Overview, RUNS_LOOKED_AT_MAX, ReminderQuery, ReminderView,
    Response, RunView, RunsPage, RunsQuery, StoreError, Trail,
};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::batch::{BY_KEY, Ids};
use super::fault::Fault;
use super::pipeline::{all6, both};
use super::pool::{Connection, Param};
use super::read::{self, each, view, views};
use super::row::{clean, get, int, micros, uuid};
use super::{PostgresStore, lateness, migrate, node};
use crate::overview::{is_in, limits};
use crate::rows::{self, Reader};

/// Begins a transaction that reads the first few of an index, in its order, and beside each a row by its key, whatever the statistics say.
const BEGIN_READ_DUE: &str = "begin isolation level repeatable read, read only; set local jit = off; set local enable_seqscan = off; \
    set local enable_bitmapscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off";

#[async_trait]
impl Overview for PostgresStore {
    async fn runs(&self, query: RunsQuery) -> Result<RunsPage, StoreError> {
        on!(self, Normal, reads: true, db => runs(&db, &query))
    }

    async fn count(&self, query: ReminderQuery) -> Result<HowMany, StoreError> {
        on!(self, Normal, reads: true, db => read::count(&db, &query))
    }

    async fn put_lateness(&self, stretches: Vec<Stretch>) -> Result<(), StoreError> {
        // Writing the same again changes nothing.
        on!(self, Normal, reads: true, db => lateness::put(&db, &stretches))
    }

    async fn lateness(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Stretch>, StoreError> {
        on!(self, Normal, reads: true, db => lateness::read(&db, from, to))
    }

    async fn prune_lateness(&self, before: Timestamp) -> Result<(), StoreError> {
        on!(self, Normal, reads: true, db => lateness::prune(&db, before))
    }

    async fn nodes(&self) -> Result<Option<KnownNodes>, StoreError> {
        on!(self, Normal, reads: true, db => node::known(&db)).map(Some)
    }

    async fn database(&self) -> Result<DatabaseState, StoreError> {
        on!(self, Normal, reads: true, db => database(&db))
    }
}

async fn database(db: &Connection<'_>) -> Result<DatabaseState, Fault> {
    let server = migrate::server(db).await?;
    let schema = migrate::version(db).await?;
    let rows = db.rows("select pg_database_size(current_database())", &[]).await?;
    let bytes: i64 = rows.first().map_or(Ok(0), |row| get(row, 0))?;
    Ok(DatabaseState { kind: "PostgreSQL", version: server.name, schema, bytes: u64::try_from(bytes).unwrap_or(0) })
}

async fn runs(db: &Connection<'_>, query: &RunsQuery) -> Result<RunsPage, Fault> {
    let (places, next) = if query.is_awaiting() { awaiting(db, query).await? } else { due(db, query).await? };
    if places.is_empty() {
        db.commit().await?;
        return Ok(RunsPage { runs: Vec::new(), next });
    }
    let runs = by_keys(db, &places).await?;
    Ok(RunsPage { runs, next })
}

fn place(row: &Row) -> Result<DuePlace, StoreError> {
    let mut from = Reader::new(row, 0);
    Ok((from.at()?, from.occurrence_id()?))
}

/// A page of runs by when they are due, and the place at which the next begins. It leaves the transaction open.
async fn due(db: &Connection<'_>, query: &RunsQuery) -> Result<(Vec<DuePlace>, Option<DuePlace>), Fault> {
    let (compared, order) = if query.newest_first { ("<", "desc") } else { (">", "asc") };
    let (from, to) = limits(query);
    let (shard, user, from, to) = (i16::from(shard_of(&query.user)), clean(&query.user), micros(from), micros(to));
    let after = query.after.map(|(due_at, id)| (micros(due_at), uuid(id.reminder), int(id.run)));
    let mut params: Vec<Param<'_>> = vec![(&shard, Type::INT2), (&from, Type::TIMESTAMPTZ), (&to, Type::TIMESTAMPTZ)];
    let mut begins = "";
    if let Some((due_at, reminder, run)) = &after {
        begins = " and (o.due_at, o.reminder_id, o.run) {compared} ($4, $5, $6)";
        let place: [Param<'_>; 3] = [(due_at, Type::TIMESTAMPTZ), (reminder, Type::UUID), (run, Type::INT4)];
        params.extend(place);
    }
    let begins = begins.replace("{compared}", compared);
    let order = format!("o.due_at {order}, o.reminder_id {order}, o.run {order}");
    let looked_at = format!(
        "select o.due_at, o.reminder_id, o.run, o.state from punctual.occurrence o \
         where o.shard = $1 and o.due_at >= $2 and o.due_at < $3{begins} order by {order}"
    );
    let n = params.len();
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
    let of_looks = params.clone();
    let of_user: [(&(dyn ToSql + Sync), Type); 2] = [(&user, Type::TEXT), (&limit, Type::INT8)];
    params.extend(of_user);
    let sql = format!(
        "select o.due_at, o.reminder_id, o.run from ({looked_at} limit {RUNS_LOOKED_AT_MAX}) as o \
         cross join lateral (select from punctual.reminder r where r.id = o.reminder_id and r.user_id = ${} offset 0) as r \
         where true{} order by {order} limit ${}",
        n + 1,
        is_in(&query.states),
        n + 2
    );
    let ((), found) = both(db.begin(BEGIN_READ_DUE), db.rows(&sql, &params)).await?;
    let mut found = each(&found, place)?;
    if found.len() > query.limit {
        found.truncate(query.limit);
        let next = found.last().copied();
        return Ok((found, next));
    }
    // Fewer than a page: perhaps it has not looked at all of them.
    let last = format!("{looked_at} limit 1 offset {}", RUNS_LOOKED_AT_MAX - 1);
    let next = each(&db.rows(&last, &of_looks).await?, place)?.pop();
    Ok((found, next))
}

/// The same of runs that wait for an answer, which have an index of their own.
async fn awaiting(db: &Connection<'_>, query: &RunsQuery) -> Result<(Vec<DuePlace>, Option<DuePlace>), Fault> {
    let sql = format!(
        "select o.due_at, o.reminder_id, o.run from (select * from punctual.occurrence o where o.shard = $1 and o.reached > 0 \
           and o.wake_at is not null offset 0) as o \
         cross join lateral (select from punctual.reminder r where r.id = o.reminder_id and r.user_id = $2 offset 0) as r \
         where o.state = 'awaiting_ack' and o.due_at >= $3 and o.due_at < $4 limit {RUNS_LOOKED_AT_MAX}"
    );
    let (from, to) = limits(query);
    let (shard, user, from, to) = (i16::from(shard_of(&query.user)), clean(&query.user), micros(from), micros(to));
    let params: [Param<'_>; 4] =
        [(&shard, Type::INT2), (&user, Type::TEXT), (&from, Type::TIMESTAMPTZ), (&to, Type::TIMESTAMPTZ)];
    let ((), found) = both(db.begin(BEGIN_READ_DUE), db.rows(&sql, &params)).await?;
    Ok(query.page_of(each(&found, place)?))
}

/// The runs at these places with their trails and reminders, in order. It ends the transaction.
async fn by_keys(db: &Connection<'_>, places: &[DuePlace]) -> Result<Vec<RunView>, Fault> {
    const OF_RUNS: &str = "from unnest($1, $2) as v (reminder_id, run)";
    let ids: Ids = places.iter().map(|(_, id)| *id).collect();
    let mut reminders: Vec<Uuid> = ids.reminders.clone();
    reminders.sort_unstable();
    reminders.dedup();
    let of_runs: [Param<'_>; 2] = [(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY)];
    let of_reminders: [Param<'_>; 1] = [(&reminders, Type::UUID_ARRAY)];
    let occurrences = format!(
        "select {} {OF_RUNS} join punctual.occurrence o on o.reminder_id = v.reminder_id and o.run = v.run",
        rows::OCCURRENCE
    );
    let attempts = format!(
        "select a.reminder_id, a.run, {} {OF_RUNS} \
         join punctual.attempt a on a.reminder_id = v.reminder_id and a.run = v.run order by a.reminder_id, a.run, a.number",
        rows::ATTEMPT
    );
    let responses = format!(
        "select {} {OF_RUNS} join punctual.response s on s.reminder_id = v.reminder_id and s.run = v.run order by s.number",
        rows::RESPONSE
    );
    let others = format!(
        "select r.escalates_id, {} where r.escalates_id = any($1) order by o.due_at, r.user_id",
        rows::escalated_columns("punctual.")
    );
    let of_views = format!("{} where r.id = any($1)", views());
    let ((), occurrences, attempts, responses, others, of_views) = all6(
        db.batch(BY_KEY),
        db.rows(&occurrences, &of_runs),
        db.rows(&attempts, &of_runs),
        db.rows(&responses, &of_runs),
        db.rows(&others, &of_reminders),
        db.rows(&of_views, &of_reminders),
    )
    .await?;
    db.commit().await?;
    let reminders: HashMap<ReminderId, ReminderView> =
        each(&of_views, view)?.into_iter().map(|view| (view.reminder.id, view)).collect();
    let mut attempts_of: HashMap<OccurrenceId, Vec<Attempt>> = HashMap::new();
    for row in &attempts {
        let mut from = Reader::new(row, 0);
        attempts_of.entry(from.occurrence_id()?).or_default().push(rows::attempt(&mut from)?);
    }
    let mut responses_of: HashMap<OccurrenceId, Vec<Response>> = HashMap::new();
    for response in each(&responses, |row| rows::response(&mut Reader::new(row, 0)))? {
        responses_of.entry(response.occurrence).or_default().push(response);
    }
    let mut others_of: HashMap<OccurrenceId, Vec<Escalated>> = HashMap::new();
    for row in &others {
        let mut from = Reader::new(row, 0);
        let reminder = from.id()?;
        let (run, other) = rows::escalated(&mut from)?;
        others_of.entry(OccurrenceId { reminder, run }).or_default().push(other);
    }
    let mut found = HashMap::new();
    for occurrence in each(&occurrences, |row| rows::occurrence(&mut Reader::new(row, 0)))? {
        let id = occurrence.id;
        let (attempts, responses) =
            (attempts_of.remove(&id).unwrap_or_default(), responses_of.remove(&id).unwrap_or_default());
        let escalated = others_of.remove(&id).unwrap_or_default();
        found.insert(id, Trail { escalated, ..Trail::new(occurrence, attempts, responses) });
    }
    let run =
        |(_, id): &DuePlace| Some(RunView { trail: found.remove(id)?, reminder: reminders.get(&id.reminder)?.clone() });
    Ok(places.iter().filter_map(run).collect())
}
