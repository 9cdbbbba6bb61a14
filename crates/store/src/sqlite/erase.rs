//! Removing a person: their reminders, and their name in the records of others.

use punctual_core::id::ReminderId;
use punctual_core::journal::ENGINE;
use punctual_core::reminder::Reminder;
use punctual_core::rules::redact::{self, ERASED};
use punctual_core::store::{ERASED_AT_ONCE, Record, Redacted, Removed, StoreError};
use rusqlite::types::{FromSql, ToSql};
use rusqlite::{Connection, OptionalExtension, params};

use super::read::collect;
use super::row::{broken, get};
use super::write::update;
use crate::columns::{FEED_PROBLEMS, REMINDER_FIELDS};
use crate::erase::{ROTAS, SMALL, after_bad, in_json, in_path, redact_bad};
use crate::journal::{ENTRY, placed};
use crate::rows::{self, Reader};
use crate::watch::{self, BAD};

/// How many reminders are looked at together.
const REMINDERS: usize = 200;

/// Lets `work` leave nothing of what it removes in the free pages of the file.
pub(super) fn secure<T>(
    db: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    db.pragma_update(None, "secure_delete", true).map_err(broken)?;
    let done = work(db);
    db.pragma_update(None, "secure_delete", false).map_err(broken)?;
    done
}

pub(super) fn remove_reminders(db: &Connection, user: &str) -> Result<Removed, StoreError> {
    let sql = "SELECT id FROM reminder WHERE user_id = ? ORDER BY id LIMIT ?";
    let ids = collect(db, sql, params![user, REMINDERS], |row| Reader::new(row, 0).id())?;
    let mut removed = Removed { has_more: ids.len() == REMINDERS, ..Removed::default() };
    let mut n_rows = 0;
    for id in ids {
        if n_rows >= ERASED_AT_ONCE {
            removed.has_more = true;
            break;
        }
        let sql = format!("SELECT 1 FROM occurrence o WHERE o.reminder_id = ? AND {}", rows::OPEN);
        if db.prepare_cached(&sql).map_err(broken)?.exists([id.as_bytes()]).map_err(broken)? {
            removed.open.push(id);
            continue;
        }
        let some = "(SELECT reminder_id, run FROM occurrence WHERE reminder_id = ?1 ORDER BY run LIMIT ?2)";
        let mut n = 0;
        for table in ["attempt", "response", "occurrence"] {
            let sql = format!("DELETE FROM {table} WHERE (reminder_id, run) IN {some}");
            let mut statement = db.prepare_cached(&sql).map_err(broken)?;
            n = statement.execute(params![id.as_bytes(), ERASED_AT_ONCE]).map_err(broken)?;
        }
        n_rows += n + 1;
        if n == ERASED_AT_ONCE {
            removed.has_more = true;
            break;
        }
        db.prepare_cached("DELETE FROM reminder WHERE id = ?")
            .map_err(broken)?
            .execute([id.as_bytes()])
            .map_err(broken)?;
        removed.n_reminders += 1;
    }
    Ok(removed)
}

pub(super) fn redact(db: &Connection, user: &str, record: Record, after: &str) -> Result<Redacted, StoreError> {
    match record {
        Record::Reminders => reminders(db, user, after),
        Record::Responses => responses(db, user, after),
        Record::Silences => silences(db, user),
        Record::Answered => answered(db, user, after),
        Record::Small => {
            let mut n = 0;
            for sql in SMALL {
                n += db.execute(&sql.replace("{}", "").replace("$1", "?1"), [user]).map_err(broken)?;
            }
            let mut rotas = collect(db, &ROTAS.replace("{}", ""), [], |row| rows::feed(row))?;
            rotas.retain_mut(|rota| redact::feed(rota, user));
            update(db, &FEED_PROBLEMS, &rotas)?;
            n += rotas.len();
            Ok(Redacted { n, next: None })
        }
        Record::BadRows => bad_rows(db, user, after),
        Record::Journal => journal(db, user, after),
    }
}

/// The key of the last row that is looked at after `after`; none when there are no more rows than that.
fn until<K: FromSql>(db: &Connection, table: &str, key: &str, after: impl ToSql) -> Result<Option<K>, StoreError> {
    let sql =
        format!("SELECT {key} FROM {table} WHERE {key} > ?1 ORDER BY {key} LIMIT 1 OFFSET {}", ERASED_AT_ONCE - 1);
    let mut statement = db.prepare_cached(&sql).map_err(broken)?;
    statement.query_row([after], |row| row.get(0)).optional().map_err(broken)
}

