//! Saying that this node lives, and learning who else does.
//!
//! One statement a second. It also brings the store's clock, by which this node sets its own, and the first moment of all,
//! which tells whether something is late and how far there is nothing to do.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::{Clock, Random};
use punctual_core::shard::Shards;
use punctual_core::store::{Beat, Pulse, Shared, StoreError};

use super::Peers;
use crate::dispatch::Dispatcher;
use crate::inbound::hold::Holds;
use crate::instant::plus;
use crate::node::{Node, lock};
use crate::settings::Settings;
use crate::timer::Timer;

/// How often this node says that it lives.
const EVERY: Duration = Duration::from_secs(1);
/// A difference that an answer within less than this explains is too small to matter.
const QUICK: SignedDuration = SignedDuration::from_millis(1);
/// Every so many beats, one is to be heard back; all of them while none has been.
const ECHO_EVERY: u64 = 4;
/// A run that is later than this is anybody's.
pub(crate) const LATE_AFTER: SignedDuration = SignedDuration::from_millis(500);
/// How far ahead the timer knows everything. Other nodes tell what they plan sooner than this; the rest is read in time.
pub(crate) const TIMER_AHEAD: SignedDuration = SignedDuration::from_secs(60);
/// The timer reads on when it knows less than this.
const TIMER_AHEAD_MIN: SignedDuration = SignedDuration::from_secs(30);

/// Says once a second that this node lives.
pub(crate) struct Heartbeat {
    pub(crate) node: Node,
    pub(crate) holds: Arc<Holds>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) timer: Arc<Timer>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) random: Arc<dyn Random>,
}

impl Heartbeat {
    /// The first beat, before anything else is done: from then on the clock is the store's.
    pub(crate) async fn begin(&self) -> Result<(), StoreError> {
        // This node does not listen yet.
        self.once(None).await
    }

    pub(crate) async fn run(self: Arc<Self>) {
        let Self { node, peers, .. } = &*self;
        if !peers.is_shared() {
            return;
        }
        let (mut n_beats, mut has_failed) = (0, false);
        while !node.stopping() {
            tokio::select! { biased;
                () = node.stopped() => break,
                () = node.clock.pause(EVERY) => {}
                () = peers.left.notified() => {}
            }
            n_beats += 1;
            let wants_echo = !peers.hears() || n_beats % ECHO_EVERY == 0;
            let beaten = self.once(wants_echo.then(|| self.new_echo())).await;
            if beaten.is_ok() && !peers.hears() && peers.count() > 1 {
                // No notification tells this node of a wait that another was asked for.
                self.dispatcher.hear_waits();
            }
            match &beaten {
                // An idle engine asks for nothing else, and would not notice that the store works again.
                Ok(()) if has_failed => node.health.works(),
                Ok(()) => {}
                Err(error) => node.health.failed(error),
            }
            has_failed = beaten.is_err();
        }
        // Others divide its shards at once; if they cannot be told, they notice within seconds.
        if let Err(error) = node.store.leave(&node.settings.node).await {
            tracing::debug!(%error, "could not say goodbye");
        }
    }

    /// A word that nobody has ever said, to be heard back.
    fn new_echo(&self) -> String {
        let echo: String = self.random.ten().iter().map(|byte| format!("{byte:02x}")).collect();
        self.peers.expect_echo(echo.clone());
        echo
    }

