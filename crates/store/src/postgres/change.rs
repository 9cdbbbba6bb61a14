//! Applying a command: load, let core decide, write.
//!
//! The transaction sees the reminder and its occurrences as they were at one moment, locks nothing while it decides, and
//! fails when a node claims or settles meanwhile what it writes: the server notices, and the command is decided again on what
//! is there now. A lock held while deciding would make claims step around the row and forget its moment.

use punctual_core::change::{Applied, Change, Loaded, apply};
use punctual_core::id::ReminderId;
use punctual_core::occurrence::Occurrence;
use punctual_core::reminder::Reminder;
use punctual_core::shard::{Shards, shard_of};
use punctual_core::store::{By, ChangeError, Changed, Response, StoreError};
use punctual_core::wake::Series;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::answered;
use super::batch::{BEGIN_SNAPSHOT, BY_KEY, Entry, Ids, audit, cut_off, insert_occurrences, update_occurrences};
use super::fault::Fault;
use super::flight::{all4, both};
use super::pool::Connection;
use super::read;
use super::row::{self, clean, impossible, int, micros, millis, on_unknown, route, uuid};
use super::tell::tell;
use super::waiting::readdress;

/// The outer error is the database's; the inner one is core's refusal, or that there is nothing to change.
pub(super) async fn change(
    db: &Connection<'_>,
    own: Shards,
    id: ReminderId,
    change: &Change,
    by: &By,
) -> Result<Result<Changed, ChangeError>, Fault> {
    let applied = match load(db, id, change.run()).await? {
        None => Err(ChangeError::NotFound),
        Some(loaded) if by.user.as_ref().is_some_and(|user| *user != loaded.reminder.user) => {
            Err(ChangeError::NotFound)
        }
        Some(loaded) => apply(loaded, change, by).map_err(ChangeError::from),
    };
    let applied = match applied {
        Ok(applied) => applied,
        Err(refused) => {
            db.rollback().await?;
            return Ok(Err(refused));
        }
    };
    let shard = shard_of(&applied.reminder.user);
    let moments = applied.wakes().into_iter().map(|at| (shard, at));
    let vanished = || impossible("a reminder vanished while it was changed");
    // Boxed, because so many statements in one flight are a future too large for the stack of an unoptimized build.
    let changed = Box::pin(all4(
        db.batch(BY_KEY),
        write(db, &applied, change, by),
        tell(db, own, moments, by.now),
        read::reminder(db, id),
    ));
    let view = match &by.repeat {
        None => both(changed, db.commit()).await?.0.3.ok_or_else(vanished)?,
        // Its answer must be known before the commit, and is written with it.
        Some(repeat) => {
            let view = changed.await?.3.ok_or_else(vanished)?;
            let answered = repeat.answered(&view);
            let kept = [(repeat.key.as_str(), &answered)];
            both(answered::insert(db, &kept, by.now), db.commit()).await?;
            view
        }
    };
    let occurrence = applied.write.first().or(applied.insert.first()).cloned();
    Ok(Ok(Changed { view, occurrence, wakes: applied.wakes() }))
}

/// The reminder with its open runs, and the last that has ended: of all, or `run` if the command names one.
async fn load(db: &Connection<'_>, id: ReminderId, run: Option<u32>) -> Result<Option<Loaded>, Fault> {
    let reminder = format!("select {}, {} from punctual.reminder r where r.id = $1", row::REMINDER, row::SERIES);
    let occurrences = |which: &str| {
        format!("select {} from punctual.occurrence o where o.reminder_id = $1 and {which}", row::OCCURRENCE)
    };
    let open = occurrences("(o.wake_at is not null or o.state = 'paused') order by o.run");
    // By state and not by `wake_at is null`, which would tempt the planner to walk the index of all that ever ended.
    let meant = run.map_or(String::new(), |run| format!("and o.run = {run} "));
    let ended = occurrences(&format!(
        "o.state in ('delivered', 'completed', 'dismissed', 'unanswered', 'failed', 'cancelled', 'missed') \
         {meant}order by o.run desc limit 1"
    ));
    let id = uuid(id);
    let param = [(&id as &(dyn tokio_postgres::types::ToSql + Sync), Type::UUID)];
    let ((), found, open, ended) =
        all4(db.begin(BEGIN_SNAPSHOT), db.rows(&reminder, &param), db.rows(&open, &param), db.rows(&ended, &param))
            .await?;
    let Some(found) = found.first() else { return Ok(None) };
    let occurrence = |found: &tokio_postgres::Row| Ok(row::occurrence(found, 0)?.0);
    Ok(Some(Loaded {
        reminder: row::reminder(found, 0)?,
        series: row::series(found, row::N_REMINDER)?,
        open: open.iter().map(occurrence).collect::<Result<_, StoreError>>()?,
        last_ended: ended.first().map(occurrence).transpose()?,
    }))
}

