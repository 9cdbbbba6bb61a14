//! Faults between an engine and its store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use punctual_core::clock::Clock;
use punctual_core::id::OccurrenceId;
use punctual_core::store::{Ears, Heard, Store, StoreError};

use super::ledger::{FaultKind, Ledger};
use crate::clock::ManualClock;
use crate::executor::Group;
use crate::random::SeededRandom;
use crate::tap::Tap;
use crate::yields::yield_now;

/// Delays every call, before and after it, so that a crash can fall between a commit and its acknowledgement; and fails
/// some, if it is told to.
#[derive(Clone)]
pub(super) struct Weather {
    /// The world's clock.
    pub clock: ManualClock,
    /// Where delays and failures come from.
    pub random: Arc<SeededRandom>,
    /// Where failures are written down.
    pub ledger: Ledger,
    /// Whether calls fail now.
    pub failing: Arc<AtomicBool>,
    /// Whether notifications are lost now.
    pub deaf: Arc<AtomicBool>,
    /// Whether this process cannot reach the store now.
    pub cut_off: Arc<AtomicBool>,
    /// The longest delay, in microseconds.
    pub slowest: i64,
    /// Whose store it is.
    pub group: Group,
}

impl Weather {
    async fn dawdle(&self) {
        for _ in 0..self.random.below(3) {
            yield_now().await;
        }
        if self.random.one_in(4) {
            self.clock.pause(Duration::from_micros(self.random.between(100, self.slowest).unsigned_abs())).await;
        }
    }

    fn fail(&self, when: &str) -> Result<(), StoreError> {
        self.ledger.fault(FaultKind::Store, Some(self.group));
        Err(StoreError::Unavailable(format!("simulated failure {when} the commit")))
    }

    fn fails(&self, seldom: u64) -> bool {
        self.cut_off.load(Ordering::Relaxed) || (self.failing.load(Ordering::Relaxed) && self.random.one_in(seldom))
    }
}

#[async_trait]
impl Tap for Weather {
    async fn before(&self, _call: &'static str) -> Result<(), StoreError> {
        self.dawdle().await;
        if self.fails(12) { self.fail("before") } else { Ok(()) }
    }

    async fn after(&self, _call: &'static str) -> Result<(), StoreError> {
        self.dawdle().await;
        if self.fails(40) { self.fail("after") } else { Ok(()) }
    }

    async fn write_message_id(
        &self,
        store: &Arc<dyn Store>,
        occurrence: OccurrenceId,
        lease: u64,
        attempt: u32,
        message_id: &str,
    ) -> Result<bool, StoreError> {
        let is_written = store.write_message_id(occurrence, lease, attempt, message_id).await?;
        if is_written {
            self.ledger.id_written(occurrence, attempt);
        }
        Ok(is_written)
    }

    async fn listen(&self, store: &Arc<dyn Store>) -> Result<Option<Box<dyn Ears>>, StoreError> {
        let ears = store.listen().await?;
        Ok(ears.map(|ears| Box::new(Far { ears, weather: self.clone(), next: None }) as Box<dyn Ears>))
    }
}

/// Ears that are far away: notifications arrive later, or never.
struct Far {
    ears: Box<dyn Ears>,
    weather: Weather,
    /// Notifications on their way. A caller that stops waiting does not lose them.
    next: Option<Heard>,
}

#[async_trait]
impl Ears for Far {
    async fn hear(&mut self) -> Result<Heard, StoreError> {
        loop {
            if self.next.is_none() {
                self.next = Some(self.ears.hear().await?);
                let Weather { cut_off, deaf, random, .. } = &self.weather;
                if cut_off.load(Ordering::Relaxed) || (deaf.load(Ordering::Relaxed) && random.one_in(4)) {
                    self.next = None;
                    continue;
                }
            }
            self.weather.dawdle().await;
            if let Some(heard) = self.next.take() {
                return Ok(heard);
            }
        }
    }
}
