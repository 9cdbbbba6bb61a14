//! The runs to come, page by page, for an alarm that sets timers for them elsewhere.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_core::alarm::NextRun;
use punctual_core::id::{OccurrenceId, ReminderId};
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{BEGIN_READ_IN_ORDER, BY_KEY};
use super::fault::Fault;
use super::pipeline::{all3, both};
use super::pool::{Connection, Param};
use super::row::{self, get, int, micros, uuid};
use crate::rows::{self, Reader};

pub(super) async fn coming(
    db: &Connection<'_>,
    from: Timestamp,
    until: Timestamp,
    after: Option<(Timestamp, OccurrenceId)>,
    limit: usize,
) -> Result<Vec<(OccurrenceId, NextRun)>, Fault> {
    let beyond = if after.is_some() {
        "and wake_at >= $4 and (wake_at, reminder_id, run) > ($4, $5, $6)"
    } else {
        "and wake_at > $1"
    };
    // One stretch of the hot index for each priority, each in order already but for those of the same instant.
    let stretch = |rank: u8| {
        format!(
            "(select reminder_id, run, wake_at from punctual.occurrence o where priority = {rank} {beyond} \
             and wake_at <= $2 and {} order by wake_at, reminder_id, run limit $3)",
            *rows::TO_COME
        )
    };
    let stretches = [3, 2, 1, 0].map(stretch).join(" union all ");
    let sql = format!("select * from ({stretches}) as coming order by wake_at, reminder_id, run limit $3");
    let (from, until) = (micros(from), micros(until));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let after = after.map(|(at, id)| (micros(at), uuid(id.reminder), int(id.run)));
    let mut params: Vec<Param<'_>> =
        vec![(&from, Type::TIMESTAMPTZ), (&until, Type::TIMESTAMPTZ), (&limit, Type::INT8)];
    if let Some((at, reminder, run)) = &after {
        params.extend([(at as _, Type::TIMESTAMPTZ), (reminder as _, Type::UUID), (run as _, Type::INT4)]);
    }
    let ((), found) = both(db.begin(BEGIN_READ_IN_ORDER), db.rows(&sql, &params)).await?;

    let mut ids: Vec<Uuid> = found.iter().map(|found| get(found, 0)).collect::<Result<_, _>>()?;
    ids.sort_unstable();
    ids.dedup();
    let sql = "select r.id, r.user_id, r.route from unnest($1) as v (id) join punctual.reminder r on r.id = v.id";
    let ((), rows, ()) = all3(db.batch(BY_KEY), db.rows(sql, &[(&ids, Type::UUID_ARRAY)]), db.commit()).await?;
    let mut known: HashMap<ReminderId, (String, String)> = HashMap::with_capacity(rows.len());
    for found in &rows {
        // A reminder whose addresses cannot be read is no reason to leave out the others.
        let route = Reader::new(found, 2).addresses().unwrap_or_default();
        let channel = route.into_iter().next().map(|to| to.channel).unwrap_or_default();
        known.insert(row::reminder_id(found, 0)?, (get(found, 1)?, channel));
    }
    let mut coming = Vec::with_capacity(found.len());
    for found in &found {
        let id = row::occurrence_id(found, 0)?;
        let (user, channel) = known.get(&id.reminder).cloned().unwrap_or_default();
        coming.push((id, NextRun { reminder: id.reminder, user, channel, at: row::instant(found, 2)? }));
    }
    Ok(coming)
}
