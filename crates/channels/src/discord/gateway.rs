//! The gateway: Discord's events over a WebSocket that we open, in a session that outlives it.
//!
//! Two halves share the work, because the socket's heart beats only while it is read: one reads and queues, the other hands over one
//! event after the other. A session goes on after the last event that was *handed over*, not after the last one that was read, so
//! nothing that was in the queue when a connection broke is lost. Where it was kept by another node, the place in the store says where.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use jiff::Timestamp;
use punctual_core::channel::receive::{Ended, Inbound, Inlet, NotTaken, Place};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_websockets::{ClientBuilder, Connector};
use twilight_gateway::queue::InMemoryQueue;
use twilight_gateway::{ConfigBuilder, Intents, Message, Session, Shard, ShardId};

use super::{Discord, receive};
use crate::common::beside::Beside;
use crate::common::quote::told;
use crate::common::token::Token;

/// How many events wait to be handed over. Beyond that the connection is dropped, and the session resumed from the last that was.
const QUEUED_MAX: usize = 256;
/// How often a bot may begin a session in a day, of the 1,000 after which Discord resets its token.
const IDENTIFIES_MAX: u32 = 900;
/// Direct messages, and those in servers: their words come only where the bot is called, so neither is privileged. Presses need none.
const INTENTS: Intents = Intents::DIRECT_MESSAGES.union(Intents::GUILD_MESSAGES);
/// How long what was read before a connection broke may take, before the next is opened.
const FINISH_WITHIN: Duration = Duration::from_secs(3);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The channel's memory between connections.
#[derive(Debug, Default)]
pub(super) struct Gateway {
    /// Counts how often a session was begun.
    queue: OnceLock<InMemoryQueue>,
    session: Mutex<Option<(Known, Timestamp)>>,
    /// A session that Discord has forgotten: the place in the store may still name it.
    gone: Mutex<Option<String>>,
}

/// A session, and how far it was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) session: String,
    /// Where it is resumed; where we began, if that does not work.
    resume_url: Option<String>,
    /// The bot's own user id.
    bot: String,
    seq: u64,
}

/// An event as the gateway gives it.
#[derive(Debug, Deserialize)]
struct Event {
    op: u64,
    #[serde(default)]
    s: Option<u64>,
    #[serde(default)]
    t: Option<String>,
    #[serde(default)]
    d: Value,
}

impl Gateway {
    pub(super) fn set(&self, known: Option<Known>, now: Timestamp) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = known.map(|known| (known, now));
    }

    /// Discord does not go on with this session.
    fn forget(&self, session: Option<String>) {
        let mut own = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let session = own.take().map(|(known, _)| known.session).or(session);
        *self.gone.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    /// The session to go on with: this node's own, unless the store has heard of a later one from another node.
    pub(super) fn known(&self, place: Option<Place>) -> Option<Known> {
        let own = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let kept = place.and_then(|place| Some((serde_json::from_str::<Known>(&place.text).ok()?, place.at)));
        let kept = kept.filter(|(kept, _)| gone.as_ref() != Some(&kept.session));
        match (own, kept) {
            (Some((own, _)), Some((kept, _))) if own.session == kept.session => {
                Some(if kept.seq > own.seq { kept } else { own })
            }
            (Some((own, own_at)), Some((kept, kept_at))) => Some(if kept_at > own_at { kept } else { own }),
            (own, kept) => own.or(kept).map(|(known, _)| known),
        }
    }
}

impl Discord {
    /// Keeps a connection to the gateway until something is wrong.
    pub(super) async fn keep_gateway(&self, place: Option<Place>, inlet: &dyn Inlet) -> Ended {
        let Some(token) = &self.token else { return Ended::Refused(super::NO_TOKEN.into()) };
        let known = self.gateway.known(place);
        let shard = match self.shard(token, known.as_ref()) {
            Ok(shard) => shard,
            Err(ended) => return ended,
        };
        let session = known.as_ref().map(|known| known.session.clone());
        let (queue, queued) = mpsc::channel(QUEUED_MAX);
        // Its end is the end of the queue.
        let reading = async move { self.read_gateway(shard, queue, token, session).await };
        let mut handing = std::pin::pin!(self.hand_over(queued, known, inlet));
        let ended = tokio::select! {
            ended = reading => ended,
            ended = &mut handing => return ended.unwrap_or_else(|| Ended::Broken("nothing more was read".into())),
        };
        // The events that were read are handed over, and their persons are told.
        tokio::select! {
            handed = handing => handed.unwrap_or(ended),
            () = self.clock.pause(FINISH_WITHIN) => ended,
        }
    }

    fn shard(&self, token: &Token, known: Option<&Known>) -> Result<Shard, Ended> {
        // The library panics on what is refused here.
        if Connector::new().is_err() {
            return Err(Ended::Refused(
                "this machine has no root certificates, so no secure connection can be made".into(),
            ));
        }
        let is_url = |url: &str| {
            (url.starts_with("wss://") || url.starts_with("ws://"))
                && ClientBuilder::new().uri(&format!("{url}/")).is_ok()
        };
        let queue = self.gateway.queue.get_or_init(|| InMemoryQueue::new(1, IDENTIFIES_MAX, DAY, IDENTIFIES_MAX));
        let mut config = ConfigBuilder::new(token.expose().to_owned(), INTENTS).queue(queue.clone());
        if let Some(url) = &self.gateway_url {
            config = config.proxy_url(url.clone());
        }
        if let Some(known) = known {
            config = config.session(Session::new(known.seq, known.session.clone()));
            if let Some(url) = known.resume_url.as_ref().filter(|url| is_url(url)) {
                config = config.resume_url(url.clone());
            }
        }
        Ok(Shard::with_config(ShardId::ONE, config.build()))
    }

