//! Hearing what others change.
//!
//! A connection can die without a word. So this node's own beats come back through it: as long as they do, everything does.
//! While they do not, the timer looks every second instead, and says so.
//!
//! Whoever may connect to the store may say what nodes say to each other. So what is heard is a hint: a reason to look into the
//! store, as often as a [`Budget`] allows.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::decide::withdraw;
use punctual_core::id::ReminderId;
use punctual_core::store::{Ears, Heard};

use super::beat::HORIZON;
use super::budget::Budget;
use crate::claim::plus;
use crate::command::Inner;
use crate::say::Kind;
use crate::together;

/// Without a beat of its own for this long, this node is deaf. It beats to be heard every four seconds.
const DEAF_AFTER: Duration = Duration::from_secs(10);
/// How long to wait before the connection is made again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How long what was given back is left to whoever asked for it.
const GIVEN_BACK_FOR: Duration = Duration::from_millis(150);
/// More moments than this are not kept until the timer is told of them; it then reads for itself.
const MOMENTS_MAX: usize = 4096;
/// How often a log line says that somebody else talks to this node.
const SAID_EVERY: SignedDuration = SignedDuration::from_mins(1);

pub(crate) async fn run(inner: Arc<Inner>) {
    if !inner.peers.is_shared() {
        return;
    }
    let mut hints = Hints::new();
    while !inner.stopping() {
        match inner.store.listen().await {
            Ok(Some(ears)) => listen(&inner, ears, &mut hints).await,
            Ok(None) => return,
            Err(error) => tracing::debug!(%error, "cannot listen"),
        }
        inner.set_hears(false);
        tokio::select! { biased;
            () = inner.stopped() => return,
            () = inner.clock.pause(AGAIN_AFTER) => {}
        }
    }
}

async fn listen(inner: &Arc<Inner>, mut ears: Box<dyn Ears>, hints: &mut Hints) {
    let mut deaf = inner.clock.pause(DEAF_AFTER);
    loop {
        // Until something that was said may be acted on.
        let rest = hints.wait(inner.clock.now()).map(|span| inner.clock.pause(span));
        let rested = async {
            match rest {
                Some(rest) => rest.await,
                None => std::future::pending().await,
            }
        };
        let heard = tokio::select! { biased;
            () = inner.stopped() => return,
            () = rested => None,
            heard = ears.hear() => Some(heard),
            () = &mut deaf => return,
        };
        match heard {
            None => hints.catch_up(inner),
            Some(Ok(Heard::Beat(echo))) => {
                if !inner.peers.takes_echo(&echo) {
                    // Another node's, or nobody's.
                    continue;
                }
                deaf = inner.clock.pause(DEAF_AFTER);
                if !inner.peers.hears() {
                    inner.set_hears(true);
                    // What was told before is lost.
                    inner.timer.reset();
                    together::look_at_holds(inner);
                }
            }
            Some(Ok(news)) => hints.heed(inner, news),
            Some(Err(error)) => {
                tracing::debug!(%error, "heard no more");
                return;
            }
        }
    }
}

