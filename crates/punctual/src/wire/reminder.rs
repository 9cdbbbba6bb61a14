//! Reminders, as they are asked for and as they are shown.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_core::reminder::Address;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::either::{AddressInput, MisfireInput, Span};
use super::event::OfEvent;
use super::schema;
use super::step::{Step, StepInput};
use super::understood::Understood;
use super::word::{MisfirePolicy, OccurrenceState, OnUnknown, Priority, ReminderStatus};

/// What is said about a reminder: all of it when it is made, and what changes when it is changed.
///
/// A reminder is made of `text`, or of `message` and `schedule`. A change says neither `user`, `text`, `lang`, `created_via` nor `original_text`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ReminderInput {
    /// Whose it is; without it that of the key, else `me`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// A sentence that says what and when, such as `call mom tomorrow at 8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The language of `text`; without it the user's, else it is worked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lang: Option<String>,
    /// What to be reminded of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// A name to refer to it by. A change to null removes it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "clearable")]
    #[schema(value_type = Option<String>)]
    pub(crate) name: Option<Option<String>>,
    /// When it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ScheduleInput>)]
    pub(crate) schedule: Option<Schedule>,
    /// The zone its local times are meant in, by name or offset; without it the user's, else the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timezone: Option<String>,
    /// How urgent it is; `normal` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::PriorityInput>)]
    pub(crate) priority: Option<Priority>,
    /// Where to send it, in order of preference. The user's other addresses come after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<Vec<AddressInput>>,
    /// Whether nothing but `to` is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) only: Option<bool>,
    /// Whether an answer is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) require_ack: Option<bool>,
    /// The question that asks for an answer. A change to null removes it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "clearable")]
    #[schema(value_type = Option<String>)]
    pub(crate) ack_prompt: Option<Option<String>>,
    /// How long to wait for an answer before asking again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ack_timeout: Option<Span>,
    /// How many times to ask again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_ack_reminders: Option<u32>,
    /// Who is asked when its person does not answer, up to 16 steps; without it as the user's own entry says. A wish for an answer. A
    /// change replaces all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) escalate: Option<Vec<StepInput>>,
    /// Whether it may be put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) snooze_allowed: Option<bool>,
    /// How many times to try again when every address has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_retries: Option<u32>,
    /// What to do with runs that were missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) misfire: Option<MisfireInput>,
    /// What to do when nobody knows whether a send arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::OnUnknownInput>)]
    pub(crate) on_unknown: Option<OnUnknown>,
    /// What made it, such as `cli`; `api` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_via: Option<String>,
    /// The words somebody asked for it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) original_text: Option<String>,
    /// Anything its maker wants to find with it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// Words by which it is found and silenced together with others, such as `chores`: up to 16. A change replaces all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tags: Option<Vec<String>>,
}

impl ReminderInput {
    /// The fields that an answer has and a request has not.
    pub(crate) const MADE_HERE: &[&str] = &[
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
pub(crate) struct Schedule(pub(crate) Value);

impl Schedule {
    /// Whether it is due once.
    pub(crate) fn is_once(&self) -> bool {
        self.0["type"] == "once"
    }
}

/// A reminder, and what its runs have led to.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Reminder<'a> {
    pub(crate) id: String,
    pub(crate) user: Cow<'a, str>,
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) message: Cow<'a, str>,
    pub(crate) schedule: Schedule,
    pub(crate) timezone: Cow<'a, str>,
    pub(crate) priority: Priority,
    #[schema(value_type = Vec<schema::Address>)]
    pub(crate) to: Cow<'a, [Address]>,
    pub(crate) only: bool,
    pub(crate) require_ack: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ack_prompt: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ack_timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_ack_reminders: Option<u32>,
    /// Who is asked when its person does not answer.
    #[serde(default)]
    pub(crate) escalate: Vec<Step>,
    /// The run that nobody answered, if this asks somebody else about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) escalates: Option<String>,
    /// The event that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) event: Option<OfEvent>,
    pub(crate) snooze_allowed: bool,
    pub(crate) max_retries: u32,
    pub(crate) misfire: Misfire,
    pub(crate) on_unknown: OnUnknown,
    pub(crate) created_via: Cow<'a, str>,
    pub(crate) original_text: Option<Cow<'a, str>>,
    #[schema(value_type = Object)]
    pub(crate) metadata: Cow<'a, RawValue>,
    /// In lower case and in order.
    #[serde(default)]
    pub(crate) tags: Cow<'a, [String]>,
    pub(crate) status: ReminderStatus,
    /// When its next run is due, if there is one.
    pub(crate) next_run_at: Option<Timestamp>,
    /// Until when a run is snoozed, while one is.
    pub(crate) snoozed_until: Option<Timestamp>,
    /// The schedule in the language of its user.
    pub(crate) summary: String,
    pub(crate) last_run_at: Option<Timestamp>,
    pub(crate) last_status: Option<OccurrenceState>,
    pub(crate) total_runs: u32,
    /// How many runs in a row have failed.
    pub(crate) consecutive_errors: u32,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    /// What is wrong with it that did not keep it from being made or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<Warning>,
    /// What was understood of the `text` that it was just made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) understood: Option<Box<Understood>>,
}

/// What to do with runs that were missed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Misfire {
    pub(crate) policy: MisfirePolicy,
    /// How long after its time a run is still sent.
    pub(crate) within: String,
}

/// Something that is wrong, and prevented nothing.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Warning {
    pub(crate) field: String,
    pub(crate) detail: String,
}

/// A page of reminders, newest first.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Reminders<'a> {
    pub(crate) reminders: Vec<Reminder<'a>>,
    /// Begins the next page; null on the last.
    pub(crate) next_cursor: Option<String>,
    /// Of a search: about how much was written that it does not find yet. It is left out where it finds everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) indexing: Option<u64>,
}

/// Reminders to be made in one transaction.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the server reads each item by itself, so this only describes the body")]
pub(crate) struct Batch {
    /// Up to 10,000.
    pub(crate) reminders: Vec<ReminderInput>,
}

/// Reminders that were made in one transaction.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Created<'a> {
    pub(crate) created: usize,
    /// In the order in which they were asked for.
    pub(crate) reminders: Vec<Reminder<'a>>,
}

/// What a person answers to a reminder. `minutes` and `until` say how long a snooze lasts; `ack` and `dismiss` have neither. `resend` takes `run`
/// and `held`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Answer {
    /// The run that is meant; without it the first that awaits an answer, and for `resend` the last that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<u32>,
    /// For how long to snooze; 10 if neither this nor `until` is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) minutes: Option<u32>,
    /// Until when to snooze: an instant, or words such as `an hour` or `until friday at 8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<String>,
    /// The answer in the person's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The channel that it came by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) channel: Option<String>,
    /// Send a run again also if it may have arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<bool>,
}

/// What can be done to a reminder beside changing it.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "the server takes it from the path; this describes it")]
pub(crate) enum Command {
    Ack,
    Snooze,
    Dismiss,
    Pause,
    Resume,
    Skip,
    Fire,
    Undo,
    Resend,
}
