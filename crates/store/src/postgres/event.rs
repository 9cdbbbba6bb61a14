//! Events of applications, scopes and the reminders that follow them: lock, load, let core decide, write.
//!
//! Everybody locks events by their keys, then occurrences by their names, then reminders by their ids, so that nobody waits in a circle. A
//! planner that looks for work steps around events that another is just planning.

use std::collections::HashMap;
use std::sync::LazyLock;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::change::Refused;
use punctual_core::decide::event::{self as decide, Around, Done, Linked, Loaded};
use punctual_core::decide::family::Family;
use punctual_core::event::{Event, Slot};
use punctual_core::group::Group;
use punctual_core::id::ReminderId;
use punctual_core::journal::Who;
use punctual_core::scope::{Path, Scope};
use punctual_core::shard::Shards;
use punctual_core::store::{
    Answered, ByPlanner, ChangeError, EventQuery, EventView, Events, PLANNED_AT_ONCE, PlannedEvents, Put, PutEvent,
    PutInstance, PutScope, REMINDERS_AT_ONCE, SLOTS_SHOWN_MAX, StoreError,
};
use punctual_core::writes::{EventWrites, Link, Marked};
use punctual_core::zone::Zone;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{BEGIN, BEGIN_BY_KEY, BEGIN_IN_ORDER, BEGIN_READ, BY_KEY};
use super::fault::Fault;
use super::pipeline::{Statement, all3, all4, both};
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, get, impossible, micros, optional_instant, uuid};
use super::tell::CHANNEL;
use super::write::{self as writing, commit, insert, put, update, upsert};
use super::{PostgresStore, change};
use crate::columns::{EVENT, LINK, MARK, MARKED, SCOPE, SLOT, STANDS};
use crate::rows::{self, Reader};

#[async_trait]
impl Events for PostgresStore {
    async fn put_events(
        &self,
        put: Vec<PutEvent>,
        answered: Option<(String, Answered)>,
        by: ByPlanner,
    ) -> Result<Put, ChangeError> {
        on!(self, Normal, reads: false, db => put_events(&db, self.own(), put.clone(), answered.clone(), &by))?
    }

    async fn remove_events(
        &self,
        keys: Vec<String>,
        source: Option<String>,
        by: ByPlanner,
    ) -> Result<Put, ChangeError> {
        on!(self, Normal, reads: false, db => remove_events(&db, self.own(), &keys, source.as_deref(), &by))?
    }

    async fn put_instance(&self, key: &str, change: PutInstance, by: ByPlanner) -> Result<Put, ChangeError> {
        on!(self, Normal, reads: false, db => put_instance(&db, self.own(), key, change.clone(), &by))?
    }

    async fn plan_events(&self, keys: Option<Vec<String>>, by: ByPlanner) -> Result<PlannedEvents, StoreError> {
        on!(self, Normal, reads: false, db => plan_events(&db, self.own(), keys.as_deref(), &by))
    }

    async fn put_scope(&self, scope: Scope, who: Who) -> Result<PutScope, StoreError> {
        on!(self, Normal, reads: false, db => put_scope(&db, self.own(), &scope, who.clone()))
    }

    async fn remove_scope(&self, path: &Path, who: Who, now: Timestamp) -> Result<Option<u64>, StoreError> {
        on!(self, Normal, reads: false, db => remove_scope(&db, self.own(), path, who.clone(), now))
    }

    async fn event(&self, key: &str) -> Result<Option<EventView>, StoreError> {
        on!(self, Normal, reads: true, db => event(&db, key))
    }

    async fn events(&self, query: EventQuery) -> Result<Vec<Event>, StoreError> {
        on!(self, Normal, reads: true, db => events(&db, &query))
    }

    async fn scope(&self, path: &Path) -> Result<Option<Scope>, StoreError> {
        on!(self, Normal, reads: true, db => scope(&db, path))
    }

    async fn scopes(&self, under: Option<Path>, after: Option<Path>, limit: usize) -> Result<Vec<Scope>, StoreError> {
        on!(self, Normal, reads: true, db => scopes(&db, under.as_ref(), after.as_ref(), limit))
    }
}

/// The outer error is the database's; the inner one is core's refusal.
type Decided<T> = Result<Result<T, ChangeError>, Fault>;

