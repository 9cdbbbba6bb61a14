//! Saying that this node lives, and learning who else does.
//!
//! One statement a second. It also brings the store's clock, by which this node sets its own, and the first moment of all,
//! which tells whether something is late and how far there is nothing to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::{Clock, Random};
use punctual_core::id::hex;
use punctual_core::shard::Shards;
use punctual_core::store::{Beat, Follows, Pulse, Shared, StoreError};

use super::{Peers, known};
use crate::dispatch::Dispatcher;
use crate::inbound::hold::Holds;
use crate::instant::plus;
use crate::node::{Node, lock};
use crate::settings::Settings;
use crate::timer::Timer;

/// How often this node says that it lives.
const EVERY: Duration = Duration::from_secs(1);
/// A difference of the clocks that is known to be less than this is too small to matter.
const NARROW: SignedDuration = SignedDuration::from_millis(1);
/// How often the store is asked at first, until it is known how much the clocks differ.
const FIRST_BEATS_MAX: usize = 5;
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
    /// The last beat said that somebody reads the journal here.
    pub(crate) has_told_follows: AtomicBool,
}

impl Heartbeat {
    /// The first beats, before anything else is done: from then on the clock is the store's.
    pub(crate) async fn begin(&self) -> Result<(), StoreError> {
        // This node does not listen yet.
        let Some(mut answer) = self.ask(None).await? else { return Ok(()) };
        // The first answer is slow, because a connection is opened for it, and behind a slow answer the clock may be ahead by as much.
        for _ in 1..FIRST_BEATS_MAX {
            if answer.ahead.is_narrow() {
                break;
            }
            let Some(next) = self.ask(None).await? else { break };
            answer = Answer { ahead: answer.ahead.and(next.ahead), ..next };
        }
        let by = if answer.ahead.is_narrow() { answer.ahead.unexplained() } else { answer.ahead.least };
        self.heed(answer, by);
        Ok(())
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
                () = node.journal.begun() => {}
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
        let echo = hex(&self.random.ten());
        self.peers.expect_echo(echo.clone());
        echo
    }

    async fn once(&self, echo: Option<String>) -> Result<(), StoreError> {
        if let Some(answer) = self.ask(echo).await? {
            let by = answer.ahead.unexplained();
            self.heed(answer, by);
        }
        Ok(())
    }

    /// Tells the store that this node lives. None where no other node can be.
    async fn ask(&self, echo: Option<String>) -> Result<Option<Answer>, StoreError> {
        let Self { node, peers, timer, .. } = self;
        let (before, begun_at) = (node.now(), node.clock.run_for());
        let until = plus(before, TIMER_AHEAD);
        let reads_on = peers.is_shared() && timer.knows_until().is_some_and(|at| at < plus(before, TIMER_AHEAD_MIN));
        if reads_on {
            // Opened before the store is asked, so that a run that is planned meanwhile is kept.
            timer.extend(until);
        }
        let Settings { node: name, shared, .. } = &*node.settings;
        let is_followed = node.journal.is_interesting();
        let follows = match (self.has_told_follows.load(Ordering::Acquire), is_followed) {
            (_, false) => Follows::No,
            (false, true) => Follows::Begins,
            (true, true) => Follows::Yes,
        };
        let about = known::about(node, peers, &self.dispatcher);
        let beat = Beat { node: name.clone(), echo, shared: shared.to_string(), follows, about };
        let pulse = node.store.beat(beat).await.inspect_err(|_| {
            if reads_on {
                timer.reset();
            }
        })?;
        let after = node.now();
        Ok(pulse.map(|pulse| {
            let ahead = Ahead::seen(before, after, pulse.now);
            Answer { pulse, ahead, begun_at, until, reads_on, is_followed }
        }))
    }

    /// Sets the clock, and does what the answer asks for.
    fn heed(&self, answer: Answer, by: SignedDuration) {
        let Self { node, peers, timer, .. } = self;
        let Answer { pulse, begun_at, until, reads_on, is_followed, .. } = answer;
        correct(&*node.clock, by);
        let micros = i64::try_from(by.as_micros()).unwrap_or(0);
        peers.clock_offset.fetch_add(micros, Ordering::Relaxed);
        let now = node.now();
        node.health.answered();
        self.has_told_follows.store(is_followed, Ordering::Release);
        self.holds.pulse(&pulse.nodes, begun_at);
        let is_new = peers.heed(&pulse);
        // The node with the first shard places entries for all nodes.
        node.journal.heed(&pulse, pulse.shards.contains(0));
        peers.compare(&node.settings.shared, &pulse.shared);
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
    }
}

