//! The ways to reach people.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A channel, and how much it may send.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) kind: Cow<'static, str>,
    /// Whether it is used when nobody says where.
    pub(crate) default: bool,
    /// The most sends at once to one receiver.
    pub(crate) concurrency: usize,
    /// The most sends in a time to one receiver, such as `30/s`.
    pub(crate) rate: Option<String>,
    /// The most sends in a time to one address.
    pub(crate) address_rate: Option<String>,
    /// Sends under way.
    pub(crate) sending: usize,
    /// Messages that wait for their turn.
    pub(crate) waiting: usize,
    /// Receivers and addresses that are left alone now. A key bound to a user does not see them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) closed: Option<Vec<Gate>>,
    /// How answers come; null where they come only by links, or not at all.
    pub(crate) receives: Option<Receives>,
}

/// How answers come by a channel.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Receives {
    /// `connection` or `webhook`.
    pub(crate) way: Cow<'static, str>,
    /// `connected`, `connecting`, `elsewhere` (another node has the connection), `refused`, or `listening` for a webhook.
    pub(crate) state: Cow<'static, str>,
    /// The node that has the connection.
    pub(crate) node: Option<String>,
    /// Since when it is so.
    pub(crate) since: Option<Timestamp>,
    /// The last trouble, while there is one.
    pub(crate) error: Option<String>,
    /// Answers that this node has taken since it was started.
    pub(crate) answers: u64,
    /// Presses of people whose address no user has.
    pub(crate) unknown_senders: u64,
    /// Requests that did not prove that they came from the platform.
    pub(crate) forged: u64,
    /// The last people whose address no user has, newest first. A key bound to a user does not see them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_unknown: Option<Vec<UnknownSender>>,
}

/// Somebody whose address no user has.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct UnknownSender {
    /// To be given to a user, so that their answers count.
    pub(crate) address: String,
    pub(crate) at: Timestamp,
}

/// A receiver or an address that is left alone.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Gate {
    pub(crate) to: String,
    /// `throttled` or `broken`, or `trying` while one send shows whether it works again.
    pub(crate) why: Cow<'static, str>,
    pub(crate) until: Option<Timestamp>,
    /// Sends in a row that have failed.
    pub(crate) failures: u32,
}

/// All channels.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Channels {
    pub(crate) channels: Vec<Channel>,
    /// What an operator should know, such as that links lead nowhere but to this machine.
    pub(crate) warnings: Vec<String>,
    /// Always null: there is one page.
    pub(crate) next_cursor: Option<String>,
}

/// A real message to be sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Test {
    /// Where to send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// What became of a test.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Tested {
    pub(crate) channel: String,
    pub(crate) address: String,
    /// `sent`, `throttled`, `unavailable`, `refused`, `gone` or `unknown`.
    pub(crate) outcome: Cow<'static, str>,
    /// What that means for reminders.
    pub(crate) meaning: String,
    pub(crate) error: Option<String>,
    pub(crate) message_id: Option<String>,
    pub(crate) took_ms: f64,
}

/// An address that lives again.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Revive {
    /// Which. It must be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
}

/// An address that is used again.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Revived {
    pub(crate) channel: String,
    pub(crate) address: String,
    pub(crate) revived: bool,
}

/// An address that its platform calls dead.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct DeadAddress {
    pub(crate) channel: String,
    pub(crate) address: String,
    pub(crate) since: Timestamp,
    pub(crate) reason: String,
}

/// A page of dead addresses.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct DeadAddresses {
    pub(crate) dead_addresses: Vec<DeadAddress>,
    /// Begins the next page; null on the last.
    pub(crate) next_cursor: Option<String>,
}
