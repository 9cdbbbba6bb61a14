//! Somebody who reads the journal as it is written: through one node after the other, cut off again and again, and always resuming
//! where they were.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::SignedDuration;
use punctual_engine::Engine;

use super::ledger::Ledger;
use crate::random::SeededRandom;

/// The reader, and where they read now.
pub(super) struct Reader {
    pub(super) random: SeededRandom,
    pub(super) ledger: Ledger,
    /// When they go to another node.
    pub(super) moves_at: SignedDuration,
    /// Which of their connections is the present one.
    connection: Arc<AtomicU64>,
}

impl Reader {
    pub(super) fn new(seed: u64, ledger: Ledger) -> Self {
        let random = SeededRandom::stream(seed, "reader");
        Self { random, ledger, moves_at: SignedDuration::ZERO, connection: Arc::default() }
    }

    /// Leaves the node where they are, and reads on through `engine`.
    pub(super) fn read_through(&mut self, engine: Engine) -> impl Future<Output = ()> + Send + 'static {
        let mine = self.connection.fetch_add(1, Ordering::Relaxed) + 1;
        let (ledger, present) = (self.ledger.clone(), self.connection.clone());
        async move {
            let after = ledger.read().entries.last().map_or(0, |entry| entry.position);
            let Ok(mut follower) = engine.follow(Some(after)).await else { return };
            while let Ok(page) = follower.next().await {
                // What comes through a connection that was cut off is not read.
                if present.load(Ordering::Relaxed) != mine {
                    return;
                }
                ledger.entries_read(&page.entries);
            }
        }
    }
}
