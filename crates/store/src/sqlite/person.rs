//! Changing a person: load their open runs, let core decide, write.

use jiff::Timestamp;
use punctual_core::decide::person::{Before, Difference, OpenRun, entry, person_changed};
use punctual_core::journal::{Entry, Who};
use punctual_core::store::StoreError;
use punctual_core::user::User;
use rusqlite::{Connection, params};

use super::keep;
use super::read::{self, collect};
use super::write::write;
use crate::rows::{self, Reader};

/// Writes or replaces a user; returns when what waits for them must be looked at again.
pub(super) fn put_user(db: &Connection, user: &User, who: Who) -> Result<Vec<Timestamp>, StoreError> {
    let before = before(db, &user.id)?;
    who.expects.check(|| before.version())?;
    keep::put_user(db, user)?;
    let now = user.updated_at;
    let entry = entry(&user.id, &before, Some(user), who, now);
    follow(db, &user.id, Difference::between(&before, user), entry, now)
}

/// Removes a user's entry. `None`: there was none.
pub(super) fn delete_user(
    db: &Connection,
    id: &str,
    who: Who,
    now: Timestamp,
) -> Result<Option<Vec<Timestamp>>, StoreError> {
    let before = before(db, id)?;
    if before != Before::Unknown {
        who.expects.check(|| before.version())?;
    }
    if !keep::delete(db, "DELETE FROM user WHERE id = ?1", id)? {
        return Ok(None);
    }
    keep::delete(db, "DELETE FROM user_address WHERE user_id = ?1", id)?;
    follow(db, id, Difference::REMOVED, entry(id, &Before::Unreadable, None, who, now), now).map(Some)
}

/// A person as they are.
fn before(db: &Connection, id: &str) -> Result<Before, StoreError> {
    match read::user(db, id) {
        Ok(None) => Ok(Before::Unknown),
        Ok(Some(before)) => Ok(Before::Known(Box::new(before))),
        // A person who cannot be read is mended by being written anew.
        Err(StoreError::Broken(_)) => Ok(Before::Unreadable),
        Err(error) => Err(error),
    }
}

/// Lets a person's open runs follow what is different about them.
pub(super) fn follow(
    db: &Connection,
    user: &str,
    difference: Difference,
    entry: Option<Entry>,
    now: Timestamp,
) -> Result<Vec<Timestamp>, StoreError> {
    let open = if difference.is_none() { Vec::new() } else { open_runs(db, user, difference)? };
    let writes = person_changed(open, user, difference, entry, now);
    write(db, &writes)?;
    Ok(writes.wakes().collect())
}

/// The open runs of a user's that the difference may concern.
fn open_runs(db: &Connection, user: &str, difference: Difference) -> Result<Vec<OpenRun>, StoreError> {
    let sql = format!(
        "SELECT {}, r.ack_timeout, r.only_to FROM reminder r CROSS JOIN occurrence o ON o.reminder_id = r.id \
         WHERE r.user_id = ?1 AND {} AND {}",
        rows::OCCURRENCE,
        rows::OPEN,
        rows::concerned(difference)
    );
    let open = collect(db, &sql, params![user], |found| {
        let mut from = Reader::new(found, rows::N_OCCURRENCE);
        let (ack_timeout, only) = (from.maybe_span()?, from.flag()?);
        // A run that cannot be read is left to the claim, which sets it aside.
        let occurrence = rows::occurrence(&mut Reader::new(found, 0)).ok();
        Ok(occurrence.map(|occurrence| OpenRun { occurrence, ack_timeout, only }))
    })?;
    Ok(open.into_iter().flatten().collect())
}
