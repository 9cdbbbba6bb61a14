//! Limits of platforms that several nodes keep to together.
//!
//! A node keeps to every limit by itself, in memory. Where others send, too, it also takes a turn in the store before a send under
//! a rate begins, and tells the others when it is asked to wait. A store that cannot be asked holds back nobody: what was claimed
//! goes out at the node's own pace.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::reminder::Address;
use punctual_core::store::Hold;

use crate::claim::{plus, signed};
use crate::command::Inner;
use crate::deliver::lock;
use crate::gate::{Fate, Gate};
use crate::lanes::{lane_in, lane_name};

/// How much is read again of what was read before: what was told then may have been committed a little later.
const READ_AGAIN: SignedDuration = SignedDuration::from_secs(5);
/// Waits of more addresses than this are not remembered.
const TOLD_MAX: usize = 10_000;

/// Takes a turn under the limits that a send to `to`, in the lane `name`, falls under; when other nodes have taken them all, says when
/// to come back.
pub(crate) async fn must_wait(inner: &Arc<Inner>, name: &Arc<str>, to: &Address) -> Option<Timestamp> {
    if !inner.peers.is_shared() {
        return None;
    }
    let by_receiver = inner.channels.get(&to.channel)?.limits().rate.map(|rate| (name.to_string(), rate));
    let bucket = inner.bucket_of(to).and_then(|(key, rate)| rate.map(|rate| (key, rate)));
    // A receiver and a bucket of the same name are two limits.
    let by_address = bucket.as_ref().map(|(key, rate)| (format!("{} @{}", key.channel, key.address), *rate));
    let limits: Vec<_> = by_receiver.iter().chain(&by_address).cloned().collect();
    if limits.is_empty() {
        return None;
    }
    let waits = match inner.store.take_turns(limits).await {
        Ok(waits) => waits,
        Err(error) => {
            tracing::debug!(%error, "no turn could be taken in the store; this node keeps to the limit by itself");
            return None;
        }
    };
    let now = inner.clock.now();
    let until = waits.iter().max().filter(|wait| !wait.is_zero()).map(|wait| plus(now, signed(*wait)))?;
    let mut lanes = lock(&inner.lanes);
    let mut waits = waits.iter().map(|wait| plus(now, signed(*wait)));
    if by_receiver.is_some()
        && let (Some(until), Some(lane)) = (waits.next(), lanes.lanes.get_mut(name))
        && let Some(pace) = lane.gate.pace()
    {
        pace.taken_until(until);
    }
    if let (Some(until), Some((key, _))) = (waits.next(), bucket)
        && let Some(pace) = lanes.addresses.get_mut(&key).and_then(Gate::pace)
    {
        pace.taken_until(until);
    }
    Some(until)
}

/// Tells the others of a wait that was asked for.
pub(crate) fn tell(inner: &Inner, channel: &str, name: &str, is_address: bool, wait: Duration) {
    let seconds = wait.as_secs();
    match is_address {
        true => tracing::info!(%channel, address = %name, seconds, "an address asked to be left alone"),
        false => tracing::info!(%channel, receiver = %name, seconds, "a receiver asked to be left alone"),
    }
    if !inner.peers.is_shared() || inner.peers.count() < 2 {
        return;
    }
    let hold = Hold { channel: channel.to_owned(), name: name.to_owned(), is_address, wait };
    let store = inner.store.clone();
    inner.runtime.spawn(Box::pin(async move {
        if let Err(error) = store.tell_hold(hold).await {
            tracing::debug!(%error, "the others were not told of a wait; each will be asked by itself");
        }
    }));
}

/// Keeps the waits that other nodes were asked for.
pub(crate) fn look_at_holds(inner: &Arc<Inner>) {
    let inner = inner.clone();
    inner.clone().runtime.spawn(Box::pin(async move {
        let since = inner.peers.read_holds(inner.clock.now()).map(|at| plus(at, -READ_AGAIN));
        match inner.store.holds(since).await {
            Ok(holds) => hear(&inner, &holds),
            Err(error) => {
                inner.peers.forget_holds_read();
                tracing::debug!(%error, "cannot see which waits other nodes were asked for");
            }
        }
    }));
}

fn hear(inner: &Inner, holds: &[Hold]) {
    let now = inner.clock.now();
    let mut n_new = 0;
    for hold in holds.iter().filter(|hold| inner.channels.contains_key(&hold.channel)) {
        n_new += usize::from(keep(inner, hold, now));
    }
    if n_new > 0 {
        tracing::info!(n_addresses = n_new, "other nodes were asked to leave addresses alone; so does this one");
    }
}

/// Keeps one wait; returns whether it is one of an address that this node did not know of.
fn keep(inner: &Inner, hold: &Hold, now: Timestamp) -> bool {
    // Whatever the store says.
    let wait = hold.wait.min(Hold::wait_max(hold.is_address));
    let until = plus(now, signed(wait));
    let mut lanes = lock(&inner.lanes);
    if hold.is_address {
        let told = &mut lanes.told;
        if told.len() >= TOLD_MAX && !told.contains_key(&hold.name) {
            told.retain(|_, until| *until > now);
            if told.len() >= TOLD_MAX {
                // This node will be asked by itself.
                return false;
            }
        }
        return told.insert(hold.name.clone(), until).is_none();
    }
    let to = Address::new(hold.channel.clone(), "");
    let lane = lane_in(&mut lanes.lanes, inner, &lane_name(&hold.channel, &hold.name), &to, now);
    if !lane.gate.is_closed(now) {
        let (channel, receiver, seconds) = (&hold.channel, &hold.name, wait.as_secs());
        tracing::info!(%channel, %receiver, seconds, "another node was asked to leave a receiver alone; so does this one");
    }
    lane.gate.learn(Fate::Throttled(wait), None, now);
    false
}
