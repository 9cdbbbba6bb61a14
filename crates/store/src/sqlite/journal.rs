//! Reading the journal, and removing what is old of it.

use jiff::Timestamp;
use punctual_core::store::{JournalPage, JournalQuery, Start, StoreError};
use rusqlite::{Connection, params, params_from_iter};

use super::row::{broken, micros};
use crate::journal::{ENTRY, page, placed, stretch, wanted};

/// The last position there is.
pub(super) fn head(db: &Connection) -> Result<i64, StoreError> {
    ends(db).map(|(_, head)| head)
}

/// The oldest and the last position that are kept.
fn ends(db: &Connection) -> Result<(i64, i64), StoreError> {
    let sql = "SELECT (SELECT min(number) FROM journal), (SELECT max(number) FROM journal)";
    let ends = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
    let (first, head) = db.prepare_cached(sql).map_err(broken)?.query_row([], ends).map_err(broken)?;
    let head = head.unwrap_or(0);
    Ok((first.unwrap_or(head + 1), head))
}

pub(super) fn journal(db: &Connection, query: &JournalQuery) -> Result<JournalPage, StoreError> {
    let (first, head) = ends(db)?;
    let stretch @ (from, to) = stretch(query, first, head);
    let (conditions, values) = wanted(query, '?', 1);
    let order = match query.start {
        Start::After(_) => "ASC",
        Start::Before(_) => "DESC",
    };
    // Both of them are numbers, so they need not be values.
    let sql = format!(
        "SELECT j.number, 'local', {ENTRY} FROM journal j WHERE j.number BETWEEN {from} AND {to}{conditions} \
         ORDER BY j.number {order} LIMIT {}",
        query.limit
    );
    let mut statement = db.prepare(&sql).map_err(broken)?;
    let mut rows = statement.query(params_from_iter(values)).map_err(broken)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next().map_err(broken)? {
        entries.push(placed(row)?);
    }
    Ok(page(query, entries, stretch, first, (first, head)))
}

/// Removes entries from before `before`, the oldest first, and never the last.
pub(super) fn prune(db: &Connection, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM journal WHERE number IN (SELECT number FROM journal WHERE number < (SELECT max(number) FROM journal) \
               ORDER BY number LIMIT ?2) AND at < ?1";
    db.prepare_cached(sql).map_err(broken)?.execute(params![micros(before), limit]).map_err(broken)
}
