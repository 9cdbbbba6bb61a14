//! Changing a person: load their open runs, let core decide, write.

use jiff::Timestamp;
use punctual_core::decide::person::{Before, Difference, OpenRun, person_changed};
use punctual_core::store::StoreError;
use punctual_core::user::User;
use rusqlite::{Connection, params};

use super::keep;
use super::read::{self, collect};
use super::write::write;
use crate::rows::{self, Reader};

/// Writes or replaces a user; returns when what waits for them must be looked at again.
pub(super) fn put_user(db: &Connection, user: &User) -> Result<Vec<Timestamp>, StoreError> {
    let before = match read::user(db, &user.id) {
        Ok(None) => Before::Unknown,
        Ok(Some(before)) => Before::Known(Box::new(before)),
        // A person who cannot be read is mended by being written anew.
        Err(StoreError::Broken(_)) => Before::Unreadable,
        Err(error) => return Err(error),
    };
    keep::put_user(db, user)?;
    follow(db, &user.id, Difference::between(&before, user), user.updated_at)
}

/// Removes a user's entry. `None`: there was none.
pub(super) fn delete_user(db: &Connection, id: &str, now: Timestamp) -> Result<Option<Vec<Timestamp>>, StoreError> {
    if !keep::delete(db, "DELETE FROM user WHERE id = ?1", id)? {
        return Ok(None);
    }
    keep::delete(db, "DELETE FROM user_address WHERE user_id = ?1", id)?;
    follow(db, id, Difference::REMOVED, now).map(Some)
}

/// Lets a person's open runs follow what is different about them.
pub(super) fn follow(
    db: &Connection,
    user: &str,
    difference: Difference,
    now: Timestamp,
) -> Result<Vec<Timestamp>, StoreError> {
    if difference.is_none() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT {}, r.ack_timeout, r.only_to FROM reminder r CROSS JOIN occurrence o ON o.reminder_id = r.id \
         WHERE r.user_id = ?1 AND (o.wake_at IS NOT NULL OR o.state = 'paused') \
         AND {}",
        rows::OCCURRENCE,
        rows::concerned(difference)
    );
    let open = collect(db, &sql, params![user], |found| {
        let mut from = Reader::new(found, rows::N_OCCURRENCE);
        let (ack_timeout, only) = (from.maybe_span()?, from.flag()?);
        // A run that cannot be read is left to the claim, which sets it aside.
        let occurrence = rows::occurrence(&mut Reader::new(found, 0)).ok();
        Ok(occurrence.map(|occurrence| OpenRun { occurrence, ack_timeout, only }))
    })?;
    let writes = person_changed(open.into_iter().flatten().collect(), user, difference, now);
    write(db, &writes)?;
    Ok(writes.wakes().collect())
}
