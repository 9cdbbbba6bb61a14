//! What narrows a call down.

use serde::Serialize;

/// Which reminders to list.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ReminderQuery {
    /// Only this user's.
    pub user: Option<String>,
    /// Only those of the user of the key, else of `me`.
    pub mine: Option<bool>,
    /// `active`, `paused`, `completed` or `cancelled`; or how the last run ended: `failed`, `missed` or `unanswered`.
    pub status: Option<String>,
    /// Only those due next from then on: a day, from its beginning, or a time.
    pub from: Option<String>,
    /// Only those due next until then: a day, to its end, or a time.
    pub to: Option<String>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// Only those whose own addresses name this channel, or whose last attempt went there. A page may have fewer than asked for, or none, and a
    /// `next_cursor` all the same. Not together with `q`.
    pub channel: Option<String>,
    /// Only those whose name or message has these letters anywhere, in any case and with or without accents; those that came last first. Fewer
    /// than three letters need a user.
    pub q: Option<String>,
    /// Only those of exactly this name or message, or whose id ends so.
    #[serde(rename = "match")]
    pub matching: Option<String>,
    /// Whether `total` says how many there are in all. Not together with `channel`, nor for a key that is bound to channels.
    pub count: Option<bool>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// For whom a call is made: the reminder must be theirs.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct UserQuery {
    /// The user.
    pub user: Option<String>,
}

/// Which part of a list.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct PageQuery {
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// Which of what was imported to list.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct SendsQuery {
    /// Where they come from, such as `v2_reminders@bot`.
    pub source: String,
    /// Only runs due from then on.
    pub from: Option<String>,
    /// Only runs due before that.
    pub to: Option<String>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl UserQuery {
    /// For this user, if one is named.
    pub fn of(user: Option<&str>) -> Self {
        Self { user: user.map(str::to_owned) }
    }
}
