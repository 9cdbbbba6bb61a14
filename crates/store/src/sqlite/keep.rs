//! Writing people and keys.

use punctual_core::step;
use punctual_core::store::StoreError;
use punctual_core::user::{ApiKey, User};
use rusqlite::{Connection, params};

use super::read;
use super::row::{broken, impossible, micros};

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
        "INSERT INTO api_key (id, name, hash, user, write, expires_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .map_err(broken)?
    .execute(params![
        key.id,
        key.name,
        key.hash,
        key.user,
        key.write,
        key.expires_at.map(micros),
        micros(key.created_at)
    ])
    .map_err(broken)?;
    Ok(())
}

/// Removes a key; returns it as it was.
pub(super) fn delete_key(db: &Connection, id: &str) -> Result<Option<ApiKey>, StoreError> {
    let key = read::key_of(db, id)?;
    delete(db, "DELETE FROM api_key WHERE id = ?1", id)?;
    Ok(key)
}

/// Runs a DELETE of one named row; says whether there was one.
pub(super) fn delete(db: &Connection, sql: &str, id: &str) -> Result<bool, StoreError> {
    let n_deleted = db.prepare_cached(sql).map_err(broken)?.execute([id]).map_err(broken)?;
    Ok(n_deleted > 0)
}
