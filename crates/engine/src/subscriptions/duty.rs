//! Keeping a duty, and writing down how far its work has come.

use std::time::Duration;

use jiff::Unit;
use punctual_core::clock::BoxFuture;
use punctual_core::store::{DUTY_FOR, Duty, KeptDuty, StoreError};

use crate::node::Node;

/// How often a duty is kept, or its position is written.
const KEEP_EVERY: Duration = Duration::from_millis(1500);
/// How much earlier than the store this node takes a duty to be over.
const EARLIER: Duration = Duration::from_secs(1);
/// After so many positions it is written sooner how far the work has come.
const MOVED_MAX: i64 = 256;

/// A duty that this node has.
pub(super) struct OwnDuty {
    node: Node,
    /// Other nodes can take it, so it ends unless it is kept.
    is_shared: bool,
    name: String,
    duty: Duty,
    /// A note that is not written yet.
    has_note: bool,
    /// When it was last kept, by the clock's own running time: before the store was asked.
    kept_at: Duration,
    next: BoxFuture<()>,
    keeping: Option<Keeping>,
}

struct Keeping {
    since: Duration,
    position: i64,
    kept: BoxFuture<Result<bool, StoreError>>,
}

impl OwnDuty {
    /// The duty was taken a moment ago.
    pub(super) fn new(node: &Node, is_shared: bool, name: &str, duty: Duty) -> Self {
        let (kept_at, next) = (node.clock.run_for(), node.clock.pause(KEEP_EVERY));
        let (node, name) = (node.clone(), name.to_owned());
        Self { node, is_shared, name, duty, has_note: false, kept_at, next, keeping: None }
    }

    /// Up to where everything has been told, as it is written down.
    pub(super) fn position(&self) -> i64 {
        self.duty.position
    }

    /// Goes on from another position.
    pub(super) fn go_to(&mut self, position: i64) {
        self.duty.position = position;
        self.has_note = true;
    }

    /// Says what an operator should know, and since when.
    pub(super) fn set_note(&mut self, note: String) {
        let now = self.node.now();
        let now = now.round(Unit::Second).unwrap_or(now);
        self.duty.note = Some(format!("{now}: {note}"));
        self.has_note = true;
    }

    /// Waits until it is time to keep the duty, and keeps it, with the work done up to `done_to`. Returns whether it is still this node's.
    /// A wait that is given up is gone on with the next time.
    pub(super) async fn keep(&mut self, done_to: i64) -> bool {
        let ends_at = self.kept_at + DUTY_FOR.unsigned_abs().saturating_sub(EARLIER);
        let left = ends_at.saturating_sub(self.node.clock.run_for());
        let mut over = match self.is_shared {
            true => self.node.clock.pause(left),
            false => Box::pin(std::future::pending()),
        };
        loop {
            if self.keeping.is_none() {
                let moved = done_to - self.duty.position;
                if moved < MOVED_MAX && !self.has_note {
                    tokio::select! { biased;
                        () = &mut over => return false,
                        () = &mut self.next => {}
                    }
                    self.next = self.node.clock.pause(KEEP_EVERY);
                    // No other node can take the duty, and its position has not moved.
                    if !self.is_shared && moved == 0 {
                        continue;
                    }
                }
                self.begin(done_to);
            }
            let Some(keeping) = &mut self.keeping else { continue };
            let kept = tokio::select! { biased;
                kept = &mut keeping.kept => kept,
                () = &mut over => return false,
            };
            let (since, position) = (keeping.since, keeping.position);
            self.keeping = None;
            match kept {
                Ok(true) => {
                    (self.kept_at, self.duty.position) = (since, position);
                    return true;
                }
                Ok(false) => return false,
                Err(error) => {
                    self.node.health.failed(&error);
                    self.has_note = self.duty.note.is_some();
                    // It is tried again until the duty is over.
                    self.next = self.node.clock.pause(KEEP_EVERY / 4);
                    if self.has_note || done_to - self.duty.position >= MOVED_MAX {
                        tokio::select! { biased;
                            () = &mut over => return false,
                            () = &mut self.next => {}
                        }
                    }
                }
            }
        }
    }

    /// Writes how far the work has come, for the last time.
    pub(super) async fn write(&mut self, done_to: i64) {
        if done_to == self.duty.position && !self.has_note {
            return;
        }
        self.begin(done_to);
        if let Some(Keeping { kept, .. }) = self.keeping.take()
            && let Err(error) = kept.await
        {
            self.node.health.failed(&error);
        }
    }

    /// Gives the duty back, so that another node can take it at once.
    pub(super) async fn leave(self) {
        if let Err(error) = self.node.store.leave_duty(&self.name, self.duty.lease).await {
            tracing::debug!(%error, "a duty could not be given back; it ends by itself");
        }
    }

    fn begin(&mut self, position: i64) {
        let Duty { lease, note, .. } = self.duty.clone();
        let kept = KeptDuty { name: self.name.clone(), lease, position, note, now: self.node.now() };
        let store = self.node.store.clone();
        self.has_note = false;
        let kept: BoxFuture<_> = Box::pin(async move { store.keep_duty(kept).await });
        self.keeping = Some(Keeping { since: self.node.clock.run_for(), position, kept });
    }
}
