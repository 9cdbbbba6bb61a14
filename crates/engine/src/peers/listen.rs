//! Hearing what others change.
//!
//! A connection can die without a word. So this node's own beats come back through it: as long as they do, everything does.
//! While they do not, the timer looks every second instead, and says so.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use punctual_core::decide::withdraw;
use punctual_core::id::ReminderId;
use punctual_core::store::{Ears, Heard};

use crate::command::Inner;
use crate::together;

/// Without a beat of its own for this long, this node is deaf. It beats to be heard every four seconds.
const DEAF_AFTER: Duration = Duration::from_secs(10);
/// How long to wait before the connection is made again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How long what was given back is left to whoever asked for it.
const GIVEN_BACK_FOR: Duration = Duration::from_millis(150);

pub(crate) async fn run(inner: Arc<Inner>) {
    if !inner.peers.is_shared() {
        return;
    }
    while !inner.stopping() {
        match inner.store.listen().await {
            Ok(Some(ears)) => listen(&inner, ears).await,
            Ok(None) => return,
            Err(error) => tracing::debug!(%error, "cannot listen"),
        }
        inner.set_hears(false);
        tokio::select! { biased;
            () = inner.stopped() => return,
            () = inner.clock.pause(AGAIN_AFTER) => {}
        }
    }
}

async fn listen(inner: &Arc<Inner>, mut ears: Box<dyn Ears>) {
    let mut deaf = inner.clock.pause(DEAF_AFTER);
    loop {
        let heard = tokio::select! { biased;
            () = inner.stopped() => return,
            heard = ears.hear() => heard,
            () = &mut deaf => return,
        };
        match heard {
            Ok(Heard::Beat(node)) if node == inner.settings.node => {
                deaf = inner.clock.pause(DEAF_AFTER);
                if !inner.peers.hears() {
                    inner.set_hears(true);
                    // What was told before is lost.
                    inner.timer.reset();
                }
            }
            Ok(Heard::Beat(_)) => {}
            Ok(Heard::Wake(moments)) => {
                let own = inner.peers.own();
                inner.timer.note(moments.into_iter().filter(|(shard, _)| own.contains(*shard)).map(|(_, at)| at));
            }
            Ok(Heard::Look) => inner.timer.reset(),
            Ok(Heard::Left) => inner.peers_changed.notify_one(),
            Ok(Heard::Hold(hold)) => together::hear(inner, &hold),
            Ok(Heard::Recall(reminder)) => give_back(inner, reminder),
            Err(error) => {
                tracing::debug!(%error, "heard no more");
                return;
            }
        }
    }
}

/// Gives back what is claimed of a reminder and has not begun: another node is about to change it.
fn give_back(inner: &Arc<Inner>, reminder: ReminderId) {
    let now = inner.clock.now();
    let settlements: Vec<_> =
        inner.flights.withdraw(reminder).iter().map(|flight| withdraw(&flight.claimed, now)).collect();
    if settlements.is_empty() {
        return;
    }
    let back_at: Vec<_> = settlements.iter().filter_map(|s| s.state.wake_at(s.due_at)).collect();
    let inner_too = inner.clone();
    inner.runtime.spawn(Box::pin(async move {
        let inner = inner_too;
        // Not through the settling loop, which would make the timer claim it again before it is changed.
        match inner.store.settle(settlements.clone(), now).await {
            Ok(_) => inner.flights.remove(settlements.iter().map(|s| (&s.occurrence, s.lease))),
            Err(_) => settlements.into_iter().for_each(|settlement| inner.settle_later(settlement, None)),
        }
        inner.clock.pause(GIVEN_BACK_FOR).await;
        inner.timer.note(back_at);
    }));
}

impl Inner {
    fn set_hears(&self, hears: bool) {
        let heard = self.peers.hears.swap(hears, Ordering::AcqRel);
        self.metrics.hears.set(i64::from(hears));
        match (heard, hears) {
            (true, false) => tracing::warn!("does not hear what others change; looking every second instead"),
            (false, true) => tracing::info!("hears what others change"),
            _ => {}
        }
    }
}
