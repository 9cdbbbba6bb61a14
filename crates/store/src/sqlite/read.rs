//! Reading, on threads beside the writer.

use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::Attempt;
use punctual_core::reminder::{Address, ReminderStatus};
use punctual_core::store::{
    AuditEntry, AuditQuery, ReminderQuery, ReminderView, Response, Said, StatusFilter, StoreError, StoreStats, Trail,
    Upcoming, Window,
};
use punctual_core::user::{ApiKey, Person, User};
use rusqlite::types::ToSql;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::row::{self, broken, get, impossible, instant, micros, optional_instant};
use super::values::for_rows;

/// When a reminder is due next, for SELECTs over `reminder r`.
const NEXT_RUN_AT: &str = "(SELECT min(CASE o.state WHEN 'pending_retry' THEN o.wake_at ELSE o.due_at END) FROM occurrence o \
    WHERE o.reminder_id = r.id AND o.wake_at IS NOT NULL AND o.state IN ('scheduled', 'snoozed', 'pending_retry'))";

/// Until when its next snoozed run is put off. One that waits for the end of quiet hours or of a pause is kept as snoozed with a note.
const SNOOZED_UNTIL: &str = "(SELECT min(o.due_at) FROM occurrence o \
    WHERE o.reminder_id = r.id AND o.wake_at IS NOT NULL AND o.state = 'snoozed' AND o.error IS NULL)";

