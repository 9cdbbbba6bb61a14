//! Keeping one connection open, for as long as it is this node's.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use punctual_core::channel::receive::{Ended, Inbound, Inlet, NotTaken, Place, Reaction, Receive, Way};
use punctual_core::store::HeldConnection;
use tokio::sync::watch;

use super::hold::Holder;
use super::standing::Link;
use crate::metrics::ChannelLabel;
use crate::node::lock;

/// The first wait before a connection that broke is opened again; it doubles.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// The longest of these waits.
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(30);
/// A connection that was open for so long, or brought an answer, has worked: the next wait is the first again.
const WORKS_AFTER: Duration = Duration::from_secs(60);
/// The wait when only an operator can help, and the longest that a platform may ask for.
const REFUSED_FOR: Duration = Duration::from_secs(300);
/// The wait when another node, or another program, has the connection.
const REPLACED_FOR: Duration = Duration::from_secs(1);

/// One channel's connection.
pub(super) struct Connection {
    pub(super) of: Arc<Holder>,
    pub(super) channel: String,
    /// Under which number this node has it, while it does.
    pub(super) held: watch::Receiver<Option<HeldConnection>>,
}

impl Connection {
    pub(super) async fn run(mut self) {
        let of = self.of.clone();
        let Some(channel) = of.channels.get(&self.channel).cloned() else { return };
        let Some(receives) = channel.receives() else { return };
        while !of.node.stopping() {
            let held = self.held.borrow_and_update().clone();
            let keep = async {
                match held {
                    Some(held) => self.keep(receives, held).await,
                    None => std::future::pending().await,
                }
            };
            let mut changed = self.held.clone();
            tokio::select! { biased;
                () = of.node.stopped() => return,
                said = changed.changed() => if said.is_err() { return },
                () = keep => {}
            }
        }
    }

    /// Opens the connection again and again, as long as it is this node's under this number.
    async fn keep(&self, receives: &dyn Receive, held: HeldConnection) {
        let of = &*self.of;
        let (node, clock) = (&of.node, &of.node.clock);
        let label = ChannelLabel { channel: self.channel.clone() };
        let port = Port {
            of: self.of.clone(),
            channel: self.channel.clone(),
            lease: held.lease,
            place: Mutex::new(held.place),
            has_worked: AtomicBool::new(false),
        };
        let mut wait = AGAIN_AFTER;
        loop {
            self.say(Link::Connecting, None);
            let begun_at = clock.run_for();
            let place = lock(&port.place).clone();
            let connecting = AssertUnwindSafe(async {
                match receives.way() {
                    Way::Connection => receives.connect(place, &port).await,
                    Way::Webhook => match receives.register().await {
                        Ok(()) => std::future::pending().await,
                        Err(ended) => ended,
                    },
                }
            });
            let ended = connecting.catch_unwind().await;
            let has_worked = port.has_worked.swap(false, Ordering::Relaxed);
            if has_worked || clock.run_for().saturating_sub(begun_at) >= WORKS_AFTER {
                wait = AGAIN_AFTER;
            }
            let pause = match ended.unwrap_or_else(|_| Ended::Broken("the channel panicked".into())) {
                Ended::Broken(why) => {
                    tracing::debug!(channel = %self.channel, %why, "a connection to a platform broke");
                    self.say(Link::Connecting, Some(why));
                    let jittered = wait.mul_f64(0.5 + of.random.unit() / 2.0);
                    wait = (wait * 2).min(AGAIN_AFTER_MAX);
                    jittered
                }
                Ended::Wait(span) => {
                    self.say(Link::Connecting, Some(format!("the platform asks to wait for {} s", span.as_secs())));
                    span.min(REFUSED_FOR)
                }
                Ended::Refused(why) => {
                    tracing::warn!(channel = %self.channel, %why, "no answers come by this channel");
                    self.say(Link::Refused, Some(why));
                    REFUSED_FOR
                }
                Ended::Replaced => {
                    self.say(Link::Connecting, Some("another connection has replaced this one".into()));
                    of.holds.look_again();
                    REPLACED_FOR
                }
            };
            clock.pause(pause).await;
            node.metrics.inbound_reconnects.get_or_create(&label).inc();
        }
    }

    fn say(&self, link: Link, error: Option<String>) {
        let node = &self.of.node;
        self.of.standings.link(&node.metrics, &self.channel, link, error, node.now());
    }
}

/// Where a connection hands over what comes.
struct Port {
    of: Arc<Holder>,
    channel: String,
    lease: u64,
    /// How far it was read, also past events that changed nothing and are written nowhere.
    place: Mutex<Option<Place>>,
    /// Whether something came over it: then it is not the platform that does not want it.
    has_worked: AtomicBool,
}

#[async_trait]
impl Inlet for Port {
    fn connected(&self) {
        let node = &self.of.node;
        self.of.standings.link(&node.metrics, &self.channel, Link::Connected, None, node.now());
    }

    async fn take(&self, inbound: Inbound) -> Result<Reaction, NotTaken> {
        let text = inbound.place.clone();
        let taken = self.of.taker.take(&self.channel, inbound, Some(self.lease)).await;
        if taken.is_ok() {
            self.has_worked.store(true, Ordering::Relaxed);
        }
        match (&taken, text) {
            (Ok(_), Some(text)) => *lock(&self.place) = Some(Place { text, at: self.of.node.now() }),
            (Err(NotTaken::LeaseLost), _) => self.of.holds.look_again(),
            _ => {}
        }
        taken
    }
}
