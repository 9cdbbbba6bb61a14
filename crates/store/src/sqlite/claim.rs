//! Leasing what is due: load, let core decide, write.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::alert::Unreadable;
use punctual_core::decide::claim::{ByReminder, Found, Known, Locked, TooEarly, look};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::reminder::Priority;
use punctual_core::store::{Claim, Claims, StoreError};
use rusqlite::{Connection, Row, params};

use super::read::collect;
use super::row::{self, broken, get, micros};
use super::silence;
use super::values::for_rows;
use super::write::write;
use crate::rows::{self, Fields, Reader};

pub(super) fn claim(db: &Connection, claim: &Claim) -> Result<Claims, StoreError> {
    let mut not_before = Vec::new();
    let mut known = HashMap::new();
    let mut found = due(db, claim, "", &mut known)?;
    let early = found.leave_early(claim);
    if early != TooEarly::None {
        not_before = moments(db, claim)?;
    }
    if early == TooEarly::Hiding {
        let also = format!("AND (o.wake_at <= ?4 OR NOT {})", *rows::LEFT_ALONE);
        found = due(db, claim, &also, &mut known)?;
        found.leave_early(claim);
    }
    for (id, error) in &found.unreadable {
        tracing::error!(occurrence = %id, %error, "an occurrence cannot be read; it is set aside as failed");
    }
    let silences = silence::of_claim(db, claim, &known)?;
    let look = look(found, known, &silences, claim);
    let locked = locked(db, look.to_lock().reminders)?;
    let left = left_of(db, look.unreadable(), claim.now)?;
    let (mut claims, writes) = look.decide(&locked, &silences, left);
    claims.not_before = not_before;
    claims.add_alerts(write(db, &writes)?);
    Ok(claims)
}

/// The moments within `claim` that must be waited for.
fn moments(db: &Connection, claim: &Claim) -> Result<Vec<Timestamp>, StoreError> {
    let sql = format!(
        "SELECT DISTINCT o.wake_at FROM occurrence o WHERE o.priority IN (0, 1, 2, 3) AND o.wake_at IS NOT NULL \
         AND o.wake_at > ?1 AND o.wake_at <= ?2 AND {}",
        *rows::LEFT_ALONE
    );
    collect(db, &sql, params![micros(claim.now), micros(claim.until)], |found| row::instant(get(found, 0)?))
}

/// Finds what is due, most urgent first, and reads the reminders of it into `known`.
fn due(db: &Connection, claim: &Claim, also: &str, known: &mut ByReminder<Known>) -> Result<Found, StoreError> {
    // One stretch of the index for each priority, most urgent first; the join then reads only what was chosen.
    let stretch = |rank: u8| {
        format!(
            "SELECT * FROM (SELECT o.reminder_id, o.run FROM occurrence o WHERE o.priority = {rank} AND o.wake_at IS NOT NULL \
             AND o.wake_at >= ?1 AND o.wake_at <= ?2 {also} ORDER BY o.wake_at LIMIT ?3)"
        )
    };
    let chosen = match &claim.only {
        None => format!("SELECT * FROM ({}) LIMIT ?3", [3, 2, 1, 0].map(stretch).join(" UNION ALL ")),
        Some(_) => "SELECT o.reminder_id, o.run FROM json_each(?4) j CROSS JOIN occurrence o \
            ON o.reminder_id = unhex(j.value) WHERE o.wake_at >= ?1 AND o.wake_at <= ?2 \
            ORDER BY o.priority DESC, o.wake_at LIMIT ?3"
            .to_owned(),
    };
    let sql = format!(
        "SELECT {}, {} FROM ({chosen}) AS due \
         CROSS JOIN occurrence o ON o.reminder_id = due.reminder_id AND o.run = due.run \
         LEFT JOIN reminder r ON r.id = due.reminder_id LEFT JOIN user u ON u.id = r.user_id",
        rows::OCCURRENCE,
        known_columns(),
    );
    let mut statement = db.prepare_cached(&sql).map_err(broken)?;
    let (from, until, now) = (micros(claim.from), micros(claim.until), micros(claim.now));
    let mut rows = if let Some(only) = &claim.only {
        let hex: Vec<String> = only.iter().map(|id| format!("\"{}\"", id.to_string().replace('-', ""))).collect();
        statement.query(params![from, until, claim.limit, format!("[{}]", hex.join(","))])
    } else if also.is_empty() {
        statement.query(params![from, until, claim.limit])
    } else {
        statement.query(params![from, until, claim.limit, now])
    }
    .map_err(broken)?;
    let mut found = Found::default();
    while let Some(next) = rows.next().map_err(broken)? {
        match rows::due(&mut Reader::new(next, 0)) {
            Ok(due) => {
                let id = due.occurrence.id.reminder;
                found.due.push(due);
                // Without a reminder there is no user either.
                let has_reminder = next.text(rows::N_OCCURRENCE + rows::USER_ID).is_ok_and(|user| user.is_some());
                if has_reminder && !known.contains_key(&id) {
                    known.insert(id, read_known(next, rows::N_OCCURRENCE).map_err(|error| error.to_string()));
                }
            }
            Err(error) => found.unreadable.push((Reader::new(next, 0).occurrence_id()?, error.to_string())),
        }
    }
    Ok(found)
}

