//! Stretches of time in which some reminders are not sent.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What is silent, and when. A field that is given must match: `user` and `tag` together are that user's reminders with that tag. Without
/// `user`, `group` and `tag` it is the user of the key, else `me`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SilenceInput {
    /// Only this user's reminders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Only reminders of the users in this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Only reminders with this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// When it begins: an instant, or words such as `friday at 18`; now if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// When it ends: an instant, or words such as `until monday` or `3d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl SilenceInput {
    /// The fields that an answer has and a request has not.
    pub const MADE_HERE: &[&str] = &["id", "created_at", "created_by"];
}

/// A stretch of time in which some reminders are not sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Silence {
    /// Its id.
    pub id: String,
    /// Only this user's reminders.
    pub user: Option<String>,
    /// Only reminders of the users in this group.
    pub group: Option<String>,
    /// Only reminders with this tag.
    pub tag: Option<String>,
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub until: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
}

/// A page of silences that have not ended, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Silences {
    /// The page.
    pub silences: Vec<Silence>,
    /// Begins the next page; null on the last.
    pub next_cursor: Option<String>,
}

/// Which silences to list.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct SilenceQuery {
    /// Only those for this user.
    pub user: Option<String>,
    /// Only those about this tag.
    pub tag: Option<String>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}
