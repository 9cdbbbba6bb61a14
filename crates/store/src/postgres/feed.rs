//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::decide::calendar::{NewRota, address_version, calendar_renewed, feed_changed, rota_changed};
use punctual_core::feed::{Feed, FeedKey, FeedKind};
use punctual_core::group::Shift;
use punctual_core::journal::Who;
use punctual_core::shard::Shards;
use punctual_core::store::{FeedEnd, Feeds, StoreError, TakenFeed};
use punctual_core::version::Expects;
use tokio_postgres::types::Type;

use super::PostgresStore;
use super::batch::BEGIN;
use super::event;
use super::fault::Fault;
use super::keep;
use super::pipeline;
use super::pool::Connection;
use super::read::each;
use super::row::{clean, get, impossible, micros, optional_instant};
use super::write::write;
use crate::rows;

#[async_trait]
impl Feeds for PostgresStore {
    async fn calendar_key(&self, user: &str) -> Result<u64, StoreError> {
        on!(self, Normal, reads: true, db => key(&db, user))
    }

    async fn renew_calendar_key(&self, user: &str, who: Who, now: Timestamp) -> Result<u64, StoreError> {
        on!(self, Normal, reads: false, db => renew_key(&db, user, &who, now))
    }

    async fn put_feed(&self, feed: Feed, who: Who, now: Timestamp) -> Result<(), StoreError> {
        // The same again leads to the same, but for a second entry.
        on!(self, Normal, reads: false, db => put_by(&db, &feed, &who, now))
    }

    async fn remove_feed(&self, key: &FeedKey, who: Who, now: Timestamp) -> Result<bool, StoreError> {
        on!(self, Normal, reads: false, db => remove_by(&db, key, &who, now))
    }

    async fn feeds(
        &self,
        kind: FeedKind,
        owner: Option<String>,
        after: Option<FeedKey>,
        limit: usize,
    ) -> Result<Vec<Feed>, StoreError> {
        on!(self, Normal, reads: true, db => feeds(&db, kind, owner.as_deref(), after.as_ref(), limit))
    }

    async fn take_feed(&self, node: &str, until: Timestamp, now: Timestamp) -> Result<TakenFeed, StoreError> {
        // One that was taken although the answer was lost is free again when its time is over.
        on!(self, Normal, reads: true, db => take(&db, node, until, now))
    }

    async fn end_feed(&self, node: &str, end: FeedEnd) -> Result<bool, StoreError> {
        on!(self, Normal, reads: false, db => finish(&db, node, &end))
    }
}

async fn key(db: &Connection<'_>, user: &str) -> Result<u64, Fault> {
    let sql = "select generation from punctual.calendar_key where user_id = $1";
    let rows = db.rows(sql, &[(&clean(user), Type::TEXT)]).await?;
    rows.first().map_or(Ok(0), generation)
}

async fn renew_key(db: &Connection<'_>, user: &str, who: &Who, now: Timestamp) -> Result<u64, Fault> {
    db.begin(BEGIN).await?;
    let sql = "insert into punctual.calendar_key as k (user_id, generation) values ($1, 1) \
               on conflict (user_id) do update set generation = k.generation + 1 returning generation";
    let rows = db.rows(sql, &[(&clean(user), Type::TEXT)]).await?;
    let generation = rows.first().map_or(Ok(0), generation)?;
    who.expects.check(|| Some(address_version(generation.saturating_sub(1))))?;
    let writes = calendar_renewed(user, who.clone(), now);
    pipeline::both(write(db, Shards::ALL, &writes), db.commit()).await?;
    Ok(generation)
}

fn generation(row: &tokio_postgres::Row) -> Result<u64, Fault> {
    let number: i64 = get(row, 0)?;
    Ok(u64::try_from(number).unwrap_or(0))
}

async fn put_by(db: &Connection<'_>, feed: &Feed, who: &Who, now: Timestamp) -> Result<(), Fault> {
    db.begin(BEGIN).await?;
    expected(db, &feed.key, who).await?;
    put(db, feed).await?;
    let key = [
        (&feed.key.kind.as_str() as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT),
        (&clean(&feed.key.owner), Type::TEXT),
        (&clean(&feed.key.name), Type::TEXT),
    ];
    keep::must_be_new(db, who, "punctual.feed where kind = $1 and owner = $2 and name = $3", &key).await?;
    let writes = feed_changed(&feed.key, false, who.clone(), now);
    pipeline::both(write(db, Shards::ALL, &writes), db.commit()).await?;
    Ok(())
}

