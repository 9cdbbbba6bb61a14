//! Leasing what is due: one SELECT, one UPDATE and one INSERT for many rows, in one transaction.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::alarm::Entry;
use punctual_core::alert::{News, Unreadable, is_alarming};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{Occurrence, State, StateKind};
use punctual_core::reach::route;
use punctual_core::reminder::{Address, Priority, Reminder, ReminderStatus};
use punctual_core::store::{Claim, Claimed, Claims, Noted, StoreError};
use punctual_core::user::Person;
use punctual_core::wake::{Moment, Series, Wake, after_settle, on_wake, unreachable};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::alert::{raise, raise_unreadable};
use super::change::{cut_off, update_occurrence};
use super::create::{audit, insert_occurrence};
use super::read;
use super::row::{self, broken, get, micros};
use super::values::for_rows;

/// An occurrence whose moment has come, with all that decides what happens to it.
struct Due {
    occurrence: Occurrence,
    lease: u64,
    wake_at: Timestamp,
    reminder: Reminder,
    series: Series,
    users: Result<Vec<Address>, StoreError>,
    person: Arc<Person>,
}

pub(super) fn claim(db: &Connection, claim: &Claim) -> Result<Claims, StoreError> {
    let mut claims = Claims::default();
    let mut found = due(db, claim, "", &mut claims)?;
    if claim.only.is_some() {
        // Whoever asks for certain reminders waits for no other moments.
        found.retain(|due| !due.is_too_early(claim.now));
    }
    if found.iter().any(|due| due.is_too_early(claim.now)) {
        claims.not_before = not_before(db, claim)?;
        if found.len() == claim.limit {
            // What must be left alone would hide what is to be taken.
            found = due(db, claim, "AND (wake_at <= ?4 OR state NOT IN ('processing', 'awaiting_ack'))", &mut claims)?;
        }
        found.retain(|due| !due.is_too_early(claim.now));
    }
    let mut alarming = Vec::new();
    for due in found {
        claims.n_taken += 1;
        let noted = match due.occurrence.state {
            State::Processing { .. } => noted(db, &due.occurrence)?,
            _ => None,
        };
        let route = route(&due.reminder, due.users.as_deref().unwrap_or_default(), &claim.fallback);
        let moment = Moment {
            reminder: &due.reminder,
            series: &due.series,
            occurrence: &due.occurrence,
            person: &due.person,
            route: &route,
            holding: &claim.holding,
            noted: noted.as_ref(),
            now: claim.now,
        };
        let wake = match &due.users {
            Err(error) if due.reminder.to.is_empty() => unreachable(error.to_string(), claim.now),
            _ => on_wake(&moment),
        };
        let followed = matches!(wake, Wake::Follow { .. });
        match wake {
            Wake::Send { position } | Wake::Follow { position } => {
                let due_at = due.occurrence.due_at;
                if matches!(due.occurrence.state, State::Processing { .. }) && !followed {
                    cut_off(db, due.occurrence.id, claim.now)?;
                }
                claims.to_send.push(Claimed {
                    before: due.occurrence,
                    lease: due.lease + 1,
                    lease_until: claim.lease_until,
                    // What a dead process had claimed ahead of time is looked at now, and still not sent before it is due.
                    wake_at: due.wake_at.max(due_at),
                    reminder: Arc::new(due.reminder),
                    person: due.person,
                    holds_unknown: claim.holds_at(&route, position),
                    route,
                    position,
                    noted: noted.filter(|_| followed).map(|noted| noted.message_id),
                });
            }
            wake @ Wake::Wait { .. } => {
                let planned = wait(db, due, wake, claim.now)?;
                claims.ended.push(StateKind::Waiting);
                claims.wakes.extend(planned.iter().map(|entry| entry.at));
                // A timer elsewhere holds one moment of a reminder: the first.
                claims.next_runs.extend(planned.into_iter().min_by_key(|entry| entry.at));
            }
            Wake::End { state, also_missed, n_more_missed, next } => {
                claims.ended.extend(std::iter::repeat_n(state.kind(), 1 + also_missed.len()));
                if is_alarming(&due.reminder, state.kind()) {
                    alarming.push((due.occurrence.id, News::Ended));
                }
                let planned = end(db, due, state, &also_missed, n_more_missed, next, claim.now)?;
                claims.wakes.extend(planned.as_ref().map(|entry| entry.at));
                claims.next_runs.extend(planned);
            }
        }
    }
    let alerts = raise(db, &alarming, claim.now)?;
    claims.wakes.extend(alerts.iter().map(|entry| entry.at));
    claims.next_runs.extend(alerts);
    lease(db, claim, &claims.to_send)?;
    Ok(claims)
}

