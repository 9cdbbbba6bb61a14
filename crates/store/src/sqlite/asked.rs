//! The runs that were said to somebody, for finding out which of them words are about.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_core::shard::shard_of;
use punctual_core::store::{ASKED_MAX, Question, StoreError};
use punctual_core::user::User;
use rusqlite::{Connection, params};

use super::read::{self, collect};
use super::row::{broken, micros};
use crate::rows::{self, Reader};

/// Somebody with fewer reminders than this is looked up by them, however many runs of others wait.
const FEW: usize = 64;

fn has_few(db: &Connection, user: &str) -> Result<bool, StoreError> {
    let sql = format!("SELECT count(*) < {FEW} FROM (SELECT 1 FROM reminder WHERE user_id = ? LIMIT {FEW})");
    db.prepare_cached(&sql).map_err(broken)?.query_row([user], |row| row.get(0)).map_err(broken)
}

/// Those of these users that wait for an answer, and with `ended_since` those that have ended since then; the one that was said last
/// comes first.
pub(super) fn asked(
    db: &Connection,
    users: &[String],
    ended_since: Option<Timestamp>,
) -> Result<Vec<Question>, StoreError> {
    let select = |found: &str| {
        format!("SELECT {}, {}, coalesce(o.at, o.due_at) AS said_at FROM {found}", rows::OCCURRENCE, rows::REMINDER)
    };
    // The runs that wait are found by their shard, and their reminders by their keys; those of somebody with few reminders by these.
    let of_shard = select(
        "occurrence o INDEXED BY occurrence_asked CROSS JOIN reminder r ON r.id = o.reminder_id \
         WHERE o.shard = ?3 AND o.reached > 0 AND o.wake_at IS NOT NULL AND r.user_id = ?1",
    );
    let of_few = select(&format!(
        "(SELECT id FROM reminder WHERE user_id = ?1 LIMIT {FEW}) few CROSS JOIN occurrence o INDEXED BY occurrence_asked \
         ON o.shard = ?3 AND o.reminder_id = few.id CROSS JOIN reminder r ON r.id = o.reminder_id \
         WHERE o.reached > 0 AND o.wake_at IS NOT NULL"
    ));
    let mut rest = String::new();
    if ended_since.is_some() {
        // Only the last few runs of a series: nobody talks about older ones.
        rest.push_str(" UNION ALL ");
        rest.push_str(&select(
            "reminder r CROSS JOIN occurrence o ON o.reminder_id = r.id WHERE r.user_id = ?1 AND o.reached > 0 \
             AND o.wake_at IS NULL AND o.at >= ?4 AND o.run > r.last_run - 8",
        ));
    }
    rest.push_str(" ORDER BY said_at DESC LIMIT ?2");
    let mut found = Vec::new();
    for user in users {
        let sql = format!("{}{rest}", if has_few(db, user)? { &of_few } else { &of_shard });
        let read = |row: &rusqlite::Row<'_>| {
            let said_at = Reader::new(row, rows::N_OCCURRENCE + rows::N_REMINDER).maybe_at()?;
            let occurrence = rows::occurrence(&mut Reader::new(row, 0));
            let reminder = rows::reminder(&mut Reader::new(row, rows::N_OCCURRENCE));
            // A run that cannot be read is left to the claim, which sets it aside.
            Ok(occurrence.and_then(|occurrence| Ok((said_at, occurrence, reminder?))).ok())
        };
        let rows = match ended_since {
            None => collect(db, &sql, params![user, ASKED_MAX, shard_of(user)], read)?,
            Some(since) => collect(db, &sql, params![user, ASKED_MAX, shard_of(user), micros(since)], read)?,
        };
        found.extend(rows.into_iter().flatten());
    }
    found.sort_by_key(|(said_at, ..)| std::cmp::Reverse(*said_at));
    found.truncate(ASKED_MAX);
    let mut people: HashMap<String, Option<User>> = HashMap::new();
    let mut asked = Vec::with_capacity(found.len());
    for (_, occurrence, reminder) in found {
        let user = match people.get(&reminder.user) {
            Some(user) => user.clone(),
            None => {
                let user = match read::user(db, &reminder.user) {
                    Err(StoreError::Broken(_)) => None,
                    user => user?,
                };
                people.insert(reminder.user.clone(), user.clone());
                user
            }
        };
        asked.push(Question { reminder, trail: read::trail(db, occurrence)?, user });
    }
    Ok(asked)
}
