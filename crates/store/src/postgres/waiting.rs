//! What changes for open occurrences when their person changes: what waits for the end of quiet hours or a pause is looked at
//! again, and who has other addresses has refused nothing.
//!
//! A claim that puts something off holds its person's row until it commits, so the change waits for it and then sees what it
//! has put off; and a claim that finds the row held looks again a moment later. So nothing waits for an end that is no more.

use jiff::Timestamp;
use punctual_core::occurrence::READDRESSED;
use punctual_core::shard::{Shards, shard_of};
use punctual_core::store::StoreError;
use punctual_core::user::User;
use punctual_core::wake::PUT_OFF;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::BEGIN_BY_KEY;
use super::fault::Fault;
use super::keep;
use super::pool::{Connection, Param};
use super::row::{clean, get, instant, int, micros};
use super::tell::tell;

/// Writes or replaces a user; returns when what waits for them must be looked at again.
pub(super) async fn put_user(db: &Connection<'_>, own: Shards, user: &User) -> Result<Vec<Timestamp>, Fault> {
    // The row stays ours from here on.
    db.begin(BEGIN_BY_KEY).await?;
    let before = match keep::user_for_update(db, &user.id).await {
        // Whoever cannot be read is mended by being written anew.
        Err(Fault::Store(StoreError::Broken(_))) => {
            keep::put_user(db, user).await?;
            readdress(db, &theirs(db, &user.id).await?).await?;
            let wakes = wake(db, own, &user.id, user.updated_at).await?;
            db.commit().await?;
            return Ok(wakes);
        }
        before => before?,
    };
    keep::put_user(db, user).await?;
    if before.as_ref().map_or(&[][..], |before| &before.addresses) != user.addresses {
        readdress(db, &theirs(db, &user.id).await?).await?;
    }
    let wakes = match before {
        Some(before) if before.is_disturbed_unlike(user) => wake(db, own, &user.id, user.updated_at).await?,
        _ => Vec::new(),
    };
    db.commit().await?;
    Ok(wakes)
}

/// Removes a user's entry. `None`: there was none.
pub(super) async fn delete_user(
    db: &Connection<'_>,
    own: Shards,
    id: &str,
    now: Timestamp,
) -> Result<Option<Vec<Timestamp>>, Fault> {
    db.begin(BEGIN_BY_KEY).await?;
    if !keep::delete(db, "delete from punctual.app_user where id = $1", id).await? {
        db.rollback().await?;
        return Ok(None);
    }
    readdress(db, &theirs(db, id).await?).await?;
    let wakes = wake(db, own, id, now).await?;
    db.commit().await?;
    Ok(Some(wakes))
}

/// The reminders of a user's that are sent to the user's own addresses, at once or after others.
async fn theirs(db: &Connection<'_>, user: &str) -> Result<Vec<Uuid>, Fault> {
    let sql = "select r.id from punctual.reminder r where r.user_id = $1 and not r.only_to order by r.id";
    let rows = db.rows(sql, &[(&clean(user), Type::TEXT)]).await?;
    Ok(rows.iter().map(|found| get(found, 0)).collect::<Result<_, StoreError>>()?)
}

/// Forgets which addresses the open occurrences of these reminders have tried and been refused by. One that is being sent just
/// now is marked, so that it forgets when its lease ends.
pub(super) async fn readdress(db: &Connection<'_>, reminders: &[Uuid]) -> Result<(), Fault> {
    if reminders.is_empty() {
        return Ok(());
    }
    db.execute(
        "with known as (select o.* from unnest($1) as v (id) cross join lateral ( \
           select o.reminder_id, o.run from punctual.occurrence o where o.reminder_id = v.id \
           and (o.refused <> 0 or o.position <> 0 or o.state = 'processing') \
           and (o.wake_at + interval '0' is not null or o.state = 'paused') order by o.run for update of o) as o) \
         update punctual.occurrence o set refused = 0, position = case o.state when 'processing' then $2 else 0 end \
         from known k where o.reminder_id = k.reminder_id and o.run = k.run",
        &[(&reminders, Type::UUID_ARRAY), (&int(READDRESSED), Type::INT4)],
    )
    .await?;
    Ok(())
}

/// Makes what was put off due for a look now, which decides again.
///
/// A question that was put off has no mark: it was, if it waits for longer than the time given to answer it. What was put off
/// ahead of its moment has that moment beside it, and is not told before.
async fn wake(db: &Connection<'_>, own: Shards, user: &str, now: Timestamp) -> Result<Vec<Timestamp>, Fault> {
    let (name, at, put_off) = (clean(user), micros(now), format!("{PUT_OFF}%"));
    let theirs = "select r.id, r.ack_timeout from punctual.reminder r where r.user_id = $1 order by r.id";
    let theirs = db.rows(theirs, &[(&name, Type::TEXT)]).await?;
    let reminders = theirs.iter().map(|found| get(found, 0)).collect::<Result<Vec<Uuid>, StoreError>>()?;
    let timeouts = theirs.iter().map(|found| get(found, 1)).collect::<Result<Vec<Option<i64>>, StoreError>>()?;
    let params: [Param<'_>; 4] = [
        (&reminders, Type::UUID_ARRAY),
        (&timeouts, Type::INT8_ARRAY),
        (&at, Type::TIMESTAMPTZ),
        (&put_off, Type::TEXT),
    ];
    // Each by its key: the sum keeps the planner from looking through all that is to come instead, reminder by reminder.
    let rows = db
        .rows(
            "with waiting as (select o.* from unnest($1, $2) as v (id, ack_timeout) cross join lateral ( \
               select o.reminder_id, o.run, o.at + v.ack_timeout * interval '1 millisecond' as asked_again \
               from punctual.occurrence o where o.reminder_id = v.id and o.wake_at + interval '0' > $3 \
               and (o.state = 'snoozed' and o.error in ('quiet', 'paused') \
                 or o.state = 'pending_retry' and o.error like $4 \
                 or o.state = 'awaiting_ack' and o.wake_at > o.at + v.ack_timeout * interval '1 millisecond') \
               order by o.run for update of o) as o) \
             update punctual.occurrence o set due_at = case o.state when 'snoozed' then greatest($3, o.at, o.made_for) else o.due_at end, \
               wake_at = case o.state when 'awaiting_ack' then greatest($3, w.asked_again) \
                 when 'snoozed' then greatest($3, o.at, o.made_for) else $3 end \
             from waiting w where o.reminder_id = w.reminder_id and o.run = w.run returning o.wake_at",
            &params,
        )
        .await?;
    let wakes = rows.iter().map(|found| instant(found, 0)).collect::<Result<Vec<_>, StoreError>>()?;
    let shard = shard_of(user);
    tell(db, own, wakes.iter().map(|at| (shard, *at)), now).await?;
    Ok(wakes)
}
