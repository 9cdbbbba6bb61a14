//! Saying that this node lives, and learning who else does.
//!
//! One statement a second. It also brings the store's clock, by which this node sets its own, and the first moment of all,
//! which tells whether something is late and how far there is nothing to do.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::shard::Shards;
use punctual_core::store::{Beat, Pulse, Shared, StoreError};

use crate::claim::plus;
use crate::command::Inner;
use crate::together;

/// How often this node says that it lives.
const EVERY: Duration = Duration::from_secs(1);
/// Every so many beats, one is to be heard back; all of them while none has been.
const ECHO_EVERY: u64 = 4;
/// What is later than this is anybody's.
pub(crate) const LATE_AFTER: SignedDuration = SignedDuration::from_millis(500);
/// How far ahead the timer knows everything. What others plan sooner than this is told; the rest is read in time.
pub(crate) const HORIZON: SignedDuration = SignedDuration::from_secs(60);
/// The timer reads on when it knows less than this.
const HORIZON_MIN: SignedDuration = SignedDuration::from_secs(30);

/// The first beat, before anything else is done: from then on the clock is the store's.
pub(crate) async fn begin(inner: &Inner) -> Result<(), StoreError> {
    // Nobody listens yet.
    once(inner, None).await
}

pub(crate) async fn run(inner: Arc<Inner>) {
    if !inner.peers.is_shared() {
        return;
    }
    let (mut n_beats, mut has_failed) = (0, false);
    while !inner.stopping() {
        tokio::select! { biased;
            () = inner.stopped() => break,
            () = inner.clock.pause(EVERY) => {}
            () = inner.peers_changed.notified() => {}
        }
        n_beats += 1;
        let wants_echo = !inner.peers.hears() || n_beats % ECHO_EVERY == 0;
        let beaten = once(&inner, wants_echo.then(|| new_echo(&inner))).await;
        if beaten.is_ok() && !inner.peers.hears() && inner.peers.count() > 1 {
            // Nobody tells this node of a wait that another was asked for.
            together::look_at_holds(&inner);
        }
        match &beaten {
            // An idle engine asks for nothing else, and would not notice that the store works again.
            Ok(()) if has_failed => inner.store_works(),
            Ok(()) => {}
            Err(error) => inner.store_failed(error),
        }
        has_failed = beaten.is_err();
    }
    // Others divide its shards at once; if they cannot be told, they notice within seconds.
    if let Err(error) = inner.store.leave(&inner.settings.node).await {
        tracing::debug!(%error, "could not say goodbye");
    }
}

/// Something that nobody has ever said, to be heard back.
fn new_echo(inner: &Inner) -> String {
    let echo: String = inner.random.ten().iter().map(|byte| format!("{byte:02x}")).collect();
    inner.peers.expect_echo(echo.clone());
    echo
}

async fn once(inner: &Inner, echo: Option<String>) -> Result<(), StoreError> {
    let before = inner.clock.now();
    let until = plus(before, HORIZON);
    let reads_on =
        inner.peers.is_shared() && inner.timer.knows_until().is_some_and(|at| at < plus(before, HORIZON_MIN));
    if reads_on {
        // Opened before the store is asked, so that what is planned meanwhile is kept.
        inner.timer.extend(until);
    }
    let beaten = inner
        .store
        .beat(Beat { node: inner.settings.node.clone(), echo, shared: inner.settings.shared.to_string() })
        .await;
    let pulse = match beaten {
        Ok(Some(pulse)) => pulse,
        Ok(None) => return Ok(()),
        Err(error) => {
            if reads_on {
                inner.timer.reset();
            }
            return Err(error);
        }
    };
    let after = inner.clock.now();
    correct(inner, before, after, pulse.now);
    let now = inner.clock.now();
    inner.outage.answered(now);
    let is_new = inner.peers.heed(&pulse);
    inner.peers.compare(&inner.settings.shared, &pulse.shared);
    inner.metrics.nodes.set(pulse.nodes.len() as i64);
    inner.metrics.shards.set(pulse.shards.count() as i64);
    let is_soon = pulse.first_at.is_some_and(|at| at <= until);
    let is_late = pulse.first_at.is_some_and(|at| now.duration_since(at) > LATE_AFTER);
    if is_new || is_late || (is_soon && (reads_on || !inner.peers.hears())) {
        inner.timer.reset();
    }
    if is_late {
        inner.peers.is_late.store(true, Ordering::Release);
        inner.timer.nudge();
    }
    Ok(())
}

/// Sets this node's clock by the store's.
///
/// The answer left the store somewhere between the question and its arrival. As long as that explains the difference, the
/// clock is left alone, and two nodes on one machine never quarrel about fractions of a millisecond. Otherwise it is set to
/// what was shown when the answer came: a little behind the store's and never ahead, because nothing may be early.
fn correct(inner: &Inner, before: Timestamp, after: Timestamp, shown: Timestamp) {
    let is_explained = before <= shown && shown <= after;
    let by = if is_explained { SignedDuration::ZERO } else { shown.duration_since(after) };
    // Also if it is by nothing: from now on the store leads, whatever this machine's clock is set to.
    inner.clock.advance(by);
    let by = by.abs();
    if by > SignedDuration::from_millis(100) {
        tracing::warn!(?by, "this machine's clock differs from the database's; the database's is used");
    }
}

impl super::Peers {
    /// Notes which secrets other nodes have otherwise, and says so when that has changed.
    fn compare(&self, own: &Shared, others: &[String]) {
        let differing = own.differing(others);
        let mut known = super::lock(&self.disagrees);
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
        let mut own = self.own.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