impl Due {
    /// Only what is to be sent at an instant is taken ahead of it.
    fn is_too_early(&self, now: Timestamp) -> bool {
        self.wake_at > now && matches!(self.occurrence.state, State::Processing { .. } | State::AwaitingAck { .. })
    }
}

/// The moments within `claim` that must be waited for.
fn not_before(db: &Connection, claim: &Claim) -> Result<Vec<Timestamp>, StoreError> {
    let sql = "SELECT DISTINCT wake_at FROM occurrence WHERE priority IN (0, 1, 2, 3) AND wake_at IS NOT NULL \
        AND wake_at > ?1 AND wake_at <= ?2 AND state IN ('processing', 'awaiting_ack')";
    let mut statement = db.prepare_cached(sql).map_err(broken)?;
    let mut rows = statement.query(params![micros(claim.now), micros(claim.until)]).map_err(broken)?;
    let mut found = Vec::new();
    while let Some(next) = rows.next().map_err(broken)? {
        found.push(row::instant(get(next, 0)?)?);
    }
    Ok(found)
}

fn due(db: &Connection, claim: &Claim, also: &str, claims: &mut Claims) -> Result<Vec<Due>, StoreError> {
    // One stretch of the index for each priority, most urgent first; the join then reads only what was chosen.
    let stretch = |rank: u8| {
        format!(
            "SELECT * FROM (SELECT reminder_id, run FROM occurrence WHERE priority = {rank} AND wake_at IS NOT NULL \
             AND wake_at >= ?1 AND wake_at <= ?2 {also} ORDER BY wake_at LIMIT ?3)"
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
        "SELECT {}, {}, r.last_run, r.carried_by, r.planned, u.addresses, {} \
         FROM ({chosen}) AS due \
         CROSS JOIN occurrence o ON o.reminder_id = due.reminder_id AND o.run = due.run \
         CROSS JOIN reminder r ON r.id = due.reminder_id \
         LEFT JOIN user u ON u.id = r.user",
        row::OCCURRENCE,
        row::REMINDER,
        row::PERSON
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
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    while let Some(next) = rows.next().map_err(broken)? {
        match read_due(next) {
            Ok(due) => found.push(due),
            Err(error) => unreadable.push((row::reminder_id(next, 0)?, get(next, 1)?, error)),
        }
    }
    for (reminder, run, error) in unreadable {
        set_aside(db, OccurrenceId { reminder, run }, &error, claim.now, claims)?;
    }
    Ok(found)
}

fn read_due(row: &Row<'_>) -> Result<Due, StoreError> {
    let (occurrence, lease, wake_at) = row::occurrence(row, 0)?;
    let after = row::N_OCCURRENCE + row::N_REMINDER;
    let reminder = row::reminder(row, row::N_OCCURRENCE)?;
    Ok(Due {
        wake_at: wake_at.unwrap_or(occurrence.due_at),
        occurrence,
        lease,
        series: row::series(row, after)?,
        users: get::<Option<String>>(row, after + 3).and_then(|json| row::addresses(json.as_deref())),
        person: Arc::new(row::person_of(&reminder.user, row, after + 4)),
        reminder,
    })
}

/// Fails an occurrence that cannot be read, visibly, so that it does not stop all the others. Its series goes on if that can be
/// read, and the admins are told if it was critical.
fn set_aside(
    db: &Connection,
    id: OccurrenceId,
    error: &StoreError,
    now: Timestamp,
    claims: &mut Claims,
) -> Result<(), StoreError> {
    tracing::error!(occurrence = %id, %error, "an occurrence cannot be read; it is set aside as failed");
    let OccurrenceId { reminder, run } = id;
    db.prepare_cached(
        "UPDATE occurrence SET state = 'failed', wake_at = NULL, node = NULL, at = ?, error = ? \
         WHERE reminder_id = ? AND run = ?",
    )
    .map_err(broken)?
    .execute(params![micros(now), error.to_string(), reminder.as_bytes(), run])
    .map_err(broken)?;
    audit(db, now, "engine", "failed", reminder, Some(run), Some(&error.to_string()))?;
    cut_off(db, id, now)?;
    claims.n_taken += 1;
    claims.ended.push(StateKind::Failed);
    let mut planned: Vec<Entry> = go_on_without(db, id, now)?.into_iter().collect();
    if let Some(unreadable) = what_is_left(db, id, error, now)? {
        planned.extend(raise_unreadable(db, &unreadable, now)?);
    }
    claims.wakes.extend(planned.iter().map(|entry| entry.at));
    claims.next_runs.extend(planned);
    Ok(())
}

/// Plans the run after one that was set aside, if that one carried the series and its rule can be read.
fn go_on_without(db: &Connection, id: OccurrenceId, now: Timestamp) -> Result<Option<Entry>, StoreError> {
    let Ok(Some(view)) = read::reminder(db, id.reminder) else { return Ok(None) };
    let Ok(mut series) = series(db, id.reminder) else { return Ok(None) };
    let reminder = view.reminder;
    let state = State::Failed { at: now, error: String::new() };
    let Some(next) = after_settle(&reminder, &series, id.run, now, &state, now) else { return Ok(None) };
    let planned = plan(db, &reminder, &mut series, next)?;
    move_on(db, id.reminder, &series)?;
    Ok(planned)
}

/// What can be read of a run that cannot be read as a whole.
fn what_is_left(
    db: &Connection,
    id: OccurrenceId,
    error: &StoreError,
    now: Timestamp,
) -> Result<Option<Unreadable>, StoreError> {
    let mut statement = db
        .prepare_cached(
            "SELECT o.priority, o.due_at, r.user, r.message, r.created_via FROM occurrence o \
             LEFT JOIN reminder r ON r.id = o.reminder_id WHERE o.reminder_id = ? AND o.run = ?",
        )
        .map_err(broken)?;
    let mut rows = statement.query(params![id.reminder.as_bytes(), id.run]).map_err(broken)?;
    let Some(found) = rows.next().map_err(broken)? else { return Ok(None) };
    let text = |index| get::<Option<String>>(found, index).ok().flatten().unwrap_or_default();
    Ok(Some(Unreadable {
        id,
        user: text(2),
        message: text(3),
        priority: Priority::from_rank(get(found, 0).unwrap_or(u8::MAX)),
        created_via: text(4),
        due_at: get(found, 1).and_then(row::instant).unwrap_or(now),
        error: error.to_string(),
    }))
}

/// Writes where a series stands.
fn move_on(db: &Connection, id: ReminderId, series: &Series) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE reminder SET last_run = ?2, carried_by = ?3, planned = ?4 WHERE id = ?1")
        .map_err(broken)?
        .execute(params![id.as_bytes(), series.last_run, series.carried_by, series.planned])
        .map_err(broken)?;
    Ok(())
}

/// What is known of the last attempt of an occurrence, if it was cut off when the platform had it.
fn noted(db: &Connection, occurrence: &Occurrence) -> Result<Option<Noted>, StoreError> {
    let mut statement = db
        .prepare_cached(
            "SELECT message_id, channel, address FROM attempt WHERE reminder_id = ? AND run = ? AND number = ? \
             AND status = 'sending' AND message_id IS NOT NULL",
        )
        .map_err(broken)?;
    let key = params![occurrence.id.reminder.as_bytes(), occurrence.id.run, occurrence.tries.attempts];
    let noted = |found: &Row<'_>| {
        let to = Address { channel: found.get(1)?, address: found.get(2)? };
        Ok(Noted { message_id: found.get(0)?, to })
    };
    statement.query_row(key, noted).optional().map_err(broken)
}

