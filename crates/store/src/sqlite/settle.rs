//! Ending leases: a handful of statements for many rows, in one transaction.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use punctual_core::alarm::Entry;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{AttemptStatus, Occurrence, READDRESSED, State, StateKind};
use punctual_core::reminder::{Priority, ReminderStatus};
use punctual_core::store::{Settled, Settlement, StoreError};
use punctual_core::wake::after_settle;
use rusqlite::{Connection, params};

use super::alert::raise;
use super::create::insert_occurrence;
use super::row::{self, broken, get, micros};
use super::values::for_rows;

pub(super) fn settle(db: &Connection, settlements: Vec<Settlement>, now: Timestamp) -> Result<Settled, StoreError> {
    let mut settled = Settled::default();
    // One statement updates a reminder once, so two runs of one reminder go one after the other.
    let mut rest = settlements;
    while !rest.is_empty() {
        let mut seen = HashSet::with_capacity(rest.len());
        let (once, again) = rest.into_iter().partition(|s: &Settlement| seen.insert(s.occurrence.reminder));
        settle_once_each(db, once, now, &mut settled)?;
        rest = again;
    }
    Ok(settled)
}

fn settle_once_each(
    db: &Connection,
    settlements: Vec<Settlement>,
    now: Timestamp,
    settled: &mut Settled,
) -> Result<(), StoreError> {
    let held = end_leases(db, &settlements)?;
    let (accepted, lost): (Vec<_>, Vec<_>) = settlements.into_iter().partition(|s| held.contains_key(&s.occurrence));
    settled.lost.extend(lost.iter().map(|s| s.occurrence));
    settled.wakes.extend(accepted.iter().filter_map(|s| s.state.wake_at(s.due_at)));
    let (ended, withdrawn): (Vec<_>, Vec<_>) = accepted.into_iter().partition(|s| s.ended.is_some());
    take_back(db, &withdrawn)?;
    end_attempts(db, &ended)?;
    bury(db, &ended)?;
    let carriers = count_runs(db, &ended, now)?;
    for settlement in &ended {
        if carriers.get(&settlement.occurrence.reminder) == Some(&settlement.occurrence.run) {
            let next_run = go_on(db, settlement, now)?;
            settled.wakes.extend(next_run.as_ref().map(|entry| entry.at));
            settled.next_runs.extend(next_run);
        }
    }
    let is_critical = |s: &&Settlement| held.get(&s.occurrence) == Some(&Priority::Critical);
    let told = ended.iter().chain(&withdrawn).filter(is_critical).filter_map(|s| Some((s.occurrence, s.news?)));
    let alerts = raise(db, &told.collect::<Vec<_>>(), now)?;
    settled.wakes.extend(alerts.iter().map(|entry| entry.at));
    settled.next_runs.extend(alerts);
    Ok(())
}

/// Writes the new states of all whose lease still holds; returns which those are, each with its priority.
fn end_leases(db: &Connection, settlements: &[Settlement]) -> Result<HashMap<OccurrenceId, Priority>, StoreError> {
    let mut held = HashMap::with_capacity(settlements.len());
    let sql = format!(
        "WITH v (reminder_id, run, lease, state, wake_at, at, error, attempts, rounds, position, refused, asks, reached) \
         AS (VALUES {{values}}) UPDATE occurrence SET state = v.state, wake_at = v.wake_at, node = NULL, at = v.at, \
         error = v.error, attempts = v.attempts, rounds = v.rounds, \
         position = CASE WHEN occurrence.position = {READDRESSED} THEN 0 ELSE v.position END, \
         refused = CASE WHEN occurrence.position = {READDRESSED} THEN 0 ELSE v.refused END, \
         asks = v.asks, reached = v.reached FROM v WHERE occurrence.reminder_id = v.reminder_id \
         AND occurrence.run = v.run AND occurrence.lease = v.lease AND occurrence.state = 'processing' \
         RETURNING occurrence.reminder_id, occurrence.run, occurrence.priority"
    );
    for_rows(
        db,
        &sql,
        13,
        settlements,
        |settlement, values| {
            values.push(settlement.occurrence.reminder.as_bytes());
            values.push(settlement.occurrence.run);
            values.push(settlement.lease);
            values.push(settlement.state.kept_kind().as_str());
            values.push(settlement.state.wake_at(settlement.due_at).map(micros));
            values.push(settlement.state.at().map(micros));
            values.push(settlement.state.kept_note());
            values.push(settlement.tries.attempts);
            values.push(settlement.tries.rounds);
            values.push(settlement.tries.position);
            values.push(settlement.tries.refused as i64);
            values.push(settlement.tries.asks);
            values.push(settlement.tries.reached);
        },
        |found| {
            let id = OccurrenceId { reminder: row::reminder_id(found, 0)?, run: get(found, 1)? };
            held.insert(id, Priority::from_rank(get(found, 2)?));
            Ok(())
        },
    )?;
    Ok(held)
}

/// Removes attempts that never began.
fn take_back(db: &Connection, withdrawn: &[Settlement]) -> Result<(), StoreError> {
    let mut statement = db
        .prepare_cached("DELETE FROM attempt WHERE reminder_id = ? AND run = ? AND number = ? AND status = 'sending' AND message_id IS NULL")
        .map_err(broken)?;
    for settlement in withdrawn {
        let id = settlement.occurrence;
        statement.execute(params![id.reminder.as_bytes(), id.run, settlement.attempt]).map_err(broken)?;
    }
    Ok(())
}

