//! Offsets for all events below a path.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::either::OffsetInput;
#[cfg(feature = "openapi")]
use super::schema;

/// A scope, described in full.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ScopeInput {
    /// When people are reminded of events that have no offsets of their own, up to 32; an empty list is never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<OffsetInput>>,
}

impl ScopeInput {
    /// The fields that an answer has and a request has not.
    pub const MADE_HERE: &[&str] = &["path", "updated_at", "replanned"];
}

/// A scope.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scope {
    /// Its path, such as `guild:1`.
    pub path: String,
    /// When people are reminded of events that have no offsets of their own.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<schema::Offset>))]
    pub offsets: Vec<Value>,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// How many events depend on it and are planned anew because it was just changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replanned: Option<u64>,
}

/// A page of scopes, by path.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scopes {
    /// The page.
    pub scopes: Vec<Scope>,
    /// Begins the next page; null on the last.
    pub next_cursor: Option<String>,
}

/// Which scopes to list.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ScopeQuery {
    /// Only this path and those below it.
    pub under: Option<String>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}
