//! Reminders that came from another system, for comparing with it.

use std::collections::BTreeMap;

use punctual_core::id::ReminderId;
use punctual_core::store::{IMPORTED_RUNS_MAX, Imported, ImportedQuery, ImportedRun, StoreError};
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::BEGIN_READ_IN_ORDER;
use super::fault::Fault;
use super::pipeline::both;
use super::pool::Connection;
use super::read::each;
use super::row::{clean, micros, uuid};
use crate::rows::{self, Reader};

pub(super) async fn imported(db: &Connection<'_>, query: &ImportedQuery) -> Result<Vec<Imported>, Fault> {
    // In the order of the primary key, so that all pages together read the table once.
    let sql = format!(
        "select {} from punctual.reminder r where r.id > $1 and r.metadata like '%\"imported\"%' \
         and r.metadata::json #>> '{{imported,from}}' = $2 order by r.id limit $3",
        rows::REMINDER
    );
    let after = query.after.map_or_else(Uuid::nil, uuid);
    let source = clean(&query.source);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let which: [super::pool::Param<'_>; 3] = [(&after, Type::UUID), (&source, Type::TEXT), (&limit, Type::INT8)];
    let ((), rows) = both(db.begin(BEGIN_READ_IN_ORDER), db.rows(&sql, &which)).await?;
    let reminders = each(&rows, |found| rows::reminder(&mut Reader::new(found, 0)))?;
    let ids: Vec<Uuid> = reminders.iter().map(|reminder| uuid(reminder.id)).collect();
    let runs_max = i64::try_from(IMPORTED_RUNS_MAX).unwrap_or(i64::MAX);
    let (from, to) = (micros(query.from), micros(query.to));
    let of_these: [super::pool::Param<'_>; 4] =
        [(&ids, Type::UUID_ARRAY), (&from, Type::TIMESTAMPTZ), (&to, Type::TIMESTAMPTZ), (&runs_max, Type::INT8)];
    let found = db.rows(
        "select o.reminder_id, o.run, o.due_at, o.state, (select min(a.started_at) from punctual.attempt a \
         where a.reminder_id = o.reminder_id and a.run = o.run and a.status in ('sent', 'delivered')) \
         from unnest($1) as v (id), lateral (select * from punctual.occurrence o where o.reminder_id = v.id \
         and o.due_at >= $2 and o.due_at < $3 order by o.run desc limit $4) as o order by o.reminder_id, o.run",
        &of_these,
    );
    let (found, ()) = both(found, db.commit()).await?;
    let mut runs: BTreeMap<ReminderId, Vec<ImportedRun>> = BTreeMap::new();
    for (id, run) in each(&found, read_run)? {
        runs.entry(id).or_default().push(run);
    }
    let with_runs = |reminder: punctual_core::reminder::Reminder| {
        let runs = runs.remove(&reminder.id).unwrap_or_default();
        Imported { reminder, runs }
    };
    Ok(reminders.into_iter().map(with_runs).collect())
}

fn read_run(found: &tokio_postgres::Row) -> Result<(ReminderId, ImportedRun), StoreError> {
    let mut from = Reader::new(found, 0);
    let id = from.id()?;
    Ok((id, ImportedRun { run: from.count()?, due_at: from.at()?, state: from.word()?, sent_at: from.maybe_at()? }))
}
