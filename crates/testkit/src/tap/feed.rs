//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::feed::{Feed, FeedKey, FeedKind};
use punctual_core::journal::Who;
use punctual_core::store::{FeedEnd, Feeds, StoreError, TakenFeed};

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Feeds for Tapped<T> {
    async fn calendar_key(&self, user: &str) -> Result<u64, StoreError> {
        pass!(self, "calendar_key", self.store.calendar_key(user))
    }

    async fn renew_calendar_key(&self, user: &str, who: Who, now: Timestamp) -> Result<u64, StoreError> {
        pass!(self, "renew_calendar_key", self.store.renew_calendar_key(user, who, now))
    }

    async fn put_feed(&self, feed: Feed, who: Who, now: Timestamp) -> Result<(), StoreError> {
        pass!(self, "put_feed", self.store.put_feed(feed, who, now))
    }

    async fn remove_feed(&self, key: &FeedKey, who: Who, now: Timestamp) -> Result<bool, StoreError> {
        pass!(self, "remove_feed", self.store.remove_feed(key, who, now))
    }

    async fn feeds(
        &self,
        kind: FeedKind,
        owner: Option<String>,
        after: Option<FeedKey>,
        limit: usize,
    ) -> Result<Vec<Feed>, StoreError> {
        pass!(self, "feeds", self.store.feeds(kind, owner, after, limit))
    }

    async fn take_feed(&self, node: &str, until: Timestamp, now: Timestamp) -> Result<TakenFeed, StoreError> {
        pass!(self, "take_feed", self.store.take_feed(node, until, now))
    }

    async fn end_feed(&self, node: &str, end: FeedEnd) -> Result<bool, StoreError> {
        pass!(self, "end_feed", self.store.end_feed(node, end))
    }
}
