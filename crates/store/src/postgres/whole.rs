//! Everything there is, out and in; and one person, out for ever.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::decide::adopt::{There, Wanted, adopted};
use punctual_core::decide::claim::Due;
use punctual_core::feed::FeedKey;
use punctual_core::id::{ReminderId, SilenceId};
use punctual_core::journal::Placed;
use punctual_core::shard::Shards;
use punctual_core::store::{Record, Redacted, Removed, StoreError, Which, WholeQuery, Wholes, Wholly};
use punctual_core::watch::LedgerRow;
use punctual_core::whole::{Adopted, Content, Line, Overdue, WholeRun};
use punctual_core::writes::Link;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{BEGIN, BEGIN_READ_IN_ORDER, Ids};
use super::fault::Fault;
use super::pipeline::{all4, all5, both};
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, get, int, micros, uuid};
use super::{PostgresStore, erase, feed, keep, write};
use crate::journal::{ENTRY, placed};
use crate::rows::{self, Reader};
use crate::watch::ledger;
use crate::whole::{Found, put_together};

#[async_trait]
impl Wholes for PostgresStore {
    async fn wholes(&self, query: WholeQuery) -> Result<Wholly, StoreError> {
        on!(self, Normal, reads: true, db => wholes(&db, &query))
    }

    async fn runs_below(&self, id: ReminderId, below: u32, limit: usize) -> Result<Vec<WholeRun>, StoreError> {
        on!(self, Normal, reads: true, db => runs_below(&db, id, below, limit))
    }

    async fn has_entries(&self, entries: Vec<Placed>) -> Result<Vec<bool>, StoreError> {
        let these: Vec<&Placed> = entries.iter().collect();
        let there = on!(self, Normal, reads: true, db => entries_there(&db, &these))?;
        Ok(entries.iter().map(|entry| there.contains(&Content::of(entry))).collect())
    }

    async fn adopt(&self, lines: Vec<Line>, overdue: Overdue, now: Timestamp) -> Result<Adopted, StoreError> {
        // What was written is there the second time, and stays.
        on!(self, Normal, reads: true, db => adopt(&db, self.own(), &lines, overdue, now))
    }

    async fn links(&self, event: &str) -> Result<Vec<Link>, StoreError> {
        on!(self, Normal, reads: true, db => links(&db, event))
    }

