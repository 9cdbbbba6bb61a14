//! Applying a command: load, let core decide, write.

use jiff::Timestamp;
use punctual_core::change::{Applied, Change, Loaded, apply};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{Occurrence, State};
use punctual_core::store::{By, ChangeError, Changed, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::create::{audit, insert_occurrence, update_reminder};
use super::row::{self, broken, micros};
use super::{answered, read, waiting};

/// The outer error is the database's; the inner one is core's refusal, or that there is nothing to change.
pub(super) fn change(
    db: &Connection,
    id: ReminderId,
    change: &Change,
    by: &By,
) -> Result<Result<Changed, ChangeError>, StoreError> {
    let Some(loaded) = load(db, id, change.run())? else {
        return Ok(Err(ChangeError::NotFound));
    };
    if by.user.as_ref().is_some_and(|user| *user != loaded.reminder.user) {
        return Ok(Err(ChangeError::NotFound));
    }
    let applied = match apply(loaded, change, by) {
        Ok(applied) => applied,
        Err(refused) => return Ok(Err(refused.into())),
    };
    write(db, &applied, change, by)?;
    let view = read::reminder(db, id)?.ok_or_else(|| row::impossible("a reminder vanished while it was changed"))?;
    if let Some(repeat) = &by.repeat {
        answered::insert(db, &repeat.key, &repeat.answered(&view), by.now)?;
    }
    let occurrence = applied.write.first().or(applied.insert.first()).cloned();
    Ok(Ok(Changed { view, occurrence, wakes: applied.wakes() }))
}

/// The reminder with its open runs, and the last that has ended: of all, or `run` if the command names one.
fn load(db: &Connection, id: ReminderId, run: Option<u32>) -> Result<Option<Loaded>, StoreError> {
    let sql = format!("SELECT {}, r.last_run, r.carried_by, r.planned FROM reminder r WHERE r.id = ?", row::REMINDER);
    let mut statement = db.prepare_cached(&sql).map_err(broken)?;
    let found = statement
        .query_row([id.as_bytes()], |found| Ok((row::reminder(found, 0), row::series(found, row::N_REMINDER))))
        .optional()
        .map_err(broken)?;
    let Some((reminder, series)) = found else {
        return Ok(None);
    };
    let open = occurrences(db, id, "(o.wake_at IS NOT NULL OR o.state = 'paused') ORDER BY o.run")?;
    let meant = run.map_or(String::new(), |run| format!(" AND o.run = {run}"));
    let ended = format!("o.wake_at IS NULL AND o.state <> 'paused'{meant} ORDER BY o.run DESC LIMIT 1");
    let ended = occurrences(db, id, &ended)?;
    Ok(Some(Loaded { reminder: reminder?, series: series?, open, last_ended: ended.into_iter().next() }))
}

fn occurrences(db: &Connection, id: ReminderId, which: &str) -> Result<Vec<Occurrence>, StoreError> {
    let sql = format!("SELECT {} FROM occurrence o WHERE o.reminder_id = ? AND {which}", row::OCCURRENCE);
    let mut statement = db.prepare_cached(&sql).map_err(broken)?;
    let mut rows = statement.query([id.as_bytes()]).map_err(broken)?;
    let mut found = Vec::new();
    while let Some(next) = rows.next().map_err(broken)? {
        found.push(row::occurrence(next, 0)?.0);
    }
    Ok(found)
}

fn write(db: &Connection, applied: &Applied, change: &Change, by: &By) -> Result<(), StoreError> {
    let reminder = &applied.reminder;
    update_reminder(db, reminder, &applied.series)?;
    for occurrence in &applied.write {
        update_occurrence(db, occurrence)?;
        // An answer can end an occurrence that is just being sent once more; that attempt's result will find no lease.
        cut_off(db, occurrence.id, by.now)?;
    }
    if applied.readdressed {
        waiting::readdress(db, "reminder_id = ?1", reminder.id.as_bytes())?;
    }
    for occurrence in &applied.insert {
        insert_occurrence(db, occurrence, reminder.priority.rank())?;
    }
    if matches!(change, Change::Update(_)) {
        db.prepare_cached("UPDATE occurrence SET priority = ?1 WHERE reminder_id = ?2 AND priority <> ?1")
            .map_err(broken)?
            .execute(params![reminder.priority.rank(), reminder.id.as_bytes()])
            .map_err(broken)?;
    }
    if let Some(response) = &applied.response {
        db.prepare_cached(
            "INSERT INTO response (reminder_id, run, kind, at, actor, until, snooze_minutes, user, text, channel) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .map_err(broken)?
        .execute(params![
            response.occurrence.reminder.as_bytes(),
            response.occurrence.run,
            response.kind,
            micros(response.at),
            response.actor,
            response.until.map(micros),
            response.snooze_minutes,
            response.user,
            response.said.text,
            response.said.channel,
        ])
        .map_err(broken)?;
    }
    // What was sent and has now ended, by an answer or with its reminder, is the last thing that became of it.
    if let Some(sent) = applied.write.iter().rfind(|o| o.tries.reached > 0) {
        db.prepare_cached("UPDATE reminder SET last_status = ? WHERE id = ?")
            .map_err(broken)?
            .execute(params![sent.state.kind().as_str(), reminder.id.as_bytes()])
            .map_err(broken)?;
    }
    let run = applied.write.first().or(applied.insert.first()).map(|o| o.id.run);
    audit(db, by.now, &by.actor, change.verb(), reminder.id, run, None)
}

/// Marks attempts of an occurrence that nobody will settle any more.
pub(super) fn cut_off(db: &Connection, id: OccurrenceId, now: Timestamp) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE attempt SET status = 'unknown', ended_at = ?, error = 'cut off in flight' \
         WHERE reminder_id = ? AND run = ? AND status = 'sending'",
    )
    .map_err(broken)?
    .execute(params![micros(now), id.reminder.as_bytes(), id.run])
    .map_err(broken)?;
    Ok(())
}

/// Writes a changed occurrence over the old one. Its lease number stays, so whoever still holds a lease of it finds that
/// it is no longer `processing` and is refused.
pub(super) fn update_occurrence(db: &Connection, occurrence: &Occurrence) -> Result<(), StoreError> {
    let processing = matches!(occurrence.state, State::Processing { .. });
    db.prepare_cached(
        "UPDATE occurrence SET due_at = ?, state = ?, wake_at = ?, node = CASE WHEN ? THEN node END, at = ?, error = ?, \
         attempts = ?, rounds = ?, position = ?, refused = ?, asks = ?, reached = ?, at_once = ?, made_for = ? \
         WHERE reminder_id = ? AND run = ?",
    )
    .map_err(broken)?
    .execute(params![
        micros(occurrence.due_at),
        occurrence.state.kept_kind().as_str(),
        occurrence.state.wake_at(occurrence.due_at).map(micros),
        processing,
        occurrence.state.at().map(micros),
        occurrence.state.kept_note(),
        occurrence.tries.attempts,
        occurrence.tries.rounds,
        occurrence.tries.position,
        occurrence.tries.refused as i64,
        occurrence.tries.asks,
        occurrence.tries.reached,
        occurrence.at_once,
        occurrence.moved_from().map(micros),
        occurrence.id.reminder.as_bytes(),
        occurrence.id.run,
    ])
    .map_err(broken)?;
    Ok(())
}
