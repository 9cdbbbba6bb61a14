//! Writing alerts, in the transaction that writes what they are about.

use jiff::Timestamp;
use punctual_core::alarm::Entry;
use punctual_core::alert::{Alert, News, Unreadable, alerts, alerts_of_unreadable, looked_for, to_write};
use punctual_core::id::OccurrenceId;
use punctual_core::store::{Create, StoreError};
use rusqlite::Connection;

use super::create::{audit, create};
use super::read;

/// Tells the admins what is new of these occurrences; returns what is due because of it.
pub(super) fn raise(db: &Connection, told: &[(OccurrenceId, News)], now: Timestamp) -> Result<Vec<Entry>, StoreError> {
    let mut due = Vec::new();
    let admins = if told.is_empty() { Vec::new() } else { read::admins(db)? };
    for (id, news) in told {
        let Some(view) = read::reminder(db, id.reminder)? else { continue };
        let Some(trail) = read::occurrence(db, *id)? else { continue };
        let made = alerts(*news, &view.reminder, &trail.occurrence, &trail.attempts, &admins, now);
        due.extend(write(db, *id, made, now)?);
    }
    Ok(due)
}

/// Tells the admins of a run that was set aside; returns what is due because of it.
pub(super) fn raise_unreadable(db: &Connection, run: &Unreadable, now: Timestamp) -> Result<Vec<Entry>, StoreError> {
    write(db, run.id, alerts_of_unreadable(run, &read::admins(db)?, now), now)
}

fn write(db: &Connection, about: OccurrenceId, made: Vec<Alert>, now: Timestamp) -> Result<Vec<Entry>, StoreError> {
    let there = read::existing(db, &looked_for(&made))?;
    let new = to_write(made, &there.iter().map(|view| view.reminder.id).collect::<Vec<_>>());
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let users: Vec<&str> = new.iter().map(|new| new.reminder.user.as_str()).collect();
    audit(
        db,
        now,
        "engine",
        "alert",
        about.reminder,
        Some(about.run),
        Some(&format!("made for {}", users.join(", "))),
    )?;
    let due = new.iter().map(|new| Entry::of(&new.reminder, new.first_due_at)).collect();
    create(db, &Create { reminders: new, actor: "engine".into(), answered: None, now })?;
    Ok(due)
}
