//! Users and keys.

use punctual_core::step;
use punctual_core::store::StoreError;
use punctual_core::user::{ADMIN_ID, ApiKey, User};
use punctual_core::zone::Zone;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;
use super::read::each;
use super::row::{clean, get, impossible, instant, micros, optional_instant};
use super::share::ADMIN_KEY_KEPT_FOR;
use crate::rows;

pub(super) async fn put_user(db: &Connection<'_>, user: &User) -> Result<(), Fault> {
    let addresses = serde_json::to_string(&user.addresses).map_err(impossible)?;
    db.execute(
        "insert into punctual.app_user (id, timezone, language, addresses, quiet_from, quiet_to, quiet_except, \
         quiet_digest, paused_until, escalate, habits, admin, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) on conflict (id) do update set \
         timezone = excluded.timezone, language = excluded.language, addresses = excluded.addresses, \
         quiet_from = excluded.quiet_from, quiet_to = excluded.quiet_to, quiet_except = excluded.quiet_except, \
         quiet_digest = excluded.quiet_digest, paused_until = excluded.paused_until, escalate = excluded.escalate, \
         habits = excluded.habits, admin = excluded.admin, updated_at = excluded.updated_at",
        &[
            (&user.id, Type::TEXT),
            (&user.timezone.as_ref().map(Zone::name), Type::TEXT),
            (&user.language, Type::TEXT),
            (&addresses, Type::TEXT),
            (&user.quiet_hours.map(|quiet| quiet.from.to_string()), Type::TEXT),
            (&user.quiet_hours.map(|quiet| quiet.to.to_string()), Type::TEXT),
            (&user.quiet_hours.map(|quiet| quiet.except.as_str()), Type::TEXT),
            (&user.quiet_hours.is_some_and(|quiet| quiet.digest), Type::BOOL),
            (&user.paused_until.map(micros), Type::TIMESTAMPTZ),
            (&step::to_stored(&user.escalate), Type::TEXT),
            (&user.habits.to_stored(), Type::TEXT),
            (&user.admin, Type::BOOL),
            (&micros(user.created_at), Type::TIMESTAMPTZ),
            (&micros(user.updated_at), Type::TIMESTAMPTZ),
        ],
    )
    .await?;
    put_addresses(db, user).await
}

/// Lets the user be found at their addresses, and at no other.
async fn put_addresses(db: &Connection<'_>, user: &User) -> Result<(), Fault> {
    let channels: Vec<&str> = user.addresses.iter().map(|address| address.channel.as_str()).collect();
    let addresses: Vec<&str> = user.addresses.iter().map(|address| address.address.as_str()).collect();
    db.execute(
        "with gone as (delete from punctual.user_address where user_id = $1 \
         and (channel, address) not in (select * from unnest($2, $3))) \
         insert into punctual.user_address (channel, address, user_id) select v.*, $1 from unnest($2, $3) as v \
         on conflict do nothing",
        &[(&user.id, Type::TEXT), (&channels, Type::TEXT_ARRAY), (&addresses, Type::TEXT_ARRAY)],
    )
    .await?;
    Ok(())
}

pub(super) fn select_user() -> String {
    format!("select {} from punctual.app_user u", rows::USER)
}

pub(super) async fn user(db: &Connection<'_>, id: &str) -> Result<Option<User>, Fault> {
    let rows = db.rows(&format!("{} where u.id = $1", select_user()), &[(&clean(id), Type::TEXT)]).await?;
    Ok(rows.first().map(rows::user).transpose()?)
}

/// Those of `ids` that have an entry and can be read.
pub(super) async fn users_of(db: &Connection<'_>, ids: &[String]) -> Result<Vec<User>, Fault> {
    let ids: Vec<_> = ids.iter().map(|id| clean(id)).collect();
    let sql = format!("{} where u.id = any ($1)", select_user());
    let rows = db.rows(&sql, &[(&ids, Type::TEXT_ARRAY)]).await?;
    Ok(rows.iter().filter_map(|row| rows::user(row).ok()).collect())
}

