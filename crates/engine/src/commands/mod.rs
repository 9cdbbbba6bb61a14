//! The commands: what every front door calls, one verb a file.

/// Writing new reminders.
mod create;

/// Checking reminders before they are written.
mod check;

/// Changing one reminder.
pub(crate) mod change;

/// Sending again what has failed.
mod resend;

/// Finding reminders by words in their text.
mod search;

/// Changing the people reminders are for.
mod user;

/// Writing and removing events and scopes.
mod event;

/// Silencing reminders for a while.
mod silence;

/// The address of a user's calendar.
mod calendar;

/// Making and removing keys.
mod key;

/// Taking a dead address to be alive again.
mod revive;

/// Sending a message that is no reminder's.
mod trial;

/// Reading everything there is.
pub mod export;

/// Taking over what another store has written.
mod adopt;

/// Comparing lines of another store with what is here.
mod compare;

/// Removing a person everywhere.
mod erase;

use std::sync::Arc;

use punctual_core::store::StoreError;
use tokio::sync::oneshot;
use tracing::Instrument;

pub use self::compare::Here;
pub use self::create::{CreateError, all_right};
pub use self::erase::Erasure;
pub use self::resend::{RESEND_MAX, Resent};
pub use self::search::FoundPage;
pub use self::trial::Trial;
use crate::Engine;
use crate::system::Runtime;

impl Engine {
    /// Runs `work` to its end, also when the caller stops waiting for it.
    pub(crate) async fn finish<T, E>(&self, work: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        finish(&self.parts.runtime, work).await
    }
}

/// Runs `work` to its end, also when the caller stops waiting for it.
pub(crate) async fn finish<T, E>(
    runtime: &Arc<dyn Runtime>,
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let work = async move {
        // The caller may have been dropped; the work is done all the same.
        let _ = sender.send(work.await);
    };
    // The log's lines about it belong to whoever asked.
    runtime.spawn(Box::pin(work.in_current_span()));
    receiver.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the engine has stopped".into()).into()))
}
