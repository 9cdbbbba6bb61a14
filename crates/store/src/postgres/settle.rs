//! Ending leases: a handful of statements for many rows, in one transaction.
//!
//! Everybody locks occurrences before reminders, and both in the order of their names, so that nobody waits in a circle.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use punctual_core::alarm::Entry;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{AttemptStatus, Occurrence, READDRESSED, State, StateKind};
use punctual_core::reminder::{Priority, Reminder, ReminderStatus};
use punctual_core::shard::{Shards, shard_of};
use punctual_core::store::{Settled, Settlement, StoreError};
use punctual_core::wake::{Series, after_settle};
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::alert::raise;
use super::batch::{BEGIN_BY_KEY, Ids, insert_occurrences};
use super::fault::Fault;
use super::flight::{all4, both};
use super::pool::Connection;
use super::row::{self, At, clean, get, impossible, int, micros, uuid};
use super::tell::tell;

pub(super) async fn settle(
    db: &Connection<'_>,
    own: Shards,
    settlements: &[Settlement],
    now: Timestamp,
) -> Result<Settled, Fault> {
    let mut settled = Settled::default();
    let mut seen = HashSet::with_capacity(settlements.len());
    // A lease ends once, also within one batch.
    let (mut sorted, twice): (Vec<&Settlement>, Vec<&Settlement>) =
        settlements.iter().partition(|s| seen.insert((s.occurrence, s.lease)));
    settled.lost.extend(twice.iter().map(|s| s.occurrence));
    sorted.sort_unstable_by_key(|s| s.occurrence);

    let ((), held) = both(db.begin(BEGIN_BY_KEY), end_leases(db, &sorted)).await?;
    let (accepted, lost): (Vec<&Settlement>, Vec<&Settlement>) =
        sorted.into_iter().partition(|s| held.contains_key(&(s.occurrence, s.lease)));
    settled.lost.extend(lost.iter().map(|s| s.occurrence));
    if accepted.is_empty() {
        db.rollback().await?;
        return Ok(settled);
    }
    settled.wakes.extend(accepted.iter().filter_map(|s| s.state.wake_at(s.due_at)));
    let moment = |s: &&Settlement| Some((held.get(&(s.occurrence, s.lease))?.shard, s.state.wake_at(s.due_at)?));
    let mut moments: Vec<(u8, Timestamp)> = accepted.iter().filter_map(moment).collect();
    let (ended, withdrawn): (Vec<&Settlement>, Vec<&Settlement>) =
        accepted.into_iter().partition(|s| s.ended.is_some());
    let ((), (), (), carriers) =
        all4(take_back(db, &withdrawn), end_attempts(db, &ended), bury(db, &ended), count_runs(db, &ended, now))
            .await?;
    let is_critical =
        |s: &&&Settlement| held.get(&(s.occurrence, s.lease)).is_some_and(|held| held.priority == Priority::Critical);
    let told = ended.iter().chain(&withdrawn).filter(is_critical).filter_map(|s| Some((s.occurrence, s.news?)));
    let alerts = raise(db, &told.collect::<Vec<_>>(), now).await?;
    settled.wakes.extend(alerts.iter().map(|entry| entry.at));
    moments.extend(alerts.iter().map(|entry| (shard_of(&entry.user), entry.at)));
    settled.next_runs.extend(alerts);
    let carrying: Vec<&Settlement> =
        ended.into_iter().filter(|s| carriers.get(&s.occurrence.reminder) == Some(&s.occurrence.run)).collect();
    if carrying.is_empty() {
        both(tell(db, own, moments, now), db.commit()).await?;
    } else {
        let (planned, moved) = go_on(db, &carrying, now).await?;
        for (occurrence, reminder) in &planned {
            let wake_at = occurrence.state.wake_at(occurrence.due_at);
            settled.wakes.extend(wake_at);
            settled.next_runs.extend(wake_at.map(|at| Entry::of(reminder, at)));
            moments.extend(wake_at.map(|at| (shard_of(&reminder.user), at)));
        }
        let planned: Vec<_> = planned.iter().map(|(occurrence, reminder)| (occurrence, reminder)).collect();
        all4(insert_occurrences(db, &planned), move_on(db, &moved), tell(db, own, moments, now), db.commit()).await?;
    }
    Ok(settled)
}

