//! A change to a reminder as it is asked for.

use jiff::Timestamp;
use punctual_core::change::Patch;
use punctual_core::invalid::{Fault, Faults, Invalid};
use punctual_core::reminder::{Metadata, Reminder};
use punctual_core::steps::Steps;
use serde_json::Value;

use super::reminder::{Ack, known, misfire, schedule, tags};
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
    let (input, mut faults): (ReminderInput, Faults) = read::partly(&value, WHOLE, ReminderInput::MADE_HERE)?;
    for name in cleared.iter().filter(|name| !CLEARABLE.contains(&name.as_str())) {
        faults.add(Invalid::new(name, "cannot be null; leave it out to keep it as it is"));
    }
    if given.is_empty() && cleared.is_empty() {
        faults.add(Invalid::new(WHOLE, "changes nothing; give at least one field"));
    }
    for name in FIXED.iter().filter(|name| given.iter().any(|given| given == *name)) {
        faults.add(Invalid::new(*name, "cannot be changed; make a new reminder").of(Fault::ReadOnly));
    }
    let timezone = faults.note(zone(input.timezone, "timezone")).flatten();
    let local = timezone.as_ref().unwrap_or(&before.timezone);
    let schedule = faults.note(input.schedule.map(|given| schedule(given, local, now, steps)).transpose()).flatten();
    let ack = Ack {
        required: input.require_ack,
        prompt: input.ack_prompt,
        timeout: input.ack_timeout,
        reminders_max: input.max_ack_reminders,
        escalates: input.escalate.as_ref().is_some_and(|steps| !steps.is_empty()),
    };
    let patch = Patch {
        name: input.name,
        message: input.message,
        schedule,
        timezone,
        priority: known(input.priority, "priority", &mut faults),
        to: faults.note(input.to.map(|to| addresses(to, "to")).transpose()).flatten(),
        only: input.only,
        ack: (!ack.is_unsaid()).then(|| ack.policy(before.ack.as_ref(), &mut faults)),
        escalate: faults.note(input.escalate.map(|given| steps_of(given, "escalate")).transpose()).flatten(),
        snooze_allowed: input.snooze_allowed,
        retries_max: input.max_retries,
        misfire: faults.note(input.misfire.map(misfire).transpose()).flatten(),
        on_unknown: known(input.on_unknown, "on_unknown", &mut faults),
        metadata: input.metadata.map(|map| Metadata::new(&map)),
        tags: faults.note(input.tags.map(tags).transpose()).flatten(),
    };
    if !faults.is_empty() {
        // What else is wrong with it is found as if the rest were right.
        faults.settle();
        let mut after = before.clone();
        patch.apply(&mut after);
        faults.note(after.validate());
    }
    faults.finish()?;
    Ok(patch)
}
