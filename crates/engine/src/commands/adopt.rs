//! Taking over what another store has written.

use punctual_core::store::StoreError;
use punctual_core::whole::{ADOPTED_AT_ONCE, Adopted, Line, Overdue};

use super::user::look_again;
use crate::Engine;

impl Engine {
    /// Writes lines of another store, a thousand in a transaction. What is there already stays as it is. When it fails, the first of them may be
    /// written, and the same may be asked for again.
    pub async fn adopt(&self, lines: Vec<Line>, overdue: Overdue) -> Result<Adopted, StoreError> {
        let parts = self.parts.clone();
        self.finish(async move {
            let mut all = Adopted::default();
            let mut lines = lines.into_iter();
            loop {
                let some: Vec<Line> = lines.by_ref().take(ADOPTED_AT_ONCE).collect();
                if some.is_empty() {
                    return Ok(all);
                }
                let adopted = parts.node.store.adopt(some, overdue, parts.node.now()).await;
                parts.node.journal.written();
                // Events that were adopted are planned here: they find the reminders that they have.
                parts.planner.nudge();
                look_again(&parts.timer, adopted.clone().map(|adopted| adopted.wakes))?;
                let Adopted { is_new, n_missed, .. } = adopted?;
                all.is_new.extend(is_new);
                all.n_missed += n_missed;
            }
        })
        .await
    }
}
