//! The settings of this server: what it assumes where nobody says, and for those who look after it all that is in force.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::key::Scope;

use super::App;
use super::auth::Anyone;
use super::input::Params;
use super::problem::Problem;
use super::shown;
use crate::config::{InForce, Origin, Shown};
use crate::wire::{Setting, Settings, SettingsQuery};

/// What the server assumes where nobody says; with `all=true`, for keys with `admin`, every setting that is in force and where it comes from.
///
/// No secret is shown: of one that is set, the answer says that it is.
#[utoipa::path(
    get, path = "/v1/settings", operation_id = "show_settings", tag = "server", params(SettingsQuery),
    responses((status = 200, description = "Settings", body = Settings)),
)]
pub(super) async fn show(State(app): State<Arc<App>>, caller: Anyone, params: Params) -> Result<Response, Problem> {
    let is_all = params.only(&["all"])?.flag("all")?;
    let Anyone(caller) = caller;
    if is_all {
        caller.must_be_unbound()?;
        caller.may(Scope::Admin)?;
    }
    let body = Settings {
        version: env!("CARGO_PKG_VERSION").into(),
        timezone: app.zone.name().to_owned(),
        language: app.engine.settings().language.tag().into(),
        settings: is_all.then(|| app.in_force.iter().map(setting).collect()),
        node: is_all.then(|| app.engine.settings().node.clone()),
    };
    Ok(shown::answer(StatusCode::OK, &body))
}

fn setting(InForce { key, value, origin }: &InForce) -> Setting {
    let (source, from) = match origin {
        Origin::Flag(flag) => ("flag", Some(flag.clone())),
        Origin::Environment(variable) => ("environment", Some((*variable).to_owned())),
        Origin::File(path) => ("file", Some(path.display().to_string())),
        Origin::Default => ("default", None),
    };
    Setting {
        name: key.name.into(),
        value: match value {
            Shown::Text(text) => Some(text.clone()),
            Shown::Nothing | Shown::Secret => None,
        },
        secret: *value == Shown::Secret,
        source: source.into(),
        from,
        variable: key.env.first().map(|variable| (*variable).into()),
        right: key.right.into(),
    }
}
