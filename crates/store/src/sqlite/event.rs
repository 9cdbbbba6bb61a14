//! Events of applications, scopes and the reminders that follow them: load, let core decide, write.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::change::Refused;
use punctual_core::decide::event::{self as decide, Around, Done, Linked, Loaded};
use punctual_core::decide::family::Family;
use punctual_core::event::{Event, Slot};
use punctual_core::id::ReminderId;
use punctual_core::journal::Who;
use punctual_core::scope::{Path, Scope};
use punctual_core::store::{
    Answered, ByPlanner, ChangeError, EventQuery, EventView, Events, PLANNED_AT_ONCE, PlannedEvents, Put, PutEvent,
    PutInstance, PutScope, REMINDERS_AT_ONCE, SLOTS_SHOWN_MAX, StoreError,
};
use punctual_core::writes::{EventWrites, Link};
use punctual_core::zone::Zone;
use rusqlite::{Connection, Params, params};

use super::read::collect;
use super::row::{broken, impossible, instant, micros};
use super::values::for_rows;
use super::worker::Urgency;
use super::write::{self as writing, insert, update, upsert};
use super::{SqliteStore, change, group};
use crate::columns::{EVENT, LINK, MARK, MARKED, SCOPE, SLOT, STANDS};
use crate::rows::{self, Fields, Reader};

#[async_trait]
impl Events for SqliteStore {
    async fn put_events(
        &self,
        put: Vec<PutEvent>,
        answered: Option<(String, Answered)>,
        by: ByPlanner,
    ) -> Result<Put, ChangeError> {
        let urgency = if put.len() > PLANNED_AT_ONCE { Urgency::Bulk } else { Urgency::Normal };
        self.write(urgency, move |db| put_events(db, put, answered, &by)).await?
    }

    async fn remove_events(
        &self,
        keys: Vec<String>,
        source: Option<String>,
        by: ByPlanner,
    ) -> Result<Put, ChangeError> {
        self.write(Urgency::Normal, move |db| remove_events(db, &keys, source.as_deref(), &by)).await?
    }

    async fn put_instance(&self, key: &str, change: PutInstance, by: ByPlanner) -> Result<Put, ChangeError> {
        let key = key.to_owned();
        self.write(Urgency::Normal, move |db| put_instance(db, key, change, &by)).await?
    }

    async fn plan_events(&self, keys: Option<Vec<String>>, by: ByPlanner) -> Result<PlannedEvents, StoreError> {
        self.write(Urgency::Normal, move |db| plan_events(db, keys.as_deref(), &by)).await
    }

    async fn put_scope(&self, scope: Scope, who: Who) -> Result<PutScope, StoreError> {
        self.write(Urgency::Normal, move |db| {
            let before = self::scope(db, &scope.path)?;
            who.expects.check(|| before.as_ref().map(Scope::version))?;
            let is_new = before.is_none();
            let n_events = mark_scope(db, &scope.path, scope.updated_at)?;
            writing::write(db, &decide::put_scope(&scope, false, n_events, who, scope.updated_at))?;
            Ok(PutScope { is_new, n_events })
        })
        .await
    }

    async fn remove_scope(&self, path: &Path, who: Who, now: Timestamp) -> Result<Option<u64>, StoreError> {
        let path = path.clone();
        self.write(Urgency::Normal, move |db| {
            let Some(scope) = self::scope(db, &path)? else { return Ok(None) };
            who.expects.check(|| Some(scope.version()))?;
            let n_events = mark_scope(db, &path, now)?;
            writing::write(db, &decide::put_scope(&scope, true, n_events, who, now))?;
            Ok(Some(n_events))
        })
        .await
    }

    async fn event(&self, key: &str) -> Result<Option<EventView>, StoreError> {
        let key = key.to_owned();
        self.read(move |db| event(db, &key)).await
    }

    async fn events(&self, query: EventQuery) -> Result<Vec<Event>, StoreError> {
        self.read(move |db| events(db, &query)).await
    }

