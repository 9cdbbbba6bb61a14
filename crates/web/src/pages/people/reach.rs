//! Whether anybody receives what is sent to somebody. The API decides it as it decides about a reminder that is made: an import that writes
//! nothing is refused where the reminder would be.

use std::collections::HashMap;

use jiff::SignedDuration;
use punctual_client::wire::{Import, ImportItem, ImportOutcome, ImportedItem, ReminderInput, Schedule};
use serde_json::json;

use crate::texts::{Text, people as t};
use crate::viewer::{Scope, Viewer};

/// The field at which a reminder is refused that nobody can receive.
pub(in crate::pages) const FIELD: &str = "to";
/// What the import says where its items come from. Nothing of it is written.
const SOURCE: &str = "page";

/// Whether a reminder for somebody would reach anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Somebody,
    /// A reminder for them is refused.
    Nobody,
    /// The API does not say it to this key.
    Unknown,
}

/// What the API says about each of these people.
#[derive(Debug, Default)]
pub(super) struct Reaches(HashMap<String, Reach>);

impl Reaches {
    /// Asks about these people. Only a key that may make a reminder for anybody is told.
    pub(super) async fn of(v: &Viewer, ids: impl Iterator<Item = &str>) -> Self {
        if !v.may(Scope::Write) || v.caller.is_bound {
            return Self::default();
        }
        let at = v.m.now + SignedDuration::from_hours(24);
        let item = |id: &str| ImportItem {
            key: Some(id.to_owned()),
            created_at: None,
            paused: None,
            reminder: Some(ReminderInput {
                user: Some(id.to_owned()),
                message: Some("?".into()),
                schedule: Some(Schedule(json!({ "type": "once", "at": at.to_string() }))),
                timezone: Some("UTC".into()),
                ..ReminderInput::default()
            }),
        };
        let items: Vec<ImportItem> = ids.map(item).collect();
        let asked = Import { source: Some(SOURCE.into()), dry_run: Some(true), items: Some(items) };
        // A page that cannot say this says the rest.
        let told = v.client.import(&asked).await.map(|told| told.items).unwrap_or_default();
        Self(told.into_iter().map(|item| (item.key.clone(), Reach::of(&item))).collect())
    }

    /// What it says about one of them.
    pub(super) fn get(&self, id: &str) -> Reach {
        self.0.get(id).copied().unwrap_or(Reach::Unknown)
    }
}

impl Reach {
    fn of(told: &ImportedItem) -> Self {
        match &told.field {
            _ if told.outcome == ImportOutcome::New => Self::Somebody,
            Some(field) if told.outcome == ImportOutcome::Refused && field == FIELD => Self::Nobody,
            _ => Self::Unknown,
        }
    }

    /// What is said of somebody without an address.
    pub(super) fn without_address(self) -> Text {
        match self {
            Self::Somebody => t::NO_ADDRESS,
            Self::Nobody => t::NO_ADDRESS_NOBODY,
            Self::Unknown => t::NO_ADDRESS_UNKNOWN,
        }
    }
}
