//! Writing new rows.

use jiff::Timestamp;
use punctual_core::id::ReminderId;
use punctual_core::occurrence::Occurrence;
use punctual_core::reminder::Reminder;
use punctual_core::store::{Create, NewReminder, StoreError};
use punctual_core::user::{ApiKey, User};
use punctual_core::wake::Series;
use rusqlite::{Connection, params};

use super::answered;
use super::row::{broken, impossible, micros};
use super::values::for_rows;

pub(super) fn create(db: &Connection, new: &Create) -> Result<(), StoreError> {
    if let Some((key, answered)) = &new.answered {
        answered::insert(db, key, answered, new.now)?;
    }
    insert_reminders(db, &new.reminders)?;
    insert_first_occurrences(db, &new.reminders)?;
    audit_created(db, new)
}

fn insert_reminders(db: &Connection, new: &[NewReminder]) -> Result<(), StoreError> {
    // Made before anything is bound, because making them can fail.
    let routes = new.iter().map(|item| route(&item.reminder)).collect::<Result<Vec<_>, _>>()?;
    let rows: Vec<_> = new.iter().map(|item| &item.reminder).zip(routes).collect();
    for_rows(
        db,
        "INSERT INTO reminder (id, user, name, message, schedule, timezone, priority, route, ack_timeout, \
         ack_prompt, ack_reminders_max, snooze_allowed, retries_max, misfire, misfire_within, on_unknown, \
         created_via, original_text, metadata, status, created_at, updated_at, last_run, carried_by, planned, only_to) \
         VALUES {values}",
        26,
        &rows,
        |(reminder, route), values| {
            let series = Series::begun(reminder.schedule.is_recurring());
            values.push(reminder.id.as_bytes());
            values.push(&reminder.user);
            values.push(&reminder.name);
            values.push(&reminder.message);
            values.push(reminder.schedule.to_json().to_string());
            values.push(reminder.timezone.name());
            values.push(reminder.priority.rank());
            values.push(route);
            values.push(reminder.ack.as_ref().map(|ack| millis(ack.timeout)));
            values.push(reminder.ack.as_ref().and_then(|ack| ack.prompt.as_ref()));
            values.push(reminder.ack.as_ref().map_or(0, |ack| ack.reminders_max));
            values.push(reminder.snooze_allowed);
            values.push(reminder.retries_max);
            values.push(reminder.misfire.policy.as_str());
            values.push(millis(reminder.misfire.within));
            values.push(reminder.on_unknown.as_str());
            values.push(&reminder.created_via);
            values.push(&reminder.original_text);
            values.push(reminder.metadata.as_str());
            values.push(reminder.status.as_str());
            values.push(micros(reminder.created_at));
            values.push(micros(reminder.updated_at));
            values.push(series.last_run);
            values.push(series.carried_by);
            values.push(series.planned);
            values.push(reminder.only);
        },
        |_| Ok(()),
    )
}

fn insert_first_occurrences(db: &Connection, new: &[NewReminder]) -> Result<(), StoreError> {
    for_rows(
        db,
        "INSERT INTO occurrence (reminder_id, run, due_at, state, wake_at, priority) VALUES {values}",
        6,
        new,
        |item, values| {
            let occurrence = item.first_run();
            values.push(occurrence.id.reminder.as_bytes());
            values.push(occurrence.id.run);
            values.push(micros(occurrence.due_at));
            values.push(occurrence.state.kept_kind().as_str());
            values.push(occurrence.state.wake_at(occurrence.due_at).map(micros));
            values.push(item.reminder.priority.rank());
        },
        |_| Ok(()),
    )
}

fn audit_created(db: &Connection, new: &Create) -> Result<(), StoreError> {
    for_rows(
        db,
        "INSERT INTO audit (at, actor, action, reminder_id) VALUES {values}",
        4,
        &new.reminders,
        |item, values| {
            values.push(micros(new.now));
            values.push(&new.actor);
            values.push("create");
            values.push(item.reminder.id.as_bytes());
        },
        |_| Ok(()),
    )
}

/// Writes a changed reminder over the old one.
pub(super) fn update_reminder(db: &Connection, reminder: &Reminder, series: &Series) -> Result<(), StoreError> {
    let mut statement = db
        .prepare_cached(
            "UPDATE reminder SET name = ?, message = ?, schedule = ?, timezone = ?, priority = ?, route = ?, \
             ack_timeout = ?, ack_prompt = ?, ack_reminders_max = ?, snooze_allowed = ?, retries_max = ?, \
             misfire = ?, misfire_within = ?, on_unknown = ?, metadata = ?, status = ?, updated_at = ?, \
             last_run = ?, carried_by = ?, planned = ?, only_to = ? WHERE id = ?",
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
            reminder.only,
            reminder.id.as_bytes(),
        ])
        .map_err(broken)?;
    Ok(())
}

/// Writes an occurrence that was planned just now.
pub(super) fn insert_occurrence(db: &Connection, occurrence: &Occurrence, priority: u8) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO occurrence (reminder_id, run, due_at, state, wake_at, priority, at, at_once) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .map_err(broken)?
    .execute(params![
        occurrence.id.reminder.as_bytes(),
        occurrence.id.run,
        micros(occurrence.due_at),
        occurrence.state.kept_kind().as_str(),
        occurrence.state.wake_at(occurrence.due_at).map(micros),
        priority,
        occurrence.state.at().map(micros),
        occurrence.at_once,
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
        "INSERT INTO user (id, timezone, language, addresses, quiet_from, quiet_to, quiet_except, quiet_digest, \
         paused_until, admin, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (id) DO UPDATE SET timezone = excluded.timezone, language = excluded.language, \
         addresses = excluded.addresses, quiet_from = excluded.quiet_from, quiet_to = excluded.quiet_to, \
         quiet_except = excluded.quiet_except, quiet_digest = excluded.quiet_digest, \
         paused_until = excluded.paused_until, admin = excluded.admin, updated_at = excluded.updated_at",
    )
    .map_err(broken)?
    .execute(params![
        user.id,
        user.timezone.as_ref().map(punctual_core::zone::Zone::name),
        user.language,
        addresses,
        user.quiet_hours.map(|quiet| quiet.from.to_string()),
        user.quiet_hours.map(|quiet| quiet.to.to_string()),
        user.quiet_hours.map(|quiet| quiet.except.as_str()),
        user.quiet_hours.is_some_and(|quiet| quiet.digest),
        user.paused_until.map(micros),
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
