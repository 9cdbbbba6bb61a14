//! A reminder as it is asked for.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::id::ReminderId;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::{AckPolicy, Metadata, Misfire, Reminder, ReminderStatus};
use punctual_core::schedule::Schedule;
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;
use serde_json::{Map, Value};

use super::addresses;
use crate::http::fields::Fields;
use crate::http::problem::WHOLE;

/// The fields a caller may give.
pub(super) const KNOWN: &[&str] = &[
    "user",
    "message",
    "name",
    "schedule",
    "timezone",
    "priority",
    "to",
    "only",
    "require_ack",
    "ack_prompt",
    "ack_timeout",
    "max_ack_reminders",
    "snooze_allowed",
    "max_retries",
    "misfire",
    "on_unknown",
    "created_via",
    "original_text",
    "metadata",
];

/// The fields the answer adds.
pub(super) const MADE_HERE: &[&str] = &[
    "id",
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
];

/// A reminder as it was sent, with as much read as is needed to learn whose zone counts.
pub(in crate::http) struct Asked {
    /// Whose it shall be, if the caller says.
    pub(in crate::http) user: Option<String>,
    /// Its own zone, if it has one.
    pub(in crate::http) timezone: Option<Zone>,
    fields: Fields,
}

/// What the caller of the API does not say.
pub(in crate::http) struct NewReminder {
    pub(in crate::http) id: ReminderId,
    pub(in crate::http) user: String,
    pub(in crate::http) timezone: Zone,
    pub(in crate::http) retries_max: u32,
    pub(in crate::http) now: Timestamp,
    /// What the request may still take.
    pub(in crate::http) steps: Arc<Steps>,
}

impl Asked {
    pub(in crate::http) fn read(value: Value) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, WHOLE, KNOWN, MADE_HERE)?;
        Ok(Self { user: fields.text("user")?, timezone: fields.zone("timezone")?, fields })
    }

    /// Whether it may take longer to read than a request should hold up others.
    pub(in crate::http) fn is_heavy(&self) -> bool {
        self.fields.get("schedule").is_some_and(is_heavy)
    }

    /// The reminder that was asked for.
    pub(in crate::http) fn reminder(self, new: NewReminder) -> Result<Reminder, Invalid> {
        let NewReminder { id, user, timezone, retries_max, now, steps } = new;
        let mut fields = self.fields;
        let message = fields.text("message")?.ok_or_else(|| {
            Invalid::new("message", "is missing; say what to be reminded of, such as \"Take your medicine\"")
        })?;
        Ok(Reminder {
            id,
            user,
            name: fields.text("name")?,
            message,
            schedule: schedule(&mut fields, &timezone, now, &steps)?,
            priority: fields.word("priority")?.unwrap_or_default(),
            to: addresses(&mut fields, "to")?.unwrap_or_default(),
            only: fields.boolean("only")?.unwrap_or(false),
            ack: ack(&mut fields, None)?,
            snooze_allowed: fields.boolean("snooze_allowed")?.unwrap_or(true),
            retries_max: fields.number("max_retries")?.unwrap_or(retries_max),
            misfire: misfire(&mut fields)?.unwrap_or_default(),
            on_unknown: fields.word("on_unknown")?.unwrap_or_default(),
            created_via: fields.text("created_via")?.unwrap_or_else(|| "api".into()),
            original_text: fields.text("original_text")?,
            metadata: metadata(&mut fields)?.unwrap_or_default(),
            status: ReminderStatus::Active,
            created_at: now,
            updated_at: now,
            timezone,
        })
    }
}

fn schedule(fields: &mut Fields, zone: &Zone, now: Timestamp, steps: &Steps) -> Result<Schedule, Invalid> {
    let Some(value) = fields.take("schedule") else {
        return Err(Invalid::new("schedule", "is missing; say when, such as {\"type\":\"once\",\"at\":\"5m\"}"));
    };
    Schedule::from_input_within(&value, zone, now, steps).map_err(|invalid| invalid.within("schedule"))
}

/// The schedule in `fields`, if there is one.
pub(super) fn schedule_if_any(
    fields: &mut Fields,
    zone: &Zone,
    now: Timestamp,
    steps: &Steps,
) -> Result<Option<Schedule>, Invalid> {
    if fields.has("schedule") { schedule(fields, zone, now, steps).map(Some) } else { Ok(None) }
}

/// Whether it may take longer to read a schedule than a request should hold up others: rules, phrases and exceptions do, a
/// time of day does not.
pub(in crate::http) fn is_heavy(schedule: &Value) -> bool {
    /// A time, a cron expression or a short phrase.
    const TEXT_BYTES_LIGHT: usize = 100;
    let is_light = |value: &Value| match value {
        Value::String(text) => text.len() <= TEXT_BYTES_LIGHT,
        Value::Array(list) => list.len() <= 7,
        _ => true,
    };
    let kind = schedule["type"].as_str().unwrap_or_default();
    let fields = || schedule.as_object().into_iter().flatten();
    matches!(kind, "smart" | "rrule")
        || fields().any(|(name, value)| name == "except" && !value.is_null() || !is_light(value))
}

/// How an answer is asked for, beginning from `before`. A prompt is a wish for an answer, unless
/// `require_ack` says otherwise.
pub(super) fn ack(fields: &mut Fields, before: Option<&AckPolicy>) -> Result<Option<AckPolicy>, Invalid> {
    let required = fields.boolean("require_ack")?;
    let mut ack = before.cloned().unwrap_or_default();
    let prompt = fields.clearable("ack_prompt")?;
    let wanted = required.unwrap_or(before.is_some() || matches!(prompt, Some(Some(_))));
    if let Some(prompt) = prompt {
        ack.prompt = prompt;
    }
    if let Some(timeout) = fields.span("ack_timeout")? {
        ack.timeout = timeout;
    }
    if let Some(reminders_max) = fields.number("max_ack_reminders")? {
        ack.reminders_max = reminders_max;
    }
    Ok(wanted.then_some(ack))
}

/// What to do with missed runs: `{"policy","within"}`, or the policy's name alone.
pub(super) fn misfire(fields: &mut Fields) -> Result<Option<Misfire>, Invalid> {
    let within_misfire = |invalid: Invalid| invalid.within("misfire");
    let Some(value) = fields.take("misfire") else { return Ok(None) };
    let mut misfire = Misfire::default();
    if let Value::String(word) = &value {
        misfire.policy = word.parse().map_err(|invalid: Invalid| Invalid::new("misfire", invalid.problem))?;
        return Ok(Some(misfire));
    }
    if !value.is_object() {
        return Err(Invalid::new("misfire", "must be an object such as {\"policy\":\"latest\",\"within\":\"24h\"}"));
    }
    let mut fields = Fields::of(value, "misfire", &["policy", "within"], &[]).map_err(within_misfire)?;
    if let Some(policy) = fields.word("policy").map_err(within_misfire)? {
        misfire.policy = policy;
    }
    if let Some(within) = fields.span("within").map_err(within_misfire)? {
        misfire.within = within;
    }
    Ok(Some(misfire))
}

pub(super) fn metadata(fields: &mut Fields) -> Result<Option<Metadata>, Invalid> {
    Ok(fields.object("metadata")?.map(|map: Map<String, Value>| Metadata::new(&map)))
}
