//! Events of applications. They concern several people, so a key that is bound to one user sees none.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use jiff::civil::DateTime;
use punctual_core::event;
use punctual_core::invalid::{FAULTS_MAX, Faults, Invalid};
use punctual_core::model::series::read_name;
use punctual_core::rules::event::next_starts;
use punctual_core::schedule::{End, parse_end};
use punctual_core::scope::Path;
use punctual_core::steps::Steps;
use punctual_core::store::{self, ChangeError, PutEvent, PutInstance};
use punctual_engine::CreateError;
use serde_json::Value;

use super::App;
use super::asked::{AskedEvent, UnsaidOfEvent, event_partly, instance as asked_instance};
use super::auth::{Caller, Writer};
use super::batch::{all_named, named};
use super::conditions::{Expecting, tagged, tagged_as};
use super::idempotency::Repeated;
use super::input::{BATCH_BYTES_MAX, InPath, Input, Params};
use super::pages;
use super::problem::Problem;
use super::read;
use super::shown;
use crate::wire::{Event, EventBatch, EventInput, EventQuery, Events, EventsPut, InstanceInput};

/// The most events in one batch.
const BATCH_MAX: usize = 10_000;
/// How many starts of a series are shown.
const NEXT_MAX: usize = 10;

/// Lists events, by key.
#[utoipa::path(
    get, path = "/v1/events", operation_id = "list_events", tag = "events", params(EventQuery),
    responses((status = 200, description = "A page", body = Events)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let params = params.only(&["scope", "user", "from", "to", "limit", "cursor"])?;
    let (limit, now) = (params.limit()?, app.now());
    let user = params.get("user").map(str::to_owned);
    // Whoever acts for a user with a key of its own asks for that user's events; a key that is bound sees none.
    if caller.is_bound() {
        return Ok(shown::answer(StatusCode::OK, &Events { events: Vec::new(), next_cursor: None }));
    }
    let bound = |name: &str, end: End| {
        let read = |text| parse_end(text, end, &app.zone, now);
        params.get(name).map(read).transpose().map_err(|problem| Invalid::new(name, problem))
    };
    let query = store::EventQuery {
        scope: params.get("scope").map(str::parse::<Path>).transpose()?,
        user,
        from: bound("from", End::From)?,
        to: bound("to", End::To)?,
        ..store::EventQuery::default()
    };
    let read = |after, limit| app.engine.store().events(store::EventQuery { after, limit, ..query.clone() });
    let after = params.get("cursor").map(str::to_owned);
    let (events, next_cursor) = pages::read_page(limit, after, read, bytes_of, |event| event.key.clone()).await?;
    let events =
        events.into_iter().map(|event| Event { next: next_of(&app, &event, 1), ..shown::event(event) }).collect();
    Ok(shown::answer(StatusCode::OK, &Events { events, next_cursor }))
}

/// Shows one event with its reminders.
#[utoipa::path(
    get, path = "/v1/events/{key}", operation_id = "show_event", tag = "events", params(("key" = String, Path, description = "The event's key")),
    responses((status = 200, description = "The event", body = Event)),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(key): InPath<String>,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    answer(&app, StatusCode::OK, &key, &[]).await
}

/// Writes or replaces an event, and plans its reminders.
///
/// What was sent for the same start is not sent again; a reminder that nobody has seen moves with its event.
#[utoipa::path(
    put, path = "/v1/events/{key}", operation_id = "put_event", tag = "events", params(("key" = String, Path, description = "The event's key")),
    request_body = EventInput,
    responses((status = 200, description = "The event was replaced", body = Event), (status = 201, description = "The event is new", body = Event)),
)]
pub(super) async fn put(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(key): InPath<String>,
    expecting: Expecting,
    body: Input,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    let event = asked(&app, &body.json()?, Some(&key), &Steps::of_request(1)).await?;
    drop(body);
    let done = app.engine.put_events(vec![event], expecting.by(caller.who()), None).await?.done.pop();
    let (is_new, dropped) = done.map(|done| (done.is_new, done.dropped)).unwrap_or_default();
    answer(&app, if is_new { StatusCode::CREATED } else { StatusCode::OK }, &key, &dropped).await
}

/// Removes an event and withdraws its reminders.
#[utoipa::path(
    delete, path = "/v1/events/{key}", operation_id = "delete_event", tag = "events", params(("key" = String, Path, description = "The event's key")),
    responses((status = 204, description = "The event is gone")),
)]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(key): InPath<String>,
    expecting: Expecting,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    match app.engine.remove_events(vec![key], expecting.by(caller.who())).await?.done.is_empty() {
        true => Err(no_such_event()),
        false => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Moves or changes one instance of a series, alone or with all that follow it. Without any field it is as its series says again.
#[utoipa::path(
    put, path = "/v1/events/{key}/instances/{at}", operation_id = "put_instance", tag = "events",
    params(("key" = String, Path, description = "The event's key"), ("at" = String, Path, description = "The instance's original local start, such as 20260310T180000")),
    request_body = InstanceInput,
    responses((status = 200, description = "The event", body = Event)),
)]
pub(super) async fn put_instance(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath((key, at)): InPath<(String, String)>,
    expecting: Expecting,
    body: Input,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    let (mut input, mut faults): (InstanceInput, Faults) = read::partly(&body.json_or_nothing()?, read::WHOLE, &[])?;
    if input.at.take().is_some_and(|other| other != at) {
        faults.add(Invalid::new("at", format!("is not `{at}`, which the path says; leave it out")));
    }
    let following = input.following.unwrap_or(false);
    let Some(view) = app.engine.store().event(&key).await? else {
        faults.finish()?;
        return Err(no_such_event());
    };
    let zone = view.event.timezone.as_ref().unwrap_or(&app.zone);
    let change = faults.note(asked_instance(input, zone, app.now())).flatten();
    let at = faults.note(instance_of(&at)).unwrap_or_default();
    faults.finish()?;
    let change = PutInstance { at, following, change };
    let put = app.engine.put_instance(&key, change, expecting.by(caller.who())).await.map_err(not_changed)?;
    let dropped = put.done.into_iter().flat_map(|done| done.dropped).collect::<Vec<_>>();
    answer(&app, StatusCode::OK, &key, &dropped).await
}

