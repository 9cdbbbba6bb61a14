//! Users and keys.

use punctual_core::store::StoreError;
use punctual_core::user::{ApiKey, QuietHours, User};
use punctual_core::zone::Zone;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;
use super::row::{self, clean, get, impossible, instant, micros, optional_instant};

pub(super) async fn put_user(db: &Connection<'_>, user: &User) -> Result<(), Fault> {
    let addresses = serde_json::to_string(&user.addresses).map_err(impossible)?;
    db.execute(
        "insert into punctual.app_user (id, timezone, language, addresses, quiet_from, quiet_to, admin, created_at, \
         updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do update set \
         timezone = excluded.timezone, language = excluded.language, addresses = excluded.addresses, \
         quiet_from = excluded.quiet_from, quiet_to = excluded.quiet_to, admin = excluded.admin, \
         updated_at = excluded.updated_at",
        &[
            (&user.id, Type::TEXT),
            (&user.timezone.as_ref().map(Zone::name), Type::TEXT),
            (&user.language, Type::TEXT),
            (&addresses, Type::TEXT),
            (&user.quiet_hours.map(|quiet| quiet.from.to_string()), Type::TEXT),
            (&user.quiet_hours.map(|quiet| quiet.to.to_string()), Type::TEXT),
            (&user.admin, Type::BOOL),
            (&micros(user.created_at), Type::TIMESTAMPTZ),
            (&micros(user.updated_at), Type::TIMESTAMPTZ),
        ],
    )
    .await?;
    Ok(())
}

const USER: &str = "select id, timezone, language, addresses, quiet_from, quiet_to, admin, created_at, updated_at \
    from punctual.app_user";

pub(super) async fn user(db: &Connection<'_>, id: &str) -> Result<Option<User>, Fault> {
    let rows = db.rows(&format!("{USER} where id = $1"), &[(&clean(id), Type::TEXT)]).await?;
    Ok(rows.first().map(read_user).transpose()?)
}

pub(super) async fn users(db: &Connection<'_>, after: Option<&str>, limit: usize) -> Result<Vec<User>, Fault> {
    let sql = format!("{USER} where id > $1 order by id limit $2");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = db.rows(&sql, &[(&clean(after.unwrap_or("")), Type::TEXT), (&limit, Type::INT8)]).await?;
    Ok(rows.iter().map(read_user).collect::<Result<_, _>>()?)
}

fn read_user(found: &Row) -> Result<User, StoreError> {
    let time = |index: usize| -> Result<Option<jiff::civil::Time>, StoreError> {
        get::<Option<&str>>(found, index)?.map(str::parse).transpose().map_err(impossible)
    };
    let quiet_hours = match (time(4)?, time(5)?) {
        (Some(from), Some(to)) => Some(QuietHours { from, to }),
        _ => None,
    };
    Ok(User {
        id: get(found, 0)?,
        timezone: get::<Option<&str>>(found, 1)?.map(Zone::named).transpose().map_err(impossible)?,
        language: get(found, 2)?,
        addresses: row::addresses(get(found, 3)?)?,
        quiet_hours,
        admin: get(found, 6)?,
        created_at: instant(found, 7)?,
        updated_at: instant(found, 8)?,
    })
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
    let rows = db.rows(&format!("{KEY} where hash = $1"), &[(&hash.as_slice(), Type::BYTEA)]).await?;
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

/// Runs a DELETE of one named row; says whether there was one.
pub(super) async fn delete(db: &Connection<'_>, sql: &str, id: &str) -> Result<bool, Fault> {
    Ok(db.execute(sql, &[(&clean(id), Type::TEXT)]).await? > 0)
}
