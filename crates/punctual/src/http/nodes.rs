//! The nodes that live.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::store::NodeState;

use super::App;
use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::shown;
use crate::wire::{Node, Nodes};

/// Lists the nodes that use this database: since when, what is theirs, and how they do.
///
/// A node says once a second that it lives. Where there can be one node only, it is the one that answers.
#[utoipa::path(
    get, path = "/v1/nodes", operation_id = "list_nodes", tag = "server",
    responses((status = 200, description = "All nodes", body = Nodes)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    params.only(&[])?;
    caller.must_be_unbound()?;
    let known = app.engine.nodes().await?;
    let own = &app.engine.settings().node;
    let show = |node: punctual_engine::NodeStanding| Node {
        this: node.name == *own,
        name: node.name,
        state: if node.is_alive { NodeState::Alive } else { NodeState::Silent }.into(),
        since: node.since,
        seen_at: node.seen_at,
        version: node.about.version,
        shards: node.shards,
        clock_offset_ms: node.about.clock_offset_micros.map(|micros| micros as f64 / 1000.0),
        in_flight: node.about.in_flight,
        waiting: node.about.waiting,
        wake_ups: node.about.hears.map(|hears| if hears { "listen" } else { "poll" }.into()),
    };
    let body = Nodes {
        nodes: known.nodes.into_iter().map(show).collect(),
        now: known.now,
        shared: known.is_shared,
        next_cursor: None,
    };
    Ok(shown::answer(StatusCode::OK, &body))
}
