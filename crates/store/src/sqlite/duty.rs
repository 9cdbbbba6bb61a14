//! Work that is done by one at a time. Only one process has the file, so a node that asks for a duty gets it, and the node that had it
//! before is gone.

use punctual_core::store::{Duty, KeptDuty, KnownDuty, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::read::collect;
use super::row::broken;
use crate::journal::known_duty;

/// How a duty stands beside what its holder wants to write.
pub(super) enum Is {
    /// The same.
    AsKept,
    /// Its work has come further since.
    Behind,
    /// It was taken by another.
    Anothers,
}

pub(super) fn take(db: &Connection, name: &str, node: &str) -> Result<Duty, StoreError> {
    db.prepare_cached(
        "INSERT INTO duty (name, position, lease, node) \
         VALUES (?1, coalesce((SELECT max(number) FROM journal), 0), 1, ?2) \
         ON CONFLICT (name) DO UPDATE SET lease = lease + 1, node = excluded.node RETURNING lease, position, note",
    )
    .map_err(broken)?
    .query_row(params![name, node], |row| Ok(Duty { lease: row.get(0)?, position: row.get(1)?, note: row.get(2)? }))
    .map_err(broken)
}

pub(super) fn is_as(db: &Connection, kept: &KeptDuty) -> Result<Is, StoreError> {
    let found = db
        .prepare_cached("SELECT position = ?3 AND note IS ?4 FROM duty WHERE name = ?1 AND lease = ?2")
        .map_err(broken)?
        .query_row(params![kept.name, kept.lease, kept.position, kept.note], |row| row.get::<_, bool>(0))
        .optional()
        .map_err(broken)?;
    Ok(match found {
        None => Is::Anothers,
        Some(true) => Is::AsKept,
        Some(false) => Is::Behind,
    })
}

pub(super) fn keep(db: &Connection, kept: &KeptDuty) -> Result<bool, StoreError> {
    let n_kept = db
        .prepare_cached("UPDATE duty SET position = ?3, note = ?4 WHERE name = ?1 AND lease = ?2")
        .map_err(broken)?
        .execute(params![kept.name, kept.lease, kept.position, kept.note])
        .map_err(broken)?;
    Ok(n_kept > 0)
}

pub(super) fn all(db: &Connection) -> Result<Vec<KnownDuty>, StoreError> {
    collect(db, "SELECT name, node, position, note FROM duty ORDER BY name", [], |row| known_duty(row))
}
