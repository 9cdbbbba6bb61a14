//! Reading, on threads beside the writer.

use std::sync::LazyLock;

use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::key::ApiKey;
use punctual_core::occurrence::{Attempt, Escalation, Occurrence, StateKind};
use punctual_core::reminder::ReminderStatus;
use punctual_core::store::{
    CHANNEL_LOOKED_AT_MAX, COUNTED_MAX, HowMany, ReminderQuery, ReminderView, StatusFilter, StoreError, StoreStats,
    Trail, Upcoming, UpcomingQuery, id_end,
};
use punctual_core::user::User;
use rusqlite::types::ToSql;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::row::{broken, get, instant, micros};
use super::values::for_rows;
use crate::rows::{self, Reader};

/// When a reminder is due next, for SELECTs over `reminder r`.
static NEXT_RUN_AT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "(SELECT min(CASE o.state WHEN 'pending_retry' THEN coalesce(o.own_at, o.wake_at) ELSE o.due_at END) FROM occurrence o \
         WHERE o.reminder_id = r.id AND o.wake_at IS NOT NULL AND {})",
        *rows::TO_COME
    )
});

/// Until when its next snoozed run is put off.
const SNOOZED_UNTIL: &str = "(SELECT min(o.due_at) FROM occurrence o \
    WHERE o.reminder_id = r.id AND o.wake_at IS NOT NULL AND o.state = 'snoozed')";

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
    format!("{}, {}, {} AS next_run_at, {SNOOZED_UNTIL}", rows::REMINDER, rows::PROGRESS, *NEXT_RUN_AT)
}

fn view(found: &Row<'_>) -> Result<ReminderView, StoreError> {
    rows::view(&mut Reader::new(found, 0))
}

pub(super) fn reminder(db: &Connection, id: ReminderId) -> Result<Option<ReminderView>, StoreError> {
    let sql = format!("SELECT {} FROM reminder r WHERE r.id = ?", view_columns());
    Ok(collect(db, &sql, [id.as_bytes()], view)?.pop())
}

/// The users who have an open reminder about a run that nobody has answered.
pub(super) fn asked_about(db: &Connection, run: OccurrenceId) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT user_id FROM reminder WHERE escalates_id = ? AND escalates_run = ? AND status = 'active'";
    collect(db, sql, params![run.reminder.as_bytes(), run.run], |found| get(found, 0))
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
    let mut chosen = Chosen::of(query);
    let source = chosen.source;
    let of_channel = query.channel.as_ref().map(|channel| {
        // The reminders that all else is true of come first, so many of them.
        let limit = chosen.bind(Box::new(CHANNEL_LOOKED_AT_MAX));
        let channel = chosen.bind(Box::new(channel.clone()));
        (limit, channel)
    });
    let limit = chosen.bind(Box::new(query.limit));
    let Chosen { next_run_at, wheres, order, values, .. } = chosen;
    let sql = match of_channel {
        None => format!("SELECT {} FROM {source} WHERE {wheres} ORDER BY {order} DESC LIMIT {limit}", view_columns()),
        Some((looked_at, channel)) => format!(
            "SELECT {} FROM (SELECT r.id{next_run_at} FROM {source} WHERE {wheres} \
               ORDER BY {order} DESC LIMIT {looked_at}) AS c CROSS JOIN reminder r ON r.id = c.id \
             WHERE ({channel} = (SELECT a.channel FROM attempt a WHERE a.reminder_id = r.id ORDER BY a.run DESC, a.number DESC LIMIT 1) \
               OR EXISTS (SELECT 1 FROM json_each(r.route) AS a WHERE a.value ->> 'channel' = {channel})) \
             ORDER BY r.id DESC LIMIT {limit}",
            view_columns()
        ),
    };
    collect(db, &sql, params_from_iter(values.iter()), view)
}

/// How many of the first reminders of its user or its tag a query asks for.
pub(super) fn count(db: &Connection, query: &ReminderQuery) -> Result<HowMany, StoreError> {
    let Chosen { source, wheres, n_keys, values, .. } = Chosen::of(&ReminderQuery { before: None, ..query.clone() });
    let (keys, rest) = wheres.split_at(n_keys);
    let rest = rest.replace("next_run_at", &NEXT_RUN_AT);
    let sql = format!(
        "SELECT count(*), coalesce(sum(is_wanted), 0) FROM (SELECT (1 = 1{rest}) AS is_wanted FROM {source} WHERE {keys} LIMIT {COUNTED_MAX})"
    );
    let mut statement = db.prepare_cached(&sql).map_err(broken)?;
    let counts = |found: &Row<'_>| Ok((found.get::<_, usize>(0)?, found.get(1)?));
    let (n_looked_at, n) = statement.query_row(params_from_iter(values.iter()), counts).map_err(broken)?;
    Ok(HowMany { n, is_all: n_looked_at < COUNTED_MAX })
}

