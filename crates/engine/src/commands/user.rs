//! Changing the people reminders are for.
//!
//! A run that waits for the end of somebody's quiet hours or pause is looked at again when those change, so the timer must know.

use jiff::Timestamp;
use punctual_core::journal::Who;
use punctual_core::store::StoreError;
use punctual_core::user::User;

use crate::Engine;
use crate::timer::Timer;

impl Engine {
    /// Writes or replaces a user, as `who` asked.
    pub async fn put_user(&self, user: User, who: impl Into<Who>) -> Result<(), StoreError> {
        let (parts, who) = (self.parts.clone(), who.into());
        self.finish(async move {
            let wakes = parts.node.store.put_user(user, who).await;
            parts.node.journal.written();
            look_again(&parts.timer, wakes)
        })
        .await
    }

    /// Removes a user's entry, as `who` asked; their reminders stay. Returns whether there was one.
    pub async fn delete_user(&self, id: &str, who: impl Into<Who>) -> Result<bool, StoreError> {
        let (parts, id, who) = (self.parts.clone(), id.to_owned(), who.into());
        self.finish(async move {
            let wakes = parts.node.store.delete_user(&id, who, parts.node.now()).await;
            parts.node.journal.written();
            let existed = matches!(wakes, Ok(Some(_)));
            look_again(&parts.timer, wakes.map(Option::unwrap_or_default))?;
            Ok(existed)
        })
        .await
    }
}

/// Lets the timer know when runs must be looked at because of a change.
pub(super) fn look_again(timer: &Timer, wakes: Result<Vec<Timestamp>, StoreError>) -> Result<(), StoreError> {
    if matches!(wakes, Err(StoreError::Unavailable(_))) {
        // It may be written all the same, and the runs that it woke are not known here.
        timer.reset();
    }
    timer.wake_at(wakes?);
    Ok(())
}
