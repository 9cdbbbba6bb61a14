//! What this server assumes where nobody says.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::App;
use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::wire;

pub(super) async fn show(State(app): State<Arc<App>>, _: Caller, params: Params) -> Result<Response, Problem> {
    params.only(&[])?;
    let body = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "timezone": app.zone.name(),
        "language": app.engine.settings().language.tag(),
    });
    Ok(wire::answer(StatusCode::OK, &body))
}
