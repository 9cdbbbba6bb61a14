//! A reminder as it is shown.

use jiff::Timestamp;
use punctual_core::invalid::Invalid;
use punctual_core::phrase::Lang;
use punctual_core::reminder::Address;
use punctual_core::span;
use punctual_core::store::ReminderView;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A reminder and what its runs have led to, said in the language of its user.
pub(in crate::http) struct ReminderJson<'a> {
    pub(in crate::http) view: &'a ReminderView,
    pub(in crate::http) lang: Lang,
    /// What is wrong with it that did not keep it from being made.
    pub(in crate::http) warnings: Vec<Invalid>,
}

#[derive(Serialize)]
struct Shown<'a> {
    id: String,
    user: &'a str,
    name: Option<&'a str>,
    message: &'a str,
    schedule: Value,
    timezone: &'a str,
    priority: &'static str,
    to: &'a [Address],
    only: bool,
    require_ack: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ack_prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ack_timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ack_reminders: Option<u32>,
    snooze_allowed: bool,
    max_retries: u32,
    misfire: ShownMisfire,
    on_unknown: &'static str,
    created_via: &'a str,
    original_text: Option<&'a str>,
    metadata: &'a RawValue,
    status: &'static str,
    next_run_at: Option<Timestamp>,
    snoozed_until: Option<Timestamp>,
    summary: String,
    last_run_at: Option<Timestamp>,
    last_status: Option<&'static str>,
    total_runs: u32,
    consecutive_errors: u32,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning<'a>>,
}

#[derive(Serialize)]
struct Warning<'a> {
    field: &'a str,
    detail: &'a str,
}

#[derive(Serialize)]
struct ShownMisfire {
    policy: &'static str,
    within: String,
}

impl Serialize for ReminderJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let view = self.view;
        let reminder = &view.reminder;
        let ack = reminder.ack.as_ref();
        Shown {
            id: reminder.id.to_string(),
            user: &reminder.user,
            name: reminder.name.as_deref(),
            message: &reminder.message,
            schedule: reminder.schedule.to_json(),
            timezone: reminder.timezone.name(),
            priority: reminder.priority.as_str(),
            to: &reminder.to,
            only: reminder.only,
            require_ack: ack.is_some(),
            ack_prompt: ack.and_then(|ack| ack.prompt.as_deref()),
            ack_timeout: ack.map(|ack| span::format(ack.timeout)),
            max_ack_reminders: ack.map(|ack| ack.reminders_max),
            snooze_allowed: reminder.snooze_allowed,
            max_retries: reminder.retries_max,
            misfire: ShownMisfire {
                policy: reminder.misfire.policy.as_str(),
                within: span::format(reminder.misfire.within),
            },
            on_unknown: reminder.on_unknown.as_str(),
            created_via: &reminder.created_via,
            original_text: reminder.original_text.as_deref(),
            // Stored text that is no JSON must not make the whole reminder unreadable.
            metadata: serde_json::from_str(reminder.metadata.as_str()).unwrap_or(RawValue::NULL),
            status: reminder.status.as_str(),
            next_run_at: view.next_run_at,
            snoozed_until: view.snoozed_until,
            summary: reminder.schedule.summary_in(self.lang, &reminder.timezone),
            last_run_at: view.last_run_at,
            last_status: view.last_status.as_ref().map(|kind| kind.as_str()),
            total_runs: view.total_runs,
            consecutive_errors: view.consecutive_errors,
            created_at: reminder.created_at,
            updated_at: reminder.updated_at,
            warnings: self
                .warnings
                .iter()
                .map(|Invalid { field, problem }| Warning { field, detail: problem })
                .collect(),
        }
        .serialize(serializer)
    }
}
