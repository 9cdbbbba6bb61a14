//! Writing new reminders: everything of everybody who waits, in one flight to the server and back.

use punctual_core::occurrence::Occurrence;
use punctual_core::reminder::Reminder;
use punctual_core::shard::{Shards, shard_of};
use punctual_core::store::{Create, NewReminder};
use punctual_core::wake::Series;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::answered;
use super::batch::{BEGIN, Entry, audit, insert_occurrences};
use super::fault::Fault;
use super::flight::all4;
use super::pool::Connection;
use super::row::{At, int, micros, millis, on_unknown, route, uuid};
use super::tell::tell;

pub(super) async fn create(db: &Connection<'_>, own: Shards, creates: &[&Create]) -> Result<(), Fault> {
    // They were asked for within moments of each other; for the trail they happen together.
    let Some(now) = creates.iter().map(|create| create.now).max() else { return Ok(()) };
    let new = || creates.iter().flat_map(|create| create.reminders.iter().map(|new| (create.actor.as_str(), new)));
    let reminders: Vec<&Reminder> = new().map(|(_, new)| &new.reminder).collect();
    let firsts: Vec<Occurrence> = new().map(|(_, new)| new.first_run()).collect();
    let planned: Vec<_> = firsts.iter().zip(reminders.iter().copied()).collect();
    let entry = |(actor, new): (_, &NewReminder)| Entry {
        actor,
        action: "create",
        reminder: uuid(new.reminder.id),
        run: None,
        detail: None,
    };
    let entries: Vec<Entry<'_>> = new().map(entry).collect();
    let kept = creates.iter().filter_map(|create| create.answered.as_ref());
    let kept: Vec<_> = kept.map(|(key, answered)| (key.as_str(), answered)).collect();
    let rows = all4(
        answered::insert(db, &kept, now),
        insert_reminders(db, &reminders),
        insert_occurrences(db, &planned),
        audit(db, &entries, now),
    );
    let moments: Vec<_> = new().map(|(_, new)| (shard_of(&new.reminder.user), new.first_due_at)).collect();
    // All of it is sent before the first answer is read. If one fails, the server undoes the rest when it comes to COMMIT.
    all4(db.begin(BEGIN), rows, tell(db, own, moments, now), db.commit()).await?;
    Ok(())
}

pub(super) async fn insert_reminders(db: &Connection<'_>, new: &[&Reminder]) -> Result<(), Fault> {
    if new.is_empty() {
        return Ok(());
    }
    let series: Vec<Series> = new.iter().map(|r| Series::begun(r.schedule.is_recurring())).collect();
    let ids: Vec<Uuid> = new.iter().map(|r| uuid(r.id)).collect();
    let users: Vec<&str> = new.iter().map(|r| r.user.as_str()).collect();
    let names: Vec<Option<&str>> = new.iter().map(|r| r.name.as_deref()).collect();
    let messages: Vec<&str> = new.iter().map(|r| r.message.as_str()).collect();
    let schedules: Vec<String> = new.iter().map(|r| r.schedule.to_json().to_string()).collect();
    let timezones: Vec<&str> = new.iter().map(|r| r.timezone.name()).collect();
    let priorities: Vec<i16> = new.iter().map(|r| i16::from(r.priority.rank())).collect();
    let routes = new.iter().map(|r| route(r)).collect::<Result<Vec<Option<String>>, _>>()?;
    let ack_timeouts: Vec<Option<i64>> = new.iter().map(|r| r.ack.as_ref().map(|ack| millis(ack.timeout))).collect();
    let ack_prompts: Vec<Option<&str>> =
        new.iter().map(|r| r.ack.as_ref().and_then(|ack| ack.prompt.as_deref())).collect();
    let ack_maxes: Vec<i32> = new.iter().map(|r| int(r.ack.as_ref().map_or(0, |ack| ack.reminders_max))).collect();
    let snoozes: Vec<bool> = new.iter().map(|r| r.snooze_allowed).collect();
    let retries: Vec<i32> = new.iter().map(|r| int(r.retries_max)).collect();
    let misfires: Vec<&str> = new.iter().map(|r| r.misfire.policy.as_str()).collect();
    let withins: Vec<i64> = new.iter().map(|r| millis(r.misfire.within)).collect();
    let unknowns: Vec<&str> = new.iter().map(|r| on_unknown(r).0).collect();
    let autos: Vec<bool> = new.iter().map(|r| on_unknown(r).1).collect();
    let onlys: Vec<bool> = new.iter().map(|r| r.only).collect();
    let vias: Vec<&str> = new.iter().map(|r| r.created_via.as_str()).collect();
    let originals: Vec<Option<&str>> = new.iter().map(|r| r.original_text.as_deref()).collect();
    let metadata: Vec<&str> = new.iter().map(|r| r.metadata.as_str()).collect();
    let statuses: Vec<&str> = new.iter().map(|r| r.status.as_str()).collect();
    let created: Vec<At> = new.iter().map(|r| micros(r.created_at)).collect();
    let updated: Vec<At> = new.iter().map(|r| micros(r.updated_at)).collect();
    let last_runs: Vec<i32> = series.iter().map(|s| int(s.last_run)).collect();
    let carriers: Vec<Option<i32>> = series.iter().map(|s| s.carried_by.map(int)).collect();
    let planned: Vec<i64> = series.iter().map(|s| i64::from(s.planned)).collect();
    db.execute(
        "insert into punctual.reminder (id, user_id, name, message, schedule, timezone, priority, route, ack_timeout, \
         ack_prompt, ack_reminders_max, snooze_allowed, retries_max, misfire, misfire_within, on_unknown, created_via, \
         original_text, metadata, status, created_at, updated_at, last_run, carried_by, planned, on_unknown_auto, \
         only_to) \
         select * from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, \
         $21, $22, $23, $24, $25, $26, $27)",
        &[
            (&ids, Type::UUID_ARRAY),
            (&users, Type::TEXT_ARRAY),
            (&names, Type::TEXT_ARRAY),
            (&messages, Type::TEXT_ARRAY),
            (&schedules, Type::TEXT_ARRAY),
            (&timezones, Type::TEXT_ARRAY),
            (&priorities, Type::INT2_ARRAY),
            (&routes, Type::TEXT_ARRAY),
            (&ack_timeouts, Type::INT8_ARRAY),
            (&ack_prompts, Type::TEXT_ARRAY),
            (&ack_maxes, Type::INT4_ARRAY),
            (&snoozes, Type::BOOL_ARRAY),
            (&retries, Type::INT4_ARRAY),
            (&misfires, Type::TEXT_ARRAY),
            (&withins, Type::INT8_ARRAY),
            (&unknowns, Type::TEXT_ARRAY),
            (&vias, Type::TEXT_ARRAY),
            (&originals, Type::TEXT_ARRAY),
            (&metadata, Type::TEXT_ARRAY),
            (&statuses, Type::TEXT_ARRAY),
            (&created, Type::TIMESTAMPTZ_ARRAY),
            (&updated, Type::TIMESTAMPTZ_ARRAY),
            (&last_runs, Type::INT4_ARRAY),
            (&carriers, Type::INT4_ARRAY),
            (&planned, Type::INT8_ARRAY),
            (&autos, Type::BOOL_ARRAY),
            (&onlys, Type::BOOL_ARRAY),
        ],
    )
    .await?;
    Ok(())
}