fn end_attempts(db: &Connection, ended: &[Settlement]) -> Result<(), StoreError> {
    for_rows(
        db,
        "WITH v (reminder_id, run, number, status, begun_at, at, error, message_id, key) AS (VALUES {values}) \
         UPDATE attempt SET status = v.status, started_at = v.begun_at, ended_at = v.at, error = v.error, \
         message_id = coalesce(v.message_id, attempt.message_id), key = v.key FROM v \
         WHERE attempt.reminder_id = v.reminder_id AND attempt.run = v.run AND attempt.number = v.number",
        9,
        ended,
        |settlement, values| {
            let end = settlement.ended.as_ref();
            values.push(settlement.occurrence.reminder.as_bytes());
            values.push(settlement.occurrence.run);
            values.push(settlement.attempt);
            values.push(end.map_or(AttemptStatus::Unknown, |end| end.status).as_str());
            values.push(end.map(|end| micros(end.begun_at)));
            values.push(end.map(|end| micros(end.at)));
            values.push(end.and_then(|end| end.error.as_deref()));
            values.push(end.and_then(|end| end.message_id.as_deref()));
            values.push(end.and_then(|end| end.key.as_deref()));
        },
        |_| Ok(()),
    )
}

/// Writes down the addresses that are gone.
fn bury(db: &Connection, ended: &[Settlement]) -> Result<(), StoreError> {
    for settlement in ended {
        let Some(end) = settlement.ended.as_ref().filter(|end| end.gone) else { continue };
        let id = settlement.occurrence;
        db.prepare_cached(
            "INSERT INTO dead_address (channel, address, since, reason) SELECT channel, address, ?, ? FROM attempt \
             WHERE reminder_id = ? AND run = ? AND number = ? ON CONFLICT DO NOTHING",
        )
        .map_err(broken)?
        .execute(params![
            micros(end.at),
            end.error.as_deref().unwrap_or_default(),
            id.reminder.as_bytes(),
            id.run,
            settlement.attempt
        ])
        .map_err(broken)?;
    }
    Ok(())
}

/// Raises the reminders' counters and completes those that are over; returns which run carries each series on.
fn count_runs(db: &Connection, ended: &[Settlement], now: Timestamp) -> Result<HashMap<ReminderId, u32>, StoreError> {
    let mut carriers = HashMap::new();
    for_rows(
        db,
        "WITH v (id, at, state, counts, is_final, failed) AS (VALUES {values}) UPDATE reminder SET last_run_at = v.at, \
         last_status = v.state, total_runs = total_runs + v.counts, \
         consecutive_errors = CASE WHEN v.failed THEN consecutive_errors + v.is_final ELSE 0 END, \
         status = CASE WHEN v.is_final AND reminder.status = 'active' AND carried_by IS NULL \
           AND NOT EXISTS (SELECT 1 FROM occurrence o WHERE o.reminder_id = reminder.id \
             AND (o.wake_at IS NOT NULL OR o.state = 'paused')) THEN 'completed' ELSE reminder.status END \
         FROM v WHERE reminder.id = v.id RETURNING reminder.id, reminder.carried_by",
        6,
        ended,
        |settlement, values| {
            let kind = settlement.state.kind();
            values.push(settlement.occurrence.reminder.as_bytes());
            values.push(micros(now));
            values.push(kind.as_str());
            values.push(settlement.counts);
            values.push(settlement.state.is_final());
            values.push(matches!(kind, StateKind::Failed | StateKind::PendingRetry));
        },
        |found| {
            if let Some(run) = get::<Option<u32>>(found, 1)? {
                carriers.insert(row::reminder_id(found, 0)?, run);
            }
            Ok(())
        },
    )?;
    Ok(carriers)
}

/// Plans the next run of a series from the rule as it is now: it may have changed while this run was being sent.
fn go_on(db: &Connection, settlement: &Settlement, now: Timestamp) -> Result<Option<Entry>, StoreError> {
    let id = settlement.occurrence.reminder;
    let sql = format!("SELECT {}, r.last_run, r.carried_by, r.planned FROM reminder r WHERE r.id = ?", row::REMINDER);
    let mut statement = db.prepare_cached(&sql).map_err(broken)?;
    let (reminder, series) = statement
        .query_row([id.as_bytes()], |found| Ok((row::reminder(found, 0), row::series(found, row::N_REMINDER))))
        .map_err(broken)?;
    let (reminder, mut series) = (reminder?, series?);
    let run = settlement.occurrence.run;
    let Some(next) = after_settle(&reminder, &series, run, settlement.due_at, &settlement.state, now) else {
        return Ok(None);
    };
    series.carried_by = None;
    let mut planned = None;
    if let Some(due_at) = next {
        series.last_run += 1;
        series.planned += 1;
        series.carried_by = Some(series.last_run);
        let mut occurrence = Occurrence::scheduled(OccurrenceId { reminder: id, run: series.last_run }, due_at);
        if reminder.status == ReminderStatus::Paused {
            occurrence.state = State::Paused;
        }
        planned = occurrence.state.wake_at(due_at).map(|at| Entry::of(&reminder, at));
        insert_occurrence(db, &occurrence, reminder.priority.rank())?;
    }
    db.prepare_cached(
        "UPDATE reminder SET last_run = ?2, carried_by = ?3, planned = ?4, \
         status = CASE WHEN ?3 IS NULL AND status = 'active' AND NOT EXISTS (SELECT 1 FROM occurrence o \
           WHERE o.reminder_id = ?1 AND (o.wake_at IS NOT NULL OR o.state = 'paused')) THEN 'completed' ELSE status END \
         WHERE id = ?1",
    )
    .map_err(broken)?
    .execute(params![id.as_bytes(), series.last_run, series.carried_by, series.planned])
    .map_err(broken)?;
    Ok(planned)
}
