//! A change to a reminder as it is asked for.

use jiff::Timestamp;
use punctual_core::change::Patch;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::Reminder;
use punctual_core::steps::Steps;
use serde_json::Value;

use super::addresses;
use super::reminder::{KNOWN, MADE_HERE, ack, metadata, misfire, schedule_if_any};
use crate::http::fields::Fields;
use crate::http::problem::WHOLE;

/// Fields that stay as they were made.
const FIXED: &[&str] = &["user", "created_via", "original_text"];
/// Fields that null clears.
const CLEARABLE: &[&str] = &["name", "ack_prompt"];
const ACK: &[&str] = &["require_ack", "ack_prompt", "ack_timeout", "max_ack_reminders"];

/// What `value` changes about `before`. Only the given fields change.
pub(in crate::http) fn patch(value: Value, before: &Reminder, now: Timestamp, steps: &Steps) -> Result<Patch, Invalid> {
    let mut fields = Fields::of(value, WHOLE, KNOWN, MADE_HERE)?;
    fields.refuse_null(CLEARABLE)?;
    if fields.is_empty() {
        return Err(Invalid::new(WHOLE, "changes nothing; give at least one field"));
    }
    if let Some(name) = FIXED.iter().find(|name| fields.has(name)) {
        return Err(Invalid::new(*name, "cannot be changed; make a new reminder"));
    }
    let timezone = fields.zone("timezone")?;
    let schedule = schedule_if_any(&mut fields, timezone.as_ref().unwrap_or(&before.timezone), now, steps)?;
    let asks = ACK.iter().any(|name| fields.mentions(name));
    Ok(Patch {
        name: fields.clearable("name")?,
        message: fields.text("message")?,
        schedule,
        timezone,
        priority: fields.word("priority")?,
        to: addresses(&mut fields, "to")?,
        only: fields.boolean("only")?,
        ack: if asks { Some(ack(&mut fields, before.ack.as_ref())?) } else { None },
        snooze_allowed: fields.boolean("snooze_allowed")?,
        retries_max: fields.number("max_retries")?,
        misfire: misfire(&mut fields)?,
        on_unknown: fields.word("on_unknown")?,
        metadata: metadata(&mut fields)?,
    })
}
