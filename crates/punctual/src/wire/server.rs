//! The server itself.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the server assumes where nobody says.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Settings {
    pub(crate) version: Cow<'static, str>,
    pub(crate) timezone: String,
    pub(crate) language: Cow<'static, str>,
}

/// Counts for people and dashboards, at most ten seconds old.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Stats {
    pub(crate) version: Cow<'static, str>,
    pub(crate) now: Timestamp,
    /// Whether everything is done but the send.
    pub(crate) shadow: bool,
    pub(crate) timezone: String,
    /// Runs that are to come.
    pub(crate) pending: u64,
    /// When the first of them is or was due.
    pub(crate) oldest_at: Option<Timestamp>,
    /// How overdue it is.
    pub(crate) oldest_due_seconds: f64,
    /// How many reminders there are, by status.
    pub(crate) reminders: BTreeMap<String, u64>,
    pub(crate) in_flight: i64,
    pub(crate) retries: u64,
    pub(crate) queries: u64,
}

/// The process answers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Alive {
    /// Always `ok`.
    pub(crate) status: Cow<'static, str>,
    pub(crate) version: Cow<'static, str>,
}

/// Whether the server can do its work.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Ready {
    /// `ready` or `not ready`.
    pub(crate) status: Cow<'static, str>,
    /// The server's clock, while it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) now: Option<Timestamp>,
    /// All reasons in one sentence, while it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasons: Option<Vec<String>>,
    /// Whether everything is done but the send.
    pub(crate) shadow: bool,
    /// How many nodes live, where there can be several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nodes: Option<usize>,
    /// How many of the 256 shards are this node's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shards: Option<usize>,
    /// `listen`, or `poll` while notifications do not arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wake_ups: Option<Cow<'static, str>>,
    /// Settings in which this node and another one differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disagrees: Option<Vec<String>>,
    /// `up`, or `down: …`, where there is a Redis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redis: Option<String>,
}

/// What a link is about, or what it has answered.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct LinkAnswer {
    pub(crate) answered: bool,
    /// `ack`, `snooze` or `dismiss`.
    pub(crate) response: Cow<'static, str>,
    pub(crate) reminder_id: String,
    pub(crate) occurrence_id: String,
    /// How to answer, where that is still to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<Cow<'static, str>>,
    /// Until when an answered snooze lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) until: Option<Option<Timestamp>>,
}
