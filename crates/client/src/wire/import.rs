//! What another system was asked for, and what became of it here.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_core::words;
use serde::{Deserialize, Serialize};

use super::reminder::ReminderInput;
use super::word::{OccurrenceState, ReminderStatus, Word};

/// Items of another system that this server takes over.
pub type ImportInput = Import<Item>;

/// An item whose reminder is read with it.
type Item = ImportItem<ReminderInput>;

/// Items to be taken over. The server reads each by itself (`I` is a JSON value there), because one bad item stops no other.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Import<I = ImportItem> {
    /// Where they come from, such as `v2_reminders@bot`. It must be said.
    pub source: Option<String>,
    /// Whether nothing is written.
    pub dry_run: Option<bool>,
    /// Up to 1,000.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Item>>))]
    pub items: Option<Vec<I>>,
}

/// One item.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ImportItem<R = ReminderInput> {
    /// What the other system calls it. It must be said.
    pub key: Option<String>,
    /// Since when the other system knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Whether it is paused there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// The reminder; an item without one is only asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<ReminderInput>))]
    pub reminder: Option<R>,
}

/// What became of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It is a reminder now.
    Created,
    /// It would become one, if this were no dry run.
    New,
    /// It was imported before.
    Exists,
    /// It cannot be a reminder.
    Refused,
    /// It was asked about, and nothing of it is known.
    Absent,
    /// It was asked about; it was imported, and is over.
    Over,
    /// It was asked about; it was imported, and is not over.
    Active,
}

words!(ImportOutcome as "outcome" {
    "created" => Created, "new" => New, "exists" => Exists, "refused" => Refused, "absent" => Absent, "over" => Over, "active" => Active,
});

type Outcome = Word<ImportOutcome>;

/// One item, and what became of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportedItem {
    /// What the other system calls it.
    pub key: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The reminder that it is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Where that reminder stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ReminderStatus>,
    /// Fields that have another value here than there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<Cow<'static, str>>,
    /// The field for which it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What became of the items of one request, in their order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Imported {
    /// Where they come from.
    pub source: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// How many became reminders.
    pub created: usize,
    /// How many were imported before.
    pub exists: usize,
    /// How many cannot be reminders.
    pub refused: usize,
    /// Each of them.
    pub items: Vec<ImportedItem>,
}

/// A reminder that was imported, and its runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Send {
    /// The reminder.
    pub id: String,
    /// What the other system calls it.
    pub key: String,
    /// Where it stands.
    pub status: ReminderStatus,
    /// When it was imported.
    pub imported_at: Option<String>,
    /// Its runs.
    pub runs: Vec<ImportedRun>,
}

/// One run of what was imported.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportedRun {
    /// Which run of the reminder, from 1.
    pub run_number: u32,
    /// When it is due.
    pub due_at: Timestamp,
    /// Where it stands.
    pub state: OccurrenceState,
    /// When the person was reached.
    pub sent_at: Option<Timestamp>,
}

/// A page of what was imported.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Sends {
    /// The page.
    pub reminders: Vec<Send>,
    /// Begins the next page; null on the last.
    pub next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_outcome_of_a_newer_server_is_kept_as_it_came() {
        for (word, is_known) in [("exists", true), ("merged", false)] {
            let said = json!({ "key": "7", "outcome": word });
            let item: ImportedItem = serde_json::from_value(said.clone()).unwrap();
            assert_eq!(item.outcome == ImportOutcome::Exists, is_known);
            assert_eq!(serde_json::to_value(&item).unwrap(), said);
        }
    }
}
