//! Writing new rows.

use jiff::Timestamp;
use punctual_core::id::ReminderId;
use punctual_core::occurrence::Occurrence;
use punctual_core::reminder::Reminder;
use punctual_core::store::{Create, StoreError};
use punctual_core::user::{ApiKey, User};
use punctual_core::wake::Series;
use rusqlite::{Connection, ErrorCode, params};

use super::row::{broken, impossible, micros};

pub(super) fn create(db: &Connection, new: &Create) -> Result<(), StoreError> {
    if let Some((key, answered)) = &new.answered {
        let inserted = db
            .prepare_cached("INSERT INTO answered (key, request, body, at) VALUES (?, ?, ?, ?)")
            .map_err(broken)?
            .execute(params![key, answered.request, answered.body, micros(new.now)]);
        match inserted {
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => return Err(StoreError::KeyUsed),
            other => other.map_err(broken)?,
        };
    }
    for item in &new.reminders {
        let series = Series::begun(item.reminder.schedule.is_recurring());
        insert_reminder(db, &item.reminder, &series)?;
        let id = punctual_core::id::OccurrenceId { reminder: item.reminder.id, run: 1 };
        insert_occurrence(db, &Occurrence::scheduled(id, item.first_due_at), item.reminder.priority.rank())?;
        audit(db, new.now, &new.actor, "create", item.reminder.id, None, None)?;
    }
    Ok(())
}

