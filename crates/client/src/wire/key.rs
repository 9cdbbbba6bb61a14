//! Keys that may use the API.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A key to be made.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct KeyInput {
    /// What the key is for. It must be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The only user it sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `read`, or `read` and `write`, which it is if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// When it stops working: a time, or a span such as `90d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

impl KeyInput {
    /// The fields that an answer has and a request has not.
    pub const MADE_HERE: &[&str] = &["id", "key", "created_at"];
}

/// A key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Key {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// The key itself, only in the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The only user it sees.
    pub user: Option<String>,
    /// What it may do.
    pub scopes: Vec<Cow<'static, str>>,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// All keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Keys {
    /// By name.
    pub keys: Vec<Key>,
    /// Always null: there is one page.
    pub next_cursor: Option<String>,
}
