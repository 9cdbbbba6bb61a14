//! Alerts for the admins, made in the transaction that has written the news.
//!
//! It is rare, but a receiver that breaks may have many critical reminders at once, so each statement is for all of them.

use std::collections::HashMap;

use punctual_core::alarm::NextRun;
use punctual_core::decide::tell::{Newsworthy, alerts_about, told};
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::Attempt;
use punctual_core::writes::Writes;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::Ids;
use super::fault::Fault;
use super::keep;
use super::pipeline::all3;
use super::pool::{Connection, Param};
use super::read::each;
use super::row::uuid;
use crate::rows::{self, Fields, Reader};

/// The alerts that tell the admins the news of `writes`, which have been written; and the runs that they plan.
pub(super) async fn tell(db: &Connection<'_>, writes: &Writes) -> Result<(Writes, Vec<NextRun>), Fault> {
    let ids: Ids = writes.news.iter().map(|(id, _)| *id).collect();
    let params: [Param<'_>; 2] = [(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY)];
    let runs = format!(
        "select {}, {} from unnest($1, $2) as v (reminder_id, run) \
         join punctual.reminder r on r.id = v.reminder_id \
         join punctual.occurrence o on o.reminder_id = v.reminder_id and o.run = v.run",
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
    let mut newsworthy = Vec::with_capacity(runs.len());
    for row in &runs {
        let mut from = Reader::new(row, 0);
        let (reminder, occurrence) = (rows::reminder(&mut from)?, rows::occurrence(&mut from)?);
        let attempts = tried.remove(&occurrence.id).unwrap_or_default();
        let news = writes.news.iter().find(|(id, _)| *id == occurrence.id).map(|(_, news)| *news);
        newsworthy.extend(news.map(|news| Newsworthy { news, reminder, occurrence, attempts }));
    }
    let alerts = alerts_about(&newsworthy, &writes.unreadable, &admins, writes.now);
    let looked_for: Vec<Uuid> = alerts.looked_for().into_iter().map(uuid).collect();
    if looked_for.is_empty() {
        return Ok((Writes::new(writes.now), Vec::new()));
    }
    let sql = "select r.id from punctual.reminder r where r.id = any($1)";
    let there = db.rows(sql, &[(&looked_for, Type::UUID_ARRAY)]).await?;
    let there = each(&there, |found| Fields::id(found, 0))?;
    Ok(told(alerts, &there, writes.now))
}
