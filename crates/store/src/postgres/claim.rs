//! Leasing what is due: lock, read, let core decide, write.
//!
//! Three flights to the server and back, however many rows: the first locks occurrences, the second reads their reminders
//! as they are now that nobody can end these runs, the third writes leases and commits. A run that is not sent needs one more,
//! which locks its reminder and its person.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use punctual_core::alert::Unreadable;
use punctual_core::decide::claim::{ByReminder, Found, Known, Locked, Look, TooEarly, look};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::reminder::Priority;
use punctual_core::shard::Shards;
use punctual_core::silence::Silences;
use punctual_core::store::{Claim, Claimed, Claims, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{BEGIN_BY_KEY, BEGIN_IN_ORDER, BY_KEY, Ids};
use super::fault::Fault;
use super::pipeline::{all3, all5};
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, micros, uuid};
use super::{silence, write};
use crate::rows::{self, Fields, N_PERSON, Reader, impossible};

/// Nothing is claimed further ahead than this, by the database's clock: more than any node's lead.
const AHEAD_MAX: u32 = 5;

/// `unsure` is set to what was claimed when nothing but the answer to the last round trip is missing: if that answer is lost,
/// it may have been written.
pub(super) async fn claim(
    db: &Connection<'_>,
    own: Shards,
    claim: &Claim,
    unsure: &mut Option<Claims>,
) -> Result<Claims, Fault> {
    *unsure = None;
    let begin = if claim.only.is_some() { BEGIN_BY_KEY } else { BEGIN_IN_ORDER };
    let ((), clock, mut found) =
        all3(db.begin(begin), db.rows("select statement_timestamp()", &[]), due(db, claim, "")).await?;
    let clock = clock.first().ok_or_else(|| impossible("no clock"))?;
    let claim = &judged(claim, Reader::new(clock, 0).at()?);
    let early = found.leave_early(claim);
    let not_before = if early == TooEarly::None { Vec::new() } else { not_before(db, claim).await? };
    if early == TooEarly::Hiding {
        let also = format!("and $4::bytea is not null and (o.wake_at <= $5 or not {})", *rows::LEFT_ALONE);
        found = due(db, claim, &also).await?;
        found.leave_early(claim);
    }
    if found.due.is_empty() && found.unreadable.is_empty() {
        db.rollback().await?;
        return Ok(Claims { not_before, ..Claims::default() });
    }
    let reminders: Vec<_> = found.reminders().into_iter().collect();
    let ((), known, silences) =
        all3(db.batch(BY_KEY), known(db, &reminders), silence::of_claim(db, &reminders, claim.now)).await?;
    let look = look(found, known, &silences, claim);
    let (locked, silences, left) = lock(db, &look, claim.now).await?;
    let (claims, writes) = look.decide(&locked, &silences, left);
    for (occurrence, error) in &writes.set_aside {
        tracing::error!(%occurrence, %error, "an occurrence cannot be read; it is set aside as failed");
    }
    *unsure = Some(Claims { not_before, ..claims });
    let alerts = write::commit(db, own, &writes).await?;
    let mut claims = unsure.take().unwrap_or_default();
    claims.add_alerts(alerts);
    Ok(claims)
}

/// The claim as the database's clock allows it.
///
/// Leases are judged by the database. A node whose clock was set an hour ahead believes that everybody's leases have
/// run out and everything is due; it is corrected within a second, and until then it may not act on it.
fn judged(claim: &Claim, clock: Timestamp) -> Claim {
    let lease_for = claim.lease_until.duration_since(claim.now);
    let now = claim.now.min(clock);
    Claim { now, lease_until: now.checked_add(lease_for).unwrap_or(claim.lease_until), ..claim.clone() }
}

/// Prolongs the leases of a claim whose answer was lost; returns those that were written and that nobody has taken over since.
pub(super) async fn prolong_claimed(
    db: &Connection<'_>,
    claim: &Claim,
    claims: &Claims,
) -> Result<HashSet<OccurrenceId>, Fault> {
    let mut sorted: Vec<&Claimed> = claims.to_send.iter().collect();
    sorted.sort_unstable_by_key(|claimed| claimed.before.id);
    let ids: Ids = sorted.iter().map(|claimed| claimed.before.id).collect();
    let leases: Vec<i64> = sorted.iter().map(|claimed| claimed.lease as i64).collect();
    let until = micros(claim.lease_until);
    let params: [Param<'_>; 5] = [
        (&ids.reminders, Type::UUID_ARRAY),
        (&ids.runs, Type::INT4_ARRAY),
        (&leases, Type::INT8_ARRAY),
        (&&*claim.node, Type::TEXT),
        (&until, Type::TIMESTAMPTZ),
    ];
    // Named by the node as well: another may have taken the same number, if this claim was never written.
    let kept = db.rows(
        "update punctual.occurrence o set wake_at = least($5, statement_timestamp() + interval '1 minute') \
         from unnest($1, $2, $3) as v (reminder_id, run, lease) where o.reminder_id = v.reminder_id and o.run = v.run \
         and o.lease = v.lease and o.node = $4 and o.state = 'processing' returning o.reminder_id, o.run",
        &params,
    );
    let ((), kept, ()) = all3(db.begin(BEGIN_BY_KEY), kept, db.commit()).await?;
    Ok(each(&kept, |row| Reader::new(row, 0).occurrence_id())?.into_iter().collect())
}

