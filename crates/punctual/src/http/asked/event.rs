//! An event as it is asked for.

use std::collections::HashSet;

use jiff::Timestamp;
use punctual_core::event::{Changed, Event, Instance, Offset, Override, Repeats};
use punctual_core::invalid::{Faults, Invalid};
use punctual_core::model::{offset, series};
use punctual_core::reminder::Metadata;
use punctual_core::rules::event::check_instances;
use punctual_core::schedule::parse_instant;
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;
use serde_json::Value;

use super::reminder::{Ack, known, misfire, tags};
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
    /// How much work the rules of all events of the request may be.
    pub(crate) steps: &'a Steps,
}

/// An event that is asked for.
#[derive(Debug)]
pub(crate) struct AskedEvent {
    /// Where something is wrong with it, it has a value that could be there.
    pub(crate) event: Event,
    /// What is different about instances of the series stays as it is.
    pub(crate) keeps_instances: bool,
}

/// The event that `value` describes. `key` is the one that the caller named otherwise; without it `value` must.
pub(crate) fn event(value: Value, key: Option<&str>, unsaid: Unsaid<'_>) -> Result<AskedEvent, Invalid> {
    let (asked, faults) = event_partly(&value, key, unsaid)?;
    faults.finish()?;
    Ok(asked)
}

/// The same, with what is wrong with it. The error is that nothing of `value` can be read.
pub(in crate::http) fn event_partly(
    value: &Value,
    key: Option<&str>,
    unsaid: Unsaid<'_>,
) -> Result<(AskedEvent, Faults), Invalid> {
    let (input, mut faults): (EventInput, Faults) = read::partly(value, read::WHOLE, EventInput::MADE_HERE)?;
    let key = match (key, input.key) {
        (Some(key), Some(other)) if key != other => {
            faults.add(Invalid::new("key", format!("is `{other}`, and the path says `{key}`; leave it out")));
            key.to_owned()
        }
        (Some(key), _) => key.to_owned(),
        (None, Some(key)) => key,
        (None, None) => {
            faults.add(Invalid::missing("key", "name the event, such as game:42"));
            "?".to_owned()
        }
    };
    let timezone = faults.note(zone(input.timezone, "timezone")).flatten();
    let local = timezone.as_ref().unwrap_or(unsaid.zone);
    let missing = || Invalid::missing("starts_at", "say when it starts, such as 2026-03-10T18:00:00Z");
    let starts_at = input.starts_at.ok_or_else(missing);
    let starts_at = faults.note(starts_at.and_then(|text| instant("starts_at", &text, local, unsaid.now)));
    let ends_at = input.ends_at.map(|text| instant("ends_at", &text, local, unsaid.now)).transpose();
    let missing = || Invalid::missing("message", "say what to remind of, such as \"Game in {minutes} min\"");
    let message = faults.note(input.message.ok_or_else(missing));
    let ack = Ack {
        required: input.require_ack,
        prompt: input.ack_prompt.map(Some),
        timeout: input.ack_timeout,
        reminders_max: input.max_ack_reminders,
        escalates: input.escalate.as_ref().is_some_and(|steps| !steps.is_empty()),
    };
    if input.rrule.is_none() && input.instances.as_ref().is_some_and(|instances| !instances.is_empty()) {
        faults.add(Invalid::new("instances", "are those of a series, and there is no rrule"));
    }
    let keeps_instances = input.instances.is_none();
    let overrides = overrides(input.instances.unwrap_or_default(), local, unsaid.now);
    let overrides = faults.note(overrides).unwrap_or_default();
    let event = Event {
        key,
        starts_at: starts_at.unwrap_or(unsaid.now),
        ends_at: faults.note(ends_at).flatten(),
        repeats: input.rrule.map(|rule| Repeats::new(rule, overrides)),
        offsets: faults.note(input.offsets.map(offsets).transpose()).flatten(),
        scope: faults.note(input.scope.map(|path| path.parse()).transpose()).flatten(),
        users: once(input.users.unwrap_or_default()),
        groups: once(input.groups.unwrap_or_default()),
        name: input.name,
        message: message.unwrap_or_else(|| "?".into()),
        priority: known(input.priority, "priority", &mut faults).unwrap_or_default(),
        to: faults.note(addresses(input.to.unwrap_or_default(), "to")).unwrap_or_default(),
        only: input.only.unwrap_or(false),
        ack: ack.policy(None, &mut faults),
        escalate: faults.note(steps_of(input.escalate.unwrap_or_default(), "escalate")).unwrap_or_default(),
        snooze_allowed: input.snooze_allowed.unwrap_or(true),
        retries_max: input.max_retries.unwrap_or(unsaid.retries_max),
        misfire: faults.note(input.misfire.map(misfire).transpose()).flatten().unwrap_or_default(),
        on_unknown: known(input.on_unknown, "on_unknown", &mut faults).unwrap_or_default(),
        metadata: input.metadata.map(|map| Metadata::new(&map)).unwrap_or_default(),
        tags: faults.note(tags(input.tags.unwrap_or_default())).unwrap_or_default(),
        source: None,
        created_at: unsaid.now,
        updated_at: unsaid.now,
        timezone,
    };
    if faults.is_empty() {
        faults.note(check_instances(&event, unsaid.zone, unsaid.steps));
    }
    faults.settle();
    Ok((AskedEvent { event, keeps_instances }, faults))
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
    let mut faults = Faults::default();
    let changed = Changed {
        starts_at: faults.note(at("starts_at", input.starts_at)).flatten(),
        ends_at: faults.note(at("ends_at", input.ends_at)).flatten(),
        offsets: faults.note(input.offsets.map(offsets).transpose()).flatten(),
        message: input.message,
        metadata: input.metadata.map(|map| Metadata::new(&map)),
    };
    if is_cancelled && !(changed.is_empty() && faults.is_empty()) {
        let problem = "is true, and other fields say how it takes place; leave one out";
        faults.add(Invalid::new("cancelled", problem));
    }
    faults.finish()?;
    match is_cancelled {
        true => Ok(Some(Instance::Cancelled)),
        false if changed.is_empty() => Ok(None),
        false => Ok(Some(Instance::Changed(Box::new(changed)))),
    }
}

fn overrides(given: Vec<InstanceInput>, zone: &Zone, now: Timestamp) -> Result<Vec<Override>, Invalid> {
    let mut repeats = Repeats::new("", Vec::new());
    let mut faults = Faults::default();
    for (index, mut input) in given.into_iter().enumerate() {
        let within = |invalid: Invalid| invalid.within(&format!("instances[{index}]"));
        let missing = || Invalid::missing("at", "name its original local start, such as 20260310T180000");
        let name = input.at.take().ok_or_else(missing);
        let at = name.and_then(|name| series::read_name(&name).map_err(|problem| Invalid::new("at", problem)));
        let (at, following) = (faults.note(at.map_err(within)), input.following.unwrap_or(false));
        let change = faults.note(instance(input, zone, now).map_err(within));
        if let Some((at, change)) = at.zip(change) {
            repeats.set(at, following, change);
        }
    }
    faults.finish()?;
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