    async fn scope(&self, path: &Path) -> Result<Option<Scope>, StoreError> {
        let path = path.clone();
        self.read(move |db| scope(db, &path)).await
    }

    async fn scopes(&self, under: Option<Path>, after: Option<Path>, limit: usize) -> Result<Vec<Scope>, StoreError> {
        self.read(move |db| scopes(db, under.as_ref(), after.as_ref(), limit)).await
    }
}

/// The outer error is the database's; the inner one is core's refusal.
type Decided<T> = Result<Result<T, ChangeError>, StoreError>;

fn put_events(
    db: &Connection,
    put: Vec<PutEvent>,
    answered: Option<(String, Answered)>,
    by: &ByPlanner,
) -> Decided<Put> {
    let keys: Vec<String> = put.iter().map(|put| put.event.key.clone()).collect();
    finish(db, decide::put_all(load(db, &keys)?, put, answered, by), by)
}

fn remove_events(db: &Connection, keys: &[String], source: Option<&str>, by: &ByPlanner) -> Decided<Put> {
    finish(db, decide::remove_all(load(db, keys)?, source, by), by)
}

fn put_instance(db: &Connection, key: String, change: PutInstance, by: &ByPlanner) -> Decided<Put> {
    match decide::change_instance(load(db, &[key])?.pop(), change, by).transpose() {
        Some(done) => finish(db, done, by),
        None => Ok(Err(ChangeError::NotFound)),
    }
}

/// Plans what is to be planned, if that is not too much at once, and writes it all.
fn finish(db: &Connection, decided: Result<Done, Refused>, by: &ByPlanner) -> Decided<Put> {
    let Done { done, to_plan, mut writes } = match decided {
        Ok(done) => done,
        Err(refused) => return Ok(Err(refused.into())),
    };
    let mut planned = PlannedEvents::default();
    if to_plan.len() <= PLANNED_AT_ONCE {
        let around = around(db, &to_plan)?;
        let also;
        (planned, also) = decide::planned(to_plan, around, REMINDERS_AT_ONCE, by);
        writes.add(also);
    } else {
        planned.is_unfinished = true;
    }
    writing::write(db, &writes)?;
    Ok(Ok(Put { done, planned }))
}

fn plan_events(db: &Connection, keys: Option<&[String]>, by: &ByPlanner) -> Result<PlannedEvents, StoreError> {
    let loaded = match keys {
        Some(keys) => load(db, keys)?,
        None => {
            let soon = by.now.saturating_add(decide::AHEAD).unwrap_or(by.now);
            let sql = format!(
                "SELECT {} FROM event e WHERE e.plan_at IS NOT NULL AND e.plan_at <= ? ORDER BY e.plan_at LIMIT ?",
                rows::EVENT
            );
            with_links(db, collect(db, &sql, params![micros(soon), PLANNED_AT_ONCE], |row| rows::event(row))?)?
        }
    };
    let around = around(db, &loaded)?;
    let (mut planned, writes) = decide::planned(loaded, around, REMINDERS_AT_ONCE, by);
    writing::write(db, &writes)?;
    if keys.is_none() {
        let next = "SELECT plan_at FROM event WHERE plan_at IS NOT NULL ORDER BY plan_at LIMIT 1";
        planned.next_at = collect(db, next, [], |row| instant(row.get(0).map_err(broken)?))?.pop();
    }
    Ok(planned)
}

/// The events with these keys and their slots.
fn load(db: &Connection, keys: &[String]) -> Result<Vec<Loaded>, StoreError> {
    let sql = format!("SELECT {} FROM event e WHERE e.key IN (VALUES {{values}})", rows::EVENT);
    let mut found = Vec::new();
    for_rows(
        db,
        &sql,
        1,
        keys,
        |key, values| values.push(key),
        |row| {
            found.push(rows::event(row)?);
            Ok(())
        },
    )?;
    with_links(db, found)
}

