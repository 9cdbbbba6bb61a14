//! Writing new reminders.

use jiff::Timestamp;
use punctual_core::invalid::{FAULTS_MAX, Invalid};
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
        /// Problems of others of them, each with which it is; up to [`FAULTS_MAX`] problems in all.
        others: Vec<(usize, Invalid)>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CreateError {
    /// The problems of items, in their order; `None`: there are none.
    pub fn of(mut wrong: Vec<(usize, Invalid)>) -> Option<Self> {
        wrong.sort_by_key(|(index, _)| *index);
        let mut wrong = wrong.into_iter();
        let (index, invalid) = wrong.next()?;
        let mut room = FAULTS_MAX.saturating_sub(1 + invalid.others.len());
        let fits = |(_, other): &(usize, Invalid)| {
            let fits = room > 0;
            room = room.saturating_sub(1 + other.others.len());
            fits
        };
        let others = wrong.take_while(fits).collect();
        Some(Self::Invalid { index, invalid, others })
    }
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
        for (reminder, first_due_at) in reminders.into_iter().zip(all_right(checked)?) {
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

/// When each is first due; or all that is wrong with any of them.
pub fn all_right(checked: Vec<Result<Timestamp, Invalid>>) -> Result<Vec<Timestamp>, CreateError> {
    let (mut due, mut wrong) = (Vec::with_capacity(checked.len()), Vec::new());
    for (index, checked) in checked.into_iter().enumerate() {
        match checked {
            Ok(at) => due.push(at),
            Err(invalid) if wrong.len() < FAULTS_MAX => wrong.push((index, invalid)),
            Err(_) => {}
        }
    }
    CreateError::of(wrong).map_or(Ok(due), Err)
}
