//! How the channels stand, for those who look after them.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::channel::{Channel, Limits};

use super::Channels;
use super::gate::{Closed, Gate};
use super::lanes::{Lanes, receiver_of};

/// How a channel is used and what holds it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelStanding {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// How much may be sent.
    pub limits: Limits,
    /// Sends under way.
    pub n_sending: usize,
    /// Messages that wait for their turn.
    pub n_waiting: usize,
    /// Receivers and addresses that are left alone now.
    pub closed: Vec<ClosedGate>,
}

/// A receiver or an address that is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedGate {
    /// Which.
    pub to: String,
    /// Why: `throttled` or `broken`, or `trying` while one send shows whether it works again.
    pub why: &'static str,
    /// Until when.
    pub until: Option<Timestamp>,
    /// Sends in a row that have failed.
    pub n_failed: u32,
}

/// How each channel stands, by name.
pub(super) fn of_all(channels: &Channels, lanes: &Lanes, now: Timestamp) -> Vec<ChannelStanding> {
    let standing = |(name, channel): (&String, &Arc<dyn Channel>)| {
        let own = || lanes.of_channel(name);
        let receivers = own().filter_map(|(lane, own)| closed_gate(receiver_of(lane, name), &own.gate, now));
        let addresses = lanes.addresses.of_channel(name).filter_map(|(to, gate)| closed_gate(to, gate, now));
        ChannelStanding {
            name: name.clone(),
            kind: channel.kind(),
            limits: channel.limits(),
            n_sending: own().map(|(_, lane)| lane.n_running).sum(),
            n_waiting: own().map(|(_, lane)| lane.queue.len()).sum(),
            closed: receivers.chain(addresses).collect(),
        }
    };
    channels.iter().map(standing).collect()
}

fn closed_gate(to: &str, gate: &Gate, now: Timestamp) -> Option<ClosedGate> {
    let (why, until) = match gate.closed() {
        Closed::No => return None,
        Closed::Throttled(until) if until > now => ("throttled", Some(until)),
        Closed::Broken(until) if until > now => ("broken", Some(until)),
        Closed::Throttled(_) => return None,
        Closed::Broken(_) | Closed::Trying => ("trying", None),
    };
    Some(ClosedGate { to: to.to_owned(), why, until, n_failed: gate.n_failed() })
}
