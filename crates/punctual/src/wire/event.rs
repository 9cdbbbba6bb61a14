//! Events of the application's, as they are written and as they are shown.

use jiff::Timestamp;
use punctual_core::event::{self, End};
use punctual_core::reminder::Address;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};
use utoipa::{IntoParams, ToSchema};

use super::either::{AddressInput, MisfireInput, OffsetInput, Span};
use super::reminder::Misfire;
use super::schema;
use super::step::{Step, StepInput};
use super::word::{OccurrenceState, OnUnknown, Priority};

/// An event, described in full: a field that is left out is not kept from before, but for `instances`.
///
/// `users`, `groups` or `to` say whom to remind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EventInput {
    /// Its name, in a batch; elsewhere the path has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// When it starts, such as `2026-03-10T18:00:00+01:00`, or a local time in its zone; of a series, when the first instance does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) starts_at: Option<String>,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ends_at: Option<String>,
    /// When people are reminded, up to 32. Without it the nearest scope's count; an empty list is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offsets: Option<Vec<OffsetInput>>,
    /// Where it stands, such as `guild:1/channel:2`. In the name of a level `%2F` is a slash and `%25` a percent sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
    /// Whom to remind, up to 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) users: Option<Vec<String>>,
    /// Groups whose members are reminded, up to 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) groups: Option<Vec<String>>,
    /// Where to send, in order of preference. The users' other addresses come after; without users and groups the reminders belong to the
    /// user `event:KEY`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<Vec<AddressInput>>,
    /// Whether nothing but `to` is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) only: Option<bool>,
    /// What to say, with the fields `{minutes}`, `{starts_at}`, `{ends_at}`, `{key}` and those of the metadata that are plain values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// The reminders' name; the event's key if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The zone its local times are meant in, by name or offset; without it each user's, else the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timezone: Option<String>,
    /// How it repeats: a rule such as `FREQ=WEEKLY;BYDAY=TU`, or lines of iCalendar (`RRULE`, `RDATE`, `EXDATE`). It begins with `starts_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rrule: Option<String>,
    /// What is different about some instances of a series. Left out, it stays as it is, each by its local date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instances: Option<Vec<InstanceInput>>,
    /// How urgent its reminders are; `normal` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::PriorityInput>)]
    pub(crate) priority: Option<Priority>,
    /// Whether an answer is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) require_ack: Option<bool>,
    /// The question that asks for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ack_prompt: Option<String>,
    /// How long to wait for an answer before asking again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ack_timeout: Option<Span>,
    /// How many times to ask again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_ack_reminders: Option<u32>,
    /// Who is asked when a person does not answer, up to 16 steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) escalate: Option<Vec<StepInput>>,
    /// Whether its reminders may be put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) snooze_allowed: Option<bool>,
    /// How many times to try again when every address has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_retries: Option<u32>,
    /// What to do with reminders that were missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) misfire: Option<MisfireInput>,
    /// What to do when nobody knows whether a send arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::OnUnknownInput>)]
    pub(crate) on_unknown: Option<OnUnknown>,
    /// The application's own fields, which receivers get.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// Words by which its reminders are found and silenced together with others: up to 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tags: Option<Vec<String>>,
}

