//! Writing alerts, in the transaction that writes what they are about.
//!
//! It is rare, so each statement waits for the one before; but a receiver that breaks may have many critical reminders at once, so
//! each statement is for all of them.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_core::alarm;
use punctual_core::alert::{Alert, News, Unreadable, alerts, alerts_of_unreadable, looked_for, to_write};
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::{Attempt, Occurrence};
use punctual_core::reminder::Reminder;
use punctual_core::store::NewReminder;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{Entry, Ids, audit, insert_occurrences};
use super::create::insert_reminders;
use super::fault::Fault;
use super::pool::{Connection, Param};
use super::row::{self, uuid};
use super::{keep, read};

/// Tells the admins what is new of these occurrences; returns what is due because of it.
pub(super) async fn raise(
    db: &Connection<'_>,
    told: &[(OccurrenceId, News)],
    now: Timestamp,
) -> Result<Vec<alarm::Entry>, Fault> {
    if told.is_empty() {
        return Ok(Vec::new());
    }
    let admins = keep::admins(db).await?;
    let ids: Ids = told.iter().map(|(id, _)| *id).collect();
    let params: [Param<'_>; 2] = [(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY)];
    let sql = format!(
        "select {}, {} from unnest($1, $2) as v (reminder_id, run) \
         join punctual.reminder r on r.id = v.reminder_id \
         join punctual.occurrence o on o.reminder_id = v.reminder_id and o.run = v.run",
        row::REMINDER,
        row::OCCURRENCE
    );
    let mut runs: HashMap<OccurrenceId, (Reminder, Occurrence)> = HashMap::with_capacity(told.len());
    for found in &db.rows(&sql, &params).await? {
        let (occurrence, ..) = row::occurrence(found, row::N_REMINDER)?;
        runs.insert(occurrence.id, (row::reminder(found, 0)?, occurrence));
    }
    let attempts = attempts(db, &params).await?;
    let mut made = Vec::new();
    for (id, news) in told {
        let Some((reminder, occurrence)) = runs.get(id) else { continue };
        let tried = attempts.get(id).map(Vec::as_slice).unwrap_or_default();
        made.push((*id, alerts(*news, reminder, occurrence, tried, &admins, now)));
    }
    write(db, made, now).await
}

/// Tells the admins of runs that were set aside; returns what is due because of it.
pub(super) async fn raise_unreadable(
    db: &Connection<'_>,
    runs: &[Unreadable],
    now: Timestamp,
) -> Result<Vec<alarm::Entry>, Fault> {
    let admins = if runs.is_empty() { Vec::new() } else { keep::admins(db).await? };
    write(db, runs.iter().map(|run| (run.id, alerts_of_unreadable(run, &admins, now))).collect(), now).await
}

/// The attempts of these occurrences, each's in order.
async fn attempts(db: &Connection<'_>, params: &[Param<'_>]) -> Result<HashMap<OccurrenceId, Vec<Attempt>>, Fault> {
    let sql = "select a.run, a.number, a.channel, a.address, a.status, a.started_at, a.ended_at, a.error, a.message_id, \
        a.key, a.attempt_key, a.reminder_id from unnest($1, $2) as v (reminder_id, run) \
        join punctual.attempt a on a.reminder_id = v.reminder_id and a.run = v.run order by a.reminder_id, a.run, a.number";
    let mut found: HashMap<OccurrenceId, Vec<Attempt>> = HashMap::new();
    for row in &db.rows(sql, params).await? {
        let id = OccurrenceId { reminder: row::reminder_id(row, 11)?, run: row::count(row, 0)? };
        found.entry(id).or_default().push(read::attempt(row)?);
    }
    Ok(found)
}

async fn write(
    db: &Connection<'_>,
    made: Vec<(OccurrenceId, Vec<Alert>)>,
    now: Timestamp,
) -> Result<Vec<alarm::Entry>, Fault> {
    let ids: Vec<Uuid> = made.iter().flat_map(|(_, made)| looked_for(made)).map(uuid).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "select r.id from punctual.reminder r where r.id = any($1)";
    let there = read::each(&db.rows(sql, &[(&ids, Type::UUID_ARRAY)]).await?, |found| row::reminder_id(found, 0))?;
    let made: Vec<(OccurrenceId, Vec<NewReminder>)> =
        made.into_iter().map(|(about, made)| (about, to_write(made, &there))).collect();
    let new: Vec<&NewReminder> = made.iter().flat_map(|(_, new)| new).collect();
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let reminders: Vec<_> = new.iter().map(|new| &new.reminder).collect();
    let firsts: Vec<_> = new.iter().map(|new| new.first_run()).collect();
    let planned: Vec<_> = firsts.iter().zip(reminders.iter().copied()).collect();
    insert_reminders(db, &reminders).await?;
    insert_occurrences(db, &planned).await?;
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for (about, new) in made.iter().filter(|(_, new)| !new.is_empty()) {
        let users: Vec<&str> = new.iter().map(|new| new.reminder.user.as_str()).collect();
        let detail = Some(format!("made for {}", users.join(", ")));
        let (reminder, run) = (uuid(about.reminder), Some(about.run));
        entries.push(Entry { actor: "engine", action: "alert", reminder, run, detail });
        let created = |id: Uuid| Entry { actor: "engine", action: "create", reminder: id, run: None, detail: None };
        entries.extend(new.iter().map(|new| created(uuid(new.reminder.id))));
    }
    audit(db, &entries, now).await?;
    Ok(new.iter().map(|new| alarm::Entry::of(&new.reminder, new.first_due_at)).collect())
}
