//! An event as it is asked for.

use std::collections::HashSet;

use jiff::Timestamp;
use punctual_core::event::{Changed, Event, Instance, Offset, Override, Repeats};
use punctual_core::invalid::Invalid;
use punctual_core::model::{offset, series};
use punctual_core::reminder::Metadata;
use punctual_core::schedule::parse_instant;
use punctual_core::zone::Zone;
use serde_json::Value;

use super::reminder::{Ack, misfire, tags};
use super::{addresses, steps as steps_of, zone};
use crate::http::read;
use crate::wire::{EventInput, InstanceInput, OffsetInput};

/// What an event that does not say it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsaid<'a> {
    /// The zone of local times.
    pub(crate) zone: &'a Zone,
    pub(crate) retries_max: u32,
    pub(crate) now: Timestamp,
}

/// An event that is asked for.
#[derive(Debug)]
pub(crate) struct AskedEvent {
    pub(crate) event: Event,
    /// What is different about instances of the series stays as it is.
    pub(crate) keeps_instances: bool,
}

/// The event that `value` describes. `key` is the one that the caller named otherwise; without it `value` must.
pub(crate) fn event(value: Value, key: Option<&str>, unsaid: Unsaid<'_>) -> Result<AskedEvent, Invalid> {
    let input: EventInput = read::read(value, read::WHOLE, EventInput::MADE_HERE)?;
    let key = match (key, input.key) {
        (Some(key), Some(other)) if key != other => {
            return Err(Invalid::new("key", format!("is `{other}`, and the path says `{key}`; leave it out")));
        }
        (Some(key), _) => key.to_owned(),
        (None, Some(key)) => key,
        (None, None) => return Err(Invalid::new("key", "is missing; name the event, such as game:42")),
    };
    let timezone = zone(input.timezone, "timezone")?;
    let local = timezone.as_ref().unwrap_or(unsaid.zone);
    let missing = |field: &str, problem: &str| Invalid::new(field, format!("is missing; {problem}"));
    let starts_at =
        input.starts_at.ok_or_else(|| missing("starts_at", "say when it starts, such as 2026-03-10T18:00:00Z"))?;
    let ack = Ack {
        required: input.require_ack,
        prompt: input.ack_prompt.map(Some),
        timeout: input.ack_timeout,
        reminders_max: input.max_ack_reminders,
        escalates: input.escalate.as_ref().is_some_and(|steps| !steps.is_empty()),
    };
    if input.rrule.is_none() && input.instances.as_ref().is_some_and(|instances| !instances.is_empty()) {
        return Err(Invalid::new("instances", "are those of a series, and there is no rrule"));
    }
    let keeps_instances = input.instances.is_none();
    let overrides = overrides(input.instances.unwrap_or_default(), local, unsaid.now)?;
    let event = Event {
        key,
        starts_at: instant("starts_at", &starts_at, local, unsaid.now)?,
        ends_at: input.ends_at.map(|text| instant("ends_at", &text, local, unsaid.now)).transpose()?,
        repeats: input.rrule.map(|rule| Repeats { rule, overrides }),
        offsets: input.offsets.map(offsets).transpose()?,
        scope: input.scope.map(|path| path.parse()).transpose()?,
        users: once(input.users.unwrap_or_default()),
        groups: once(input.groups.unwrap_or_default()),
        name: input.name,
        message: input
            .message
            .ok_or_else(|| missing("message", "say what to remind of, such as \"Game in {minutes} min\""))?,
        priority: input.priority.map(|word| word.known("priority")).transpose()?.unwrap_or_default(),
        to: addresses(input.to.unwrap_or_default(), "to")?,
        only: input.only.unwrap_or(false),
        ack: ack.policy(None)?,
        escalate: steps_of(input.escalate.unwrap_or_default(), "escalate")?,
        snooze_allowed: input.snooze_allowed.unwrap_or(true),
        retries_max: input.max_retries.unwrap_or(unsaid.retries_max),
        misfire: input.misfire.map(misfire).transpose()?.unwrap_or_default(),
        on_unknown: input.on_unknown.map(|word| word.known("on_unknown")).transpose()?.unwrap_or_default(),
        metadata: input.metadata.map(|map| Metadata::new(&map)).unwrap_or_default(),
        tags: tags(input.tags.unwrap_or_default())?,
        source: None,
        created_at: unsaid.now,
        updated_at: unsaid.now,
        timezone,
    };
    Ok(AskedEvent { event, keeps_instances })
}

/// Offsets as they are kept.
pub(in crate::http) fn offsets(given: Vec<OffsetInput>) -> Result<Vec<Offset>, Invalid> {
    offset::read_list("offsets", &given.into_iter().map(|OffsetInput(value)| value).collect())
}

/// What is asked to be different about one instance, with local times in `zone`; `None`: nothing.
pub(in crate::http) fn instance(
    input: InstanceInput,
    zone: &Zone,
    now: Timestamp,
) -> Result<Option<Instance>, Invalid> {
    let at = |field: &str, text: Option<String>| text.map(|text| instant(field, &text, zone, now)).transpose();
    let is_cancelled = input.cancelled.unwrap_or(false);
    let changed = Changed {
        starts_at: at("starts_at", input.starts_at)?,
        ends_at: at("ends_at", input.ends_at)?,
        offsets: input.offsets.map(offsets).transpose()?,
        message: input.message,
        metadata: input.metadata.map(|map| Metadata::new(&map)),
    };
    match (is_cancelled, changed.is_empty()) {
        (true, true) => Ok(Some(Instance::Cancelled)),
        (true, false) => {
            Err(Invalid::new("cancelled", "is true, and other fields say how it takes place; leave one out"))
        }
        (false, true) => Ok(None),
        (false, false) => Ok(Some(Instance::Changed(Box::new(changed)))),
    }
}

fn overrides(given: Vec<InstanceInput>, zone: &Zone, now: Timestamp) -> Result<Vec<Override>, Invalid> {
    let mut repeats = Repeats { rule: String::new(), overrides: Vec::new() };
    for (index, mut input) in given.into_iter().enumerate() {
        let within = |invalid: Invalid| invalid.within(&format!("instances[{index}]"));
        let missing = || Invalid::new("at", "is missing; name its original local start, such as 20260310T180000");
        let name = input.at.take().ok_or_else(missing).map_err(within)?;
        let at = series::read_name(&name).map_err(|problem| within(Invalid::new("at", problem)))?;
        let following = input.following.unwrap_or(false);
        repeats.set(at, following, instance(input, zone, now).map_err(within)?);
    }
    Ok(repeats.overrides)
}

fn instant(field: &str, text: &str, zone: &Zone, now: Timestamp) -> Result<Timestamp, Invalid> {
    parse_instant(text, zone, now).map_err(|problem| Invalid::new(field, problem))
}

/// Each name once, in the order in which they are given.
fn once(mut names: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}
