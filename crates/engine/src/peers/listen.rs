//! Hearing what others change.
//!
//! A connection can die without a word. So this node's own beats come back through it: as long as they do, everything does.
//! While they do not, the timer looks every second instead, and says so.
//!
//! Every role that may connect to the store can say what nodes say to each other. So a notification is a hint: a reason to look into
//! the store, as often as a [`Budget`] allows.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::store::{Ears, Heard};

use super::Peers;
use super::beat::TIMER_AHEAD;
use super::budget::Budget;
use crate::dispatch::Dispatcher;
use crate::events::Planner;
use crate::instant::plus;
use crate::leases::Leases;
use crate::log::Kind;
use crate::node::Node;
use crate::system::Runtime;
use crate::timer::Timer;

/// Without a beat of its own for this long, this node is deaf. It beats to be heard every four seconds.
const DEAF_AFTER: Duration = Duration::from_secs(10);
/// How long to wait before the connection is made again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How long a run that was given back is left to the node that asked for it.
const GIVEN_BACK_FOR: Duration = Duration::from_millis(150);
/// More moments than this are not kept for the timer; it then reads for itself.
const MOMENTS_MAX: usize = 4096;
/// How often a log line says that somebody else talks to this node.
const SAID_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// Hears what other nodes and programs change.
pub(crate) struct Listener {
    pub(crate) node: Node,
    pub(crate) peers: Arc<Peers>,
    pub(crate) timer: Arc<Timer>,
    pub(crate) leases: Arc<Leases>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) planner: Arc<Planner>,
    pub(crate) runtime: Arc<dyn Runtime>,
}

impl Listener {
    pub(crate) async fn run(self: Arc<Self>) {
        if !self.peers.is_shared() {
            return;
        }
        let mut hints = Hints::new();
        while !self.node.stopping() {
            match self.node.store.listen().await {
                Ok(Some(ears)) => self.listen(ears, &mut hints).await,
                Ok(None) => return,
                Err(error) => tracing::debug!(%error, "cannot listen"),
            }
            self.set_hears(false);
            self.node.pause(AGAIN_AFTER).await;
        }
    }

    async fn listen(self: &Arc<Self>, mut ears: Box<dyn Ears>, hints: &mut Hints) {
        let Self { node, peers, .. } = &**self;
        let mut deaf = node.clock.pause(DEAF_AFTER);
        loop {
            // Until a hint may be acted on.
            let rest = hints.wait(node.now()).map(|span| node.clock.pause(span));
            let rested = async {
                match rest {
                    Some(rest) => rest.await,
                    None => std::future::pending().await,
                }
            };
            let heard = tokio::select! { biased;
                () = node.stopped() => return,
                () = rested => None,
                heard = ears.hear() => Some(heard),
                () = &mut deaf => return,
            };
            match heard {
                None => hints.catch_up(self),
                Some(Ok(Heard::Beat(echo))) => {
                    if !peers.takes_echo(&echo) {
                        // Another node's, or nobody's.
                        continue;
                    }
                    deaf = node.clock.pause(DEAF_AFTER);
                    if !peers.hears() {
                        self.set_hears(true);
                        // The hints that were given before are lost.
                        self.timer.reset();
                        self.dispatcher.hear_waits();
                        self.planner.nudge();
                    }
                }
                Some(Ok(hint)) => hints.heed(self, hint),
                Some(Err(error)) => {
                    tracing::debug!(%error, "heard no more");
                    return;
                }
            }
        }
    }

    fn set_hears(&self, hears: bool) {
        let heard = self.peers.hears.swap(hears, Ordering::AcqRel);
        self.node.metrics.hears.set(i64::from(hears));
        match (heard, hears) {
            (true, false) => tracing::warn!("does not hear what others change; looking every second instead"),
            (false, true) => tracing::info!("hears what others change"),
            _ => {}
        }
    }

    /// Gives back the runs that other nodes have asked for: they are about to change the reminder, or an answer has ended its run.
    fn look_at_recalled(self: &Arc<Self>) {
        let flights = &self.leases.flights;
        if flights.len() == 0 && !flights.is_claiming() {
            return;
        }
        let this = self.clone();
        self.runtime.spawn(Box::pin(async move {
            let back_at = match this.node.store.recalled().await {
                Ok(reminders) => this.leases.stop(&reminders).await,
                Err(error) => return tracing::debug!(%error, "cannot see what others ask for"),
            };
            if !back_at.is_empty() {
                this.node.clock.pause(GIVEN_BACK_FOR).await;
                this.timer.wake_at(back_at);
            }
        }));
    }
}

