//! A connection that is made when it is needed, and made again when it has ended; or whatever else is made by asking a platform.
//!
//! A link does nothing between sends. Sends that need a connection at the same time share one attempt, and its failure: a thousand
//! messages for a broker that is down cost one attempt, not a thousand. A later send tries again. There is no pause between attempts, because each
//! belongs to a message that is due now and would be late for nothing; how often messages come is the engine's affair.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_core::channel::SendError;

/// A connection of type `T`, if there is one.
pub(crate) struct Link<T> {
    state: Mutex<State<T>>,
    /// Taken by the one send that connects.
    turn: tokio::sync::Mutex<()>,
}

struct State<T> {
    live: Option<Arc<T>>,
    n_failed: u64,
    failure: Option<SendError>,
}

impl<T> std::fmt::Debug for Link<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl<T> Link<T> {
    pub(crate) fn new() -> Self {
        let state = State { live: None, n_failed: 0, failure: None };
        Self { state: Mutex::new(state), turn: tokio::sync::Mutex::new(()) }
    }

    /// The connection there is, if it is up, else a new one.
    pub(crate) async fn get(
        &self,
        is_up: impl Fn(&T) -> bool,
        connect: impl Future<Output = Result<T, SendError>>,
    ) -> Result<Arc<T>, SendError> {
        let n_failed = match self.live(&is_up) {
            Ok(live) => return Ok(live),
            Err(n_failed) => n_failed,
        };
        let _turn = self.turn.lock().await;
        if let Ok(live) = self.live(&is_up) {
            return Ok(live);
        }
        {
            let state = self.lock();
            if state.n_failed != n_failed
                && let Some(failure) = &state.failure
            {
                return Err(failure.clone());
            }
        }
        let made = connect.await;
        let mut state = self.lock();
        match made {
            Ok(made) => {
                let live = Arc::new(made);
                state.live = Some(Arc::clone(&live));
                Ok(live)
            }
            Err(failure) => {
                state.n_failed += 1;
                state.failure = Some(failure.clone());
                Err(failure)
            }
        }
    }

    /// Lets go of `ended`, so that the next send that needs a connection makes a new one. Returns whether it was the one in use.
    pub(crate) fn forget(&self, ended: &Arc<T>) -> bool {
        let mut state = self.lock();
        let is_it = state.live.as_ref().is_some_and(|live| Arc::ptr_eq(live, ended));
        if is_it {
            state.live = None;
        }
        is_it
    }

    /// The connection, or how many attempts have failed so far.
    fn live(&self, is_up: impl Fn(&T) -> bool) -> Result<Arc<T>, u64> {
        let state = self.lock();
        state.live.as_ref().filter(|live| is_up(live)).map(Arc::clone).ok_or(state.n_failed)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing under this lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn sends_that_wait_share_an_attempt_and_the_next_tries_again() {
        let link = Link::<u32>::new();
        let n_attempts = AtomicUsize::new(0);
        let failing = || async {
            n_attempts.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            Err(SendError::Unavailable("down".into()))
        };
        let (a, b, c) =
            tokio::join!(link.get(|_| true, failing()), link.get(|_| true, failing()), link.get(|_| true, failing()));
        for failed in [a, b, c] {
            assert_eq!(failed, Err(SendError::Unavailable("down".into())));
        }
        assert_eq!(n_attempts.load(Ordering::Relaxed), 1);
        assert_eq!(*link.get(|_| true, async { Ok(7) }).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_connection_is_kept_while_it_is_up() {
        let link = Link::<u32>::new();
        let first = link.get(|_| true, async { Ok(1) }).await.unwrap();
        assert_eq!(*link.get(|_| true, async { Ok(2) }).await.unwrap(), 1);
        assert_eq!(*link.get(|live| *live != 1, async { Ok(3) }).await.unwrap(), 3);
        assert!(!link.forget(&first), "another is in use");
        let third = link.get(|_| true, async { Ok(4) }).await.unwrap();
        assert!(link.forget(&third));
        assert_eq!(*link.get(|_| true, async { Ok(5) }).await.unwrap(), 5);
    }

    #[tokio::test]
    async fn an_attempt_that_is_abandoned_passes_on() {
        let link = Link::<u32>::new();
        {
            let attempt = link.get(|_| true, std::future::pending());
            let mut attempt = std::pin::pin!(attempt);
            let polled = std::future::poll_fn(|context| std::task::Poll::Ready(attempt.as_mut().poll(context))).await;
            assert!(polled.is_pending());
        }
        assert_eq!(*link.get(|_| true, async { Ok(1) }).await.unwrap(), 1);
    }
}
