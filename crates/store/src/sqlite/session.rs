//! Sessions of the page that were ended.

use jiff::Timestamp;
use punctual_core::store::StoreError;
use rusqlite::{Connection, OptionalExtension, params};

use super::row::{broken, instant, micros};

pub(super) fn end(db: &Connection, name: &str, at: Timestamp, forgotten: Timestamp) -> Result<(), StoreError> {
    let sql = "INSERT INTO session_end (name, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)";
    db.prepare_cached(sql).map_err(broken)?.execute(params![name, micros(at)]).map_err(broken)?;
    let sql = "DELETE FROM session_end WHERE at < ?";
    db.prepare_cached(sql).map_err(broken)?.execute([micros(forgotten)]).map_err(broken)?;
    Ok(())
}

pub(super) fn ended(db: &Connection, names: &[String]) -> Result<Option<Timestamp>, StoreError> {
    let mut find = db.prepare_cached("SELECT at FROM session_end WHERE name = ?").map_err(broken)?;
    let mut last = None;
    for name in names {
        let at: Option<i64> = find.query_row([name], |found| found.get(0)).optional().map_err(broken)?;
        last = last.max(at);
    }
    last.map(instant).transpose()
}
