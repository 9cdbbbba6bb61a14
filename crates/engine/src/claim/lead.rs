//! How far ahead to claim.

use std::time::Duration;

/// The shortest lead: below it, claims would be too small to be cheap.
const LEAD_MIN: Duration = Duration::from_millis(40);
/// The time that a row of a claim takes, at the least.
const ROW_MIN: Duration = Duration::from_micros(20);
/// The longest lead: above it, too much would be in flight when a process dies.
pub(super) const LEAD_MAX: Duration = Duration::from_secs(2);

/// How far ahead to claim, from how long claims have taken lately.
pub(super) struct Lead {
    /// The slowest of recent claims, fading.
    claim: Duration,
    /// The time that one row adds.
    row: Duration,
}

impl Lead {
    pub(super) fn new() -> Self {
        Self { claim: Duration::from_millis(10), row: ROW_MIN }
    }

    pub(super) fn observe(&mut self, took: Duration, n_rows: usize) {
        // A clock that was set meanwhile says nothing about the store.
        let took = took.min(LEAD_MAX);
        self.claim = took.max(self.claim.mul_f64(0.98));
        if n_rows >= 64 {
            self.row = (self.row + took / n_rows as u32) / 2;
        }
    }

    /// How far ahead to claim when `n_rows` are due together, and all of `n_nodes` claim as many at the same time: one
    /// store serves them all, so a row takes each of them as long as it takes the store to serve everybody's.
    pub(super) fn lead(&self, n_rows: usize, n_nodes: usize) -> Duration {
        let base = (self.claim * 3).max(LEAD_MIN);
        let row = self.row.max(ROW_MIN.saturating_mul(n_nodes as u32));
        (base + row.saturating_mul(n_rows as u32).saturating_mul(2)).min(LEAD_MAX)
    }
}
