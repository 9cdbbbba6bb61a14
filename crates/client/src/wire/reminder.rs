//! Reminders, as they are asked for and as they are shown.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_core::reminder::Address;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::either::{AddressInput, MisfireInput, Span};
use super::event::OfEvent;
#[cfg(feature = "openapi")]
use super::schema;
use super::step::{Step, StepInput};
use super::understood::Understood;
use super::word::{MisfirePolicy, OccurrenceState, OnUnknown, Priority, ReminderStatus};

/// What is said about a reminder: all of it when it is made, and what changes when it is changed.
///
/// A reminder is made of `text`, or of `message` and `schedule`. A change says neither `user`, `text`, `lang`, `created_via` nor `original_text`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ReminderInput {
    /// Whose it is; without it that of the key, else `me`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// A sentence that says what and when, such as `call mom tomorrow at 8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The language of `text`; without it the user's, else it is worked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// What to be reminded of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// A name to refer to it by. A change to null removes it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "clearable")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub name: Option<Option<String>>,
    /// When it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<schema::ScheduleInput>))]
    pub schedule: Option<Schedule>,
    /// The zone its local times are meant in, by name or offset; without it the user's, else the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// How urgent it is; `normal` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<schema::PriorityInput>))]
    pub priority: Option<Priority>,
    /// Where to send it, in order of preference. The user's other addresses come after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<AddressInput>>,
    /// Whether nothing but `to` is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<bool>,
    /// Whether an answer is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_ack: Option<bool>,
    /// The question that asks for an answer. A change to null removes it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "clearable")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub ack_prompt: Option<Option<String>>,
    /// How long to wait for an answer before asking again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_timeout: Option<Span>,
    /// How many times to ask again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ack_reminders: Option<u32>,
    /// Who is asked when its person does not answer, up to 16 steps; without it as the user's own entry says. A wish for an answer. A
    /// change replaces all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate: Option<Vec<StepInput>>,
    /// Whether it may be put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snooze_allowed: Option<bool>,
    /// How many times to try again when every address has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// What to do with runs that were missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfire: Option<MisfireInput>,
    /// What to do when nobody knows whether a send arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<schema::OnUnknownInput>))]
    pub on_unknown: Option<OnUnknown>,
    /// What made it, such as `cli`; `api` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_via: Option<String>,
    /// The words somebody asked for it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_text: Option<String>,
    /// Anything its maker wants to find with it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata: Option<Map<String, Value>>,
    /// Words by which it is found and silenced together with others, such as `chores`: up to 16. A change replaces all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl ReminderInput {
    /// The fields that an answer has and a request has not.
    pub const MADE_HERE: &[&str] = &[
        "id",
        "escalates",
        "event",
        "status",
        "next_run_at",
        "snoozed_until",
        "summary",
        "last_run_at",
        "last_status",
        "total_runs",
        "consecutive_errors",
        "created_at",
        "updated_at",
        "warnings",
        "understood",
    ];
}

/// A field that null clears: `Some(None)` then.
fn clearable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// When a reminder is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schedule(pub Value);

impl Schedule {
    /// Whether it is due once.
    pub fn is_once(&self) -> bool {
        self.0["type"] == "once"
    }
}

