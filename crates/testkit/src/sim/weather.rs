//! What goes wrong between the engine and its store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::clock::Clock;
use punctual_core::store::StoreError;

use super::ledger::{FaultKind, Ledger};
use crate::clock::ManualClock;
use crate::executor::Group;
use crate::random::SeededRandom;
use crate::tap::Tap;
use crate::yields::yield_now;

/// Delays every call, before and after it, so that a crash can fall between a commit and its acknowledgement; and fails
/// some, if it is told to.
pub(super) struct Weather {
    /// The world's clock.
    pub clock: ManualClock,
    /// Where delays and failures come from.
    pub random: Arc<SeededRandom>,
    /// Where failures are written down.
    pub ledger: Ledger,
    /// Whether calls fail now.
    pub failing: Arc<AtomicBool>,
    /// Whose store it is.
    pub group: Group,
}

impl Weather {
    async fn dawdle(&self) {
        for _ in 0..self.random.below(3) {
            yield_now().await;
        }
        if self.random.one_in(4) {
            self.clock.pause(Duration::from_micros(self.random.between(100, 20_000).unsigned_abs())).await;
        }
    }

    fn fail(&self, when: &str) -> Result<(), StoreError> {
        self.ledger.fault(FaultKind::Store, Some(self.group));
        Err(StoreError::Unavailable(format!("simulated failure {when} the commit")))
    }
}

#[async_trait]
impl Tap for Weather {
    async fn before(&self, _call: &'static str) -> Result<(), StoreError> {
        self.dawdle().await;
        if self.failing.load(Ordering::Relaxed) && self.random.one_in(12) { self.fail("before") } else { Ok(()) }
    }

    async fn after(&self, _call: &'static str) -> Result<(), StoreError> {
        self.dawdle().await;
        if self.failing.load(Ordering::Relaxed) && self.random.one_in(40) { self.fail("after") } else { Ok(()) }
    }
}
