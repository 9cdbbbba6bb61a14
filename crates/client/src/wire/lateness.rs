//! How late sends were.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Which time.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct LatenessQuery {
    /// From then on: a day, from its beginning, or a time; 24 hours ago if nobody says. Counts are kept for 35 days.
    pub from: Option<String>,
    /// Until then: a day, to its end, or a time; now if nobody says.
    pub to: Option<String>,
    /// How long each part is, in whole times of five minutes, such as `15m` or `1h`; what makes about a hundred parts, if nobody says.
    pub step: Option<String>,
}

/// How late the sends of all nodes were.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Lateness {
    /// The begin of the first part.
    pub from: Timestamp,
    /// The end of the last.
    pub to: Timestamp,
    /// How long each part is, in seconds.
    pub step_seconds: i64,
    /// All of it together.
    pub total: Late,
    /// How many sends were how late.
    pub histogram: Vec<LateCount>,
    /// Each part in which something was sent or has failed, in order.
    pub parts: Vec<LatePart>,
    /// The nodes that have counted.
    pub nodes: Vec<String>,
}

/// How late sends were. A percentile is up to an eighth too much, never too little.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Late {
    /// Sends that have begun.
    pub sends: u64,
    /// Attempts that have failed.
    pub failed: u64,
    /// Runs that were given up.
    pub given_up: u64,
    /// The most messages that were seen to wait for their turn on one node.
    pub waiting: u64,
    /// Half of the sends began within so many milliseconds after their instant.
    pub p50_ms: Option<f64>,
    /// Nine of ten did.
    pub p90_ms: Option<f64>,
    /// 99 of a hundred did.
    pub p99_ms: Option<f64>,
    /// All of them did.
    pub max_ms: Option<f64>,
}

/// One part of the time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LatePart {
    /// Its begin.
    pub at: Timestamp,
    /// How late the sends in it were.
    pub late: Late,
}

/// How many sends were so late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LateCount {
    /// Less than so many milliseconds, and not less than the count before says; null for all that are later.
    pub below_ms: Option<f64>,
    /// How many.
    pub sends: u64,
}
