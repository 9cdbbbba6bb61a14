//! Watches: standing queries over applications' own tables. They concern everybody, so a key that is bound to one user sees none.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use punctual_core::clock::within;
use punctual_core::decide::watch::version_of;
use punctual_core::id::WatchRunId;
use punctual_core::invalid::Invalid;
use punctual_core::source::Mode;
use punctual_core::store::KnownWatch;
use punctual_core::watch::RunState;
use punctual_engine::{Rehearsal, WatchError};
use serde_json::{Map, Value};

use super::App;
use super::auth::{Caller, Writer};
use super::conditions::{Expecting, tagged};
use super::input::{InPath, Params};
use super::problem::Problem;
use super::shown;
use crate::wire::{BadRow, PageQuery, RunQuery, TestedRow, Watch, WatchRun, WatchTest, Watches};

/// How many runs are shown with a watch.
const RUNS_MAX: usize = 20;
/// How long a run is waited for at most.
const WAIT_MAX: u64 = 600;
/// How long it may take until a run has begun.
const BEGINS_WITHIN: Duration = Duration::from_secs(5);
/// How often it is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Lists the watches that any node has defined, by name.
#[utoipa::path(
    get, path = "/v1/watches", operation_id = "list_watches", tag = "watches",
    responses((status = 200, description = "All watches", body = Watches)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    params.only(&[])?;
    let watches = match caller.bound_to() {
        Some(_) => Vec::new(),
        None => app.engine.store().watches().await?,
    };
    let watches = watches.into_iter().map(|known| watch(&app, known)).collect();
    Ok(shown::answer(StatusCode::OK, &Watches { watches }))
}

/// Shows one watch with its last runs.
#[utoipa::path(
    get, path = "/v1/watches/{name}", operation_id = "show_watch", tag = "watches", params(("name" = String, Path, description = "The watch")),
    responses((status = 200, description = "The watch", body = Watch)),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    let known = found(&app, &caller, &name).await?;
    let (runs, now) = (app.engine.store().watch_runs(&name, RUNS_MAX).await?, app.now());
    let runs = runs.iter().map(|run| shown_run(run, now)).collect();
    let version = version_of(&known.hash);
    Ok(tagged(StatusCode::OK, version, &Watch { runs, ..watch(&app, known) }))
}

/// Removes a watch that no config file defines any more, with its runs and its ledger.
#[utoipa::path(
    delete, path = "/v1/watches/{name}", operation_id = "forget_watch", tag = "watches",
    params(("name" = String, Path, description = "The watch")),
    responses((status = 204, description = "The watch is forgotten")),
)]
pub(super) async fn forget(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(name): InPath<String>,
    expecting: Expecting,
) -> Result<Response, Problem> {
    found(&app, &caller, &name).await?;
    if app.engine.watch_here(&name).is_some() {
        let problem = "this server's config file defines it; remove [watches.NAME] there and restart first";
        return Err(Problem::conflict("defined", problem));
    }
    app.engine.forget_watch(&name, expecting.by(caller.who())).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Shows one run of a watch with its bad rows.
#[utoipa::path(
    get, path = "/v1/watches/{name}/runs/{id}", operation_id = "show_watch_run", tag = "watches",
    params(("name" = String, Path, description = "The watch"), ("id" = String, Path, description = "The run"), PageQuery),
    responses((status = 200, description = "The run", body = WatchRun)),
)]
pub(super) async fn show_run(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath((name, id)): InPath<(String, String)>,
    params: Params,
) -> Result<Response, Problem> {
    let params = params.only(&["limit", "cursor"])?;
    must_see(&caller)?;
    let no_such_run = || Problem::not_found("no such run of this watch");
    let id: WatchRunId = id.parse().map_err(|_| no_such_run())?;
    let store = app.engine.store();
    let run = store.watch_run(id).await?.filter(|run| run.watch == name).ok_or_else(no_such_run)?;
    let limit = params.limit()?;
    let after = params.cursor(|text| text.parse().ok())?.unwrap_or(0);
    let mut bad = store.bad_rows(id, after, limit + 1).await?;
    let next_cursor = shown::cut(&mut bad, limit, |(number, _)| number.to_string());
    let bad = bad.into_iter().map(|(_, bad)| shown_bad(bad)).collect();
    Ok(shown::answer(StatusCode::OK, &WatchRun { bad, next_cursor, ..shown_run(&run, app.now()) }))
}

