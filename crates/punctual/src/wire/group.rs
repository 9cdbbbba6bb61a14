//! People who belong together.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::schema;
use super::word::GroupMode;

/// A group, described in full.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GroupInput {
    /// The users, in the order in which they are asked: 1 to 100, each once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) users: Option<Vec<String>>,
    /// Whether they are asked one after the other or all at once; `in_order` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::GroupModeInput>)]
    pub(crate) mode: Option<GroupMode>,
}

impl GroupInput {
    /// The fields that an answer has and a request has not.
    pub(crate) const MADE_HERE: &[&str] = &["name", "created_at", "updated_at"];
}

/// A group.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) users: Vec<String>,
    pub(crate) mode: GroupMode,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// A page of groups, by name.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Groups {
    pub(crate) groups: Vec<Group>,
    /// Begins the next page; null on the last.
    pub(crate) next_cursor: Option<String>,
}

impl From<punctual_core::group::Group> for Group {
    fn from(group: punctual_core::group::Group) -> Self {
        let punctual_core::group::Group { name, mode, users, created_at, updated_at } = group;
        Self { name, users, mode: mode.into(), created_at, updated_at }
    }
}