/// What is told of an occurrence whose lease still held.
struct Held {
    shard: u8,
    priority: Priority,
}

/// Writes the new states of all whose lease still holds; returns which those are.
async fn end_leases(
    db: &Connection<'_>,
    settlements: &[&Settlement],
) -> Result<HashMap<(OccurrenceId, u64), Held>, Fault> {
    let ids: Ids = settlements.iter().map(|s| s.occurrence).collect();
    let leases: Vec<i64> = settlements.iter().map(|s| s.lease as i64).collect();
    let states: Vec<&str> = settlements.iter().map(|s| s.state.kept_kind().as_str()).collect();
    let wakes: Vec<Option<At>> = settlements.iter().map(|s| s.state.wake_at(s.due_at).map(micros)).collect();
    let ats: Vec<Option<At>> = settlements.iter().map(|s| s.state.at().map(micros)).collect();
    let errors: Vec<_> = settlements.iter().map(|s| s.state.kept_note().map(clean)).collect();
    let attempts: Vec<i32> = settlements.iter().map(|s| int(s.tries.attempts)).collect();
    let rounds: Vec<i32> = settlements.iter().map(|s| int(s.tries.rounds)).collect();
    let positions: Vec<i32> = settlements.iter().map(|s| int(s.tries.position)).collect();
    let refused: Vec<i64> = settlements.iter().map(|s| s.tries.refused as i64).collect();
    let asks: Vec<i32> = settlements.iter().map(|s| int(s.tries.asks)).collect();
    let reached: Vec<i32> = settlements.iter().map(|s| int(s.tries.reached)).collect();
    let rows = db
        .rows(
            "update punctual.occurrence o set state = v.state, wake_at = v.wake_at, node = null, at = v.at, \
             error = v.error, attempts = v.attempts, rounds = v.rounds, \
             position = case when o.position = $14 then 0 else v.position end, \
             refused = case when o.position = $14 then 0 else v.refused end, \
             asks = v.asks, reached = v.reached from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
             as v (reminder_id, run, lease, state, wake_at, at, error, attempts, rounds, position, refused, asks, reached) \
             where o.reminder_id = v.reminder_id and o.run = v.run and o.lease = v.lease and o.state = 'processing' \
             returning o.reminder_id, o.run, o.lease, o.shard, o.priority",
            &[
                (&ids.reminders, Type::UUID_ARRAY),
                (&ids.runs, Type::INT4_ARRAY),
                (&leases, Type::INT8_ARRAY),
                (&states, Type::TEXT_ARRAY),
                (&wakes, Type::TIMESTAMPTZ_ARRAY),
                (&ats, Type::TIMESTAMPTZ_ARRAY),
                (&errors, Type::TEXT_ARRAY),
                (&attempts, Type::INT4_ARRAY),
                (&rounds, Type::INT4_ARRAY),
                (&positions, Type::INT4_ARRAY),
                (&refused, Type::INT8_ARRAY),
                (&asks, Type::INT4_ARRAY),
                (&reached, Type::INT4_ARRAY),
                (&int(READDRESSED), Type::INT4),
            ],
        )
        .await?;
    let held = |row: &tokio_postgres::Row| {
        let lease = u64::try_from(get::<i64>(row, 2)?).map_err(impossible)?;
        let shard = u8::try_from(get::<i16>(row, 3)?).map_err(impossible)?;
        let priority = Priority::from_rank(u8::try_from(get::<i16>(row, 4)?).unwrap_or(u8::MAX));
        Ok(((row::occurrence_id(row, 0)?, lease), Held { shard, priority }))
    };
    Ok(rows.iter().map(held).collect::<Result<_, StoreError>>()?)
}