fn with_links(db: &Connection, mut loaded: Vec<Loaded>) -> Result<Vec<Loaded>, StoreError> {
    let keys: Vec<String> = loaded.iter().map(|loaded| loaded.stands.key.clone()).collect();
    let sql = format!("SELECT {} FROM event_reminder l WHERE l.event_key IN (VALUES {{values}})", rows::LINK);
    let mut links: HashMap<String, Vec<Link>> = HashMap::new();
    for_rows(
        db,
        &sql,
        1,
        &keys,
        |key, values| values.push(key),
        |row| {
            let link = rows::link(row)?;
            links.entry(link.slot.event.clone()).or_default().push(link);
            Ok(())
        },
    )?;
    for loaded in &mut loaded {
        loaded.links = links.remove(&loaded.stands.key).unwrap_or_default();
    }
    Ok(loaded)
}

/// What planning these events needs to know.
fn around(db: &Connection, loaded: &[Loaded]) -> Result<Around, StoreError> {
    let (paths, groups) = decide::needs(loaded);
    let (paths, groups): (Vec<String>, Vec<String>) = (paths.into_iter().collect(), groups.into_iter().collect());
    let mut around = Around { groups: group::of_names(db, &groups)?, ..Around::default() };
    let sql = format!("SELECT {} FROM scope s WHERE s.path IN (VALUES {{values}})", rows::SCOPE);
    for_rows(
        db,
        &sql,
        1,
        &paths,
        |path, values| values.push(path),
        |row| {
            around.scopes.push(rows::scope(row)?);
            Ok(())
        },
    )?;
    let people: Vec<String> = decide::people(loaded, &around.groups).into_iter().collect();
    let sql = "SELECT u.id, u.timezone FROM user u WHERE u.id IN (VALUES {values}) AND u.timezone IS NOT NULL";
    for_rows(
        db,
        sql,
        1,
        &people,
        |user, values| values.push(user),
        |row| {
            let mut from = Reader::new(row, 0);
            // A zone that cannot be read must not keep an event from being planned.
            if let (user, Ok(zone)) = (from.owned()?, Zone::named(from.text()?)) {
                around.zones.insert(user, zone);
            }
            Ok(())
        },
    )?;
    let reminders: Vec<ReminderId> = loaded.iter().flat_map(|loaded| &loaded.links).map(|link| link.reminder).collect();
    around.linked = linked(db, &reminders)?;
    Ok(around)
}

/// Reminders with their open runs. One that cannot be read counts as over: a claim sets its runs aside.
fn linked(db: &Connection, ids: &[ReminderId]) -> Result<HashMap<ReminderId, Linked>, StoreError> {
    let mut linked: HashMap<ReminderId, Linked> = HashMap::with_capacity(ids.len());
    let sql =
        format!("SELECT {}, {} FROM reminder r WHERE r.id IN (VALUES {{values}})", rows::REMINDER, rows::PROGRESS);
    for_rows(
        db,
        &sql,
        1,
        ids,
        |id, values| values.push(id.as_bytes()),
        |row| {
            let mut from = Reader::new(row, 0);
            let read = rows::reminder(&mut from).and_then(|reminder| Ok((reminder, rows::progress(&mut from)?)));
            if let Ok((reminder, progress)) = read {
                linked.insert(reminder.id, Linked { reminder, progress, open: Vec::new(), family: Vec::new() });
            }
            Ok(())
        },
    )?;
    let sql = format!(
        "SELECT {} FROM occurrence o WHERE o.reminder_id IN (VALUES {{values}}) \
         AND {} ORDER BY o.reminder_id, o.run",
        rows::OCCURRENCE,
        rows::OPEN
    );
    for_rows(
        db,
        &sql,
        1,
        ids,
        |id, values| values.push(id.as_bytes()),
        |row| {
            if let Ok(run) = rows::occurrence(&mut Reader::new(row, 0))
                && let Some(linked) = linked.get_mut(&run.id.reminder)
            {
                linked.open.push(run);
            }
            Ok(())
        },
    )?;
    for linked in linked.values_mut().filter(|linked| linked.may_have_kin()) {
        let family = Family { root: linked.reminder.id, runs: None };
        linked.family = change::kin(db, linked.reminder.id, &family)?;
    }
    Ok(linked)
}

