//! The zone and language that this server assumes where nobody names any.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::App;
use super::auth::Anyone;
use super::input::Params;
use super::problem::Problem;
use super::shown;
use crate::wire::Settings;

/// What the server assumes where nobody says.
#[utoipa::path(
    get, path = "/v1/settings", operation_id = "show_settings", tag = "server",
    responses((status = 200, description = "Settings", body = Settings)),
)]
pub(super) async fn show(State(app): State<Arc<App>>, _: Anyone, params: Params) -> Result<Response, Problem> {
    params.only(&[])?;
    let body = Settings {
        version: env!("CARGO_PKG_VERSION").into(),
        timezone: app.zone.name().to_owned(),
        language: app.engine.settings().language.tag().into(),
    };
    Ok(shown::answer(StatusCode::OK, &body))
}