async fn put_events(
    db: &Connection<'_>,
    own: Shards,
    put: Vec<PutEvent>,
    answered: Option<(String, Answered)>,
    by: &ByPlanner,
) -> Decided<Put> {
    let mut keys: Vec<&str> = put.iter().map(|put| put.event.key.as_str()).collect();
    keys.sort_unstable();
    let mut paths: Vec<&str> = put.iter().filter_map(|put| Some(put.event.scope.as_ref()?.as_str())).collect();
    paths.sort_unstable();
    paths.dedup();
    let before = load(db, &keys, &paths).await?;
    finish(db, own, decide::put_all(before, put, answered, by), by).await
}

async fn remove_events(
    db: &Connection<'_>,
    own: Shards,
    keys: &[String],
    source: Option<&str>,
    by: &ByPlanner,
) -> Decided<Put> {
    let mut keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    keys.sort_unstable();
    let before = load(db, &keys, &[]).await?;
    finish(db, own, decide::remove_all(before, source, by), by).await
}

async fn put_instance(db: &Connection<'_>, own: Shards, key: &str, put: PutInstance, by: &ByPlanner) -> Decided<Put> {
    let before = load(db, &[key], &[]).await?.pop();
    match decide::change_instance(before, put, by).transpose() {
        Some(done) => finish(db, own, done, by).await,
        None => {
            db.rollback().await?;
            Ok(Err(ChangeError::NotFound))
        }
    }
}

/// Plans what is to be planned, if that is not too much at once, and writes it all.
async fn finish(db: &Connection<'_>, own: Shards, decided: Result<Done, Refused>, by: &ByPlanner) -> Decided<Put> {
    let Done { done, to_plan, mut writes } = match decided {
        Ok(done) => done,
        Err(refused) => {
            db.rollback().await?;
            return Ok(Err(refused.into()));
        }
    };
    let mut planned = PlannedEvents::default();
    if to_plan.len() <= PLANNED_AT_ONCE {
        let around = around(db, &to_plan).await?;
        let also;
        (planned, also) = decide::planned(to_plan, around, REMINDERS_AT_ONCE, by);
        writes.add(also);
    } else {
        planned.is_unfinished = true;
    }
    if planned.is_unfinished {
        say(db).await?;
    }
    commit(db, own, &writes).await?;
    Ok(Ok(Put { done, planned }))
}

async fn plan_events(
    db: &Connection<'_>,
    own: Shards,
    keys: Option<&[String]>,
    by: &ByPlanner,
) -> Result<PlannedEvents, Fault> {
    let loaded = match keys {
        Some(keys) => {
            let mut keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            keys.sort_unstable();
            load(db, &keys, &[]).await?
        }
        None => due(db, by.now).await?,
    };
    if loaded.is_empty() {
        db.rollback().await?;
    } else {
        let around = around(db, &loaded).await?;
        let (planned, writes) = decide::planned(loaded, around, REMINDERS_AT_ONCE, by);
        commit(db, own, &writes).await?;
        return with_next(db, planned, keys.is_none()).await;
    }
    with_next(db, PlannedEvents::default(), keys.is_none()).await
}

/// Adds when an event must be looked at next.
async fn with_next(db: &Connection<'_>, mut planned: PlannedEvents, is_asked: bool) -> Result<PlannedEvents, Fault> {
    if is_asked {
        let next = "select plan_at from punctual.event where plan_at is not null order by plan_at limit 1";
        let rows = db.rows(next, &[]).await?;
        planned.next_at = rows.first().map(|row| optional_instant(row, 0)).transpose()?.flatten();
    }
    Ok(planned)
}

