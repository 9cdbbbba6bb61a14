//! Sending again what has failed.

use serde::{Deserialize, Serialize};

/// Which runs that failed are sent again. A field that is given must match.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ResendInput {
    /// Runs that failed: `true`, also if it is left out. There are no others that are sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// Only those that failed since then: a length of time such as `2h`, a day, or an instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only this user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Only of reminders with this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Only those that were tried on this channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Also those that may have arrived; `false` if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// Only say how many there are; `false` if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_only: Option<bool>,
}

/// How many runs are sent again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Resent {
    /// Runs that were found and can be sent again, at most 10,000.
    pub count: usize,
    /// Runs that are sent again; 0 where they were only counted.
    pub resent: usize,
    /// Runs that something else happened to meanwhile.
    pub left_out: usize,
    /// Runs that may have arrived, and are left alone for that reason.
    pub held: usize,
    /// There are more: the same call again goes on with them.
    pub more: bool,
}
