//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::journal::Who;
use punctual_core::store::{Feeds, StoreError};

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Feeds for Tapped<T> {
    async fn calendar_key(&self, user: &str) -> Result<u64, StoreError> {
        pass!(self, "calendar_key", self.store.calendar_key(user))
    }

    async fn renew_calendar_key(&self, user: &str, who: Who, now: Timestamp) -> Result<u64, StoreError> {
        pass!(self, "renew_calendar_key", self.store.renew_calendar_key(user, who, now))
    }
}