/// Writes the leases and the attempts that are about to begin.
fn lease(db: &Connection, claim: &Claim, taken: &[Claimed]) -> Result<(), StoreError> {
    let lease_until = micros(claim.lease_until);
    for_rows(
        db,
        "WITH v (reminder_id, run, lease, position, lease_until, attempts) AS (VALUES {values}) UPDATE occurrence SET \
         state = 'processing', wake_at = v.lease_until, node = 'local', at = NULL, error = NULL, attempts = v.attempts, \
         lease = v.lease, position = v.position FROM v WHERE occurrence.reminder_id = v.reminder_id AND occurrence.run = v.run",
        6,
        taken,
        |claimed, values| {
            values.push(claimed.before.id.reminder.as_bytes());
            values.push(claimed.before.id.run);
            values.push(claimed.lease);
            values.push(claimed.position);
            values.push(lease_until);
            values.push(claimed.attempt());
        },
        |_| Ok(()),
    )?;
    let started_at = micros(claim.now);
    // What is followed goes on with the attempt that it has.
    let begun: Vec<&Claimed> = taken.iter().filter(|claimed| claimed.noted.is_none()).collect();
    for_rows(
        db,
        // REPLACE, because one row that is there and should not be must not stop every claim from now on.
        "INSERT OR REPLACE INTO attempt (reminder_id, run, number, channel, address, status, started_at, attempt_key) \
         VALUES {values}",
        8,
        &begun,
        |claimed, values| {
            values.push(claimed.before.id.reminder.as_bytes());
            values.push(claimed.before.id.run);
            values.push(claimed.attempt());
            values.push(&claimed.to().channel);
            values.push(&claimed.to().address);
            values.push("sending");
            values.push(started_at);
            values.push(claimed.attempt_key());
        },
        |_| Ok(()),
    )
}

