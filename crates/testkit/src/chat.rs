//! A chat platform in memory: a bot's messages, people who press its buttons, and a connection that can be cut.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::answer::{Pressed, Verb};
use punctual_core::channel::receive::{
    Edit, Edits, Ended, EventId, Inbound, Inlet, NotTaken, Place, Reaction, Receive, Sender, Shows, Way, What,
};
use punctual_core::channel::{Channel, Message, Receipt, SendError};
use punctual_core::invalid::Invalid;
use tokio::sync::Notify;

/// A bot at the platform. Clones are the same bot.
#[derive(Clone, Default)]
pub struct Chat {
    platform: Arc<Mutex<Platform>>,
    changed: Arc<Notify>,
    /// Whether the platform remembers nothing of what it gave: then only an event's id tells a copy.
    forgets: bool,
}

#[derive(Default)]
struct Platform {
    messages: Vec<Posted>,
    events: Vec<Event>,
    /// Events before this are confirmed, and not given again.
    n_confirmed: usize,
    n_open: usize,
    n_connected: usize,
    cut: Option<Cut>,
}

/// A message of the bot's, as people see it.
#[derive(Clone)]
pub struct Posted {
    /// The message as it was sent.
    pub message: Message,
    /// What it shows since it was changed.
    pub shows: Option<Shows>,
}

struct Event {
    inbound: Inbound,
    reactions: Vec<Reaction>,
}

/// When a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Before the next event is given.
    BeforeIt,
    /// After the next event is taken, before the platform hears of that.
    BeforeAck,
}

impl Chat {
    /// A bot whose platform gives everything again at every connection that was not acknowledged, and keeps no place.
    pub fn that_forgets() -> Self {
        Self { forgets: true, ..Self::default() }
    }

    /// `who` presses a button under message `index`; returns the number of the event. Addresses that begin with `room` are of
    /// groups; others are of one person, and are called as that person is.
    pub fn press(&self, index: usize, verb: Verb, who: &str) -> usize {
        let mut platform = self.lock();
        let message = platform.messages[index].message.clone();
        let number = platform.events.len();
        let what = What::Press { pressed: Pressed::new(verb, message.occurrence), message_id: Some(index.to_string()) };
        let address = message.to.address;
        let sender = Sender {
            person: vec![who.to_owned(), format!("{address}@{who}")],
            is_group: address.starts_with("room"),
            chat: vec![address],
            name: who.to_uppercase(),
        };
        let mut inbound = Inbound::new(what, Some(sender));
        inbound.id = Some(EventId { id: number.to_string(), remember_for: Duration::from_secs(900) });
        inbound.place = (!self.forgets).then(|| (number + 1).to_string());
        platform.events.push(Event { inbound, reactions: Vec::new() });
        drop(platform);
        self.changed.notify_waiters();
        number
    }

    /// Event `number` as it is given.
    pub fn event(&self, number: usize) -> Inbound {
        self.lock().events[number].inbound.clone()
    }

    /// Breaks the connection with the next event.
    pub fn cut(&self, cut: Cut) {
        self.lock().cut = Some(cut);
    }

    /// Everything that was said to the person who caused event `number`.
    pub fn reactions(&self, number: usize) -> Vec<Reaction> {
        self.lock().events[number].reactions.clone()
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> Vec<Posted> {
        self.lock().messages.clone()
    }

    /// How many connections are open now, and how many have been opened.
    pub fn connections(&self) -> (usize, usize) {
        let platform = self.lock();
        (platform.n_open, platform.n_connected)
    }

    /// How many events wait to be confirmed.
    pub fn n_unconfirmed(&self) -> usize {
        let platform = self.lock();
        platform.events.len() - platform.n_confirmed
    }

    /// The next event that is not confirmed, when there is one.
    async fn next(&self) -> (usize, Inbound) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let platform = self.lock();
                if let Some(event) = platform.events.get(platform.n_confirmed) {
                    return (platform.n_confirmed, event.inbound.clone());
                }
            }
            changed.await;
        }
    }

    fn take_cut(&self, meant: Cut) -> bool {
        let mut platform = self.lock();
        let is_meant = platform.cut == Some(meant);
        if is_meant {
            platform.cut = None;
        }
        is_meant
    }

    fn lock(&self) -> MutexGuard<'_, Platform> {
        self.platform.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection, counted as long as it is open.
struct Open<'a>(&'a Chat);

impl<'a> Open<'a> {
    fn to(chat: &'a Chat) -> Self {
        let mut platform = chat.lock();
        platform.n_open += 1;
        platform.n_connected += 1;
        Self(chat)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.lock().n_open -= 1;
    }
}

#[async_trait]
impl Channel for Chat {
    fn kind(&self) -> &'static str {
        "chat"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let mut platform = self.lock();
        platform.messages.push(Posted { message: message.clone(), shows: None });
        Ok(Receipt::of((platform.messages.len() - 1).to_string()))
    }

    fn check_address(&self, _: &str) -> Result<(), Invalid> {
        Ok(())
    }

    fn receives(&self) -> Option<&dyn Receive> {
        Some(self)
    }

    fn edits(&self) -> Option<&dyn Edits> {
        Some(self)
    }
}

#[async_trait]
impl Receive for Chat {
    fn way(&self) -> Way {
        Way::Connection
    }

    async fn connect(&self, place: Option<Place>, inlet: &dyn Inlet) -> Ended {
        let _open = Open::to(self);
        inlet.connected();
        if let Some(place) = place.and_then(|place| place.text.parse().ok()) {
            let mut platform = self.lock();
            platform.n_confirmed = platform.n_confirmed.max(place);
        }
        loop {
            let (number, inbound) = self.next().await;
            if self.take_cut(Cut::BeforeIt) {
                return Ended::Broken("cut before it was given".into());
            }
            match inlet.take(inbound).await {
                Ok(reaction) => {
                    if self.take_cut(Cut::BeforeAck) {
                        return Ended::Broken("cut before it was confirmed".into());
                    }
                    let mut platform = self.lock();
                    platform.n_confirmed = platform.n_confirmed.max(number + 1);
                    platform.events[number].reactions.push(reaction);
                }
                Err(NotTaken::LeaseLost) => return Ended::Replaced,
                Err(NotTaken::Unavailable) => return Ended::Broken("it was not taken".into()),
            }
        }
    }
}

#[async_trait]
impl Edits for Chat {
    async fn edit(&self, edit: &Edit) -> Result<(), SendError> {
        let index: usize = edit.message_id.parse().map_err(|_| SendError::Refused("no such message".into()))?;
        self.lock().messages[index].shows = Some(edit.shows.clone());
        Ok(())
    }
}
