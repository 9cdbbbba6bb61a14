//! Connections that give their buffers back between requests.
//!
//! hyper keeps two buffers for as long as it serves a connection, and most connections of applications wait for their next request most of the
//! time. So a connection on which nothing was asked for a moment is taken back from hyper, and given to it again with the next bytes.
//!
//! One task looks at those that have just been answered. A request costs no timer, and a server that nobody asks does nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_core::clock::Clock;
use tokio::sync::Notify;

use super::{Connection, Connections, Doing};

/// A connection keeps its buffers at least this long after an answer, and at most twice as long.
const REST_AFTER: Duration = Duration::from_millis(100);

/// The connections that were answered a moment ago.
#[derive(Default)]
pub(super) struct Resting {
    awake: Mutex<Vec<Arc<Connection>>>,
    /// One has come.
    woke: Notify,
}

/// Whether a connection may rest soon.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waking {
    /// Whether it is among those that are looked at.
    is_listed: bool,
    /// Whether nothing was asked on it when it was last looked at, and since.
    pub(super) was_idle: bool,
}

impl Connections {
    /// Tells connections to rest on which nothing is asked. Runs for ever.
    pub(super) async fn let_rest(&self, clock: &dyn Clock) {
        loop {
            if self.awake().is_empty() {
                self.resting.woke.notified().await;
            }
            clock.pause(REST_AFTER).await;
            self.look_at_awake();
        }
    }

    fn look_at_awake(&self) {
        let mut looked_at = std::mem::take(&mut *self.awake());
        looked_at.retain(|connection| connection.stays_awake());
        self.awake().append(&mut looked_at);
    }

    fn awake(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.resting.awake.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// It was answered.
    pub(super) fn may_rest_soon(self: &Arc<Self>) {
        if std::mem::replace(&mut self.lock().waking.is_listed, true) {
            return;
        }
        let mut awake = self.all.awake();
        awake.push(Arc::clone(self));
        let is_first = awake.len() == 1;
        drop(awake);
        if is_first {
            self.all.resting.woke.notify_one();
        }
    }

    /// Whether it is to be looked at again. One on which nothing was asked is told to rest; one that is at work comes back with its answer.
    fn stays_awake(&self) -> bool {
        let mut state = self.lock();
        let is_idle = state.doing == Doing::Idle && !state.closing;
        let was_idle = std::mem::replace(&mut state.waking.was_idle, is_idle);
        state.waking.is_listed = is_idle && !was_idle;
        let (rests, stays) = (is_idle && was_idle, state.waking.is_listed);
        drop(state);
        if rests {
            self.rests.notify_one();
        }
        stays
    }

    /// Whether nothing has come since its last answer, which its reader has taken whole.
    pub(super) fn is_at_rest(&self) -> bool {
        let state = self.lock();
        state.doing == Doing::Idle && state.blocked.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_rests_when_nothing_was_asked_on_it_for_a_while() {
        let connections = Connections::new();
        let [idle, busy, working] = [(); 3].map(|()| connections.join(None));
        drop(idle.begin());
        drop(busy.begin());
        let request = working.begin();
        let n_awake = || connections.awake().len();
        assert_eq!(n_awake(), 2, "one that was never answered is not looked at");
        connections.look_at_awake();
        drop(busy.begin());
        assert_eq!(n_awake(), 2);
        connections.look_at_awake();
        assert_eq!(n_awake(), 1, "one was asked something meanwhile");
        connections.look_at_awake();
        assert_eq!(n_awake(), 0);
        drop(request);
        drop(idle.begin());
        assert_eq!(n_awake(), 2, "an answer brings it back");
        idle.end("it was told to");
        let _request = working.begin();
        connections.look_at_awake();
        assert_eq!(n_awake(), 0, "neither rests: one ends, and one is at work");
        assert!([&idle, &busy, &working].iter().all(|connection| Arc::strong_count(connection) <= 3));
    }
}
