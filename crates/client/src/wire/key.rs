//! Keys that may use the API.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_core::key::{Scope, Scopes};
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
    /// The only channels it sends by and sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<Vec<String>>,
    /// What it may do: `read`, `write`, `inbound`, `send-test`, `keys`, `admin`. It is `read` and `write` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// How often it may ask on each node, such as `100/s` or `30/min`. Without it, as the server's setting `key_rate` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// When it stops working: a time, or a span such as `90d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

impl KeyInput {
    /// The fields that an answer has and a request has not.
    pub const MADE_HERE: &[&str] = &["id", "key", "prefix", "created_at", "last_used_at", "replaced"];
}

/// How a key gets another secret.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RotateInput {
    /// How long the old secret works beside the new one, such as `1h`, which it is if nobody says; `0s`: not at all. At most `30d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
}

/// A key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Key {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// The key itself, only in the answer that made or rotated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The first characters of the key, by which it is recognised; null of a key that is older than they are.
    pub prefix: Option<String>,
    /// The only user it sees.
    pub user: Option<String>,
    /// The only channels it sends by and sees; empty: all.
    #[serde(default)]
    pub channels: Vec<String>,
    /// What it may do.
    pub scopes: Vec<Cow<'static, str>>,
    /// How often it may ask on each node; null: as the server's setting `key_rate` says.
    pub rate: Option<String>,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to the minute or so.
    pub last_used_at: Option<Timestamp>,
    /// The secret before the last rotation, for as long as it works.
    pub replaced: Option<ReplacedSecret>,
}

/// A secret that was replaced and still works.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplacedSecret {
    /// Its first characters.
    pub prefix: Option<String>,
    /// When it stops working.
    pub until: Timestamp,
}

/// All keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Keys {
    /// The keys, oldest first.
    pub keys: Vec<Key>,
    /// Always null: there is one page.
    pub next_cursor: Option<String>,
}

/// Who asks, by the key that they showed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Caller {
    /// The id of the key; `admin` of the admin's.
    pub id: String,
    /// What the key is for.
    pub name: String,
    /// The user who is meant where nobody says: the one that the key is bound to, else `me`.
    pub user: String,
    /// Whether the key sees that user alone.
    pub is_bound: bool,
    /// The only channels it sends by and sees; empty: all.
    #[serde(default)]
    pub channels: Vec<String>,
    /// What it may do.
    pub scopes: Vec<Cow<'static, str>>,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// The server's clock.
    pub now: Timestamp,
}

impl Caller {
    /// Whether the key may do what needs this scope.
    pub fn may(&self, scope: Scope) -> bool {
        Scopes::of(self.scopes.iter().filter_map(|scope| scope.parse().ok())).allow(scope)
    }
}

/// A link that signs in to the page once.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignInLink {
    /// The address to open in a browser. Whoever has it has the rights of the key.
    pub url: String,
    /// When it stops working.
    pub expires_at: Timestamp,
}