/// What was said, and how much of it is acted on.
struct Hints {
    looks: Budget,
    left: Budget,
    held: Budget,
    recalled: Budget,
    wakes: Budget,
    /// Moments of which the timer has not been told.
    moments: Vec<Timestamp>,
    /// What no node says, since the log last said so.
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
            held: Budget::new(10, millis(100)),
            // Whoever asks for something back waits a tenth of a second for it.
            recalled: Budget::new(20, millis(20)),
            // Each may be a claim.
            wakes: Budget::new(50, millis(20)),
            moments: Vec::new(),
            n_nonsense: 0,
            said_at: Timestamp::MIN,
        }
    }

    fn heed(&mut self, inner: &Arc<Inner>, news: Heard) {
        let now = inner.clock.now();
        match news {
            Heard::Wake(moments) => {
                let own = inner.peers.own();
                // Others tell of what is near; the rest is read in time.
                let near = plus(now, HORIZON * 2);
                let is_meant = |(shard, at): &(u8, Timestamp)| own.contains(*shard) && *at <= near;
                self.moments.extend(moments.into_iter().filter(is_meant).map(|(_, at)| at));
                if self.moments.len() > MOMENTS_MAX {
                    self.moments.clear();
                    self.heed(inner, Heard::Look);
                } else if !self.moments.is_empty() && self.wakes.ask(now) {
                    if inner.says(Kind::Woken) {
                        tracing::info!(n = self.moments.len(), "woken: others have planned something for soon");
                    }
                    inner.timer.note(self.moments.drain(..));
                }
            }
            Heard::Look if self.looks.ask(now) => inner.timer.reset(),
            Heard::Left if self.left.ask(now) => inner.peers_changed.notify_one(),
            Heard::Held if self.held.ask(now) => together::look_at_holds(inner),
            Heard::Recalled if self.recalled.ask(now) => look_at_recalled(inner),
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
            // It waits; or it is a beat, which was heeded before.
            Heard::Look | Heard::Left | Heard::Held | Heard::Recalled | Heard::Beat(_) => {}
        }
    }

    /// How long until something that waits may be acted on.
    fn wait(&self, now: Timestamp) -> Option<Duration> {
        let budgets = [&self.looks, &self.left, &self.held, &self.recalled, &self.wakes];
        budgets.into_iter().filter_map(|budget| budget.wait(now)).min()
    }

    /// Acts on what waits and may be acted on.
    fn catch_up(&mut self, inner: &Arc<Inner>) {
        let now = inner.clock.now();
        if self.recalled.ask_again(now) {
            look_at_recalled(inner);
        }
        if self.wakes.ask_again(now) {
            inner.timer.note(self.moments.drain(..));
        }
        if self.looks.ask_again(now) {
            inner.timer.reset();
        }
        if self.held.ask_again(now) {
            together::look_at_holds(inner);
        }
        if self.left.ask_again(now) {
            inner.peers_changed.notify_one();
        }
    }
}

/// Gives back what other nodes have asked for.
fn look_at_recalled(inner: &Arc<Inner>) {
    if inner.flights.len() == 0 {
        return;
    }
    let inner_too = inner.clone();
    inner.runtime.spawn(Box::pin(async move {
        match inner_too.store.recalled().await {
            Ok(reminders) => reminders.into_iter().for_each(|reminder| give_back(&inner_too, reminder)),
            Err(error) => tracing::debug!(%error, "cannot see what others ask for"),
        }
    }));
}

/// Gives back what is claimed of a reminder and has not begun: another node is about to change it.
fn give_back(inner: &Arc<Inner>, reminder: ReminderId) {
    let now = inner.clock.now();
    let settlements: Vec<_> =
        inner.flights.withdraw(reminder).iter().map(|flight| withdraw(&flight.claimed, now)).collect();
    if settlements.is_empty() {
        return;
    }
    let back_at: Vec<_> = settlements.iter().filter_map(|s| s.state.wake_at(s.due_at)).collect();
    let inner_too = inner.clone();
    inner.runtime.spawn(Box::pin(async move {
        let inner = inner_too;
        // Not through the settling loop, which would make the timer claim it again before it is changed.
        match inner.store.settle(settlements.clone(), now).await {
            Ok(_) => inner.flights.remove(settlements.iter().map(|s| (&s.occurrence, s.lease))),
            Err(_) => settlements.into_iter().for_each(|settlement| inner.settle_later(settlement, None)),
        }
        inner.clock.pause(GIVEN_BACK_FOR).await;
        inner.timer.note(back_at);
    }));
}

impl Inner {
    fn set_hears(&self, hears: bool) {
        let heard = self.peers.hears.swap(hears, Ordering::AcqRel);
        self.metrics.hears.set(i64::from(hears));
        match (heard, hears) {
            (true, false) => tracing::warn!("does not hear what others change; looking every second instead"),
            (false, true) => tracing::info!("hears what others change"),
            _ => {}
        }
    }
}
