//! Noticing that keys change, also on other nodes, while connections that have shown one are open.
//!
//! One task reads the journal for all connections. It runs only while one with a key that can be deleted is open, so an idle server asks its database
//! nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::http::App;
use crate::http::stream;

/// How long a store that failed is left alone.
const AGAIN_AFTER: Duration = Duration::from_millis(250);
/// The kinds of entries that tell of keys begin so.
const KINDS: &str = "key.";

/// Counts the times at which a key may have changed.
pub(super) struct Keys {
    changes: watch::Sender<u64>,
    is_watched: Mutex<bool>,
}

impl Keys {
    pub(super) fn new() -> Self {
        Self { changes: watch::Sender::new(0), is_watched: Mutex::new(false) }
    }

    /// Tells when keys may have changed: once when it begins to know, so that nothing is missed before, and then each time.
    pub(super) fn watch(app: &Arc<App>) -> watch::Receiver<u64> {
        let keys = &app.sockets.keys;
        let mut is_watched = keys.lock();
        let receiver = keys.changes.subscribe();
        if !std::mem::replace(&mut *is_watched, true) {
            tokio::spawn(read(Arc::clone(app)));
        }
        drop(is_watched);
        receiver
    }

    fn told(&self) {
        self.changes.send_modify(|n_changes| *n_changes += 1);
    }

    /// Whether nobody wants to know any more. Then it is not watched.
    fn is_over(&self) -> bool {
        let mut is_watched = self.lock();
        *is_watched = self.changes.receiver_count() > 0;
        !*is_watched
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the journal until nobody wants to know.
async fn read(app: Arc<App>) {
    let (keys, mut stopping) = (&app.sockets.keys, app.streams.stopping());
    loop {
        tokio::select! { biased;
            () = stream::stops(&mut stopping) => return,
            () = keys.changes.closed() => if keys.is_over() { return },
            () = follow(&app, keys) => app.engine.clock().pause(AGAIN_AFTER).await,
        }
    }
}

/// Follows the journal for as long as that goes.
async fn follow(app: &App, keys: &Keys) {
    let Ok(mut follower) = app.engine.follow(None).await else { return };
    keys.told();
    while let Ok(page) = follower.next().await {
        if page.entries.iter().any(|entry| entry.kind.starts_with(KINDS)) {
            keys.told();
        }
    }
}
