//! Ending leases: load in one round trip, write in another, however many rows.
//!
//! Nothing is locked between the two, which would be one more change of each row. The transaction sees one moment of the database, and the
//! server undoes it when a row that it writes has changed since; then it is done again. Every row that the decision depends on is written.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use punctual_core::decide::settle::{Counted, Leased, settled};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::shard::Shards;
use punctual_core::store::{Settled, Settlement};
use punctual_core::writes::Moved;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{BEGIN_SNAPSHOT_BY_KEY, Ids};
use super::fault::Fault;
use super::pipeline::all3;
use super::pool::{Connection, Param};
use super::read::each;
use super::row::uuid;
use super::write;
use crate::rows::{self, Reader};

static COUNTED: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::counted_columns();
    format!("select {columns} from unnest($1) as v (id) join punctual.reminder r on r.id = v.id")
});

pub(super) async fn settle(
    db: &Connection<'_>,
    own: Shards,
    settlements: &[Settlement],
    now: Timestamp,
) -> Result<Settled, Fault> {
    let mut leases: Vec<(OccurrenceId, u64)> = settlements.iter().map(|s| (s.occurrence.id, s.lease)).collect();
    leases.sort_unstable();
    let (leased, counted) = load(db, &leases).await?;
    let (mut ended, writes) = settled(settlements, &leased, &counted, now);
    if writes.occurrences.is_empty() {
        db.rollback().await?;
        return Ok(ended);
    }
    ended.add_alerts(write::commit(db, own, &writes).await?);
    Ok(ended)
}

/// Loads the runs whose leases still hold, and the reminders of all.
async fn load(
    db: &Connection<'_>,
    leases: &[(OccurrenceId, u64)],
) -> Result<(HashMap<(OccurrenceId, u64), Leased>, HashMap<ReminderId, Counted>), Fault> {
    let ids: Ids = leases.iter().map(|(id, _)| *id).collect();
    let numbers: Vec<i64> = leases.iter().map(|(_, lease)| *lease as i64).collect();
    let mut reminders = ids.reminders.clone();
    reminders.dedup();
    let of_runs: [Param<'_>; 3] =
        [(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY), (&numbers, Type::INT8_ARRAY)];
    let of_reminders: [Param<'_>; 1] = [(&reminders, Type::UUID_ARRAY)];
    let ((), leased, rows) = all3(
        db.begin(BEGIN_SNAPSHOT_BY_KEY),
        db.rows(
            "select o.reminder_id, o.run, o.lease, o.readdressed, o.message_id \
             from unnest($1, $2, $3) as v (reminder_id, run, lease) join punctual.occurrence o \
             on o.reminder_id = v.reminder_id and o.run = v.run and o.lease = v.lease and o.state = 'processing'",
            &of_runs,
        ),
        db.rows(&COUNTED, &of_reminders),
    )
    .await?;
    let leased = each(&leased, |row| {
        let mut from = Reader::new(row, 0);
        // The number of a lease comes from `leases`, so it is none that would not fit.
        let lease = (from.occurrence_id()?, from.number()? as u64);
        Ok((lease, Leased { readdressed: from.flag()?, message_id: from.maybe_owned()? }))
    })?;
    let counted = each(&rows, |row| rows::counted(&mut Reader::new(row, 0)))?;
    Ok((leased.into_iter().collect(), counted.into_iter().collect()))
}

/// How many runs of these reminders have not ended.
pub(super) async fn n_open(db: &Connection<'_>, reminders: &[Moved]) -> Result<HashMap<ReminderId, u32>, Fault> {
    let reminders: Vec<Uuid> = reminders.iter().map(|moved| uuid(moved.reminder)).collect();
    let sql = format!(
        "select r.id, (select count(*) from punctual.occurrence o where o.reminder_id = r.id and {}) from unnest($1) as r (id)",
        rows::OPEN
    );
    let rows = db.rows(&sql, &[(&reminders, Type::UUID_ARRAY)]).await?;
    let n_open = each(&rows, |row| {
        let mut from = Reader::new(row, 0);
        Ok((from.id()?, from.count()?))
    })?;
    Ok(n_open.into_iter().collect())
}
