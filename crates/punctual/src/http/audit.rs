//! Lists the journal.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::id::{BadId, ReminderId};
use punctual_core::invalid::Invalid;
use punctual_core::schedule::{End, parse_end};
use punctual_core::store::{JournalQuery, Start};
use punctual_core::tag;

use super::App;
use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::shown;
use crate::wire;

/// Lists what happened, and by whom, in the order in which it was committed.
///
/// A key bound to a user sees that user's entries and no others. A page may have fewer entries than asked for, or none, and a `next_cursor`
/// all the same: a search looks at so many entries at a time.
#[utoipa::path(
    get, path = "/v1/audit", operation_id = "list_audit", tag = "server", params(wire::JournalQuery),
    responses((status = 200, description = "A page", body = wire::Journal)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let params =
        params.only(&["user", "mine", "reminder", "tag", "kind", "actor", "from", "to", "order", "limit", "cursor"])?;
    // `today` is a day of the user whose entries are listed.
    let zone = match caller.bound_to() {
        Some(user) => app.zone_of(user, app.now()).await?,
        None => app.zone.clone(),
    };
    let bound = |name: &str, end: End| match params.get(name) {
        Some(text) => parse_end(text, end, &zone, app.now()).map(Some).map_err(|problem| Invalid::new(name, problem)),
        None => Ok(None),
    };
    let cursor = params.cursor(|text| text.parse().ok())?;
    let start = match params.is_newest_first()? {
        false => cursor.map_or(Start::OLDEST, Start::After),
        true => cursor.map_or(Start::NEWEST, Start::Before),
    };
    let query = JournalQuery {
        start,
        actor: params.get("actor").map(str::to_owned),
        from: bound("from", End::From)?,
        to: bound("to", End::To)?,
        user: mine(&caller, &params)?,
        limit: params.limit()?,
        ..wanted(&caller, &params)?
    };
    let store = app.engine.store();
    // So that a caller sees what it did a moment ago.
    store.place().await?;
    let page = store.journal(query).await?;
    let next_cursor = (!page.is_last).then(|| page.reached.to_string());
    let entries = page.entries.iter().map(shown::entry).collect();
    Ok(shown::answer(StatusCode::OK, &wire::Journal { entries, next_cursor }))
}

/// The user whose entries are listed.
fn mine(caller: &Caller, params: &Params) -> Result<Option<String>, Problem> {
    let is_mine = params.flag("mine")?;
    Ok(caller.bound_to().or(is_mine.then(|| caller.default_user())).map(str::to_owned))
}

/// The entries that a caller wants, of those that it may see.
pub(super) fn wanted(caller: &Caller, params: &Params) -> Result<JournalQuery, Problem> {
    let kinds = params.get("kind").map(|kinds| kinds.split(',').map(|kind| kind.trim().parse()).collect());
    Ok(JournalQuery {
        reminder: params.get("reminder").map(reminder_of).transpose()?,
        user: caller.bound_to().map(str::to_owned),
        kinds: kinds.transpose()?.unwrap_or_default(),
        tag: params.get("tag").map(tag::one),
        ..JournalQuery::new(Start::OLDEST, 0)
    })
}

/// The reminder that a filter names. One that is gone still has entries, so only what is no id is refused.
fn reminder_of(text: &str) -> Result<ReminderId, Problem> {
    text.parse().map_err(|error: BadId| Problem::bad_request(format!("reminder: {error}")).at_field("reminder"))
}
