//! The things that people see who look at their day, or who look after a server.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::id::ReminderId;
use punctual_core::model::lateness::Stretch;
use punctual_core::shard::shard_of;
use punctual_core::store::{
    DatabaseState, DuePlace, HowMany, KnownNodes, Overview, RUNS_LOOKED_AT_MAX, ReminderQuery, ReminderView, RunView,
    RunsPage, RunsQuery, StoreError,
};
use rusqlite::types::ToSql;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::read::{self, collect};
use super::row::{broken, micros};
use super::worker::Urgency;
use super::{SqliteStore, lateness};
use crate::overview::{is_in, limits};
use crate::rows::Reader;

#[async_trait]
impl Overview for SqliteStore {
    async fn runs(&self, query: RunsQuery) -> Result<RunsPage, StoreError> {
        self.read(move |db| runs(db, &query)).await
    }

    async fn count(&self, query: ReminderQuery) -> Result<HowMany, StoreError> {
        self.read(move |db| read::count(db, &query)).await
    }

    async fn put_lateness(&self, stretches: Vec<Stretch>) -> Result<(), StoreError> {
        self.write(Urgency::Normal, move |db| lateness::put(db, &stretches)).await
    }

    async fn lateness(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Stretch>, StoreError> {
        self.read(move |db| lateness::read(db, from, to)).await
    }

    async fn prune_lateness(&self, before: Timestamp) -> Result<(), StoreError> {
        self.write(Urgency::Normal, move |db| lateness::prune(db, before)).await
    }

    async fn nodes(&self) -> Result<Option<KnownNodes>, StoreError> {
        Ok(None)
    }

    async fn database(&self) -> Result<DatabaseState, StoreError> {
        self.read(database).await
    }
}

fn database(db: &Connection) -> Result<DatabaseState, StoreError> {
    let sql = "SELECT p.page_count * s.page_size, v.user_version FROM pragma_page_count p, pragma_page_size s, pragma_user_version v";
    let size = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (bytes, schema) = db.prepare_cached(sql).map_err(broken)?.query_row([], size).map_err(broken)?;
    Ok(DatabaseState { kind: "SQLite", version: super::version().to_owned(), schema, bytes })
}

fn runs(db: &Connection, query: &RunsQuery) -> Result<RunsPage, StoreError> {
    let (places, next) = if query.is_awaiting() { awaiting(db, query)? } else { due(db, query)? };
    let mut ids: Vec<ReminderId> = places.iter().map(|(_, id)| id.reminder).collect();
    ids.sort_unstable();
    ids.dedup();
    let found = read::existing(db, &ids)?.into_iter().map(|view| (view.reminder.id, view));
    let reminders: HashMap<ReminderId, ReminderView> = found.collect();
    let mut runs = Vec::with_capacity(places.len());
    for (_, id) in places {
        if let Some(trail) = read::occurrence(db, id)?
            && let Some(reminder) = reminders.get(&id.reminder)
        {
            runs.push(RunView { trail, reminder: reminder.clone() });
        }
    }
    Ok(RunsPage { runs, next })
}

fn place(row: &Row<'_>) -> Result<DuePlace, StoreError> {
    let mut from = Reader::new(row, 0);
    Ok((from.at()?, from.occurrence_id()?))
}

/// A page of runs by when they are due, and the place at which the next begins. The rows come one by one, so no more are looked at than are needed.
fn due(db: &Connection, query: &RunsQuery) -> Result<(Vec<DuePlace>, Option<DuePlace>), StoreError> {
    let (compared, order) = if query.newest_first { ("<", "DESC") } else { (">", "ASC") };
    let (from, to) = limits(query);
    let mut values: Vec<Box<dyn ToSql>> = vec![
        Box::new(shard_of(&query.user)),
        Box::new(query.user.clone()),
        Box::new(micros(from)),
        Box::new(micros(to)),
    ];
    let mut after = String::new();
    if let Some((due_at, id)) = query.after {
        after = format!(" AND (o.due_at, o.reminder_id, o.run) {compared} (?5, ?6, ?7)");
        values.push(Box::new(micros(due_at)));
        values.push(Box::new(id.reminder.as_bytes().to_vec()));
        values.push(Box::new(id.run));
    }
    // Whose run it is says an index alone; the row is read for the state, of the user's own.
    let sql = format!(
        "SELECT o.due_at, o.reminder_id, o.run, \
           EXISTS (SELECT 1 FROM reminder r INDEXED BY reminder_user WHERE r.user_id = ?2 AND r.id = o.reminder_id){} \
         FROM occurrence o INDEXED BY occurrence_due WHERE o.shard = ?1 AND o.due_at >= ?3 AND o.due_at < ?4{after} \
         ORDER BY o.due_at {order}, o.reminder_id {order}, o.run {order} LIMIT {RUNS_LOOKED_AT_MAX}",
        is_in(&query.states)
    );
    let mut statement = db.prepare_cached(&sql).map_err(broken)?;
    let mut rows = statement.query(params_from_iter(values.iter())).map_err(broken)?;
    let (mut found, mut n_looked_at, mut last) = (Vec::new(), 0, None);
    while let Some(row) = rows.next().map_err(broken)? {
        let place = place(row)?;
        if row.get::<_, bool>(3).map_err(broken)? {
            if found.len() == query.limit {
                return Ok((found, last));
            }
            found.push(place);
        }
        (n_looked_at, last) = (n_looked_at + 1, Some(place));
    }
    Ok((found, last.filter(|_| n_looked_at == RUNS_LOOKED_AT_MAX)))
}

/// The same of runs that wait for an answer, which have an index of their own.
fn awaiting(db: &Connection, query: &RunsQuery) -> Result<(Vec<DuePlace>, Option<DuePlace>), StoreError> {
    let (from, to) = limits(query);
    let sql = format!(
        "SELECT o.due_at, o.reminder_id, o.run FROM occurrence o INDEXED BY occurrence_asked \
         WHERE o.shard = ?1 AND o.reached > 0 AND o.wake_at IS NOT NULL AND o.state = 'awaiting_ack' AND o.due_at >= ?3 AND o.due_at < ?4 \
         AND EXISTS (SELECT 1 FROM reminder r INDEXED BY reminder_user WHERE r.user_id = ?2 AND r.id = o.reminder_id) LIMIT {RUNS_LOOKED_AT_MAX}"
    );
    let values = params![shard_of(&query.user), query.user, micros(from), micros(to)];
    Ok(query.page_of(collect(db, &sql, values, place)?))
}