/// One user, whom nobody else changes before the transaction ends.
pub(super) async fn user_for_update(db: &Connection<'_>, id: &str) -> Result<Option<User>, Fault> {
    let sql = format!("{} where u.id = $1 for update", select_user());
    let rows = db.rows(&sql, &[(&clean(id), Type::TEXT)]).await?;
    Ok(rows.first().map(rows::user).transpose()?)
}

pub(super) async fn users(db: &Connection<'_>, after: Option<&str>, limit: usize) -> Result<Vec<User>, Fault> {
    let sql = format!("{} where u.id > $1 order by u.id limit $2", select_user());
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = db.rows(&sql, &[(&clean(after.unwrap_or("")), Type::TEXT), (&limit, Type::INT8)]).await?;
    each(&rows, rows::user)
}

/// Everybody who is told when a critical reminder fails, without their addresses.
pub(super) async fn admins(db: &Connection<'_>) -> Result<Vec<User>, Fault> {
    let rows = db.rows(&format!("{} where u.admin order by u.id", select_user()), &[]).await?;
    each(&rows, rows::admin)
}

pub(super) async fn put_key(db: &Connection<'_>, key: &ApiKey) -> Result<(), Fault> {
    db.execute(
        "insert into punctual.api_key (id, name, hash, user_id, write, expires_at, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7)",
        &[
            (&key.id, Type::TEXT),
            (&clean(&key.name), Type::TEXT),
            (&key.hash.as_slice(), Type::BYTEA),
            (&key.user, Type::TEXT),
            (&key.write, Type::BOOL),
            (&key.expires_at.map(micros), Type::TIMESTAMPTZ),
            (&micros(key.created_at), Type::TIMESTAMPTZ),
        ],
    )
    .await?;
    Ok(())
}

const KEY: &str = "select id, name, hash, user_id, write, expires_at, created_at from punctual.api_key";

pub(super) async fn key(db: &Connection<'_>, hash: &[u8; 32]) -> Result<Option<ApiKey>, Fault> {
    let sql = format!(
        "{KEY} where hash = $1 union all select '{ADMIN_ID}', '{ADMIN_ID}', hash, null, true, null, used_at \
         from punctual.admin_key where hash = $1 and used_at > clock_timestamp() - {ADMIN_KEY_KEPT_FOR}"
    );
    let rows = db.rows(&sql, &[(&hash.as_slice(), Type::BYTEA)]).await?;
    Ok(rows.first().map(read_key).transpose()?)
}

pub(super) async fn keys(db: &Connection<'_>) -> Result<Vec<ApiKey>, Fault> {
    let rows = db.rows(&format!("{KEY} order by created_at, id"), &[]).await?;
    Ok(rows.iter().map(read_key).collect::<Result<_, _>>()?)
}

fn read_key(found: &Row) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        id: get(found, 0)?,
        name: get(found, 1)?,
        hash: get::<&[u8]>(found, 2)?.try_into().map_err(impossible)?,
        user: get(found, 3)?,
        write: get(found, 4)?,
        expires_at: optional_instant(found, 5)?,
        created_at: instant(found, 6)?,
    })
}

/// Removes a key; returns it as it was.
pub(super) async fn delete_key(db: &Connection<'_>, id: &str) -> Result<Option<ApiKey>, Fault> {
    let sql =
        "delete from punctual.api_key where id = $1 returning id, name, hash, user_id, write, expires_at, created_at";
    let rows = db.rows(sql, &[(&clean(id), Type::TEXT)]).await?;
    Ok(rows.first().map(read_key).transpose()?)
}

/// Runs a DELETE of one named row; says whether there was one.
pub(super) async fn delete(db: &Connection<'_>, sql: &str, id: &str) -> Result<bool, Fault> {
    Ok(db.execute(sql, &[(&clean(id), Type::TEXT)]).await? > 0)
}
