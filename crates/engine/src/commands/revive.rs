//! Taking a dead address to be alive again.

use punctual_core::reminder::Address;
use punctual_core::store::StoreError;

use crate::Engine;

impl Engine {
    /// Takes an address to be alive again; returns whether it was known to be dead.
    pub async fn revive(&self, address: &Address) -> Result<bool, StoreError> {
        let was_dead = self.parts.node.store.revive(address).await?;
        self.parts.dead.forget(address);
        Ok(was_dead)
    }
}
