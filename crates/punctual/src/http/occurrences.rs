//! The runs of reminders: those of one, and those of a user's day.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::invalid::Invalid;
use punctual_core::journal::Placed;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::Reminder;
use punctual_core::rules::escalate::steps;
use punctual_core::schedule::{End, parse_end};
use punctual_core::step::Step;
use punctual_core::store::{DuePlace, JournalQuery, RunsQuery, Start};

use super::App;
use super::auth::{Caller, OfChannels};
use super::input::{InPath, Params};
use super::problem::Problem;
use super::reminders::{id_from, seen};
use super::shown;
use crate::wire::{DueQuery, DueRun, DueRuns, Occurrence, Occurrences, PageQuery, UserQuery};

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
    let view = seen(&app, &caller, id).await?;
    let limit = params.limit()?;
    let before = params.cursor(|text| text.parse().ok())?;
    let mut trails = app.engine.store().occurrences(id, before, limit + 1).await?;
    let next_cursor = shown::cut(&mut trails, limit, |trail| trail.occurrence.id.run.to_string());
    let (audit, steps) = (audit_of(&app, id).await?, plan_of(&app, &view.reminder).await?);
    let page = Occurrences {
        occurrences: trails.into_iter().map(|trail| shown::occurrence(trail, &audit, &steps)).collect(),
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
    let view = seen(&app, &caller, id.reminder).await.map_err(of_occurrence)?;
    match app.engine.store().occurrence(id).await? {
        Some(trail) => {
            let (audit, steps) = (audit_of(&app, id.reminder).await?, plan_of(&app, &view.reminder).await?);
            Ok(shown::answer(StatusCode::OK, &shown::occurrence(trail, &audit, &steps)))
        }
        None => Err(Problem::not_found("no such occurrence")),
    }
}

/// Lists a user's runs by when they are due: what happened, what is to come, and what waits for an answer.
///
/// Without `from`, `to` and `status=awaiting_ack` it is the user's today. Of a reminder that repeats, the next run is there, and not those after it.
#[utoipa::path(
    get, path = "/v1/occurrences", operation_id = "list_runs", tag = "reminders", params(DueQuery),
    responses((status = 200, description = "A page", body = DueRuns<'static>)),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    OfChannels(caller): OfChannels<Caller>,
    params: Params,
) -> Result<Response, Problem> {
    let params = params.only(&["user", "from", "to", "status", "order", "limit", "cursor"])?;
    let user = caller.default_user();
    let (zone, now) = (app.zone_of(user, app.now()).await?, app.now());
    let states: Vec<StateKind> = match params.get("status") {
        Some(words) => {
            let state =
                |word: &str| word.trim().parse().map_err(|wrong: Invalid| Invalid::new("status", wrong.problem));
            words.split(',').map(state).collect::<Result<_, Invalid>>()?
        }
        None => Vec::new(),
    };
    // Whoever asks for no day and for no open questions means today.
    let is_today = !params.has("from") && !params.has("to") && states != [StateKind::AwaitingAck];
    let bound = |name: &str, end: End| match params.get(name).or(is_today.then_some("today")) {
        Some(text) => parse_end(text, end, &zone, now).map(Some).map_err(|problem| Invalid::new(name, problem)),
        None => Ok(None),
    };
    let query = RunsQuery {
        user: user.to_owned(),
        from: bound("from", End::From)?,
        to: bound("to", End::To)?,
        states,
        newest_first: params.is_newest_first()?,
        after: params.cursor(|text| place(&app.place(&caller, text)))?,
        limit: params.limit()?,
    };
    let page = app.engine.store().runs(query).await?;
    let of_user = app.engine.store().user(user).await?.map(|user| user.escalate).unwrap_or_default();
    let mut runs = Vec::with_capacity(page.runs.len());
    // A key that is bound to channels leaves out the others', so that its page may have fewer.
    for run in page.runs.iter().filter(|run| caller.sees_reminder(&run.reminder.reminder)) {
        let occurrence = shown::occurrence(run.trail.clone(), &[], steps(&run.reminder.reminder, &of_user));
        runs.push(DueRun { occurrence, reminder: app.shown(&run.reminder).await });
    }
    let next_cursor = page.next.map(|(due_at, id)| app.cursor(&caller, format!("{}_{id}", due_at.as_microsecond())));
    Ok(shown::answer(StatusCode::OK, &DueRuns { user: user.into(), runs, next_cursor }))
}

/// What kept a run from being shown: it is not there where its reminder is not. A store that cannot say so is no proof of that.
fn of_occurrence(problem: Problem) -> Problem {
    if problem.is_not_found() { Problem::not_found("no such occurrence") } else { problem }
}

/// The place that a cursor names.
fn place(cursor: &str) -> Option<DuePlace> {
    let (micros, id) = cursor.split_once('_')?;
    Some((Timestamp::from_microsecond(micros.parse().ok()?).ok()?, id.parse().ok()?))
}

/// The plan by which further people are asked about a reminder: its own, else its person's.
async fn plan_of(app: &App, reminder: &Reminder) -> Result<Vec<Step>, Problem> {
    let of_user = match reminder.escalate.is_empty() && reminder.ack.is_some() {
        true => app.engine.store().user(&reminder.user).await?.map(|user| user.escalate).unwrap_or_default(),
        false => Vec::new(),
    };
    Ok(steps(reminder, &of_user).to_vec())
}

/// The newest entries about a reminder, newest first.
async fn audit_of(app: &App, reminder: ReminderId) -> Result<Vec<Placed>, Problem> {
    let store = app.engine.store();
    store.place().await?;
    let query = JournalQuery { reminder: Some(reminder), ..JournalQuery::new(Start::NEWEST, AUDIT_MAX) };
    Ok(store.journal(query).await?.entries)
}

#[cfg(test)]
mod tests {
    use punctual_core::store::StoreError;

    use super::*;

    #[test]
    fn a_store_that_cannot_be_asked_does_not_say_that_a_run_is_missing() {
        let missing = of_occurrence(Problem::not_found("no such reminder"));
        assert_eq!((missing.document().status, &*missing.document().detail), (404, "no such occurrence"));
        let down = of_occurrence(StoreError::Unavailable("it is down".into()).into());
        assert_eq!((down.document().status, &*down.document().code), (503, "unavailable"));
    }
}
