//! Memory for the bodies of requests.
//!
//! All bodies together have a budget, and a body takes its part as it comes in, so an announced length costs nothing. The first megabyte of
//! each comes out of another purse than the rest: large bodies can use up what large bodies have, and everything else goes on. When there
//! is no room, a sender that has stopped sending loses its part; if that frees nothing within a moment, the newcomer is asked to
//! come back later.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::http::StatusCode;
use punctual_core::clock::{BoxFuture, Clock};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;

/// The budget is taken and given back in pages of this size.
const PAGE_BYTES: usize = 1024;
/// How much of each body comes out of the first purse.
const SMALL_BYTES: usize = 1024 * 1024;
/// The first purse: what all bodies have up to that, together.
const SMALL_PURSE_BYTES: usize = 64 * 1024 * 1024;
/// The second purse: what all bodies have beyond that, together.
const LARGE_PURSE_BYTES: usize = 96 * 1024 * 1024;
/// The purses of requests that prove by their bodies alone who they come from: whoever sends them must not use up what others have.
const UNPROVEN_PURSE_BYTES: usize = 16 * 1024 * 1024;
/// The purse of messages over WebSockets: connections stay open, so what they hold must not be what other requests need.
const MESSAGES_PURSE_BYTES: usize = 32 * 1024 * 1024;
/// How long a body waits for room before its sender is told to come back.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(5);
/// A sender that sends nothing for so long has stopped; it loses its part when another needs it.
const STOPPED_AFTER: Duration = Duration::from_secs(2);
/// How many times [`STOPPED_AFTER`] a sender has to bring [`PROGRESS_BYTES`] or the end. Then it is told that it took too long.
const STOPPED_MAX: u32 = 8;
const PROGRESS_BYTES: usize = 64 * 1024;
/// When a sender that found no room should come back, in seconds.
const COME_BACK_SECONDS: u32 = 5;

/// Senders that are gone are forgotten when so many are known.
const FORGET_AFTER: usize = 256;

/// The budget.
pub(super) struct Bodies {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
    coming: Mutex<Vec<Weak<Sender>>>,
}

/// A body that is coming in, as other bodies that need its part see it.
#[derive(Default)]
struct Sender {
    bytes: AtomicUsize,
    stopped: AtomicBool,
    evicted: Notify,
}

/// The part of the budget that one body has. Dropping it gives it back.
#[derive(Default)]
pub(super) struct Part {
    small: Option<OwnedSemaphorePermit>,
    large: Option<OwnedSemaphorePermit>,
    bytes: usize,
}

impl Part {
    /// How many bytes it is for.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Bodies {
    /// The budget of requests that have a key, or a link of ours.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self::of(SMALL_PURSE_BYTES, LARGE_PURSE_BYTES, clock)
    }

    /// The budget of requests that prove by their bodies alone who they come from.
    pub(super) fn unproven(clock: Arc<dyn Clock>) -> Self {
        Self::of(UNPROVEN_PURSE_BYTES, UNPROVEN_PURSE_BYTES, clock)
    }

    /// The budget of messages over WebSockets.
    pub(super) fn of_messages(clock: Arc<dyn Clock>) -> Self {
        Self::of(MESSAGES_PURSE_BYTES, MESSAGES_PURSE_BYTES, clock)
    }

    fn of(small_bytes: usize, large_bytes: usize, clock: Arc<dyn Clock>) -> Self {
        let purse = |bytes: usize| Arc::new(Semaphore::new(bytes / PAGE_BYTES));
        Self { small: purse(small_bytes), large: purse(large_bytes), clock, coming: Mutex::default() }
    }

    /// A body that begins to come in.
    pub(super) fn coming(&self) -> Coming<'_> {
        Coming { bodies: self, sender: None, tick: None, n_ticks: 0, in_tick: 0, in_window: 0, is_refused: false }
    }

    /// Lets `part` grow to `bytes`.
    pub(super) async fn grow(&self, part: &mut Part, bytes: usize) -> Result<(), Problem> {
        if bytes <= part.bytes {
            return Ok(());
        }
        let (small, large) = (bytes.min(SMALL_BYTES), bytes.saturating_sub(SMALL_BYTES));
        let (has_small, has_large) = (part.bytes.min(SMALL_BYTES), part.bytes.saturating_sub(SMALL_BYTES));
        self.take(&self.small, &mut part.small, pages(small) - pages(has_small)).await?;
        self.take(&self.large, &mut part.large, pages(large) - pages(has_large)).await?;
        part.bytes = bytes;
        Ok(())
    }

    async fn take(
        &self,
        purse: &Arc<Semaphore>,
        part: &mut Option<OwnedSemaphorePermit>,
        n_pages: usize,
    ) -> Result<(), Problem> {
        if n_pages == 0 {
            return Ok(());
        }
        let n_pages = u32::try_from(n_pages).unwrap_or(u32::MAX);
        let more = match Arc::clone(purse).try_acquire_many_owned(n_pages) {
            Ok(more) => more,
            Err(_) => {
                self.evict_stopped();
                tokio::select! {
                    more = Arc::clone(purse).acquire_many_owned(n_pages) => more.map_err(|_| no_room())?,
                    () = self.clock.pause(ROOM_WAIT_MAX) => return Err(no_room()),
                }
            }
        };
        match part {
            Some(part) => part.merge(more),
            None => *part = Some(more),
        }
        Ok(())
    }

    /// Takes back the parts of senders that have stopped sending.
    fn evict_stopped(&self) {
        let mut coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
        coming.retain(|sender| sender.strong_count() > 0);
        for sender in coming.iter().filter_map(Weak::upgrade) {
            if sender.stopped.load(Ordering::Relaxed) && sender.bytes.load(Ordering::Relaxed) > SMALL_BYTES {
                sender.evicted.notify_one();
            }
        }
    }
}

