//! Claiming the reminders that an alarm rang for.

use jiff::{SignedDuration, Timestamp};
use punctual_core::shard::Shards;
use punctual_core::store::StoreError;

use super::{Claimer, Scope};
use crate::flight::Via;
use crate::instant::plus;
use crate::log::Kind;

/// The alarm's clock may be this much ahead of ours. A run that is claimed early waits for its instant.
const AHEAD: SignedDuration = SignedDuration::from_secs(1);

impl Claimer {
    /// Claims the reminders that rang.
    pub(super) async fn take_rung(&self) -> Result<(), StoreError> {
        let Self { node, flights, alarms, .. } = self;
        let limit = node.settings.batch_max;
        loop {
            let only = alarms.take_rung(flights, limit);
            // A run that there is no room for now, its own timer or the sweep finds.
            if only.is_empty() || flights.len() + limit > node.settings.in_flight_max || node.stopping() {
                return Ok(());
            }
            self.leases.keep_own().await.inspect_err(|_| alarms.put_back(&only))?;
            if node.stopping() {
                return Ok(());
            }
            let until = plus(node.now(), AHEAD);
            let scope = Scope { from: Timestamp::MIN, until, shards: Shards::ALL, via: Via::Redis };
            let n_rung = only.len();
            let claims = self.claim(scope, limit, Some(only)).await?;
            // Each ring was for a run that was to be claimed now: a run that was not there any more, another node has.
            self.found_elsewhere(n_rung.saturating_sub(claims.n_taken));
            if claims.n_taken > 0 && node.says(Kind::Woken) {
                tracing::info!(n = claims.n_taken, "woken by the timer outside, which knew of what this node did not");
            }
            self.fly(claims.to_send, scope.via);
            self.timer.wake_at(claims.wakes);
            self.alarms.planned(claims.next_runs);
        }
    }
}