/// The last of the reminders at which [`reminders`] looks for one that goes by a channel; none if that is all of them.
pub(super) fn looks_to(db: &Connection, query: &ReminderQuery) -> Result<Option<ReminderId>, StoreError> {
    let mut chosen = Chosen::of(query);
    let n_before = chosen.bind(Box::new(CHANNEL_LOOKED_AT_MAX - 1));
    let Chosen { source, next_run_at, wheres, order, values, .. } = chosen;
    let sql = format!(
        "SELECT r.id{next_run_at} FROM {source} WHERE {wheres} ORDER BY {order} DESC LIMIT 1 OFFSET {n_before}"
    );
    Ok(collect(db, &sql, params_from_iter(values.iter()), |found| Reader::new(found, 0).id())?.pop())
}

/// The reminders that a query asks for, but for their channel: where they come from, and what is true of them.
struct Chosen {
    source: &'static str,
    /// The column of when they are due next, where that is asked for.
    next_run_at: String,
    wheres: String,
    /// How much of that an index finds: whose they are, and their tag.
    n_keys: usize,
    /// The id by which they are in order.
    order: &'static str,
    values: Vec<Box<dyn ToSql>>,
}

impl Chosen {
    fn of(query: &ReminderQuery) -> Self {
        let is_failed = query.status == Some(StatusFilter::LastRun(StateKind::Failed));
        // One stretch of an index, in the order of the page.
        let (source, user_id, order) = if query.tag.is_some() {
            let tagged = "reminder_tag tagged CROSS JOIN reminder r ON r.id = tagged.reminder_id";
            (tagged, "tagged.user_id", "tagged.reminder_id")
        } else if is_failed && query.user.is_none() {
            let failed = "(SELECT DISTINCT reminder_id FROM occurrence INDEXED BY occurrence_failed WHERE state = 'failed') AS failed \
                CROSS JOIN reminder r ON r.id = failed.reminder_id";
            (failed, "r.user_id", "failed.reminder_id")
        } else {
            ("reminder r", "r.user_id", "r.id")
        };
        let is_due_asked = query.from.is_some() || query.to.is_some();
        let next_run_at = if is_due_asked { format!(", {} AS next_run_at", *NEXT_RUN_AT) } else { String::new() };
        let mut chosen = Self { source, next_run_at, wheres: "1 = 1".to_owned(), n_keys: 0, order, values: Vec::new() };
        if let Some(tag) = &query.tag {
            chosen.add("tagged.tag = {}", Box::new(tag.clone()));
        }
        if let Some(user) = &query.user {
            chosen.add(&format!("{user_id} = {{}}"), Box::new(user.clone()));
        }
        chosen.n_keys = chosen.wheres.len();
        match query.status {
            Some(StatusFilter::Is(status)) => chosen.add("r.status = {}", Box::new(status.as_str())),
            Some(StatusFilter::LastRun(end)) => chosen.add("r.last_status = {}", Box::new(end.as_str())),
            None => {}
        }
        if let Some(from) = query.from {
            chosen.add("next_run_at >= {}", Box::new(micros(from)));
        }
        if let Some(to) = query.to {
            chosen.add("next_run_at < {}", Box::new(micros(to)));
        }
        if let Some(matching) = &query.matching {
            let words = chosen.bind(Box::new(matching.clone()));
            let of_id = id_end(matching).map(|end| {
                let end = chosen.bind(Box::new(end));
                format!(" OR substr(lower(hex(r.id)), -length({end})) = {end}")
            });
            chosen.wheres.push_str(&format!(" AND ({words} IN (r.name, r.message){})", of_id.unwrap_or_default()));
        }
        if let Some(before) = query.before {
            chosen.add(&format!("{order} < {{}}"), Box::new(before.as_bytes().to_vec()));
        }
        chosen
    }

    /// The place of one more value.
    fn bind(&mut self, value: Box<dyn ToSql>) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    /// One more that must be true, of the value in the place of `{}`.
    fn add(&mut self, sql: &str, value: Box<dyn ToSql>) {
        let place = self.bind(value);
        self.wheres.push_str(&format!(" AND {}", sql.replace("{}", &place)));
    }
}

pub(super) fn occurrences(
    db: &Connection,
    id: ReminderId,
    before: Option<u32>,
    limit: usize,
) -> Result<Vec<Trail>, StoreError> {
    let sql = format!(
        "SELECT {} FROM occurrence o WHERE o.reminder_id = ? AND o.run < ? ORDER BY o.run DESC LIMIT ?",
        rows::OCCURRENCE
    );
    let before = before.map_or(i64::MAX, i64::from);
    let found =
        collect(db, &sql, params![id.as_bytes(), before, limit], |found| rows::occurrence(&mut Reader::new(found, 0)))?;
    found.into_iter().map(|occurrence| trail(db, occurrence)).collect()
}

