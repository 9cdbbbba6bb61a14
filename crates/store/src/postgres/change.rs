//! Applying a command: load, let core decide, write.
//!
//! The transaction sees the reminder and its occurrences as they were at one moment, locks nothing while it decides, and
//! fails when a node claims or settles meanwhile what it writes: the server notices, and the command is decided again on what
//! is there now. A lock held while deciding would make claims step around the row and forget its moment.

use punctual_core::change::{Besides, Cancelled, Change, Loaded, changed};
use punctual_core::decide::family::{Family, Kin, family_of};
use punctual_core::id::ReminderId;
use punctual_core::journal::Ended;
use punctual_core::reminder::Reminder;
use punctual_core::shard::Shards;
use punctual_core::store::{By, ChangeError, Changed};
use punctual_core::writes::Writes;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{BEGIN_SNAPSHOT, BY_KEY};
use super::fault::Fault;
use super::pipeline::{all3, all4, both};
use super::pool::{Connection, Param};
use super::read::{self, each};
use super::row::{int, uuid};
use super::write::write;
use crate::rows::{self, Reader, impossible};

/// The outer error is the database's; the inner one is core's refusal, or that there is nothing to change.
pub(super) async fn change(
    db: &Connection<'_>,
    own: Shards,
    id: ReminderId,
    change: &Change,
    by: &By,
) -> Result<Result<Changed, ChangeError>, Fault> {
    let decided = match load(db, id, change.run()).await? {
        None => Err(ChangeError::NotFound),
        Some(loaded) if by.user.as_ref().is_some_and(|user| *user != loaded.reminder.user) => {
            Err(ChangeError::NotFound)
        }
        Some(mut loaded) => {
            if let Some(family) = family_of(&loaded, change) {
                loaded.family = kin(db, id, &family).await?;
            }
            loaded.besides = besides(db, &loaded, change).await?;
            changed(loaded, change, by).map_err(ChangeError::from)
        }
    };
    let (occurrence, writes) = match decided {
        Ok(decided) => decided,
        Err(refused) => {
            db.rollback().await?;
            return Ok(Err(refused));
        }
    };
    let vanished = || impossible("a reminder vanished while it was changed");
    let written = all3(db.batch(BY_KEY), write(db, own, &writes), read::reminder(db, id));
    let view = match &by.repeat {
        None if writes.place.is_none() => both(written, db.commit()).await?.0.2.ok_or_else(vanished)?,
        // Whether this node still has the connection must be known before the commit.
        None => {
            let view = written.await?.2.ok_or_else(vanished)?;
            db.commit().await?;
            view
        }
        // Its answer must be known before the commit, and is written with it.
        Some(repeat) => {
            let view = written.await?.2.ok_or_else(vanished)?;
            let mut kept = Writes::new(by.now);
            kept.answered.push((repeat.key.clone(), repeat.answered(&view)));
            both(write(db, own, &kept), db.commit()).await?;
            view
        }
    };
    Ok(Ok(Changed::of(view, occurrence, writes)))
}