/// Puts an occurrence off, and plans the next run if its series goes on meanwhile; returns the moments to come.
fn wait(db: &Connection, due: Due, wake: Wake, now: Timestamp) -> Result<Vec<Entry>, StoreError> {
    let Wake::Wait { state, due_at, why, moves_on, detail } = wake else { return Ok(Vec::new()) };
    let Due { mut occurrence, reminder, .. } = due;
    cut_off(db, occurrence.id, now)?;
    let was_due_at = std::mem::replace(&mut occurrence.due_at, due_at);
    occurrence.state = state;
    update_occurrence(db, &occurrence)?;
    if was_due_at > now {
        // Put off ahead of its moment. Whoever may be disturbed again at once is still not told before it.
        db.prepare_cached("UPDATE occurrence SET at = ? WHERE reminder_id = ? AND run = ? AND state = 'snoozed'")
            .map_err(broken)?
            .execute(params![micros(was_due_at), occurrence.id.reminder.as_bytes(), occurrence.id.run])
            .map_err(broken)?;
    }
    let mut to_come: Vec<Entry> =
        occurrence.state.wake_at(due_at).map(|at| Entry::of(&reminder, at)).into_iter().collect();
    // Another run of the same reminder may have moved the series on in this very claim.
    let mut series = series(db, reminder.id)?;
    let run = occurrence.id.run;
    if moves_on && let Some(next) = after_settle(&reminder, &series, run, was_due_at, &occurrence.state, now) {
        to_come.extend(plan(db, &reminder, &mut series, next)?);
        move_on(db, reminder.id, &series)?;
    }
    audit(db, now, "engine", why.as_str(), reminder.id, Some(run), Some(&detail))?;
    Ok(to_come)
}

/// Plans the run with which a series goes on, or ends it.
fn plan(
    db: &Connection,
    reminder: &Reminder,
    series: &mut Series,
    next: Option<Timestamp>,
) -> Result<Option<Entry>, StoreError> {
    series.carried_by = None;
    let Some(due_at) = next else { return Ok(None) };
    series.last_run += 1;
    series.planned += 1;
    series.carried_by = Some(series.last_run);
    let mut occurrence = Occurrence::scheduled(OccurrenceId { reminder: reminder.id, run: series.last_run }, due_at);
    if reminder.status == ReminderStatus::Paused {
        occurrence.state = State::Paused;
    }
    insert_occurrence(db, &occurrence, reminder.priority.rank())?;
    Ok(occurrence.state.wake_at(due_at).map(|at| Entry::of(reminder, at)))
}

