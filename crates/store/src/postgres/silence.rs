//! Stretches of time in which some reminders are not sent.
//!
//! A claim that puts a run off holds the silence's row, and its group's, until it commits. So a caller that ends the silence, or changes the
//! group, waits for it and then sees the run; and a claim that finds the row held looks again a moment later.

use jiff::Timestamp;
use punctual_core::decide::silence::{Beside, RELEASED_AT_ONCE, released, silenced};
use punctual_core::id::{OccurrenceId, ReminderId, SilenceId};
use punctual_core::journal::Who;
use punctual_core::shard::Shards;
use punctual_core::silence::{SILENCES_MAX, SILENCES_OF_USER_MAX, Silence, Silences, Silent};
use punctual_core::store::{Released, SilenceQuery};
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{BEGIN, BEGIN_IN_ORDER, BY_KEY};
use super::fault::Fault;
use super::pipeline::{all3, both};
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, int, micros, uuid};
use super::write::write;
use crate::rows::{self, Reader, impossible};

/// Writes a new one, if there is room; returns whether there was.
pub(super) async fn put(db: &Connection<'_>, own: Shards, silence: &Silence, who: Who) -> Result<bool, Fault> {
    let limit = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let count = "select (select count(*) from (select from punctual.silence where until_at > $1 limit $3) as s), \
        (select count(*) from (select from punctual.silence where until_at > $1 and user_id = $2 limit $4) as s)";
    let now = micros(silence.created_at);
    let user = silence.user.as_deref().map(clean);
    let (all, of_user) = (limit(SILENCES_MAX), limit(SILENCES_OF_USER_MAX));
    let params: [Param<'_>; 4] =
        [(&now, Type::TIMESTAMPTZ), (&user, Type::TEXT), (&all, Type::INT8), (&of_user, Type::INT8)];
    let ((), counted) = both(db.begin(BEGIN), db.rows(count, &params)).await?;
    let beside = each(&counted, |row| {
        let mut from = Reader::new(row, 0);
        Ok(Beside { all: from.count()? as usize, of_user: from.count()? as usize })
    })?;
    let beside = beside.first().copied().ok_or_else(|| impossible("a count has no row"))?;
    let Some(writes) = silenced(silence, beside, who) else {
        db.rollback().await?;
        return Ok(false);
    };
    let put = "insert into punctual.silence (id, user_id, group_name, tag, from_at, until_at, created_at, created_by) \
        values ($1, $2, $3, $4, $5, $6, $7, $8)";
    let (from, until) = (micros(silence.from), micros(silence.until));
    let params: [Param<'_>; 8] = [
        (&Uuid::from_bytes(*silence.id.as_bytes()), Type::UUID),
        (&user, Type::TEXT),
        (&silence.group, Type::TEXT),
        (&silence.tag.as_deref().map(clean), Type::TEXT),
        (&from, Type::TIMESTAMPTZ),
        (&until, Type::TIMESTAMPTZ),
        (&now, Type::TIMESTAMPTZ),
        (&clean(&silence.created_by), Type::TEXT),
    ];
    all3(db.execute(put, &params), write(db, own, &writes), db.commit()).await?;
    Ok(true)
}

pub(super) async fn silences(db: &Connection<'_>, query: &SilenceQuery) -> Result<Vec<Silence>, Fault> {
    let id = |id: Option<SilenceId>| id.map(|id| Uuid::from_bytes(*id.as_bytes()));
    let sql = format!(
        "select {} from punctual.silence s where s.until_at > $1 and ($2 is null or s.user_id = $2) \
         and ($3 is null or s.id = $3) and ($4 is null or s.id > $4) and ($6 is null or s.tag = $6) order by s.id limit $5",
        rows::SILENCE
    );
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let params: [Param<'_>; 6] = [
        (&micros(query.now), Type::TIMESTAMPTZ),
        (&query.user.as_deref().map(clean), Type::TEXT),
        (&id(query.id), Type::UUID),
        (&id(query.after), Type::UUID),
        (&limit, Type::INT8),
        (&query.tag.as_deref().map(clean), Type::TEXT),
    ];
    each(&db.rows(&sql, &params).await?, rows::silence)
}

/// The silences that may concern these reminders now.
pub(super) async fn of_claim(db: &Connection<'_>, reminders: &[ReminderId], now: Timestamp) -> Result<Silences, Fault> {
    let ids: Vec<Uuid> = reminders.iter().copied().map(uuid).collect();
    let sql = format!(
        "select {}, g.users from punctual.silence s left join punctual.user_group g on g.name = s.group_name \
         where s.until_at > $1 and (s.user_id is null \
         or s.user_id in (select r.user_id from punctual.reminder r where r.id = any ($2)))",
        rows::SILENCE
    );
    let found = db.rows(&sql, &[(&micros(now), Type::TIMESTAMPTZ), (&ids, Type::UUID_ARRAY)]).await?;
    Ok(Silences::new(each(&found, rows::silent)?))
}

/// Keeps these silences and their groups as they are until the transaction ends; returns those that nobody else is changing.
pub(super) async fn lock(db: &Connection<'_>, ids: Vec<SilenceId>) -> Result<Silences, Fault> {
    if ids.is_empty() {
        return Ok(Silences::default());
    }
    let ids: Vec<Uuid> = ids.iter().map(|id| Uuid::from_bytes(*id.as_bytes())).collect();
    let these: [Param<'_>; 1] = [(&ids, Type::UUID_ARRAY)];
    let of_groups = format!(
        "select {}, g.users from punctual.silence s join punctual.user_group g on g.name = s.group_name \
         where s.id = any ($1) for share of s, g skip locked",
        rows::SILENCE
    );
    let others = format!(
        "select {}, null from punctual.silence s where s.id = any ($1) and s.group_name is null for share of s skip locked",
        rows::SILENCE
    );
    let (of_groups, others) = both(db.rows(&of_groups, &these), db.rows(&others, &these)).await?;
    let mut found: Vec<Silent> = each(&of_groups, rows::silent)?;
    found.extend(each(&others, rows::silent)?);
    Ok(Silences::new(found))
}

/// Ends a silence and lets go of what waits for it, after run `after`.
pub(super) async fn end(
    db: &Connection<'_>,
    own: Shards,
    id: SilenceId,
    after: Option<OccurrenceId>,
    who: Who,
    now: Timestamp,
) -> Result<Option<Released>, Fault> {
    let key = Uuid::from_bytes(*id.as_bytes());
    let of_id: [Param<'_>; 1] = [(&key, Type::UUID)];
    // Nobody puts off another run because of it from here on.
    let locked = "select from punctual.silence where id = $1 for update";
    let sql = format!(
        "select {}, g.users from punctual.silence s left join punctual.user_group g on g.name = s.group_name where s.id = $1",
        rows::SILENCE
    );
    let ((), _, found) = all3(db.begin(BEGIN_IN_ORDER), db.rows(locked, &of_id), db.rows(&sql, &of_id)).await?;
    let Some(ended) = each(&found, rows::silent)?.pop() else {
        db.rollback().await?;
        return Ok(None);
    };
    if after.is_none() {
        who.expects.check(|| Some(ended.silence.version()))?;
    }
    // Of one user by their reminders, else by all that is silent.
    let whose = if ended.silence.user.is_some() { "r.user_id = $1" } else { "$1 is null" };
    let sql = format!(
        "select {}, r.user_id, r.tags, r.ack_timeout from punctual.reminder r \
         join punctual.occurrence o on o.reminder_id = r.id where o.waits_for = 'silenced' and {whose} \
         and (o.reminder_id, o.run) > ($2, $3) order by o.reminder_id, o.run limit $4 for update of o",
        rows::OCCURRENCE
    );
    let (reminder, run) = after.map_or((Uuid::nil(), 0), |after| (uuid(after.reminder), int(after.run)));
    let limit = i64::try_from(RELEASED_AT_ONCE).unwrap_or(i64::MAX);
    let params: [Param<'_>; 4] = [
        (&ended.silence.user.as_deref().map(clean), Type::TEXT),
        (&reminder, Type::UUID),
        (&run, Type::INT4),
        (&limit, Type::INT8),
    ];
    let runs = each(&db.rows(&sql, &params).await?, rows::silenced)?;
    let more_after = runs.last().map(|(id, _)| *id).filter(|_| runs.len() == RELEASED_AT_ONCE);
    let by = more_after.is_none().then_some(who);
    let writes = released(&ended, runs.into_iter().filter_map(|(_, run)| run).collect(), by, now);
    let until = micros(now);
    let until: [Param<'_>; 2] = [(&key, Type::UUID), (&until, Type::TIMESTAMPTZ)];
    let gone = async {
        match more_after {
            // The silence holds no run any more, and stays until the last of them is let go: a node that was cut off begins again with it.
            Some(_) => {
                db.execute("update punctual.silence set until_at = least(until_at, $2) where id = $1", &until).await
            }
            None => db.execute("delete from punctual.silence where id = $1", &of_id).await,
        }
    };
    let written = all3(db.batch(BY_KEY), write(db, own, &writes), gone);
    both(written, db.commit()).await?;
    Ok(Some(Released { wakes: writes.wakes().collect(), more_after }))
}
