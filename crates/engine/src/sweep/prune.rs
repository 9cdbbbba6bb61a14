//! Removes old history.

use std::sync::Arc;
use std::time::Duration;

use crate::claim::minus;
use crate::command::Inner;

/// How often old history is looked for.
const EVERY: Duration = Duration::from_secs(3600);
/// The most occurrences removed in one transaction, so that nobody waits long for it.
const BATCH_MAX: usize = 1000;

pub(crate) async fn run(inner: Arc<Inner>) {
    let Some(keep_for) = inner.settings.keep_history_for else { return };
    while !inner.stopping() {
        tokio::select! { biased;
            () = inner.stopped() => return,
            () = inner.clock.pause(EVERY) => {}
        }
        let before = minus(inner.clock.now(), keep_for);
        loop {
            match inner.store.prune(before, BATCH_MAX).await {
                Ok(n_pruned) if n_pruned == BATCH_MAX && !inner.stopping() => {}
                Ok(_) => break,
                Err(error) => {
                    inner.store_failed(&error);
                    break;
                }
            }
        }
    }
}