/// The hints that were heard, and how many of them are acted on.
struct Hints {
    looks: Budget,
    left: Budget,
    waits: Budget,
    recalled: Budget,
    wakes: Budget,
    placed: Budget,
    followed: Budget,
    events: Budget,
    /// Moments that the timer does not know yet.
    moments: Vec<Timestamp>,
    /// Notifications that no node sends, since the log last said so.
    n_nonsense: u64,
    said_at: Timestamp,
}

impl Hints {
    fn new() -> Self {
        let millis = Duration::from_millis;
        Self {
            // Each reads up to a window of the timer's.
            looks: Budget::new(10, millis(100)),
            // Each is a beat, which writes.
            left: Budget::new(3, millis(500)),
            waits: Budget::new(10, millis(100)),
            // A node that asks for a run back waits a tenth of a second for it.
            recalled: Budget::new(20, millis(20)),
            // Each may be a claim.
            wakes: Budget::new(50, millis(20)),
            // Each is a look for new entries of the journal.
            placed: Budget::new(20, millis(20)),
            // Each is a beat, which writes.
            followed: Budget::new(3, millis(500)),
            // Each plans what was written.
            events: Budget::new(20, millis(20)),
            moments: Vec::new(),
            n_nonsense: 0,
            said_at: Timestamp::MIN,
        }
    }

    fn heed(&mut self, listener: &Arc<Listener>, hint: Heard) {
        let now = listener.node.now();
        match hint {
            Heard::Wake(moments) => {
                let own = listener.peers.own();
                // Other nodes tell of moments that are near; the rest is read in time.
                let near = plus(now, TIMER_AHEAD * 2);
                let is_meant = |(shard, at): &(u8, Timestamp)| own.contains(*shard) && *at <= near;
                self.moments.extend(moments.into_iter().filter(is_meant).map(|(_, at)| at));
                if self.moments.len() > MOMENTS_MAX {
                    self.moments.clear();
                    self.heed(listener, Heard::Look);
                } else if !self.moments.is_empty() && self.wakes.ask(now) {
                    if listener.node.says(Kind::Woken) {
                        tracing::info!(n = self.moments.len(), "woken: others have planned something for soon");
                    }
                    listener.timer.wake_at(self.moments.drain(..));
                }
            }
            Heard::Look if self.looks.ask(now) => listener.timer.reset(),
            Heard::Left if self.left.ask(now) => listener.peers.left.notify_one(),
            Heard::Throttled if self.waits.ask(now) => listener.dispatcher.hear_waits(),
            Heard::Recalled if self.recalled.ask(now) => listener.look_at_recalled(),
            Heard::Placed if self.placed.ask(now) => listener.node.journal.placed_elsewhere(),
            Heard::Followed if self.followed.ask(now) => listener.peers.left.notify_one(),
            Heard::Events if self.events.ask(now) => listener.planner.nudge(),
            Heard::Nonsense => {
                self.n_nonsense += 1;
                if now.duration_since(self.said_at).abs() >= SAID_EVERY {
                    let n = self.n_nonsense;
                    tracing::warn!(
                        n,
                        "heard what no node sends: somebody else notifies the channel `punctual`; it is ignored"
                    );
                    (self.n_nonsense, self.said_at) = (0, now);
                }
            }
            // The hint waits; or it is a beat, which was heeded before.
            Heard::Look
            | Heard::Left
            | Heard::Throttled
            | Heard::Recalled
            | Heard::Placed
            | Heard::Followed
            | Heard::Events
            | Heard::Beat(_) => {}
        }
    }

    /// How long until a hint that waits may be acted on.
    fn wait(&self, now: Timestamp) -> Option<Duration> {
        let Self { looks, left, waits, recalled, wakes, placed, followed, events, .. } = self;
        let budgets = [looks, left, waits, recalled, wakes, placed, followed, events];
        budgets.into_iter().filter_map(|budget| budget.wait(now)).min()
    }

    /// Acts on the hints that wait and may be acted on.
    fn catch_up(&mut self, listener: &Arc<Listener>) {
        let now = listener.node.now();
        if self.recalled.ask_again(now) {
            listener.look_at_recalled();
        }
        if self.wakes.ask_again(now) {
            listener.timer.wake_at(self.moments.drain(..));
        }
        if self.looks.ask_again(now) {
            listener.timer.reset();
        }
        if self.waits.ask_again(now) {
            listener.dispatcher.hear_waits();
        }
        if self.placed.ask_again(now) {
            listener.node.journal.placed_elsewhere();
        }
        if self.events.ask_again(now) {
            listener.planner.nudge();
        }
        if self.left.ask_again(now) || self.followed.ask_again(now) {
            listener.peers.left.notify_one();
        }
    }
}