/// Ends an occurrence without a send, writes down what else was missed, and plans what comes next.
fn end(
    db: &Connection,
    due: Due,
    state: State,
    also_missed: &[Timestamp],
    n_more_missed: usize,
    next: Option<Timestamp>,
    now: Timestamp,
) -> Result<Option<Entry>, StoreError> {
    let Due { mut occurrence, reminder, .. } = due;
    // Another run of the same reminder may have ended in this very claim and moved the series on.
    let mut series = series(db, reminder.id)?;
    let missed = matches!(state, State::Missed { .. });
    cut_off(db, occurrence.id, now)?;
    occurrence.state = state;
    update_occurrence(db, &occurrence)?;
    if !occurrence.state.is_final() {
        return Ok(None);
    }
    let rank = reminder.priority.rank();
    let carries = series.carried_by == Some(occurrence.id.run);
    let mut next_run = None;
    if missed && carries {
        for missed_at in also_missed {
            series.last_run += 1;
            series.planned += 1;
            let id = OccurrenceId { reminder: reminder.id, run: series.last_run };
            let also = Occurrence { state: State::Missed { at: now }, ..Occurrence::scheduled(id, *missed_at) };
            insert_occurrence(db, &also, rank)?;
        }
        series.planned = series.planned.saturating_add(u32::try_from(n_more_missed).unwrap_or(u32::MAX));
        let within_count = reminder.schedule.count.is_none_or(|count| series.planned < count);
        next_run = next.filter(|_| within_count);
    } else if carries {
        // An interval that is counted from the answer goes on when no answer came, too.
        next_run =
            after_settle(&reminder, &series, occurrence.id.run, occurrence.due_at, &occurrence.state, now).flatten();
    }
    let planned = if carries { plan(db, &reminder, &mut series, next_run)? } else { None };
    db.prepare_cached(
        "UPDATE reminder SET last_run = ?2, carried_by = ?3, planned = ?4, last_status = ?5, \
         consecutive_errors = consecutive_errors + (?5 = 'failed'), \
         total_runs = total_runs + (?5 = 'failed'), \
         status = CASE WHEN status = 'active' AND ?3 IS NULL AND NOT EXISTS (SELECT 1 FROM occurrence o \
           WHERE o.reminder_id = ?1 AND (o.wake_at IS NOT NULL OR o.state = 'paused')) THEN 'completed' ELSE status END \
         WHERE id = ?1",
    )
    .map_err(broken)?
    .execute(params![
        reminder.id.as_bytes(),
        series.last_run,
        series.carried_by,
        series.planned,
        occurrence.state.kind().as_str()
    ])
    .map_err(broken)?;
    let detail = missed.then(|| format!("{} runs missed", 1 + also_missed.len() + n_more_missed));
    audit(
        db,
        now,
        "engine",
        occurrence.state.kind().as_str(),
        reminder.id,
        Some(occurrence.id.run),
        detail.as_deref(),
    )?;
    Ok(planned)
}

fn series(db: &Connection, id: ReminderId) -> Result<Series, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT last_run, carried_by, planned FROM reminder WHERE id = ?").map_err(broken)?;
    statement.query_row([id.as_bytes()], |found| Ok(row::series(found, 0))).map_err(broken)?
}

pub(super) fn renew(
    db: &Connection,
    leases: &[(OccurrenceId, u64)],
    until: Timestamp,
) -> Result<Vec<(OccurrenceId, u64)>, StoreError> {
    let mut held = std::collections::HashSet::with_capacity(leases.len());
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
            let id = OccurrenceId { reminder: row::reminder_id(found, 0)?, run: get(found, 1)? };
            held.insert((id, get::<u64>(found, 2)?));
            Ok(())
        },
    )?;
    Ok(leases.iter().filter(|lease| !held.contains(lease)).copied().collect())
}

/// Writes the platform's own id on an attempt that is under way.
pub(super) fn note_sent(
    db: &Connection,
    id: OccurrenceId,
    lease: u64,
    attempt: u32,
    message_id: &str,
) -> Result<bool, StoreError> {
    let n_noted = db
        .prepare_cached(
            "UPDATE attempt SET message_id = ?1 WHERE reminder_id = ?2 AND run = ?3 AND number = ?4 AND status = 'sending' \
             AND EXISTS (SELECT 1 FROM occurrence o WHERE o.reminder_id = ?2 AND o.run = ?3 AND o.lease = ?5 \
               AND o.state = 'processing')",
        )
        .map_err(broken)?
        .execute(params![message_id, id.reminder.as_bytes(), id.run, attempt, lease])
        .map_err(broken)?;
    Ok(n_noted > 0)
}

/// Makes every leased occurrence due for a look now: whoever leased it is gone, because the lock file is ours.
pub(super) fn rescue(db: &Connection, now: Timestamp) -> Result<usize, StoreError> {
    db.prepare_cached("UPDATE occurrence SET wake_at = ? WHERE node IS NOT NULL")
        .map_err(broken)?
        .execute([micros(now)])
        .map_err(broken)
}