fn insert_reminder(db: &Connection, reminder: &Reminder, series: &Series) -> Result<(), StoreError> {
    let mut statement = db
        .prepare_cached(
            "INSERT INTO reminder (id, user, name, message, schedule, timezone, priority, route, ack_timeout, \
             ack_prompt, ack_reminders_max, snooze_allowed, retries_max, misfire, misfire_within, on_unknown, \
             created_via, original_text, metadata, status, created_at, updated_at, last_run, carried_by, planned) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .map_err(broken)?;
    statement
        .execute(params![
            reminder.id.as_bytes(),
            reminder.user,
            reminder.name,
            reminder.message,
            reminder.schedule.to_json().to_string(),
            reminder.timezone.name(),
            reminder.priority.rank(),
            route(reminder)?,
            reminder.ack.as_ref().map(|ack| millis(ack.timeout)),
            reminder.ack.as_ref().and_then(|ack| ack.prompt.as_ref()),
            reminder.ack.as_ref().map_or(0, |ack| ack.reminders_max),
            reminder.snooze_allowed,
            reminder.retries_max,
            reminder.misfire.policy.as_str(),
            millis(reminder.misfire.within),
            reminder.on_unknown.as_str(),
            reminder.created_via,
            reminder.original_text,
            reminder.metadata.as_str(),
            reminder.status.as_str(),
            micros(reminder.created_at),
            micros(reminder.updated_at),
            series.last_run,
            series.carried_by,
            series.planned,
        ])
        .map_err(broken)?;
    Ok(())
}

/// Writes a changed reminder over the old one.
pub(super) fn update_reminder(db: &Connection, reminder: &Reminder, series: &Series) -> Result<(), StoreError> {
    let mut statement = db
        .prepare_cached(
            "UPDATE reminder SET name = ?, message = ?, schedule = ?, timezone = ?, priority = ?, route = ?, \
             ack_timeout = ?, ack_prompt = ?, ack_reminders_max = ?, snooze_allowed = ?, retries_max = ?, \
             misfire = ?, misfire_within = ?, on_unknown = ?, metadata = ?, status = ?, updated_at = ?, \
             last_run = ?, carried_by = ?, planned = ? WHERE id = ?",
        )
        .map_err(broken)?;
    statement
        .execute(params![
            reminder.name,
            reminder.message,
            reminder.schedule.to_json().to_string(),
            reminder.timezone.name(),
            reminder.priority.rank(),
            route(reminder)?,
            reminder.ack.as_ref().map(|ack| millis(ack.timeout)),
            reminder.ack.as_ref().and_then(|ack| ack.prompt.as_ref()),
            reminder.ack.as_ref().map_or(0, |ack| ack.reminders_max),
            reminder.snooze_allowed,
            reminder.retries_max,
            reminder.misfire.policy.as_str(),
            millis(reminder.misfire.within),
            reminder.on_unknown.as_str(),
            reminder.metadata.as_str(),
            reminder.status.as_str(),
            micros(reminder.updated_at),
            series.last_run,
            series.carried_by,
            series.planned,
            reminder.id.as_bytes(),
        ])
        .map_err(broken)?;
    Ok(())
}

/// Writes an occurrence that was planned just now.
pub(super) fn insert_occurrence(db: &Connection, occurrence: &Occurrence, priority: u8) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO occurrence (reminder_id, run, due_at, state, wake_at, priority, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .map_err(broken)?
    .execute(params![
        occurrence.id.reminder.as_bytes(),
        occurrence.id.run,
        micros(occurrence.due_at),
        occurrence.state.kind().as_str(),
        occurrence.state.wake_at(occurrence.due_at).map(micros),
        priority,
        occurrence.state.at().map(micros),
    ])
    .map_err(broken)?;
    Ok(())
}

/// Writes down who did what.
pub(super) fn audit(
    db: &Connection,
    at: Timestamp,
    actor: &str,
    action: &str,
    reminder: ReminderId,
    run: Option<u32>,
    detail: Option<&str>,
) -> Result<(), StoreError> {
    db.prepare_cached("INSERT INTO audit (at, actor, action, reminder_id, run, detail) VALUES (?, ?, ?, ?, ?, ?)")
        .map_err(broken)?
        .execute(params![micros(at), actor, action, reminder.as_bytes(), run, detail])
        .map_err(broken)?;
    Ok(())
}

pub(super) fn put_user(db: &Connection, user: &User) -> Result<(), StoreError> {
    let addresses = serde_json::to_string(&user.addresses).map_err(impossible)?;
    db.prepare_cached(
        "INSERT INTO user (id, timezone, language, addresses, quiet_from, quiet_to, admin, created_at, updated_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET timezone = excluded.timezone, \
         language = excluded.language, addresses = excluded.addresses, quiet_from = excluded.quiet_from, \
         quiet_to = excluded.quiet_to, admin = excluded.admin, updated_at = excluded.updated_at",
    )
    .map_err(broken)?
    .execute(params![
        user.id,
        user.timezone.as_ref().map(punctual_core::zone::Zone::name),
        user.language,
        addresses,
        user.quiet_hours.map(|quiet| quiet.from.to_string()),
        user.quiet_hours.map(|quiet| quiet.to.to_string()),
        user.admin,
        micros(user.created_at),
        micros(user.updated_at),
    ])
    .map_err(broken)?;
    Ok(())
}

pub(super) fn put_key(db: &Connection, key: &ApiKey) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO api_key (id, name, hash, user, write, expires_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .map_err(broken)?
    .execute(params![
        key.id,
        key.name,
        key.hash,
        key.user,
        key.write,
        key.expires_at.map(micros),
        micros(key.created_at)
    ])
    .map_err(broken)?;
    Ok(())
}

/// Runs a DELETE of one named row; says whether there was one.
pub(super) fn delete(db: &Connection, sql: &str, id: &str) -> Result<bool, StoreError> {
    let n_deleted = db.prepare_cached(sql).map_err(broken)?.execute([id]).map_err(broken)?;
    Ok(n_deleted > 0)
}

fn route(reminder: &Reminder) -> Result<Option<String>, StoreError> {
    if reminder.to.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(&reminder.to).map(Some).map_err(impossible)
}

/// Whole milliseconds; a span too long to be one was refused when the reminder was validated.
fn millis(span: std::time::Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
