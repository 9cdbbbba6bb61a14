//! Keys that may use the API.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A key to be made.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KeyInput {
    /// What the key is for. It must be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The only user it sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// The only channels it sends by and sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) channels: Option<Vec<String>>,
    /// What it may do: `read`, `write`, `inbound`, `send-test`, `keys`, `admin`. It is `read` and `write` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scopes: Option<Vec<String>>,
    /// How often it may ask on each node, such as `100/s` or `30/min`. Without it, as the server's setting `key_rate` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<String>,
    /// When it stops working: a time, or a span such as `90d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
}

impl KeyInput {
    /// The fields that an answer has and a request has not.
    pub(crate) const MADE_HERE: &[&str] = &["id", "key", "prefix", "created_at", "last_used_at", "replaced"];
}

/// How a key gets another secret.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RotateInput {
    /// How long the old secret works beside the new one, such as `1h`, which it is if nobody says; `0s`: not at all. At most `30d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overlap: Option<String>,
}

/// A key.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The key itself, only in the answer that made or rotated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// The first characters of the key, by which it is recognised; null of a key that is older than they are.
    pub(crate) prefix: Option<String>,
    /// The only user it sees.
    pub(crate) user: Option<String>,
    /// The only channels it sends by and sees; empty: all.
    #[serde(default)]
    pub(crate) channels: Vec<String>,
    pub(crate) scopes: Vec<Cow<'static, str>>,
    /// How often it may ask on each node; null: as the server's setting `key_rate` says.
    pub(crate) rate: Option<String>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) created_at: Timestamp,
    /// When it was last used, to the minute or so.
    pub(crate) last_used_at: Option<Timestamp>,
    /// The secret before the last rotation, for as long as it works.
    pub(crate) replaced: Option<ReplacedSecret>,
}

/// A secret that was replaced and still works.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ReplacedSecret {
    /// Its first characters.
    pub(crate) prefix: Option<String>,
    /// When it stops working.
    pub(crate) until: Timestamp,
}

/// All keys.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Keys {
    pub(crate) keys: Vec<Key>,
    /// Always null: there is one page.
    pub(crate) next_cursor: Option<String>,
}