/// The reminder with its open runs, and the last that has ended: of all, or `run` if the command names one.
pub(super) async fn load(db: &Connection<'_>, id: ReminderId, run: Option<u32>) -> Result<Option<Loaded>, Fault> {
    let reminder = format!(
        "select {}, {}, exists (select from punctual.reminder k where k.escalates_id = $1) \
         from punctual.reminder r where r.id = $1",
        rows::REMINDER,
        rows::PROGRESS
    );
    let occurrences = |which: &str| {
        format!("select {} from punctual.occurrence o where o.reminder_id = $1 and {which}", rows::OCCURRENCE)
    };
    let open = occurrences(&format!("{} order by o.run", rows::OPEN));
    let meant = run.map_or(String::new(), |run| format!("and o.run = {run} "));
    let ended = occurrences(&format!("{} {meant}order by o.run desc limit 1", *rows::ENDED_BY_STATE));
    let id = uuid(id);
    let param: [Param<'_>; 1] = [(&id, Type::UUID)];
    let ((), found, open, ended) =
        all4(db.begin(BEGIN_SNAPSHOT), db.rows(&reminder, &param), db.rows(&open, &param), db.rows(&ended, &param))
            .await?;
    let Some(found) = found.first() else { return Ok(None) };
    let mut from = Reader::new(found, 0);
    Ok(Some(Loaded {
        reminder: rows::reminder(&mut from)?,
        progress: rows::progress(&mut from)?,
        open: each(&open, |found| rows::occurrence(&mut Reader::new(found, 0)))?,
        last_ended: each(&ended, |found| rows::occurrence(&mut Reader::new(found, 0)))?.pop(),
        has_kin: from.flag()?,
        family: Vec::new(),
        besides: Besides::Nothing,
    }))
}

/// What `change` needs to know beside that.
async fn besides(db: &Connection<'_>, loaded: &Loaded, change: &Change) -> Result<Besides, Fault> {
    Ok(match (change.plain(), &loaded.last_ended) {
        (Change::Undo, _) => Besides::Cancelled(cancelled(db, &loaded.reminder).await?),
        (Change::Resend(_), Some(run)) => Besides::Attempts(read::attempts(db, run.id).await?),
        _ => Besides::Nothing,
    })
}

/// The last cancel of a reminder, with the runs that it ended.
async fn cancelled(db: &Connection<'_>, reminder: &Reminder) -> Result<Option<Cancelled>, Fault> {
    let entry = "select j.at, j.data from punctual.journal j where j.reminder_id = $1 and j.kind = 'reminder.cancelled' \
        order by j.write desc, j.item desc limit 1";
    let id = uuid(reminder.id);
    let entry = each(&db.rows(entry, &[(&id, Type::UUID)]).await?, |found| {
        let mut from = Reader::new(found, 0);
        Ok((from.at()?, Ended::read(from.maybe_text()?)))
    })?;
    let Some((at, Some(ended))) = entry.into_iter().next() else { return Ok(None) };
    let numbers: Vec<i32> = ended.runs.iter().map(|run| int(*run)).collect();
    let runs = format!(
        "select {} from punctual.occurrence o where o.reminder_id = $1 and o.run = any ($2) order by o.run",
        rows::OCCURRENCE
    );
    let runs = db.rows(&runs, &[(&id, Type::UUID), (&numbers, Type::INT4_ARRAY)]).await?;
    let runs = each(&runs, |found| rows::occurrence(&mut Reader::new(found, 0)))?;
    let is_unlinked = match &reminder.event {
        None => false,
        Some(event) => {
            let sql = "select from punctual.event_reminder l where l.event_key = $1 and l.reminder_id = $2";
            db.rows(sql, &[(&event.key, Type::TEXT), (&id, Type::UUID)]).await?.is_empty()
        }
    };
    Ok(Some(Cancelled { at, ended, runs, is_unlinked }))
}

/// The family of a command about reminder `named`, without that one.
pub(super) async fn kin(db: &Connection<'_>, named: ReminderId, family: &Family) -> Result<Vec<Kin>, Fault> {
    // Those that `Family::has`.
    let which = match family.runs {
        Some(_) => "r.escalates_run = any ($3)".to_owned(),
        None => format!("{} and $3 is null", rows::MAY_BE_ASKED),
    };
    let sql = format!(
        "select {}, {}, {} from punctual.reminder r left join punctual.app_user u on u.id = r.user_id \
         where (r.id = $1 or r.escalates_id = $1 and {which}) and r.id <> $2 order by r.id",
        rows::REMINDER,
        rows::PROGRESS,
        rows::PERSON
    );
    let (root, named) = (uuid(family.root), uuid(named));
    let runs: Option<Vec<i32>> = family.runs.as_ref().map(|runs| runs.iter().map(|run| *run as i32).collect());
    let found = db.rows(&sql, &[(&root, Type::UUID), (&named, Type::UUID), (&runs, Type::INT4_ARRAY)]).await?;
    let mut found = each(&found, |row| {
        let mut from = Reader::new(row, 0);
        let (reminder, progress) = (rows::reminder(&mut from)?, rows::progress(&mut from)?);
        let person = rows::person_of(&reminder.user, row, rows::N_REMINDER + rows::N_PROGRESS);
        Ok(Kin { reminder, progress, open: Vec::new(), last_ended: None, person })
    })?;
    let ids: Vec<Uuid> = found.iter().map(|kin| uuid(kin.reminder.id)).collect();
    let about: Vec<i32> = found.iter().map(|kin| family.run_of(kin.reminder.id) as i32).collect();
    let runs = format!(
        "select o.* from unnest($1, $2) as v (id, run) cross join lateral ( \
           select {} from punctual.occurrence o where o.reminder_id = v.id \
           and (o.run = v.run or {}) order by o.run) as o",
        rows::OCCURRENCE,
        rows::OPEN_BY_KEY
    );
    for row in &db.rows(&runs, &[(&ids, Type::UUID_ARRAY), (&about, Type::INT4_ARRAY)]).await? {
        let run = rows::occurrence(&mut Reader::new(row, 0))?;
        let Some(kin) = found.iter_mut().find(|kin| kin.reminder.id == run.id.reminder) else { continue };
        if run.state.is_final() {
            kin.last_ended = Some(run);
        } else {
            kin.open.push(run);
        }
    }
    Ok(found)
}
