//! Writing alerts, in the transaction in which what they are about ends.

use jiff::Timestamp;
use punctual_core::alarm::Entry;
use punctual_core::alert::alerts;
use punctual_core::id::OccurrenceId;
use punctual_core::store::{Create, StoreError};
use rusqlite::Connection;

use super::create::{audit, create};
use super::read;

/// Tells the admins of these occurrences, which have just ended; returns what is due because of it.
pub(super) fn raise(db: &Connection, ended: &[OccurrenceId], now: Timestamp) -> Result<Vec<Entry>, StoreError> {
    let mut due = Vec::new();
    for id in ended {
        let Some(view) = read::reminder(db, id.reminder)? else { continue };
        let Some(trail) = read::occurrence(db, *id)? else { continue };
        let mut new = alerts(&view.reminder, &trail.occurrence, &trail.attempts, &read::admins(db)?, now);
        let existing = read::existing(db, &new.iter().map(|new| new.reminder.id).collect::<Vec<_>>())?;
        new.retain(|new| existing.iter().all(|view| view.reminder.id != new.reminder.id));
        if new.is_empty() {
            continue;
        }
        let users: Vec<&str> = new.iter().map(|new| new.reminder.user.as_str()).collect();
        audit(db, now, "engine", "alert", id.reminder, Some(id.run), Some(&format!("told {}", users.join(", "))))?;
        due.extend(new.iter().map(|new| Entry::of(&new.reminder, new.first_due_at)));
        create(db, &Create { reminders: new, actor: "engine".into(), answered: None, now })?;
    }
    Ok(due)
}
