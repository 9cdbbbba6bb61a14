//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::decide::calendar::{NewRota, address_version, calendar_renewed, feed_changed, rota_changed};
use punctual_core::feed::{Feed, FeedKey, FeedKind};
use punctual_core::group::Shift;
use punctual_core::journal::Who;
use punctual_core::store::{FeedEnd, Feeds, StoreError, TakenFeed};
use punctual_core::version::Expects;
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::event;
use super::read::collect;
use super::row::{broken, impossible, micros};
use super::worker::Urgency;
use super::write::write;
use crate::rows;

#[async_trait]
impl Feeds for SqliteStore {
    async fn calendar_key(&self, user: &str) -> Result<u64, StoreError> {
        let user = user.to_owned();
        self.read(move |db| generation(db, &user)).await
    }

    async fn renew_calendar_key(&self, user: &str, who: Who, now: Timestamp) -> Result<u64, StoreError> {
        let user = user.to_owned();
        self.write(Urgency::Normal, move |db| {
            let before = generation(db, &user)?;
            who.expects.check(|| Some(address_version(before)))?;
            let generation = before + 1;
            let sql = "INSERT INTO calendar_key (user_id, generation) VALUES (?1, ?2) \
                       ON CONFLICT (user_id) DO UPDATE SET generation = ?2";
            db.prepare_cached(sql).and_then(|mut put| put.execute(params![user, generation])).map_err(broken)?;
            write(db, &calendar_renewed(&user, who, now))?;
            Ok(generation)
        })
        .await
    }

    async fn put_feed(&self, feed: Feed, who: Who, now: Timestamp) -> Result<(), StoreError> {
        self.write(Urgency::Normal, move |db| {
            expected(db, &feed.key, &who)?;
            put(db, &feed)?;
            write(db, &feed_changed(&feed.key, false, who, now)).map(drop)
        })
        .await
    }

    async fn remove_feed(&self, key: &FeedKey, who: Who, now: Timestamp) -> Result<bool, StoreError> {
        let key = key.clone();
        self.write(Urgency::Normal, move |db| {
            expected(db, &key, &who)?;
            let was_there = remove(db, &key)?;
            if was_there {
                write(db, &feed_changed(&key, true, who, now))?;
            }
            Ok(was_there)
        })
        .await
    }

    async fn feeds(
        &self,
        kind: FeedKind,
        owner: Option<String>,
        after: Option<FeedKey>,
        limit: usize,
    ) -> Result<Vec<Feed>, StoreError> {
        self.read(move |db| {
            let sql = format!(
                "SELECT {} FROM feed f WHERE f.kind = ?1 AND (?2 IS NULL OR f.owner = ?2) AND (?3 IS NULL OR (f.owner, f.name) > (?3, ?4)) \
                 ORDER BY f.owner, f.name LIMIT ?5",
                rows::FEED
            );
            let (last_owner, last_name) = after.map_or((None, String::new()), |after| (Some(after.owner), after.name));
            collect(db, &sql, params![kind.as_str(), owner, last_owner, last_name, limit], |found| rows::feed(found))
        })
        .await
    }

    async fn take_feed(&self, node: &str, until: Timestamp, now: Timestamp) -> Result<TakenFeed, StoreError> {
        let node = node.to_owned();
        // Most looks find nothing, and a look needs no commit.
        let next_at = self.read(next).await?;
        if next_at.is_none_or(|next_at| next_at > now) {
            return Ok(TakenFeed { feed: None, next_at });
        }
        self.write(Urgency::Normal, move |db| {
            let sql = format!(
                "SELECT {} FROM feed f WHERE f.next_at <= ?1 AND (f.until_at IS NULL OR f.until_at <= ?1) ORDER BY f.next_at LIMIT 1",
                rows::FEED
            );
            let feed = collect(db, &sql, [micros(now)], |found| rows::feed(found))?.pop();
            if let Some(Feed { key, .. }) = &feed {
                db.prepare_cached("UPDATE feed SET node = ?4, until_at = ?5 WHERE kind = ?1 AND owner = ?2 AND name = ?3")
                    .map_err(broken)?
                    .execute(params![key.kind.as_str(), key.owner, key.name, node, micros(until)])
                    .map_err(broken)?;
            }
            Ok(TakenFeed { feed, next_at: next(db)? })
        })
        .await
    }

