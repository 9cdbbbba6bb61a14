//! The applications that are told what happens.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::App;
use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::shown;
use crate::wire::{Subscription, Subscriptions};

/// Lists the subscriptions of the config file, how far each has been told, and what its operator should know.
#[utoipa::path(
    get, path = "/v1/subscriptions", operation_id = "list_subscriptions", tag = "server",
    responses((status = 200, description = "All subscriptions", body = Subscriptions)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    params.only(&[])?;
    caller.must_be_unbound()?;
    let store = app.engine.store();
    let (head, duties) = (store.place().await?, store.duties().await?);
    let show = |subscription: &punctual_engine::Subscription| {
        let duty = duties.iter().find(|duty| duty.name == subscription.name);
        let position = duty.map(|duty| duty.position);
        Subscription {
            name: subscription.name.clone(),
            kinds: subscription.kinds.iter().map(ToString::to_string).collect(),
            users: subscription.users.clone(),
            tag: subscription.tag.clone(),
            channel: subscription.to.channel.clone(),
            node: duty.and_then(|duty| duty.node.clone()),
            position,
            behind: position.map(|position| head.saturating_sub(position).max(0)),
            note: duty.and_then(|duty| duty.note.clone()),
        }
    };
    let subscriptions = app.engine.settings().subscriptions.iter().map(show).collect();
    Ok(shown::answer(StatusCode::OK, &Subscriptions { subscriptions, next_cursor: None }))
}