/// Begins, and locks the events with these keys, in order; they may be put under one of `paths`, whose scopes nobody changes meanwhile.
async fn load(db: &Connection<'_>, keys: &[&str], paths: &[&str]) -> Result<Vec<Loaded>, Fault> {
    let keys: Vec<_> = keys.iter().map(|key| clean(key)).collect();
    let of_keys: [Param<'_>; 1] = [(&keys, Type::TEXT_ARRAY)];
    let of_paths: [Param<'_>; 1] = [(&paths, Type::TEXT_ARRAY)];
    let sql = format!(
        "select {} from unnest($1) as v (key) join punctual.event e on e.key = v.key for update of e",
        rows::EVENT
    );
    let lock = async {
        match paths.is_empty() {
            true => Ok(Vec::new()),
            false => {
                // In the order of their roots, so that nobody waits in a circle.
                let sql = "select punctual.lock_scope(v.root, false) from (select distinct split_part(p, '/', 1) as root \
                    from unnest($1) as p order by 1) as v";
                db.rows(sql, &of_paths).await
            }
        }
    };
    let ((), _, found) = all3(db.begin(BEGIN_BY_KEY), lock, db.rows(&sql, &of_keys)).await?;
    with_links(db, each(&found, rows::event)?).await
}

/// Begins, and locks the events whose moment has come, but for those that another is just planning.
async fn due(db: &Connection<'_>, now: Timestamp) -> Result<Vec<Loaded>, Fault> {
    let limit = i64::try_from(PLANNED_AT_ONCE).unwrap_or(i64::MAX);
    let sql = format!(
        "select {} from punctual.event e where e.plan_at <= $1 order by e.plan_at limit $2 \
         for update skip locked",
        rows::EVENT
    );
    let soon = micros(now.saturating_add(decide::AHEAD).unwrap_or(now));
    let params: [Param<'_>; 2] = [(&soon, Type::TIMESTAMPTZ), (&limit, Type::INT8)];
    let ((), found, ()) = all3(db.begin(BEGIN_IN_ORDER), db.rows(&sql, &params), db.batch(BY_KEY)).await?;
    with_links(db, each(&found, rows::event)?).await
}

async fn with_links(db: &Connection<'_>, mut loaded: Vec<Loaded>) -> Result<Vec<Loaded>, Fault> {
    if loaded.is_empty() {
        return Ok(loaded);
    }
    let keys: Vec<&str> = loaded.iter().map(|loaded| loaded.stands.key.as_str()).collect();
    let sql = format!(
        "select {} from unnest($1) as v (key) join punctual.event_reminder l on l.event_key = v.key",
        rows::LINK
    );
    let found = db.rows(&sql, &[(&keys, Type::TEXT_ARRAY)]).await?;
    let mut links: HashMap<String, Vec<Link>> = HashMap::new();
    for link in each(&found, rows::link)? {
        links.entry(link.slot.event.clone()).or_default().push(link);
    }
    for loaded in &mut loaded {
        loaded.links = links.remove(&loaded.stands.key).unwrap_or_default();
    }
    Ok(loaded)
}

/// What planning these events needs to know; their reminders and those's runs are locked.
async fn around(db: &Connection<'_>, loaded: &[Loaded]) -> Result<Around, Fault> {
    let (paths, groups) = decide::needs(loaded);
    let (paths, groups): (Vec<String>, Vec<String>) = (paths.into_iter().collect(), groups.into_iter().collect());
    let mut ids: Vec<Uuid> = loaded.iter().flat_map(|loaded| &loaded.links).map(|link| uuid(link.reminder)).collect();
    ids.sort_unstable();
    // Groups are shared, so that whoever changes one waits and then sees these events.
    let (scopes, groups, linked) = all3(
        async {
            if paths.is_empty() {
                return Ok(Vec::new());
            }
            let sql = format!("select {} from punctual.scope s where s.path = any ($1)", rows::SCOPE);
            each(&db.rows(&sql, &[(&paths, Type::TEXT_ARRAY)]).await?, rows::scope)
        },
        async {
            if groups.is_empty() {
                return Ok(Vec::new());
            }
            let sql = format!("select {} from punctual.user_group g where g.name = any ($1) for share", rows::GROUP);
            each(&db.rows(&sql, &[(&groups, Type::TEXT_ARRAY)]).await?, rows::group)
        },
        linked(db, ids),
    )
    .await?;
    let zones = zones(db, loaded, &groups).await?;
    Ok(Around { scopes, groups, zones, linked })
}

/// The zones of the people of these events.
async fn zones(db: &Connection<'_>, loaded: &[Loaded], groups: &[Group]) -> Result<HashMap<String, Zone>, Fault> {
    let people: Vec<String> = decide::people(loaded, groups).into_iter().collect();
    if people.is_empty() {
        return Ok(HashMap::new());
    }
    let people: Vec<_> = people.iter().map(|user| clean(user)).collect();
    let sql = "select u.id, u.timezone from unnest($1) as v (id) join punctual.app_user u on u.id = v.id \
        where u.timezone is not null";
    let found = each(&db.rows(sql, &[(&people, Type::TEXT_ARRAY)]).await?, |row| {
        let mut from = Reader::new(row, 0);
        // A zone that cannot be read must not keep an event from being planned.
        Ok((from.owned()?, Zone::named(from.text()?)))
    })?;
    Ok(found.into_iter().filter_map(|(user, zone)| Some((user, zone.ok()?))).collect())
}

static RUNS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "select o.* from unnest($1) as v (id) cross join lateral (select {} from punctual.occurrence o \
         where o.reminder_id = v.id and {} order by o.run for update of o) as o",
        rows::OCCURRENCE,
        rows::OPEN_BY_KEY
    )
});