/// Cancels one instance of a series: its reminders are withdrawn.
#[utoipa::path(
    delete, path = "/v1/events/{key}/instances/{at}", operation_id = "delete_instance", tag = "events",
    params(("key" = String, Path, description = "The event's key"), ("at" = String, Path, description = "The instance's original local start, such as 20260310T180000")),
    responses((status = 204, description = "The instance does not take place")),
)]
pub(super) async fn delete_instance(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath((key, at)): InPath<(String, String)>,
    expecting: Expecting,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    let change = PutInstance { at: instance_of(&at)?, following: false, change: Some(event::Instance::Cancelled) };
    app.engine.put_instance(&key, change, expecting.by(caller.who())).await.map_err(not_changed)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Writes or replaces many events in one transaction: all or nothing.
///
/// One bad item is a 422 with its `index`.
#[utoipa::path(
    post, path = "/v1/events/batch", operation_id = "put_events", tag = "events", request_body = EventBatch,
    responses((status = 200, description = "They are written, and their reminders are planned or about to be", body = EventsPut)),
)]
pub(super) async fn batch(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    Repeated(repeatable): Repeated,
    body: Input<BATCH_BYTES_MAX>,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    let _permit = app.batch_permit(body.batch_weight()).await;
    let items = read::list(body.json()?, "events")?;
    drop(body);
    if items.len() > BATCH_MAX {
        let problem = format!("has {} items; at most {BATCH_MAX} fit in one batch", items.len());
        return Err(Invalid::new("events", problem).into());
    }
    if items.is_empty() {
        return Err(Invalid::new("events", "is empty; send at least one").into());
    }
    let mut events = Vec::with_capacity(items.len());
    let mut wrong = Vec::new();
    let steps = Steps::of_request(items.len());
    for (index, item) in items.iter().enumerate() {
        match asked(&app, item, None, &steps).await {
            Ok(event) => events.push(event),
            Err(problem) if problem.is_invalid() => wrong.push((index, problem)),
            Err(problem) => return Err(problem),
        }
        if wrong.len() >= FAULTS_MAX {
            break;
        }
    }
    if !wrong.is_empty() {
        return Err(all_named("events", wrong));
    }
    let answer = serde_json::to_string(&EventsPut { put: events.len() }).expect("a number always becomes JSON");
    let answered = repeatable.map(|repeatable| repeatable.with(StatusCode::OK, &answer));
    app.engine.put_events(events, caller.who(), answered).await.map_err(|error| named("events", error))?;
    Ok(shown::answer_bytes(StatusCode::OK, answer.into_bytes()))
}

async fn asked(app: &App, value: &Value, key: Option<&str>, steps: &Steps) -> Result<PutEvent, Problem> {
    let unsaid = UnsaidOfEvent { zone: &app.zone, retries_max: app.retries_max, now: app.now(), steps };
    let (AskedEvent { event, keeps_instances }, mut faults) = event_partly(value, key, unsaid)?;
    let event = PutEvent { event, keeps_instances };
    if !faults.is_empty() {
        // What else is wrong with it is found as if the rest were right.
        match app.engine.check_events(std::slice::from_ref(&event)).await {
            Err(CreateError::Invalid { invalid, .. }) => faults.add(invalid),
            Err(error) => return Err(error.into()),
            Ok(()) => {}
        }
    }
    faults.finish()?;
    Ok(event)
}

/// Why an instance was not changed.
fn not_changed(error: ChangeError) -> Problem {
    match error {
        ChangeError::NotFound => no_such_event(),
        error => error.into(),
    }
}

/// The event as it stands now.
async fn answer(app: &App, status: StatusCode, key: &str, dropped: &[DateTime]) -> Result<Response, Problem> {
    let view = app.engine.store().event(key).await?.ok_or_else(no_such_event)?;
    let next = next_of(app, &view.event, NEXT_MAX);
    let version = view.event.version();
    if dropped.is_empty() {
        return Ok(tagged(status, version, &shown::event_view(view, next, &[])));
    }
    let answer = shown::answer(status, &shown::event_view(view.clone(), next.clone(), dropped));
    Ok(tagged_as(answer, version, &shown::event_view(view, next, &[])))
}

/// The next starts of a series; one that does not repeat has none beside its own.
fn next_of(app: &App, event: &event::Event, max: usize) -> Vec<Timestamp> {
    if event.repeats.is_none() {
        return Vec::new();
    }
    next_starts(event, &app.zone, app.now(), max).into_iter().map(|at| at.starts_at).collect()
}

/// The original local start that a path names.
fn instance_of(at: &str) -> Result<DateTime, Invalid> {
    read_name(at).map_err(|problem| Invalid::new("at", problem))
}

/// About how many bytes the texts of an event take.
fn bytes_of(event: &event::Event) -> usize {
    let users: usize = event.users.iter().map(String::len).sum();
    let repeats = event.repeats.as_ref().map_or(0, |repeats| repeats.rule.len() + repeats.overrides.len() * 128);
    event.message.len() + event.metadata.as_str().len() + users + repeats
}

fn must_see(caller: &Caller) -> Result<(), Problem> {
    if caller.is_bound() { Err(no_such_event()) } else { Ok(()) }
}

fn no_such_event() -> Problem {
    Problem::not_found("no such event")
}
