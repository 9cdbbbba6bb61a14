//! Where the messages arrive.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use punctual_channels::webhook::{self, Secret, Webhook};
use punctual_channels::{Closure, closure};
use punctual_core::channel::{self, Message, Receipt};
use punctual_core::clock::Clock;
use punctual_core::reminder::Address;
use punctual_engine::SystemClock;

use super::Channel;
use super::receiver::{Mood, Receiver};
use super::rig::{CHANNEL, plus};
use super::summary::Summary;

/// How often to look whether all have come, once they should have.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_millis(50);

/// One message where it was received.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    /// Its idempotency key.
    pub(super) key: String,
    pub(super) due_at: Timestamp,
    pub(super) at: Timestamp,
}

impl Arrival {
    pub(super) fn late(&self) -> SignedDuration {
        self.at.duration_since(self.due_at)
    }
}

/// Where messages arrive and how they are sent there.
pub(super) enum Sink {
    InProcess(Arc<Mutex<Vec<Arrival>>>),
    Webhook(Box<Receiver>, u8),
}

impl Sink {
    pub(super) async fn open(channel: Channel, clock: &dyn Clock) -> anyhow::Result<Self> {
        Self::open_many(channel, 1, clock).await
    }

    /// One that has so many addresses, if messages go there by HTTP.
    pub(super) async fn open_many(channel: Channel, n_addresses: u8, clock: &dyn Clock) -> anyhow::Result<Self> {
        Ok(match channel {
            Channel::InProcess => Self::InProcess(Arc::default()),
            Channel::Webhook => {
                Self::Webhook(Box::new(Receiver::start_with(Mood::Takes, n_addresses, clock).await?), n_addresses)
            }
        })
    }

    /// A new sender, without any connection yet.
    pub(super) fn channel(&self) -> anyhow::Result<Arc<dyn channel::Channel>> {
        match self {
            Self::InProcess(arrivals) => {
                let arrivals = Arc::clone(arrivals);
                Ok(Arc::new(Closure::new(move |message: Message| {
                    let at = SystemClock::read();
                    let arrival = Arrival { key: message.idempotency_key, due_at: message.due_at, at };
                    arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
                    async { Ok(Receipt::default()) }
                })))
            }
            Self::Webhook(..) => {
                // Signed, because every real server signs.
                let secret = Secret::from_bytes(&[7; 32])?;
                let config =
                    webhook::Config { secret: Some(secret), allow_private: true, ..webhook::Config::default() };
                Ok(Arc::new(Webhook::new(config)?))
            }
        }
    }

    /// Where to send.
    pub(super) fn address(&self) -> Address {
        match self {
            Self::InProcess(_) => Address::new(CHANNEL, ""),
            Self::Webhook(receiver, _) => Address::new(CHANNEL, receiver.url()),
        }
    }

    /// Where to send the message of this number.
    pub(super) fn address_of(&self, number: usize) -> Address {
        match self {
            Self::InProcess(_) => self.address(),
            Self::Webhook(receiver, n_addresses) => Address::new(CHANNEL, receiver.url_of(number, *n_addresses)),
        }
    }

    /// How many sends run at once.
    pub(super) fn concurrency(&self) -> usize {
        match self {
            Self::InProcess(_) => closure::CONCURRENCY,
            Self::Webhook(..) => webhook::Config::default().concurrency,
        }
    }

    /// Waits until `n_wanted` have come, or until it is no use to wait longer; takes the messages that have come.
    pub(super) async fn all(
        &mut self,
        n_wanted: usize,
        clock: &dyn Clock,
        give_up_at: Timestamp,
    ) -> anyhow::Result<Vec<Arrival>> {
        while self.count().await? < n_wanted && clock.now() < give_up_at {
            clock.sleep_until(plus(clock.now(), LOOK_AGAIN)).await;
        }
        match self {
            Self::InProcess(arrivals) => {
                Ok(std::mem::take(&mut *arrivals.lock().unwrap_or_else(PoisonError::into_inner)))
            }
            Self::Webhook(receiver, _) => receiver.take().await,
        }
    }

    async fn count(&mut self) -> anyhow::Result<usize> {
        match self {
            Self::InProcess(arrivals) => Ok(arrivals.lock().unwrap_or_else(PoisonError::into_inner).len()),
            Self::Webhook(receiver, _) => receiver.count().await,
        }
    }
}

/// What became of the messages of one run.
pub(super) struct Received {
    pub(super) late: Summary,
    /// How many different ones came.
    pub(super) n_received: usize,
    /// How many came again.
    pub(super) n_again: usize,
    /// When the last one came.
    pub(super) last_at: Option<Timestamp>,
}

impl Received {
    pub(super) fn of(arrivals: &[Arrival]) -> Self {
        let keys: HashSet<_> = arrivals.iter().map(|arrival| arrival.key.as_str()).collect();
        Self {
            late: Summary::of(arrivals.iter().map(Arrival::late).collect()),
            n_received: keys.len(),
            n_again: arrivals.len() - keys.len(),
            last_at: arrivals.iter().map(|arrival| arrival.at).max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_comes_twice_counts_once() {
        let due_at = Timestamp::from_second(10).unwrap();
        let arrival = |key: &str, millis| Arrival {
            key: key.into(),
            due_at,
            at: plus(due_at, SignedDuration::from_millis(millis)),
        };
        let received = Received::of(&[arrival("a", 1), arrival("b", -1), arrival("a", 3)]);
        assert_eq!((received.n_received, received.n_again, received.late.n_negative()), (2, 1, 1));
        assert_eq!(received.last_at, Some(plus(due_at, SignedDuration::from_millis(3))));
    }
}