/// The columns that [`read_known`] reads, of `reminder r` and `user u`.
fn known_columns() -> String {
    let is_unplanned = rows::is_unplanned("", "json_extract(r.event, '$.key')");
    format!("{}, {}, u.addresses, {}, {is_unplanned}", rows::REMINDER, rows::PROGRESS, rows::PERSON)
}

fn read_known(row: &Row<'_>, first: usize) -> Result<Known, StoreError> {
    let mut from = Reader::new(row, first);
    let reminder = rows::reminder(&mut from)?;
    let progress = rows::progress(&mut from)?;
    let addresses = from.addresses().map_err(|error| error.to_string());
    let of_person = first + rows::N_REMINDER + rows::N_PROGRESS + 1;
    let person = rows::person_of(&reminder.user, row, of_person);
    let is_unplanned = Reader::new(row, of_person + rows::N_PERSON).flag()?;
    Ok(Known { reminder: Arc::new(reminder), progress, addresses, person: Arc::new(person), is_unplanned })
}

/// The same of some reminders. Nobody else can change them: this is the only writer.
fn locked(db: &Connection, reminders: HashSet<ReminderId>) -> Result<ByReminder<Locked>, StoreError> {
    let mut locked = HashMap::with_capacity(reminders.len());
    let sql = format!("SELECT {} FROM reminder r LEFT JOIN user u ON u.id = r.user_id WHERE r.id = ?", known_columns());
    for id in reminders {
        let found = collect(db, &sql, [id.as_bytes()], |found| {
            let known = read_known(found, 0)?;
            Ok(Locked { n_open: known.progress.n_open(), known, has_person: true })
        });
        match found {
            Ok(mut found) => locked.extend(found.pop().map(|found| (id, Ok(found)))),
            Err(StoreError::Broken(error)) => {
                locked.insert(id, Err(error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(locked)
}

/// What can be read of runs that cannot be read as a whole.
fn left_of(
    db: &Connection,
    unreadable: &[(OccurrenceId, String)],
    now: Timestamp,
) -> Result<Vec<Unreadable>, StoreError> {
    let sql = "SELECT o.priority, o.due_at, r.user_id, r.message, r.created_via FROM occurrence o \
         LEFT JOIN reminder r ON r.id = o.reminder_id WHERE o.reminder_id = ? AND o.run = ?";
    let mut left = Vec::new();
    for (id, error) in unreadable {
        left.extend(collect(db, sql, params![id.reminder.as_bytes(), id.run], |found| {
            let text = |index| get::<Option<String>>(found, index).ok().flatten().unwrap_or_default();
            Ok(Unreadable {
                id: *id,
                user: text(2),
                message: text(3),
                priority: Priority::from_rank(get(found, 0).unwrap_or(u8::MAX)),
                created_via: text(4),
                due_at: get(found, 1).and_then(row::instant).unwrap_or(now),
                error: error.clone(),
            })
        })?);
    }
    Ok(left)
}

pub(super) fn renew(
    db: &Connection,
    leases: &[(OccurrenceId, u64)],
    until: Timestamp,
) -> Result<Vec<(OccurrenceId, u64)>, StoreError> {
    let mut kept = HashSet::with_capacity(leases.len());
    for_rows(
        db,
        "WITH v (reminder_id, run, lease, until) AS (VALUES {values}) UPDATE occurrence SET wake_at = v.until FROM v \
         WHERE occurrence.reminder_id = v.reminder_id AND occurrence.run = v.run AND occurrence.lease = v.lease \
         AND occurrence.state = 'processing' RETURNING occurrence.reminder_id, occurrence.run, occurrence.lease",
        4,
        leases,
        |(id, lease), values| {
            values.push(id.reminder.as_bytes());
            values.push(id.run);
            values.push(*lease);
            values.push(micros(until));
        },
        |found| {
            let id = Reader::new(found, 0).occurrence_id()?;
            kept.insert((id, get::<u64>(found, 2)?));
            Ok(())
        },
    )?;
    Ok(leases.iter().filter(|lease| !kept.contains(lease)).copied().collect())
}

/// Writes the platform's own id beside the attempt that is under way.
pub(super) fn write_message_id(
    db: &Connection,
    id: OccurrenceId,
    lease: u64,
    attempt: u32,
    message_id: &str,
) -> Result<bool, StoreError> {
    let n_written = db
        .prepare_cached(
            "UPDATE occurrence SET message_id = ? WHERE reminder_id = ? AND run = ? AND lease = ? AND attempts = ? \
             AND state = 'processing'",
        )
        .map_err(broken)?
        .execute(params![message_id, id.reminder.as_bytes(), id.run, lease, attempt])
        .map_err(broken)?;
    Ok(n_written > 0)
}

/// Makes every leased occurrence due for a look now: the process that leased it is gone, because the lock file is ours.
pub(super) fn rescue(db: &Connection, now: Timestamp) -> Result<usize, StoreError> {
    db.prepare_cached("UPDATE occurrence SET wake_at = ? WHERE node IS NOT NULL")
        .map_err(broken)?
        .execute([micros(now)])
        .map_err(broken)
}