pub(super) fn occurrence(db: &Connection, id: OccurrenceId) -> Result<Option<Trail>, StoreError> {
    let sql = format!("SELECT {} FROM occurrence o WHERE o.reminder_id = ? AND o.run = ?", rows::OCCURRENCE);
    let found = collect(db, &sql, params![id.reminder.as_bytes(), id.run], |found| {
        rows::occurrence(&mut Reader::new(found, 0))
    })?;
    found.into_iter().next().map(|occurrence| trail(db, occurrence)).transpose()
}

/// The attempts of a run that have ended, in order.
pub(super) fn attempts(db: &Connection, id: OccurrenceId) -> Result<Vec<Attempt>, StoreError> {
    let sql =
        format!("SELECT {} FROM attempt a WHERE a.reminder_id = ? AND a.run = ? ORDER BY a.number", rows::ATTEMPT);
    collect(db, &sql, params![id.reminder.as_bytes(), id.run], |found| rows::attempt(&mut Reader::new(found, 0)))
}

pub(super) fn trail(db: &Connection, occurrence: Occurrence) -> Result<Trail, StoreError> {
    let attempts = attempts(db, occurrence.id)?;
    let (reminder, run) = (occurrence.id.reminder, occurrence.id.run);
    let id = params![reminder.as_bytes(), run];
    let sql =
        format!("SELECT {} FROM response s WHERE s.reminder_id = ? AND s.run = ? ORDER BY s.number", rows::RESPONSE);
    let responses = collect(db, &sql, id, |found| rows::response(&mut Reader::new(found, 0)))?;
    let mut trail = Trail::new(occurrence, attempts, responses);
    if let Some(Escalation::Asked { .. }) = trail.occurrence.escalation {
        let sql = format!(
            "SELECT {} WHERE r.escalates_id = ? AND r.escalates_run = ? ORDER BY o.due_at, r.user_id",
            rows::escalated_columns("")
        );
        let others = collect(db, &sql, id, |found| rows::escalated(&mut Reader::new(found, 0)))?;
        trail.escalated = others.into_iter().map(|(_, other)| other).collect();
    }
    Ok(trail)
}

pub(super) fn upcoming(db: &Connection, window: &UpcomingQuery) -> Result<Upcoming, StoreError> {
    let UpcomingQuery { from, until, limit, .. } = *window;
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

pub(super) fn user(db: &Connection, id: &str) -> Result<Option<User>, StoreError> {
    Ok(collect(db, &format!("SELECT {} FROM user u WHERE u.id = ?", rows::USER), [id], |found| rows::user(found))?
        .pop())
}

pub(super) fn users(db: &Connection, after: Option<&str>, limit: usize) -> Result<Vec<User>, StoreError> {
    let sql = format!("SELECT {} FROM user u WHERE u.id > ? ORDER BY u.id LIMIT ?", rows::USER);
    collect(db, &sql, params![after.unwrap_or(""), limit], |found| rows::user(found))
}

/// Everybody who is told when a critical reminder fails, without their addresses.
pub(super) fn admins(db: &Connection) -> Result<Vec<User>, StoreError> {
    let sql = format!("SELECT {} FROM user u WHERE u.admin ORDER BY u.id", rows::USER);
    collect(db, &sql, [], |found| rows::admin(found))
}

fn select_key() -> String {
    format!("SELECT k.hash, k.old_hash, k.user, {} FROM api_key k", rows::KEY)
}

pub(super) fn key(db: &Connection, hash: &[u8; 32]) -> Result<Option<ApiKey>, StoreError> {
    // Two statements in one: an OR would not use both indexes.
    let key = select_key();
    let sql = format!("{key} WHERE k.hash = ?1 UNION ALL {key} WHERE k.old_hash = ?1 LIMIT 1");
    Ok(collect(db, &sql, [hash], read_key)?.pop())
}

pub(super) fn key_named(db: &Connection, id: &str) -> Result<Option<ApiKey>, StoreError> {
    Ok(collect(db, &format!("{} WHERE k.id = ?", select_key()), [id], read_key)?.pop())
}

pub(super) fn keys(db: &Connection) -> Result<Vec<ApiKey>, StoreError> {
    collect(db, &format!("{} ORDER BY k.created_at", select_key()), [], read_key)
}

fn read_key(found: &Row<'_>) -> Result<ApiKey, StoreError> {
    let of = rows::KeyOf { hash: get(found, 0)?, old_hash: get(found, 1)?, user: get(found, 2)? };
    rows::key(found, 3, of)
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
