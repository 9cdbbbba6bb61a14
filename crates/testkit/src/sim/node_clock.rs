//! A machine's own clock, which may be wrong until another clock leads it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::{BoxFuture, Clock};
use tokio::sync::Notify;

use crate::clock::ManualClock;

/// The clock of one simulated process. It runs as fast as the world's, and shows something else.
#[derive(Clone)]
pub(super) struct NodeClock(Arc<Hands>);

struct Hands {
    world: ManualClock,
    /// What it showed when the world began.
    began_at: Mutex<Timestamp>,
    is_set: Notify,
}

impl NodeClock {
    /// A clock that is ahead of the world's by `by`.
    pub(super) fn ahead(world: &ManualClock, by: SignedDuration) -> Self {
        let began_at = Mutex::new(world.now() + by - world.elapsed());
        Self(Arc::new(Hands { world: world.clone(), began_at, is_set: Notify::new() }))
    }
}

impl Clock for NodeClock {
    fn now(&self) -> Timestamp {
        *self.0.began_at.lock().unwrap_or_else(PoisonError::into_inner) + self.0.world.elapsed()
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<()> {
        let clock = self.clone();
        Box::pin(async move {
            loop {
                let is_set = clock.0.is_set.notified();
                tokio::pin!(is_set);
                is_set.as_mut().enable();
                let left = at.duration_since(clock.now());
                if left <= SignedDuration::ZERO {
                    return;
                }
                tokio::select! { biased;
                    () = clock.0.world.pause(left.unsigned_abs()) => {}
                    () = is_set => {}
                }
            }
        })
    }

    fn pause(&self, span: Duration) -> BoxFuture<()> {
        self.0.world.pause(span)
    }

    fn run_for(&self) -> Duration {
        self.0.world.run_for()
    }

    fn advance(&self, by: SignedDuration) {
        *self.0.began_at.lock().unwrap_or_else(PoisonError::into_inner) += by;
        self.0.is_set.notify_waiters();
    }
}