fn reminders(db: &Connection, user: &str, after: &str) -> Result<Redacted, StoreError> {
    let after = after.parse::<ReminderId>().map_or_else(|_| Vec::new(), |id| id.as_bytes().to_vec());
    let until: Option<[u8; 16]> = until(db, "reminder", "id", &after)?;
    let sql = format!(
        "SELECT {} FROM reminder r WHERE r.id > ?1 AND (?2 IS NULL OR r.id <= ?2) AND r.user_id <> ?3 \
         AND (instr(r.metadata, ?4) > 0 OR instr(coalesce(r.escalate, ''), ?4) > 0)",
        rows::REMINDER
    );
    let mut changed: Vec<Reminder> = Vec::new();
    collect(db, &sql, params![after, until, user, in_json(user)], |row| {
        let mut reminder = rows::reminder(&mut Reader::new(row, 0))?;
        if redact::reminder(&mut reminder, user) {
            changed.push(reminder);
        }
        Ok(())
    })?;
    update(db, &REMINDER_FIELDS, &changed)?;
    for reminder in changed.iter().filter(|reminder| reminder.message == ERASED) {
        // It is not found by the words that it had.
        db.prepare_cached("DELETE FROM search_text WHERE reminder_id = ?")
            .map_err(broken)?
            .execute([reminder.id.as_bytes()])
            .map_err(broken)?;
    }
    Ok(Redacted { n: changed.len(), next: until.map(|id| ReminderId::from_bytes(id).to_string()) })
}

fn responses(db: &Connection, user: &str, after: &str) -> Result<Redacted, StoreError> {
    let after: i64 = after.parse().unwrap_or(0);
    let until: Option<i64> = until(db, "response", "number", after)?;
    let sql = format!(
        "SELECT s.number, {} FROM response s WHERE s.number > ?1 AND s.number <= coalesce(?2, {}) \
         AND (s.user_id = ?3 OR instr(s.actor, ?3) > 0)",
        rows::RESPONSE,
        i64::MAX
    );
    let found = collect(db, &sql, params![after, until, user], |row| {
        Ok((get::<i64>(row, 0)?, rows::response(&mut Reader::new(row, 1))?))
    })?;
    let mut n = 0;
    for (number, mut response) in found {
        if redact::response(&mut response, user) {
            n += 1;
            db.prepare_cached("UPDATE response SET user_id = ?, actor = ?, text = ?, name = ? WHERE number = ?")
                .map_err(broken)?
                .execute(params![response.user, response.actor, response.said.text, response.said.name, number])
                .map_err(broken)?;
        }
    }
    Ok(Redacted { n, next: until.map(|number| number.to_string()) })
}

fn silences(db: &Connection, user: &str) -> Result<Redacted, StoreError> {
    let gone = db.execute("DELETE FROM silence WHERE user_id = ?", [user]).map_err(broken)?;
    let sql = "UPDATE silence SET created_by = ?1 WHERE created_by = ?2";
    let asked = db.execute(sql, params![ERASED, user]).map_err(broken)?;
    Ok(Redacted { n: gone + asked, next: None })
}

fn answered(db: &Connection, user: &str, after: &str) -> Result<Redacted, StoreError> {
    let until: Option<String> = until(db, "answered", "key", after)?;
    let sql = "DELETE FROM answered WHERE key > ?1 AND (?2 IS NULL OR key <= ?2) AND instr(body, ?3) > 0";
    let n = db.execute(sql, params![after, until, in_json(user)]).map_err(broken)?;
    Ok(Redacted { n, next: until })
}

fn bad_rows(db: &Connection, user: &str, after: &str) -> Result<Redacted, StoreError> {
    let (run, number) = after_bad(after);
    let sql = "SELECT run, number, key, field, problem FROM watch_bad WHERE (run, number) > (?, ?) ORDER BY run, number LIMIT ?";
    let page = collect(db, sql, params![run.as_bytes(), number, ERASED_AT_ONCE], |row| watch::bad(row))?;
    let (changed, next) = redact_bad(page, user);
    update(db, &BAD, &changed)?;
    Ok(Redacted { n: changed.len(), next })
}

fn journal(db: &Connection, user: &str, after: &str) -> Result<Redacted, StoreError> {
    let after: i64 = after.parse().unwrap_or(0);
    let until: Option<i64> = until(db, "journal", "number", after)?;
    let sql = format!(
        "SELECT j.number, 'local', {ENTRY} FROM journal j WHERE j.number > ?1 AND j.number <= coalesce(?2, {}) \
         AND (j.user_id = ?3 OR instr(coalesce(j.actor, ''), ?3) > 0 OR instr(coalesce(j.data, ''), ?4) > 0 \
         OR instr(coalesce(j.data, ''), ?5) > 0)",
        i64::MAX
    );
    let found = collect(db, &sql, params![after, until, user, in_json(user), in_path(user)], |row| placed(row))?;
    let mut n = 0;
    for mut entry in found {
        if redact::entry(&mut entry, user) {
            n += 1;
            let actor = Some(entry.actor).filter(|actor| actor != ENGINE);
            db.prepare_cached("UPDATE journal SET user_id = ?, actor = ?, data = ? WHERE number = ?")
                .map_err(broken)?
                .execute(params![entry.user, actor, entry.data, entry.position])
                .map_err(broken)?;
        }
    }
    Ok(Redacted { n, next: until.map(|number| number.to_string()) })
}
