//! The ways to reach people.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::word::SendOutcome;

/// A channel, and how much it may send.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// What kind it is, such as `webhook`.
    pub kind: Cow<'static, str>,
    /// Whether it is used when nobody says where.
    pub default: bool,
    /// The most sends at once to one receiver.
    pub concurrency: usize,
    /// The most sends in a time to one receiver, such as `30/s`.
    pub rate: Option<String>,
    /// The most sends in a time to one address.
    pub address_rate: Option<String>,
    /// Sends under way. A bound key does not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending: Option<usize>,
    /// Messages that wait for their turn. A bound key does not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<usize>,
    /// Receivers and addresses that are left alone now. A bound key does not see them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<Vec<Gate>>,
    /// The key with which a browser subscribes, as the Push API's `applicationServerKey` takes it; only of the kind `webpush`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// How answers come; null where they come only by links, or not at all.
    pub receives: Option<Receives>,
    /// Addresses that their platform calls dead. A bound key does not see how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead: Option<usize>,
    /// What became of the last sends, on the node that answers. A bound key does not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Outcomes>,
}

/// What became of a channel's sends of the last hour, on the node that answers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Outcomes {
    /// Messages that were taken.
    pub sent: u64,
    /// Attempts that have failed.
    pub failed: u64,
    /// Attempts of the last whole minute.
    pub last_minute: u64,
    /// When a message was last taken, since the node was started.
    pub sent_at: Option<Timestamp>,
    /// When an attempt last failed, since then.
    pub failed_at: Option<Timestamp>,
    /// Why it did. A bound key does not see it.
    pub error: Option<String>,
}

/// How answers come by a channel.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Receives {
    /// `connection` or `webhook`.
    pub way: Cow<'static, str>,
    /// `connected`, `connecting`, `elsewhere` (another node has the connection), `refused`, or `listening` for a webhook.
    pub state: Cow<'static, str>,
    /// The node that has the connection. A bound key does not see it.
    pub node: Option<String>,
    /// Since when it is so.
    pub since: Option<Timestamp>,
    /// The last trouble, while there is one.
    pub error: Option<String>,
    /// Answers that this node has taken since it was started. A bound key does not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<u64>,
    /// Presses of people whose address no user has. A bound key does not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_senders: Option<u64>,
    /// Requests that did not prove that they came from the platform. A bound key does not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forged: Option<u64>,
    /// The last people whose address no user has, newest first. A bound key does not see them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_unknown: Option<Vec<UnknownSender>>,
}

/// Somebody whose address no user has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UnknownSender {
    /// To be given to a user, so that their answers count.
    pub address: String,
    /// When they wrote.
    pub at: Timestamp,
}

/// A receiver or an address that is left alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Gate {
    /// Which.
    pub to: String,
    /// `throttled` or `broken`, or `trying` while one send shows whether it works again.
    pub why: Cow<'static, str>,
    /// Until when, if that is known.
    pub until: Option<Timestamp>,
    /// Sends in a row that have failed.
    pub failures: u32,
}

/// All channels.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Channels {
    /// By name.
    pub channels: Vec<Channel>,
    /// What an operator should know, such as that links lead nowhere but to this machine.
    pub warnings: Vec<String>,
    /// The node that answers: `sending`, `waiting`, `closed` and `outcomes` are its own. A bound key does not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Since when it runs. A bound key does not see it.
    pub since: Option<Timestamp>,
    /// Always null: there is one page.
    pub next_cursor: Option<String>,
}

/// A real message to be sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Test {
    /// Where to send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What became of a test.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tested {
    /// The channel.
    pub channel: String,
    /// The address in it.
    pub address: String,
    /// `sent`, or why it was not.
    pub outcome: SendOutcome,
    /// What that means for reminders.
    pub meaning: String,
    /// What the platform said, if it refused.
    pub error: Option<String>,
    /// What the platform calls the message.
    pub message_id: Option<String>,
    /// Whether the address counts as dead although it took this one: nothing else is sent there until somebody revives it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dead: bool,
    /// How many milliseconds the send took.
    pub took_ms: f64,
}

/// An address that lives again.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Revive {
    /// Which. It must be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// An address that is used again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Revived {
    /// The channel.
    pub channel: String,
    /// The address in it.
    pub address: String,
    /// Whether it was dead before.
    pub revived: bool,
}

/// An address that its platform calls dead.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadAddress {
    /// The channel.
    pub channel: String,
    /// The address in it.
    pub address: String,
    /// Since when.
    pub since: Timestamp,
    /// What the platform said.
    pub reason: String,
}

/// A page of dead addresses.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadAddresses {
    /// The page.
    pub dead_addresses: Vec<DeadAddress>,
    /// Begins the next page; null on the last.
    pub next_cursor: Option<String>,
}
