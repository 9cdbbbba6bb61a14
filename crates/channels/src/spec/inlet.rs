//! Stands where the engine would: writes down what a channel hands over, and reacts as it was told.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use punctual_core::channel::receive::{Inbound, Inlet, NotTaken, Reaction};
use punctual_testkit::wait::until;

/// An inlet that a test reads.
#[derive(Default)]
pub(crate) struct FakeInlet {
    is_connected: AtomicBool,
    taken: Mutex<Vec<Inbound>>,
    reactions: Mutex<VecDeque<Result<Reaction, NotTaken>>>,
}

impl FakeInlet {
    /// Sets its next reaction. After the last one that was set it reacts with nothing.
    pub(crate) fn then(&self, reaction: Result<Reaction, NotTaken>) -> &Self {
        self.reactions.lock().unwrap().push_back(reaction);
        self
    }

    /// Takes what has come so far.
    pub(crate) fn take_all(&self) -> Vec<Inbound> {
        std::mem::take(&mut *self.taken.lock().unwrap())
    }

    /// Waits for `n` and takes them.
    pub(crate) async fn wait_for(&self, n: usize) -> Vec<Inbound> {
        until("enough has come", async || self.taken.lock().unwrap().len() >= n).await;
        self.take_all()
    }

    /// Waits until the channel has connected.
    pub(crate) async fn wait_connected(&self) {
        until("the channel has connected", async || self.is_connected.load(Ordering::Relaxed)).await;
    }
}

#[async_trait]
impl Inlet for FakeInlet {
    fn connected(&self) {
        self.is_connected.store(true, Ordering::Relaxed);
    }

    async fn take(&self, inbound: Inbound) -> Result<Reaction, NotTaken> {
        self.taken.lock().unwrap().push(inbound);
        self.reactions.lock().unwrap().pop_front().unwrap_or(Ok(Reaction::Nothing))
    }
}
