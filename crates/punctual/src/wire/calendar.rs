//! Foreign calendars.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::either::{OffsetInput, Span};

/// A calendar to follow, described in full.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CalendarInput {
    /// Where it is: `https://…`, `webcal://…`, or `file:NAME` in the operator's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// How often it is read, such as `15m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) every: Option<Span>,
    /// Which alarms count: `own`, `defaults` or `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alarms: Option<String>,
    /// When to remind of items that say nothing about it; left out: as the scope `user:NAME` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offsets: Option<Vec<OffsetInput>>,
    /// What is said, with `{title}`, `{location}`, `{minutes}` and `{starts_at}`; `{title}` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// A calendar that is followed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Calendar {
    pub(crate) name: String,
    /// Where it is, without what may be a secret.
    pub(crate) source: String,
    pub(crate) every_seconds: u64,
    pub(crate) alarms: String,
    pub(crate) message: Option<String>,
    /// When it is read next; null: it is gone.
    pub(crate) next_read_at: Option<Timestamp>,
    pub(crate) read_at: Option<Timestamp>,
    pub(crate) changed_at: Option<Timestamp>,
    /// How often in a row it could not be read.
    pub(crate) failures: u32,
    /// Why it could not be read.
    pub(crate) problem: Option<String>,
    /// What of it could not be read.
    pub(crate) problems: Vec<String>,
}

/// The calendars of a user.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Calendars {
    pub(crate) calendars: Vec<Calendar>,
}

/// A calendar to take over.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CalendarImportInput {
    /// Whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// What it is called: the same name again moves and adds. `calendar` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ical: Option<String>,
    /// Which alarms count: `own`, `defaults` or `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alarms: Option<String>,
    /// When to remind of items that say nothing about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offsets: Option<Vec<OffsetInput>>,
    /// Only say what would become of each item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dry_run: Option<bool>,
}

/// What became of a calendar.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct CalendarImported {
    /// Its items, as far as they are to come.
    pub(crate) items: Vec<CalendarImportedItem>,
    /// How many are done or over.
    pub(crate) over: usize,
    /// What could not be read.
    pub(crate) problems: Vec<String>,
}

/// What became of one item.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct CalendarImportedItem {
    /// The event's key.
    pub(crate) key: String,
    pub(crate) title: String,
    pub(crate) starts_at: Timestamp,
    /// It happens again.
    pub(crate) repeats: bool,
    /// `created`, `changed`, `unchanged` or `refused`; of a dry run `would_import`.
    pub(crate) outcome: String,
    /// Why it was refused.
    pub(crate) problem: Option<String>,
}
