//! Reminders that came from another system, for comparing with it.

use punctual_core::store::{IMPORTED_RUNS_MAX, Imported, ImportedQuery, ImportedRun, StoreError};
use rusqlite::{Connection, params};

use super::read::collect;
use super::row::micros;
use crate::rows::{self, Reader};

pub(super) fn imported(db: &Connection, query: &ImportedQuery) -> Result<Vec<Imported>, StoreError> {
    // Few metadata mention an import, and only those are worth reading as JSON.
    let sql = format!(
        "SELECT {} FROM reminder r WHERE r.id > ?1 AND instr(r.metadata, '\"imported\"') > 0 \
         AND json_extract(r.metadata, '$.imported.from') = ?2 ORDER BY r.id LIMIT ?3",
        rows::REMINDER
    );
    let after = query.after.map_or_else(Vec::new, |id| id.as_bytes().to_vec());
    let reminders = collect(db, &sql, params![after, query.source, query.limit], |found| {
        rows::reminder(&mut Reader::new(found, 0))
    })?;
    let sql = "SELECT o.run, o.due_at, o.state, (SELECT min(a.started_at) FROM attempt a WHERE a.reminder_id = ?1 \
         AND a.run = o.run AND a.status IN ('sent', 'delivered')) FROM occurrence o WHERE o.reminder_id = ?1 \
         AND o.due_at >= ?2 AND o.due_at < ?3 ORDER BY o.run DESC LIMIT ?4";
    let mut found = Vec::with_capacity(reminders.len());
    for reminder in reminders {
        let values = params![reminder.id.as_bytes(), micros(query.from), micros(query.to), IMPORTED_RUNS_MAX];
        let mut runs = collect(db, sql, values, |run| {
            let mut from = Reader::new(run, 0);
            Ok(ImportedRun { run: from.count()?, due_at: from.at()?, state: from.word()?, sent_at: from.maybe_at()? })
        })?;
        runs.reverse();
        found.push(Imported { reminder, runs });
    }
    Ok(found)
}
