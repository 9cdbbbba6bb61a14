//! Making and removing keys.

use punctual_core::journal::Who;
use punctual_core::store::StoreError;
use punctual_core::user::ApiKey;

use crate::Engine;

impl Engine {
    /// Writes a key's hash, as `who` asked.
    pub async fn put_key(&self, key: ApiKey, who: impl Into<Who>) -> Result<(), StoreError> {
        let node = &self.parts.node;
        node.store.put_key(key, who.into()).await?;
        node.journal.written();
        Ok(())
    }

    /// Removes a key, as `who` asked; returns whether there was one.
    pub async fn delete_key(&self, id: &str, who: impl Into<Who>) -> Result<bool, StoreError> {
        let node = &self.parts.node;
        let was_there = node.store.delete_key(id, who.into(), node.now()).await?;
        node.journal.written();
        Ok(was_there)
    }
}
