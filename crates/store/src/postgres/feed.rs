//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::decide::calendar::calendar_renewed;
use punctual_core::journal::Who;
use punctual_core::shard::Shards;
use punctual_core::store::{Feeds, StoreError};
use tokio_postgres::types::Type;

use super::PostgresStore;
use super::batch::BEGIN;
use super::fault::Fault;
use super::pipeline;
use super::pool::Connection;
use super::row::{clean, get};
use super::write::write;

#[async_trait]
impl Feeds for PostgresStore {
    async fn calendar_key(&self, user: &str) -> Result<u64, StoreError> {
        on!(self, Normal, reads: true, db => key(&db, user))
    }

    async fn renew_calendar_key(&self, user: &str, who: Who, now: Timestamp) -> Result<u64, StoreError> {
        on!(self, Normal, reads: false, db => renew_key(&db, user, &who, now))
    }
}

async fn key(db: &Connection<'_>, user: &str) -> Result<u64, Fault> {
    let sql = "select generation from punctual.calendar_key where user_id = $1";
    let rows = db.rows(sql, &[(&clean(user), Type::TEXT)]).await?;
    rows.first().map_or(Ok(0), generation)
}

async fn renew_key(db: &Connection<'_>, user: &str, who: &Who, now: Timestamp) -> Result<u64, Fault> {
    db.begin(BEGIN).await?;
    let sql = "insert into punctual.calendar_key as k (user_id, generation) values ($1, 1) \
               on conflict (user_id) do update set generation = k.generation + 1 returning generation";
    let rows = db.rows(sql, &[(&clean(user), Type::TEXT)]).await?;
    let generation = rows.first().map_or(Ok(0), generation)?;
    let writes = calendar_renewed(user, who.clone(), now);
    pipeline::both(write(db, Shards::ALL, &writes), db.commit()).await?;
    Ok(generation)
}

fn generation(row: &tokio_postgres::Row) -> Result<u64, Fault> {
    let number: i64 = get(row, 0)?;
    Ok(u64::try_from(number).unwrap_or(0))
}
