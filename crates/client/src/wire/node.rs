//! The nodes that live.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::word::NodeState;

/// One running server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Whether it is the one that answers.
    pub this: bool,
    /// `alive`, or `silent` if it has not been heard of for three seconds; after a minute it is forgotten.
    pub state: NodeState,
    /// When it was started.
    pub since: Timestamp,
    /// When it last said that it lives. Where there can be one node only, that is now.
    pub seen_at: Timestamp,
    /// Its version, if it says one.
    pub version: Option<String>,
    /// Which of the 256 shards are its own: it looks at them first. One that is silent has none.
    pub shards: Vec<u8>,
    /// By how many milliseconds its machine's clock was behind the database's when it was set by that; negative if it was ahead.
    pub clock_offset_ms: Option<f64>,
    /// Runs that it has claimed and not settled.
    pub in_flight: Option<u64>,
    /// Messages that wait there for their turn.
    pub waiting: Option<u64>,
    /// `listen`, or `poll` while notifications do not arrive there. Where there can be one node only, none are needed.
    pub wake_ups: Option<Cow<'static, str>>,
}

/// All nodes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Nodes {
    /// By name.
    pub nodes: Vec<Node>,
    /// The clock by which they go.
    pub now: Timestamp,
    /// Whether several nodes can use this database.
    pub shared: bool,
    /// Always null: there is one page.
    pub next_cursor: Option<String>,
}
