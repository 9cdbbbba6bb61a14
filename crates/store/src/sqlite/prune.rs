//! Removing old history.

use jiff::Timestamp;
use punctual_core::store::{ANSWERED_KEPT_FOR, StoreError};
use rusqlite::{Connection, params};

use super::event;
use super::row::{broken, micros};
use crate::rows;

pub(super) fn prune(db: &Connection, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    let before = micros(before);
    let ended =
        format!("SELECT reminder_id, run FROM occurrence o WHERE {} AND at < ?1 ORDER BY at LIMIT ?2", rows::ENDED);
    for table in ["attempt", "response"] {
        let sql = format!("DELETE FROM {table} WHERE (reminder_id, run) IN ({ended})");
        db.prepare_cached(&sql).map_err(broken)?.execute(params![before, limit]).map_err(broken)?;
    }
    let mut emptied = std::collections::HashSet::new();
    let mut n_pruned = 0;
    {
        let sql = format!("DELETE FROM occurrence WHERE (reminder_id, run) IN ({ended}) RETURNING reminder_id");
        let mut statement = db.prepare_cached(&sql).map_err(broken)?;
        let mut rows = statement.query(params![before, limit]).map_err(broken)?;
        while let Some(row) = rows.next().map_err(broken)? {
            emptied.insert(row.get::<_, [u8; 16]>(0).map_err(broken)?);
            n_pruned += 1;
        }
    }
    for id in emptied {
        // A reminder goes with its last occurrence.
        db.prepare_cached(
            "DELETE FROM reminder WHERE id = ?1 AND status IN ('completed', 'cancelled') \
                 AND NOT EXISTS (SELECT 1 FROM occurrence WHERE reminder_id = ?1)",
        )
        .map_err(broken)?
        .execute([id])
        .map_err(broken)?;
    }
    if n_pruned == 0 {
        event::prune(db, before)?;
        // The last round. Nothing waits for a silence that is long over.
        db.prepare_cached("DELETE FROM silence WHERE until_at < ?")
            .map_err(broken)?
            .execute([before])
            .map_err(broken)?;
    }
    Ok(n_pruned)
}

/// Forgets answered requests that no client will repeat.
pub(super) fn forget_answered(db: &Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = now.checked_sub(ANSWERED_KEPT_FOR).unwrap_or(Timestamp::MIN);
    db.prepare_cached("DELETE FROM answered WHERE at < ?")
        .map_err(broken)?
        .execute([micros(before)])
        .map_err(broken)?;
    Ok(())
}
