//! Counts how late the sends of this node are, and writes that down every few seconds while there is something new.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::model::lateness::{Stretch, stretch_of};
use punctual_core::store::StoreError;
use tokio::sync::Notify;

use crate::dispatch::Dispatcher;
use crate::node::{Node, Phase, lock};

/// How long after a send the counts are written. Everything that is sent meanwhile is written with it.
const WRITE_AFTER: Duration = Duration::from_secs(10);
/// How many stretches stay in memory: the one that goes on, and those before it that the store has not taken yet.
const KEPT_MAX: usize = 24;

/// The counts of this run of the node.
pub(crate) struct Lateness {
    node: String,
    since: Timestamp,
    kept: Mutex<Kept>,
    /// Something was counted since the last write.
    counted: Notify,
}

#[derive(Default)]
struct Kept {
    stretches: BTreeMap<Timestamp, Stretch>,
    /// Those that the store does not have as they are.
    unwritten: BTreeSet<Timestamp>,
}

impl Lateness {
    pub(crate) fn new(node: String, since: Timestamp) -> Self {
        Self { node, since, kept: Mutex::default(), counted: Notify::new() }
    }

    /// When this run of the node began.
    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    /// A send has begun so late.
    pub(crate) fn begun(&self, now: Timestamp, late: Duration) {
        self.count(now, |stretch| stretch.late.add(late));
    }

    /// An attempt has failed.
    pub(crate) fn failed(&self, now: Timestamp) {
        self.count(now, |stretch| stretch.failed += 1);
    }

    /// A run was given up.
    pub(crate) fn given_up(&self, now: Timestamp) {
        self.count(now, |stretch| stretch.given_up += 1);
    }

    fn count(&self, now: Timestamp, count: impl FnOnce(&mut Stretch)) {
        let at = stretch_of(now);
        let mut kept = lock(&self.kept);
        let Kept { stretches, unwritten } = &mut *kept;
        count(stretches.entry(at).or_insert_with(|| Stretch::new(at, self.node.clone(), self.since)));
        if unwritten.insert(at) {
            // A store that takes nothing for hours costs the oldest counts, and no memory.
            if stretches.len() > KEPT_MAX
                && let Some((gone, _)) = stretches.pop_first()
            {
                unwritten.remove(&gone);
            }
            drop(kept);
            self.counted.notify_one();
        }
    }

    /// What this run of the node has in memory, in order.
    fn stretches(&self) -> Vec<Stretch> {
        lock(&self.kept).stretches.values().cloned().collect()
    }

    /// Puts what this run of the node knows in the place of what it has written: that is newer.
    pub(crate) fn with_own(&self, mut written: Vec<Stretch>, from: Timestamp, to: Timestamp) -> Vec<Stretch> {
        let own: Vec<Stretch> =
            self.stretches().into_iter().filter(|stretch| from <= stretch.at && stretch.at < to).collect();
        let is_own = |stretch: &Stretch| {
            stretch.node == self.node && stretch.since == self.since && own.iter().any(|own| own.at == stretch.at)
        };
        written.retain(|stretch| !is_own(stretch));
        written.extend(own);
        written.sort_by_key(|stretch| stretch.at);
        written
    }

    /// Writes what the store does not have, with how many messages wait at this moment.
    async fn write(&self, node: &Node, waiting: u64) -> Result<(), StoreError> {
        let now = stretch_of(node.now());
        let unwritten: Vec<Stretch> = {
            let mut kept = lock(&self.kept);
            let Kept { stretches, unwritten } = &mut *kept;
            if let Some(current) = stretches.get_mut(&now) {
                current.waiting = current.waiting.max(waiting);
            }
            std::mem::take(unwritten).iter().filter_map(|at| stretches.get(at)).cloned().collect()
        };
        if unwritten.is_empty() {
            return Ok(());
        }
        let tried: Vec<Timestamp> = unwritten.iter().map(|stretch| stretch.at).collect();
        let written = node.store.put_lateness(unwritten).await;
        let mut kept = lock(&self.kept);
        match written {
            // What is over and written need not stay.
            Ok(()) => {
                let Kept { stretches, unwritten } = &mut *kept;
                stretches.retain(|at, _| *at >= now || unwritten.contains(at));
            }
            Err(_) => kept.unwritten.extend(tried),
        }
        written
    }
}

/// Writes the counts until the engine stops, and at last once more.
pub(crate) async fn run(node: Node, dispatcher: Arc<Dispatcher>) {
    let lateness = Arc::clone(&node.lateness);
    loop {
        tokio::select! { biased;
            () = node.stopped() => break,
            () = lateness.counted.notified() => {}
        }
        if !node.pause(WRITE_AFTER).await {
            break;
        }
        // A store that cannot be used is the business of others; the counts wait, and the next send wakes this task again.
        if let Err(error) = lateness.write(&node, dispatcher.n_waiting()).await {
            tracing::debug!(%error, "how late sends were could not be written yet");
            lateness.counted.notify_one();
        }
    }
    node.stop.reached(Phase::Landed).await;
    if let Err(error) = lateness.write(&node, dispatcher.n_waiting()).await {
        tracing::debug!(%error, "how late the last sends were could not be written");
    }
}