/// Collects what `read` makes of each row.
pub(super) fn collect<T>(
    db: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = db.prepare_cached(sql).map_err(broken)?;
    let mut rows = statement.query(params).map_err(broken)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(broken)? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn view_columns() -> String {
    format!(
        "{}, {NEXT_RUN_AT} AS next_run_at, r.last_run_at, r.last_status, r.total_runs, r.consecutive_errors, {SNOOZED_UNTIL}",
        row::REMINDER
    )
}

fn view(found: &Row<'_>) -> Result<ReminderView, StoreError> {
    let after = row::N_REMINDER;
    let last_status: Option<String> = get(found, after + 2)?;
    Ok(ReminderView {
        reminder: row::reminder(found, 0)?,
        next_run_at: optional_instant(found, after)?,
        last_run_at: optional_instant(found, after + 1)?,
        last_status: last_status.map(|word| word.parse()).transpose().map_err(impossible)?,
        total_runs: get(found, after + 3)?,
        consecutive_errors: get(found, after + 4)?,
        snoozed_until: optional_instant(found, after + 5)?,
    })
}

pub(super) fn reminder(db: &Connection, id: ReminderId) -> Result<Option<ReminderView>, StoreError> {
    let sql = format!("SELECT {} FROM reminder r WHERE r.id = ?", view_columns());
    Ok(collect(db, &sql, [id.as_bytes()], view)?.pop())
}

pub(super) fn existing(db: &Connection, ids: &[ReminderId]) -> Result<Vec<ReminderView>, StoreError> {
    let sql = format!("SELECT {} FROM reminder r WHERE r.id IN (VALUES {{values}})", view_columns());
    let mut found = Vec::new();
    for_rows(
        db,
        &sql,
        1,
        ids,
        |id, values| values.push(id.as_bytes()),
        |row| {
            found.push(view(row)?);
            Ok(())
        },
    )?;
    Ok(found)
}

pub(super) fn reminders(db: &Connection, query: &ReminderQuery) -> Result<Vec<ReminderView>, StoreError> {
    let mut wheres = vec!["1 = 1".to_owned()];
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    let mut add = |sql: &str, value: Box<dyn ToSql>| {
        values.push(value);
        wheres.push(sql.replace("{}", &format!("?{}", values.len())));
    };
    if let Some(user) = &query.user {
        add("r.user = {}", Box::new(user.clone()));
    }
    if let Some(status) = query.status {
        match status {
            StatusFilter::Is(status) => add("r.status = {}", Box::new(status.as_str())),
            StatusFilter::LastRun(end) => add("r.last_status = {}", Box::new(end.as_str())),
        }
    }
    if let Some(from) = query.from {
        add("next_run_at >= {}", Box::new(micros(from)));
    }
    if let Some(to) = query.to {
        add("next_run_at < {}", Box::new(micros(to)));
    }
    if let Some(matching) = &query.matching {
        let suffix = matching.replace('-', "").to_lowercase();
        add("({} IN (r.name, r.message) OR", Box::new(matching.clone()));
        add("lower(hex(r.id)) LIKE '%' || {})", Box::new(suffix));
    }
    if let Some(before) = query.before {
        add("r.id < {}", Box::new(before.as_bytes().to_vec()));
    }
    add("1 = 1 ORDER BY r.id DESC LIMIT {}", Box::new(query.limit));
    let wheres = wheres.join(" AND ").replace("OR AND", "OR");
    let sql = format!("SELECT {} FROM reminder r WHERE {wheres}", view_columns());
    collect(db, &sql, params_from_iter(values.iter()), view)
}

pub(super) fn occurrences(
    db: &Connection,
    id: ReminderId,
    before: Option<u32>,
    limit: usize,
) -> Result<Vec<Trail>, StoreError> {
    let sql = format!(
        "SELECT {} FROM occurrence o WHERE o.reminder_id = ? AND o.run < ? ORDER BY o.run DESC LIMIT ?",
        row::OCCURRENCE
    );
    let before = before.map_or(i64::MAX, i64::from);
    let found = collect(db, &sql, params![id.as_bytes(), before, limit], |found| Ok(row::occurrence(found, 0)?.0))?;
    found.into_iter().map(|occurrence| trail(db, occurrence)).collect()
}

pub(super) fn occurrence(db: &Connection, id: OccurrenceId) -> Result<Option<Trail>, StoreError> {
    let sql = format!("SELECT {} FROM occurrence o WHERE o.reminder_id = ? AND o.run = ?", row::OCCURRENCE);
    let found = collect(db, &sql, params![id.reminder.as_bytes(), id.run], |found| Ok(row::occurrence(found, 0)?.0))?;
    found.into_iter().next().map(|occurrence| trail(db, occurrence)).transpose()
}

fn trail(db: &Connection, occurrence: punctual_core::occurrence::Occurrence) -> Result<Trail, StoreError> {
    let id = occurrence.id;
    let attempts = collect(
        db,
        "SELECT number, channel, address, status, started_at, ended_at, error, message_id, key, attempt_key FROM attempt \
         WHERE reminder_id = ? AND run = ? ORDER BY number",
        params![id.reminder.as_bytes(), id.run],
        |found| {
            Ok(Attempt {
                number: get(found, 0)?,
                channel: get(found, 1)?,
                address: get(found, 2)?,
                status: row::word(found, 3)?,
                started_at: instant(get(found, 4)?)?,
                ended_at: optional_instant(found, 5)?,
                error: get(found, 6)?,
                message_id: get(found, 7)?,
                key: get(found, 8)?,
                attempt_key: get(found, 9)?,
            })
        },
    )?;
    let responses = collect(
        db,
        "SELECT kind, at, actor, until, snooze_minutes, user, text, channel FROM response WHERE reminder_id = ? AND run = ? ORDER BY number",
        params![id.reminder.as_bytes(), id.run],
        |found| {
            Ok(Response {
                occurrence: id,
                kind: match get::<String>(found, 0)?.as_str() {
                    "ack" => "ack",
                    "snooze" => "snooze",
                    _ => "dismiss",
                },
                at: instant(get(found, 1)?)?,
                actor: get(found, 2)?,
                until: optional_instant(found, 3)?,
                snooze_minutes: get(found, 4)?,
                user: get(found, 5)?,
                said: Said { text: get(found, 6)?, channel: get(found, 7)? },
            })
        },
    )?;
    Ok(Trail { occurrence, attempts, responses })
}

pub(super) fn audit(db: &Connection, query: &AuditQuery) -> Result<Vec<AuditEntry>, StoreError> {
    let of_reminder = if query.reminder.is_some() { "reminder_id = ?1" } else { "?1 IS NULL" };
    let sql = format!(
        "SELECT number, at, actor, action, reminder_id, run, detail FROM audit WHERE {of_reminder} AND number < ?2 \
         ORDER BY number DESC LIMIT ?3"
    );
    let values =
        params![query.reminder.as_ref().map(ReminderId::as_bytes), query.before.unwrap_or(i64::MAX), query.limit];
    collect(db, &sql, values, |found| {
        Ok(AuditEntry {
            number: get(found, 0)?,
            at: instant(get(found, 1)?)?,
            actor: get(found, 2)?,
            action: get(found, 3)?,
            reminder: row::reminder_id(found, 4)?,
            run: get(found, 5)?,
            detail: get(found, 6)?,
        })
    })
}

pub(super) fn upcoming(db: &Connection, window: &Window) -> Result<Upcoming, StoreError> {
    let Window { from, until, limit, .. } = *window;
    let each_priority = |select: &str| {
        let one = |rank: u8| select.replace("{rank}", &rank.to_string());
        [3, 2, 1, 0].map(one).join(" UNION ALL ")
    };
    let stretches = each_priority(
        "SELECT * FROM (SELECT wake_at FROM occurrence WHERE priority = {rank} AND wake_at IS NOT NULL \
         AND wake_at >= ?1 AND wake_at <= ?3 ORDER BY wake_at LIMIT ?2)",
    );
    let sql = format!("SELECT wake_at FROM ({stretches}) ORDER BY wake_at LIMIT ?2");
    let instants = collect(db, &sql, params![micros(from), limit, micros(until)], |found| instant(get(found, 0)?))?;
    let firsts = each_priority(
        "SELECT * FROM (SELECT wake_at FROM occurrence WHERE priority = {rank} AND wake_at IS NOT NULL \
         AND wake_at < ?1 ORDER BY wake_at LIMIT 1)",
    );
    let sql = format!("SELECT wake_at FROM ({firsts}) ORDER BY wake_at LIMIT 1");
    let overdue_since = collect(db, &sql, [micros(from)], |found| instant(get(found, 0)?))?.pop();
    Ok(Upcoming { instants, overdue_since })
}

fn select_user() -> String {
    format!("SELECT {}, u.id, u.language, u.addresses, u.admin, u.created_at, u.updated_at FROM user u", row::PERSON)
}

pub(super) fn user(db: &Connection, id: &str) -> Result<Option<User>, StoreError> {
    Ok(collect(db, &format!("{} WHERE u.id = ?", select_user()), [id], read_user)?.pop())
}

pub(super) fn users(db: &Connection, after: Option<&str>, limit: usize) -> Result<Vec<User>, StoreError> {
    let sql = format!("{} WHERE u.id > ? ORDER BY u.id LIMIT ?", select_user());
    collect(db, &sql, params![after.unwrap_or(""), limit], read_user)
}

/// Everybody who is told when a critical reminder fails, without their addresses.
pub(super) fn admins(db: &Connection) -> Result<Vec<User>, StoreError> {
    let sql = format!("{} WHERE u.admin ORDER BY u.id", select_user());
    // Whoever cannot be read as a whole must not keep the others, or themselves, from being told.
    collect(db, &sql, [], |found| {
        let id: String = get(found, row::N_PERSON)?;
        let person = row::person_of(&id, found, 0);
        user_of(found, person, Vec::new())
    })
}

fn read_user(found: &Row<'_>) -> Result<User, StoreError> {
    let addresses = row::addresses(get::<Option<String>>(found, row::N_PERSON + 2)?.as_deref())?;
    user_of(found, row::person(found, 0)?, addresses)
}

fn user_of(found: &Row<'_>, person: Person, addresses: Vec<Address>) -> Result<User, StoreError> {
    let at = |offset: usize| row::N_PERSON + offset;
    Ok(User {
        id: get(found, at(0))?,
        timezone: person.timezone,
        language: get(found, at(1))?,
        addresses,
        quiet_hours: person.quiet,
        paused_until: person.paused_until,
        admin: get(found, at(3))?,
        created_at: instant(get(found, at(4))?)?,
        updated_at: instant(get(found, at(5))?)?,
    })
}

const KEY: &str = "SELECT id, name, hash, user, write, expires_at, created_at FROM api_key";

pub(super) fn key(db: &Connection, hash: &[u8; 32]) -> Result<Option<ApiKey>, StoreError> {
    Ok(collect(db, &format!("{KEY} WHERE hash = ?"), [hash], read_key)?.pop())
}

pub(super) fn keys(db: &Connection) -> Result<Vec<ApiKey>, StoreError> {
    collect(db, &format!("{KEY} ORDER BY created_at"), [], read_key)
}

fn read_key(found: &Row<'_>) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        id: get(found, 0)?,
        name: get(found, 1)?,
        hash: get(found, 2)?,
        user: get(found, 3)?,
        write: get(found, 4)?,
        expires_at: optional_instant(found, 5)?,
        created_at: instant(get(found, 6)?)?,
    })
}

