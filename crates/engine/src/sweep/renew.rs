//! Prolongs the leases of what is under way.

use std::sync::Arc;
use std::time::Duration;

use punctual_core::store::StoreError;

use crate::claim::{plus, signed};
use crate::command::Inner;

/// How often, as a part of a lease, it is looked at.
const LOOK: u32 = 6;
/// How many looks a lease lives through without being renewed. What is claimed a moment ahead and sent at once, be it ten
/// thousand, is settled by then: renewing it would be as much work as settling it, at the very moment of the burst.
const LEFT_ALONE: u32 = 2;

/// Renews what has two thirds of its lease left or less, every sixth of a lease: three renewals may fail before one is lost.
pub(crate) async fn run(inner: Arc<Inner>) {
    while !inner.landed() {
        tokio::select! { biased;
            () = inner.landed_all() => return,
            () = inner.clock.pause(inner.settings.lease_for / LOOK) => run_once(&inner).await,
        }
    }
}

async fn run_once(inner: &Inner) {
    inner.tidy_lanes();
    if let Err(error) = all(inner).await {
        inner.store_failed(&error);
    }
}

/// Renews all leases that are worth it, also those that have run out, if nobody has taken them.
pub(crate) async fn all(inner: &Inner) -> Result<(), StoreError> {
    let leases = inner.flights.leases(plus(inner.clock.now(), signed(worth(inner.settings.lease_for))));
    if leases.is_empty() {
        return Ok(());
    }
    let until = plus(inner.clock.now(), signed(inner.settings.lease_for));
    let lost = inner.store.renew(leases.clone(), until).await?;
    inner.flights.renewed(&leases, &lost, until);
    Ok(())
}

/// A lease that ends later than this from now is left alone.
fn worth(lease_for: Duration) -> Duration {
    lease_for * (LOOK - LEFT_ALONE) / LOOK
}
