//! How receiving stands, channel by channel.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use jiff::Timestamp;
use punctual_core::channel::receive::Way;

use crate::dispatch::Channels;
use crate::metrics::{ChannelLabel, Metrics};
use crate::node::lock;

/// How many unknown senders are remembered.
const UNKNOWN_MAX: usize = 10;
/// The longest address of an unknown sender that is kept, in characters: platforms' own are shorter.
const ADDRESS_CHARS_MAX: usize = 100;

/// How one channel's receiving stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiving {
    /// Which way answers come.
    pub way: Way,
    /// How the connection is; a webhook has none.
    pub connection: Option<Link>,
    /// The node that has the connection, or last told the platform where its requests go.
    pub node: Option<String>,
    /// Since when the connection is as it is.
    pub since: Option<Timestamp>,
    /// The last trouble, while there is one.
    pub error: Option<String>,
    /// How many answers were taken here.
    pub answers: u64,
    /// How many presses and words came from people whom no user is.
    pub unknown_senders: u64,
    /// How many requests did not prove that they came from the platform.
    pub forged: u64,
    /// The last unknown senders: their addresses, and when they wrote.
    pub last_unknown: Vec<(String, Timestamp)>,
}

/// How a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Another node has it, or nobody yet.
    Elsewhere,
    /// It is being opened.
    Connecting,
    /// It is open.
    Connected,
    /// The platform refuses it, until an operator does something.
    Refused,
}

impl Link {
    /// The word that people see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elsewhere => "elsewhere",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Refused => "refused",
        }
    }
}

/// How every channel's receiving stands.
pub(crate) struct Standings(BTreeMap<String, Mutex<Known>>);

struct Known {
    shown: Receiving,
    last_unknown: VecDeque<(String, Timestamp)>,
}

impl Standings {
    pub(crate) fn of(channels: &Channels) -> Self {
        let known = |(name, channel): (&String, &std::sync::Arc<dyn punctual_core::channel::Channel>)| {
            let way = channel.receives()?.way();
            let shown = Receiving {
                way,
                connection: (way == Way::Connection).then_some(Link::Elsewhere),
                node: None,
                since: None,
                error: None,
                answers: 0,
                unknown_senders: 0,
                forged: 0,
                last_unknown: Vec::new(),
            };
            Some((name.clone(), Mutex::new(Known { shown, last_unknown: VecDeque::new() })))
        };
        Self(channels.iter().filter_map(known).collect())
    }

    /// The channels that receive.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// How a channel's receiving stands, if it receives.
    pub(crate) fn get(&self, channel: &str) -> Option<Receiving> {
        let known = lock(self.0.get(channel)?);
        Some(Receiving { last_unknown: known.last_unknown.iter().rev().cloned().collect(), ..known.shown.clone() })
    }

    /// Notes how a connection is now.
    pub(crate) fn link(&self, metrics: &Metrics, channel: &str, link: Link, error: Option<String>, now: Timestamp) {
        self.change(channel, |known| {
            known.error = error;
            if known.connection.is_some_and(|before| before != link) {
                known.connection = Some(link);
                known.since = Some(now);
            }
            if known.way == Way::Connection {
                let label = ChannelLabel { channel: channel.to_owned() };
                let is_open = i64::from(known.connection == Some(Link::Connected));
                metrics.inbound_connected.get_or_create(&label).set(is_open);
            }
        });
    }

    /// Notes which node has a channel.
    pub(crate) fn held_by(&self, channel: &str, node: &str) {
        self.change(channel, |known| known.node = Some(node.to_owned()));
    }

    /// Counts an answer.
    pub(crate) fn answered(&self, channel: &str) {
        self.change(channel, |known| known.answers += 1);
    }

    /// Counts a request that proved nothing; returns how many there were.
    pub(crate) fn forged(&self, channel: &str) -> u64 {
        let mut n_forged = 0;
        self.change(channel, |known| {
            known.forged += 1;
            n_forged = known.forged;
        });
        n_forged
    }

    /// Remembers somebody whom no user is, so that an operator can give their address to a user.
    pub(crate) fn unknown(&self, channel: &str, address: &str, now: Timestamp) {
        let Some(known) = self.0.get(channel) else { return };
        let mut known = lock(known);
        known.shown.unknown_senders += 1;
        let address: String = address.chars().take(ADDRESS_CHARS_MAX).collect();
        known.last_unknown.retain(|(before, _)| *before != address);
        known.last_unknown.push_back((address, now));
        if known.last_unknown.len() > UNKNOWN_MAX {
            known.last_unknown.pop_front();
        }
    }

    fn change(&self, channel: &str, change: impl FnOnce(&mut Receiving)) {
        if let Some(known) = self.0.get(channel) {
            change(&mut lock(known).shown);
        }
    }
}