    /// Reads until the connection ends.
    async fn read_gateway(
        &self,
        mut shard: Shard,
        queue: mpsc::Sender<Event>,
        token: &Token,
        session: Option<String>,
    ) -> Ended {
        loop {
            let text = match shard.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(frame))) => {
                    return self.closed(frame.map(|frame| (frame.code, told(&frame.reason, &[token]))), session);
                }
                Some(Err(error)) => {
                    // The event that could not be read, which such an error shows, is not repeated.
                    let cause = std::error::Error::source(&error).map(|cause| told(&cause.to_string(), &[token]));
                    // Where a session is resumed may be gone; then it is tried where sessions begin.
                    self.forget_resume_url();
                    return Ended::Broken(format!("no connection to Discord: {}", cause.unwrap_or_default()));
                }
                None => return Ended::Broken("the connection to Discord has ended".into()),
            };
            let Ok(event) = serde_json::from_str::<Event>(&text) else {
                tracing::warn!("Discord sent an event that is none; it is passed over");
                continue;
            };
            let (op, is_gone) = (event.op, event.d == Value::Bool(false));
            if op == 0 && queue.try_send(event).is_err() {
                return Ended::Broken("Discord sends faster than answers are recorded".into());
            }
            match op {
                // The session is gone.
                9 if is_gone => {
                    self.gateway.forget(session);
                    return Ended::Broken("Discord has forgotten the session".into());
                }
                7 | 9 => return Ended::Broken("Discord asks to connect anew".into()),
                _ => {}
            }
        }
    }

    /// Hands over what was read, one event after the other.
    /// Returns why it could not go on; none at the end of the queue.
    async fn hand_over(
        &self,
        mut queued: mpsc::Receiver<Event>,
        known: Option<Known>,
        inlet: &dyn Inlet,
    ) -> Option<Ended> {
        let (mut known, mut beside) = (known, Beside::new());
        while let Some(event) = beside.run(queued.recv()).await {
            let Some(seq) = event.s else { continue };
            match event.t.as_deref() {
                Some("READY") => {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    known = Some(Known {
                        session: text(&event.d["session_id"]),
                        resume_url: event.d["resume_gateway_url"].as_str().map(str::to_owned),
                        bot: text(&event.d["user"]["id"]),
                        seq,
                    });
                    inlet.connected();
                }
                Some("RESUMED") => inlet.connected(),
                _ => {}
            }
            let Some(known) = &mut known else { continue };
            known.seq = seq;
            let read = match event.t.as_deref() {
                Some("INTERACTION_CREATE") => receive::press(&event.d),
                Some("MESSAGE_CREATE") => receive::words(&event.d, &known.bot),
                _ => Ok(None),
            };
            match read {
                Ok(Some(mut inbound)) => {
                    inbound.place = serde_json::to_string(known).ok();
                    if let Err(ended) = self.take_one(inbound, inlet, &mut beside).await {
                        return Some(ended);
                    }
                }
                Ok(None) => {}
                Err(problem) => tracing::warn!("{problem}; it is passed over"),
            }
            self.gateway.set(Some(known.clone()), self.clock.now());
        }
        beside.finish().await;
        None
    }

    async fn take_one<'a>(&'a self, inbound: Inbound, inlet: &dyn Inlet, beside: &mut Beside<'a>) -> Result<(), Ended> {
        let mut taking = inlet.take(inbound.clone());
        let soon = beside.run(async {
            tokio::select! {
                taken = &mut taking => Some(taken),
                () = self.clock.pause(super::interaction::DEFER_AFTER) => None,
            }
        });
        let (taken, is_deferred) = match soon.await {
            Some(taken) => (taken, false),
            // Discord waits for three seconds in all.
            None => {
                let deferred = beside.run(self.defer(&inbound)).await;
                (beside.run(taking).await, deferred)
            }
        };
        match taken {
            Ok(reaction) => {
                beside.add(self.tell_quietly(inbound, Some(reaction), is_deferred)).await;
                Ok(())
            }
            Err(NotTaken::LeaseLost) => Err(Ended::Replaced),
            // The press is not acknowledged. The session is resumed before this event; the person has seen that the press failed.
            Err(NotTaken::Unavailable) => {
                if is_deferred {
                    beside.run(self.tell_quietly(inbound, None, true)).await;
                }
                Err(Ended::Broken("the store cannot write now".into()))
            }
        }
    }

    fn closed(&self, frame: Option<(u16, String)>, session: Option<String>) -> Ended {
        let Some((code, reason)) = frame else { return Ended::Broken("Discord closed the connection".into()) };
        let said = format!("Discord closed the connection: {code} {reason}");
        match code {
            4004 => Ended::Refused(format!("the token is not accepted; check the channel's token: {said}")),
            4010..=4012 | 4014 => Ended::Refused(said),
            4013 => Ended::Refused(format!("Discord does not know the intents that punctual asks for: {said}")),
            // The session is not to be resumed: another has begun there, or it is too old.
            4007 | 4009 => {
                self.gateway.forget(session);
                Ended::Broken(said)
            }
            _ => Ended::Broken(said),
        }
    }

    fn forget_resume_url(&self) {
        let mut session = self.gateway.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, _)) = session.as_mut() {
            known.resume_url = None;
        }
    }
}
