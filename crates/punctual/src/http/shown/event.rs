//! An event as it is shown.

use jiff::Timestamp;
use jiff::civil::DateTime;
use punctual_core::event::{self, End, Instance};
use punctual_core::model::series;
use punctual_core::span;
use punctual_core::store::{EventView, SlotView};
use serde_json::value::RawValue;

use super::step;
use crate::wire::{self, Event, Misfire, OfEvent, Planned};

/// An event alone, as lists have it.
pub(in crate::http) fn event(event: event::Event) -> Event {
    let ack = event.ack.as_ref();
    let (rrule, instances) = match event.repeats {
        Some(repeats) => (Some(repeats.rule), repeats.overrides.into_iter().map(instance).collect()),
        None => (None, Vec::new()),
    };
    Event {
        starts_at: event.starts_at,
        ends_at: event.ends_at,
        offsets: event.offsets.map(|offsets| offsets.into_iter().map(|offset| offset.to_value()).collect()),
        scope: event.scope.map(|path| path.to_string()),
        only: event.only,
        timezone: event.timezone.map(|zone| zone.name().to_owned()),
        rrule,
        instances,
        priority: event.priority.into(),
        require_ack: ack.is_some(),
        ack_prompt: ack.and_then(|ack| ack.prompt.clone()),
        ack_timeout: ack.map(|ack| span::format(ack.timeout)),
        max_ack_reminders: ack.map(|ack| ack.reminders_max),
        escalate: event.escalate.iter().map(step).collect(),
        snooze_allowed: event.snooze_allowed,
        max_retries: event.retries_max,
        misfire: Misfire { policy: event.misfire.policy.into(), within: span::format(event.misfire.within) },
        on_unknown: event.on_unknown.into(),
        // Stored text that is no JSON must not make the whole event unreadable.
        metadata: serde_json::from_str(event.metadata.as_str()).unwrap_or_else(|_| RawValue::NULL.to_owned()),
        planned: None,
        error: None,
        reminders: None,
        n_reminders: None,
        next: Vec::new(),
        dropped_instances: Vec::new(),
        created_at: event.created_at,
        updated_at: event.updated_at,
        key: event.key,
        users: event.users,
        groups: event.groups,
        to: event.to,
        message: event.message,
        name: event.name,
        tags: event.tags,
        source: event.source,
    }
}

/// An event with its reminders, the `next` starts of its series, and the instances that a change of the series has `dropped`.
pub(in crate::http) fn event_view(view: EventView, next: Vec<Timestamp>, dropped: &[DateTime]) -> Event {
    Event {
        planned: Some(view.is_planned),
        error: view.error,
        reminders: Some(view.slots.into_iter().map(planned).collect()),
        n_reminders: Some(view.n_slots),
        next,
        dropped_instances: dropped.iter().map(|at| series::name_of(*at)).collect(),
        ..event(view.event)
    }
}

fn planned(SlotView { slot, due_at, reminder, state }: SlotView) -> Planned {
    Planned {
        user: slot.user,
        offset_minutes: slot.offset.number(),
        of: (slot.offset.of == End::End).then(|| "end".into()),
        instance: Some(slot.instance).filter(|name| !name.is_empty()),
        due_at,
        reminder_id: reminder.to_string(),
        state: state.map(Into::into),
    }
}

fn instance(different: event::Override) -> wire::Instance {
    let (is_cancelled, changed) = match different.change {
        Instance::Cancelled => (true, event::Changed::default()),
        Instance::Changed(changed) => (false, *changed),
    };
    wire::Instance {
        at: series::name_of(different.at),
        following: different.following,
        cancelled: is_cancelled,
        starts_at: changed.starts_at,
        ends_at: changed.ends_at,
        offsets: changed.offsets.map(|offsets| offsets.into_iter().map(|offset| offset.to_value()).collect()),
        message: changed.message,
        metadata: changed.metadata.map(|metadata| metadata.to_value()),
    }
}

/// The event that a reminder belongs to.
pub(super) fn of_event(event: &event::OfEvent) -> OfEvent {
    OfEvent {
        key: event.key.clone(),
        starts_at: event.starts_at,
        ends_at: event.ends_at,
        offset_minutes: event.offset.number(),
        of: (event.offset.of == End::End).then(|| "end".into()),
        instance: event.instance.clone(),
    }
}