static REMINDERS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "select {}, {} from unnest($1) as v (id) join punctual.reminder r on r.id = v.id for no key update of r",
        rows::REMINDER,
        rows::PROGRESS
    )
});

/// Locks reminders and their open runs. One that cannot be read counts as over: a claim sets its runs aside.
async fn linked(db: &Connection<'_>, ids: Vec<Uuid>) -> Result<HashMap<ReminderId, Linked>, Fault> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let params: [Param<'_>; 1] = [(&ids, Type::UUID_ARRAY)];
    let (runs, reminders) = both(db.rows(&RUNS, &params), db.rows(&REMINDERS, &params)).await?;
    let mut linked: HashMap<ReminderId, Linked> = HashMap::with_capacity(ids.len());
    for row in &reminders {
        let mut from = Reader::new(row, 0);
        if let Ok(reminder) = rows::reminder(&mut from)
            && let Ok(progress) = rows::progress(&mut from)
        {
            linked.insert(reminder.id, Linked { reminder, progress, open: Vec::new(), family: Vec::new() });
        }
    }
    for row in &runs {
        if let Ok(run) = rows::occurrence(&mut Reader::new(row, 0))
            && let Some(linked) = linked.get_mut(&run.id.reminder)
        {
            linked.open.push(run);
        }
    }
    for linked in linked.values_mut().filter(|linked| linked.may_have_kin()) {
        let root = linked.reminder.id;
        let lock = format!(
            "select from punctual.reminder r join punctual.occurrence o on o.reminder_id = r.id \
             where r.escalates_id = $1 and {} for update of o",
            rows::MAY_BE_ASKED
        );
        db.rows(&lock, &[(&uuid(root), Type::UUID)]).await?;
        linked.family = change::kin(db, root, &Family { root, runs: None }).await?;
    }
    Ok(linked)
}

static INSERT_EVENT: LazyLock<String> = LazyLock::new(|| insert(&EVENT));
static UPSERT_EVENT: LazyLock<String> = LazyLock::new(|| upsert(&EVENT));
static UPDATE_MARKED: LazyLock<String> = LazyLock::new(|| update(&MARKED));
static UPDATE_STANDS: LazyLock<String> = LazyLock::new(|| update(&STANDS));
static UPSERT_LINK: LazyLock<String> = LazyLock::new(|| upsert(&LINK));
static DELETE_SLOT: LazyLock<String> = LazyLock::new(|| writing::delete(&SLOT));
static UPSERT_SCOPE: LazyLock<String> = LazyLock::new(|| upsert(&SCOPE));

/// Adds what is written of events and scopes to a pipeline.
pub(super) fn write<'a>(pipeline: &mut Vec<Statement<'a>>, db: &'a Connection<'_>, writes: &'a EventWrites) {
    // Those are marked before anything else is written; see `mark_all`.
    let EventWrites { new, put: changed, marked: _, stands, gone, unlinked, links, scopes, scopes_gone } = writes;
    for (sql, events) in [(&INSERT_EVENT, new), (&UPSERT_EVENT, changed)] {
        let mut events: Vec<&Event> = events.iter().collect();
        events.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        put(pipeline, db, sql, &EVENT, events);
    }
    put(pipeline, db, &UPDATE_STANDS, &STANDS, stands.iter().collect());
    if !gone.is_empty() {
        pipeline.push(Box::pin(forget(db, gone)));
    }
    let slots: Vec<&Slot> = unlinked.iter().collect();
    put(pipeline, db, &DELETE_SLOT, &SLOT, slots);
    put(pipeline, db, &UPSERT_LINK, &LINK, links.iter().collect());
    put(pipeline, db, &UPSERT_SCOPE, &SCOPE, scopes.iter().collect());
    if !scopes_gone.is_empty() {
        pipeline.push(Box::pin(async move {
            let paths: Vec<&str> = scopes_gone.iter().map(Path::as_str).collect();
            db.execute("delete from punctual.scope where path = any ($1)", &[(&paths, Type::TEXT_ARRAY)]).await?;
            Ok(())
        }));
    }
}

