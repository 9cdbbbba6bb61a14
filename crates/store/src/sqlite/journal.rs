//! Reading the journal, and removing what is old of it.

use jiff::Timestamp;
use punctual_core::id::ReminderId;
use punctual_core::store::{JournalPage, JournalQuery, Start, StoreError};
use rusqlite::{Connection, params, params_from_iter};

use super::row::{broken, micros};
use crate::journal::{ENTRY, page, placed, stretch, wanted};

const MICROS_OF_HOUR: i64 = 3_600_000_000;

/// The last position there is.
pub(super) fn head(db: &Connection) -> Result<i64, StoreError> {
    ends(db).map(|(_, head)| head)
}

/// The oldest and the last position that are kept.
fn ends(db: &Connection) -> Result<(i64, i64), StoreError> {
    let sql = "SELECT (SELECT min(number) FROM journal), (SELECT max(number) FROM journal)";
    let ends = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
    let (first, head) = db.prepare_cached(sql).map_err(broken)?.query_row([], ends).map_err(broken)?;
    let head = head.unwrap_or(0);
    Ok((first.unwrap_or(head + 1), head))
}

pub(super) fn journal(db: &Connection, query: &JournalQuery) -> Result<JournalPage, StoreError> {
    let (first, head) = ends(db)?;
    // Whatever happened since then was written no earlier than this.
    let oldest = match query.from {
        Some(from) => since(db, from)?.unwrap_or(head + 1).max(first),
        None => first,
    };
    let stretch @ (from, to) = stretch(query, oldest, head);
    let (conditions, values) = wanted(query, '?', "reminder_tag");
    let order = match query.start {
        Start::After(_) => "ASC",
        Start::Before(_) => "DESC",
    };
    // Both of them are numbers, so they need not be values.
    let sql = format!(
        "SELECT j.number, 'local', {ENTRY} FROM journal j WHERE j.number BETWEEN {from} AND {to}{conditions} \
         ORDER BY j.number {order} LIMIT {}",
        query.limit
    );
    let mut statement = db.prepare(&sql).map_err(broken)?;
    let mut rows = statement.query(params_from_iter(values)).map_err(broken)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next().map_err(broken)? {
        entries.push(placed(row)?);
    }
    Ok(page(query, entries, stretch, oldest, (first, head)))
}

/// The number of an entry that every entry from `from` on comes after, or is; `None`: there is none. Clocks jump, so a later entry may tell
/// of an earlier instant, and no search by halves would do.
fn since(db: &Connection, from: Timestamp) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT min(first) FROM journal_hour WHERE hour >= ?";
    let mut statement = db.prepare_cached(sql).map_err(broken)?;
    statement.query_row([micros(from) / MICROS_OF_HOUR], |row| row.get(0)).map_err(broken)
}

/// Writes the hours of entries that were written a moment ago, as the last rows of all.
pub(super) fn write_hours(db: &Connection, at: impl ExactSizeIterator<Item = Timestamp>) -> Result<(), StoreError> {
    let (last, n, mut written) = (db.last_insert_rowid(), at.len(), None);
    for (index, at) in at.enumerate() {
        let hour = micros(at) / MICROS_OF_HOUR;
        if written.replace(hour) == Some(hour) {
            continue;
        }
        let n_after = i64::try_from(n - 1 - index).unwrap_or(i64::MAX);
        db.prepare_cached("INSERT INTO journal_hour (hour, first) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .map_err(broken)?
            .execute([hour, last - n_after])
            .map_err(broken)?;
    }
    Ok(())
}

/// Those of these reminders that have the tag.
pub(super) fn tagged(db: &Connection, tag: &str, reminders: &[ReminderId]) -> Result<Vec<ReminderId>, StoreError> {
    let sql = "SELECT 1 FROM reminder_tag WHERE tag = ? AND reminder_id = ?";
    let mut statement = db.prepare_cached(sql).map_err(broken)?;
    let mut found = Vec::new();
    for id in reminders {
        if statement.exists(params![tag, id.as_bytes()]).map_err(broken)? {
            found.push(*id);
        }
    }
    Ok(found)
}

/// Removes entries from before `before`, the oldest first, and never the last.
pub(super) fn prune(db: &Connection, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM journal WHERE number IN (SELECT number FROM journal WHERE number < (SELECT max(number) FROM journal) \
               ORDER BY number LIMIT ?2) AND at < ?1";
    let n_gone = db.prepare_cached(sql).map_err(broken)?.execute(params![micros(before), limit]).map_err(broken)?;
    if n_gone < limit {
        // Nothing is left of the hours before, but for entries that the next pass removes.
        db.prepare_cached("DELETE FROM journal_hour WHERE hour < ?")
            .map_err(broken)?
            .execute([micros(before) / MICROS_OF_HOUR])
            .map_err(broken)?;
    }
    Ok(n_gone)
}

#[cfg(test)]
mod tests {
    use punctual_core::store::LOOKED_AT_MAX;

    use super::*;

    #[test]
    fn a_page_begins_where_the_instant_is() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(&crate::sqlite::all_versions()).unwrap();
        // An entry each second: more than a page looks at, and then some hours.
        let n = LOOKED_AT_MAX + 10_000;
        db.execute_batch(&format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {n}) \
             INSERT INTO journal (number, at, kind) SELECT n, n * 1000000, 'reminder.sent' FROM n; \
             INSERT INTO journal_hour SELECT at / {MICROS_OF_HOUR}, min(number) FROM journal GROUP BY 1"
        ))
        .unwrap();
        let from = n as i64 - 100;
        let since = Some(Timestamp::from_second(from).unwrap());
        for start in [Start::OLDEST, Start::NEWEST] {
            let page = journal(&db, &JournalQuery { from: since, ..JournalQuery::new(start, 500) }).unwrap();
            let mut found: Vec<i64> = page.entries.iter().map(|entry| entry.position).collect();
            found.sort_unstable();
            assert_eq!((found, page.is_last), ((from..=n as i64).collect::<Vec<_>>(), true), "{start:?}");
        }
        let old = Timestamp::from_second(n as i64).unwrap();
        assert_eq!(prune(&db, old, n).unwrap(), n - 1);
        let n_hours: i64 = db.query_row("SELECT count(*) FROM journal_hour", [], |row| row.get(0)).unwrap();
        assert_eq!(n_hours, 1, "the hours go with their entries");
    }
}
