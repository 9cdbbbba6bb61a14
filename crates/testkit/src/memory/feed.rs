//! Calendars: the address of each user's own, and foreign ones that are read every so often.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::decide::calendar::calendar_renewed;
use punctual_core::journal::Who;
use punctual_core::store::{Feeds, StoreError};

use super::MemoryStore;

#[async_trait]
impl Feeds for MemoryStore {
    async fn calendar_key(&self, user: &str) -> Result<u64, StoreError> {
        Ok(self.lock().calendar_keys.get(user).copied().unwrap_or(0))
    }

    async fn renew_calendar_key(&self, user: &str, who: Who, now: Timestamp) -> Result<u64, StoreError> {
        let tables = &mut *self.lock();
        let generation = tables.calendar_keys.entry(user.to_owned()).or_default();
        *generation += 1;
        let generation = *generation;
        tables.write(calendar_renewed(user, who, now))?;
        Ok(generation)
    }
}