fn pages(bytes: usize) -> usize {
    bytes.div_ceil(PAGE_BYTES)
}

fn no_room() -> Problem {
    let detail = "too many large requests are being read just now; nothing of this one was used";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).retry_after(COME_BACK_SECONDS)
}

/// Watches whether a body goes on coming in.
pub(super) struct Coming<'a> {
    bodies: &'a Bodies,
    /// Made when something has to be waited for; most bodies are there at once.
    sender: Option<Arc<Sender>>,
    tick: Option<BoxFuture<()>>,
    n_ticks: u32,
    /// Bytes since the last tick, and since the last time it was looked whether there were enough.
    in_tick: usize,
    in_window: usize,
    is_refused: bool,
}

impl Coming<'_> {
    /// The result of `next`, unless the sender stops for too long, or for so long that others get its part.
    pub(super) async fn wait<T>(&mut self, next: impl Future<Output = T>) -> Result<T, Problem> {
        let mut next = std::pin::pin!(next);
        let at_once = std::future::poll_fn(|context| std::task::Poll::Ready(next.as_mut().poll(context)));
        if let std::task::Poll::Ready(done) = at_once.await {
            return Ok(done);
        }
        let sender = Arc::clone(self.sender.get_or_insert_with(|| {
            let sender = Arc::<Sender>::default();
            let mut coming = self.bodies.coming.lock().unwrap_or_else(PoisonError::into_inner);
            if coming.len() >= FORGET_AFTER {
                coming.retain(|sender| sender.strong_count() > 0);
            }
            coming.push(Arc::downgrade(&sender));
            sender
        }));
        loop {
            let tick = self.tick.get_or_insert_with(|| self.bodies.clock.pause(STOPPED_AFTER));
            tokio::select! {
                biased;
                done = next.as_mut() => return Ok(done),
                () = sender.evicted.notified() => return Err(no_room()),
                () = tick => {}
            }
            self.tick = None;
            let has_stopped = std::mem::take(&mut self.in_tick) == 0;
            sender.stopped.store(has_stopped, Ordering::Relaxed);
            self.n_ticks += 1;
            if self.n_ticks == STOPPED_MAX || (self.is_refused && has_stopped) {
                if self.in_window < PROGRESS_BYTES {
                    let detail = "the body did not come in time; nothing of it was used";
                    return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail));
                }
                (self.n_ticks, self.in_window) = (0, 0);
            }
        }
    }

    /// The body is not used: its sender is answered as soon as it stops to listen.
    pub(super) fn refuse(&mut self) {
        self.is_refused = true;
    }

    /// So many bytes have come.
    pub(super) fn came(&mut self, bytes: usize) {
        self.in_tick += bytes;
        self.in_window += bytes;
        if let Some(sender) = &self.sender {
            sender.bytes.fetch_add(bytes, Ordering::Relaxed);
            sender.stopped.store(false, Ordering::Relaxed);
        }
    }
}
