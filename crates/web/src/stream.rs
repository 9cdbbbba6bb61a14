//! What happens, told to an open page: one stream a browser, which its tabs share.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::Web;
use crate::session;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/stream", get(follow))
}

async fn follow(State(house): State<Web>, request: Request) -> Response {
    let Some(session) = session::of(request.headers(), &*house).map(str::to_owned) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    if !session::is_from_here(request.headers()) {
        return StatusCode::FORBIDDEN.into_response();
    }
    house.stream(&session, "", request).await
}