/// Runs a watch now, or joins the run that is going, on whichever node; answers when it has ended.
#[utoipa::path(
    post, path = "/v1/watches/{name}/run", operation_id = "run_watch", tag = "watches",
    params(("name" = String, Path, description = "The watch"), RunQuery),
    responses(
        (status = 200, description = "The run, which has ended", body = WatchRun),
        (status = 202, description = "The run, which goes on", body = WatchRun),
    ),
)]
pub(super) async fn run(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(name): InPath<String>,
    params: Params,
) -> Result<Response, Problem> {
    let params = params.only(&["wait"])?;
    must_see(&caller)?;
    // A watch of this server's own may not be written down yet, a moment after the start: then its run waits for that.
    if app.engine.watch_here(&name).is_none() {
        found(&app, &caller, &name).await?;
        let problem = "this server's config file does not define it; ask a node that does";
        return Err(Problem::conflict("not_defined_here", problem));
    }
    let (wait, asked_at) = (wait(&params)?, app.now());
    let ran = within(&**app.engine.clock(), wait, app.engine.run_watch(&name)).await;
    let (status, run, joined) = match ran {
        Some(ran) => {
            let ran = ran?;
            (StatusCode::OK, ran.run, Some(ran.joined))
        }
        None => match within(&**app.engine.clock(), BEGINS_WITHIN, begun(&app, &name, asked_at)).await {
            Some(run) => (StatusCode::ACCEPTED, run?, None),
            None => {
                let problem = "the run waits for its turn; ask again later";
                return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", problem).retry_after(5));
            }
        },
    };
    Ok(shown::answer(status, &WatchRun { joined, ..shown_run(&run, app.now()) }))
}

/// Says which rows a run would remind of now, and how. Nothing is written anywhere.
#[utoipa::path(
    post, path = "/v1/watches/{name}/test", operation_id = "test_watch", tag = "watches", params(("name" = String, Path, description = "The watch")),
    responses((status = 200, description = "What a run would do", body = WatchTest)),
)]
pub(super) async fn test(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    let Rehearsal { standing, n_due, is_all, rows, bad } = app.engine.rehearse_watch(&name).await?;
    let row = |row: punctual_engine::RehearsedRow| TestedRow {
        key: row.key,
        due: row.due,
        sent: row.sent,
        user: row.user,
        message: row.message,
        channel: row.channel,
    };
    let why = match &standing.mode {
        Mode::Column(_) => None,
        Mode::Ledger(why) => Some(why.clone()),
    };
    let tested = WatchTest {
        mode: standing.mode.as_str().into(),
        why,
        warnings: standing.warnings,
        n_due,
        is_all,
        rows: rows.into_iter().map(row).collect(),
        bad: bad.into_iter().map(shown_bad).collect(),
    };
    Ok(shown::answer(StatusCode::OK, &tested))
}

/// The run that began for a request, or was going when it came.
async fn begun(app: &App, name: &str, asked_at: Timestamp) -> Result<punctual_core::watch::WatchRun, Problem> {
    loop {
        if let Some(run) = app.engine.store().watch_runs(name, 1).await?.pop()
            && (run.started_at >= asked_at || run.state == RunState::Running)
        {
            return Ok(run);
        }
        app.engine.clock().pause(LOOK_EVERY).await;
    }
}

fn wait(params: &Params) -> Result<Duration, Problem> {
    let Some(text) = params.one("wait")? else { return Ok(Duration::from_secs(WAIT_MAX)) };
    let seconds = text.parse().ok().filter(|seconds| *seconds <= WAIT_MAX);
    let wrong = || Invalid::new("wait", format!("`{text}` is no number of seconds from 0 to {WAIT_MAX}"));
    Ok(Duration::from_secs(seconds.ok_or_else(wrong)?))
}

