//! Other nodes on the same store.
//!
//! No node is special and none is elected. Every node says once a second that it lives, learns who else does and what the
//! store's clock shows, and comes to the same division of the shards as all others. It claims its own at the instant; what is
//! late is anybody's. So a node that dies costs a second or two, and a division that is wrong for a moment costs nothing but
//! a claim that finds nothing.

/// Saying that this node lives, and learning who else does.
pub(crate) mod beat;

/// How often this node acts on hints.
mod budget;

/// The nodes, for those who look after them.
pub(crate) mod known;

/// Hearing what others change.
pub(crate) mod listen;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use punctual_core::shard::Shards;
use tokio::sync::Notify;

use crate::node::lock;

/// How many of a node's last echoes are waited for.
const ECHOES_MAX: usize = 8;

/// The other nodes, as this one knows them.
pub(crate) struct Peers {
    /// Whether there can be others at all.
    is_shared: AtomicBool,
    own: Mutex<Shards>,
    n_nodes: AtomicUsize,
    /// Whether this node hears what others change.
    hears: AtomicBool,
    /// A run was late when the store was last asked: whichever node's it is, it is everybody's now.
    is_late: AtomicBool,
    /// The words that this node has sent and waits to hear back. Nobody else can have known them before.
    echoes: Mutex<VecDeque<String>>,
    /// The secrets that another node has otherwise, by the names of their settings.
    disagrees: Mutex<Vec<String>>,
    /// By how many microseconds this machine's clock was behind the store's, by which it is set.
    clock_offset: AtomicI64,
    /// A node has left.
    left: Notify,
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
    /// The secrets that another node has otherwise, by the names of their settings.
    pub disagrees: Vec<String>,
}

impl Peers {
    pub(crate) fn none() -> Self {
        Self {
            is_shared: AtomicBool::new(false),
            own: Mutex::new(Shards::ALL),
            n_nodes: AtomicUsize::new(1),
            hears: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
            echoes: Mutex::default(),
            disagrees: Mutex::default(),
            clock_offset: AtomicI64::new(0),
            left: Notify::new(),
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
        *lock(&self.own)
    }

    /// Waits to hear `echo` back.
    fn expect_echo(&self, echo: String) {
        let mut echoes = lock(&self.echoes);
        if echoes.len() == ECHOES_MAX {
            echoes.pop_front();
        }
        echoes.push_back(echo);
    }

    /// Whether this is what this node sent a moment ago. It counts once.
    fn takes_echo(&self, echo: &str) -> bool {
        let mut echoes = lock(&self.echoes);
        let place = echoes.iter().position(|sent| sent == echo);
        place.is_some_and(|place| echoes.remove(place).is_some())
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
            disagrees: lock(&self.disagrees).clone(),
        })
    }
}
