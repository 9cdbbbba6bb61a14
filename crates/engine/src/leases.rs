//! This node's leases: keeping them while their flights are under way, and giving them back.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::decide::withdraw;
use punctual_core::id::ReminderId;
use punctual_core::store::{Settlement, StoreError};

use crate::flight::Flights;
use crate::instant::{plus, signed};
use crate::node::{Node, Phase};
use crate::outage::OTHERS_FIRST;
use crate::peers::Peers;
use crate::settle::{Settlements, lease_of};

/// A lease that ends sooner than this is not used any more: the store's clock may run a little ahead of ours.
pub(crate) const LEASE_MARGIN: SignedDuration = SignedDuration::from_secs(1);
/// How often, as a part of a lease, it is looked at.
const LOOK: u32 = 6;
/// How many looks a lease lives through without being renewed. A run that is claimed a moment ahead and sent at once is settled by
/// then, also where there are ten thousand: renewing it would be as much work as settling it, at the very moment of the burst.
const LEFT_ALONE: u32 = 2;

/// How often a node looks again for the runs of a claim that may have to be stopped.
const STOP_TRIES: u32 = 10;
/// How long it waits in between.
const STOP_AGAIN_AFTER: Duration = Duration::from_millis(5);
/// How often a stop looks again for flights that a claim has brought meanwhile.
const LAND_AGAIN: Duration = Duration::from_millis(50);

/// The leases of this node's flights.
pub(crate) struct Leases {
    pub(crate) node: Node,
    pub(crate) flights: Arc<Flights>,
    pub(crate) settlements: Arc<Settlements>,
    pub(crate) peers: Arc<Peers>,
}

impl Leases {
    /// Renews each lease that has two thirds left or less, every sixth of a lease: three renewals may fail before one is lost.
    pub(crate) async fn run(self: Arc<Self>) {
        let node = &self.node;
        loop {
            tokio::select! { biased;
                () = node.stop.reached(Phase::Landed) => return,
                () = node.clock.pause(node.settings.lease_for / LOOK) => {}
            }
            if let Err(error) = self.renew().await {
                node.health.failed(&error);
            }
        }
    }

    /// Renews all leases that are worth it, also those that have run out, if nobody has taken them.
    async fn renew(&self) -> Result<(), StoreError> {
        let node = &self.node;
        let lease_for = node.settings.lease_for;
        // A lease that ends later than this is left alone.
        let worth = lease_for * (LOOK - LEFT_ALONE) / LOOK;
        let leases = self.flights.leases(plus(node.now(), signed(worth)));
        if leases.is_empty() {
            return Ok(());
        }
        let until = plus(node.now(), signed(lease_for));
        let lost = node.store.renew(leases.clone(), until).await?;
        self.flights.renewed(&leases, &lost, until);
        Ok(())
    }

    /// Makes sure that a claim does not take what this node itself has under way. A node that is stopping does not wait for that, and
    /// must not claim after this.
    pub(crate) async fn keep_own(&self) -> Result<(), StoreError> {
        let node = &self.node;
        if let Some(outage) = node.health.outage() {
            // From now on, the time that the other nodes need to come back is counted.
            node.store.probe().await?;
            let concerns_others = outage.concerns_others(node.settings.lease_for, node.now());
            tokio::select! { biased;
                () = node.stopped() => return Ok(()),
                () = self.settlements.caught_up() => {}
            }
            self.renew().await?;
            let has_others = outage.had_peers || self.peers.count() > 1;
            if has_others && concerns_others && !node.pause(OTHERS_FIRST).await {
                return Ok(());
            }
            node.health.end(&outage);
        }
        // Or this machine slept.
        if self.flights.end_by(plus(node.now(), LEASE_MARGIN)) {
            self.renew().await?;
        }
        Ok(())
    }

    /// Withdraws the flights of some reminders that have not begun, and writes that at once: the settler would make the timer claim them
    /// again before the reminders are changed. Returns when they must be looked at again. If the store fails, the settler goes on
    /// trying.
    pub(crate) async fn give_back(&self, ids: &[ReminderId]) -> (Vec<Timestamp>, Result<(), StoreError>) {
        let Self { node, flights, settlements, .. } = self;
        let now = node.now();
        let stopped = ids.iter().flat_map(|id| flights.withdraw(*id));
        let withdrawn: Vec<_> = stopped.map(|flight| withdraw(&flight.claimed, now)).collect();
        let back_at = withdrawn.iter().filter_map(Settlement::wake_at).collect();
        if withdrawn.is_empty() {
            return (back_at, Ok(()));
        }
        let settled = node.store.settle(withdrawn.clone(), now).await;
        match &settled {
            Ok(_) => flights.remove(withdrawn.iter().map(lease_of)),
            // They will never be sent, so they must not stay leased.
            Err(_) => withdrawn.into_iter().for_each(|settlement| settlements.hand(settlement)),
        }
        (back_at, settled.map(|_| ()))
    }

    /// Gives back the flights of reminders whose leases a change has ended, or is about to; returns when they must be looked at again.
    /// The answer to a claim may be on its way: its runs are looked for when it is there.
    pub(crate) async fn stop(&self, ids: &[ReminderId]) -> Vec<Timestamp> {
        let mut back_at = Vec::new();
        for _ in 0..if ids.is_empty() { 0 } else { STOP_TRIES } {
            let was_claiming = self.flights.is_claiming();
            // If the store fails, the settler goes on trying.
            back_at.extend(self.give_back(ids).await.0);
            if !was_claiming {
                break;
            }
            self.node.clock.pause(STOP_AGAIN_AFTER).await;
        }
        back_at
    }

    /// Gives back all flights that have not begun and waits until the rest has been settled.
    pub(crate) async fn land(&self) {
        let Self { node, flights, settlements, .. } = self;
        loop {
            let landed = flights.landed();
            tokio::pin!(landed);
            landed.as_mut().enable();
            // A claim may have been under way when the stop came; its flights are withdrawn when they are known.
            let is_claiming = flights.is_claiming();
            let now = node.now();
            for flight in flights.withdraw_all() {
                settlements.hand(withdraw(&flight.claimed, now));
            }
            if flights.len() == 0 && !is_claiming {
                return;
            }
            tokio::select! { biased;
                () = &mut landed => {}
                () = node.clock.pause(LAND_AGAIN) => {}
            }
        }
    }
}
