//! Writing people and keys.

use jiff::Timestamp;
use punctual_core::key::{ApiKey, Scope};
use punctual_core::step;
use punctual_core::store::StoreError;
use punctual_core::user::User;
use rusqlite::{Connection, params};

use super::read;
use super::row::{broken, impossible, micros};
use crate::rows;

pub(super) fn put_user(db: &Connection, user: &User) -> Result<(), StoreError> {
    let addresses = serde_json::to_string(&user.addresses).map_err(impossible)?;
    db.prepare_cached(
        "INSERT INTO user (id, timezone, language, addresses, quiet_from, quiet_to, quiet_except, quiet_digest, \
         paused_until, escalate, habits, admin, created_at, updated_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (id) DO UPDATE SET timezone = excluded.timezone, language = excluded.language, \
         addresses = excluded.addresses, quiet_from = excluded.quiet_from, quiet_to = excluded.quiet_to, \
         quiet_except = excluded.quiet_except, quiet_digest = excluded.quiet_digest, \
         paused_until = excluded.paused_until, escalate = excluded.escalate, habits = excluded.habits, \
         admin = excluded.admin, updated_at = excluded.updated_at",
    )
    .map_err(broken)?
    .execute(params![
        user.id,
        user.timezone.as_ref().map(punctual_core::zone::Zone::name),
        user.language,
        addresses,
        user.quiet_hours.map(|quiet| quiet.from.to_string()),
        user.quiet_hours.map(|quiet| quiet.to.to_string()),
        user.quiet_hours.map(|quiet| quiet.except.as_str()),
        user.quiet_hours.is_some_and(|quiet| quiet.digest),
        user.paused_until.map(micros),
        step::to_stored(&user.escalate),
        user.habits.to_stored(),
        user.admin,
        micros(user.created_at),
        micros(user.updated_at),
    ])
    .map_err(broken)?;
    db.prepare_cached("DELETE FROM user_address WHERE user_id = ?")
        .map_err(broken)?
        .execute([&user.id])
        .map_err(broken)?;
    for address in &user.addresses {
        db.prepare_cached(
            "INSERT INTO user_address (channel, address, user_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        )
        .map_err(broken)?
        .execute([&address.channel, &address.address, &user.id])
        .map_err(broken)?;
    }
    Ok(())
}

pub(super) fn put_key(db: &Connection, key: &ApiKey) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO api_key (id, name, hash, user, write, scopes, channels, rate, prefix, expires_at, created_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .map_err(broken)?
    .execute(params![
        key.id,
        key.name,
        key.hash,
        key.user,
        key.scopes.allow(Scope::Write),
        key.scopes.to_string(),
        rows::key_channels(key)?,
        key.rate.map(|rate| rate.to_string()),
        key.prefix,
        key.expires_at.map(micros),
        micros(key.created_at)
    ])
    .map_err(broken)?;
    Ok(())
}

/// Writes the secrets of a key that has others now.
pub(super) fn put_secrets(db: &Connection, key: &ApiKey) -> Result<(), StoreError> {
    let old = key.replaced.as_ref();
    db.prepare_cached(
        "UPDATE api_key SET hash = ?, prefix = ?, old_hash = ?, old_prefix = ?, old_until = ? WHERE id = ?",
    )
    .map_err(broken)?
    .execute(params![
        key.hash,
        key.prefix,
        old.map(|old| old.hash),
        old.and_then(|old| old.prefix.as_ref()),
        old.map(|old| micros(old.until)),
        key.id
    ])
    .map_err(broken)?;
    Ok(())
}

/// Writes when keys were last used.
pub(super) fn put_uses(db: &Connection, uses: &[(String, Timestamp)]) -> Result<(), StoreError> {
    let mut update = db
        .prepare_cached("UPDATE api_key SET used_at = ?2 WHERE id = ?1 AND (used_at IS NULL OR used_at < ?2)")
        .map_err(broken)?;
    for (id, at) in uses {
        update.execute(params![id, micros(*at)]).map_err(broken)?;
    }
    Ok(())
}

/// Removes a key; returns it as it was.
pub(super) fn delete_key(db: &Connection, id: &str) -> Result<Option<ApiKey>, StoreError> {
    let key = read::key_named(db, id)?;
    delete(db, "DELETE FROM api_key WHERE id = ?1", id)?;
    Ok(key)
}

/// Runs a DELETE of one named row; says whether there was one.
pub(super) fn delete(db: &Connection, sql: &str, id: &str) -> Result<bool, StoreError> {
    let n_deleted = db.prepare_cached(sql).map_err(broken)?.execute([id]).map_err(broken)?;
    Ok(n_deleted > 0)
}
