//! Removing old history.

use jiff::Timestamp;
use punctual_core::id::OccurrenceId;
use punctual_core::store::{ANSWERED_KEPT_FOR, StoreError};
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{BEGIN_IN_ORDER, BY_KEY, Ids};
use super::fault::Fault;
use super::pipeline::{all3, all4, both};
use super::pool::Connection;
use super::row::{self, micros};
use crate::rows;

pub(super) async fn prune(db: &Connection<'_>, before: Timestamp, limit: usize) -> Result<usize, Fault> {
    let before = micros(before);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // A run that another node is pruning, or that a person is just snoozing once more, is left for later.
    let params: [super::pool::Param<'_>; 2] = [(&before, Type::TIMESTAMPTZ), (&limit, Type::INT8)];
    let ended = format!(
        "select reminder_id, run from punctual.occurrence o where {} and at < $1 order by at limit $2 for update skip locked",
        rows::ENDED
    );
    let ended = db.rows(&ended, &params);
    let ((), rows) = both(db.begin(BEGIN_IN_ORDER), ended).await?;
    if rows.is_empty() {
        // The last round: nothing is left that an event of that time could be asked about.
        let old: [super::pool::Param<'_>; 1] = [(&before, Type::TIMESTAMPTZ)];
        let events = format!(
            "with gone as (delete from punctual.event e where coalesce(e.ends_at, e.starts_at) < $1 and e.planned \
               and e.plan_at is null and not exists (select from punctual.event_reminder l \
                 join punctual.occurrence o on o.reminder_id = l.reminder_id \
                 where l.event_key = e.key and ({} or o.at >= $1)) returning key) \
             delete from punctual.event_reminder r using gone where r.event_key = gone.key",
            rows::OPEN
        );
        let events = db.execute(&events, &old);
        let silences = db.execute("delete from punctual.silence where until_at < $1", &old);
        all3(events, silences, db.commit()).await?;
        return Ok(0);
    }
    let gone = rows.iter().map(|row| row::occurrence_id(row, 0)).collect::<Result<Vec<OccurrenceId>, StoreError>>()?;
    let ids: Ids = gone.into_iter().collect();
    let mut reminders: Vec<Uuid> = ids.reminders.clone();
    reminders.sort_unstable();
    reminders.dedup();
    let of_runs: [super::pool::Param<'_>; 2] = [(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY)];
    let of_reminders: [super::pool::Param<'_>; 1] = [(&reminders, Type::UUID_ARRAY)];
    // The reminders are locked by a statement of their own, so that the next one sees what others did to them before: a run
    // that was added meanwhile must not lose its reminder.
    let locked =
        db.rows("select from punctual.reminder r where r.id = any($1) order by r.id for update", &of_reminders);
    let emptied = db.execute(
        "delete from punctual.reminder r where r.id = any($1) and r.status in ('completed', 'cancelled') \
         and not exists (select from punctual.occurrence o where o.reminder_id = r.id)",
        &of_reminders,
    );
    let occurrences = db.execute(
        "delete from punctual.occurrence o using unnest($1, $2) as v (reminder_id, run) \
         where o.reminder_id = v.reminder_id and o.run = v.run",
        &of_runs,
    );
    let attempts = db.execute(
        "delete from punctual.attempt a using unnest($1, $2) as v (reminder_id, run) \
         where a.reminder_id = v.reminder_id and a.run = v.run",
        &of_runs,
    );
    let responses = db.execute(
        "delete from punctual.response a using unnest($1, $2) as v (reminder_id, run) \
         where a.reminder_id = v.reminder_id and a.run = v.run",
        &of_runs,
    );
    let runs = all4(db.batch(BY_KEY), occurrences, attempts, responses);
    all4(runs, locked, emptied, db.commit()).await?;
    Ok(ids.runs.len())
}

/// Forgets answered requests that no client will repeat.
pub(super) async fn forget_answered(db: &Connection<'_>, now: Timestamp) -> Result<(), Fault> {
    let before = now.checked_sub(ANSWERED_KEPT_FOR).unwrap_or(Timestamp::MIN);
    db.execute("delete from punctual.answered where at < $1", &[(&micros(before), Type::TIMESTAMPTZ)]).await?;
    db.execute("delete from punctual.seen where until < $1", &[(&micros(now), Type::TIMESTAMPTZ)]).await?;
    // No limit of a platform looks back further.
    db.execute("delete from punctual.turn where last_at < now() - interval '1 day'", &[]).await?;
    Ok(())
}
