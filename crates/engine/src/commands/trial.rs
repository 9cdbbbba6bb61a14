//! A message that is no reminder's: to see whether a channel and an address work.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::channel::{Channel, Message, Receipt, SendError};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::invalid::Invalid;
use punctual_core::journal::{Entry, Who};
use punctual_core::reminder::{Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::store::{DeadAddress, StoreError};
use punctual_core::zone::Zone;

use crate::Engine;
use crate::dispatch::send::fate;
use crate::parts::Wired;

/// How long it is asked what became of a message that a platform took.
const FOLLOW_FOR: SignedDuration = SignedDuration::from_mins(3);

/// The result of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The channel's answer.
    pub said: Result<Receipt, SendError>,
    /// How long it took.
    pub took: Duration,
    /// The address is known to be dead. Reminders are not sent there, whatever became of the trial.
    pub is_dead: bool,
}

impl Engine {
    /// Sends one message for `user` to `to`, at once and once, and writes down that `who` asked for it. It is held back by what
    /// holds back others: the channel's limits, here and on other nodes, and a wait that the platform asked for.
    pub async fn try_send(&self, user: &str, text: &str, to: Address, who: impl Into<Who>) -> Result<Trial, Invalid> {
        let Some(channel) = self.parts.channels.get(&to.channel).cloned() else {
            return Err(self.no_channel("channel", &to.channel));
        };
        channel.check_address(&to.address)?;
        let (this, message, who) = (self.clone(), message(self, user, text, to), who.into());
        // A caller that goes away must not leave a place taken and a send not written down.
        let tried = self.finish(async move { this.try_message(&*channel, message, who).await }).await;
        Ok(tried.unwrap_or_else(|error: StoreError| {
            let said = Err(SendError::Unavailable(error.to_string()));
            Trial { said, took: Duration::ZERO, is_dead: false }
        }))
    }

    async fn try_message(&self, channel: &dyn Channel, message: Message, who: Who) -> Result<Trial, StoreError> {
        let Wired { node, dispatcher, dead, .. } = &*self.parts;
        let begun_at = node.now();
        let (to, user) = (message.to.clone(), message.reminder.user.clone());
        let said = match dispatcher.take_turn(to, user, begun_at).await {
            Ok(turn) => {
                let sender = dispatcher.sender();
                let said = sender.send(channel, &message).await;
                let fate = fate(&said);
                let said = match said {
                    // It keeps its place until it is known what became of it.
                    Ok(Receipt { pending: true, message_id: Some(id), .. }) => {
                        sender.follow(channel, id, FOLLOW_FOR).await
                    }
                    said => said,
                };
                turn.end(fate);
                said
            }
            Err(error) => Err(error),
        };
        let now = node.now();
        if let Err(SendError::Gone(reason)) = &said {
            let found = DeadAddress { address: message.to.clone(), since: now, reason: reason.clone() };
            dead.add(found.clone());
            if let Err(error) = node.store.mark_dead(found).await {
                node.health.failed(&error);
            }
        }
        let became = match &said {
            Ok(_) => "sent".to_owned(),
            Err(error) => error.to_string(),
        };
        let (user, name) = (&message.reminder.user, &message.to.channel);
        node.store.record(Entry::channel_test(now, who, user, name, became)).await?;
        node.journal.written();
        let is_dead = dead.get(&message.to).is_some();
        Ok(Trial { said, took: now.duration_since(begun_at).unsigned_abs(), is_dead })
    }
}

fn message(engine: &Engine, user: &str, text: &str, to: Address) -> Message {
    let node = &engine.parts.node;
    let now = node.now();
    let id = ReminderId::new(now, engine.parts.random.ten());
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
        only: false,
        ack: None,
        escalate: Vec::new(),
        escalates: None,
        event: None,
        snooze_allowed: false,
        retries_max: 0,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Hold,
        created_via: "test".into(),
        original_text: None,
        metadata: Metadata::default(),
        tags: Vec::new(),
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
        language: node.settings.language,
        to,
        reminder: Arc::new(reminder),
        due_at: now,
        dated: now,
        sent_at: now,
    }
}
