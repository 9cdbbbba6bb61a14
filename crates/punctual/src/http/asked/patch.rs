//! A change to a reminder as it is asked for.

use jiff::Timestamp;
use punctual_core::change::Patch;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::{Metadata, Reminder};
use punctual_core::steps::Steps;
use serde_json::Value;

use super::reminder::{Ack, misfire, schedule, tags};
use super::{addresses, steps as steps_of, zone};
use crate::http::read::{self, WHOLE};
use crate::wire::ReminderInput;

/// Fields that stay as they were made.
const FIXED: &[&str] = &["user", "text", "lang", "created_via", "original_text"];
/// Fields that null clears.
const CLEARABLE: &[&str] = &["name", "ack_prompt"];

/// The changes that `value` asks for, compared with `before`. Only the given fields change.
pub(in crate::http) fn patch(value: Value, before: &Reminder, now: Timestamp, steps: &Steps) -> Result<Patch, Invalid> {
    let names = |wanted: fn(&Value) -> bool| -> Vec<String> {
        let fields = value.as_object().into_iter().flatten();
        fields.filter(|(_, value)| wanted(value)).map(|(name, _)| name.clone()).collect()
    };
    let (given, cleared) = (names(|value| !value.is_null()), names(Value::is_null));
    let input: ReminderInput = read::read(value, WHOLE, ReminderInput::MADE_HERE)?;
    if let Some(name) = cleared.iter().find(|name| !CLEARABLE.contains(&name.as_str())) {
        return Err(Invalid::new(name, "cannot be null; leave it out to keep it as it is"));
    }
    if given.is_empty() && cleared.is_empty() {
        return Err(Invalid::new(WHOLE, "changes nothing; give at least one field"));
    }
    if let Some(name) = FIXED.iter().find(|name| given.iter().any(|given| given == *name)) {
        return Err(Invalid::new(*name, "cannot be changed; make a new reminder"));
    }
    let timezone = zone(input.timezone, "timezone")?;
    let local = timezone.as_ref().unwrap_or(&before.timezone);
    let schedule = input.schedule.map(|given| schedule(given, local, now, steps)).transpose()?;
    let ack = Ack {
        required: input.require_ack,
        prompt: input.ack_prompt,
        timeout: input.ack_timeout,
        reminders_max: input.max_ack_reminders,
        escalates: input.escalate.as_ref().is_some_and(|steps| !steps.is_empty()),
    };
    Ok(Patch {
        name: input.name,
        message: input.message,
        schedule,
        timezone,
        priority: input.priority.map(|word| word.known("priority")).transpose()?,
        to: input.to.map(|to| addresses(to, "to")).transpose()?,
        only: input.only,
        ack: if ack.is_unsaid() { None } else { Some(ack.policy(before.ack.as_ref())?) },
        escalate: input.escalate.map(|given| steps_of(given, "escalate")).transpose()?,
        snooze_allowed: input.snooze_allowed,
        retries_max: input.max_retries,
        misfire: input.misfire.map(misfire).transpose()?,
        on_unknown: input.on_unknown.map(|word| word.known("on_unknown")).transpose()?,
        metadata: input.metadata.map(|map| Metadata::new(&map)),
        tags: input.tags.map(tags).transpose()?,
    })
}