/// What the store answered to a beat.
struct Answer {
    pulse: Pulse,
    ahead: Ahead,
    /// When the store was asked, as long as the clock had run then.
    begun_at: Duration,
    /// How far ahead the timer is to know everything.
    until: Timestamp,
    /// The timer reads on: it knew too little.
    reads_on: bool,
    /// Somebody on this node follows the journal, and the beat said so.
    is_followed: bool,
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

/// How much the store's clock is ahead of this node's. The answer left the store somewhere between the question and its arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ahead {
    least: SignedDuration,
    most: SignedDuration,
}

impl Ahead {
    /// The store's clock showed `shown` between `before` and `after`.
    fn seen(before: Timestamp, after: Timestamp, shown: Timestamp) -> Self {
        Self { least: shown.duration_since(after), most: shown.duration_since(before) }
    }

    /// What both allow; the later one where they contradict each other, because a clock was set.
    fn and(self, later: Self) -> Self {
        let both = Self { least: self.least.max(later.least), most: self.most.min(later.most) };
        if both.least <= both.most { both } else { later }
    }

    fn is_narrow(self) -> bool {
        self.most - self.least < NARROW
    }

    /// By how much the clock must be set. As long as the time that the answer took explains the difference, the clock is left
    /// alone, and two nodes on one machine never quarrel about fractions of a millisecond. Otherwise it is set to the instant that the
    /// store showed when the answer came: a little behind the store's and never ahead, because nothing may be early.
    fn unexplained(self) -> SignedDuration {
        let is_explained = self.least <= SignedDuration::ZERO && SignedDuration::ZERO <= self.most;
        if is_explained { SignedDuration::ZERO } else { self.least }
    }
}

impl Peers {
    /// Notes which settings other nodes have otherwise, and says so when that has changed.
    fn compare(&self, own: &Shared, others: &[String]) {
        let differing = own.differing(others);
        let mut known = lock(&self.disagrees);
        if *known == differing {
            return;
        }
        if differing.is_empty() {
            tracing::info!("the nodes have the same settings again");
        }
        let (receive, secrets): (Vec<String>, Vec<String>) =
            differing.iter().cloned().partition(|name| Shared::is_receive(name));
        if !secrets.is_empty() {
            tracing::warn!(
                settings = secrets.join(", "),
                "this node and another one use different secrets: what one signs the other does not know; \
                 give all nodes the same settings, or none"
            );
        }
        if !receive.is_empty() {
            tracing::warn!(
                settings = receive.join(", "),
                "this node and another one take the answers of a channel in different ways, and its platform knows one of them; \
                 give all nodes the same settings"
            );
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

    fn seen(before: i64, after: i64, shown: i64) -> Ahead {
        let at = |micros| Timestamp::from_microsecond(micros).unwrap();
        Ahead::seen(at(before), at(after), at(shown))
    }

    #[test]
    fn a_clock_is_left_alone_if_the_time_of_the_answer_explains_the_difference() {
        for (before, after, shown, expect) in
            [(0, 900, 500, 0), (0, 900, 5_000, 4_100), (100_000, 100_900, 50_000, -50_900), (0, 40_000, 30_000, 0)]
        {
            let by = seen(before, after, shown).unexplained();
            assert_eq!(by.as_micros(), expect, "{before} to {after}, shown {shown}");
        }
    }

    #[test]
    fn several_answers_tell_more_than_the_quickest_of_them() {
        let micros = SignedDuration::from_micros;
        // The clock is right, and the first answer took long to come.
        let slow = seen(0, 40_000, 5_000);
        assert!(!slow.is_narrow());
        let both = slow.and(seen(50_000, 50_900, 50_300));
        assert_eq!((both.least, both.most), (micros(-600), micros(300)));
        assert!(both.is_narrow());
        assert_eq!(both.unexplained(), SignedDuration::ZERO);
        // The clock is ahead by 10 ms.
        let both = seen(10_000, 50_000, 30_000).and(seen(60_000, 60_900, 50_300));
        assert_eq!(both.unexplained(), micros(-10_600));
        // The clock was set between the two.
        let later = seen(60_000, 60_900, 50_300);
        assert_eq!(seen(0, 900, 500).and(later), later);
    }
}
