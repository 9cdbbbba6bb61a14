//! Writing alerts, in the transaction in which what they are about ends.
//!
//! It is rare, so each statement waits for the one before.

use jiff::Timestamp;
use punctual_core::alarm;
use punctual_core::alert::{Unreadable, alerts, alerts_of_unreadable};
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::Attempt;
use punctual_core::store::NewReminder;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{Entry, audit, insert_occurrences};
use super::create::insert_reminders;
use super::fault::Fault;
use super::pool::{Connection, Param};
use super::row::{self, int, uuid};
use super::{keep, read};

/// Tells the admins of these occurrences, which have just ended; returns what is due because of it.
pub(super) async fn raise(
    db: &Connection<'_>,
    ended: &[OccurrenceId],
    now: Timestamp,
) -> Result<Vec<alarm::Entry>, Fault> {
    let mut due = Vec::new();
    if ended.is_empty() {
        return Ok(due);
    }
    let admins = keep::admins(db).await?;
    for id in ended {
        let (reminder_id, run) = (uuid(id.reminder), int(id.run));
        let params: [Param<'_>; 2] = [(&reminder_id, Type::UUID), (&run, Type::INT4)];
        let sql = format!(
            "select {}, {} from punctual.reminder r join punctual.occurrence o on o.reminder_id = r.id \
             where r.id = $1 and o.reminder_id = $1 and o.run = $2",
            row::REMINDER,
            row::OCCURRENCE
        );
        let rows = db.rows(&sql, &params).await?;
        let Some(found) = rows.first() else { continue };
        let (reminder, (occurrence, ..)) = (row::reminder(found, 0)?, row::occurrence(found, row::N_REMINDER)?);
        let attempts = attempts(db, &params).await?;
        due.extend(write(db, *id, alerts(&reminder, &occurrence, &attempts, &admins, now), now).await?);
    }
    Ok(due)
}

/// Tells the admins of runs that were set aside; returns what is due because of it.
pub(super) async fn raise_unreadable(
    db: &Connection<'_>,
    runs: &[Unreadable],
    now: Timestamp,
) -> Result<Vec<alarm::Entry>, Fault> {
    let mut due = Vec::new();
    let admins = if runs.is_empty() { Vec::new() } else { keep::admins(db).await? };
    for run in runs {
        due.extend(write(db, run.id, alerts_of_unreadable(run, &admins, now), now).await?);
    }
    Ok(due)
}

async fn attempts(db: &Connection<'_>, params: &[Param<'_>]) -> Result<Vec<Attempt>, Fault> {
    let sql = "select run, number, channel, address, status, started_at, ended_at, error, message_id, key \
        from punctual.attempt where reminder_id = $1 and run = $2 order by number";
    read::each(&db.rows(sql, params).await?, read::attempt)
}

async fn write(
    db: &Connection<'_>,
    about: OccurrenceId,
    mut new: Vec<NewReminder>,
    now: Timestamp,
) -> Result<Vec<alarm::Entry>, Fault> {
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = new.iter().map(|new| uuid(new.reminder.id)).collect();
    let sql = "select r.id from punctual.reminder r where r.id = any($1)";
    let there = read::each(&db.rows(sql, &[(&ids, Type::UUID_ARRAY)]).await?, |found| row::reminder_id(found, 0))?;
    new.retain(|new| !there.contains(&new.reminder.id));
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let reminders: Vec<_> = new.iter().map(|new| &new.reminder).collect();
    let firsts: Vec<_> = new.iter().map(NewReminder::first_run).collect();
    let planned: Vec<_> = firsts.iter().zip(reminders.iter().copied()).collect();
    insert_reminders(db, &reminders).await?;
    insert_occurrences(db, &planned).await?;
    let users: Vec<&str> = reminders.iter().map(|reminder| reminder.user.as_str()).collect();
    let told = Entry {
        actor: "engine",
        action: "alert",
        reminder: uuid(about.reminder),
        run: Some(about.run),
        detail: Some(format!("made for {}", users.join(", "))),
    };
    let created = |id: Uuid| Entry { actor: "engine", action: "create", reminder: id, run: None, detail: None };
    let created = reminders.iter().map(|reminder| created(uuid(reminder.id)));
    let entries: Vec<Entry<'_>> = [told].into_iter().chain(created).collect();
    audit(db, &entries, now).await?;
    Ok(new.iter().map(|new| alarm::Entry::of(&new.reminder, new.first_due_at)).collect())
}