/// The watch as it is shown.
fn watch(app: &App, known: KnownWatch) -> Watch {
    let here = app.engine.watch_here(&known.name);
    let defined_here = here.as_ref().is_some_and(|here| here.hash == known.hash);
    let standing = here.as_ref().and_then(|here| here.standing.as_ref());
    let defined = defined(&known.definition);
    let ledger = standing.and_then(|standing| match &standing.mode {
        Mode::Ledger(why) if defined.sent.is_some() => Some(why.clone()),
        _ => None,
    });
    // Another node may have given the last run up, or this one before it was started again.
    let given_up = known.last.as_ref().and_then(|run| run.error.clone());
    let now = app.now();
    let run = |run: Option<punctual_core::watch::WatchRun>| run.map(|run| shown_run(&run, now));
    Watch {
        mode: standing.map(|standing| standing.mode.as_str().to_owned()),
        problem: here.as_ref().and_then(|here| here.problem.clone()).or(given_up).or(ledger),
        defined_here,
        defined_at: known.defined_at,
        next_at: known.next_at,
        running: run(known.going),
        last: run(known.last),
        name: known.name,
        ..defined
    }
}

/// A definition as the store has it. One of a later version may say more; what it does not say is left empty.
fn defined(definition: &str) -> Watch {
    let mut fields = serde_json::to_value(Watch::default()).unwrap_or_default();
    let said: Map<String, Value> = serde_json::from_str(definition).unwrap_or_default();
    if let Value::Object(fields) = &mut fields {
        fields.extend(said);
    }
    serde_json::from_value(fields).unwrap_or_default()
}

async fn found(app: &App, caller: &Caller, name: &str) -> Result<KnownWatch, Problem> {
    must_see(caller)?;
    let watches = app.engine.store().watches().await?;
    watches.into_iter().find(|known| known.name == name).ok_or_else(no_such_watch)
}

fn must_see(caller: &Caller) -> Result<(), Problem> {
    if caller.bound_to().is_none() { Ok(()) } else { Err(no_such_watch()) }
}

fn no_such_watch() -> Problem {
    Problem::not_found("no such watch; the config file defines them")
}

impl From<WatchError> for Problem {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Unknown => no_such_watch(),
            WatchError::Replaced => Self::conflict("replaced", error.to_string()),
            WatchError::Stopping => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", error.to_string()).retry_after(1)
            }
            WatchError::Source(why) => {
                Self::new(StatusCode::BAD_GATEWAY, "source", format!("the application's database: {why}"))
            }
            WatchError::Store(error) => error.into(),
        }
    }
}

fn shown_run(run: &punctual_core::watch::WatchRun, now: Timestamp) -> WatchRun {
    let punctual_core::watch::Counts { seen, sent, skipped, failed, retried } = run.counts;
    WatchRun {
        run_id: run.id.to_string(),
        watch: run.watch.clone(),
        state: run.state.into(),
        asked: run.asked,
        joined: None,
        node: run.node.clone(),
        started_at: run.started_at,
        ended_at: run.ended_at,
        seen,
        sent,
        skipped,
        failed,
        retried,
        seconds: run.seconds(now),
        error: run.error.clone(),
        bad: Vec::new(),
        next_cursor: None,
    }
}

fn shown_bad(bad: punctual_core::watch::BadRow) -> BadRow {
    let punctual_core::watch::BadRow { key, field, problem } = bad;
    BadRow { key, field, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_shown_whatever_it_leaves_out_or_adds() {
        let watch = defined(r#"{"database":"sqlite:app.db","key":"id","schedule":{"type":"cron"},"later":1}"#);
        assert_eq!((watch.database.as_str(), watch.key.as_str(), watch.batch), ("sqlite:app.db", "id", 0));
        assert_eq!(watch.schedule["type"], "cron");
    }
}
