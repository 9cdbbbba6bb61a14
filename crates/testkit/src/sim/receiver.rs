//! The other end: receivers that take messages, refuse them, lose them, and take them without saying so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use punctual_core::channel::receive::Receive;
use punctual_core::channel::{Channel, Followed, Limits, Message, Receipt, SendError, Whom};
use punctual_core::clock::Clock;
use punctual_core::invalid::Invalid;

use super::ledger::{Answer, Ledger};
use super::presses::Presses;
use crate::clock::ManualClock;
use crate::executor::Group;
use crate::random::SeededRandom;
use crate::yields::yield_now;

/// One channel of a simulated world, as one process uses it.
pub(super) struct Receiver {
    /// The world's clock.
    pub clock: ManualClock,
    /// Where behaviour comes from.
    pub random: Arc<SeededRandom>,
    /// Where it is written down.
    pub ledger: Ledger,
    /// Which failures happen now.
    pub faults: Arc<ReceiverFaults>,
    /// Which process sends through it.
    pub group: Group,
    /// How many sends it takes at once from one sender.
    pub concurrency: usize,
    /// Whether it takes messages first and says later what became of them.
    pub is_call: bool,
    /// Whether it takes seconds for a message.
    pub is_slow: bool,
    /// Its people press buttons there.
    pub presses: Option<Arc<Presses>>,
}

/// The faults of receivers.
#[derive(Default)]
pub(super) struct ReceiverFaults {
    /// Answers that say for certain that nothing arrived.
    pub certain: AtomicBool,
    /// Silence, and errors after the effect.
    pub uncertain: AtomicBool,
}

enum Behaviour {
    Take,
    TakeSlowly,
    Fail,
    Refuse,
    Gone,
    Throttle,
    Hang { effect: bool },
    Unknown { effect: bool },
}

#[async_trait]
impl Channel for Receiver {
    fn kind(&self) -> &'static str {
        "simulated"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let index = self.ledger.send_begun(self.group, message);
        let behaviour = self.choose();
        self.delay(20).await;
        if self.is_slow {
            self.clock.pause(Duration::from_millis(self.random.between(500, 3_000).unsigned_abs())).await;
        }
        let (effect, answer) = match behaviour {
            Behaviour::Take => (true, Ok(Receipt::of(index.to_string()))),
            Behaviour::TakeSlowly => {
                self.delay(29_000).await;
                (true, Ok(Receipt::default()))
            }
            Behaviour::Fail => (false, Err(SendError::Unavailable("simulated: not now".into()))),
            Behaviour::Refuse => (false, Err(SendError::Refused("simulated: never".into()))),
            Behaviour::Gone => (false, Err(SendError::Gone("simulated: nobody lives here".into()))),
            Behaviour::Throttle => {
                let seconds = self.random.between(1, 90).unsigned_abs();
                self.ledger.asked_to_wait(index, SignedDuration::from_secs(seconds.cast_signed()));
                (false, Err(SendError::Throttled { wait: Duration::from_secs(seconds), whom: Whom::Receiver }))
            }
            Behaviour::Unknown { effect } => (effect, Err(SendError::Unknown("simulated: cut off".into()))),
            Behaviour::Hang { effect } => {
                if effect {
                    self.ledger.send_took_effect(index);
                }
                std::future::pending().await
            }
        };
        if effect {
            self.ledger.send_took_effect(index);
            self.presses.iter().for_each(|presses| presses.shown(message));
            self.delay(20).await;
        }
        if self.is_call && answer.is_ok() {
            // It is answered when somebody asks what became of it.
            return Ok(Receipt { pending: true, ..Receipt::of(index.to_string()) });
        }
        let kind = match &answer {
            Ok(_) => Answer::Taken,
            Err(SendError::Unknown(_)) => Answer::Unknown,
            Err(_) => Answer::NotTaken,
        };
        self.ledger.send_answered(index, kind);
        answer
    }

    async fn follow(&self, message_id: &str) -> Result<Followed, SendError> {
        self.delay(20).await;
        if !self.random.one_in(3) {
            return Ok(Followed::AskAgain(Duration::from_secs(self.random.between(1, 12).unsigned_abs())));
        }
        // Its own numbers are what it gave out as ids.
        self.ledger.send_answered(message_id.parse().unwrap_or_default(), Answer::Taken);
        Ok(Followed::Reached)
    }

    fn receives(&self) -> Option<&dyn Receive> {
        self.presses.as_deref().map(|presses| presses as _)
    }

    fn check_address(&self, _address: &str) -> Result<(), Invalid> {
        Ok(())
    }

    fn limits(&self) -> Limits {
        Limits { concurrency: self.concurrency, ..Limits::default() }
    }
}

impl Receiver {
    fn choose(&self) -> Behaviour {
        let certain = self.faults.certain.load(Ordering::Relaxed);
        let uncertain = self.faults.uncertain.load(Ordering::Relaxed);
        let effect = self.random.one_in(2);
        match self.random.below(30) {
            0..=4 if certain => Behaviour::Fail,
            5 if certain => Behaviour::Refuse,
            // Seldom, because nobody calls there again.
            6 if certain && self.random.one_in(20) => Behaviour::Gone,
            7..=8 if certain => Behaviour::Throttle,
            9..=10 if uncertain => Behaviour::Unknown { effect },
            11 if uncertain => Behaviour::Hang { effect },
            12 if uncertain => Behaviour::TakeSlowly,
            _ => Behaviour::Take,
        }
    }

    /// Lets others run, and sometimes up to `millis` pass.
    async fn delay(&self, millis: i64) {
        yield_now().await;
        if self.random.one_in(2) {
            self.clock.pause(Duration::from_millis(self.random.between(1, millis).unsigned_abs())).await;
        }
    }
}
