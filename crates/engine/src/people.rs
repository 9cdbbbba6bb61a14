//! Changing the people reminders are for.
//!
//! What waits for the end of somebody's quiet hours or pause is looked at again when those change, so the timer must know.

use jiff::Timestamp;
use punctual_core::store::StoreError;
use punctual_core::user::User;

use crate::command::{Engine, Inner};

impl Engine {
    /// Writes or replaces a user.
    pub async fn put_user(&self, user: User) -> Result<(), StoreError> {
        let inner = self.inner.clone();
        self.finish(async move {
            let wakes = inner.store.put_user(user).await;
            inner.look_again(wakes)
        })
        .await
    }

    /// Removes a user's entry; their reminders stay. Returns whether there was one.
    pub async fn delete_user(&self, id: &str) -> Result<bool, StoreError> {
        let (inner, id) = (self.inner.clone(), id.to_owned());
        self.finish(async move {
            let wakes = inner.store.delete_user(&id, inner.clock.now()).await;
            let existed = matches!(wakes, Ok(Some(_)));
            inner.look_again(wakes.map(Option::unwrap_or_default))?;
            Ok(existed)
        })
        .await
    }
}

impl Inner {
    fn look_again(&self, wakes: Result<Vec<Timestamp>, StoreError>) -> Result<(), StoreError> {
        match wakes {
            Ok(wakes) => {
                self.timer.note(wakes);
                Ok(())
            }
            Err(error) => {
                if matches!(error, StoreError::Unavailable(_)) {
                    // It may be written all the same, and what it woke is not known here.
                    self.timer.reset();
                }
                Err(error)
            }
        }
    }
}
