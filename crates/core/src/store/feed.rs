//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use async_trait::async_trait;
use jiff::Timestamp;

use super::StoreError;
use crate::feed::{Feed, FeedKey, FeedKind};
use crate::group::Shift;
use crate::journal::Who;
use crate::writes::Writes;

/// Calendars: the address of each user's own, and foreign ones that are read every so often.
#[async_trait]
pub trait Feeds: Send + Sync + 'static {
    /// How often the address of this user's calendar was changed.
    async fn calendar_key(&self, user: &str) -> Result<u64, StoreError>;

    /// Changes the address of this user's calendar, as `who` asked: earlier ones lead nowhere. Returns how often that was done.
    async fn renew_calendar_key(&self, user: &str, who: Who, now: Timestamp) -> Result<u64, StoreError>;

    /// Writes or replaces a feed, as `who` asked; whoever just reads it writes nothing any more. A group's comes and goes with the group, and is
    /// not put here.
    async fn put_feed(&self, feed: Feed, who: Who, now: Timestamp) -> Result<(), StoreError>;

    /// Removes a feed, as `who` asked; returns whether there was one.
    async fn remove_feed(&self, key: &FeedKey, who: Who, now: Timestamp) -> Result<bool, StoreError>;

    /// The feeds of one kind by their keys: of one owner, or all, after `after`.
    async fn feeds(
        &self,
        kind: FeedKind,
        owner: Option<String>,
        after: Option<FeedKey>,
        limit: usize,
    ) -> Result<Vec<Feed>, StoreError>;

    /// Takes a feed whose moment has come for `reader`, until `until`, unless another has it; and says when the next one is to be looked at.
    async fn take_feed(&self, reader: &str, until: Timestamp, now: Timestamp) -> Result<TakenFeed, StoreError>;

    /// Writes what became of a feed that `reader` has taken, and lets go of it. `false`: it was changed or removed meanwhile, or another has it,
    /// and nothing was written.
    async fn end_feed(&self, reader: &str, end: FeedEnd) -> Result<bool, StoreError>;
}

/// What taking a feed led to.
#[derive(Debug, Clone, Default)]
pub struct TakenFeed {
    /// The feed.
    pub feed: Option<Feed>,
    /// When the next of the others is to be looked at.
    pub next_at: Option<Timestamp>,
}

/// What became of a feed.
#[derive(Debug, Clone)]
pub struct FeedEnd {
    /// As it is now.
    pub feed: Feed,
    /// Who is on duty when, where that is new: all that was there is replaced.
    pub shifts: Option<Vec<Shift>>,
    /// What happened.
    pub writes: Writes,
}
