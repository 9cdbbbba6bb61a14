//! Foreign calendars.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::either::{OffsetInput, Span};

/// A calendar to follow, described in full.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CalendarInput {
    /// Where it is: `https://…`, `webcal://…`, or `file:NAME` in the operator's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How often it is read, such as `15m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub every: Option<Span>,
    /// Which alarms count: `own`, `defaults` or `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarms: Option<String>,
    /// When to remind of items that say nothing about it; left out: as the scope `user:NAME` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<OffsetInput>>,
    /// What is said, with `{title}`, `{location}`, `{minutes}` and `{starts_at}`; `{title}` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A calendar that is followed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Calendar {
    /// What its user calls it.
    pub name: String,
    /// Where it is, without what may be a secret.
    pub source: String,
    /// How often it is read.
    pub every_seconds: u64,
    /// Which alarms count: `own`, `defaults` or `both`.
    pub alarms: String,
    /// What is said, with fields; null: the title.
    pub message: Option<String>,
    /// When it is read next; null: it is gone.
    pub next_read_at: Option<Timestamp>,
    /// When it was last read.
    pub read_at: Option<Timestamp>,
    /// When it had last changed.
    pub changed_at: Option<Timestamp>,
    /// How often in a row it could not be read.
    pub failures: u32,
    /// Why it could not be read.
    pub problem: Option<String>,
    /// What of it could not be read.
    pub problems: Vec<String>,
}

/// The calendars of a user.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Calendars {
    /// By name.
    pub calendars: Vec<Calendar>,
}

/// A calendar to take over.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CalendarImportInput {
    /// Whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What it is called: the same name again moves and adds. `calendar` if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ical: Option<String>,
    /// Which alarms count: `own`, `defaults` or `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarms: Option<String>,
    /// When to remind of items that say nothing about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<OffsetInput>>,
    /// Only say what would become of each item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// What became of a calendar.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CalendarImported {
    /// Its items, as far as they are to come.
    pub items: Vec<CalendarImportedItem>,
    /// How many are done or over.
    pub over: usize,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// What became of one item.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CalendarImportedItem {
    /// The event's key.
    pub key: String,
    /// What it is called.
    pub title: String,
    /// When it starts next.
    pub starts_at: Timestamp,
    /// It happens again.
    pub repeats: bool,
    /// `created`, `changed`, `unchanged` or `refused`; of a dry run `would_import`.
    pub outcome: String,
    /// Why it was refused.
    pub problem: Option<String>,
}
