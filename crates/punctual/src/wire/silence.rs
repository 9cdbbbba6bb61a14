//! Stretches of time in which some reminders are not sent.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// What is silent, and when. A field that is given must match: `user` and `tag` together are that user's reminders with that tag. Without
/// `user`, `group` and `tag` it is the user of the key, else `me`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SilenceInput {
    /// Only this user's reminders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// Only reminders of the users in this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// Only reminders with this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<String>,
    /// When it begins: an instant, or words such as `friday at 18`; now if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// When it ends: an instant, or words such as `until monday` or `3d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<String>,
}

impl SilenceInput {
    /// The fields that an answer has and a request has not.
    pub(crate) const MADE_HERE: &[&str] = &["id", "created_at", "created_by"];
}

/// A stretch of time in which some reminders are not sent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Silence {
    pub(crate) id: String,
    pub(crate) user: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) created_at: Timestamp,
    pub(crate) created_by: String,
}

/// A page of silences that have not ended, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Silences {
    pub(crate) silences: Vec<Silence>,
    /// Begins the next page; null on the last.
    pub(crate) next_cursor: Option<String>,
}

/// Which silences to list.
#[derive(Debug, Clone, Default, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SilenceQuery {
    /// Only those for this user.
    pub(crate) user: Option<String>,
    /// Only those about this tag.
    pub(crate) tag: Option<String>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[param(minimum = 1, maximum = 500)]
    pub(crate) limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
}

impl From<punctual_core::silence::Silence> for Silence {
    fn from(silence: punctual_core::silence::Silence) -> Self {
        let punctual_core::silence::Silence { id, user, group, tag, from, until, created_at, created_by } = silence;
        Self { id: id.to_string(), user, group, tag, from, until, created_at, created_by }
    }
}