/// Removes attempts that never began.
async fn take_back(db: &Connection<'_>, withdrawn: &[&Settlement]) -> Result<(), Fault> {
    if withdrawn.is_empty() {
        return Ok(());
    }
    let ids: Ids = withdrawn.iter().map(|s| s.occurrence).collect();
    let numbers: Vec<i32> = withdrawn.iter().map(|s| int(s.attempt)).collect();
    db.execute(
        "delete from punctual.attempt a using unnest($1, $2, $3) as v (reminder_id, run, number) \
         where a.reminder_id = v.reminder_id and a.run = v.run and a.number = v.number and a.status = 'sending' \
         and a.message_id is null",
        &[(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY), (&numbers, Type::INT4_ARRAY)],
    )
    .await?;
    Ok(())
}

async fn end_attempts(db: &Connection<'_>, ended: &[&Settlement]) -> Result<(), Fault> {
    if ended.is_empty() {
        return Ok(());
    }
    let end = |s: &Settlement| s.ended.clone();
    let ids: Ids = ended.iter().map(|s| s.occurrence).collect();
    let numbers: Vec<i32> = ended.iter().map(|s| int(s.attempt)).collect();
    let statuses: Vec<&str> =
        ended.iter().map(|s| end(s).map_or(AttemptStatus::Unknown, |end| end.status).as_str()).collect();
    let begun: Vec<Option<At>> = ended.iter().map(|s| s.ended.as_ref().map(|end| micros(end.begun_at))).collect();
    let ats: Vec<Option<At>> = ended.iter().map(|s| s.ended.as_ref().map(|end| micros(end.at))).collect();
    let errors: Vec<_> =
        ended.iter().map(|s| s.ended.as_ref().and_then(|end| end.error.as_deref()).map(clean)).collect();
    let messages: Vec<_> =
        ended.iter().map(|s| s.ended.as_ref().and_then(|end| end.message_id.as_deref()).map(clean)).collect();
    let keys: Vec<Option<&str>> = ended.iter().map(|s| s.ended.as_ref().and_then(|end| end.key.as_deref())).collect();
    db.execute(
        "update punctual.attempt a set status = v.status, started_at = v.begun_at, ended_at = v.at, error = v.error, \
         message_id = coalesce(v.message_id, a.message_id), key = v.key from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) \
         as v (reminder_id, run, number, status, begun_at, at, error, message_id, key) \
         where a.reminder_id = v.reminder_id and a.run = v.run and a.number = v.number",
        &[
            (&ids.reminders, Type::UUID_ARRAY),
            (&ids.runs, Type::INT4_ARRAY),
            (&numbers, Type::INT4_ARRAY),
            (&statuses, Type::TEXT_ARRAY),
            (&begun, Type::TIMESTAMPTZ_ARRAY),
            (&ats, Type::TIMESTAMPTZ_ARRAY),
            (&errors, Type::TEXT_ARRAY),
            (&messages, Type::TEXT_ARRAY),
            (&keys, Type::TEXT_ARRAY),
        ],
    )
    .await?;
    Ok(())
}

