//! Writing new reminders.

use punctual_core::invalid::Invalid;
use punctual_core::journal::Who;
use punctual_core::reminder::Reminder;
use punctual_core::store::{Answered, Create, NewReminder, ReminderView, StoreError};

use crate::Engine;
use crate::log::Kind;

/// Why reminders were not created. Nothing was written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CreateError {
    /// One of them cannot be accepted.
    #[error("{invalid}")]
    Invalid {
        /// Which, counted from 0.
        index: usize,
        /// The problem.
        invalid: Invalid,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Writes all of `reminders`, as `who` asked, or none. When it has returned, they survive power loss.
    pub async fn create(
        &self,
        reminders: Vec<Reminder>,
        who: impl Into<Who>,
        answered: Option<(String, Answered)>,
    ) -> Result<Vec<ReminderView>, CreateError> {
        let (who, now) = (who.into(), self.parts.node.now());
        let mut new = Vec::with_capacity(reminders.len());
        let mut views = Vec::with_capacity(reminders.len());
        let checked = self.check(&reminders, now).await?;
        for (index, (reminder, checked)) in reminders.into_iter().zip(checked).enumerate() {
            let first_due_at = checked.map_err(|invalid| CreateError::Invalid { index, invalid })?;
            views.push(ReminderView::fresh(reminder.clone(), first_due_at));
            new.push(NewReminder { reminder, first_due_at });
        }
        let create = Create { reminders: new, who, answered, now };
        let parts = self.parts.clone();
        // A caller that goes away must not leave a reminder written and the timer ignorant of it.
        self.finish(async move {
            let wakes: Vec<_> = create.reminders.iter().map(|new| new.first_due_at).collect();
            let created = parts.node.store.create(create).await;
            if !matches!(created, Err(StoreError::KeyUsed | StoreError::Broken(_))) {
                // Also when the store went away while it was committing: it may be written, and too many moments do no harm.
                parts.timer.wake_at(wakes);
            }
            created?;
            parts.node.journal.written();
            parts.alarms.created(&views);
            for view in &views {
                if parts.node.says(Kind::Created) {
                    let (reminder, user) = (view.reminder.id, &view.reminder.user);
                    let due = view.next_run_at.map(|at| at.to_string());
                    tracing::info!(%reminder, %user, due, "created");
                }
            }
            Ok(views)
        })
        .await
    }
}
