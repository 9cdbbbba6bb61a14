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
    /// `read`, or `read` and `write`, which it is if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scopes: Option<Vec<String>>,
    /// When it stops working: a time, or a span such as `90d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
}

impl KeyInput {
    /// The fields that an answer has and a request has not.
    pub(crate) const MADE_HERE: &[&str] = &["id", "key", "created_at"];
}

/// A key.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The key itself, only in the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) scopes: Vec<Cow<'static, str>>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) created_at: Timestamp,
}

/// All keys.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Keys {
    pub(crate) keys: Vec<Key>,
    /// Always null: there is one page.
    pub(crate) next_cursor: Option<String>,
}
