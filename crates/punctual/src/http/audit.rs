//! What was done, and by whom.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::store::{JournalQuery, Start};

use super::App;
use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::reminders::{id_from, seen};
use super::shown;
use crate::wire::{Audit, AuditQuery};

/// Lists what was done, and by whom, newest first.
///
/// A key bound to a user sees only entries of that user's reminders, one reminder at a time.
#[utoipa::path(
    get, path = "/v1/audit", operation_id = "list_audit", tag = "server", params(AuditQuery),
    responses((status = 200, description = "A page", body = Audit)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let params = params.only(&["user", "reminder", "limit", "cursor"])?;
    let reminder = match params.get("reminder") {
        Some(id) => {
            let id = id_from(id)?;
            seen(&app, &caller, id).await?;
            Some(id)
        }
        None if caller.bound_to().is_some() => {
            let detail = "a key bound to a user sees the trail of one reminder: add ?reminder=ID";
            return Err(Problem::forbidden(detail).at_field("reminder"));
        }
        None => None,
    };
    let limit = params.limit()?;
    let before = params.cursor(|text| text.parse().ok())?;
    let store = app.engine.store();
    store.place().await?;
    let start = before.map_or(Start::NEWEST, Start::Before);
    let mut entries = store.journal(JournalQuery { reminder, ..JournalQuery::new(start, limit + 1) }).await?.entries;
    let next_cursor = shown::cut(&mut entries, limit, |entry| entry.position.to_string());
    Ok(shown::answer(StatusCode::OK, &Audit { entries: entries.iter().map(shown::entry).collect(), next_cursor }))
}
