//! Everything there is, out and in; and one person, out for ever.

use std::collections::{BTreeSet, HashMap, HashSet};

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::decide::adopt::{There, Wanted, adopted};
use punctual_core::decide::claim::Due;
use punctual_core::feed::FeedKey;
use punctual_core::id::{OccurrenceId, ReminderId, SilenceId};
use punctual_core::journal::Placed;
use punctual_core::store::{Record, Redacted, Removed, StoreError, Which, WholeQuery, Wholes, Wholly};
use punctual_core::watch::LedgerRow;
use punctual_core::whole::{Adopted, Content, Line, Overdue, WholeRun};
use punctual_core::writes::Link;
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::read::{attempts, collect};
use super::row::{broken, get, micros};
use super::values::for_rows;
use super::worker::Urgency;
use super::{erase, write};
use crate::journal::{ENTRY, placed};
use crate::rows::{self, Reader};
use crate::watch::ledger;
use crate::whole::{Found, put_together};

#[async_trait]
impl Wholes for SqliteStore {
    async fn wholes(&self, query: WholeQuery) -> Result<Wholly, StoreError> {
        self.read(move |db| at_one_moment(db, |db| wholes(db, &query))).await
    }

    async fn runs_below(&self, id: ReminderId, below: u32, limit: usize) -> Result<Vec<WholeRun>, StoreError> {
        self.read(move |db| at_one_moment(db, |db| runs_below(db, id, below, limit))).await
    }

    async fn has_entries(&self, entries: Vec<Placed>) -> Result<Vec<bool>, StoreError> {
        self.read(move |db| {
            let there = entries_there(db, &entries.iter().collect::<Vec<_>>())?;
            Ok(entries.iter().map(|entry| there.contains(&Content::of(entry))).collect())
        })
        .await
    }

    async fn adopt(&self, lines: Vec<Line>, overdue: Overdue, now: Timestamp) -> Result<Adopted, StoreError> {
        self.write(Urgency::Bulk, move |db| {
            let there = there(db, &Wanted::of(&lines))?;
            let (adopted, adoption) = adopted(lines, there, overdue, now);
            write::adopt(db, &adoption)?;
            Ok(adopted)
        })
        .await
    }

    async fn links(&self, event: &str) -> Result<Vec<Link>, StoreError> {
        let event = event.to_owned();
        self.read(move |db| {
            let sql = format!(
                "SELECT {} FROM event_reminder l WHERE l.event_key = ? ORDER BY l.instance, l.offset_word, l.user_id",
                rows::LINK
            );
            collect(db, &sql, [event], |row| rows::link(row))
        })
        .await
    }

