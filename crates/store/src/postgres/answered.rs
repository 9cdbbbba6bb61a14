//! What was answered to a request with an idempotency key.

use jiff::Timestamp;
use punctual_core::store::{Answer, Answered};
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;
use super::row::{clean, get, impossible, micros};

/// The status of a request that has begun and has not been answered.
const BEGUN: i16 = 0;

/// Keeps all of them; fails with [`punctual_core::store::StoreError::KeyUsed`] if there is one under such a key.
pub(super) async fn insert(db: &Connection<'_>, answered: &[(String, Answered)], now: Timestamp) -> Result<(), Fault> {
    if answered.is_empty() {
        return Ok(());
    }
    let answers = || answered.iter().map(|(_, answered)| answered.answer.as_ref());
    let keys: Vec<_> = answered.iter().map(|(key, _)| clean(key)).collect();
    let requests: Vec<&[u8]> = answered.iter().map(|(_, answered)| answered.request.as_slice()).collect();
    let statuses: Vec<i16> = answers().map(|answer| answer.map_or(BEGUN, status)).collect();
    let bodies: Vec<&str> = answers().map(|answer| answer.map_or("", |answer| &answer.body)).collect();
    db.execute(
        "insert into punctual.answered (key, request, status, body, at) \
         select v.*, $5 from unnest($1, $2, $3, $4) as v",
        &[
            (&keys, Type::TEXT_ARRAY),
            (&requests, Type::BYTEA_ARRAY),
            (&statuses, Type::INT2_ARRAY),
            (&bodies, Type::TEXT_ARRAY),
            (&micros(now), Type::TIMESTAMPTZ),
        ],
    )
    .await?;
    Ok(())
}

/// Keeps how a request that has begun was answered, or forgets it.
pub(super) async fn finish(db: &Connection<'_>, key: &str, answer: Option<&Answer>) -> Result<(), Fault> {
    let key = clean(key);
    match answer {
        Some(answer) => {
            db.execute(
                "update punctual.answered set status = $2, body = $3 where key = $1",
                &[(&key, Type::TEXT), (&status(answer), Type::INT2), (&answer.body, Type::TEXT)],
            )
            .await?
        }
        None => db.execute("delete from punctual.answered where key = $1", &[(&key, Type::TEXT)]).await?,
    };
    Ok(())
}

pub(super) async fn read(db: &Connection<'_>, key: &str) -> Result<Option<Answered>, Fault> {
    let sql = "select request, status, body from punctual.answered where key = $1";
    let rows = db.rows(sql, &[(&clean(key), Type::TEXT)]).await?;
    let Some(found) = rows.first() else { return Ok(None) };
    let request = get::<&[u8]>(found, 0)?.try_into().map_err(impossible)?;
    let status: i16 = get(found, 1)?;
    let answer = match status {
        BEGUN => None,
        status => Some(Answer { status: u16::try_from(status).map_err(impossible)?, body: get(found, 2)? }),
    };
    Ok(Some(Answered { request, answer }))
}

fn status(answer: &Answer) -> i16 {
    // HTTP has three digits.
    i16::try_from(answer.status).unwrap_or(i16::MAX)
}
