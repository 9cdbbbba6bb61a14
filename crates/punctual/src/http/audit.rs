//! What was done, and by whom.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::store::AuditQuery;

use super::App;
use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::reminders::{id_from, seen};
use super::shown;
use crate::wire::Audit;

/// Entries about one reminder, or about all. A key bound to a user sees only those of that user's
/// reminders.
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
    let mut entries = app.engine.store().audit(AuditQuery { reminder, before, limit: limit + 1 }).await?;
    let next_cursor = shown::cut(&mut entries, limit, |entry| entry.number.to_string());
    Ok(shown::answer(StatusCode::OK, &Audit { entries: entries.iter().map(shown::entry).collect(), next_cursor }))
}