async fn forget(db: &Connection<'_>, keys: &[String]) -> Result<(), Fault> {
    let keys: Vec<_> = keys.iter().map(|key| clean(key)).collect();
    let params: [Param<'_>; 1] = [(&keys, Type::TEXT_ARRAY)];
    let links = db.execute("delete from punctual.event_reminder where event_key = any ($1)", &params);
    both(links, db.execute("delete from punctual.event where key = any ($1)", &params)).await?;
    Ok(())
}

/// Marks the events to be planned that are so, as of `$1`, the first of `params`, and tells the nodes; returns how many those are.
async fn mark(db: &Connection<'_>, which: &str, params: &[Param<'_>]) -> Result<u64, Fault> {
    let n_events =
        db.execute(&format!("update punctual.event set {MARK} where not removed and {which}"), params).await?;
    if n_events > 0 {
        say(db).await?;
    }
    Ok(n_events)
}

/// Adds to a pipeline that these events are to be planned, and that the nodes hear of it. It comes before all else that is written: everybody
/// locks events before runs.
pub(super) fn mark_all<'a>(pipeline: &mut Vec<Statement<'a>>, db: &'a Connection<'_>, marked: &'a [Marked]) {
    let mut marked: Vec<&Marked> = marked.iter().collect();
    if marked.is_empty() {
        return;
    }
    marked.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    put(pipeline, db, &UPDATE_MARKED, &MARKED, marked);
    pipeline.push(Box::pin(say(db)));
}

async fn put_scope(db: &Connection<'_>, own: Shards, scope: &Scope, who: Who) -> Result<PutScope, Fault> {
    let before = begin_scope(db, &scope.path).await?;
    who.expects.check(|| before.as_ref().map(Scope::version))?;
    let n_events = mark_scope(db, &scope.path, scope.updated_at).await?;
    commit(db, own, &decide::put_scope(scope, false, n_events, who, scope.updated_at)).await?;
    Ok(PutScope { is_new: before.is_none(), n_events })
}

async fn remove_scope(
    db: &Connection<'_>,
    own: Shards,
    path: &Path,
    who: Who,
    now: Timestamp,
) -> Result<Option<u64>, Fault> {
    let Some(before) = begin_scope(db, path).await? else {
        db.rollback().await?;
        return Ok(None);
    };
    who.expects.check(|| Some(before.version()))?;
    let n_events = mark_scope(db, path, now).await?;
    commit(db, own, &decide::put_scope(&before, true, n_events, who, now)).await?;
    Ok(Some(n_events))
}

