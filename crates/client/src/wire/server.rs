//! The server itself.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What the server assumes where nobody says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Settings {
    /// The version of the server.
    pub version: Cow<'static, str>,
    /// The zone of users who have none.
    pub timezone: String,
    /// The language of users who have none.
    pub language: Cow<'static, str>,
    /// Every setting that is in force, where `all` asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Vec<Setting>>,
    /// The node whose settings these are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// Which settings.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct SettingsQuery {
    /// Every one that is in force, and where it comes from. It needs a key with `admin` that is bound to nobody.
    pub all: Option<bool>,
}

/// A setting as it is in force.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Setting {
    /// Its name in the config file.
    pub name: Cow<'static, str>,
    /// Its value; null where nothing is set, and where it is a secret.
    pub value: Option<String>,
    /// Whether it is a secret that is set.
    pub secret: bool,
    /// `flag`, `environment`, `file` or `default`.
    pub source: Cow<'static, str>,
    /// The flag, the variable or the file.
    pub from: Option<String>,
    /// The variable by which it can be set.
    pub variable: Option<Cow<'static, str>>,
    /// What a right value looks like.
    pub right: Cow<'static, str>,
}

/// How old counts may be.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct StatsQuery {
    /// The last counts that there are, at once: `counted_at` says how old they are. Without it they are at most ten seconds old, and counting a million
    /// reminders takes a while.
    pub stale: Option<bool>,
}

/// Counts for people and dashboards.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stats {
    /// The version of the server.
    pub version: Cow<'static, str>,
    /// The server's clock.
    pub now: Timestamp,
    /// Whether everything is done but the send.
    pub shadow: bool,
    /// The server's zone.
    pub timezone: String,
    /// Runs that are to come.
    pub pending: u64,
    /// When the first of them is or was due.
    pub oldest_at: Option<Timestamp>,
    /// How overdue it is.
    pub oldest_due_seconds: f64,
    /// How many reminders there are, by status.
    pub reminders: BTreeMap<String, u64>,
    /// Sends under way.
    pub in_flight: i64,
    /// Attempts that were made again since the start.
    pub retries: u64,
    /// Queries to the database since the start.
    pub queries: u64,
    /// When these were counted.
    pub counted_at: Timestamp,
    /// The database.
    pub database: Database,
    /// The journal.
    pub journal: JournalState,
}

/// What a database is, and how large.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Database {
    /// Such as `SQLite`.
    pub kind: Cow<'static, str>,
    /// The version of its program.
    pub version: String,
    /// The version of its tables.
    pub schema: u32,
    /// How many bytes it takes on its disk.
    pub bytes: u64,
    /// Its last failure, until something works again.
    pub error: Option<String>,
}

/// How far the journal has come.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JournalState {
    /// The first position that is kept.
    pub first: i64,
    /// The last position.
    pub last: i64,
    /// When the last entry was written.
    pub last_at: Option<Timestamp>,
}

/// The process answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Alive {
    /// Always `ok`.
    pub status: Cow<'static, str>,
    /// The version of the server.
    pub version: Cow<'static, str>,
}

/// Whether the server can do its work.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Ready {
    /// `ready` or `not ready`.
    pub status: Cow<'static, str>,
    /// The server's clock, while it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Timestamp>,
    /// All reasons in one sentence, while it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Why it is not ready, each by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<Vec<String>>,
    /// Whether everything is done but the send.
    pub shadow: bool,
    /// How many nodes live, where there can be several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// How many of the 256 shards are this node's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<usize>,
    /// `listen`, or `poll` while notifications do not arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_ups: Option<Cow<'static, str>>,
    /// Settings in which this node and another one differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disagrees: Option<Vec<String>>,
    /// `up`, or `down: …`, where there is a Redis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redis: Option<String>,
}

/// What a link is about, or what it has answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LinkAnswer {
    /// Whether it is answered.
    pub answered: bool,
    /// `ack`, `snooze` or `dismiss`.
    pub response: Cow<'static, str>,
    /// The reminder that it is about.
    pub reminder_id: String,
    /// The run that it is about.
    pub occurrence_id: String,
    /// How to answer, where that is still to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Cow<'static, str>>,
    /// Until when an answered snooze lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub until: Option<Option<Timestamp>>,
}