pub(super) fn stats(db: &Connection) -> Result<StoreStats, StoreError> {
    let (pending, oldest): (u64, Option<i64>) = db
        .query_row("SELECT count(*), min(wake_at) FROM occurrence WHERE wake_at IS NOT NULL", [], |found| {
            Ok((found.get(0)?, found.get(1)?))
        })
        .map_err(broken)?;
    // One pass and four counters: a GROUP BY would sort every row in memory first.
    let by_status =
        [ReminderStatus::Active, ReminderStatus::Paused, ReminderStatus::Completed, ReminderStatus::Cancelled];
    let sums = by_status.map(|status| format!("coalesce(sum(status = '{status}'), 0)")).join(", ");
    let mut statement = db.prepare_cached(&format!("SELECT {sums} FROM reminder")).map_err(broken)?;
    let counts = statement
        .query_row([], |found| Ok([found.get::<_, u64>(0)?, found.get(1)?, found.get(2)?, found.get(3)?]))
        .map_err(broken)?;
    let reminders = by_status.into_iter().zip(counts).filter(|(_, n)| *n > 0).collect();
    Ok(StoreStats { pending, oldest_at: oldest.map(instant).transpose()?, reminders })
}

/// How many runs have failed since then; by the index of what has ended.
pub(super) fn failed_since(db: &Connection, since: jiff::Timestamp, limit: usize) -> Result<usize, StoreError> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM occurrence INDEXED BY occurrence_ended \
        WHERE wake_at IS NULL AND at >= ?1 AND state = 'failed' LIMIT ?2)";
    let mut statement = db.prepare_cached(sql).map_err(broken)?;
    statement.query_row(params![micros(since), limit], |found| found.get(0)).map_err(broken)
}
