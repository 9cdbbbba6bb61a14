//! Other nodes on the same store.
//!
//! Nobody is special and nobody is elected. Every node says once a second that it lives, learns who else does and what the
//! store's clock shows, and comes to the same division of the shards as all others. It claims its own at the instant; what is
//! late is anybody's. So a node that dies costs a second or two, and a division that is wrong for a moment costs nothing but
//! a claim that finds nothing.

/// Saying that this node lives, and learning who else does.
pub(crate) mod beat;

/// Hearing what others change.
pub(crate) mod listen;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use punctual_core::shard::Shards;

/// What this node knows of the others.
pub(crate) struct Peers {
    /// Whether there can be others at all.
    is_shared: AtomicBool,
    own: Mutex<Shards>,
    n_nodes: AtomicUsize,
    /// Whether this node hears what others change.
    hears: AtomicBool,
    /// Something was late when it was last looked: whosever it is, it is everybody's now.
    is_late: AtomicBool,
}

/// How this node stands among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// How many nodes live, this one among them.
    pub nodes: usize,
    /// How many of the 256 shards are this one's.
    pub shards: usize,
    /// Whether it hears what others change; if not, it looks every second.
    pub hears: bool,
}

impl Peers {
    pub(crate) fn none() -> Self {
        Self {
            is_shared: AtomicBool::new(false),
            own: Mutex::new(Shards::ALL),
            n_nodes: AtomicUsize::new(1),
            hears: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::Acquire)
    }

    pub(crate) fn hears(&self) -> bool {
        self.hears.load(Ordering::Acquire)
    }

    /// How many nodes live, this one among them.
    pub(crate) fn count(&self) -> usize {
        self.n_nodes.load(Ordering::Relaxed)
    }

    pub(crate) fn own(&self) -> Shards {
        // Nothing under this lock can panic half-way.
        *self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something was late, told once.
    pub(crate) fn take_late(&self) -> bool {
        self.is_late.swap(false, Ordering::AcqRel)
    }

    /// How this node stands, if there can be others.
    pub(crate) fn standing(&self) -> Option<Standing> {
        self.is_shared().then(|| Standing {
            nodes: self.n_nodes.load(Ordering::Relaxed),
            shards: self.own().count(),
            hears: self.hears(),
        })
    }
}
