//! Reading new entries once, for all followers of this node.

use std::sync::Arc;
use std::time::Duration;

use punctual_core::store::{JournalQuery, Start};
use tokio::sync::broadcast;

use super::Page;
use crate::node::{Node, lock};

/// How many entries are read at once.
pub(super) const PAGE: usize = 500;
/// How many pages wait for a follower. One that falls behind further is too slow.
const PAGES_MAX: usize = 256;
/// How long to wait before a page that could not be read is tried again.
const AGAIN_AFTER: Duration = Duration::from_millis(250);

/// The end of the journal as followers hear it.
pub(super) struct Tail {
    /// Every entry up to here has been told, or was there before the first follower.
    pub(super) read_to: i64,
    pages: broadcast::Sender<Arc<Page>>,
}

impl Tail {
    pub(super) fn new() -> Self {
        Self { read_to: 0, pages: broadcast::channel(PAGES_MAX).0 }
    }

    pub(super) fn n_followers(&self) -> usize {
        self.pages.receiver_count()
    }

    /// Another follower, and the position after which it hears everything. `head` is the end of the journal at this moment, or a little
    /// before.
    pub(super) fn join(&mut self, head: i64) -> (broadcast::Receiver<Arc<Page>>, i64) {
        if self.n_followers() == 0 {
            // The tail tells no entries while it has no follower.
            self.read_to = self.read_to.max(head);
        }
        (self.pages.subscribe(), self.read_to)
    }

    /// Tells a page that begins where the last one ended.
    fn tell(&mut self, page: Page) {
        self.read_to = page.reached;
        // Without a follower the page is dropped.
        let _ = self.pages.send(Arc::new(page));
    }
}

/// Tells followers of new entries for as long as the engine runs.
pub(crate) async fn run(node: Node) {
    let mut watch = node.journal.head.subscribe();
    loop {
        tokio::select! { biased;
            () = node.stopped() => return,
            changed = watch.changed() => if changed.is_err() { return },
        }
        let head = *watch.borrow_and_update();
        loop {
            let (read_to, n_followers) = {
                let tail = lock(&node.journal.tail);
                (tail.read_to, tail.n_followers())
            };
            if n_followers == 0 || read_to >= head {
                break;
            }
            match node.store.journal(JournalQuery::new(Start::After(read_to), PAGE)).await {
                Ok(page) if page.reached > read_to => {
                    lock(&node.journal.tail).tell(Page { entries: page.entries, reached: page.reached });
                }
                // Another connection has not seen the pass yet.
                Ok(_) => break,
                Err(error) => {
                    node.health.failed(&error);
                    if !node.pause(AGAIN_AFTER).await {
                        return;
                    }
                }
            }
        }
    }
}
