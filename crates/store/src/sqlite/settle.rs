//! Ending leases: load, let core decide, write.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::decide::settle::{Counted, Leased, settled};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::rules::course::{Course, NOT_COUNTED};
use punctual_core::store::{Settled, Settlement, StoreError};
use rusqlite::{Connection, Row};

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

/// How far these reminders have come, and those whose series goes on.
fn counted(db: &Connection, reminders: HashSet<ReminderId>) -> Result<HashMap<ReminderId, Counted>, StoreError> {
    let mut counted = HashMap::with_capacity(reminders.len());
    let reminders: Vec<ReminderId> = reminders.into_iter().collect();
    let sql = format!(
        "WITH v (id) AS (VALUES {{values}}) SELECT {}, {}, CASE WHEN r.carried_by IS NULL THEN {N_OPEN} END \
         FROM v CROSS JOIN reminder r ON r.id = v.id",
        rows::REMINDER,
        rows::PROGRESS
    );
    for_rows(
        db,
        &sql,
        1,
        &reminders,
        |id, values| values.push(id.as_bytes()),
        |found| {
            let (id, known) = read_counted(found)?;
            counted.insert(id, known);
            Ok(())
        },
    )?;
    Ok(counted)
}

/// How many runs of the reminder `r` have not ended.
pub(super) const N_OPEN: &str = "(SELECT count(*) FROM occurrence o WHERE o.reminder_id = r.id \
    AND (o.wake_at IS NOT NULL OR o.state = 'paused'))";

/// How many runs of a reminder have not ended.
pub(super) fn n_open(db: &Connection, id: ReminderId) -> Result<u32, StoreError> {
    let sql = format!("SELECT {N_OPEN} FROM reminder r WHERE r.id = ?");
    Ok(collect(db, &sql, [id.as_bytes()], |found| get(found, 0))?.pop().unwrap_or_default())
}

fn read_counted(row: &Row<'_>) -> Result<(ReminderId, Counted), StoreError> {
    let progress = rows::progress(&mut Reader::new(row, rows::N_REMINDER))?;
    // Only a series needs the reminder itself, and only then is it read.
    let carried = match progress.series.carried_by {
        Some(_) => Some(Arc::new(rows::reminder(&mut Reader::new(row, 0))?)),
        None => None,
    };
    let mut from = Reader::new(row, 0);
    let (id, user) = (from.id()?, from.owned()?);
    let status = Reader::new(row, rows::STATUS).word()?;
    let n_open = get::<Option<u32>>(row, rows::N_REMINDER + rows::N_PROGRESS)?.unwrap_or(NOT_COUNTED);
    let priority = Reader::new(row, rows::PRIORITY).priority()?;
    Ok((id, Counted { course: Course { status, progress, n_open }, priority, user, carried }))
}
