//! The address of a user's calendar, and the calendars that are read for them.

use punctual_core::feed::{Feed, FeedKey};
use punctual_core::journal::Who;
use punctual_core::store::{EventQuery, PLANNED_AT_ONCE, Put, StoreError};

use crate::Engine;
use crate::feeds;

impl Engine {
    /// Changes the address of a user's calendar, as `who` asked; returns how often that was done.
    pub async fn renew_calendar(&self, user: &str, who: impl Into<Who>) -> Result<u64, StoreError> {
        let node = &self.parts.node;
        let generation = node.store.renew_calendar_key(user, who.into(), node.now()).await?;
        node.journal.written();
        Ok(generation)
    }

    /// Follows a calendar, as `who` asked: it is read at once.
    pub async fn put_feed(&self, feed: Feed, who: impl Into<Who>) -> Result<(), StoreError> {
        let node = &self.parts.node;
        node.store.put_feed(feed, who.into(), node.now()).await?;
        node.journal.written();
        self.parts.feeds.nudge();
        Ok(())
    }

    /// Reads a calendar now, whatever is known of it.
    pub async fn read_feed(&self, feed: Feed, who: impl Into<Who>) -> Result<(), StoreError> {
        let now = self.parts.node.now();
        self.put_feed(feeds::read_now(feed, now), who).await
    }

    /// Follows a calendar no more, as `who` asked, and withdraws its events. Returns whether there was one.
    pub async fn remove_feed(&self, key: &FeedKey, who: impl Into<Who>) -> Result<bool, StoreError> {
        let (node, who) = (&self.parts.node, who.into());
        let was_there = node.store.remove_feed(key, who.clone(), node.now()).await?;
        node.journal.written();
        self.withdraw_events_of(&key.source()).await?;
        Ok(was_there)
    }

    /// Removes all events that follow a calendar.
    pub(crate) async fn withdraw_events_of(&self, source: &str) -> Result<(), StoreError> {
        let store = self.store();
        loop {
            let query = EventQuery { source: Some(source.to_owned()), limit: PLANNED_AT_ONCE, ..EventQuery::default() };
            let keys: Vec<String> = store.events(query).await?.into_iter().map(|event| event.key).collect();
            if keys.is_empty() {
                return Ok(());
            }
            self.remove_events_of(keys, source).await?;
        }
    }

    /// Removes events that follow a calendar.
    pub(crate) async fn remove_events_of(&self, keys: Vec<String>, source: &str) -> Result<Put, StoreError> {
        let (parts, source) = (self.parts.clone(), source.to_owned());
        self.finish(async move {
            let removed = parts.node.store.remove_events(keys, Some(source), parts.planner.by(Who::ENGINE)).await;
            let mut removed = removed.map_err(|error| match error {
                punctual_core::store::ChangeError::Store(error) => error,
                error => StoreError::Broken(error.to_string()),
            })?;
            parts.node.journal.written();
            parts.planner.finish_all(std::mem::take(&mut removed.planned), &Who::ENGINE).await?;
            Ok(removed)
        })
        .await
    }
}
