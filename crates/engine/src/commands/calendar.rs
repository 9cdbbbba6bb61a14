//! The address of a user's calendar.

use punctual_core::journal::Who;
use punctual_core::store::StoreError;

use crate::Engine;

impl Engine {
    /// Changes the address of a user's calendar, as `who` asked; returns how often that was done.
    pub async fn renew_calendar(&self, user: &str, who: impl Into<Who>) -> Result<u64, StoreError> {
        let node = &self.parts.node;
        let generation = node.store.renew_calendar_key(user, who.into(), node.now()).await?;
        node.journal.written();
        Ok(generation)
    }
}
