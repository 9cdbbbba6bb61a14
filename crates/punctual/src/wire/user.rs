//! The people reminders are for.

use jiff::Timestamp;
use punctual_core::reminder::Address;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::either::AddressInput;
use super::schema;
use super::step::{Step, StepInput};
use super::word::QuietExcept;

/// A user, described in full: what is left out is not kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UserInput {
    /// By name or offset; without it the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timezone: Option<String>,
    /// Such as `de`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) language: Option<String>,
    /// Where to reach them, in order of preference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) addresses: Option<Vec<AddressInput>>,
    /// When not to disturb them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quiet_hours: Option<QuietHoursInput>,
    /// Until when nothing at all is sent to them: an instant, or words such as `until monday`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused_until: Option<String>,
    /// Who is asked when they do not answer a reminder that has no plan of its own, up to 16 steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) escalate: Option<Vec<StepInput>>,
    /// Whether they are told when a critical reminder fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) admin: Option<bool>,
}

impl UserInput {
    /// The fields that an answer has and a request has not.
    pub(crate) const MADE_HERE: &[&str] = &["id", "calendar_url", "created_at", "updated_at"];
}

/// When not to disturb somebody.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct QuietHoursInput {
    /// A time of day such as `22:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// A time of day such as `07:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// The least priority that may disturb them all the same; `critical` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::QuietExceptInput>)]
    pub(crate) except: Option<QuietExcept>,
    /// Whether what waited is told in one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<bool>,
}

/// A user.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct User {
    pub(crate) id: String,
    pub(crate) timezone: Option<String>,
    pub(crate) language: Option<String>,
    #[schema(value_type = Vec<schema::Address>)]
    pub(crate) addresses: Vec<Address>,
    pub(crate) quiet_hours: Option<QuietHours>,
    /// Null as soon as it has passed.
    pub(crate) paused_until: Option<Timestamp>,
    /// Who is asked when they do not answer.
    #[serde(default)]
    pub(crate) escalate: Vec<Step>,
    pub(crate) admin: bool,
    /// The address of their calendar, which is a secret. Only the answer about one user has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) calendar_url: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// When a user is not disturbed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct QuietHours {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) except: QuietExcept,
    pub(crate) digest: bool,
}

/// The calendar of a user's reminders.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct CalendarAddress {
    /// Its address, which is a secret: whoever has it can read the user's reminders.
    pub(crate) calendar_url: String,
}

/// A page of users, by id.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Users {
    pub(crate) users: Vec<User>,
    /// Begins the next page; null on the last.
    pub(crate) next_cursor: Option<String>,
}

/// That a person is to be removed everywhere.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EraseInput {
    /// The user once more, so that nobody is erased by mistake.
    pub(crate) confirm: Option<String>,
    /// The `after` of the answer before; without it, it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// How far the erasure of a person has come.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Erased {
    /// Whether all of it is gone. If not, the same is asked for again, with `after`.
    pub(crate) is_done: bool,
    /// Where it goes on.
    pub(crate) after: String,
    /// How many reminders are gone.
    pub(crate) reminders: u64,
    /// How many records of others have named the person: answers, plans, what others were told, entries of the journal.
    pub(crate) records: u64,
}

impl From<User> for UserInput {
    fn from(user: User) -> Self {
        let hours = |hours: QuietHours| QuietHoursInput {
            from: Some(hours.from),
            to: Some(hours.to),
            except: Some(hours.except),
            digest: Some(hours.digest),
        };
        Self {
            timezone: user.timezone,
            language: user.language,
            addresses: Some(user.addresses.into_iter().map(AddressInput::from).collect()),
            quiet_hours: user.quiet_hours.map(hours),
            paused_until: user.paused_until.map(|until| until.to_string()),
            escalate: Some(user.escalate.into_iter().map(StepInput::from).collect()),
            admin: Some(user.admin),
        }
    }
}
