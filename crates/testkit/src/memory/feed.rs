//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use punctual_core::decide::calendar::{NewRota, address_version, calendar_renewed, feed_changed, rota_changed};
use punctual_core::feed::FeedKind;

use super::*;

#[async_trait]
impl Feeds for MemoryStore {
    async fn calendar_key(&self, user: &str) -> Result<u64, StoreError> {
        Ok(self.lock().calendar_keys.get(user).copied().unwrap_or(0))
    }

    async fn renew_calendar_key(&self, user: &str, who: Who, now: Timestamp) -> Result<u64, StoreError> {
        let tables = &mut *self.lock();
        let generation = tables.calendar_keys.entry(user.to_owned()).or_default();
        who.expects.check(|| Some(address_version(*generation)))?;
        *generation += 1;
        let generation = *generation;
        tables.write(calendar_renewed(user, who, now))?;
        Ok(generation)
    }

    async fn put_feed(&self, feed: Feed, who: Who, now: Timestamp) -> Result<(), StoreError> {
        let tables = &mut *self.lock();
        who.expects.check(|| tables.feeds.get(&feed.key).map(|(feed, _)| feed.version()))?;
        tables.write(feed_changed(&feed.key, false, who, now))?;
        tables.feeds.insert(feed.key.clone(), (feed, None));
        Ok(())
    }

    async fn remove_feed(&self, key: &FeedKey, who: Who, now: Timestamp) -> Result<bool, StoreError> {
        let tables = &mut *self.lock();
        who.expects.check(|| tables.feeds.get(key).map(|(feed, _)| feed.version()))?;
        let was_there = tables.feeds.remove(key).is_some();
        if was_there {
            tables.write(feed_changed(key, true, who, now))?;
        }
        Ok(was_there)
    }

    async fn feeds(
        &self,
        kind: FeedKind,
        owner: Option<String>,
        after: Option<FeedKey>,
        limit: usize,
    ) -> Result<Vec<Feed>, StoreError> {
        let is_wanted = |key: &FeedKey| {
            key.kind == kind
                && owner.as_ref().is_none_or(|owner| key.owner == *owner)
                && after.as_ref().is_none_or(|after| key > after)
        };
        let tables = self.lock();
        let found = tables.feeds.iter().filter(|(key, _)| is_wanted(key)).map(|(_, (feed, _))| feed.clone());
        Ok(found.take(limit).collect())
    }

    async fn take_feed(&self, node: &str, until: Timestamp, now: Timestamp) -> Result<TakenFeed, StoreError> {
        let tables = &mut *self.lock();
        let free = |(feed, held): &&mut (Feed, Option<(String, Timestamp)>)| {
            feed.next_at.is_some_and(|next_at| next_at <= now) && held.as_ref().is_none_or(|(_, until)| *until <= now)
        };
        let due = tables.feeds.values_mut().filter(free).min_by_key(|(feed, _)| feed.next_at);
        let feed = due.map(|(feed, held)| {
            *held = Some((node.to_owned(), until));
            feed.clone()
        });
        let looked_at = |(feed, held): &(Feed, Option<(String, Timestamp)>)| {
            let next_at = feed.next_at?;
            Some(held.as_ref().map_or(next_at, |(_, until)| next_at.max(*until)))
        };
        Ok(TakenFeed { feed, next_at: tables.feeds.values().filter_map(looked_at).min() })
    }

    async fn end_feed(&self, node: &str, end: FeedEnd) -> Result<bool, StoreError> {
        let tables = &mut *self.lock();
        let FeedEnd { feed, shifts, writes } = end;
        let is_held = |(kept, held): &(Feed, Option<(String, Timestamp)>)| {
            kept.source == feed.source && held.as_ref().is_some_and(|(by, _)| by == node)
        };
        if !tables.feeds.get(&feed.key).is_some_and(is_held) {
            return Ok(false);
        }
        let now = writes.now;
        tables.write(writes)?;
        if let (Some(shifts), Some(group)) = (shifts, tables.groups.get_mut(&feed.key.owner)) {
            group.shifts = shifts;
            tables.mark(now, |event| event.groups.contains(&feed.key.owner));
        }
        tables.feeds.insert(feed.key.clone(), (feed, None));
        Ok(true)
    }
}

impl Tables {
    /// Lets the feed of a group, which is written, follow the calendar that it names.
    pub(super) fn follow_group(&mut self, group: &str, rota: Option<&str>, now: Timestamp) {
        let key = FeedKey::of_group(group);
        let before = self.feeds.get(&key).map(|(feed, _)| feed.source.as_str());
        let Some(NewRota { feed, shifts }) = rota_changed(group, before, rota, now) else { return };
        self.feeds.remove(&key);
        self.feeds.extend(feed.map(|feed| (key, (feed, None))));
        if let Some(group) = self.groups.get_mut(group) {
            group.shifts = shifts;
        }
    }
}
