//! Prolongs the leases of what is under way.

use std::sync::Arc;

use crate::claim::{plus, signed};
use crate::command::Inner;

/// Renews every third of a lease, so that two renewals may fail before one is lost.
pub(crate) async fn run(inner: Arc<Inner>) {
    while !inner.landed() {
        tokio::select! { biased;
            () = inner.landed_all() => return,
            () = inner.clock.pause(inner.settings.lease_for / 3) => run_once(&inner).await,
        }
    }
}

async fn run_once(inner: &Inner) {
    inner.tidy_lanes();
    let leases = inner.flights.leases();
    if leases.is_empty() {
        return;
    }
    let until = plus(inner.clock.now(), signed(inner.settings.lease_for));
    match inner.store.renew(leases.clone(), until).await {
        Ok(lost) => inner.flights.renewed(&leases, &lost, until),
        Err(error) => inner.store_failed(&error),
    }
}
