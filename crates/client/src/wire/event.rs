//! Events of the application's, as they are written and as they are shown.

use jiff::Timestamp;
use punctual_core::reminder::Address;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::either::{AddressInput, MisfireInput, OffsetInput, Span};
use super::reminder::Misfire;
#[cfg(feature = "openapi")]
use super::schema;
use super::step::{Step, StepInput};
use super::word::{OccurrenceState, OnUnknown, Priority};

/// An event, described in full: a field that is left out is not kept from before, but for `instances`.
///
/// `users`, `groups` or `to` say whom to remind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct EventInput {
    /// Its name, in a batch; elsewhere the path has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// When it starts, such as `2026-03-10T18:00:00+01:00`, or a local time in its zone; of a series, the instant from which its rule counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<String>,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<String>,
    /// When people are reminded, up to 32. Without it the nearest scope's count; an empty list is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<OffsetInput>>,
    /// Where it stands, such as `guild:1/channel:2`. In the name of a level `%2F` is a slash and `%25` a percent sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Whom to remind, up to 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<String>>,
    /// Groups whose members are reminded, up to 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    /// Where to send, in order of preference. The users' other addresses come after; without users and groups the reminders belong to the
    /// user `event:KEY`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<AddressInput>>,
    /// Whether nothing but `to` is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<bool>,
    /// What to say, with the fields `{minutes}`, `{starts_at}`, `{ends_at}`, `{key}` and those of the metadata that are plain values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The reminders' name; the event's key if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The zone its local times are meant in, by name or offset; without it each user's, else the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// How it repeats: a rule such as `FREQ=WEEKLY;BYDAY=TU`, or lines of iCalendar (`RRULE`, `RDATE`, `EXDATE`). It begins with its first instance at or after `starts_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rrule: Option<String>,
    /// What is different about some instances of a series. Left out, it stays as it is, each by its local date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<Vec<InstanceInput>>,
    /// How urgent its reminders are; `normal` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<schema::PriorityInput>))]
    pub priority: Option<Priority>,
    /// Whether an answer is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_ack: Option<bool>,
    /// The question that asks for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_prompt: Option<String>,
    /// How long to wait for an answer before asking again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_timeout: Option<Span>,
    /// How many times to ask again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ack_reminders: Option<u32>,
    /// Who is asked when a person does not answer, up to 16 steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate: Option<Vec<StepInput>>,
    /// Whether its reminders may be put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snooze_allowed: Option<bool>,
    /// How many times to try again when every address has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// What to do with reminders that were missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfire: Option<MisfireInput>,
    /// What to do when nobody knows whether a send arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<schema::OnUnknownInput>))]
    pub on_unknown: Option<OnUnknown>,
    /// The application's own fields, which receivers get.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata: Option<Map<String, Value>>,
    /// Words by which its reminders are found and silenced together with others: up to 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl EventInput {
    /// The fields that an answer has and a request has not.
    pub const MADE_HERE: &[&str] = &[
        "source",
        "reminders",
        "n_reminders",
        "next",
        "planned",
        "error",
        "dropped_instances",
        "created_at",
        "updated_at",
    ];
}

/// The event as it is written again. What is different about its instances stays.
impl From<Event> for EventInput {
    fn from(event: Event) -> Self {
        let list = |names: Vec<String>| Some(names).filter(|names| !names.is_empty());
        Self {
            key: None,
            starts_at: Some(event.starts_at.to_string()),
            ends_at: event.ends_at.map(|at| at.to_string()),
            offsets: event.offsets.map(|offsets| offsets.into_iter().map(OffsetInput).collect()),
            scope: event.scope,
            users: list(event.users),
            groups: list(event.groups),
            to: Some(event.to.into_iter().map(AddressInput::from).collect()),
            only: Some(event.only),
            message: Some(event.message),
            name: event.name,
            timezone: event.timezone,
            rrule: event.rrule,
            instances: None,
            priority: Some(event.priority),
            require_ack: Some(event.require_ack),
            ack_prompt: event.ack_prompt,
            ack_timeout: event.ack_timeout.map(Span),
            max_ack_reminders: event.max_ack_reminders,
            escalate: Some(event.escalate.into_iter().map(StepInput::from).collect()),
            snooze_allowed: Some(event.snooze_allowed),
            max_retries: Some(event.max_retries),
            misfire: Some(MisfireInput::Full {
                policy: Some(event.misfire.policy),
                within: Some(Span(event.misfire.within)),
            }),
            on_unknown: Some(event.on_unknown),
            metadata: serde_json::from_str(event.metadata.get()).ok(),
            tags: Some(event.tags),
        }
    }
}

