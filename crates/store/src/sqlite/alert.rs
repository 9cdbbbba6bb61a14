//! Writing alerts, in the transaction in which what they are about ends.

use jiff::Timestamp;
use punctual_core::alarm::Entry;
use punctual_core::alert::{Unreadable, alerts, alerts_of_unreadable};
use punctual_core::id::OccurrenceId;
use punctual_core::store::{Create, NewReminder, StoreError};
use rusqlite::Connection;

use super::create::{audit, create};
use super::read;

/// Tells the admins of these occurrences, which have just ended; returns what is due because of it.
pub(super) fn raise(db: &Connection, ended: &[OccurrenceId], now: Timestamp) -> Result<Vec<Entry>, StoreError> {
    let mut due = Vec::new();
    for id in ended {
        let Some(view) = read::reminder(db, id.reminder)? else { continue };
        let Some(trail) = read::occurrence(db, *id)? else { continue };
        let new = alerts(&view.reminder, &trail.occurrence, &trail.attempts, &read::admins(db)?, now);
        due.extend(write(db, *id, new, now)?);
    }
    Ok(due)
}

/// Tells the admins of a run that was set aside; returns what is due because of it.
pub(super) fn raise_unreadable(db: &Connection, run: &Unreadable, now: Timestamp) -> Result<Vec<Entry>, StoreError> {
    write(db, run.id, alerts_of_unreadable(run, &read::admins(db)?, now), now)
}

fn write(
    db: &Connection,
    about: OccurrenceId,
    mut new: Vec<NewReminder>,
    now: Timestamp,
) -> Result<Vec<Entry>, StoreError> {
    let existing = read::existing(db, &new.iter().map(|new| new.reminder.id).collect::<Vec<_>>())?;
    new.retain(|new| existing.iter().all(|view| view.reminder.id != new.reminder.id));
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
