//! Taking over what another store has written.

use punctual_core::id::ReminderId;
use punctual_core::store::StoreError;
use punctual_core::whole::{ADOPTED_AT_ONCE, Adopted, Line, Overdue};

use super::user::look_again;
use crate::{Engine, search};

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
                let reminders = some.iter().filter_map(|line| match line {
                    Line::Reminder(whole) => Some(whole.reminder.id),
                    _ => None,
                });
                let reminders: Vec<ReminderId> = reminders.collect();
                let adopted = parts.node.store.adopt(some, overdue, parts.node.now()).await;
                parts.node.journal.written();
                // Events that were adopted are planned here: they find the reminders that they have.
                parts.planner.nudge();
                // The rota of a group that was adopted is read at once.
                parts.feeds.nudge();
                look_again(&parts.timer, adopted.clone().map(|adopted| adopted.wakes))?;
                let Adopted { is_new, n_missed, .. } = adopted?;
                // No entry of the journal need say that they were made. Those that were here already are in no index if the import was cut off.
                if parts.node.settings.search {
                    search::index(&parts.node.store, reminders).await?;
                }
                all.is_new.extend(is_new);
                all.n_missed += n_missed;
            }
        })
        .await
    }
}
