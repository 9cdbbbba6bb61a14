//! People who press buttons, and the platform that tells the bot: again and again, until it is acknowledged.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::answer::{Pressed, Verb};
use punctual_core::channel::Message;
use punctual_core::channel::receive::{
    Ended, EventId, Inbound, Inlet, NotTaken, Place, Reaction, Receive, Sender, Way, What,
};
use punctual_core::clock::Clock;
use tokio::sync::Notify;

use super::ledger::Ledger;
use crate::clock::ManualClock;
use crate::random::SeededRandom;
use crate::yields::yield_now;

/// The platform of one world, which all its processes connect to.
pub(super) struct Presses {
    pub(super) clock: ManualClock,
    pub(super) random: SeededRandom,
    pub(super) ledger: Ledger,
    given: Mutex<Given>,
    changed: Notify,
}

#[derive(Default)]
struct Given {
    events: Vec<Inbound>,
    /// Events before this are acknowledged, and not given again.
    n_confirmed: usize,
}

impl Presses {
    pub(super) fn new(clock: ManualClock, random: SeededRandom, ledger: Ledger) -> Arc<Self> {
        Arc::new(Self { clock, random, ledger, given: Mutex::default(), changed: Notify::new() })
    }

    /// A message has reached somebody, who may press one of its buttons.
    pub(super) fn shown(&self, message: &Message) {
        if message.reminder.ack.is_none() || self.random.one_in(3) {
            return;
        }
        let verb = *self.random.pick(&[Verb::Ack, Verb::Snooze, Verb::Snooze, Verb::Dismiss]);
        let pressed = Pressed::new(verb, message.occurrence);
        let number = self.ledger.pressed(pressed, self.clock.now());
        let person = Sender {
            person: vec![message.to.address.clone()],
            chat: vec![message.to.address.clone()],
            is_group: false,
            // Tells in the books which press an answer is.
            name: number.to_string(),
        };
        let mut inbound = Inbound::new(What::Press { pressed, message_id: None }, Some(person));
        inbound.id = Some(EventId { id: number.to_string(), remember_for: Duration::from_secs(24 * 3600) });
        inbound.place = self.random.one_in(2).then(|| (number + 1).to_string());
        self.lock().events.push(inbound);
        self.changed.notify_waiters();
    }

    /// The next event that is not acknowledged, when there is one.
    async fn next(&self) -> (usize, Inbound) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let given = self.lock();
                if let Some(inbound) = given.events.get(given.n_confirmed) {
                    return (given.n_confirmed, inbound.clone());
                }
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Receive for Presses {
    fn way(&self) -> Way {
        Way::Connection
    }

    async fn connect(&self, place: Option<Place>, inlet: &dyn Inlet) -> Ended {
        inlet.connected();
        if let Some(place) = place.and_then(|place| place.text.parse().ok()) {
            let mut given = self.lock();
            given.n_confirmed = given.n_confirmed.max(place);
        }
        loop {
            let (number, inbound) = self.next().await;
            if self.random.one_in(2) {
                self.clock.pause(Duration::from_millis(self.random.between(1, 20_000).unsigned_abs())).await;
            }
            match inlet.take(inbound).await {
                Ok(reaction) => {
                    yield_now().await;
                    if self.random.one_in(4) {
                        return Ended::Broken("simulated: cut before it was acknowledged".into());
                    }
                    let is_answered = matches!(reaction, Reaction::Answered { .. });
                    self.ledger.press_acknowledged(number, is_answered);
                    let mut given = self.lock();
                    given.n_confirmed = given.n_confirmed.max(number + 1);
                }
                Err(NotTaken::LeaseLost) => return Ended::Replaced,
                Err(NotTaken::Unavailable) => return Ended::Broken("simulated: not taken".into()),
            }
        }
    }
}
