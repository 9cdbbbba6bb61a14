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
    /// The calendar that says who is on duty, and so who is asked: `https://…`, or `file:NAME` in the operator's folder. While nobody is, `users` are
    /// asked, who may then be none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rota: Option<String>,
}

impl GroupInput {
    /// The fields that an answer has and a request has not.
    pub(crate) const MADE_HERE: &[&str] = &["name", "on_duty", "created_at", "updated_at"];
}

/// A group.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) users: Vec<String>,
    pub(crate) mode: GroupMode,
    /// Where the calendar is that says who is on duty, without what may be a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rota: Option<String>,
    /// Who is on duty now, where a calendar says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) on_duty: Option<Vec<String>>,
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

impl Group {
    /// The group as it is at `now`.
    pub(crate) fn of(group: punctual_core::group::Group, now: Timestamp) -> Self {
        let is_now = |shift: &&punctual_core::group::Shift| shift.from_at <= now && now < shift.until_at;
        let on_duty = group.rota.as_ref().map(|_| {
            let mut people: Vec<String> = Vec::new();
            for shift in group.shifts.iter().filter(is_now) {
                if !people.contains(&shift.user) {
                    people.push(shift.user.clone());
                }
            }
            people
        });
        let rota = group.rota.as_deref().map(punctual_core::feed::shown_source);
        let punctual_core::group::Group { name, mode, users, created_at, updated_at, .. } = group;
        Self { name, users, mode: mode.into(), rota, on_duty, created_at, updated_at }
    }
}
