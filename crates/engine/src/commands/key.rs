//! Making, rotating and removing keys.

use jiff::Timestamp;
use punctual_core::journal::Who;
use punctual_core::key::{ApiKey, Rotation};
use punctual_core::store::StoreError;

use crate::Engine;

impl Engine {
    /// Writes a key's hash, as `who` asked.
    pub async fn put_key(&self, key: ApiKey, who: impl Into<Who>) -> Result<(), StoreError> {
        let node = &self.parts.node;
        node.store.put_key(key, who.into()).await?;
        node.journal.written();
        Ok(())
    }

    /// Gives a key another secret, as `who` asked; returns the key as it is then, if there is one.
    pub async fn rotate_key(
        &self,
        id: &str,
        rotation: Rotation,
        who: impl Into<Who>,
    ) -> Result<Option<ApiKey>, StoreError> {
        let node = &self.parts.node;
        let key = node.store.rotate_key(id, rotation, who.into()).await?;
        node.journal.written();
        Ok(key)
    }

    /// Writes when keys were last used. It is not in the journal.
    pub async fn keys_used(&self, uses: Vec<(String, Timestamp)>) -> Result<(), StoreError> {
        self.parts.node.store.keys_used(uses).await
    }

    /// Removes a key, as `who` asked; returns whether there was one.
    pub async fn delete_key(&self, id: &str, who: impl Into<Who>) -> Result<bool, StoreError> {
        let node = &self.parts.node;
        let was_there = node.store.delete_key(id, who.into(), node.now()).await?;
        node.journal.written();
        Ok(was_there)
    }
}