/// A reminder, and what its runs have led to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reminder<'a> {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub user: Cow<'a, str>,
    /// What it is called, if it has a name.
    pub name: Option<Cow<'a, str>>,
    /// What its user is reminded of.
    pub message: Cow<'a, str>,
    /// When it is due.
    pub schedule: Schedule,
    /// The zone that its local times are meant in.
    pub timezone: Cow<'a, str>,
    /// How urgent it is.
    pub priority: Priority,
    /// Where it is sent, in order of preference.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<schema::Address>))]
    pub to: Cow<'a, [Address]>,
    /// Whether nothing but `to` is tried.
    pub only: bool,
    /// Whether an answer is asked for.
    pub require_ack: bool,
    /// The question that asks for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_prompt: Option<Cow<'a, str>>,
    /// How long an answer is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_timeout: Option<String>,
    /// How many times it is asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ack_reminders: Option<u32>,
    /// Who is asked when its person does not answer.
    #[serde(default)]
    pub escalate: Vec<Step>,
    /// The run that nobody answered, if this asks somebody else about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalates: Option<String>,
    /// The event that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<OfEvent>,
    /// Whether it may be put off.
    pub snooze_allowed: bool,
    /// How many times it is tried again when every address has failed.
    pub max_retries: u32,
    /// What is done with runs that were missed.
    pub misfire: Misfire,
    /// What is done when nobody knows whether a send arrived.
    pub on_unknown: OnUnknown,
    /// What made it, such as `api` or `cli`.
    pub created_via: Cow<'a, str>,
    /// The words somebody asked for it with.
    pub original_text: Option<Cow<'a, str>>,
    /// What its maker wants to find with it again.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: Cow<'a, RawValue>,
    /// In lower case and in order.
    #[serde(default)]
    pub tags: Cow<'a, [String]>,
    /// Where it stands.
    pub status: ReminderStatus,
    /// When its next run is due, if there is one.
    pub next_run_at: Option<Timestamp>,
    /// Until when a run is snoozed, while one is.
    pub snoozed_until: Option<Timestamp>,
    /// The schedule in the language of its user.
    pub summary: String,
    /// When its last run was due.
    pub last_run_at: Option<Timestamp>,
    /// What became of its last run.
    pub last_status: Option<OccurrenceState>,
    /// How many runs it has had.
    pub total_runs: u32,
    /// How many runs in a row have failed.
    pub consecutive_errors: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// What is wrong with it that did not keep it from being made or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What was understood of the `text` that it was just made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub understood: Option<Box<Understood>>,
}

/// What to do with runs that were missed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Misfire {
    /// Which of them are sent.
    pub policy: MisfirePolicy,
    /// How long after its time a run is still sent.
    pub within: String,
}

/// Something that is wrong, and prevented nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Warning {
    /// The field that it is about.
    pub field: String,
    /// What is wrong with it.
    pub detail: String,
}

/// A page of reminders, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reminders<'a> {
    /// The page.
    pub reminders: Vec<Reminder<'a>>,
    /// Begins the next page; null on the last.
    pub next_cursor: Option<String>,
    /// Of a search: about how much was written that it does not find yet. It is left out where it finds everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexing: Option<u64>,
    /// How many there are in all, where `count` asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Total>,
}

/// How many there are.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Total {
    /// So many, at least.
    pub n: usize,
    /// Whether that is all: counting looks at 20,000 reminders, and at 1,000 of those that `q` finds.
    pub exact: bool,
}

/// Reminders to be made in one transaction. The server reads each by itself, because its errors name the item.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Up to 10,000.
    pub reminders: Vec<ReminderInput>,
}

/// Reminders that were made in one transaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Created<'a> {
    /// How many.
    pub created: usize,
    /// In the order in which they were asked for.
    pub reminders: Vec<Reminder<'a>>,
}

/// What a person answers to a reminder. `minutes` and `until` say how long a snooze lasts; `ack` and `dismiss` have neither. `resend` takes `run`
/// and `held`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Answer {
    /// The run that is meant; without it the first that awaits an answer, and for `resend` the last that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
    /// For how long to snooze; 10 if neither this nor `until` is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// Until when to snooze: an instant, or words such as `an hour` or `until friday at 8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The answer in the person's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The channel that it came by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Send a run again also if it may have arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
}

/// What can be done to a reminder beside changing it.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(rename_all = "lowercase"))]
pub enum Command {
    /// It is done.
    Ack,
    /// Put it off.
    Snooze,
    /// Not this time.
    Dismiss,
    /// Nothing is sent until it is resumed.
    Pause,
    /// Goes on after a pause.
    Resume,
    /// Leave out the next run.
    Skip,
    /// Send it now.
    Fire,
    /// Take back the last change.
    Undo,
    /// Send a run again that has failed.
    Resend,
}
