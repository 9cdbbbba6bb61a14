//! What another system was asked for, and what became of it here.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_core::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::reminder::ReminderInput;
use super::word::{OccurrenceState, ReminderStatus, Word};

/// Items of another system that this server takes over.
pub(crate) type ImportInput = Import<Item>;

/// An item whose reminder is read with it.
type Item = ImportItem<ReminderInput>;

/// Items to be taken over. The server reads each by itself (`I` is a JSON value there), because one bad item stops no other.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Import<I = ImportItem> {
    /// Where they come from, such as `v2_reminders@bot`. It must be said.
    pub(crate) source: Option<String>,
    /// Whether nothing is written.
    pub(crate) dry_run: Option<bool>,
    /// Up to 1,000.
    #[schema(value_type = Option<Vec<Item>>)]
    pub(crate) items: Option<Vec<I>>,
}

/// One item.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportItem<R = ReminderInput> {
    /// What the other system calls it. It must be said.
    pub(crate) key: Option<String>,
    /// Since when the other system knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<String>,
    /// Whether it is paused there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    /// The reminder; an item without one is only asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ReminderInput>)]
    pub(crate) reminder: Option<R>,
}

/// What became of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImportOutcome {
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
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ImportedItem {
    pub(crate) key: String,
    /// What became of it.
    pub(crate) outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<ReminderStatus>,
    /// Fields that have another value here than there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) differs: Vec<Cow<'static, str>>,
    /// The field for which it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
}

/// What became of the items of one request, in their order.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Imported {
    pub(crate) source: String,
    pub(crate) dry_run: bool,
    pub(crate) created: usize,
    pub(crate) exists: usize,
    pub(crate) refused: usize,
    pub(crate) items: Vec<ImportedItem>,
}

/// A reminder that was imported, and its runs.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Send {
    pub(crate) id: String,
    /// What the other system calls it.
    pub(crate) key: String,
    pub(crate) status: ReminderStatus,
    pub(crate) imported_at: Option<String>,
    pub(crate) runs: Vec<ImportedRun>,
}

/// One run of what was imported.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ImportedRun {
    pub(crate) run_number: u32,
    pub(crate) due_at: Timestamp,
    pub(crate) state: OccurrenceState,
    pub(crate) sent_at: Option<Timestamp>,
}

/// A page of what was imported.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Sends {
    pub(crate) reminders: Vec<Send>,
    /// Begins the next page; null on the last.
    pub(crate) next_cursor: Option<String>,
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
