//! People who belong together.

use jiff::Timestamp;
use punctual_core::decide::group::group_changed;
use punctual_core::decide::person::Difference;
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
    feed::follow_group(db, &group.name, group.rota.as_deref(), group.updated_at)?;
    write(db, &group_changed(&group.name, Some(group), who, group.updated_at))?;
    let before = before.map(|before| before.users).unwrap_or_default();
    let left: Vec<String> = before.into_iter().filter(|user| !group.users.contains(user)).collect();
    event::mark_group(db, &group.name, group.updated_at)?;
    let_go(db, &group.name, &left, group.updated_at)
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
    feed::follow_group(db, name, None, now)?;
    write(db, &group_changed(name, None, who, now))?;
    event::mark_group(db, name, now)?;
    let_go(db, name, &before.users, now).map(Some)
}

/// Looks again at the runs of users who belong to a group no more, if that is silent.
fn let_go(db: &Connection, name: &str, users: &[String], now: Timestamp) -> Result<Vec<Timestamp>, StoreError> {
    let is_silent = db.prepare_cached("SELECT 1 FROM silence WHERE group_name = ? AND until_at > ?");
    if users.is_empty() || !is_silent.map_err(broken)?.exists(params![name, micros(now)]).map_err(broken)? {
        return Ok(Vec::new());
    }
    let mut wakes = Vec::new();
    for user in users {
        wakes.extend(follow(db, user, Difference::TIMES, None, now)?);
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