    async fn ledgers(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<(String, LedgerRow)>, StoreError> {
        let (watch, key) = after.unwrap_or_default();
        self.read(move |db| {
            let sql = "SELECT l.key, l.due_at, l.n, l.sent_at, l.watch FROM watch_ledger l WHERE (l.watch, l.key) > (?, ?) \
                       ORDER BY l.watch, l.key LIMIT ?";
            collect(db, sql, params![watch, key, limit], |row| Ok((get(row, 4)?, ledger(row)?)))
        })
        .await
    }

    async fn remove_reminders(&self, user: &str) -> Result<Removed, StoreError> {
        let user = user.to_owned();
        self.write(Urgency::Bulk, move |db| erase::secure(db, |db| erase::remove_reminders(db, &user))).await
    }

    async fn redact(&self, user: &str, record: Record, after: &str) -> Result<Redacted, StoreError> {
        let (user, after) = (user.to_owned(), after.to_owned());
        self.write(Urgency::Bulk, move |db| erase::secure(db, |db| erase::redact(db, &user, record, &after))).await
    }
}

/// Lets `work` see one moment of the file.
fn at_one_moment<T>(db: &Connection, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
    let _snapshot = db.is_autocommit().then(|| db.unchecked_transaction()).transpose().map_err(broken)?;
    work(db)
}

fn wholes(db: &Connection, query: &WholeQuery) -> Result<Wholly, StoreError> {
    let mut found = Found::default();
    let columns = format!("SELECT {}, {} FROM reminder r", rows::REMINDER, rows::PROGRESS);
    match (&query.which, &query.user) {
        (Which::After(after, limit), user) => {
            let after = after.map_or_else(Vec::new, |id| id.as_bytes().to_vec());
            let whose = if user.is_some() { "r.user_id = ?2" } else { "?2 IS NULL" };
            let sql = format!("{columns} WHERE r.id > ?1 AND {whose} ORDER BY r.id LIMIT ?3");
            collect(db, &sql, params![after, user, limit], |row| found.add(row, query))?;
        }
        (Which::These(ids), _) => {
            let sql = format!("{columns} WHERE r.id IN (VALUES {{values}})");
            for_rows(db, &sql, 1, ids, |id, values| values.push(id.as_bytes()), |row| found.add(row, query))?;
        }
    }
    let (mut runs, mut more) = (Vec::new(), HashMap::new());
    for id in found.reminders.keys().copied().collect::<Vec<_>>() {
        match runs_of(db, id, query.runs_max) {
            Ok((these, below)) => {
                runs.extend(these);
                more.extend(below.map(|below| (id, below)));
            }
            Err(error @ StoreError::Broken(_)) => found.set_aside(id, &error),
            Err(error) => return Err(error),
        }
    }
    Ok(found.page(runs, &more))
}

/// The newest runs of a reminder and all that are open; and below which run there are more.
fn runs_of(db: &Connection, id: ReminderId, max: usize) -> Result<(Vec<WholeRun>, Option<u32>), StoreError> {
    let sql =
        format!("SELECT {} FROM occurrence o WHERE o.reminder_id = ?1 ORDER BY o.run DESC LIMIT ?2", rows::OCCURRENCE);
    let mut due = collect(db, &sql, params![id.as_bytes(), max + 1], |row| rows::due(&mut Reader::new(row, 0)))?;
    if due.len() <= max {
        return Ok((with_trails(db, id, due, u32::MAX)?, None));
    }
    due.truncate(max);
    let below = due.last().map_or(u32::MAX, |due| due.occurrence.id.run);
    let mut runs = with_trails(db, id, due, u32::MAX)?;
    let sql = format!(
        "SELECT {} FROM occurrence o WHERE o.reminder_id = ?1 AND o.run < ?2 AND {} ORDER BY o.run",
        rows::OCCURRENCE,
        rows::OPEN
    );
    let open = collect(db, &sql, params![id.as_bytes(), below], |row| rows::due(&mut Reader::new(row, 0)))?;
    for due in open {
        let run = due.occurrence.id.run;
        runs.extend(with_trails(db, id, vec![due], run)?);
    }
    runs.sort_unstable_by_key(|run| run.occurrence.id);
    Ok((runs, Some(below)))
}

/// These runs of a reminder, none of them after `last`, with their attempts and answers.
fn with_trails(db: &Connection, id: ReminderId, due: Vec<Due>, last: u32) -> Result<Vec<WholeRun>, StoreError> {
    let Some(first) = due.iter().map(|due| due.occurrence.id.run).min() else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    if first == last {
        let run = OccurrenceId { reminder: id, run: first };
        all.extend(attempts(db, run)?.into_iter().map(|attempt| (run, attempt)));
    } else {
        let sql = format!(
            "SELECT a.reminder_id, a.run, {} FROM attempt a WHERE a.reminder_id = ?1 AND a.run BETWEEN ?2 AND ?3 \
             ORDER BY a.run, a.number",
            rows::ATTEMPT
        );
        all = collect(db, &sql, params![id.as_bytes(), first, last], |row| {
            let mut from = Reader::new(row, 0);
            Ok((from.occurrence_id()?, rows::attempt(&mut from)?))
        })?;
    }
    let sql = format!(
        "SELECT {} FROM response s WHERE s.reminder_id = ?1 AND s.run BETWEEN ?2 AND ?3 ORDER BY s.number",
        rows::RESPONSE
    );
    let responses =
        collect(db, &sql, params![id.as_bytes(), first, last], |row| rows::response(&mut Reader::new(row, 0)))?;
    Ok(put_together(due, all, responses))
}

fn runs_below(db: &Connection, id: ReminderId, below: u32, limit: usize) -> Result<Vec<WholeRun>, StoreError> {
    let sql = format!(
        "SELECT {} FROM occurrence o WHERE o.reminder_id = ?1 AND o.run < ?2 AND {} ORDER BY o.run DESC LIMIT ?3",
        rows::OCCURRENCE,
        rows::ENDED
    );
    let due = collect(db, &sql, params![id.as_bytes(), below, limit], |row| rows::due(&mut Reader::new(row, 0)))?;
    with_trails(db, id, due, below.saturating_sub(1))
}

/// What is there of what lines name.
fn there(db: &Connection, wanted: &Wanted<'_>) -> Result<There, StoreError> {
    let mut there = There { entries: entries_there(db, &wanted.entries)?, ..There::default() };
    let of_id = "SELECT id FROM {table} WHERE id IN (VALUES {values})";
    for_rows(
        db,
        &of_id.replace("{table}", "reminder"),
        1,
        &wanted.reminders,
        |id, values| values.push(id.as_bytes()),
        |row| {
            there.reminders.insert(Reader::new(row, 0).id()?);
            Ok(())
        },
    )?;
    for_rows(
        db,
        "SELECT reminder_id, run FROM occurrence WHERE (reminder_id, run) IN (VALUES {values})",
        2,
        &wanted.runs,
        |id, values| {
            values.push(id.reminder.as_bytes());
            values.push(id.run);
        },
        |row| {
            there.runs.insert(Reader::new(row, 0).occurrence_id()?);
            Ok(())
        },
    )?;
    for_rows(
        db,
        &of_id.replace("{table}", "user"),
        1,
        &wanted.users,
        |id, values| values.push(id),
        |row| {
            there.users.insert(get(row, 0)?);
            Ok(())
        },
    )?;
    for_rows(
        db,
        "SELECT name FROM user_group WHERE name IN (VALUES {values})",
        1,
        &wanted.groups,
        |name, values| values.push(name),
        |row| {
            there.groups.insert(get(row, 0)?);
            Ok(())
        },
    )?;
    for_rows(
        db,
        &of_id.replace("{table}", "silence"),
        1,
        &wanted.silences,
        |id, values| values.push(id.as_bytes()),
        |row| {
            there.silences.insert(SilenceId::from_bytes(*Reader::new(row, 0).id()?.as_bytes()));
            Ok(())
        },
    )?;
    let named = |table: &str, key: &str, names: &[&str], into: &mut HashSet<String>| {
        let sql = format!("SELECT {key} FROM {table} WHERE {key} IN (VALUES {{values}})");
        for_rows(
            db,
            &sql,
            1,
            names,
            |name, values| values.push(name),
            |row| {
                into.insert(get(row, 0)?);
                Ok(())
            },
        )
    };
    named("scope", "path", &wanted.scopes, &mut there.scopes)?;
    named("event", "key", &wanted.events, &mut there.events)?;
    for_rows(
        db,
        "SELECT watch, key FROM watch_ledger WHERE (watch, key) IN (VALUES {values})",
        2,
        &wanted.ledger,
        |(watch, key), values| {
            values.push(watch);
            values.push(key);
        },
        |row| {
            there.ledger.insert((get(row, 0)?, get(row, 1)?));
            Ok(())
        },
    )?;
    for_rows(
        db,
        "SELECT owner, name FROM feed WHERE kind = 'user' AND (owner, name) IN (VALUES {values})",
        2,
        &wanted.feeds,
        |key, values| {
            values.push(key.owner.as_str());
            values.push(key.name.as_str());
        },
        |row| {
            there.feeds.insert(FeedKey::of_user(&get::<String>(row, 0)?, &get::<String>(row, 1)?));
            Ok(())
        },
    )?;
    Ok(there)
}

/// What is said by entries that are there, of the times and reminders of these.
fn entries_there(db: &Connection, entries: &[&Placed]) -> Result<HashSet<Content>, StoreError> {
    let at = entries.iter().map(|entry| micros(entry.at));
    let Some((first, last)) = at.clone().min().zip(at.max()) else { return Ok(HashSet::new()) };
    let reminders: BTreeSet<Option<ReminderId>> = entries.iter().map(|entry| entry.reminder).collect();
    let mut there = HashSet::new();
    for reminder in reminders {
        let of = if reminder.is_some() { "j.reminder_id = ?1" } else { "?1 IS NULL AND j.reminder_id IS NULL" };
        let sql = format!("SELECT j.number, 'local', {ENTRY} FROM journal j WHERE {of} AND j.at BETWEEN ?2 AND ?3");
        let id = reminder.as_ref().map(ReminderId::as_bytes);
        there.extend(collect(db, &sql, params![id, first, last], |row| Ok(Content::of(&placed(row)?)))?);
    }
    Ok(there)
}