async fn remove_by(db: &Connection<'_>, key: &FeedKey, who: &Who, now: Timestamp) -> Result<bool, Fault> {
    db.begin(BEGIN).await?;
    expected(db, key, who).await?;
    let was_there = remove(db, key).await?;
    if was_there {
        write(db, Shards::ALL, &feed_changed(key, true, who.clone(), now)).await?;
    }
    db.commit().await?;
    Ok(was_there)
}

/// Refuses a change where another feed is there than the caller has seen.
async fn expected(db: &Connection<'_>, key: &FeedKey, who: &Who) -> Result<(), Fault> {
    if who.expects == Expects::Anything {
        return Ok(());
    }
    let sql = format!(
        "select {} from punctual.feed f where f.kind = $1 and f.owner = $2 and f.name = $3 for update",
        rows::FEED
    );
    let params = [
        (&key.kind.as_str() as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT),
        (&clean(&key.owner), Type::TEXT),
        (&clean(&key.name), Type::TEXT),
    ];
    let found = each(&db.rows(&sql, &params).await?, rows::feed)?.pop();
    Ok(who.expects.check(|| found.as_ref().map(Feed::version))?)
}

async fn feeds(
    db: &Connection<'_>,
    kind: FeedKind,
    owner: Option<&str>,
    after: Option<&FeedKey>,
    limit: usize,
) -> Result<Vec<Feed>, Fault> {
    let sql = format!(
        "select {} from punctual.feed f where f.kind = $1 and ($2 is null or f.owner = $2) \
         and ($3 is null or (f.owner, f.name) > ($3, $4)) order by f.owner, f.name limit $5",
        rows::FEED
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let params = [
        (&kind.as_str() as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT),
        (&owner.map(clean), Type::TEXT),
        (&after.map(|after| clean(&after.owner)), Type::TEXT),
        (&after.map(|after| clean(&after.name)), Type::TEXT),
        (&limit, Type::INT8),
    ];
    each(&db.rows(&sql, &params).await?, rows::feed)
}

async fn take(db: &Connection<'_>, node: &str, until: Timestamp, now: Timestamp) -> Result<TakenFeed, Fault> {
    let sql = format!(
        "update punctual.feed f set node = $2, until_at = $3 from (select kind, owner, name from punctual.feed \
         where next_at <= $1 and (until_at is null or until_at <= $1) order by next_at limit 1 for update skip locked) as due \
         where (f.kind, f.owner, f.name) = (due.kind, due.owner, due.name) returning {}",
        rows::FEED
    );
    let (now, until) = (micros(now), micros(until));
    let params = [
        (&now as &(dyn tokio_postgres::types::ToSql + Sync), Type::TIMESTAMPTZ),
        (&node, Type::TEXT),
        (&until, Type::TIMESTAMPTZ),
    ];
    let feed = each(&db.rows(&sql, &params).await?, rows::feed)?.pop();
    let sql = "select min(greatest(next_at, until_at)) from punctual.feed where next_at is not null";
    let found = db.rows(sql, &[]).await?;
    let next_at = found.first().map_or(Ok(None), |row| optional_instant(row, 0))?;
    Ok(TakenFeed { feed, next_at })
}

async fn finish(db: &Connection<'_>, node: &str, end: &FeedEnd) -> Result<bool, Fault> {
    let FeedEnd { feed, shifts, writes } = end;
    db.begin(BEGIN).await?;
    let sql = "select from punctual.feed where kind = $1 and owner = $2 and name = $3 and source = $4 and node = $5 for update";
    let params = [
        (&feed.key.kind.as_str() as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT),
        (&clean(&feed.key.owner), Type::TEXT),
        (&clean(&feed.key.name), Type::TEXT),
        (&feed.source, Type::TEXT),
        (&node, Type::TEXT),
    ];
    if db.rows(sql, &params).await?.is_empty() {
        db.rollback().await?;
        return Ok(false);
    }
    put(db, feed).await?;
    if let Some(shifts) = shifts {
        put_shifts(db, &feed.key.owner, shifts).await?;
        event::mark_group(db, &feed.key.owner, writes.now).await?;
    }
    write(db, Shards::ALL, writes).await?;
    db.commit().await?;
    Ok(true)
}

/// Writes a feed as it is, taken by nobody.
pub(super) async fn put(db: &Connection<'_>, feed: &Feed) -> Result<(), Fault> {
    let problems = (!feed.problems.is_empty()).then(|| serde_json::to_string(&feed.problems)).transpose();
    let every = i64::try_from(feed.every.as_secs()).unwrap_or(i64::MAX);
    db.execute(
        "insert into punctual.feed (kind, owner, name, source, settings, every, next_at, etag, modified, read_at, changed_at, \
         failures, vanished, problem, problems, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         on conflict (kind, owner, name) do update set source = excluded.source, settings = excluded.settings, every = excluded.every, \
         next_at = excluded.next_at, etag = excluded.etag, modified = excluded.modified, read_at = excluded.read_at, \
         changed_at = excluded.changed_at, failures = excluded.failures, vanished = excluded.vanished, problem = excluded.problem, \
         problems = excluded.problems, created_at = excluded.created_at, node = null, until_at = null",
        &[
            (&feed.key.kind.as_str(), Type::TEXT),
            (&clean(&feed.key.owner), Type::TEXT),
            (&clean(&feed.key.name), Type::TEXT),
            (&feed.source, Type::TEXT),
            (&feed.settings.to_stored(), Type::TEXT),
            (&every, Type::INT8),
            (&feed.next_at.map(micros), Type::TIMESTAMPTZ),
            (&feed.known.etag.as_deref().map(clean), Type::TEXT),
            (&feed.known.modified.as_deref().map(clean), Type::TEXT),
            (&feed.read_at.map(micros), Type::TIMESTAMPTZ),
            (&feed.changed_at.map(micros), Type::TIMESTAMPTZ),
            (&i64::from(feed.failures), Type::INT8),
            (&i64::from(feed.vanished), Type::INT8),
            (&feed.problem.as_deref().map(clean), Type::TEXT),
            (&problems.map_err(impossible)?, Type::TEXT),
            (&micros(feed.created_at), Type::TIMESTAMPTZ),
        ],
    )
    .await?;
    Ok(())
}

async fn remove(db: &Connection<'_>, key: &FeedKey) -> Result<bool, Fault> {
    let n_removed = db
        .execute(
            "delete from punctual.feed where kind = $1 and owner = $2 and name = $3",
            &[(&key.kind.as_str(), Type::TEXT), (&clean(&key.owner), Type::TEXT), (&clean(&key.name), Type::TEXT)],
        )
        .await?;
    Ok(n_removed > 0)
}

async fn put_shifts(db: &Connection<'_>, group: &str, shifts: &[Shift]) -> Result<(), Fault> {
    db.execute("delete from punctual.rota_shift where group_name = $1", &[(&group, Type::TEXT)]).await?;
    let from: Vec<_> = shifts.iter().map(|shift| micros(shift.from_at)).collect();
    let until: Vec<_> = shifts.iter().map(|shift| micros(shift.until_at)).collect();
    let users: Vec<_> = shifts.iter().map(|shift| clean(&shift.user)).collect();
    db.execute(
        "insert into punctual.rota_shift (group_name, number, from_at, until_at, user_id) select $1, v.place, v.from_at, v.until_at, v.user_id \
         from unnest($2, $3, $4) with ordinality as v (from_at, until_at, user_id, place)",
        &[
            (&group, Type::TEXT),
            (&from, Type::TIMESTAMPTZ_ARRAY),
            (&until, Type::TIMESTAMPTZ_ARRAY),
            (&users, Type::TEXT_ARRAY),
        ],
    )
    .await?;
    Ok(())
}

/// Lets the feed of a group follow the calendar that the group names.
pub(super) async fn follow_group(
    db: &Connection<'_>,
    group: &str,
    rota: Option<&str>,
    now: Timestamp,
) -> Result<(), Fault> {
    let sql = "select source from punctual.feed where kind = 'group' and owner = $1 and name = '' for update";
    let found = db.rows(sql, &[(&group, Type::TEXT)]).await?;
    let before: Option<String> = found.first().map(|row| get(row, 0)).transpose()?;
    let Some(NewRota { feed, shifts }) = rota_changed(group, before.as_deref(), rota, now) else { return Ok(()) };
    put_shifts(db, group, &shifts).await?;
    match feed {
        Some(feed) => put(db, &feed).await,
        None => remove(db, &FeedKey::of_group(group)).await.map(drop),
    }
}
