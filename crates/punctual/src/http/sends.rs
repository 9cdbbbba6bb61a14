//! The sends of imported reminders, to compare them with those of the system they came from.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use punctual_core::id::ReminderId;
use punctual_core::invalid::Invalid;
use punctual_core::schedule::parse_instant;
use punctual_core::store::{Imported, ImportedQuery};

use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::{App, pages, shown};
use crate::wire::{ImportedRun, Send, Sends, SendsQuery};

/// Lists what was imported from a source, with the runs due in a time.
#[utoipa::path(
    get, path = "/v1/import/sends", operation_id = "list_sends", tag = "import", params(SendsQuery),
    responses((status = 200, description = "A page", body = Sends)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    caller.must_be_unbound()?;
    let params = params.only(&["source", "from", "to", "limit", "cursor"])?;
    let missing = || Invalid::new("source", "is missing; name where they come from, such as v2_reminders@bot");
    let source = params.get("source").ok_or_else(missing)?.to_owned();
    let instant = |name: &str, otherwise: Timestamp| match params.get(name) {
        Some(text) => parse_instant(text, &app.zone, app.now()).map_err(|problem| Invalid::new(name, problem)),
        None => Ok(otherwise),
    };
    let limit = params.limit()?;
    let query = ImportedQuery {
        source,
        after: None,
        from: instant("from", Timestamp::MIN)?,
        to: instant("to", Timestamp::MAX)?,
        limit,
    };
    let after: Option<ReminderId> = params.cursor(|text| text.parse().ok())?;
    let read = |after, limit| app.engine.store().imported(ImportedQuery { after, limit, ..query.clone() });
    // The answer shows runs; the page is read by reminders.
    let bytes_of = |one: &Imported| pages::bytes_of(&one.reminder) + one.runs.len() * 128;
    let (found, next) = pages::read_page(limit, after, read, bytes_of, |one| one.reminder.id).await?;
    let next_cursor = next.map(|id| id.to_string());
    let page = Sends { reminders: found.into_iter().map(send).collect(), next_cursor };
    Ok(shown::answer(StatusCode::OK, &page))
}

fn send(one: Imported) -> Send {
    let metadata = one.reminder.metadata.to_value();
    let said = |field: &str| metadata["imported"][field].as_str().map(str::to_owned);
    let run = |run: punctual_core::store::ImportedRun| ImportedRun {
        run_number: run.run,
        due_at: run.due_at,
        state: run.state.into(),
        sent_at: run.sent_at,
    };
    Send {
        id: one.reminder.id.to_string(),
        key: said("id").unwrap_or_default(),
        status: one.reminder.status.into(),
        imported_at: said("at"),
        runs: one.runs.into_iter().map(run).collect(),
    }
}
