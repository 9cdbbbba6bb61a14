//! Who asks; and links that sign in to the page.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::App;
use super::auth::{Anyone, OfChannels};
use super::input::Params;
use super::problem::Problem;
use super::shown;
use crate::wire::{self, SignInLink};

/// Says who asks: what the key may do, and for whom.
#[utoipa::path(
    get, path = "/v1/caller", operation_id = "show_caller", tag = "keys",
    responses((status = 200, description = "The caller", body = wire::Caller)),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    OfChannels(Anyone(caller)): OfChannels<Anyone>,
    params: Params,
) -> Result<Response, Problem> {
    params.only(&[])?;
    let body = wire::Caller {
        id: caller.id.to_string(),
        name: caller.name().to_owned(),
        user: caller.default_user().to_owned(),
        is_bound: caller.bound_to().is_some(),
        channels: caller.channels().to_vec(),
        scopes: caller.scopes().said().map(|scope| scope.as_str().into()).collect(),
        expires_at: caller.expires_at(),
        now: app.now(),
    };
    Ok(shown::answer(StatusCode::OK, &body))
}

/// Makes a link that signs in to the page with the rights of the key. It works once, for ten minutes.
#[utoipa::path(
    post, path = "/v1/sign-in", operation_id = "create_sign_in_link", tag = "keys",
    responses((status = 200, description = "The link", body = SignInLink)),
)]
pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    OfChannels(Anyone(caller)): OfChannels<Anyone>,
    params: Params,
) -> Result<Response, Problem> {
    params.only(&[])?;
    let (url, expires_at) = app.sign_in_link(&caller)?;
    let mut response = shown::answer(StatusCode::OK, &SignInLink { url, expires_at });
    let again = Problem::conflict("shown_once", "this request made a link, which was shown once; ask for another");
    response.extensions_mut().insert(again.instead());
    Ok(response)
}
