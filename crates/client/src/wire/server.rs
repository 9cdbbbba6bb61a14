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
}

/// Counts for people and dashboards, at most ten seconds old.
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
