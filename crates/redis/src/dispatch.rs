//! Hands expired keys to the handlers of their prefixes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use punctual_core::clock::Clock;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::health::Health;

/// The most that wait for one handler; more is dropped and counted.
const WAITING_MAX: usize = 65_536;
/// How many calls of one handler run at once.
const CALLS_MAX: usize = 64;
/// A call that takes longer is given up.
const CALL_WITHIN: Duration = Duration::from_secs(30);

/// A handler that wants to know when timers of a prefix ring.
#[async_trait]
pub trait Expired: Send + Sync + 'static {
    /// The prefix: timers are the keys `PREFIX:ID`.
    fn prefix(&self) -> &str;

    /// The timer `id` has rung. It may be called twice for one timer, and, where Redis or the connection failed, not at all.
    async fn expired(&self, id: &str);

    /// Redis may have lost keys that were set: set them again.
    async fn forgotten(&self) {}
}

/// One handler and what waits for it. Each has a task of its own, so that none waits for another.
pub(super) struct Handler {
    prefix: String,
    calls: mpsc::Sender<Call>,
    health: Arc<Health>,
}

enum Call {
    Expired(String),
    Forgotten,
}

impl Handler {
    pub(super) fn start(
        handler: Arc<dyn Expired>,
        clock: &Arc<dyn Clock>,
        health: &Arc<Health>,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let prefix = handler.prefix().to_owned();
        tasks.spawn(work(handler, receiver, clock.clone()));
        Self { prefix, calls: sender, health: health.clone() }
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Passes on that `id` has rung.
    pub(super) fn hand(&self, id: &str) {
        self.call(Call::Expired(id.to_owned()));
    }

    /// Tells every handler that its keys may be lost.
    pub(super) fn forgotten(&self) {
        self.call(Call::Forgotten);
    }

    fn call(&self, call: Call) {
        if self.calls.try_send(call).is_err() {
            self.health.drop_some(1);
        }
    }
}

async fn work(handler: Arc<dyn Expired>, mut calls: mpsc::Receiver<Call>, clock: Arc<dyn Clock>) {
    let places = Arc::new(Semaphore::new(CALLS_MAX));
    while let Some(call) = calls.recv().await {
        // It is never closed.
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let mut called = Box::pin(make(handler.clone(), call, clock.clone()));
        // Many handlers only pass it on and are done at once; those need no task.
        let at_once = std::future::poll_fn(|context| Poll::Ready(called.as_mut().poll(context).is_ready())).await;
        if !at_once {
            tokio::spawn(async move {
                called.await;
                drop(place);
            });
        }
    }
}

async fn make(handler: Arc<dyn Expired>, call: Call, clock: Arc<dyn Clock>) {
    let prefix = handler.prefix();
    let calling = async {
        match &call {
            Call::Expired(id) => handler.expired(id).await,
            Call::Forgotten => handler.forgotten().await,
        }
    };
    tokio::select! { biased;
        done = AssertUnwindSafe(calling).catch_unwind() => if done.is_err() {
            tracing::error!(%prefix, "the handler of a timer panicked");
        },
        () = clock.pause(CALL_WITHIN) => {
            tracing::error!(%prefix, "the handler of a timer took over {} s and was given up", CALL_WITHIN.as_secs());
        }
    }
}