/// The moments within `claim` that must be waited for.
async fn not_before(db: &Connection<'_>, claim: &Claim) -> Result<Vec<Timestamp>, Fault> {
    let sql = format!(
        "select distinct o.wake_at from punctual.occurrence o where o.priority in (0, 1, 2, 3) and o.wake_at > $1 \
         and o.wake_at <= $2 and {} order by o.wake_at",
        *rows::LEFT_ALONE
    );
    let moments =
        db.rows(&sql, &[(&micros(claim.now), Type::TIMESTAMPTZ), (&micros(claim.until), Type::TIMESTAMPTZ)]).await?;
    each(&moments, |found| Reader::new(found, 0).at())
}

/// Locks what is due, most urgent first, and steps around what others have locked.
async fn due(db: &Connection<'_>, claim: &Claim, also: &str) -> Result<Found, Fault> {
    // One stretch of the index for each priority. A stretch is only begun when those before it did not suffice, so no row is
    // locked that is not taken.
    let own = if claim.shards == Shards::ALL { "" } else { "and get_bit($4, o.shard) = 1" };
    let stretch = |rank: u8| {
        format!(
            "(select * from (select {} from punctual.occurrence o where o.priority = {rank} and o.wake_at >= $1 \
             and o.wake_at <= least($2, statement_timestamp() + interval '{AHEAD_MAX} seconds') {own} {also} \
             order by o.wake_at limit $3 for update skip locked) as rank_{rank})",
            rows::OCCURRENCE
        )
    };
    let mut sql = format!("{} limit $3", [3, 2, 1, 0].map(stretch).join(" union all "));
    let limit = i64::try_from(claim.limit).unwrap_or(i64::MAX);
    let (from, until, now) = (micros(claim.from), micros(claim.until), micros(claim.now));
    let shards = claim.shards.as_bytes();
    let mut params: Vec<Param<'_>> =
        vec![(&from, Type::TIMESTAMPTZ), (&until, Type::TIMESTAMPTZ), (&limit, Type::INT8)];
    let only: Option<Vec<Uuid>> = claim.only.as_ref().map(|only| only.iter().copied().map(uuid).collect());
    if let Some(only) = &only {
        // Each by its key: the sums keep the planner from looking through all that is due instead, reminder by reminder.
        sql = format!(
            "select o.* from unnest($4) as v (id) cross join lateral (select {}, o.priority from punctual.occurrence o \
             where o.reminder_id = v.id and o.wake_at + interval '0' >= $1 and o.wake_at + interval '0' \
             <= least($2, statement_timestamp() + interval '{AHEAD_MAX} seconds') for update of o skip locked) as o \
             order by o.priority desc, o.wake_at limit $3",
            rows::OCCURRENCE
        );
        params.push((only, Type::UUID_ARRAY));
    } else if !own.is_empty() || !also.is_empty() {
        params.push((&shards, Type::BYTEA));
    }
    if !also.is_empty() {
        params.push((&now, Type::TIMESTAMPTZ));
    }
    let mut found = Found::default();
    for row in db.rows(&sql, &params).await? {
        match rows::due(&mut Reader::new(&row, 0)) {
            Ok(due) => found.due.push(due),
            Err(error) => found.unreadable.push((Reader::new(&row, 0).occurrence_id()?, error.to_string())),
        }
    }
    Ok(found)
}

/// Reads reminders with these ids, and their people.
static KNOWN: LazyLock<String> = LazyLock::new(|| {
    format!(
        "select {}, u.addresses, {}, {}, {} from unnest($1) as v (id) join punctual.reminder r on r.id = v.id \
         left join punctual.app_user u on u.id = r.user_id",
        rows::PERSON,
        rows::REMINDER,
        rows::PROGRESS,
        rows::is_unplanned("punctual.", "(r.event::json ->> 'key')")
    )
});

