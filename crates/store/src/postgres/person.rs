//! What changes for open occurrences when their person changes.
//!
//! A claim that puts a run off holds its person's row until it commits, so the change waits for it and then sees the run that it
//! has put off; and a claim that finds the row held looks again a moment later. So nothing waits for an end that is no more.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_core::decide::person::{Before, Difference, OpenRun, entry, person_changed};
use punctual_core::id::ReminderId;
use punctual_core::journal::{Entry, Who};
use punctual_core::shard::Shards;
use punctual_core::store::StoreError;
use punctual_core::user::User;
use punctual_core::writes::Writes;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::BEGIN_BY_KEY;
use super::fault::Fault;
use super::keep;
use super::pipeline::both;
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, uuid};
use super::write::write;
use crate::rows::{self, Reader};

/// Writes or replaces a user; returns when the runs that waited for them must be looked at again.
pub(super) async fn put_user(
    db: &Connection<'_>,
    own: Shards,
    user: &User,
    who: &Who,
) -> Result<Vec<Timestamp>, Fault> {
    // The row stays ours from here on.
    db.begin(BEGIN_BY_KEY).await?;
    let before = locked(db, &user.id).await?;
    who.expects.check(|| before.version())?;
    keep::put_user(db, user).await?;
    keep::must_be_new(db, who, "punctual.app_user where id = $1", &[(&clean(&user.id), Type::TEXT)]).await?;
    let now = user.updated_at;
    let entry = entry(&user.id, &before, Some(user), who.clone(), now);
    changed(db, own, &user.id, Difference::between(&before, user), entry, now).await
}

/// Removes a user's entry. `None`: there was none.
pub(super) async fn delete_user(
    db: &Connection<'_>,
    own: Shards,
    id: &str,
    who: &Who,
    now: Timestamp,
) -> Result<Option<Vec<Timestamp>>, Fault> {
    let ((), before) = both(db.begin(BEGIN_BY_KEY), locked(db, id)).await?;
    if before != Before::Unknown {
        who.expects.check(|| before.version())?;
    }
    if !keep::delete(db, "delete from punctual.app_user where id = $1", id).await? {
        db.rollback().await?;
        return Ok(None);
    }
    keep::delete(db, "delete from punctual.user_address where user_id = $1", id).await?;
    let entry = entry(id, &Before::Unreadable, None, who.clone(), now);
    changed(db, own, id, Difference::REMOVED, entry, now).await.map(Some)
}

/// A person as they are; their row stays ours until the transaction ends.
async fn locked(db: &Connection<'_>, id: &str) -> Result<Before, Fault> {
    match keep::user_for_update(db, id).await {
        Ok(None) => Ok(Before::Unknown),
        Ok(Some(before)) => Ok(Before::Known(Box::new(before))),
        // A user who cannot be read is mended by being written anew.
        Err(Fault::Store(StoreError::Broken(_))) => Ok(Before::Unreadable),
        Err(fault) => Err(fault),
    }
}

async fn changed(
    db: &Connection<'_>,
    own: Shards,
    user: &str,
    difference: Difference,
    entry: Option<Entry>,
    now: Timestamp,
) -> Result<Vec<Timestamp>, Fault> {
    let writes = decided(db, user, difference, entry, now).await?;
    both(write(db, own, &writes), db.commit()).await?;
    Ok(writes.wakes().collect())
}

/// Lets a person's open runs follow what is different about them, in a transaction that goes on.
pub(super) async fn follow(
    db: &Connection<'_>,
    own: Shards,
    user: &str,
    difference: Difference,
    now: Timestamp,
) -> Result<Vec<Timestamp>, Fault> {
    let writes = decided(db, user, difference, None, now).await?;
    write(db, own, &writes).await?;
    Ok(writes.wakes().collect())
}

async fn decided(
    db: &Connection<'_>,
    user: &str,
    difference: Difference,
    entry: Option<Entry>,
    now: Timestamp,
) -> Result<Writes, Fault> {
    let open = if difference.is_none() { Vec::new() } else { open_runs(db, user, difference).await? };
    Ok(person_changed(open, user, difference, entry, now))
}

/// Locks and loads the open runs of a user's that wait for them, have tried an address, or are just being sent.
async fn open_runs(db: &Connection<'_>, user: &str, difference: Difference) -> Result<Vec<OpenRun>, Fault> {
    let theirs = "select r.id, r.ack_timeout, r.only_to from punctual.reminder r where r.user_id = $1 order by r.id";
    let theirs = db.rows(theirs, &[(&clean(user), Type::TEXT)]).await?;
    let theirs = each(&theirs, |row| {
        let mut from = Reader::new(row, 0);
        Ok((from.id()?, (from.maybe_span()?, from.flag()?)))
    })?;
    if theirs.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = theirs.iter().map(|(id, _)| uuid(*id)).collect();
    let theirs: HashMap<ReminderId, _> = theirs.into_iter().collect();
    let sql = format!(
        "select o.* from unnest($1) as v (id) cross join lateral ( \
           select {} from punctual.occurrence o where o.reminder_id = v.id \
           and {} and {} order by o.run for update of o) as o",
        rows::OCCURRENCE,
        rows::concerned(difference),
        rows::OPEN_BY_KEY
    );
    let of_theirs: [Param<'_>; 1] = [(&ids, Type::UUID_ARRAY)];
    let run = |row: &Row| {
        // A run that cannot be read is left to the claim, which sets it aside.
        let occurrence = rows::occurrence(&mut Reader::new(row, 0)).ok()?;
        let (ack_timeout, only) = theirs.get(&occurrence.id.reminder).copied().unwrap_or_default();
        Some(OpenRun { occurrence, ack_timeout, only })
    };
    Ok(db.rows(&sql, &of_theirs).await?.iter().filter_map(run).collect())
}
