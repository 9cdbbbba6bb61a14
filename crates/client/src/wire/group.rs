//! People who belong together.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use super::schema;
use super::word::GroupMode;

/// A group, described in full.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct GroupInput {
    /// The users, in the order in which they are asked: 1 to 100, each once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<String>>,
    /// Whether they are asked one after the other or all at once; `in_order` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<schema::GroupModeInput>))]
    pub mode: Option<GroupMode>,
    /// The calendar that says who is on duty, and so who is asked: `https://…`, or `file:NAME` in the operator's folder. While nobody is, `users` are
    /// asked, who may then be none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rota: Option<String>,
}

impl GroupInput {
    /// The fields that an answer has and a request has not.
    pub const MADE_HERE: &[&str] = &["name", "on_duty", "problem", "problems", "created_at", "updated_at"];
}

/// A group.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The users, in the order in which they are asked.
    pub users: Vec<String>,
    /// Whether they are asked one after the other or all at once.
    pub mode: GroupMode,
    /// Where the calendar is that says who is on duty, without what may be a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rota: Option<String>,
    /// Who is on duty now, where a calendar says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_duty: Option<Vec<String>>,
    /// Why that calendar could not be read; who is on duty is then as it was read before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What of that calendar could not be read, or names no user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A page of groups, by name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Groups {
    /// The page.
    pub groups: Vec<Group>,
    /// Begins the next page; null on the last.
    pub next_cursor: Option<String>,
}
