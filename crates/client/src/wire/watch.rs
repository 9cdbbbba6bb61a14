//! Watches: queries that are asked over and over of applications' own tables.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::word::RunState;

/// A watch: the fields of the config file, without secrets, and how it stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Watch {
    /// Its name.
    pub name: String,
    /// The application's database, without its password.
    pub database: String,
    /// The table that it looks in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The query that finds its rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The column that names a row.
    pub key: String,
    /// The column that says when a row is due.
    pub due: String,
    /// The column that says when a row was reminded of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// The column that says whom to remind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The channel of its own address; the address may be a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// What is said, with fields of the row.
    pub message: String,
    /// When it looks, as a schedule of a reminder.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub schedule: Value,
    /// The zone of its schedule, and of times without one.
    pub timezone: String,
    /// How far back it looks.
    pub window: String,
    /// After how long a row that stays due is reminded of again.
    pub again_after: String,
    /// How many rows it takes at once.
    pub batch: usize,
    /// What else must hold for a row.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// How urgent its reminders are.
    pub priority: String,
    /// Where it is written down that a row was reminded of: in the application's `column`, or in the watch's own `ledger`. Missing before the
    /// first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Why it keeps a ledger although it names a column, or what keeps it from running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether this server has this definition.
    pub defined_here: bool,
    /// When this definition was first seen.
    pub defined_at: Timestamp,
    /// When it runs next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// The run that is going.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<WatchRun>,
    /// The last run that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<WatchRun>,
    /// Its last runs, newest first; only where one watch is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<WatchRun>,
}

/// All watches.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Watches {
    /// By name.
    pub watches: Vec<Watch>,
}

/// One run of a watch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WatchRun {
    /// Its id.
    pub run_id: String,
    /// The watch.
    pub watch: String,
    /// Whether it goes on, or how it ended.
    pub state: RunState,
    /// Somebody asked for it.
    pub asked: bool,
    /// It was going when it was asked for; only in the answer to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<bool>,
    /// The node that had it last.
    pub node: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Rows that were due and not reminded of.
    pub seen: u64,
    /// Rows whose reminder was made.
    pub sent: u64,
    /// Rows that somebody else had dealt with.
    pub skipped: u64,
    /// Rows that could not be reminded of.
    pub failed: u64,
    /// Tries that were made again.
    pub retried: u64,
    /// How long it took, or has taken so far.
    pub seconds: f64,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Rows that could not be reminded of; only where one run is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad: Vec<BadRow>,
    /// Begins the next page of bad rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A row that could not be reminded of.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BadRow {
    /// Which row.
    pub key: String,
    /// The column that is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is wrong with it.
    pub problem: String,
}

/// What a run would do now.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WatchTest {
    /// `column` or `ledger`.
    pub mode: String,
    /// Why it keeps a ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What should be looked at, though it works.
    pub warnings: Vec<String>,
    /// How many rows would be reminded of.
    pub n_due: u64,
    /// Whether all of them were counted.
    pub is_all: bool,
    /// The first 100 of them.
    pub rows: Vec<TestedRow>,
    /// The first 100 of those that could not be.
    pub bad: Vec<BadRow>,
}

/// A row that would be reminded of.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestedRow {
    /// Which row.
    pub key: String,
    /// When it is due.
    pub due: String,
    /// When it was last reminded of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// Who would be reminded.
    pub user: String,
    /// What would be said.
    pub message: String,
    /// By which channel, if the row or the watch names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// How long a run is waited for.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct RunQuery {
    /// Seconds, from 0 to 600; 600 if nobody says.
    pub wait: Option<u64>,
}
