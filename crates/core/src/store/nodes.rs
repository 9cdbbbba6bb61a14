//! What nodes that share a store say of themselves and hear of each other.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_time::words;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::channel::WAIT_MAX;
use crate::channel::receive::Way;
use crate::shard::Shards;

/// A node that says it lives.
#[derive(Debug, Clone)]
pub struct Beat {
    /// Who.
    pub node: String,
    /// The word that it wants to hear back through [`Ears`], if any: random, so that nobody else can say it first.
    pub echo: Option<String>,
    /// Fingerprints of what all nodes should have alike, as [`Shared`] writes them.
    pub shared: String,
    /// Whether somebody reads the journal there as it is written.
    pub follows: Follows,
    /// What it says of itself.
    pub about: About,
}

/// What a node says of itself, for people who look after it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Its version.
    pub version: Option<String>,
    /// By how many microseconds its machine's clock was behind the store's when it was set by that.
    pub clock_offset_micros: Option<i64>,
    /// Runs that it has claimed and not settled.
    pub in_flight: Option<u64>,
    /// Messages that wait for their turn.
    pub waiting: Option<u64>,
    /// Whether it hears what others change.
    pub hears: Option<bool>,
}

impl About {
    /// As a store keeps it.
    pub fn to_stored(&self) -> String {
        // Words and numbers always are JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`Self::to_stored`] wrote. A node of another version may say less, or nothing.
    pub fn from_stored(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

/// Whether a node lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeState {
    /// It said so a moment ago.
    Alive,
    /// It has not been heard of for a while.
    Silent,
}

words!(NodeState as "state" { "alive" => Alive, "silent" => Silent });

/// A node that a store knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownNode {
    /// Its name.
    pub name: String,
    /// When it was started.
    pub since: Timestamp,
    /// When it last said that it lives.
    pub seen_at: Timestamp,
    /// Whether that was a moment ago: then it has shards.
    pub is_alive: bool,
    /// What it says of itself.
    pub about: About,
}

/// The nodes that a store knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownNodes {
    /// The time of the store's clock.
    pub now: Timestamp,
    /// By name. One that has been silent for long is forgotten.
    pub nodes: Vec<KnownNode>,
}

/// Whether somebody reads the journal on a node as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Follows {
    /// Nobody.
    #[default]
    No,
    /// Somebody, since its last beat: the others are told ([`Heard::Followed`]).
    Begins,
    /// Somebody.
    Yes,
}

/// What a node learns when it says that it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulse {
    /// The time of the store's clock, by which all nodes go.
    pub now: Timestamp,
    /// Every node that lives, itself among them.
    pub nodes: Vec<String>,
    /// The shards that are this node's.
    pub shards: Shards,
    /// The earliest instant at which anything must be looked at, whosever it is. It may have passed.
    pub first_at: Option<Timestamp>,
    /// What living nodes say of these, each text once ([`Beat::shared`]).
    pub shared: Vec<String>,
    /// Whether somebody reads the journal as it is written, on any node that lives.
    pub followed: bool,
    /// The last position of the journal.
    pub head: i64,
    /// Whether something is committed that has no place in the journal yet.
    pub unplaced: bool,
}

/// How the names of the ways end in which answers come.
const RECEIVE: &str = ".receive";

/// Fingerprints of what all nodes should have alike, by name: written as `name=fingerprint`, with spaces between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shared(Vec<(String, String)>);

impl Shared {
    /// With one more.
    #[must_use]
    pub fn with(mut self, name: &str, fingerprint: &str) -> Self {
        self.0.push((name.to_owned(), fingerprint.to_owned()));
        self
    }

    /// With the way in which the answers of a channel come, which is no secret.
    #[must_use]
    pub fn with_receive(self, channel: &str, way: Option<Way>) -> Self {
        self.with(&format!("channels.{channel}{RECEIVE}"), way.map_or("off", |way| way.as_str()))
    }

    /// Whether a name that differs is that of a channel's way.
    pub fn is_receive(name: &str) -> bool {
        name.ends_with(RECEIVE)
    }

    /// The names of what is not alike in one of `others`. What only one of them has is no difference.
    pub fn differing(&self, others: &[String]) -> Vec<String> {
        let differs = |(name, own): &&(String, String)| {
            let said = others.iter().flat_map(|other| other.split(' ')).filter_map(|pair| pair.split_once('='));
            said.filter(|(other, _)| other == name).any(|(_, fingerprint)| fingerprint != own)
        };
        self.0.iter().filter(differs).map(|(name, _)| name.clone()).collect()
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, fingerprint)) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{name}={fingerprint}")?;
        }
        Ok(())
    }
}

/// Hears what others change.
#[async_trait]
pub trait Ears: Send {
    /// Waits for the next news. An error means that none will come any more.
    async fn hear(&mut self) -> Result<Heard, StoreError>;
}

/// What a store tells its nodes. Others may be able to say the same, so each is a reason to look, and none is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Something must be looked at, at these instants.
    Wake(Vec<(u8, Timestamp)>),
    /// The moments to come have changed in ways too many to tell: read them afresh.
    Look,
    /// A node has left.
    Left,
    /// A node asks for something back: [`recalled`](super::Store::recalled) says what.
    Recalled,
    /// The word that a node sent along with a beat ([`Beat::echo`]) has come back: notifications arrive.
    Beat(String),
    /// A receiver or an address asked a node to be left alone: [`throttles`](super::Store::throttles) says which.
    Throttled,
    /// A node has placed entries of the journal.
    Placed,
    /// Somebody has begun to read the journal on a node.
    Followed,
    /// Events were written that are to be planned.
    Events,
    /// No node says this.
    Nonsense,
}

/// A wait that a platform asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttle {
    /// Which channel.
    pub channel: String,
    /// The receiver, or the fingerprint of the address's bucket: whoever may connect to the store may listen, and an address may
    /// be a secret.
    pub name: String,
    /// Whether it is the address alone.
    pub is_address: bool,
    /// How long from now.
    pub wait: Duration,
}

impl Throttle {
    /// The longest wait that nodes believe each other. Many people may share a receiver, so its wait is renewed by whoever is asked
    /// for it again.
    pub fn wait_max(is_address: bool) -> Duration {
        if is_address { WAIT_MAX } else { Duration::from_secs(60) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_differ_in_what_both_have_otherwise() {
        let own = Shared::default().with("webhook_secret", "a1").with("link_secret", "b2");
        assert_eq!(own.to_string(), "webhook_secret=a1 link_secret=b2");
        let check = |others: &[&str], expect: &[&str]| {
            let others: Vec<String> = others.iter().map(|other| (*other).to_owned()).collect();
            assert_eq!(own.differing(&others), expect, "{others:?}");
        };
        check(&[], &[]);
        check(&["webhook_secret=a1 link_secret=b2"], &[]);
        check(&["webhook_secret=a1 link_secret=b2", "link_secret=x webhook_secret=a1"], &["link_secret"]);
        check(&["webhook_secret=y", "link_secret=z other=1"], &["webhook_secret", "link_secret"]);
        check(&["", "nonsense", "other=1"], &[]);
        let own = own.with_receive("family", Some(Way::Connection)).with_receive("team", None);
        assert!(own.to_string().ends_with(" channels.family.receive=connection channels.team.receive=off"));
        let other = Shared::default().with_receive("family", Some(Way::Webhook)).with_receive("team", None);
        let differing = own.differing(&[other.to_string()]);
        assert_eq!(differing, ["channels.family.receive"]);
        assert!(differing.iter().all(|name| Shared::is_receive(name)) && !Shared::is_receive("link_secret"));
    }
}