/// Occurrences before their reminder, as everybody locks them, so that nobody waits in a circle.
async fn write(db: &Connection<'_>, applied: &Applied, change: &Change, by: &By) -> Result<(), Fault> {
    let reminder = &applied.reminder;
    let mut written: Vec<&Occurrence> = applied.write.iter().collect();
    written.sort_unstable_by_key(|o| o.id);
    let ids: Ids = written.iter().map(|o| o.id).collect();
    let inserted: Vec<_> = applied.insert.iter().map(|o| (o, reminder)).collect();
    // What was sent and has now ended, by an answer or with its reminder, is the last thing that became of it.
    let last_status = applied.write.iter().rfind(|o| o.tries.reached > 0).map(|o| o.state.kind().as_str());
    let entry = Entry {
        actor: &by.actor,
        action: change.verb(),
        reminder: uuid(reminder.id),
        run: applied.write.first().or(applied.insert.first()).map(|o| o.id.run),
        detail: None,
    };
    let readdressed: Vec<Uuid> = applied.readdressed.then(|| uuid(reminder.id)).into_iter().collect();
    let occurrences = all4(
        update_occurrences(db, &written),
        readdress(db, &readdressed),
        // An answer can end an occurrence that is just being sent once more; that attempt's result will find no lease.
        cut_off(db, &ids, by.now),
        reprioritize(db, reminder, change),
    );
    let entries = [entry];
    let rest = all4(
        update_reminder(db, reminder, &applied.series, last_status),
        // Only now: whoever holds the reminder gives out its run numbers.
        insert_occurrences(db, &inserted),
        insert_response(db, applied.response.as_ref()),
        audit(db, &entries, by.now),
    );
    both(occurrences, rest).await?;
    Ok(())
}

/// Keeps the priority of what is still to come in step with its reminder's.
async fn reprioritize(db: &Connection<'_>, reminder: &Reminder, change: &Change) -> Result<(), Fault> {
    if !matches!(change, Change::Update(_)) {
        return Ok(());
    }
    db.execute(
        "update punctual.occurrence set priority = $1 \
         where reminder_id = $2 and priority <> $1 and (wake_at is not null or state = 'paused')",
        &[(&i16::from(reminder.priority.rank()), Type::INT2), (&uuid(reminder.id), Type::UUID)],
    )
    .await?;
    Ok(())
}

async fn insert_response(db: &Connection<'_>, response: Option<&Response>) -> Result<(), Fault> {
    let Some(response) = response else { return Ok(()) };
    db.execute(
        "insert into punctual.response (reminder_id, run, kind, at, actor, until, snooze_minutes, user_id, text, channel) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &[
            (&uuid(response.occurrence.reminder), Type::UUID),
            (&int(response.occurrence.run), Type::INT4),
            (&response.kind, Type::TEXT),
            (&micros(response.at), Type::TIMESTAMPTZ),
            (&clean(&response.actor), Type::TEXT),
            (&response.until.map(micros), Type::TIMESTAMPTZ),
            (&response.snooze_minutes.map(int), Type::INT4),
            (&response.user.as_deref().map(clean), Type::TEXT),
            (&response.said.text.as_deref().map(clean), Type::TEXT),
            (&response.said.channel.as_deref().map(clean), Type::TEXT),
        ],
    )
    .await?;
    Ok(())
}

/// Writes a changed reminder over the old one.
async fn update_reminder(
    db: &Connection<'_>,
    reminder: &Reminder,
    series: &Series,
    last_status: Option<&str>,
) -> Result<(), Fault> {
    let ack = reminder.ack.as_ref();
    let (on_unknown, is_auto) = on_unknown(reminder);
    db.execute(
        "update punctual.reminder set name = $2, message = $3, schedule = $4, timezone = $5, priority = $6, route = $7, \
         ack_timeout = $8, ack_prompt = $9, ack_reminders_max = $10, snooze_allowed = $11, retries_max = $12, \
         misfire = $13, misfire_within = $14, on_unknown = $15, metadata = $16, status = $17, updated_at = $18, \
         last_run = $19, carried_by = $20, planned = $21, last_status = coalesce($22, last_status), on_unknown_auto = $23, \
         only_to = $24 \
         where id = $1",
        &[
            (&uuid(reminder.id), Type::UUID),
            (&reminder.name, Type::TEXT),
            (&reminder.message, Type::TEXT),
            (&reminder.schedule.to_json().to_string(), Type::TEXT),
            (&reminder.timezone.name(), Type::TEXT),
            (&i16::from(reminder.priority.rank()), Type::INT2),
            (&route(reminder)?, Type::TEXT),
            (&ack.map(|ack| millis(ack.timeout)), Type::INT8),
            (&ack.and_then(|ack| ack.prompt.as_deref()), Type::TEXT),
            (&int(ack.map_or(0, |ack| ack.reminders_max)), Type::INT4),
            (&reminder.snooze_allowed, Type::BOOL),
            (&int(reminder.retries_max), Type::INT4),
            (&reminder.misfire.policy.as_str(), Type::TEXT),
            (&millis(reminder.misfire.within), Type::INT8),
            (&on_unknown, Type::TEXT),
            (&reminder.metadata.as_str(), Type::TEXT),
            (&reminder.status.as_str(), Type::TEXT),
            (&micros(reminder.updated_at), Type::TIMESTAMPTZ),
            (&int(series.last_run), Type::INT4),
            (&series.carried_by.map(int), Type::INT4),
            (&i64::from(series.planned), Type::INT8),
            (&last_status, Type::TEXT),
            (&is_auto, Type::BOOL),
            (&reminder.only, Type::BOOL),
        ],
    )
    .await?;
    Ok(())
}
