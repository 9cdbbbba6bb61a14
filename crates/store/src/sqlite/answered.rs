//! What was answered to a request with an idempotency key.

use jiff::Timestamp;
use punctual_core::store::{Answer, Answered, StoreError};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::row::{broken, micros};

/// The status of a request that has begun and has not been answered.
const BEGUN: u16 = 0;

/// Keeps it; [`StoreError::KeyUsed`] if there is one under this key.
pub(super) fn insert(db: &Connection, key: &str, answered: &Answered, now: Timestamp) -> Result<(), StoreError> {
    let (status, body) = answered.answer.as_ref().map_or((BEGUN, ""), |answer| (answer.status, &answer.body));
    let inserted = db
        .prepare_cached("INSERT INTO answered (key, request, status, body, at) VALUES (?, ?, ?, ?, ?)")
        .map_err(broken)?
        .execute(params![key, answered.request, status, body, micros(now)]);
    match inserted {
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Err(StoreError::KeyUsed),
        other => other.map(drop).map_err(broken),
    }
}

/// Keeps how a request that has begun was answered, or forgets it.
pub(super) fn finish(db: &Connection, key: &str, answer: Option<&Answer>) -> Result<(), StoreError> {
    match answer {
        Some(answer) => db
            .prepare_cached("UPDATE answered SET status = ?, body = ? WHERE key = ?")
            .map_err(broken)?
            .execute(params![answer.status, answer.body, key]),
        None => db.prepare_cached("DELETE FROM answered WHERE key = ?").map_err(broken)?.execute([key]),
    }
    .map_err(broken)?;
    Ok(())
}

pub(super) fn read(db: &Connection, key: &str) -> Result<Option<Answered>, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT request, status, body FROM answered WHERE key = ?").map_err(broken)?;
    statement
        .query_row([key], |found| {
            let (status, body): (u16, String) = (found.get(1)?, found.get(2)?);
            let answer = (status != BEGUN).then_some(Answer { status, body });
            Ok(Answered { request: found.get(0)?, answer })
        })
        .optional()
        .map_err(broken)
}
