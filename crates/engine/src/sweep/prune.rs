//! Removes old history.

use std::time::Duration;

use crate::instant::minus;
use crate::node::Node;

/// How often old history is looked for.
const EVERY: Duration = Duration::from_secs(3600);
/// The most occurrences removed in one transaction, so that nobody waits long for it.
const BATCH_MAX: usize = 1000;

pub(crate) async fn run(node: Node) {
    let Some(keep_for) = node.settings.keep_history_for else { return };
    while node.pause(EVERY).await {
        let before = minus(node.now(), keep_for);
        loop {
            match node.store.prune(before, BATCH_MAX).await {
                Ok(n_pruned) if n_pruned == BATCH_MAX && !node.stopping() => {}
                Ok(_) => break,
                Err(error) => {
                    node.health.failed(&error);
                    break;
                }
            }
        }
    }
}
