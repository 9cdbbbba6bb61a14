//! A message that is no reminder's: to see whether a channel and an address work.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::channel::{Message, Receipt, SendError};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::invalid::Invalid;
use punctual_core::reminder::{Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::zone::Zone;

use crate::command::Engine;
use crate::deliver::{fate, follow, within_time};
use crate::lanes::{self, Sent};

/// How long it is asked what became of a message that a platform took.
const FOLLOW_FOR: SignedDuration = SignedDuration::from_mins(3);

/// What became of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// What the channel said.
    pub said: Result<Receipt, SendError>,
    /// How long it took.
    pub took: Duration,
    /// The address was known to be dead and has now been found alive.
    pub revived: bool,
}

impl Engine {
    /// Sends one message for `user` to `to`, at once and once. It is held back by what holds back others: a wait that the
    /// platform asked for, and its rates.
    pub async fn try_send(&self, user: &str, text: &str, to: Address) -> Result<Trial, Invalid> {
        let inner = &self.inner;
        let Some(channel) = inner.channels.get(&to.channel) else {
            return Err(self.no_channel("channel", &to.channel));
        };
        channel.check_address(&to.address)?;
        let begun_at = inner.clock.now();
        let done = |said, revived| {
            let took = inner.clock.now().duration_since(begun_at).unsigned_abs();
            Ok(Trial { said, took, revived })
        };
        if let Err(error) = lanes::take_turn(inner, &to, begun_at) {
            return done(Err(error), false);
        }
        let message = message(self, user, text, to);
        let said = within_time(inner, channel.send(&message)).await;
        lanes::learn(inner, Sent { to: &message.to, user, number: None }, fate(&said));
        let said = match said {
            Ok(Receipt { pending: true, message_id: Some(id), .. }) => follow(inner, &**channel, id, FOLLOW_FOR).await,
            said => said,
        };
        if let Err(SendError::Gone(reason)) = &said {
            self.bury(&message.to, reason).await;
        }
        let revived = match &said {
            Ok(_) if inner.dead.get(&message.to).is_some() => match self.revive(&message.to).await {
                Ok(revived) => revived,
                Err(error) => {
                    inner.store_failed(&error);
                    false
                }
            },
            _ => false,
        };
        done(said, revived)
    }
}

fn message(engine: &Engine, user: &str, text: &str, to: Address) -> Message {
    let inner = &engine.inner;
    let now = inner.clock.now();
    let id = ReminderId::new(now, inner.random.ten());
    let occurrence = OccurrenceId { reminder: id, run: 1 };
    let reminder = Reminder {
        id,
        user: user.to_owned(),
        name: None,
        message: text.to_owned(),
        schedule: Schedule::new(Rule::Once { at: now }),
        timezone: Zone::utc(),
        priority: Priority::Normal,
        to: vec![to.clone()],
        ack: None,
        snooze_allowed: false,
        retries_max: 0,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Hold,
        created_via: "test".into(),
        original_text: None,
        metadata: Metadata::default(),
        status: ReminderStatus::Active,
        created_at: now,
        updated_at: now,
    };
    Message {
        occurrence,
        attempt: 1,
        idempotency_key: occurrence.idempotency_key(&to, 0),
        attempt_key: occurrence.attempt_key(&to, 1),
        text: text.to_owned(),
        language: inner.settings.language,
        to,
        reminder: Arc::new(reminder),
        due_at: now,
        dated: now,
        sent_at: now,
    }
}
