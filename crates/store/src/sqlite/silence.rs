//! Stretches of time in which some reminders are not sent.

use std::collections::BTreeSet;

use jiff::Timestamp;
use punctual_core::decide::claim::{ByReminder, Known};
use punctual_core::decide::silence::{Beside, RELEASED_AT_ONCE, released, silenced};
use punctual_core::id::{OccurrenceId, SilenceId};
use punctual_core::journal::Who;
use punctual_core::silence::{SILENCES_MAX, SILENCES_OF_USER_MAX, Silence, Silences};
use punctual_core::store::{Claim, Released, SilenceQuery, StoreError};
use rusqlite::{Connection, params};

use super::read::collect;
use super::row::{broken, get, impossible, micros};
use super::write::write;
use crate::rows;

/// Writes a new one, if there is room; returns whether there was.
pub(super) fn put(db: &Connection, silence: &Silence, who: Who) -> Result<bool, StoreError> {
    let count = "SELECT (SELECT count(*) FROM (SELECT 1 FROM silence WHERE until_at > ?1 LIMIT ?3)), \
        (SELECT count(*) FROM (SELECT 1 FROM silence WHERE until_at > ?1 AND user_id = ?2 LIMIT ?4))";
    let limits = params![micros(silence.created_at), silence.user, SILENCES_MAX, SILENCES_OF_USER_MAX];
    let beside = collect(db, count, limits, |found| Ok(Beside { all: get(found, 0)?, of_user: get(found, 1)? }))?;
    let beside = beside.into_iter().next().ok_or_else(|| impossible("a count has no row"))?;
    let Some(writes) = silenced(silence, beside, who) else { return Ok(false) };
    let put = "INSERT INTO silence (id, user_id, group_name, tag, from_at, until_at, created_at, created_by) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    db.prepare_cached(put)
        .map_err(broken)?
        .execute(params![
            silence.id.as_bytes(),
            silence.user,
            silence.group,
            silence.tag,
            micros(silence.from),
            micros(silence.until),
            micros(silence.created_at),
            silence.created_by,
        ])
        .map_err(broken)?;
    write(db, &writes)?;
    Ok(true)
}

pub(super) fn silences(db: &Connection, query: &SilenceQuery) -> Result<Vec<Silence>, StoreError> {
    let sql = format!(
        "SELECT {} FROM silence s WHERE s.until_at > ?1 AND (?2 IS NULL OR s.user_id = ?2) AND (?3 IS NULL OR s.id = ?3) \
         AND (?4 IS NULL OR s.id > ?4) AND (?6 IS NULL OR s.tag = ?6) ORDER BY s.id LIMIT ?5",
        rows::SILENCE
    );
    let (id, after) = (query.id.as_ref().map(SilenceId::as_bytes), query.after.as_ref().map(SilenceId::as_bytes));
    let params = params![micros(query.now), query.user, id, after, query.limit, query.tag];
    collect(db, &sql, params, |found| rows::silence(found))
}

/// The silences that may concern what a claim has found.
pub(super) fn of_claim(db: &Connection, claim: &Claim, known: &ByReminder<Known>) -> Result<Silences, StoreError> {
    let is_empty = db.prepare_cached("SELECT 1 FROM silence WHERE until_at > ? LIMIT 1");
    if !is_empty.map_err(broken)?.exists([micros(claim.now)]).map_err(broken)? {
        return Ok(Silences::default());
    }
    let users: BTreeSet<&str> = known.values().flatten().map(|known| known.reminder.user.as_str()).collect();
    let users = serde_json::to_string(&users).map_err(impossible)?;
    let sql = format!(
        "SELECT {}, g.users FROM silence s LEFT JOIN user_group g ON g.name = s.group_name WHERE s.until_at > ?1 \
         AND (s.user_id IS NULL OR s.user_id IN (SELECT value FROM json_each(?2)))",
        rows::SILENCE
    );
    Ok(Silences::new(collect(db, &sql, params![micros(claim.now), users], |found| rows::silent(found))?))
}

/// Ends a silence and lets go of what waits for it, after run `after`.
pub(super) fn end(
    db: &Connection,
    id: SilenceId,
    after: Option<OccurrenceId>,
    who: Who,
    now: Timestamp,
) -> Result<Option<Released>, StoreError> {
    let sql = format!(
        "SELECT {}, g.users FROM silence s LEFT JOIN user_group g ON g.name = s.group_name WHERE s.id = ?",
        rows::SILENCE
    );
    let Some(ended) = collect(db, &sql, [id.as_bytes()], |found| rows::silent(found))?.pop() else { return Ok(None) };
    if after.is_none() {
        who.expects.check(|| Some(ended.silence.version()))?;
    }
    // Of one user by their reminders, else by all that is silent.
    let from = match ended.silence.user {
        Some(_) => "reminder r CROSS JOIN occurrence o ON o.reminder_id = r.id",
        None => "occurrence o CROSS JOIN reminder r ON r.id = o.reminder_id",
    };
    let sql = format!(
        "SELECT {}, r.user_id, r.tags, r.ack_timeout FROM {from} WHERE o.waits_for = 'silenced' \
         AND (?1 IS NULL OR r.user_id = ?1) AND (o.reminder_id, o.run) > (?2, ?3) \
         ORDER BY o.reminder_id, o.run LIMIT ?4",
        rows::OCCURRENCE
    );
    let (reminder, run) = after.map_or(([0; 16], 0), |after| (*after.reminder.as_bytes(), after.run));
    let values = params![ended.silence.user, reminder, run, RELEASED_AT_ONCE];
    let runs = collect(db, &sql, values, |found| rows::silenced(found))?;
    let more_after = runs.last().map(|(id, _)| *id).filter(|_| runs.len() == RELEASED_AT_ONCE);
    let by = more_after.is_none().then_some(who);
    let writes = released(&ended, runs.into_iter().filter_map(|(_, run)| run).collect(), by, now);
    write(db, &writes)?;
    match more_after {
        // The silence holds no run any more, and stays until the last of them is let go: a server that was cut off begins again with it.
        Some(_) => db
            .prepare_cached("UPDATE silence SET until_at = min(until_at, ?2) WHERE id = ?1")
            .map_err(broken)?
            .execute(params![id.as_bytes(), micros(now)]),
        None => db.prepare_cached("DELETE FROM silence WHERE id = ?1").map_err(broken)?.execute([id.as_bytes()]),
    }
    .map_err(broken)?;
    Ok(Some(Released { wakes: writes.wakes().collect(), more_after }))
}
