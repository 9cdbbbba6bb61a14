//! Removes old history, and old entries of the journal.

use std::time::Duration;

use punctual_core::model::lateness::KEPT_FOR;
use punctual_core::store::StoreError;

use crate::instant::minus;
use crate::node::Node;

/// How often old history is looked for.
const EVERY: Duration = Duration::from_secs(3600);
/// The most occurrences removed in one transaction, so that nobody waits long for it.
const BATCH_MAX: usize = 1000;
/// The most writes of the journal removed in one transaction.
const WRITES_MAX: usize = 500;

pub(crate) async fn run(node: Node) {
    let (history, journal) = (node.settings.keep_history_for, node.settings.keep_journal_for);
    while node.pause(EVERY).await {
        if let Err(error) = node.store.prune_lateness(minus(node.now(), KEPT_FOR)).await {
            node.health.failed(&error);
        }
        if let Some(keep_for) = history {
            let before = minus(node.now(), keep_for);
            while goes_on(&node, BATCH_MAX, node.store.prune(before, BATCH_MAX).await) {}
            while goes_on(&node, BATCH_MAX, node.store.prune_watches(before, BATCH_MAX).await) {}
        }
        if let Some(keep_for) = journal {
            let before = minus(node.now(), keep_for);
            while goes_on(&node, WRITES_MAX, node.store.prune_journal(before, WRITES_MAX).await) {}
        }
    }
}

/// Whether there may be more to remove after a batch of at most `n_max`.
fn goes_on(node: &Node, n_max: usize, pruned: Result<usize, StoreError>) -> bool {
    match pruned {
        Ok(n_pruned) => n_pruned == n_max && !node.stopping(),
        Err(error) => {
            node.health.failed(&error);
            false
        }
    }
}
