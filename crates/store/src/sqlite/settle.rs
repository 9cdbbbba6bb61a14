//! Ending leases: load, let core decide, write.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use punctual_core::decide::settle::{Counted, Leased, settled};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::store::{Settled, Settlement, StoreError};
use rusqlite::Connection;

use super::read::collect;
use super::row::get;
use super::values::for_rows;
use super::write::write;
use crate::rows::{self, Reader};

pub(super) fn settle(db: &Connection, settlements: Vec<Settlement>, now: Timestamp) -> Result<Settled, StoreError> {
    let leased = leased(db, &settlements)?;
    let counted = counted(db, leased.keys().map(|(id, _)| id.reminder).collect())?;
    let (mut ended, writes) = settled(&settlements, &leased, &counted, now);
    ended.add_alerts(write(db, &writes)?);
    Ok(ended)
}

/// The runs whose leases still hold.
fn leased(db: &Connection, settlements: &[Settlement]) -> Result<HashMap<(OccurrenceId, u64), Leased>, StoreError> {
    let mut leased = HashMap::with_capacity(settlements.len());
    for_rows(
        db,
        "WITH v (reminder_id, run, lease) AS (VALUES {values}) SELECT o.reminder_id, o.run, o.lease, o.readdressed, \
         o.message_id FROM v CROSS JOIN occurrence o ON o.reminder_id = v.reminder_id AND o.run = v.run \
         WHERE o.lease = v.lease AND o.state = 'processing'",
        3,
        settlements,
        |settlement, values| {
            values.push(settlement.occurrence.id.reminder.as_bytes());
            values.push(settlement.occurrence.id.run);
            values.push(settlement.lease);
        },
        |found| {
            let id = Reader::new(found, 0).occurrence_id()?;
            let known = Leased { readdressed: get(found, 3)?, message_id: get(found, 4)? };
            leased.insert((id, get::<u64>(found, 2)?), known);
            Ok(())
        },
    )?;
    Ok(leased)
}

static COUNTED: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::counted_columns();
    format!("WITH v (id) AS (VALUES {{values}}) SELECT {columns} FROM v CROSS JOIN reminder r ON r.id = v.id")
});

/// How far these reminders have come, and those whose series goes on.
fn counted(db: &Connection, mut reminders: Vec<ReminderId>) -> Result<HashMap<ReminderId, Counted>, StoreError> {
    // Neighbours stand on one page.
    reminders.sort_unstable();
    reminders.dedup();
    let mut counted = HashMap::with_capacity(reminders.len());
    for_rows(
        db,
        &COUNTED,
        1,
        &reminders,
        |id, values| values.push(id.as_bytes()),
        |found| {
            let (id, known) = rows::counted(&mut Reader::new(found, 0))?;
            counted.insert(id, known);
            Ok(())
        },
    )?;
    Ok(counted)
}

/// How many runs of a reminder have not ended.
pub(super) fn n_open(db: &Connection, id: ReminderId) -> Result<u32, StoreError> {
    let sql = format!("SELECT count(*) FROM occurrence o WHERE o.reminder_id = ? AND {}", rows::OPEN);
    Ok(collect(db, &sql, [id.as_bytes()], |found| get(found, 0))?.pop().unwrap_or_default())
}
