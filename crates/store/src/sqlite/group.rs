//! People who belong together.

use punctual_core::group::Group;
use punctual_core::store::StoreError;
use rusqlite::{Connection, params};

use super::read::collect;
use super::row::{broken, impossible, micros};
use super::values::for_rows;
use crate::rows;

pub(super) fn put(db: &Connection, group: &Group) -> Result<(), StoreError> {
    let users = serde_json::to_string(&group.users).map_err(impossible)?;
    db.prepare_cached(
        "INSERT INTO user_group (name, mode, users, created_at, updated_at) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (name) DO UPDATE SET mode = excluded.mode, users = excluded.users, updated_at = excluded.updated_at",
    )
    .map_err(broken)?
    .execute(params![group.name, group.mode.as_str(), users, micros(group.created_at), micros(group.updated_at)])
    .map_err(broken)?;
    Ok(())
}

/// Those of `names` that there are.
pub(super) fn of_names(db: &Connection, names: &[String]) -> Result<Vec<Group>, StoreError> {
    let sql = format!("SELECT {} FROM user_group g WHERE g.name IN (VALUES {{values}})", rows::GROUP);
    let mut found = Vec::new();
    for_rows(
        db,
        &sql,
        1,
        names,
        |name, values| values.push(name),
        |row| {
            found.push(rows::group(row)?);
            Ok(())
        },
    )?;
    Ok(found)
}

pub(super) fn groups(db: &Connection, after: Option<&str>, limit: usize) -> Result<Vec<Group>, StoreError> {
    let sql = format!("SELECT {} FROM user_group g WHERE g.name > ? ORDER BY g.name LIMIT ?", rows::GROUP);
    collect(db, &sql, params![after.unwrap_or(""), limit], |found| rows::group(found))
}