    async fn once(&self, echo: Option<String>) -> Result<(), StoreError> {
        let Self { node, peers, timer, .. } = self;
        let (before, begun_at) = (node.now(), node.clock.run_for());
        let until = plus(before, TIMER_AHEAD);
        let reads_on = peers.is_shared() && timer.knows_until().is_some_and(|at| at < plus(before, TIMER_AHEAD_MIN));
        if reads_on {
            // Opened before the store is asked, so that a run that is planned meanwhile is kept.
            timer.extend(until);
        }
        let Settings { node: name, shared, .. } = &*node.settings;
        let pulse = match node.store.beat(Beat { node: name.clone(), echo, shared: shared.to_string() }).await {
            Ok(Some(pulse)) => pulse,
            Ok(None) => return Ok(()),
            Err(error) => {
                if reads_on {
                    timer.reset();
                }
                return Err(error);
            }
        };
        // The first beat says that there can be others.
        correct(&*node.clock, behind(before, node.now(), pulse.now, !peers.is_shared()));
        let now = node.now();
        node.health.answered();
        self.holds.pulse(&pulse.nodes, begun_at);
        let is_new = peers.heed(&pulse);
        peers.compare(shared, &pulse.shared);
        node.metrics.nodes.set(pulse.nodes.len() as i64);
        node.metrics.shards.set(pulse.shards.count() as i64);
        let is_soon = pulse.first_at.is_some_and(|at| at <= until);
        let is_late = pulse.first_at.is_some_and(|at| now.duration_since(at) > LATE_AFTER);
        if is_new || is_late || (is_soon && (reads_on || !peers.hears())) {
            timer.reset();
        }
        if is_late {
            peers.is_late.store(true, Ordering::Release);
            timer.nudge();
        }
        Ok(())
    }
}

/// Sets this node's clock by the store's.
fn correct(clock: &dyn Clock, by: SignedDuration) {
    // Also if it is by nothing: from now on the store leads, whatever this machine's clock is set to.
    clock.advance(by);
    let by = by.abs();
    if by > SignedDuration::from_millis(100) {
        tracing::warn!(?by, "this machine's clock differs from the database's; the database's is used");
    }
}

/// How much this node's clock is behind the store's, which showed `shown` between `before` and `after`.
///
/// The answer left the store somewhere between the question and its arrival. As long as that explains the difference, the
/// clock is left alone, and two nodes on one machine never quarrel about fractions of a millisecond. Otherwise it is set to
/// the instant that the store showed when the answer came: a little behind the store's and never ahead, because nothing may be early.
///
/// The first time, only a quick answer explains the difference: behind a slow one the clock may be ahead by as much as it took.
fn behind(before: Timestamp, after: Timestamp, shown: Timestamp, is_first: bool) -> SignedDuration {
    let is_slow = after.duration_since(before) >= QUICK;
    let is_explained = before <= shown && shown <= after && !(is_first && is_slow);
    if is_explained { SignedDuration::ZERO } else { shown.duration_since(after) }
}

impl Peers {
    /// Notes which secrets other nodes have otherwise, and says so when that has changed.
    fn compare(&self, own: &Shared, others: &[String]) {
        let differing = own.differing(others);
        let mut known = lock(&self.disagrees);
        if *known == differing {
            return;
        }
        match differing.is_empty() {
            true => tracing::info!("the nodes use the same secrets again"),
            false => tracing::warn!(
                settings = differing.join(", "),
                "this node and another one use different secrets: what one signs the other does not know; \
                 give all nodes the same settings, or none"
            ),
        }
        *known = differing;
    }

    /// Takes a pulse to heart; returns whether this node's shards have changed.
    fn heed(&self, pulse: &Pulse) -> bool {
        self.is_shared.store(true, Ordering::Release);
        self.n_nodes.store(pulse.nodes.len(), Ordering::Relaxed);
        let mut own = lock(&self.own);
        let is_new = *own != pulse.shards;
        if is_new {
            let (nodes, shards) = (pulse.nodes.len(), pulse.shards.count());
            tracing::info!(nodes, shards, "the shards were divided anew");
        }
        *own = pulse.shards;
        drop(own);
        is_new && pulse.shards != Shards::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_left_alone_only_if_it_cannot_be_ahead_by_much() {
        let at = |micros| Timestamp::from_microsecond(micros).unwrap();
        let check = |(before, after, shown), is_first, expect| {
            let by = behind(at(before), at(after), at(shown), is_first);
            assert_eq!(by.as_micros(), expect, "{before} to {after}, shown {shown}, first: {is_first}");
        };
        for is_first in [true, false] {
            check((0, 900, 500), is_first, 0);
            check((0, 900, 5_000), is_first, 4_100);
            check((100_000, 100_900, 50_000), is_first, -50_900);
        }
        check((0, 40_000, 30_000), true, -10_000);
        check((0, 40_000, 30_000), false, 0);
    }
}
