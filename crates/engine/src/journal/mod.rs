//! The journal as it grows: a follower hears of each entry soon after its commit, whichever node wrote it.
//!
//! ```text
//! a commit ─ written ─▶ place ─ head ─▶ tail ─ page ─▶ followers
//!                        ▲ a pass of another node was heard
//! ```
//!
//! While nobody follows on any node, entries are placed once a second and read by nobody. While somebody does, a node that has written
//! something places it at once, and each node with a follower reads every new entry once, for all its followers.

mod follow;
mod place;
mod tail;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jiff::Timestamp;
use punctual_core::store::Pulse;
use tokio::sync::{Notify, Semaphore, watch};

pub use follow::{Ended, FollowError, Follower, Page};
pub(crate) use place::run as place;
pub(crate) use tail::run as tail;

use crate::node::lock;
use tail::Tail;

/// Followers that read what was written before they came, at once. More wait their turn.
const CATCHING_UP_MAX: usize = 8;

/// What the parts of a node know of the journal.
pub struct Journal {
    /// There may be something to place.
    look: Notify,
    /// Something was written here, or elsewhere as of the last beat.
    grown: Notify,
    /// Somebody has begun to be interested, and the other nodes must hear of it.
    begun: Notify,
    /// The last position that this node knows of.
    head: watch::Sender<i64>,
    tail: Mutex<Tail>,
    /// How many followers and watches there are here.
    n_interested: AtomicUsize,
    /// Somebody on some node is interested, as of the last beat.
    is_followed: AtomicBool,
    /// Something waits for its place that this node is to place, whether somebody follows or not.
    must_place: AtomicBool,
    /// Since when something waits for its place, and the last position then.
    waits: Mutex<Option<(Timestamp, i64)>>,
    catching_up: Semaphore,
}

impl Journal {
    pub(crate) fn new() -> Self {
        Self {
            look: Notify::new(),
            grown: Notify::new(),
            begun: Notify::new(),
            head: watch::Sender::new(0),
            tail: Mutex::new(Tail::new()),
            n_interested: AtomicUsize::new(0),
            is_followed: AtomicBool::new(false),
            must_place: AtomicBool::new(false),
            waits: Mutex::new(None),
            catching_up: Semaphore::new(CATCHING_UP_MAX),
        }
    }

    /// Says that this node has written entries.
    pub(crate) fn written(&self) {
        self.grown.notify_one();
        if self.is_interesting() || self.is_followed.load(Ordering::Acquire) {
            self.look.notify_one();
        }
    }

    /// Says that another node may have placed something.
    pub(crate) fn placed_elsewhere(&self) {
        if self.is_interesting() {
            self.look.notify_one();
        }
    }

    /// Takes a pulse to heart. A node that `places` does it for everybody while nobody follows.
    pub(crate) fn heed(&self, pulse: &Pulse, places: bool) {
        {
            let mut waits = lock(&self.waits);
            *waits = match *waits {
                _ if !pulse.unplaced => None,
                // A pass places everything that is committed. So as long as there was none, it is the same that waits.
                Some((since, head)) if head == pulse.head => Some((since, head)),
                _ => Some((pulse.now, pulse.head)),
            };
        }
        let was_followed = self.is_followed.swap(pulse.followed, Ordering::AcqRel);
        let begins = pulse.followed && !was_followed;
        if pulse.unplaced && (places || begins) {
            // When somebody begins to follow, what was written a moment before this node knew of it is placed, too.
            self.must_place.store(true, Ordering::Release);
            self.look.notify_one();
        }
        if pulse.unplaced || pulse.head > self.head() {
            self.grown.notify_one();
        }
        self.reached(pulse.head);
    }

    /// Waits until something was written. One waits at a time.
    pub(crate) async fn grown(&self) {
        self.grown.notified().await;
    }

    /// Whether somebody is interested on this node.
    pub(crate) fn is_interesting(&self) -> bool {
        self.n_interested.load(Ordering::Acquire) > 0
    }

    /// Waits until somebody begins to be interested.
    pub(crate) async fn begun(&self) {
        self.begun.notified().await;
    }

    /// Notes that the journal has come this far.
    fn reached(&self, head: i64) {
        self.head.send_if_modified(|known| {
            let is_new = head > *known;
            *known = head.max(*known);
            is_new
        });
    }

    /// Tells how far the journal has come, for as long as the watch lives.
    pub fn watch(self: &std::sync::Arc<Self>) -> HeadWatch {
        HeadWatch { head: self.head.subscribe(), _interest: Interest::new(self.clone()) }
    }

    /// The last position that this node knows of.
    pub fn head(&self) -> i64 {
        *self.head.borrow()
    }

    /// For how long something has been committed that has no place yet, in seconds, as the last beat told. Healthy nodes leave nothing
    /// waiting for more than a beat or two.
    pub fn lag_seconds(&self, now: Timestamp) -> f64 {
        let since = lock(&self.waits).map(|(since, _)| since);
        since.map_or(0.0, |since| now.duration_since(since).as_secs_f64().max(0.0))
    }

    /// How many positions the followers of this node have not been told of yet; 0 while there are none.
    pub fn n_untold(&self) -> i64 {
        let head = self.head();
        let tail = lock(&self.tail);
        if tail.n_followers() == 0 { 0 } else { (head - tail.read_to).max(0) }
    }

    /// How many followers there are on this node.
    pub fn n_followers(&self) -> usize {
        lock(&self.tail).n_followers()
    }
}

/// Hears how far the journal has come.
pub struct HeadWatch {
    head: watch::Receiver<i64>,
    _interest: Interest,
}

impl HeadWatch {
    /// The last position that this node knows of.
    pub fn head(&self) -> i64 {
        *self.head.borrow()
    }

    /// Waits until the journal has come further than `position`.
    pub async fn beyond(&mut self, position: i64) -> i64 {
        match self.head.wait_for(|head| *head > position).await {
            Ok(head) => *head,
            // The engine is gone; nothing comes any more.
            Err(_) => std::future::pending().await,
        }
    }
}

/// As long as it lives, somebody is interested in the journal here.
struct Interest(std::sync::Arc<Journal>);

impl Interest {
    fn new(journal: std::sync::Arc<Journal>) -> Self {
        if journal.n_interested.fetch_add(1, Ordering::AcqRel) == 0 {
            journal.begun.notify_one();
            // A watch knows the head from now on.
            journal.look.notify_one();
        }
        Self(journal)
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        self.0.n_interested.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use punctual_core::shard::Shards;

    use super::*;

    #[test]
    fn the_journal_lags_for_as_long_as_something_waits_for_its_place() {
        let at = |second| Timestamp::from_second(second).expect("it is near the epoch");
        let journal = Journal::new();
        let heed = |second, unplaced, head| {
            let (nodes, shared) = (Vec::new(), Vec::new());
            let pulse = Pulse {
                now: at(second),
                nodes,
                shards: Shards::NONE,
                first_at: None,
                shared,
                followed: false,
                head,
                unplaced,
            };
            journal.heed(&pulse, false);
        };
        assert_eq!(journal.lag_seconds(at(5)), 0.0, "nothing was ever written");
        heed(10, true, 7);
        heed(11, true, 7);
        assert_eq!(journal.lag_seconds(at(12)), 2.0, "nobody has placed anything since the first of these beats");
        heed(13, true, 9);
        assert_eq!(journal.lag_seconds(at(13)), 0.0, "what waits now was written after the last pass");
        heed(14, false, 9);
        assert_eq!(journal.lag_seconds(at(60)), 0.0);
    }
}
