//! People who belong together.

use jiff::Timestamp;
use punctual_core::decide::group::group_changed;
use punctual_core::group::Group;
use punctual_core::journal::Who;
use punctual_core::store::StoreError;
use rusqlite::{Connection, params};

use super::person::follow;
use super::read::collect;
use super::row::{broken, impossible, micros};
use super::values::for_rows;
use super::write::write;
use super::{event, feed, keep};
use crate::rows;

/// Writes or replaces a group; returns when runs of users who have left it must be looked at again.
pub(super) fn put(db: &Connection, group: &Group, who: Who) -> Result<Vec<Timestamp>, StoreError> {
    let before = of_names(db, std::slice::from_ref(&group.name))?.pop();
    who.expects.check(|| before.as_ref().map(Group::version))?;
    let users = serde_json::to_string(&group.users).map_err(impossible)?;
    db.prepare_cached(
        "INSERT INTO user_group (name, mode, users, rota, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?) \
         ON CONFLICT (name) DO UPDATE SET mode = excluded.mode, users = excluded.users, rota = excluded.rota, \
         updated_at = excluded.updated_at",
    )
    .map_err(broken)?
    .execute(params![
        group.name,
        group.mode.as_str(),
        users,
        group.rota,
        micros(group.created_at),
        micros(group.updated_at)
    ])
    .map_err(broken)?;
    changed(db, &group.name, before.as_ref(), Some(group), who, group.updated_at)
}

/// Removes a group. `None`: there was none.
pub(super) fn delete(
    db: &Connection,
    name: &str,
    who: Who,
    now: Timestamp,
) -> Result<Option<Vec<Timestamp>>, StoreError> {
    let Some(before) = of_names(db, &[name.to_owned()])?.pop() else { return Ok(None) };
    who.expects.check(|| Some(before.version()))?;
    keep::delete(db, "DELETE FROM user_group WHERE name = ?1", name)?;
    changed(db, name, Some(&before), None, who, now).map(Some)
}

/// What follows from a group that was written or removed; returns when runs must be looked at again.
fn changed(
    db: &Connection,
    name: &str,
    before: Option<&Group>,
    after: Option<&Group>,
    who: Who,
    now: Timestamp,
) -> Result<Vec<Timestamp>, StoreError> {
    feed::follow_group(db, name, after.and_then(|after| after.rota.as_deref()), now)?;
    let silence = db.prepare_cached("SELECT 1 FROM silence WHERE group_name = ? AND until_at > ?");
    let is_silent = silence.map_err(broken)?.exists(params![name, micros(now)]).map_err(broken)?;
    let (users, writes) = group_changed(name, before, after, is_silent, who, now);
    write(db, &writes)?;
    event::mark_group(db, name, now)?;
    let mut wakes = Vec::new();
    for (user, difference) in users {
        wakes.extend(follow(db, &user, difference, None, now)?);
    }
    Ok(wakes)
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
    with_shifts(db, found)
}

/// The same with those on duty, where a calendar says who is.
fn with_shifts(db: &Connection, mut groups: Vec<Group>) -> Result<Vec<Group>, StoreError> {
    let sql = format!("SELECT {} FROM rota_shift s WHERE s.group_name = ? ORDER BY s.number", rows::SHIFT);
    let names: Vec<String> =
        groups.iter().filter(|group| group.rota.is_some()).map(|group| group.name.clone()).collect();
    for name in names {
        rows::with_shifts(&mut groups, collect(db, &sql, [name], |found| rows::shift(found))?);
    }
    Ok(groups)
}

pub(super) fn groups(db: &Connection, after: Option<&str>, limit: usize) -> Result<Vec<Group>, StoreError> {
    let sql = format!("SELECT {} FROM user_group g WHERE g.name > ? ORDER BY g.name LIMIT ?", rows::GROUP);
    with_shifts(db, collect(db, &sql, params![after.unwrap_or(""), limit], |found| rows::group(found))?)
}
