//! Applying a command: load, let core decide, write.

use punctual_core::change::{Besides, Cancelled, Change, Loaded, changed};
use punctual_core::decide::family::{Family, Kin, family_of};
use punctual_core::id::ReminderId;
use punctual_core::journal::Ended;
use punctual_core::occurrence::Occurrence;
use punctual_core::reminder::Reminder;
use punctual_core::store::{By, ChangeError, Changed, StoreError};
use rusqlite::{Connection, Params, params};

use super::answered;
use super::read::{self, collect};
use super::row;
use super::write::write;
use crate::rows::{self, Fields, Reader};

/// The outer error is the database's; the inner one is core's refusal, or that there is nothing to change.
pub(super) fn change(
    db: &Connection,
    id: ReminderId,
    change: &Change,
    by: &By,
) -> Result<Result<Changed, ChangeError>, StoreError> {
    let Some(mut loaded) = load(db, id, change.run())? else {
        return Ok(Err(ChangeError::NotFound));
    };
    if by.user.as_ref().is_some_and(|user| *user != loaded.reminder.user) {
        return Ok(Err(ChangeError::NotFound));
    }
    if let Some(family) = family_of(&loaded, change) {
        loaded.family = kin(db, id, &family)?;
    }
    loaded.besides = besides(db, &loaded, change)?;
    let (occurrence, writes) = match changed(loaded, change, by) {
        Ok(changed) => changed,
        Err(refused) => return Ok(Err(refused.into())),
    };
    write(db, &writes)?;
    let view = read::reminder(db, id)?.ok_or_else(|| row::impossible("a reminder vanished while it was changed"))?;
    if let Some(repeat) = &by.repeat {
        answered::insert(db, &repeat.key, &repeat.answered(&view), by.now)?;
    }
    Ok(Ok(Changed::of(view, occurrence, writes)))
}

/// The reminder with its open runs, and the last that has ended: of all, or `run` if the command names one.
pub(super) fn load(db: &Connection, id: ReminderId, run: Option<u32>) -> Result<Option<Loaded>, StoreError> {
    let sql = format!(
        "SELECT {}, {}, EXISTS (SELECT 1 FROM reminder k WHERE k.escalates_id = ?1) FROM reminder r WHERE r.id = ?1",
        rows::REMINDER,
        rows::PROGRESS
    );
    let found = collect(db, &sql, [id.as_bytes()], |found| {
        let mut from = Reader::new(found, 0);
        Ok((rows::reminder(&mut from)?, rows::progress(&mut from)?, from.flag()?))
    })?;
    let Some((reminder, progress, has_kin)) = found.into_iter().next() else { return Ok(None) };
    let open = occurrences(db, &format!("{} ORDER BY o.run", rows::OPEN), params![id.as_bytes()])?;
    let ended = |meant: &str| format!("{}{meant} ORDER BY o.run DESC LIMIT 1", rows::ENDED);
    let last_ended = match run {
        Some(run) => occurrences(db, &ended(" AND o.run = ?"), params![id.as_bytes(), run])?,
        None => occurrences(db, &ended(""), params![id.as_bytes()])?,
    };
    let last_ended = last_ended.into_iter().next();
    Ok(Some(Loaded { reminder, progress, open, last_ended, has_kin, family: Vec::new(), besides: Besides::Nothing }))
}

/// What `change` needs to know beside that.
fn besides(db: &Connection, loaded: &Loaded, change: &Change) -> Result<Besides, StoreError> {
    Ok(match change.plain() {
        Change::Undo => Besides::Cancelled(cancelled(db, &loaded.reminder)?),
        Change::Resend(_) => {
            let attempts = loaded.last_ended.as_ref().map(|run| read::attempts(db, run.id)).transpose()?;
            Besides::Attempts(attempts.unwrap_or_default())
        }
        _ => Besides::Nothing,
    })
}

/// The last cancel of a reminder, with the runs that it ended.
fn cancelled(db: &Connection, reminder: &Reminder) -> Result<Option<Cancelled>, StoreError> {
    let id = reminder.id;
    let sql = "SELECT at, data FROM journal WHERE reminder_id = ? AND kind = 'reminder.cancelled' ORDER BY number DESC LIMIT 1";
    let entry = collect(db, sql, [id.as_bytes()], |found| {
        let mut from = Reader::new(found, 0);
        Ok((from.at()?, Ended::read(from.maybe_text()?)))
    })?;
    let Some((at, Some(ended))) = entry.into_iter().next() else { return Ok(None) };
    let runs = ended.runs.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let runs = occurrences(db, &format!("o.run IN ({runs}) ORDER BY o.run"), params![id.as_bytes()])?;
    let is_unlinked = match &reminder.event {
        None => false,
        Some(event) => {
            let sql = "SELECT 1 FROM event_reminder WHERE event_key = ? AND reminder_id = ?";
            collect(db, sql, params![event.key, id.as_bytes()], |_| Ok(()))?.is_empty()
        }
    };
    Ok(Some(Cancelled { at, ended, runs, is_unlinked }))
}

/// The family of a command about reminder `named`, without that one.
pub(super) fn kin(db: &Connection, named: ReminderId, family: &Family) -> Result<Vec<Kin>, StoreError> {
    let runs = family.runs.as_ref().map(|runs| runs.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
    // Those that `Family::has`.
    let which = runs.map_or(rows::MAY_BE_ASKED.to_owned(), |runs| format!("r.escalates_run IN ({runs})"));
    let sql = format!("SELECT id FROM reminder r WHERE r.id = ?1 OR r.escalates_id = ?1 AND {which} ORDER BY id");
    let ids = collect(db, &sql, [family.root.as_bytes()], |found| Fields::id(found, 0))?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids.into_iter().filter(|id| *id != named) {
        let Some(loaded) = load(db, id, Some(family.run_of(id)))? else { continue };
        let Loaded { reminder, progress, open, last_ended, .. } = loaded;
        let person = format!("SELECT {} FROM user u WHERE u.id = ?", rows::PERSON);
        let person = collect(db, &person, [&reminder.user], |found| Ok(rows::person_of(&reminder.user, found, 0)))?;
        let person = person.into_iter().next().unwrap_or_default();
        found.push(Kin { reminder, progress, open, last_ended, person });
    }
    Ok(found)
}

fn occurrences(db: &Connection, which: &str, params: impl Params) -> Result<Vec<Occurrence>, StoreError> {
    let sql = format!("SELECT {} FROM occurrence o WHERE o.reminder_id = ? AND {which}", rows::OCCURRENCE);
    collect(db, &sql, params, |found| rows::occurrence(&mut Reader::new(found, 0)))
}
