//! Offsets for all events below a path.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::either::OffsetInput;
use super::schema;

/// A scope, described in full.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScopeInput {
    /// When people are reminded of events that have no offsets of their own, up to 32; an empty list is never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offsets: Option<Vec<OffsetInput>>,
}

impl ScopeInput {
    /// The fields that an answer has and a request has not.
    pub(crate) const MADE_HERE: &[&str] = &["path", "updated_at", "replanned"];
}

/// A scope.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Scope {
    pub(crate) path: String,
    #[schema(value_type = Vec<schema::Offset>)]
    pub(crate) offsets: Vec<Value>,
    pub(crate) updated_at: Timestamp,
    /// How many events depend on it and are planned anew because it was just changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replanned: Option<u64>,
}

/// A page of scopes, by path.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Scopes {
    pub(crate) scopes: Vec<Scope>,
    /// Begins the next page; null on the last.
    pub(crate) next_cursor: Option<String>,
}

/// Which scopes to list.
#[derive(Debug, Clone, Default, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ScopeQuery {
    /// Only this path and those below it.
    pub(crate) under: Option<String>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[param(minimum = 1, maximum = 500)]
    pub(crate) limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
}
