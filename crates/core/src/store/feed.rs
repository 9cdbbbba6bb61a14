//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use async_trait::async_trait;
use jiff::Timestamp;

use super::StoreError;
use crate::journal::Who;

/// Calendars: the address of each user's own, and foreign ones that are read every so often.
#[async_trait]
pub trait Feeds: Send + Sync + 'static {
    /// How often the address of this user's calendar was changed.
    async fn calendar_key(&self, user: &str) -> Result<u64, StoreError>;

    /// Changes the address of this user's calendar, as `who` asked: earlier ones lead nowhere. Returns how often that was done.
    async fn renew_calendar_key(&self, user: &str, who: Who, now: Timestamp) -> Result<u64, StoreError>;
}