/// Writes down the addresses that are gone.
async fn bury(db: &Connection<'_>, ended: &[&Settlement]) -> Result<(), Fault> {
    let gone: Vec<_> = ended.iter().filter_map(|s| Some((*s, s.ended.as_ref().filter(|end| end.gone)?))).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let ids: Ids = gone.iter().map(|(s, _)| s.occurrence).collect();
    let numbers: Vec<i32> = gone.iter().map(|(s, _)| int(s.attempt)).collect();
    let since: Vec<At> = gone.iter().map(|(_, end)| micros(end.at)).collect();
    let reasons: Vec<_> = gone.iter().map(|(_, end)| clean(end.error.as_deref().unwrap_or_default())).collect();
    db.execute(
        // In the order of their names, so that two that bury the same do not wait in a circle.
        "insert into punctual.dead_address (channel, address, since, reason) \
         select distinct on (a.channel, a.address) a.channel, a.address, v.since, v.reason \
         from unnest($1, $2, $3, $4, $5) as v (reminder_id, run, number, since, reason) join punctual.attempt a \
         on a.reminder_id = v.reminder_id and a.run = v.run and a.number = v.number \
         order by a.channel, a.address, v.since on conflict do nothing",
        &[
            (&ids.reminders, Type::UUID_ARRAY),
            (&ids.runs, Type::INT4_ARRAY),
            (&numbers, Type::INT4_ARRAY),
            (&since, Type::TIMESTAMPTZ_ARRAY),
            (&reasons, Type::TEXT_ARRAY),
        ],
    )
    .await?;
    Ok(())
}

/// What the settled runs of one reminder change about its counters, one after the other.
#[derive(Default)]
struct Counts {
    runs: i32,
    last_status: &'static str,
    is_final: bool,
    /// One worked, so the count of errors begins again.
    worked: bool,
    errors: i32,
}

impl Counts {
    fn add(&mut self, settlement: &Settlement) {
        let kind = settlement.state.kind();
        let is_final = settlement.state.is_final();
        self.runs += i32::from(settlement.counts);
        self.last_status = kind.as_str();
        self.is_final |= is_final;
        if matches!(kind, StateKind::Failed | StateKind::PendingRetry) {
            self.errors += i32::from(is_final);
        } else {
            self.worked = true;
            self.errors = 0;
        }
    }
}

/// Raises the reminders' counters and completes those that are over; returns which run carries each series on.
async fn count_runs(
    db: &Connection<'_>,
    ended: &[&Settlement],
    now: Timestamp,
) -> Result<HashMap<ReminderId, u32>, Fault> {
    if ended.is_empty() {
        return Ok(HashMap::new());
    }
    // Sorted by occurrence, so that all runs of one reminder stand together.
    let mut counts: Vec<(Uuid, Counts)> = Vec::with_capacity(ended.len());
    for settlement in ended {
        let id = uuid(settlement.occurrence.reminder);
        if counts.last().is_none_or(|(last, _)| *last != id) {
            counts.push((id, Counts::default()));
        }
        if let Some((_, last)) = counts.last_mut() {
            last.add(settlement);
        }
    }
    let ids: Vec<Uuid> = counts.iter().map(|(id, _)| *id).collect();
    let runs: Vec<i32> = counts.iter().map(|(_, counts)| counts.runs).collect();
    let statuses: Vec<&str> = counts.iter().map(|(_, counts)| counts.last_status).collect();
    let finals: Vec<bool> = counts.iter().map(|(_, counts)| counts.is_final).collect();
    let worked: Vec<bool> = counts.iter().map(|(_, counts)| counts.worked).collect();
    let errors: Vec<i32> = counts.iter().map(|(_, counts)| counts.errors).collect();
    let rows = db
        .rows(
            "update punctual.reminder r set last_run_at = $7, last_status = v.last_status, \
             total_runs = r.total_runs + v.runs, \
             consecutive_errors = v.errors + case when v.worked then 0 else r.consecutive_errors end, \
             status = case when v.is_final and r.status = 'active' and r.carried_by is null and not exists (select from \
               punctual.occurrence o where o.reminder_id = r.id and (o.wake_at is not null or o.state = 'paused')) \
               then 'completed' else r.status end \
             from unnest($1, $2, $3, $4, $5, $6) as v (id, runs, last_status, is_final, worked, errors) \
             where r.id = v.id returning r.id, r.carried_by",
            &[
                (&ids, Type::UUID_ARRAY),
                (&runs, Type::INT4_ARRAY),
                (&statuses, Type::TEXT_ARRAY),
                (&finals, Type::BOOL_ARRAY),
                (&worked, Type::BOOL_ARRAY),
                (&errors, Type::INT4_ARRAY),
                (&micros(now), Type::TIMESTAMPTZ),
            ],
        )
        .await?;
    let mut carriers = HashMap::new();
    for row in &rows {
        if let Some(run) = get::<Option<i32>>(row, 1)? {
            carriers.insert(row::reminder_id(row, 0)?, u32::try_from(run).map_err(impossible)?);
        }
    }
    Ok(carriers)
}

