//! Turns a row into a reminder.

use jiff::Timestamp;
use punctual_core::reminder::Address;
use serde_json::{Map, Value, json};

use super::row::{Bad, Row};
use super::template::Template;
use crate::wire::{ReminderInput, Schedule};

/// The options of an import that say how rows are read.
pub(super) struct Wishes {
    /// Whose the reminders are.
    pub(super) user: Template,
    /// Where they are sent; none means wherever the user can be reached.
    pub(super) to: Vec<Template>,
    /// The message of the reminders.
    pub(super) message: Template,
    /// Whether a row that is overdue there is sent here.
    pub(super) takes_overdue: bool,
    /// The present.
    pub(super) now: Timestamp,
}

/// What a row means.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Mapped {
    /// It is to become a reminder.
    Take {
        /// As the API takes it.
        reminder: Box<ReminderInput>,
        /// It is switched off there.
        paused: bool,
    },
    /// It is over there.
    Ended(&'static str),
    /// It is not taken, and why.
    LeftOut(&'static str),
}

/// Why an overdue row is left out.
pub(super) const OVERDUE: &str = "overdue; --overdue deliver takes it";

/// A reminder with what all kinds have in common. `carried` are fields that go along in its metadata.
pub(super) fn reminder(
    row: &Row<'_>,
    wishes: &Wishes,
    schedule: Value,
    carried: &[&'static str],
) -> Result<Box<ReminderInput>, Bad> {
    let fill = |template: &Template| template.fill(row).map_err(|column| Bad::new(column, "is empty"));
    let user = fill(&wishes.user)?;
    let message = fill(&wishes.message)?;
    if message.trim().is_empty() {
        let column = row.layout.column("message").to_owned();
        return Err(Bad::new(column, "is empty; there is nothing to say"));
    }
    let mut to = Vec::new();
    for template in &wishes.to {
        // An address with an empty column in it is none: then the user's own addresses have to do.
        if let Ok(text) = template.fill(row) {
            let address: Address =
                text.parse().map_err(|invalid: punctual_core::invalid::Invalid| Bad::new("--to", invalid.problem))?;
            to.push(address.into());
        }
    }
    let to = (!to.is_empty()).then_some(to);
    let carried = carried.iter().filter_map(|field| {
        let column = row.layout.column(field).to_owned();
        Some((column, Value::from(row.text(field)?)))
    });
    let carried: Map<String, Value> = carried.collect();
    let imported = || Map::from_iter([("imported".to_owned(), json!({ "columns": carried }))]);
    Ok(Box::new(ReminderInput {
        user: Some(user),
        message: Some(message),
        schedule: Some(Schedule(schedule)),
        // There it went nowhere else.
        only: to.as_ref().map(|_| true),
        to,
        metadata: (!carried.is_empty()).then(imported),
        ..ReminderInput::default()
    }))
}

/// A single instant, or why it is not taken.
pub(super) fn once(at: Timestamp, wishes: &Wishes) -> Result<Value, Mapped> {
    if at <= wishes.now && !wishes.takes_overdue {
        return Err(Mapped::LeftOut(OVERDUE));
    }
    Ok(json!({ "type": "once", "at": at.to_string() }))
}
