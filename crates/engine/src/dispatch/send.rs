//! Calling a channel.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use jiff::SignedDuration;
use punctual_core::channel::receive::{Edit, Edits};
use punctual_core::channel::{Channel, Followed, Message, Notice, Receipt, SendError, Whom};

use super::gate::Fate;
use crate::instant::plus;
use crate::node::Node;

/// Calls channels, and waits for each answer only so long.
pub(crate) struct Sender {
    node: Node,
}

impl Sender {
    pub(super) fn new(node: Node) -> Self {
        Self { node }
    }

    /// Sends a message; returns what the channel says, or that it said nothing in time.
    pub(crate) async fn send(&self, channel: &dyn Channel, message: &Message) -> Result<Receipt, SendError> {
        self.within_time(channel.send(message)).await
    }

    /// Tells a program what happened; returns what the channel says, or that it said nothing in time.
    pub(crate) async fn tell(&self, channel: &dyn Channel, notice: &Notice) -> Result<Receipt, SendError> {
        self.within_time(channel.tell(notice)).await
    }

    /// Asks what became of a message that was taken, until it is known or `ask_for` has passed.
    pub(crate) async fn follow(
        &self,
        channel: &dyn Channel,
        id: String,
        ask_for: SignedDuration,
    ) -> Result<Receipt, SendError> {
        let give_up_at = plus(self.node.now(), ask_for);
        loop {
            match self.within_time(channel.follow(&id)).await? {
                Followed::Reached => return Ok(Receipt::of(id)),
                Followed::AskAgain(_) if self.node.now() >= give_up_at => {
                    let minutes = ask_for.as_mins();
                    return Err(SendError::Unknown(format!("nothing is known of {id} after {minutes} minutes")));
                }
                Followed::AskAgain(after) => self.node.clock.pause(after).await,
            }
        }
    }

    /// Changes a message that was sent.
    pub(crate) async fn edit(&self, edits: &dyn Edits, edit: &Edit) -> Result<(), SendError> {
        self.within_time(edits.edit(edit)).await
    }

    async fn within_time<T>(&self, asking: impl Future<Output = Result<T, SendError>>) -> Result<T, SendError> {
        let asking = AssertUnwindSafe(asking).catch_unwind();
        let timeout = self.node.settings.send_timeout;
        tokio::select! { biased;
            said = asking => said.unwrap_or_else(|_| Err(SendError::Unknown("the channel panicked".into()))),
            () = self.node.clock.pause(timeout) => {
                Err(SendError::Unknown(format!("no answer within {} s; it may have arrived", timeout.as_secs())))
            }
        }
    }
}

/// The fate that the gates learn from a channel's answer.
pub(crate) fn fate(said: &Result<Receipt, SendError>) -> (Fate, Whom) {
    match said {
        Ok(_) | Err(SendError::Refused(_) | SendError::Gone(_)) => (Fate::Answered, Whom::Receiver),
        Err(SendError::Throttled { wait, whom }) => (Fate::Throttled(*wait), *whom),
        Err(SendError::Unavailable(_) | SendError::Unknown(_)) => (Fate::Failed, Whom::Receiver),
    }
}
