//! The gates of single addresses.
//!
//! An address has a gate if its channel has a rate for each address, or if it was asked to be left alone.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_core::channel::{Bucket, Channel, Limits, Rate};
use punctual_core::id::fingerprint;
use punctual_core::reminder::Address;
use punctual_core::rules::route::Trouble;
use punctual_core::store::Throttle;

use super::Channels;
use super::gate::{Closed, Fate, Gate};
use crate::instant::{plus, signed};

/// How long others wait for the one send that shows whether an address may be called again.
const TRY_FOR: std::time::Duration = std::time::Duration::from_millis(250);
/// Waits of more addresses than this are not remembered: this node is then asked to wait by itself.
const ELSEWHERE_MAX: usize = 10_000;

/// The gates of addresses.
#[derive(Default)]
pub(super) struct Addresses {
    /// By channel and the name of the address's bucket.
    gates: BTreeMap<Address, Gate>,
    /// Until when addresses are left alone because other nodes were asked for it, by fingerprint, until this node sends there.
    elsewhere: BTreeMap<String, Timestamp>,
}

/// Which limit an address falls under, if its channel is known: the key of its gate, and how fast.
pub(super) fn bucket_of(channels: &Channels, to: &Address) -> Option<(Address, Option<Rate>)> {
    let Bucket { name, rate } = channels.get(&to.channel)?.bucket(&to.address);
    Some((Address::new(to.channel.clone(), name), rate))
}

impl Addresses {
    /// The gate of an address, if it has one: made for those whose channel has a rate for each.
    pub(super) fn gate(
        &mut self,
        channel: Option<&dyn Channel>,
        limits: &Limits,
        to: &Address,
        now: Timestamp,
    ) -> Option<&mut Gate> {
        if limits.address_rate.is_none() && self.gates.is_empty() && self.elsewhere.is_empty() {
            return None;
        }
        let Bucket { name, rate } = channel?.bucket(&to.address);
        let key = Address::new(to.channel.clone(), name);
        if !self.elsewhere.is_empty()
            && let Some(until) = self.elsewhere.remove(&fingerprint(&key))
            && until > now
        {
            let wait = until.duration_since(now).unsigned_abs();
            self.open(key.clone(), rate).learn(Fate::Throttled(wait), None, now);
        }
        match rate {
            Some(_) => Some(self.open(key, rate)),
            None => self.gates.get_mut(&key),
        }
    }

    /// The gate of a bucket, made if there is none.
    pub(super) fn open(&mut self, key: Address, rate: Option<Rate>) -> &mut Gate {
        self.gates.entry(key).or_insert_with(|| Gate::new(rate))
    }

    /// The gate of an address, if there is one.
    pub(super) fn known(&mut self, channels: &Channels, to: &Address) -> Option<&mut Gate> {
        if self.gates.is_empty() {
            return None;
        }
        let (key, _) = bucket_of(channels, to)?;
        self.gates.get_mut(&key)
    }

    /// The gate of a bucket, if there is one.
    pub(super) fn get(&mut self, key: &Address) -> Option<&mut Gate> {
        self.gates.get_mut(key)
    }

    /// The gates of a channel's addresses, by the names of their buckets.
    pub(super) fn of_channel(&self, channel: &str) -> impl Iterator<Item = (&str, &Gate)> {
        let gates = self.gates.iter().filter(move |(key, _)| key.channel == channel);
        gates.map(|(key, gate)| (key.address.as_str(), gate))
    }

    /// Another node was asked to leave an address alone until `until`; returns whether that is new.
    pub(super) fn hear(&mut self, throttle: &Throttle, until: Timestamp, now: Timestamp) -> bool {
        let elsewhere = &mut self.elsewhere;
        if elsewhere.len() >= ELSEWHERE_MAX && !elsewhere.contains_key(&throttle.name) {
            elsewhere.retain(|_, until| *until > now);
            if elsewhere.len() >= ELSEWHERE_MAX {
                return false;
            }
        }
        elsewhere.insert(throttle.name.clone(), until).is_none()
    }

    /// Forgets the gates that hold back nothing.
    pub(super) fn tidy(&mut self, now: Timestamp) {
        self.gates.retain(|_, gate| !gate.is_idle(now));
        self.elsewhere.retain(|_, until| *until > now);
    }
}

/// Why an address cannot be sent to now, if that is so.
pub(super) fn not_now(gate: &mut Gate, now: Timestamp) -> Option<Trouble> {
    let since = gate.throttled_since().filter(|_| gate.is_closed(now));
    match gate.closed() {
        Closed::Throttled(until) | Closed::Broken(until) if until > now => {
            return Some(Trouble::AskedToWait { until: gate.come_back_at(until), since });
        }
        // One send shows whether it may be called again; the others wait for what that one learns.
        Closed::Trying if gate.is_tried_until(now).is_some() => {
            let until = gate.come_back_at(plus(now, signed(TRY_FOR)));
            return Some(Trouble::AskedToWait { until, since });
        }
        _ => {}
    }
    let is_open = gate.closed() == Closed::No;
    let pace = gate.pace().filter(|pace| pace.ready_at() > now)?;
    let until = pace.promise(now);
    Some(if is_open { Trouble::Full { until } } else { Trouble::AskedToWait { until, since } })
}
