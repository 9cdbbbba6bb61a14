//! Users and keys.

use jiff::Timestamp;
use punctual_core::journal::Who;
use punctual_core::key::{ADMIN_ID, ApiKey, Scope};
use punctual_core::step;
use punctual_core::store::StoreError;
use punctual_core::user::User;
use punctual_core::version::Expects;
use punctual_core::zone::Zone;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, get, impossible, micros};
use super::share::ADMIN_KEY_KEPT_FOR;
use crate::rows;

/// Refuses a write by a caller who expects that nothing is there, if another made it meanwhile: a row that does not exist cannot be locked, but
/// a row that was inserted by this transaction and not changed by it has no `xmax`. `which` names the row, as a table and a condition.
pub(super) async fn must_be_new(
    db: &Connection<'_>,
    who: &Who,
    which: &str,
    params: &[Param<'_>],
) -> Result<(), Fault> {
    if who.expects != Expects::Nothing {
        return Ok(());
    }
    match db.rows(&format!("select from {which} and xmax::text <> '0'"), params).await?.is_empty() {
        true => Ok(()),
        false => Err(StoreError::Unexpected.into()),
    }
}

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
        "insert into punctual.api_key (id, name, hash, user_id, write, scopes, channels, rate, prefix, expires_at, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        &[
            (&key.id, Type::TEXT),
            (&clean(&key.name), Type::TEXT),
            (&key.hash.as_slice(), Type::BYTEA),
            (&key.user, Type::TEXT),
            // For nodes of a version that knows no other scopes.
            (&key.scopes.allow(Scope::Write), Type::BOOL),
            (&key.scopes.to_string(), Type::TEXT),
            (&rows::key_channels(key)?, Type::TEXT),
            (&key.rate.map(|rate| rate.to_string()), Type::TEXT),
            (&key.prefix, Type::TEXT),
            (&key.expires_at.map(micros), Type::TIMESTAMPTZ),
            (&micros(key.created_at), Type::TIMESTAMPTZ),
        ],
    )
    .await?;
    Ok(())
}

/// Writes the secrets of a key that has others now.
pub(super) async fn put_secrets(db: &Connection<'_>, key: &ApiKey) -> Result<(), Fault> {
    let old = key.replaced.as_ref();
    db.execute(
        "update punctual.api_key set hash = $1, prefix = $2, old_hash = $3, old_prefix = $4, old_until = $5 where id = $6",
        &[
            (&key.hash.as_slice(), Type::BYTEA),
            (&key.prefix, Type::TEXT),
            (&old.map(|old| old.hash.as_slice()), Type::BYTEA),
            (&old.and_then(|old| old.prefix.as_ref()), Type::TEXT),
            (&old.map(|old| micros(old.until)), Type::TIMESTAMPTZ),
            (&key.id, Type::TEXT),
        ],
    )
    .await?;
    Ok(())
}

/// Writes when keys were last used. The rows are locked in the order of their ids, so that two nodes do not wait for each other.
pub(super) async fn put_uses(db: &Connection<'_>, uses: &[(String, Timestamp)]) -> Result<(), Fault> {
    let ids: Vec<&str> = uses.iter().map(|(id, _)| id.as_str()).collect();
    let instants: Vec<_> = uses.iter().map(|(_, at)| micros(*at)).collect();
    db.execute(
        "with v as (select * from unnest($1, $2) as v (id, at)), \
         locked as (select k.id from punctual.api_key k join v on v.id = k.id \
         where k.used_at is null or k.used_at < v.at order by k.id for update of k) \
         update punctual.api_key k set used_at = v.at from v, locked where k.id = v.id and locked.id = v.id",
        &[(&ids, Type::TEXT_ARRAY), (&instants, Type::TIMESTAMPTZ_ARRAY)],
    )
    .await?;
    Ok(())
}

fn select_key() -> String {
    format!("select k.hash, k.old_hash, k.user_id, {} from punctual.api_key k", rows::KEY)
}

pub(super) async fn key(db: &Connection<'_>, hash: &[u8; 32]) -> Result<Option<ApiKey>, Fault> {
    let key = select_key();
    let sql = format!(
        "{key} where k.hash = $1 union all {key} where k.old_hash = $1 \
         union all select a.hash, null, null, '{ADMIN_ID}', '{ADMIN_ID}', true, null, null, null, null, null, a.used_at, null, null, null \
         from punctual.admin_key a where a.hash = $1 and a.used_at > clock_timestamp() - {ADMIN_KEY_KEPT_FOR}"
    );
    let rows = db.rows(&sql, &[(&hash.as_slice(), Type::BYTEA)]).await?;
    Ok(rows.first().map(read_key).transpose()?)
}

pub(super) async fn key_named(db: &Connection<'_>, id: &str) -> Result<Option<ApiKey>, Fault> {
    let rows = db.rows(&format!("{} where k.id = $1", select_key()), &[(&clean(id), Type::TEXT)]).await?;
    Ok(rows.first().map(read_key).transpose()?)
}

/// A key that nobody else changes before the transaction ends.
pub(super) async fn key_for_update(db: &Connection<'_>, id: &str) -> Result<Option<ApiKey>, Fault> {
    let rows = db.rows(&format!("{} where k.id = $1 for update", select_key()), &[(&clean(id), Type::TEXT)]).await?;
    Ok(rows.first().map(read_key).transpose()?)
}

pub(super) async fn keys(db: &Connection<'_>) -> Result<Vec<ApiKey>, Fault> {
    let rows = db.rows(&format!("{} order by k.created_at, k.id", select_key()), &[]).await?;
    Ok(rows.iter().map(read_key).collect::<Result<_, _>>()?)
}

fn read_key(found: &Row) -> Result<ApiKey, StoreError> {
    let hash = |bytes: &[u8]| bytes.try_into().map_err(impossible);
    let of = rows::KeyOf {
        hash: hash(get(found, 0)?)?,
        old_hash: get::<Option<&[u8]>>(found, 1)?.map(hash).transpose()?,
        user: get(found, 2)?,
    };
    rows::key(found, 3, of)
}

/// Removes a key; returns it as it was.
pub(super) async fn delete_key(db: &Connection<'_>, id: &str) -> Result<Option<ApiKey>, Fault> {
    let sql = format!(
        "delete from punctual.api_key k where k.id = $1 returning k.hash, k.old_hash, k.user_id, {}",
        rows::KEY
    );
    let rows = db.rows(&sql, &[(&clean(id), Type::TEXT)]).await?;
    Ok(rows.first().map(read_key).transpose()?)
}

/// Runs a DELETE of one named row; says whether there was one.
pub(super) async fn delete(db: &Connection<'_>, sql: &str, id: &str) -> Result<bool, Fault> {
    Ok(db.execute(sql, &[(&clean(id), Type::TEXT)]).await? > 0)
}