/// Begins, and keeps everybody else from writing scopes and events under the same root.
async fn begin_scope(db: &Connection<'_>, path: &Path) -> Result<Option<Scope>, Fault> {
    let sql = format!("select {} from punctual.scope s where s.path = $1", rows::SCOPE);
    let params: [Param<'_>; 1] = [(&path.as_str(), Type::TEXT)];
    let lock = db.rows("select punctual.lock_scope($1, true)", &params);
    let ((), _, found) = all3(db.begin(BEGIN), lock, db.rows(&sql, &params)).await?;
    Ok(each(&found, rows::scope)?.pop())
}

/// Marks the events that depend on a scope, and tells the nodes; returns how many those are.
async fn mark_scope(db: &Connection<'_>, path: &Path, now: Timestamp) -> Result<u64, Fault> {
    // `0` follows `/`.
    let which = "offsets is null and (scope = $2 or scope > $2 || '/' and scope < $2 || '0')";
    mark(db, which, &[(&micros(now), Type::TIMESTAMPTZ), (&path.as_str(), Type::TEXT)]).await
}

/// Marks the events that remind the members of a group, and tells the nodes.
pub(super) async fn mark_group(db: &Connection<'_>, name: &str, now: Timestamp) -> Result<(), Fault> {
    let named = serde_json::to_string(name).map_err(impossible)?;
    let which = "groups is not null and strpos(groups, $2) > 0";
    mark(db, which, &[(&micros(now), Type::TIMESTAMPTZ), (&named, Type::TEXT)]).await.map(drop)
}

/// Tells the nodes that events are to be planned.
async fn say(db: &Connection<'_>) -> Result<(), Fault> {
    db.rows(&format!("select pg_notify('{CHANNEL}', 'events')"), &[]).await?;
    Ok(())
}

async fn event(db: &Connection<'_>, key: &str) -> Result<Option<EventView>, Fault> {
    let key = clean(key);
    let params: [Param<'_>; 1] = [(&key, Type::TEXT)];
    let one = format!("select {} from punctual.event e where e.key = $1 and not e.removed", rows::EVENT);
    let slots = format!(
        "select {}, (select o.state from punctual.occurrence o where o.reminder_id = l.reminder_id order by o.run desc limit 1), \
         count(*) over () from punctual.event_reminder l where l.event_key = $1 \
         order by l.due_at, l.offset_word, l.user_id limit {SLOTS_SHOWN_MAX}",
        rows::LINK
    );
    let ((), found, slots, ()) =
        all4(db.begin(BEGIN_READ), db.rows(&one, &params), db.rows(&slots, &params), db.commit()).await?;
    let Some(Loaded { event, stands, .. }) = each(&found, rows::event)?.pop() else { return Ok(None) };
    let n_slots: i64 = slots.first().map(|row| get(row, 7)).transpose()?.unwrap_or_default();
    let slots = each(&slots, rows::slot_view)?;
    let event = event.map_err(StoreError::Broken)?;
    let n_slots = u64::try_from(n_slots).map_err(impossible)?;
    Ok(Some(EventView { event, slots, n_slots, is_planned: stands.planned, error: stands.error }))
}

async fn events(db: &Connection<'_>, query: &EventQuery) -> Result<Vec<Event>, Fault> {
    let EventQuery { scope, user, from, to, source, after, limit } = query;
    // A user's groups are few, and are found first.
    let sql = format!(
        "with own as materialized (select '\"' || g.name || '\"' as word from punctual.user_group g where strpos(g.users, $3) > 0 \
           union select '\"' || s.group_name || '\"' from punctual.rota_shift s where s.user_id = $8) \
         select {} from punctual.event e where not e.removed and e.key > $1 \
         and ($2::text is null or e.scope = $2 or e.scope > $2 || '/' and e.scope < $2 || '0') \
         and ($3::text is null or strpos(e.users, $3) > 0 \
           or e.groups is not null and exists (select from own where strpos(e.groups, own.word) > 0)) \
         and ($4::timestamptz is null or e.starts_at >= $4 or e.repeats is not null) \
         and ($5::timestamptz is null or e.starts_at < $5) and ($6::text is null or e.source = $6) order by e.key limit $7",
        rows::EVENT
    );
    let name = user.as_deref().map(clean);
    let user = user.as_ref().map(serde_json::to_string).transpose().map_err(impossible)?;
    let (from, to) = (from.map(micros), to.map(micros));
    let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
    let (after, scope) = (clean(after.as_deref().unwrap_or("")), scope.as_ref().map(Path::as_str));
    let params: [Param<'_>; 8] = [
        (&after, Type::TEXT),
        (&scope, Type::TEXT),
        (&user, Type::TEXT),
        (&from, Type::TIMESTAMPTZ),
        (&to, Type::TIMESTAMPTZ),
        (&source, Type::TEXT),
        (&limit, Type::INT8),
        (&name, Type::TEXT),
    ];
    let found = each(&db.rows(&sql, &params).await?, rows::event)?;
    // One that cannot be read is shown by its own name, with an error.
    Ok(found.into_iter().filter_map(|loaded| loaded.event.ok()).collect())
}

async fn scope(db: &Connection<'_>, path: &Path) -> Result<Option<Scope>, Fault> {
    let sql = format!("select {} from punctual.scope s where s.path = $1", rows::SCOPE);
    Ok(each(&db.rows(&sql, &[(&path.as_str(), Type::TEXT)]).await?, rows::scope)?.pop())
}

async fn scopes(
    db: &Connection<'_>,
    under: Option<&Path>,
    after: Option<&Path>,
    limit: usize,
) -> Result<Vec<Scope>, Fault> {
    let sql = format!(
        "select {} from punctual.scope s where s.path > $1 \
         and ($2::text is null or s.path = $2 or s.path > $2 || '/' and s.path < $2 || '0') order by s.path limit $3",
        rows::SCOPE
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let (after, under) = (after.map_or("", Path::as_str), under.map(Path::as_str));
    let params: [Param<'_>; 3] = [(&after, Type::TEXT), (&under, Type::TEXT), (&limit, Type::INT8)];
    each(&db.rows(&sql, &params).await?, rows::scope)
}