/// What is different about an instance of a series. A field that is left out is as the series says; none at all: the instance is so again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct InstanceInput {
    /// Its original local start, such as `20260310T180000`; in `instances` alone, elsewhere the path has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Whether it also holds for all later instances, which are moved by as much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub following: Option<bool>,
    /// Whether it does not take place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<bool>,
    /// When it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<String>,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<String>,
    /// When people are reminded of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<OffsetInput>>,
    /// What to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its own fields in place of the event's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata: Option<Map<String, Value>>,
}

/// An event, and the reminders that it has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Its key.
    pub key: String,
    /// When it starts.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Option<Timestamp>,
    /// Null: those of the nearest scope.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<schema::Offset>>))]
    pub offsets: Option<Vec<Value>>,
    /// Where it stands, such as `guild:1/channel:2`.
    pub scope: Option<String>,
    /// Who is reminded.
    pub users: Vec<String>,
    /// Groups whose members are reminded.
    pub groups: Vec<String>,
    /// Where it is sent, in order of preference.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<schema::Address>))]
    pub to: Vec<Address>,
    /// Whether nothing but `to` is tried.
    pub only: bool,
    /// What is said, with fields.
    pub message: String,
    /// The reminders' name; null: the key.
    pub name: Option<String>,
    /// The zone that its local times are meant in; null: each user's.
    pub timezone: Option<String>,
    /// How it repeats, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rrule: Option<String>,
    /// What is different about some instances of a series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
    /// How urgent its reminders are.
    pub priority: Priority,
    /// Whether an answer is asked for.
    pub require_ack: bool,
    /// The question that asks for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_prompt: Option<String>,
    /// How long an answer is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_timeout: Option<String>,
    /// How many times it is asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ack_reminders: Option<u32>,
    /// Who is asked when a person does not answer.
    pub escalate: Vec<Step>,
    /// Whether its reminders may be put off.
    pub snooze_allowed: bool,
    /// How many times it is tried again when every address has failed.
    pub max_retries: u32,
    /// What is done with runs that were missed.
    pub misfire: Misfire,
    /// What is done when nobody knows whether a send arrived.
    pub on_unknown: OnUnknown,
    /// The application's own fields.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: Box<RawValue>,
    /// Words by which it is found together with others.
    pub tags: Vec<String>,
    /// The calendar that it was read from, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether its reminders are as it says; a node plans them in a moment where they are not. A list of events has neither this nor the
    /// reminders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<bool>,
    /// Why its reminders could not be planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its reminders, by when they are due: at most 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reminders: Option<Vec<Planned>>,
    /// How many those are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_reminders: Option<u64>,
    /// The next starts of a series: at most 10, and one in a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Timestamp>,
    /// Instances that something was different about, and whose day the changed series does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_instances: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// What is different about an instance of a series.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Instance {
    /// Which: its original local start.
    pub at: String,
    /// Whether all later instances are so as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub following: bool,
    /// Whether it does not take place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// When it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Timestamp>,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// When people are reminded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<schema::Offset>>))]
    pub offsets: Option<Vec<Value>>,
    /// What is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its own fields in place of the event's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata: Option<Value>,
}

/// The event that a reminder belongs to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OfEvent {
    /// The event's key.
    pub key: String,
    /// When it starts; of a series, when this instance does.
    pub starts_at: Timestamp,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// Minutes before; negative: after.
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    pub offset_minutes: Number,
    /// `end`: the offset is counted from the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Which instance of a series, by its original local start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
}

/// A reminder of an event.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Planned {
    /// Who is reminded.
    pub user: String,
    /// Minutes before; negative: after.
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    pub offset_minutes: Number,
    /// `end`: the offset is counted from the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Which instance of a series, by its original local start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// When it is due.
    pub due_at: Timestamp,
    /// The reminder.
    pub reminder_id: String,
    /// The state of its run; null once that is history that was removed.
    pub state: Option<OccurrenceState>,
}

/// A page of events, by key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Events {
    /// The page.
    pub events: Vec<Event>,
    /// Begins the next page; null on the last.
    pub next_cursor: Option<String>,
}

/// Events to be written in one transaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EventBatch {
    /// Up to 10,000, each with its `key`, and each key once.
    pub events: Vec<EventInput>,
}

/// How many events were written in one transaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventsPut {
    /// How many.
    pub put: usize,
}

/// Which events to list.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct EventQuery {
    /// Only those at this path or below it.
    pub scope: Option<String>,
    /// Only those that name this user, or a group that they belong to.
    pub user: Option<String>,
    /// Only those that start from then on: a day, from its beginning, or a time.
    pub from: Option<String>,
    /// Only those that start until then: a day, to its end, or a time.
    pub to: Option<String>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}
