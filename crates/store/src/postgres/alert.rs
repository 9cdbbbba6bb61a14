//! Alerts for the admins and questions to further people, made in the transaction that has written the news.
//!
//! It is rare, but a receiver that breaks may have many critical reminders at once, so each statement is for all of them.

use std::collections::{BTreeSet, HashMap};

use punctual_core::alarm::NextRun;
use punctual_core::alert::News;
use punctual_core::decide::tell::{Newsworthy, People, alerts_about, groups_of, people_of, told};
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::Attempt;
use punctual_core::writes::Writes;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::Ids;
use super::fault::Fault;
use super::pipeline::all3;
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{get, uuid};
use super::{group, keep};
use crate::rows::{self, Fields, Reader};

/// The reminders that tell people the news of `writes`, which have been written; and the runs that they plan.
pub(super) async fn tell(db: &Connection<'_>, writes: &Writes) -> Result<(Writes, Vec<NextRun>), Fault> {
    let named: BTreeSet<OccurrenceId> = writes.news.iter().map(|(id, _)| *id).collect();
    let ids: Ids = named.into_iter().collect();
    let params: [Param<'_>; 2] = [(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY)];
    let runs = format!(
        "select {}, {}, u.escalate, array(select a.user_id from punctual.reminder a where a.escalates_id = v.reminder_id \
           and a.escalates_run = v.run and a.status = 'active') \
         from unnest($1, $2) as v (reminder_id, run) \
         join punctual.reminder r on r.id = v.reminder_id \
         join punctual.occurrence o on o.reminder_id = v.reminder_id and o.run = v.run \
         left join punctual.app_user u on u.id = r.user_id",
        rows::REMINDER,
        rows::OCCURRENCE
    );
    let attempts = format!(
        "select a.reminder_id, a.run, {} from unnest($1, $2) as v (reminder_id, run) \
         join punctual.attempt a on a.reminder_id = v.reminder_id and a.run = v.run order by a.reminder_id, a.run, a.number",
        rows::ATTEMPT
    );
    let (admins, runs, attempts) = all3(keep::admins(db), db.rows(&runs, &params), db.rows(&attempts, &params)).await?;
    let mut tried: HashMap<OccurrenceId, Vec<Attempt>> = HashMap::new();
    for row in &attempts {
        let mut from = Reader::new(row, 0);
        tried.entry(from.occurrence_id()?).or_default().push(rows::attempt(&mut from)?);
    }
    let mut newsworthy = Vec::with_capacity(writes.news.len());
    for row in &runs {
        let mut from = Reader::new(row, 0);
        let (reminder, occurrence) = (rows::reminder(&mut from)?, rows::occurrence(&mut from)?);
        // An owner who cannot be read has no plan.
        let (escalate, waiting) =
            (from.steps().unwrap_or_default(), get(row, rows::N_REMINDER + rows::N_OCCURRENCE + 1)?);
        let attempts = tried.remove(&occurrence.id).unwrap_or_default();
        let id = occurrence.id;
        let run = Newsworthy { news: News::Ended, reminder, occurrence, attempts, escalate, waiting };
        // There may be more than one thing to say of a run.
        let news = writes.news.iter().filter(|(about, _)| *about == id);
        newsworthy.extend(news.map(|(_, news)| Newsworthy { news: *news, ..run.clone() }));
    }
    let groups = match groups_of(&newsworthy) {
        none if none.is_empty() => Vec::new(),
        names => group::of_names(db, &names).await?,
    };
    let users = match people_of(&newsworthy, &groups) {
        nobody if nobody.is_empty() => Vec::new(),
        people => keep::users_of(db, &people).await?,
    };
    let people = People { admins, groups, users };
    let alerts = alerts_about(&newsworthy, &writes.unreadable, &people, writes.now);
    let looked_for: Vec<Uuid> = alerts.looked_for().into_iter().map(uuid).collect();
    let there = if looked_for.is_empty() {
        Vec::new()
    } else {
        let sql = "select r.id from punctual.reminder r where r.id = any($1)";
        each(&db.rows(sql, &[(&looked_for, Type::UUID_ARRAY)]).await?, |found| Fields::id(found, 0))?
    };
    Ok(told(alerts, &there, writes.now))
}
