//! Placing what is committed, and learning how far the journal has come.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::node::Node;

/// The least time between two passes of this node: whatever is written meanwhile is placed by one.
const EVERY: Duration = Duration::from_millis(25);
/// How long to wait before a pass that failed is tried again.
const AGAIN_AFTER: Duration = Duration::from_millis(250);

/// Places what this node and others have written, whenever somebody wants to know of it.
pub(crate) async fn run(node: Node) {
    let journal = &node.journal;
    loop {
        tokio::select! { biased;
            () = node.stopped() => return,
            () = journal.look.notified() => {}
        }
        let must_place = journal.must_place.swap(false, Ordering::AcqRel);
        let is_followed = journal.is_followed.load(Ordering::Acquire);
        if !must_place && !is_followed && !journal.is_interesting() {
            continue;
        }
        let rest = match node.store.place().await {
            Ok(head) => {
                journal.reached(head);
                EVERY
            }
            Err(error) => {
                node.health.failed(&error);
                journal.look.notify_one();
                AGAIN_AFTER
            }
        };
        if !node.pause(rest).await {
            return;
        }
    }
}
