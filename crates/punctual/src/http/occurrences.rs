//! What became of the runs of a reminder.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::journal::Placed;
use punctual_core::store::{JournalQuery, Start};

use super::App;
use super::auth::{Caller, OfChannels};
use super::input::{InPath, Params};
use super::problem::Problem;
use super::reminders::{id_from, seen};
use super::shown;
use crate::wire::{Occurrence, Occurrences, PageQuery, UserQuery};

/// How many entries of the journal are shown beside occurrences, the latest; `/v1/audit` has them all.
const AUDIT_MAX: usize = 500;

/// Lists the runs of a reminder with their trails, newest first.
#[utoipa::path(
    get, path = "/v1/reminders/{id}/occurrences", operation_id = "list_occurrences", tag = "reminders",
    params(("id" = String, Path, description = "The id of a reminder"), UserQuery, PageQuery), responses((status = 200, description = "A page", body = Occurrences)),
)]
pub(super) async fn of_reminder(
    State(app): State<Arc<App>>,
    OfChannels(caller): OfChannels<Caller>,
    InPath(id): InPath<String>,
    params: Params,
) -> Result<Response, Problem> {
    let params = params.only(&["user", "limit", "cursor"])?;
    let id = id_from(&id)?;
    seen(&app, &caller, id).await?;
    let limit = params.limit()?;
    let before = params.cursor(|text| text.parse().ok())?;
    let mut trails = app.engine.store().occurrences(id, before, limit + 1).await?;
    let next_cursor = shown::cut(&mut trails, limit, |trail| trail.occurrence.id.run.to_string());
    let audit = audit_of(&app, id).await?;
    let page = Occurrences {
        occurrences: trails.into_iter().map(|trail| shown::occurrence(trail, &audit)).collect(),
        audit: audit.iter().filter(|entry| entry.run.is_none()).map(shown::entry).collect(),
        next_cursor,
    };
    Ok(shown::answer(StatusCode::OK, &page))
}

/// Shows one run with its attempts, answers and entries of the journal.
#[utoipa::path(
    get, path = "/v1/occurrences/{id}", operation_id = "show_occurrence", tag = "reminders",
    params(("id" = String, Path, description = "The id of a run"), UserQuery),
    responses((status = 200, description = "The run", body = Occurrence)),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    OfChannels(caller): OfChannels<Caller>,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    let id: OccurrenceId =
        id.parse().map_err(|error: punctual_core::id::BadId| Problem::not_found(error.to_string()))?;
    seen(&app, &caller, id.reminder).await.map_err(|_| Problem::not_found("no such occurrence"))?;
    match app.engine.store().occurrence(id).await? {
        Some(trail) => {
            let audit = audit_of(&app, id.reminder).await?;
            Ok(shown::answer(StatusCode::OK, &shown::occurrence(trail, &audit)))
        }
        None => Err(Problem::not_found("no such occurrence")),
    }
}

/// The newest entries about a reminder, newest first.
async fn audit_of(app: &App, reminder: ReminderId) -> Result<Vec<Placed>, Problem> {
    let store = app.engine.store();
    store.place().await?;
    let query = JournalQuery { reminder: Some(reminder), ..JournalQuery::new(Start::NEWEST, AUDIT_MAX) };
    Ok(store.journal(query).await?.entries)
}