/// The reminders with these ids.
async fn known(db: &Connection<'_>, ids: &[ReminderId]) -> Result<ByReminder<Known>, Fault> {
    let ids: Vec<Uuid> = ids.iter().copied().map(uuid).collect();
    loaded(&db.rows(&KNOWN, &[(&ids, Type::UUID_ARRAY)]).await?, |known| known)
}

/// Reads [`KNOWN`], and makes something of each.
fn loaded<T>(found: &[Row], make: impl Fn(Known) -> T) -> Result<ByReminder<T>, Fault> {
    let read = |row: &Row| -> Result<T, StoreError> {
        let mut from = Reader::new(row, N_PERSON);
        let addresses = from.addresses().map_err(|error| error.to_string());
        let reminder = Arc::new(rows::reminder(&mut from)?);
        let progress = rows::progress(&mut from)?;
        let person = Arc::new(rows::person_of(&reminder.user, row, 0));
        let is_unplanned = from.flag()?;
        Ok(make(Known { reminder, progress, addresses, person, is_unplanned }))
    };
    let by_id = |row: &Row| Ok((row.id(N_PERSON + 1)?, read(row).map_err(|error| error.to_string())));
    Ok(each(found, by_id)?.into_iter().collect())
}

/// Locks what `look` says must not change, and reads it as it is then; and what can be read of runs that cannot be read as a whole.
///
/// A person, a silence or a group that another is just changing is stepped around. Or it was removed, which a look in a moment tells.
async fn lock(
    db: &Connection<'_>,
    look: &Look<'_>,
    now: Timestamp,
) -> Result<(ByReminder<Locked>, Silences, Vec<Unreadable>), Fault> {
    let to_lock = look.to_lock();
    if to_lock.reminders.is_empty() {
        return Ok((ByReminder::new(), Silences::default(), Vec::new()));
    }
    let mut reminders: Vec<Uuid> = to_lock.reminders.iter().copied().map(uuid).collect();
    reminders.sort_unstable();
    let users: Vec<_> = to_lock.users.iter().map(|user| clean(user)).collect();
    let of_reminders: [Param<'_>; 1] = [(&reminders, Type::UUID_ARRAY)];
    let of_users: [Param<'_>; 1] = [(&users, Type::TEXT_ARRAY)];
    let (_, people, silences, found, left) = all5(
        db.rows(
            "select from unnest($1) as v (id) join punctual.reminder r on r.id = v.id for no key update of r",
            &of_reminders,
        ),
        async {
            match users.is_empty() {
                true => Ok(Vec::new()),
                false => {
                    let people = "select u.id from unnest($1) as v (id) join punctual.app_user u on u.id = v.id \
                        for share of u skip locked";
                    db.rows(people, &of_users).await
                }
            }
        },
        silence::lock(db, to_lock.silences.into_iter().collect()),
        // After the locks, so that it sees what others did before.
        db.rows(&KNOWN, &of_reminders),
        left(db, look.unreadable(), now),
    )
    .await?;
    let people: HashSet<String> = each(&people, |row| Reader::new(row, 0).owned())?.into_iter().collect();
    let locked = loaded(&found, |known| {
        let has_person = people.contains(clean(&known.reminder.user).as_ref());
        Locked { n_open: known.progress.n_open(), known, has_person }
    })?;
    Ok((locked, silences, left))
}

/// What can be read of runs that cannot be read as a whole.
async fn left(
    db: &Connection<'_>,
    unreadable: &[(OccurrenceId, String)],
    now: Timestamp,
) -> Result<Vec<Unreadable>, Fault> {
    if unreadable.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Ids = unreadable.iter().map(|(id, _)| *id).collect();
    let rows = db
        .rows(
            "select o.reminder_id, o.run, o.priority, o.due_at, r.user_id, r.message, r.created_via \
             from unnest($1, $2) as v (reminder_id, run) \
             join punctual.occurrence o on o.reminder_id = v.reminder_id and o.run = v.run \
             left join punctual.reminder r on r.id = o.reminder_id",
            &[(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY)],
        )
        .await?;
    each(&rows, |row| {
        let mut from = Reader::new(row, 0);
        let id = from.occurrence_id()?;
        let priority = from.priority().unwrap_or(Priority::Critical);
        let due_at = from.at().unwrap_or(now);
        let mut text = || from.maybe_owned().ok().flatten().unwrap_or_default();
        let (user, message, created_via) = (text(), text(), text());
        let error = unreadable.iter().find(|(of, _)| *of == id).map(|(_, error)| error.clone()).unwrap_or_default();
        Ok(Unreadable { id, user, message, priority, created_via, due_at, error })
    })
}