/// Writes what is said of events and scopes.
pub(super) fn write(db: &Connection, writes: &EventWrites) -> Result<(), StoreError> {
    insert(db, &EVENT, &writes.new, |event| event)?;
    upsert(db, &EVENT, &writes.put)?;
    update(db, &MARKED, &writes.marked)?;
    update(db, &STANDS, &writes.stands)?;
    let by_key = |table: &str, key: &str| format!("DELETE FROM {table} WHERE {key} IN (VALUES {{values}})");
    for (table, key) in [("event", "key"), ("event_reminder", "event_key")] {
        for_rows(db, &by_key(table, key), 1, &writes.gone, |key, values| values.push(key), |_| Ok(()))?;
    }
    let unlink = "DELETE FROM event_reminder WHERE (event_key, instance, offset_word, user_id) IN (VALUES {values})";
    let bind = |slot: &Slot, values: &mut super::values::Values<'_, '_>| {
        SLOT.columns.iter().for_each(|column| values.push((column.value)(slot)));
    };
    for_rows(db, unlink, SLOT.columns.len(), &writes.unlinked, bind, |_| Ok(()))?;
    upsert(db, &LINK, &writes.links)?;
    upsert(db, &SCOPE, &writes.scopes)?;
    let gone = by_key("scope", "path");
    for_rows(db, &gone, 1, &writes.scopes_gone, |path, values| values.push(path.as_str()), |_| Ok(()))
}

/// Marks the events to be planned that are so, as of `?1`; returns how many those are.
fn mark(db: &Connection, which: &str, params: impl Params) -> Result<usize, StoreError> {
    let sql = format!("UPDATE event SET {} WHERE NOT removed AND {which}", MARK.replace('$', "?"));
    db.prepare_cached(&sql).map_err(broken)?.execute(params).map_err(broken)
}

/// Marks the events that depend on a scope; returns how many those are.
fn mark_scope(db: &Connection, path: &Path, now: Timestamp) -> Result<u64, StoreError> {
    let (from, to) = below(path);
    let n_own = mark(db, "offsets IS NULL AND scope = ?2", params![micros(now), path.as_str()])?;
    let n_below = mark(db, "offsets IS NULL AND scope > ?2 AND scope < ?3", params![micros(now), from, to])?;
    u64::try_from(n_own + n_below).map_err(impossible)
}

/// The paths below a path lie between these. `0` follows `/`.
fn below(path: &Path) -> (String, String) {
    (format!("{path}/"), format!("{path}0"))
}

/// Marks the events that remind the members of a group.
pub(super) fn mark_group(db: &Connection, name: &str, now: Timestamp) -> Result<(), StoreError> {
    let named = serde_json::to_string(name).map_err(impossible)?;
    mark(db, "groups IS NOT NULL AND instr(groups, ?2) > 0", params![micros(now), named]).map(drop)
}

/// Forgets events that were over before then, and of which nothing is to come.
pub(super) fn prune(db: &Connection, before: i64) -> Result<(), StoreError> {
    let over = format!(
        "SELECT e.key FROM event e WHERE coalesce(e.ends_at, e.starts_at) < ?1 AND e.planned AND e.plan_at IS NULL \
         AND NOT EXISTS (SELECT 1 FROM event_reminder l JOIN occurrence o ON o.reminder_id = l.reminder_id \
           WHERE l.event_key = e.key AND ({} OR o.at >= ?1))",
        rows::OPEN
    );
    let links = format!("DELETE FROM event_reminder WHERE event_key IN ({over})");
    let events = format!("DELETE FROM event WHERE key IN ({over})");
    for sql in [links, events] {
        db.prepare_cached(&sql).map_err(broken)?.execute(params![before]).map_err(broken)?;
    }
    Ok(())
}

