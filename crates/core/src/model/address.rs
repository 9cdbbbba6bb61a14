//! Where people can be reached.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::invalid::Invalid;

/// Where to send.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Address {
    /// The channel's name, such as `webhook`.
    pub channel: String,
    /// A person's place in that channel, such as a URL.
    #[serde(default)]
    pub address: String,
}

impl Address {
    /// `address` in `channel`.
    pub fn new(channel: impl Into<String>, address: impl Into<String>) -> Self {
        Self { channel: channel.into(), address: address.into() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.address.is_empty() {
            f.write_str(&self.channel)
        } else {
            write!(f, "{}:{}", self.channel, self.address)
        }
    }
}

impl FromStr for Address {
    type Err = Invalid;

    /// Reads `channel:address`, as the CLI takes it.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (channel, address) = text.split_once(':').unwrap_or((text, ""));
        if channel.is_empty() {
            return Err(Invalid::new(
                "to",
                format!("`{text}` names no channel; write CHANNEL:ADDRESS, such as webhook:https://example.org/hook"),
            ));
        }
        // A bare URL is what people paste; it can only mean a webhook.
        if matches!(channel, "http" | "https") && address.starts_with("//") {
            return Ok(Self::new("webhook", text));
        }
        Ok(Self::new(channel, address))
    }
}

/// An address that its platform calls dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadAddress {
    /// Which.
    pub address: Address,
    /// Since when that is known.
    pub since: Timestamp,
    /// What the platform said.
    pub reason: String,
}
