//! Watches: standing queries over applications' own tables.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// A watch: the fields of the config file, without secrets, and how it stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Watch {
    pub(crate) name: String,
    /// The application's database, without its password.
    pub(crate) database: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) table: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<String>,
    /// The column that names a row.
    pub(crate) key: String,
    /// The column that says when a row is due.
    pub(crate) due: String,
    /// The column that says when a row was reminded of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sent: Option<String>,
    /// The column that says whom to remind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// The channel of its own address; the address may be a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) channel: Option<String>,
    pub(crate) message: String,
    /// When it looks, as a schedule of a reminder.
    #[schema(value_type = Object)]
    pub(crate) schedule: Value,
    pub(crate) timezone: String,
    pub(crate) window: String,
    pub(crate) again_after: String,
    pub(crate) batch: usize,
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub(crate) only: Option<String>,
    pub(crate) priority: String,
    /// Where it is written down that a row was reminded of: in the application's `column`, or in the watch's own `ledger`. Missing before the
    /// first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<String>,
    /// Why it keeps a ledger although it names a column, or what keeps it from running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// Whether this server has this definition.
    pub(crate) defined_here: bool,
    pub(crate) defined_at: Timestamp,
    /// When it runs next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_at: Option<Timestamp>,
    /// The run that is going.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) running: Option<WatchRun>,
    /// The last run that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<WatchRun>,
    /// Its last runs, newest first; only where one watch is shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) runs: Vec<WatchRun>,
}

/// All watches.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Watches {
    pub(crate) watches: Vec<Watch>,
}

/// One run of a watch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct WatchRun {
    pub(crate) run_id: String,
    pub(crate) watch: String,
    /// `running`, `done` or `given_up`.
    pub(crate) state: String,
    /// Somebody asked for it.
    pub(crate) asked: bool,
    /// It was going when it was asked for; only in the answer to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) joined: Option<bool>,
    /// The node that had it last.
    pub(crate) node: String,
    pub(crate) started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<Timestamp>,
    /// Rows that were due and not reminded of.
    pub(crate) seen: u64,
    /// Rows whose reminder was made.
    pub(crate) sent: u64,
    /// Rows that somebody else had dealt with.
    pub(crate) skipped: u64,
    /// Rows that could not be reminded of.
    pub(crate) failed: u64,
    /// Tries that were made again.
    pub(crate) retried: u64,
    pub(crate) seconds: f64,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Rows that could not be reminded of; only where one run is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) bad: Vec<BadRow>,
    /// Begins the next page of bad rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A row that could not be reminded of.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct BadRow {
    pub(crate) key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<String>,
    pub(crate) problem: String,
}

/// What a run would do now.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct WatchTest {
    /// `column` or `ledger`.
    pub(crate) mode: String,
    /// Why it keeps a ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    pub(crate) warnings: Vec<String>,
    /// How many rows would be reminded of.
    pub(crate) n_due: u64,
    /// Whether all of them were counted.
    pub(crate) is_all: bool,
    /// The first 100 of them.
    pub(crate) rows: Vec<TestedRow>,
    /// The first 100 of those that could not be.
    pub(crate) bad: Vec<BadRow>,
}

/// A row that would be reminded of.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct TestedRow {
    pub(crate) key: String,
    pub(crate) due: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sent: Option<String>,
    pub(crate) user: String,
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) channel: Option<String>,
}

/// How long a run is waited for.
#[derive(Debug, Clone, Default, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunQuery {
    /// Seconds, from 0 to 600; 600 if nobody says.
    pub(crate) wait: Option<u64>,
}

impl WatchRun {
    pub(crate) fn of(run: &punctual_core::watch::WatchRun, now: Timestamp) -> Self {
        let punctual_core::watch::Counts { seen, sent, skipped, failed, retried } = run.counts;
        Self {
            run_id: run.id.to_string(),
            watch: run.watch.clone(),
            state: run.state.to_string(),
            asked: run.asked,
            joined: None,
            node: run.node.clone(),
            started_at: run.started_at,
            ended_at: run.ended_at,
            seen,
            sent,
            skipped,
            failed,
            retried,
            seconds: run.seconds(now),
            error: run.error.clone(),
            bad: Vec::new(),
            next_cursor: None,
        }
    }
}

impl From<punctual_core::watch::BadRow> for BadRow {
    fn from(bad: punctual_core::watch::BadRow) -> Self {
        let punctual_core::watch::BadRow { key, field, problem } = bad;
        Self { key, field, problem }
    }
}
