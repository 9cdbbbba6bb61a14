//! How late sends were, by node and stretch.

use jiff::Timestamp;
use punctual_core::model::lateness::Stretch;
use punctual_core::store::StoreError;
use rusqlite::{Connection, params};

use super::read::collect;
use super::row::{broken, micros};
use crate::rows::{self, Reader};

/// Writes each over what the same run of its node has written before.
pub(super) fn put(db: &Connection, stretches: &[Stretch]) -> Result<(), StoreError> {
    let sql = "INSERT INTO lateness (at, node, since, late_max, counts, failed, given_up, waiting) VALUES (?, ?, ?, ?, ?, ?, ?, ?) \
        ON CONFLICT DO UPDATE SET late_max = excluded.late_max, counts = excluded.counts, failed = excluded.failed, \
        given_up = excluded.given_up, waiting = excluded.waiting";
    let mut statement = db.prepare_cached(sql).map_err(broken)?;
    for stretch in stretches {
        let [late_max, failed, given_up, waiting] = rows::numbers_of(stretch);
        let counts = stretch.late.to_string();
        let (at, since) = (micros(stretch.at), micros(stretch.since));
        statement
            .execute(params![at, stretch.node, since, late_max, counts, failed, given_up, waiting])
            .map_err(broken)?;
    }
    Ok(())
}

pub(super) fn read(db: &Connection, from: Timestamp, to: Timestamp) -> Result<Vec<Stretch>, StoreError> {
    let sql =
        format!("SELECT {} FROM lateness l WHERE l.at >= ? AND l.at < ? ORDER BY l.at, l.node, l.since", rows::STRETCH);
    collect(db, &sql, params![micros(from), micros(to)], |found| rows::stretch(&mut Reader::new(found, 0)))
}

pub(super) fn prune(db: &Connection, before: Timestamp) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached("DELETE FROM lateness WHERE at < ?").map_err(broken)?;
    statement.execute([micros(before)]).map_err(broken)?;
    Ok(())
}