    async fn end_feed(&self, node: &str, end: FeedEnd) -> Result<bool, StoreError> {
        let node = node.to_owned();
        self.write(Urgency::Normal, move |db| {
            let FeedEnd { feed, shifts, writes } = &end;
            let sql = "SELECT 1 FROM feed WHERE kind = ?1 AND owner = ?2 AND name = ?3 AND source = ?4 AND node = ?5";
            let key = params![feed.key.kind.as_str(), feed.key.owner, feed.key.name, feed.source, node];
            if !db.prepare_cached(sql).map_err(broken)?.exists(key).map_err(broken)? {
                return Ok(false);
            }
            put(db, feed)?;
            if let Some(shifts) = shifts {
                put_shifts(db, &feed.key.owner, shifts)?;
                event::mark_group(db, &feed.key.owner, writes.now)?;
            }
            write(db, writes)?;
            Ok(true)
        })
        .await
    }
}

/// How often the address of a user's calendar was changed.
fn generation(db: &Connection, user: &str) -> Result<u64, StoreError> {
    let mut found = db.prepare_cached("SELECT generation FROM calendar_key WHERE user_id = ?").map_err(broken)?;
    let generation = found.query_row([user], |row| row.get(0)).optional().map_err(broken)?;
    Ok(generation.unwrap_or(0))
}

/// Refuses a change where another feed is there than the caller has seen.
fn expected(db: &Connection, key: &FeedKey, who: &Who) -> Result<(), StoreError> {
    if who.expects == Expects::Anything {
        return Ok(());
    }
    let sql = format!("SELECT {} FROM feed f WHERE f.kind = ? AND f.owner = ? AND f.name = ?", rows::FEED);
    let found = collect(db, &sql, params![key.kind.as_str(), key.owner, key.name], |found| rows::feed(found))?.pop();
    who.expects.check(|| found.as_ref().map(Feed::version))
}

/// When the next feed is to be looked at.
fn next(db: &Connection) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT min(max(next_at, coalesce(until_at, next_at))) FROM feed WHERE next_at IS NOT NULL";
    let at: Option<i64> = db.prepare_cached(sql).map_err(broken)?.query_row([], |row| row.get(0)).map_err(broken)?;
    at.map(super::row::instant).transpose()
}

/// Writes a feed as it is, taken by nobody.
pub(super) fn put(db: &Connection, feed: &Feed) -> Result<(), StoreError> {
    let problems = (!feed.problems.is_empty()).then(|| serde_json::to_string(&feed.problems)).transpose();
    db.prepare_cached(
        "INSERT OR REPLACE INTO feed (kind, owner, name, source, settings, every, next_at, etag, modified, read_at, changed_at, failures, \
         vanished, problem, problems, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .map_err(broken)?
    .execute(params![
        feed.key.kind.as_str(),
        feed.key.owner,
        feed.key.name,
        feed.source,
        feed.settings.to_stored(),
        feed.every.as_secs(),
        feed.next_at.map(micros),
        feed.known.etag,
        feed.known.modified,
        feed.read_at.map(micros),
        feed.changed_at.map(micros),
        feed.failures,
        feed.vanished,
        feed.problem,
        problems.map_err(impossible)?,
        micros(feed.created_at),
    ])
    .map_err(broken)?;
    Ok(())
}

fn remove(db: &Connection, key: &FeedKey) -> Result<bool, StoreError> {
    let n_removed = db
        .prepare_cached("DELETE FROM feed WHERE kind = ? AND owner = ? AND name = ?")
        .map_err(broken)?
        .execute(params![key.kind.as_str(), key.owner, key.name])
        .map_err(broken)?;
    Ok(n_removed > 0)
}

fn put_shifts(db: &Connection, group: &str, shifts: &[Shift]) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM rota_shift WHERE group_name = ?")
        .map_err(broken)?
        .execute([group])
        .map_err(broken)?;
    let sql = "INSERT INTO rota_shift (group_name, number, from_at, until_at, user_id) VALUES (?, ?, ?, ?, ?)";
    let mut insert = db.prepare_cached(sql).map_err(broken)?;
    for (number, shift) in shifts.iter().enumerate() {
        let values = params![group, number, micros(shift.from_at), micros(shift.until_at), shift.user];
        insert.execute(values).map_err(broken)?;
    }
    Ok(())
}

/// Lets the feed of a group follow the calendar that the group names.
pub(super) fn follow_group(db: &Connection, group: &str, rota: Option<&str>, now: Timestamp) -> Result<(), StoreError> {
    let sql = "SELECT source FROM feed WHERE kind = 'group' AND owner = ? AND name = ''";
    let before: Option<String> =
        db.prepare_cached(sql).map_err(broken)?.query_row([group], |row| row.get(0)).optional().map_err(broken)?;
    let Some(NewRota { feed, shifts }) = rota_changed(group, before.as_deref(), rota, now) else { return Ok(()) };
    put_shifts(db, group, &shifts)?;
    match feed {
        Some(feed) => put(db, &feed),
        None => remove(db, &FeedKey::of_group(group)).map(drop),
    }
}