fn event(db: &Connection, key: &str) -> Result<Option<EventView>, StoreError> {
    let sql = format!("SELECT {} FROM event e WHERE e.key = ? AND NOT e.removed", rows::EVENT);
    let Some(Loaded { event, stands, .. }) = collect(db, &sql, [key], |row| rows::event(row))?.pop() else {
        return Ok(None);
    };
    let sql = format!(
        "SELECT {}, (SELECT o.state FROM occurrence o WHERE o.reminder_id = l.reminder_id ORDER BY o.run DESC LIMIT 1) \
         FROM event_reminder l WHERE l.event_key = ? ORDER BY l.due_at, l.offset_word, l.user_id LIMIT {SLOTS_SHOWN_MAX}",
        rows::LINK
    );
    let slots = collect(db, &sql, [key], |row| rows::slot_view(row))?;
    let count = "SELECT count(*) FROM event_reminder WHERE event_key = ?";
    let n_slots = collect(db, count, [key], |row| Ok(row.number(0)?.unwrap_or_default()))?.pop().unwrap_or_default();
    let event = event.map_err(StoreError::Broken)?;
    let n_slots = u64::try_from(n_slots).map_err(impossible)?;
    Ok(Some(EventView { event, slots, n_slots, is_planned: stands.planned, error: stands.error }))
}

fn events(db: &Connection, query: &EventQuery) -> Result<Vec<Event>, StoreError> {
    let EventQuery { scope, user, from, to, source, after, limit } = query;
    // A user's groups are few, and are found first.
    let sql = format!(
        "WITH own AS MATERIALIZED (SELECT '\"' || g.name || '\"' AS word FROM user_group g WHERE instr(g.users, ?3) > 0 \
           UNION SELECT '\"' || s.group_name || '\"' FROM rota_shift s WHERE s.user_id = ?8) \
         SELECT {} FROM event e WHERE NOT e.removed AND e.key > ?1 \
         AND (?2 IS NULL OR e.scope = ?2 OR e.scope > ?2 || '/' AND e.scope < ?2 || '0') \
         AND (?3 IS NULL OR instr(e.users, ?3) > 0 \
           OR e.groups IS NOT NULL AND EXISTS (SELECT 1 FROM own WHERE instr(e.groups, own.word) > 0)) \
         AND (?4 IS NULL OR e.starts_at >= ?4 OR e.repeats IS NOT NULL) \
         AND (?5 IS NULL OR e.starts_at < ?5) AND (?6 IS NULL OR e.source = ?6) ORDER BY e.key LIMIT ?7",
        rows::EVENT
    );
    let quoted = user.as_ref().map(serde_json::to_string).transpose().map_err(impossible)?;
    let params = params![
        after.as_deref().unwrap_or(""),
        scope.as_ref().map(Path::as_str),
        quoted,
        from.map(micros),
        to.map(micros),
        source,
        limit,
        user
    ];
    let found = collect(db, &sql, params, |row| rows::event(row))?;
    // One that cannot be read is shown by its own name, with an error.
    Ok(found.into_iter().filter_map(|loaded| loaded.event.ok()).collect())
}

fn scope(db: &Connection, path: &Path) -> Result<Option<Scope>, StoreError> {
    let sql = format!("SELECT {} FROM scope s WHERE s.path = ?", rows::SCOPE);
    Ok(collect(db, &sql, [path.as_str()], |row| rows::scope(row))?.pop())
}

fn scopes(db: &Connection, under: Option<&Path>, after: Option<&Path>, limit: usize) -> Result<Vec<Scope>, StoreError> {
    let sql = format!(
        "SELECT {} FROM scope s WHERE s.path > ?1 AND (?2 IS NULL OR s.path = ?2 OR s.path > ?2 || '/' AND s.path < ?2 || '0') \
         ORDER BY s.path LIMIT ?3",
        rows::SCOPE
    );
    let params = params![after.map_or("", Path::as_str), under.map(Path::as_str), limit];
    collect(db, &sql, params, |row| rows::scope(row))
}