impl EventInput {
    /// The fields that an answer has and a request has not.
    pub(crate) const MADE_HERE: &[&str] = &[
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InstanceInput {
    /// Its original local start, such as `20260310T180000`; in `instances` alone, elsewhere the path has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
    /// Whether it also holds for all later instances, which are moved by as much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) following: Option<bool>,
    /// Whether it does not take place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cancelled: Option<bool>,
    /// When it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) starts_at: Option<String>,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ends_at: Option<String>,
    /// When people are reminded of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offsets: Option<Vec<OffsetInput>>,
    /// What to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// Its own fields in place of the event's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) metadata: Option<Map<String, Value>>,
}

/// An event, and the reminders that it has.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Event {
    pub(crate) key: String,
    pub(crate) starts_at: Timestamp,
    pub(crate) ends_at: Option<Timestamp>,
    /// Null: those of the nearest scope.
    #[schema(value_type = Option<Vec<schema::Offset>>)]
    pub(crate) offsets: Option<Vec<Value>>,
    pub(crate) scope: Option<String>,
    pub(crate) users: Vec<String>,
    pub(crate) groups: Vec<String>,
    #[schema(value_type = Vec<schema::Address>)]
    pub(crate) to: Vec<Address>,
    pub(crate) only: bool,
    pub(crate) message: String,
    pub(crate) name: Option<String>,
    pub(crate) timezone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rrule: Option<String>,
    /// What is different about some instances of a series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) instances: Vec<Instance>,
    pub(crate) priority: Priority,
    pub(crate) require_ack: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ack_prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ack_timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_ack_reminders: Option<u32>,
    pub(crate) escalate: Vec<Step>,
    pub(crate) snooze_allowed: bool,
    pub(crate) max_retries: u32,
    pub(crate) misfire: Misfire,
    pub(crate) on_unknown: OnUnknown,
    #[schema(value_type = Object)]
    pub(crate) metadata: Box<RawValue>,
    pub(crate) tags: Vec<String>,
    /// The calendar that it was read from, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    /// Whether its reminders are as it says; a node plans them in a moment where they are not. A list of events has neither this nor the
    /// reminders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) planned: Option<bool>,
    /// Why its reminders could not be planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Its reminders, by when they are due: at most 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reminders: Option<Vec<Planned>>,
    /// How many those are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) n_reminders: Option<u64>,
    /// The next starts of a series: at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) next: Vec<Timestamp>,
    /// Instances that something was different about, and whose day the changed series does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) dropped_instances: Vec<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// What is different about an instance of a series.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Instance {
    pub(crate) at: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) following: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cancelled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) starts_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ends_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<schema::Offset>>)]
    pub(crate) offsets: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) metadata: Option<Value>,
}

/// The event that a reminder belongs to.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct OfEvent {
    pub(crate) key: String,
    /// When it starts; of a series, when this instance does.
    pub(crate) starts_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ends_at: Option<Timestamp>,
    /// Minutes before; negative: after.
    #[schema(value_type = f64)]
    pub(crate) offset_minutes: Number,
    /// `end`: the offset is counted from the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) of: Option<String>,
    /// Which instance of a series, by its original local start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance: Option<String>,
}

impl From<&event::OfEvent> for OfEvent {
    fn from(event: &event::OfEvent) -> Self {
        Self {
            key: event.key.clone(),
            starts_at: event.starts_at,
            ends_at: event.ends_at,
            offset_minutes: event.offset.number(),
            of: (event.offset.of == End::End).then(|| "end".into()),
            instance: event.instance.clone(),
        }
    }
}

/// A reminder of an event.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Planned {
    pub(crate) user: String,
    /// Minutes before; negative: after.
    #[schema(value_type = f64)]
    pub(crate) offset_minutes: Number,
    /// `end`: the offset is counted from the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) of: Option<String>,
    /// Which instance of a series, by its original local start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance: Option<String>,
    pub(crate) due_at: Timestamp,
    pub(crate) reminder_id: String,
    /// The state of its run; null once that is history that was removed.
    pub(crate) state: Option<OccurrenceState>,
}

/// A page of events, by key.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Events {
    pub(crate) events: Vec<Event>,
    /// Begins the next page; null on the last.
    pub(crate) next_cursor: Option<String>,
}

/// Events to be written in one transaction.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventBatch {
    /// Up to 10,000, each with its `key`, and each key once.
    pub(crate) events: Vec<EventInput>,
}

/// How many events were written in one transaction.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct EventsPut {
    pub(crate) put: usize,
}

/// Which events to list.
#[derive(Debug, Clone, Default, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventQuery {
    /// Only those at this path or below it.
    pub(crate) scope: Option<String>,
    /// Only those that name this user.
    pub(crate) user: Option<String>,
    /// Only those that start from then on: a day, from its beginning, or a time.
    pub(crate) from: Option<String>,
    /// Only those that start until then: a day, to its end, or a time.
    pub(crate) to: Option<String>,
    /// How many at most, from 1 to 500; 50 if nobody says.
    #[param(minimum = 1, maximum = 500)]
    pub(crate) limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
}
