//! The ways to reach people.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use super::App;
use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::wire;

pub(super) async fn list(State(app): State<Arc<App>>, _: Caller, params: Params) -> Result<Response, Problem> {
    params.only(&[])?;
    let default = &app.engine.settings().fallback.channel;
    let channels = app.engine.channels().iter().map(
        |(name, channel)| json!({ "name": name, "kind": channel.kind(), "concurrency": channel.limits().concurrency, "default": name == default }),
    );
    Ok(wire::page("channels", channels.collect(), None))
}