/// What comes next: runs with their reminders, and where those series stand then.
type Next = (Vec<(Occurrence, Reminder)>, Vec<(ReminderId, Series)>);

/// Plans the next runs of series from their rules as they are now, which may have changed while these runs were being
/// sent.
async fn go_on(db: &Connection<'_>, carrying: &[&Settlement], now: Timestamp) -> Result<Next, Fault> {
    let ids: Vec<Uuid> = carrying.iter().map(|s| uuid(s.occurrence.reminder)).collect();
    let sql = format!(
        "select {}, {} from unnest($1) as v (id) join punctual.reminder r on r.id = v.id",
        row::REMINDER,
        row::SERIES
    );
    let mut known: HashMap<ReminderId, (Reminder, Series)> = HashMap::with_capacity(ids.len());
    for row in &db.rows(&sql, &[(&ids, Type::UUID_ARRAY)]).await? {
        known.insert(row::reminder_id(row, 0)?, (row::reminder(row, 0)?, row::series(row, row::N_REMINDER)?));
    }
    let mut planned = Vec::new();
    let mut moved = Vec::new();
    for settlement in carrying {
        let OccurrenceId { reminder: id, run } = settlement.occurrence;
        let Some((reminder, series)) = known.get(&id) else { continue };
        let Some(next) = after_settle(reminder, series, run, settlement.due_at, &settlement.state, now) else {
            continue;
        };
        let mut series = Series { carried_by: None, ..*series };
        if let Some(due_at) = next {
            series.last_run += 1;
            series.planned = series.planned.saturating_add(1);
            series.carried_by = Some(series.last_run);
            let mut occurrence = Occurrence::scheduled(OccurrenceId { reminder: id, run: series.last_run }, due_at);
            if reminder.status == ReminderStatus::Paused {
                occurrence.state = State::Paused;
            }
            planned.push((occurrence, reminder.clone()));
        }
        moved.push((id, series));
    }
    Ok((planned, moved))
}

async fn move_on(db: &Connection<'_>, moved: &[(ReminderId, Series)]) -> Result<(), Fault> {
    if moved.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = moved.iter().map(|(id, _)| uuid(*id)).collect();
    let last_runs: Vec<i32> = moved.iter().map(|(_, series)| int(series.last_run)).collect();
    let carriers: Vec<Option<i32>> = moved.iter().map(|(_, series)| series.carried_by.map(int)).collect();
    let planned: Vec<i64> = moved.iter().map(|(_, series)| i64::from(series.planned)).collect();
    db.execute(
        "update punctual.reminder r set last_run = v.last_run, carried_by = v.carried_by, planned = v.planned, \
         status = case when v.carried_by is null and r.status = 'active' and not exists (select from \
           punctual.occurrence o where o.reminder_id = r.id and (o.wake_at is not null or o.state = 'paused')) \
           then 'completed' else r.status end \
         from unnest($1, $2, $3, $4) as v (id, last_run, carried_by, planned) where r.id = v.id",
        &[
            (&ids, Type::UUID_ARRAY),
            (&last_runs, Type::INT4_ARRAY),
            (&carriers, Type::INT4_ARRAY),
            (&planned, Type::INT8_ARRAY),
        ],
    )
    .await?;
    Ok(())
}
