//! Looks for what is overdue although nothing should be.
//!
//! A healthy engine finds nothing here, so every find is counted and said aloud. It is the last net under the timer: it reads the
//! store afresh and forgets what the timer believed.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::shard::Shards;
use punctual_core::store::{StoreError, Window};

use crate::claim::minus;
use crate::command::Inner;

pub(crate) async fn run(inner: Arc<Inner>) {
    while !inner.stopping() {
        tokio::select! { biased;
            () = inner.stopped() => return,
            () = inner.clock.pause(inner.settings.fallback_interval) => {}
        }
        if let Err(error) = run_once(&inner).await {
            inner.store_failed(&error);
        }
    }
}

async fn run_once(inner: &Inner) -> Result<(), StoreError> {
    let known = inner.timer.has_backlog() || inner.flights.len() > 0;
    let grace_ends = minus(inner.clock.now(), inner.settings.fallback_grace);
    let overdue = Window { from: grace_ends, until: Timestamp::MAX, shards: Shards::ALL, limit: 0 };
    let upcoming = inner.store.upcoming(overdue).await?;
    if let Some(since) = upcoming.overdue_since
        && !known
    {
        inner.metrics.fallback_found.inc();
        tracing::warn!(%since, "the safety sweep found something overdue that the timer had missed");
        inner.timer.find();
    }
    inner.timer.reset();
    inner.store.forget_answered(inner.clock.now()).await
}
