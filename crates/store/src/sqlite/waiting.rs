//! What changes for open occurrences when their person changes: what waits for the end of quiet hours or a pause is looked at
//! again, and who has other addresses has refused nothing.

use jiff::Timestamp;
use punctual_core::occurrence::READDRESSED;
use punctual_core::store::StoreError;
use punctual_core::user::User;
use punctual_core::wake::PUT_OFF;
use rusqlite::types::ToSql;
use rusqlite::{Connection, params};

use super::create;
use super::read::{self, collect};
use super::row::{broken, get, instant, micros};

/// Writes or replaces a user; returns when what waits for them must be looked at again.
pub(super) fn put_user(db: &Connection, user: &User) -> Result<Vec<Timestamp>, StoreError> {
    let before = match read::user(db, &user.id) {
        // Whoever cannot be read is mended by being written anew.
        Err(StoreError::Broken(_)) => {
            create::put_user(db, user)?;
            readdress(db, THEIRS, &user.id)?;
            return wake(db, &user.id, user.updated_at);
        }
        before => before?,
    };
    create::put_user(db, user)?;
    if before.as_ref().map_or(&[][..], |before| &before.addresses) != user.addresses {
        readdress(db, THEIRS, &user.id)?;
    }
    match before {
        Some(before) if before.is_disturbed_unlike(user) => wake(db, &user.id, user.updated_at),
        _ => Ok(Vec::new()),
    }
}

/// Removes a user's entry. `None`: there was none.
pub(super) fn delete_user(db: &Connection, id: &str, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError> {
    match create::delete(db, "DELETE FROM user WHERE id = ?1", id)? {
        true => {
            readdress(db, THEIRS, id)?;
            wake(db, id, now).map(Some)
        }
        false => Ok(None),
    }
}

/// The occurrences of a user's that are sent to the user's own addresses, at once or after others.
const THEIRS: &str = "reminder_id IN (SELECT id FROM reminder WHERE user = ?1 AND NOT only_to)";

/// Forgets which addresses the open occurrences of `whose` have tried and been refused by. One that is being sent just now is
/// marked, so that it forgets when its lease ends.
pub(super) fn readdress(db: &Connection, whose: &str, key: impl ToSql) -> Result<(), StoreError> {
    let sql = format!(
        "UPDATE occurrence SET refused = 0, position = CASE state WHEN 'processing' THEN {READDRESSED} ELSE 0 END \
         WHERE {whose} AND (wake_at IS NOT NULL OR state = 'paused') \
         AND (refused <> 0 OR position <> 0 OR state = 'processing')"
    );
    db.prepare_cached(&sql).map_err(broken)?.execute([key]).map_err(broken)?;
    Ok(())
}

/// Makes what was put off due for a look now, which decides again.
///
/// A question that was put off has no mark: it was, if it waits for longer than the time given to answer it.
fn wake(db: &Connection, user: &str, now: Timestamp) -> Result<Vec<Timestamp>, StoreError> {
    let asked_again = "(o.at + (SELECT r.ack_timeout FROM reminder r WHERE r.id = o.reminder_id) * 1000)";
    // What was put off ahead of its moment has it beside it; and the clock may have been set back before the instant of the run.
    let not_early = "max(?2, coalesce(o.at, ?2), coalesce(o.made_for, ?2))";
    let sql = format!(
        "UPDATE occurrence AS o SET due_at = CASE o.state WHEN 'snoozed' THEN {not_early} ELSE o.due_at END, \
         wake_at = CASE o.state WHEN 'awaiting_ack' THEN max(?2, {asked_again}) WHEN 'snoozed' THEN {not_early} ELSE ?2 END \
         WHERE o.reminder_id IN (SELECT id FROM reminder WHERE user = ?1) AND o.wake_at > ?2 AND (\
           o.state = 'snoozed' AND o.error IN ('quiet', 'paused') \
           OR o.state = 'pending_retry' AND o.error LIKE ?3 || '%' \
           OR o.state = 'awaiting_ack' AND o.wake_at > {asked_again}) \
         RETURNING wake_at"
    );
    collect(db, &sql, params![user, micros(now), PUT_OFF], |found| instant(get(found, 0)?))
}
