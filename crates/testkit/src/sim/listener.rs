//! An application that is told what becomes of reminders, and keeps what it is told.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::channel::{Channel, Message, Notice, Receipt, SendError};
use punctual_core::clock::Clock;
use punctual_core::id::ReminderId;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::Address;
use punctual_engine::Subscription;

use super::ledger::{Ledger, Moment};
use crate::clock::ManualClock;
use crate::executor::Group;
use crate::random::SeededRandom;
use crate::yields::yield_now;

/// The channel by which the application is told.
pub(super) const CHANNEL: &str = "application";

/// An entry of the journal of which the application was told.
#[derive(Debug, Clone)]
pub struct Told {
    /// The entry's position.
    pub position: i64,
    /// The reminder that it is about.
    pub reminder: Option<ReminderId>,
    /// Which process told it.
    pub from: Group,
    /// When the application took it.
    pub taken: Moment,
}

/// The application's end, as one process uses it.
pub(super) struct Listener {
    pub clock: ManualClock,
    pub random: Arc<SeededRandom>,
    pub ledger: Ledger,
    pub group: Group,
}

/// What the application wants to be told.
pub(super) fn subscription() -> Subscription {
    let to = Address::new(CHANNEL, "desk");
    Subscription { name: "desk".into(), kinds: Subscription::RESULTS.to_vec(), users: Vec::new(), tag: None, to }
}

impl Listener {
    /// Lets others run, and sometimes a few milliseconds pass.
    async fn delay(&self) {
        yield_now().await;
        if self.random.one_in(2) {
            self.clock.pause(Duration::from_millis(self.random.between(1, 20).unsigned_abs())).await;
        }
    }
}

#[async_trait]
impl Channel for Listener {
    fn kind(&self) -> &'static str {
        "simulated application"
    }

    async fn send(&self, _message: &Message) -> Result<Receipt, SendError> {
        Err(SendError::Refused("it is told what happened, and nothing else".into()))
    }

    async fn tell(&self, notice: &Notice) -> Result<Receipt, SendError> {
        self.delay().await;
        let (position, reminder) = (notice.entry.position, notice.entry.reminder);
        let taken = self.ledger.moment(("told", position));
        let told = Told { position, reminder, from: self.group, taken };
        self.ledger.write(|book| book.told.push(told));
        self.delay().await;
        Ok(Receipt::default())
    }

    fn takes_notices(&self) -> bool {
        true
    }

    fn check_address(&self, _address: &str) -> Result<(), Invalid> {
        Ok(())
    }
}
