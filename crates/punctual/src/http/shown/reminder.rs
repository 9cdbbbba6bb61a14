//! A reminder as it is shown.

use std::borrow::Cow;

use punctual_core::invalid::Invalid;
use punctual_core::phrase::Lang;
use punctual_core::span;
use punctual_core::store::ReminderView;
use serde_json::value::RawValue;

use super::event::of_event;
use super::step;
use crate::wire::{Misfire, Reminder, Schedule, Warning};

/// A reminder and what its runs have led to, said in the language of its user. `warnings` are problems that did not keep it from
/// being made.
pub(in crate::http) fn reminder(view: &ReminderView, lang: Lang, warnings: Vec<Invalid>) -> Reminder<'_> {
    let reminder = &view.reminder;
    let ack = reminder.ack.as_ref();
    Reminder {
        id: reminder.id.to_string(),
        user: Cow::Borrowed(&reminder.user),
        name: reminder.name.as_deref().map(Cow::Borrowed),
        message: Cow::Borrowed(&reminder.message),
        schedule: Schedule(reminder.schedule.to_json()),
        timezone: Cow::Borrowed(reminder.timezone.name()),
        priority: reminder.priority.into(),
        to: Cow::Borrowed(&reminder.to),
        only: reminder.only,
        require_ack: ack.is_some(),
        ack_prompt: ack.and_then(|ack| ack.prompt.as_deref()).map(Cow::Borrowed),
        ack_timeout: ack.map(|ack| span::format(ack.timeout)),
        max_ack_reminders: ack.map(|ack| ack.reminders_max),
        escalate: reminder.escalate.iter().map(step).collect(),
        escalates: reminder.escalates.map(|run| run.to_string()),
        event: reminder.event.as_ref().map(of_event),
        snooze_allowed: reminder.snooze_allowed,
        max_retries: reminder.retries_max,
        misfire: Misfire { policy: reminder.misfire.policy.into(), within: span::format(reminder.misfire.within) },
        on_unknown: reminder.on_unknown.into(),
        created_via: Cow::Borrowed(&reminder.created_via),
        original_text: reminder.original_text.as_deref().map(Cow::Borrowed),
        // Stored text that is no JSON must not make the whole reminder unreadable.
        metadata: Cow::Borrowed(serde_json::from_str(reminder.metadata.as_str()).unwrap_or(RawValue::NULL)),
        tags: Cow::Borrowed(&reminder.tags),
        status: reminder.status.into(),
        next_run_at: view.next_run_at,
        snoozed_until: view.snoozed_until,
        summary: reminder.schedule.summary_in(lang, &reminder.timezone),
        last_run_at: view.last_run_at,
        last_status: view.last_status.map(Into::into),
        total_runs: view.total_runs,
        consecutive_errors: view.consecutive_errors,
        created_at: reminder.created_at,
        updated_at: reminder.updated_at,
        warnings: warnings
            .into_iter()
            .map(|Invalid { field, problem, .. }| Warning { field, detail: problem })
            .collect(),
        understood: None,
    }
}