    async fn ledgers(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<(String, LedgerRow)>, StoreError> {
        let after = after.unwrap_or_default();
        on!(self, Normal, reads: true, db => ledgers(&db, &after, limit))
    }

    async fn remove_reminders(&self, user: &str) -> Result<Removed, StoreError> {
        // What is gone is gone the second time.
        on!(self, Normal, reads: true, db => erase::remove_reminders(&db, user))
    }

    async fn redact(&self, user: &str, record: Record, after: &str) -> Result<Redacted, StoreError> {
        on!(self, Normal, reads: true, db => erase::redact(&db, self.own(), user, record, after))
    }
}

async fn wholes(db: &Connection<'_>, query: &WholeQuery) -> Result<Wholly, Fault> {
    let columns = format!("select {}, {} from punctual.reminder r", rows::REMINDER, rows::PROGRESS);
    let user = query.user.as_deref().map(clean);
    let rows = match &query.which {
        Which::After(after, limit) => {
            let whose = if user.is_some() { "r.user_id = $2" } else { "$2 is null" };
            let sql = format!("{columns} where r.id > $1 and {whose} order by r.id limit $3");
            let (after, limit) = (after.map_or_else(Uuid::nil, uuid), i64::try_from(*limit).unwrap_or(i64::MAX));
            let these: [Param<'_>; 3] = [(&after, Type::UUID), (&user, Type::TEXT), (&limit, Type::INT8)];
            both(db.begin(BEGIN_READ_IN_ORDER), db.rows(&sql, &these)).await?.1
        }
        Which::These(ids) => {
            let ids: Vec<Uuid> = ids.iter().copied().map(uuid).collect();
            let sql = format!("{columns} where r.id = any ($1)");
            let these: [Param<'_>; 1] = [(&ids, Type::UUID_ARRAY)];
            both(db.begin(BEGIN_READ_IN_ORDER), db.rows(&sql, &these)).await?.1
        }
    };
    let mut found = Found::default();
    for row in &rows {
        found.add(row, query)?;
    }
    let ids: Vec<Uuid> = found.reminders.keys().copied().map(uuid).collect();
    // One more than wanted tells whether there are more.
    let limit = i64::try_from(query.runs_max + 1).unwrap_or(i64::MAX);
    let sql = format!(
        "select {} from unnest($1) as v (id) cross join lateral (select * from punctual.occurrence r where r.reminder_id = v.id \
         order by r.run desc limit $2) as o",
        rows::OCCURRENCE
    );
    let newest = db.rows(&sql, &[(&ids, Type::UUID_ARRAY), (&limit, Type::INT8)]).await?;
    let mut by_reminder: BTreeMap<ReminderId, Vec<Due>> = BTreeMap::new();
    take(&newest, &mut found, &mut by_reminder)?;
    let mut more = HashMap::new();
    for (id, due) in &mut by_reminder {
        if due.len() > query.runs_max {
            due.truncate(query.runs_max);
            more.insert(*id, due.last().map_or(u32::MAX, |due| due.occurrence.id.run));
        }
    }
    if !more.is_empty() {
        let (long, below): (Vec<Uuid>, Vec<i32>) = more.iter().map(|(id, below)| (uuid(*id), int(*below))).unzip();
        let sql = format!(
            "select {} from unnest($1, $2) as v (id, below) join punctual.occurrence o on o.reminder_id = v.id and o.run < v.below \
             and {}",
            rows::OCCURRENCE,
            rows::OPEN
        );
        let open = db.rows(&sql, &[(&long, Type::UUID_ARRAY), (&below, Type::INT4_ARRAY)]).await?;
        take(&open, &mut found, &mut by_reminder)?;
    }
    let runs = with_trails(db, by_reminder.into_values().flatten().collect()).await?;
    db.commit().await?;
    Ok(found.page(runs, &more))
}

/// Puts runs to their reminders, in the order of the rows.
fn take(rows: &[Row], found: &mut Found, into: &mut BTreeMap<ReminderId, Vec<Due>>) -> Result<(), StoreError> {
    for row in rows {
        let id = Reader::new(row, 0).id()?;
        match rows::due(&mut Reader::new(row, 0)) {
            Ok(due) => into.entry(id).or_default().push(due),
            Err(error) => found.set_aside(id, &error),
        }
    }
    Ok(())
}

/// These runs with their attempts and answers.
async fn with_trails(db: &Connection<'_>, due: Vec<Due>) -> Result<Vec<WholeRun>, Fault> {
    let ids: Ids = due.iter().map(|due| due.occurrence.id).collect();
    let of_runs: [Param<'_>; 2] = [(&ids.reminders, Type::UUID_ARRAY), (&ids.runs, Type::INT4_ARRAY)];
    let attempts = format!(
        "select a.reminder_id, a.run, {} from unnest($1, $2) as v (id, run) join punctual.attempt a \
         on a.reminder_id = v.id and a.run = v.run order by a.reminder_id, a.run, a.number",
        rows::ATTEMPT
    );
    let responses = format!(
        "select {} from unnest($1, $2) as v (id, run) join punctual.response s on s.reminder_id = v.id and s.run = v.run \
         order by s.number",
        rows::RESPONSE
    );
    let (attempts, responses) = both(db.rows(&attempts, &of_runs), db.rows(&responses, &of_runs)).await?;
    let attempts = each(&attempts, |row| {
        let mut from = Reader::new(row, 0);
        Ok((from.occurrence_id()?, rows::attempt(&mut from)?))
    })?;
    let responses = each(&responses, |row| rows::response(&mut Reader::new(row, 0)))?;
    Ok(put_together(due, attempts, responses))
}

async fn runs_below(db: &Connection<'_>, id: ReminderId, below: u32, limit: usize) -> Result<Vec<WholeRun>, Fault> {
    let sql = format!(
        "select {} from punctual.occurrence o where o.reminder_id = $1 and o.run < $2 and {} order by o.run desc limit $3",
        rows::OCCURRENCE,
        rows::ENDED
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let these: [Param<'_>; 3] = [(&uuid(id), Type::UUID), (&int(below), Type::INT4), (&limit, Type::INT8)];
    let ((), rows) = both(db.begin(BEGIN_READ_IN_ORDER), db.rows(&sql, &these)).await?;
    let due = each(&rows, |row| rows::due(&mut Reader::new(row, 0)))?;
    let runs = with_trails(db, due).await?;
    db.commit().await?;
    Ok(runs)
}

async fn links(db: &Connection<'_>, event: &str) -> Result<Vec<Link>, Fault> {
    let sql = format!(
        "select {} from punctual.event_reminder l where l.event_key = $1 \
         order by l.instance collate \"C\", l.offset_word collate \"C\", l.user_id collate \"C\"",
        rows::LINK
    );
    each(&db.rows(&sql, &[(&clean(event), Type::TEXT)]).await?, rows::link)
}

async fn ledgers(
    db: &Connection<'_>,
    (watch, key): &(String, String),
    limit: usize,
) -> Result<Vec<(String, LedgerRow)>, Fault> {
    let sql = "select l.key, l.due_at, l.n, l.sent_at, l.watch from punctual.watch_ledger l where (l.watch, l.key) > ($1, $2) \
               order by l.watch, l.key limit $3";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = db.rows(sql, &[(watch, Type::TEXT), (key, Type::TEXT), (&limit, Type::INT8)]).await?;
    each(&rows, |row| Ok((get(row, 4)?, ledger(row)?)))
}

async fn adopt(
    db: &Connection<'_>,
    own: Shards,
    lines: &[Line],
    overdue: Overdue,
    now: Timestamp,
) -> Result<Adopted, Fault> {
    db.begin(BEGIN).await?;
    let there = there(db, &Wanted::of(lines)).await?;
    let (adopted, adoption) = adopted(lines.to_vec(), there, overdue, now);
    for user in &adoption.users {
        keep::put_user(db, user).await?;
    }
    write::adopt(db, own, &adoption).await?;
    for group in &adoption.groups {
        feed::follow_group(db, &group.name, group.rota.as_deref(), now).await?;
    }
    for one in &adoption.feeds {
        feed::put(db, one).await?;
    }
    db.commit().await?;
    Ok(adopted)
}

/// What is there of what lines name.
async fn there(db: &Connection<'_>, wanted: &Wanted<'_>) -> Result<There, Fault> {
    let reminders: Vec<Uuid> = wanted.reminders.iter().copied().map(uuid).collect();
    let runs: Ids = wanted.runs.iter().copied().collect();
    let silences: Vec<Uuid> = wanted.silences.iter().map(|id| Uuid::from_bytes(*id.as_bytes())).collect();
    let users: Vec<_> = wanted.users.iter().map(|id| clean(id)).collect();
    let groups: Vec<_> = wanted.groups.iter().map(|name| clean(name)).collect();
    let of_reminders: [Param<'_>; 1] = [(&reminders, Type::UUID_ARRAY)];
    let of_runs: [Param<'_>; 2] = [(&runs.reminders, Type::UUID_ARRAY), (&runs.runs, Type::INT4_ARRAY)];
    let of_silences: [Param<'_>; 1] = [(&silences, Type::UUID_ARRAY)];
    let of_users: [Param<'_>; 1] = [(&users, Type::TEXT_ARRAY)];
    let of_groups: [Param<'_>; 1] = [(&groups, Type::TEXT_ARRAY)];
    let (reminders, runs, silences, users, groups) = all5(
        db.rows("select id from punctual.reminder where id = any ($1)", &of_reminders),
        db.rows(
            "select o.reminder_id, o.run from unnest($1, $2) as v (id, run) join punctual.occurrence o \
             on o.reminder_id = v.id and o.run = v.run",
            &of_runs,
        ),
        db.rows("select id from punctual.silence where id = any ($1)", &of_silences),
        db.rows("select id from punctual.app_user where id = any ($1)", &of_users),
        db.rows("select name from punctual.user_group where name = any ($1)", &of_groups),
    )
    .await?;
    let (scopes, events): (Vec<_>, Vec<_>) =
        (wanted.scopes.iter().map(|path| clean(path)).collect(), wanted.events.iter().map(|key| clean(key)).collect());
    let (watches, keys): (Vec<_>, Vec<_>) = wanted.ledger.iter().map(|(watch, key)| (clean(watch), clean(key))).unzip();
    let of_scopes: [Param<'_>; 1] = [(&scopes, Type::TEXT_ARRAY)];
    let of_events: [Param<'_>; 1] = [(&events, Type::TEXT_ARRAY)];
    let of_ledger: [Param<'_>; 2] = [(&watches, Type::TEXT_ARRAY), (&keys, Type::TEXT_ARRAY)];
    let (owners, names): (Vec<_>, Vec<_>) =
        wanted.feeds.iter().map(|key| (clean(&key.owner), clean(&key.name))).unzip();
    let of_feeds: [Param<'_>; 2] = [(&owners, Type::TEXT_ARRAY), (&names, Type::TEXT_ARRAY)];
    let (scopes, events, ledger, feeds) = all4(
        db.rows("select path from punctual.scope where path = any ($1)", &of_scopes),
        db.rows("select key from punctual.event where key = any ($1)", &of_events),
        db.rows(
            "select l.watch, l.key from unnest($1, $2) as v (watch, key) join punctual.watch_ledger l \
             on l.watch = v.watch and l.key = v.key",
            &of_ledger,
        ),
        db.rows(
            "select f.owner, f.name from unnest($1, $2) as v (owner, name) join punctual.feed f \
             on f.kind = 'user' and f.owner = v.owner and f.name = v.name",
            &of_feeds,
        ),
    )
    .await?;
    Ok(There {
        scopes: each(&scopes, |row| get(row, 0))?.into_iter().collect(),
        events: each(&events, |row| get(row, 0))?.into_iter().collect(),
        feeds: each(&feeds, |row| Ok(FeedKey::of_user(&get::<String>(row, 0)?, &get::<String>(row, 1)?)))?
            .into_iter()
            .collect(),
        ledger: each(&ledger, |row| Ok((get(row, 0)?, get(row, 1)?)))?.into_iter().collect(),
        reminders: each(&reminders, |row| Reader::new(row, 0).id())?.into_iter().collect(),
        runs: each(&runs, |row| Reader::new(row, 0).occurrence_id())?.into_iter().collect(),
        silences: each(&silences, |row| Ok(SilenceId::from_bytes(get::<Uuid>(row, 0)?.into_bytes())))?
            .into_iter()
            .collect(),
        users: each(&users, |row| get(row, 0))?.into_iter().collect(),
        groups: each(&groups, |row| get(row, 0))?.into_iter().collect(),
        entries: entries_there(db, &wanted.entries).await?,
    })
}

/// What is said by entries that are there, of the times and reminders of these.
async fn entries_there(db: &Connection<'_>, entries: &[&Placed]) -> Result<HashSet<Content>, Fault> {
    let at = entries.iter().map(|entry| entry.at);
    let Some((first, last)) = at.clone().min().zip(at.max()) else { return Ok(HashSet::new()) };
    let mut reminders: Vec<Uuid> = entries.iter().filter_map(|entry| entry.reminder).map(uuid).collect();
    reminders.sort_unstable();
    reminders.dedup();
    let (first, last) = (micros(first), micros(last));
    let times: [Param<'_>; 2] = [(&first, Type::TIMESTAMPTZ), (&last, Type::TIMESTAMPTZ)];
    let these: [Param<'_>; 3] =
        [(&first, Type::TIMESTAMPTZ), (&last, Type::TIMESTAMPTZ), (&reminders, Type::UUID_ARRAY)];
    let columns = format!("select 0::bigint, null::text, {ENTRY} from punctual.journal j where j.at between $1 and $2");
    let (of_reminders, others) =
        (format!("{columns} and j.reminder_id = any ($3)"), format!("{columns} and j.reminder_id is null"));
    let (of_reminders, others) = both(db.rows(&of_reminders, &these), db.rows(&others, &times)).await?;
    let mut there = HashSet::with_capacity(entries.len());
    there.extend(each(&of_reminders, |row| Ok(Content::of(&placed(row)?)))?);
    if entries.iter().any(|entry| entry.reminder.is_none()) {
        there.extend(each(&others, |row| Ok(Content::of(&placed(row)?)))?);
    }
    Ok(there)
}
