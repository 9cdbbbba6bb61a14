//! The runs to come, page by page, for an alarm that sets timers for them elsewhere.

use jiff::Timestamp;
use punctual_core::alarm::NextRun;
use punctual_core::id::OccurrenceId;
use punctual_core::store::StoreError;
use rusqlite::{Connection, params};

use super::row::{broken, get, micros};
use crate::rows::{self, Reader};

pub(super) fn coming(
    db: &Connection,
    from: Timestamp,
    until: Timestamp,
    after: Option<(Timestamp, OccurrenceId)>,
    limit: usize,
) -> Result<Vec<(OccurrenceId, NextRun)>, StoreError> {
    // One stretch of the hot index for each priority. It ends with the primary key, so each is in order already.
    let stretch = |rank: u8| {
        format!(
            "SELECT * FROM (SELECT reminder_id, run, wake_at FROM occurrence o WHERE priority = {rank} \
             AND wake_at IS NOT NULL AND (wake_at, reminder_id, run) > (?1, ?2, ?3) AND wake_at <= ?4 \
             AND {} ORDER BY wake_at, reminder_id, run LIMIT ?5)",
            *rows::TO_COME
        )
    };
    let stretches = [3, 2, 1, 0].map(stretch).join(" UNION ALL ");
    let sql = format!(
        "SELECT c.reminder_id, c.run, c.wake_at, r.user_id, r.route FROM \
         (SELECT * FROM ({stretches}) ORDER BY wake_at, reminder_id, run LIMIT ?5) AS c \
         CROSS JOIN reminder r ON r.id = c.reminder_id"
    );
    let mut statement = db.prepare_cached(&sql).map_err(broken)?;
    // Without a place to go on from: after all that could be at `from`.
    let last = ([u8::MAX; 16], u32::MAX);
    let (at, (reminder, run)) = after.map_or((from, last), |(at, id)| (at, (*id.reminder.as_bytes(), id.run)));
    let mut rows = statement.query(params![micros(at), reminder, run, micros(until), limit]).map_err(broken)?;
    let mut coming = Vec::new();
    while let Some(found) = rows.next().map_err(broken)? {
        let mut from = Reader::new(found, 0);
        let (id, at) = (from.occurrence_id()?, from.at()?);
        // A reminder whose addresses cannot be read is no reason to leave out the others.
        let route = Reader::new(found, 4).addresses().unwrap_or_default();
        let channel = route.into_iter().next().map(|to| to.channel).unwrap_or_default();
        coming.push((id, NextRun { reminder: id.reminder, user: get(found, 3)?, channel, at }));
    }
    Ok(coming)
}
