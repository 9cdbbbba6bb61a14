//! The people reminders are for.

use jiff::Timestamp;
use punctual_core::reminder::Address;
use serde::{Deserialize, Serialize};

use super::either::AddressInput;
#[cfg(feature = "openapi")]
use super::schema;
use super::step::{Step, StepInput};
use super::word::QuietExcept;

/// A user, described in full: what is left out is not kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct UserInput {
    /// By name or offset; without it the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Such as `de`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Where to reach them, in order of preference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<AddressInput>>,
    /// When not to disturb them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHoursInput>,
    /// Until when nothing at all is sent to them: an instant, or words such as `until monday`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// Who is asked when they do not answer a reminder that has no plan of its own, up to 16 steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate: Option<Vec<StepInput>>,
    /// What they mean by words that leave something open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub habits: Option<HabitsInput>,
    /// Whether they are told when a critical reminder fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin: Option<bool>,
}

impl UserInput {
    /// The fields that an answer has and a request has not.
    pub const MADE_HERE: &[&str] = &["id", "calendar_url", "created_at", "updated_at"];
}

/// What somebody means by words that leave something open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct HabitsInput {
    /// `day_first` or `month_first`: what 5/3 is; without it the zone tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date_order: Option<String>,
    /// Such as `sun`; a week begins on Monday if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_day_of_week: Option<String>,
    /// When it is morning, such as `07:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub morning: Option<String>,
    /// When it is evening, such as `18:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evening: Option<String>,
    /// When a day is meant and no time of it, such as `09:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
}

/// What somebody means by words that leave something open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Habits {
    /// `day_first` or `month_first`: what 5/3 is; without it the zone tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date_order: Option<String>,
    /// Such as `sun`; a week begins on Monday if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_day_of_week: Option<String>,
    /// When it is morning, such as `07:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub morning: Option<String>,
    /// When it is evening, such as `18:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evening: Option<String>,
    /// When a day is meant and no time of it, such as `09:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
}

impl Habits {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// When not to disturb somebody.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct QuietHoursInput {
    /// A time of day such as `22:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// A time of day such as `07:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The least priority that may disturb them all the same; `critical` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<schema::QuietExceptInput>))]
    pub except: Option<QuietExcept>,
    /// Whether what waited is told in one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<bool>,
}

/// A user.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct User {
    /// Their id.
    pub id: String,
    /// Their zone; null: the server's.
    pub timezone: Option<String>,
    /// Their language; null: the server's.
    pub language: Option<String>,
    /// Where to reach them, in order of preference.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<schema::Address>))]
    pub addresses: Vec<Address>,
    /// When they are not disturbed.
    pub quiet_hours: Option<QuietHours>,
    /// Null as soon as it has passed.
    pub paused_until: Option<Timestamp>,
    /// Who is asked when they do not answer.
    #[serde(default)]
    pub escalate: Vec<Step>,
    /// What they mean by words that leave something open.
    #[serde(default, skip_serializing_if = "Habits::is_empty")]
    pub habits: Habits,
    /// Whether they are told when a critical reminder fails.
    pub admin: bool,
    /// The address of their calendar, which is a secret. Only the answer about one user has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar_url: Option<String>,
    /// When the entry was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// When a user is not disturbed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuietHours {
    /// A time of day such as `22:00`.
    pub from: String,
    /// A time of day such as `07:00`.
    pub to: String,
    /// The least priority that may disturb them all the same.
    pub except: QuietExcept,
    /// Whether what waited is told in one message.
    pub digest: bool,
}

/// The calendar of a user's reminders.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CalendarAddress {
    /// Its address, which is a secret: whoever has it can read the user's reminders.
    pub calendar_url: String,
}

/// A page of users, by id.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Users {
    /// The page.
    pub users: Vec<User>,
    /// Begins the next page; null on the last.
    pub next_cursor: Option<String>,
}

/// That a person is to be removed everywhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EraseInput {
    /// The user once more, so that nobody is erased by mistake.
    pub confirm: Option<String>,
    /// The `after` of the answer before; without it, it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// How far the erasure of a person has come.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Erased {
    /// Whether all of it is gone. If not, the same is asked for again, with `after`.
    pub is_done: bool,
    /// Where it goes on.
    pub after: String,
    /// How many reminders are gone.
    pub reminders: u64,
    /// How many records of others have named the person: answers, plans, what others were told, entries of the journal.
    pub records: u64,
}

impl From<Habits> for HabitsInput {
    fn from(habits: Habits) -> Self {
        let Habits { date_order, first_day_of_week, morning, evening, day } = habits;
        Self { date_order, first_day_of_week, morning, evening, day }
    }
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
            habits: Some(user.habits).filter(|habits| !habits.is_empty()).map(HabitsInput::from),
            admin: Some(user.admin),
        }
    }
}
