//! Stretches of time in which some reminders are not sent. A key that is bound to a user makes and sees its user's alone.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use punctual_core::id::SilenceId;
use punctual_core::invalid::Invalid;
use punctual_core::schedule::parse_until;
use punctual_core::silence;
use punctual_core::silence::{SILENCES_MAX, SILENCES_OF_USER_MAX};
use punctual_core::{store, tag};

use super::App;
use super::auth::{Caller, Writer};
use super::conditions::{Expecting, located, tagged};
use super::input::{InPath, Input, Params};
use super::pages;
use super::problem::Problem;
use super::shown;
use crate::wire::{Silence, SilenceInput, SilenceQuery, Silences};

/// Lists silences that have not ended, oldest first.
#[utoipa::path(
    get, path = "/v1/silences", operation_id = "list_silences", tag = "silences", params(SilenceQuery),
    responses((status = 200, description = "A page", body = Silences)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let params = params.only(&["user", "tag", "limit", "cursor"])?;
    let limit = params.limit()?;
    let after: Option<SilenceId> = params.cursor(|text| text.parse().ok())?;
    let (user, tag, now) = (caller.bound_to().map(str::to_owned), params.get("tag").map(tag::one), app.now());
    let read = |after, limit| {
        let (user, tag) = (user.clone(), tag.clone());
        app.engine.store().silences(store::SilenceQuery { user, tag, id: None, after, now, limit })
    };
    let (found, next) = pages::read_page(limit, after, read, |_| 256, |silence| silence.id).await?;
    let silences = found.into_iter().map(shown_silence).collect();
    Ok(shown::answer(StatusCode::OK, &Silences { silences, next_cursor: next.map(|id| id.to_string()) }))
}

/// Silences reminders for a while, now or in the future.
#[utoipa::path(
    post, path = "/v1/silences", operation_id = "create_silence", tag = "silences", request_body = SilenceInput,
    responses((status = 201, description = "The silence", body = Silence)),
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    body: Input,
) -> Result<Response, Problem> {
    let (input, mut faults) = body.partly::<SilenceInput>(SilenceInput::MADE_HERE)?;
    let user = whose(&input, &caller)?;
    let locale = match &user {
        Some(user) => app.locale_of(user, app.now()).await?,
        None => super::Locale::default(),
    };
    let (zone, now) = (locale.zone.unwrap_or_else(|| app.zone.clone()), app.now());
    let instant = |field: &str, text: &str| {
        parse_until(text, locale.lang, &zone, now).map_err(|problem| Invalid::new(field, problem))
    };
    let missing = || Invalid::missing("until", "say when it ends, such as \"until monday\" or \"3d\"");
    let from = faults.note(input.from.map_or(Ok(now), |text| instant("from", &text)));
    let until = faults.note(input.until.ok_or_else(missing).and_then(|text| instant("until", &text)));
    let silence = silence::Silence {
        id: SilenceId::new(now, app.engine.random().ten()),
        user,
        group: input.group,
        tag: input.tag.as_deref().map(tag::one),
        from: from.unwrap_or(now),
        until: until.unwrap_or(now),
        created_at: now,
        created_by: caller.who().name().to_owned(),
    };
    faults.settle();
    faults.note(silence.validate());
    if let Some(group) = &silence.group
        && app.engine.store().groups_of(vec![group.clone()]).await?.is_empty()
    {
        faults.add(Invalid::new("group", format!("there is no group named `{group}`; make it first")));
    }
    faults.finish()?;
    if !app.engine.put_silence(silence.clone(), caller.who()).await? {
        let problem =
            format!("there are {SILENCES_OF_USER_MAX} silences for this user or {SILENCES_MAX} in all; end some first");
        return Err(Problem::new(StatusCode::CONFLICT, "too_many", problem));
    }
    let (version, place) = (silence.version(), format!("/v1/silences/{}", silence.id));
    Ok(located(tagged(StatusCode::CREATED, version, &shown_silence(silence)), &place))
}

/// Shows one silence that has not ended.
#[utoipa::path(
    get, path = "/v1/silences/{id}", operation_id = "show_silence", tag = "silences", params(("id" = String, Path, description = "The id of a silence")),
    responses((status = 200, description = "The silence", body = Silence)),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    let id: SilenceId = id.parse().map_err(|_| no_such_silence())?;
    let silence = seen(&app, &caller, id).await?;
    Ok(tagged(StatusCode::OK, silence.version(), &shown_silence(silence)))
}

/// Ends a silence: what waits because of it is sent now.
#[utoipa::path(
    delete, path = "/v1/silences/{id}", operation_id = "end_silence", tag = "silences", params(("id" = String, Path, description = "The id of a silence")),
    responses((status = 204, description = "The silence has ended")),
)]
pub(super) async fn end(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(id): InPath<String>,
    expecting: Expecting,
) -> Result<Response, Problem> {
    let id: SilenceId = id.parse().map_err(|_| no_such_silence())?;
    if caller.bound_to().is_some() {
        seen(&app, &caller, id).await?;
    }
    match app.engine.end_silence(id, expecting.by(caller.who())).await? {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(no_such_silence()),
    }
}

/// A silence that has not ended and that the caller may see; another's is not found.
async fn seen(app: &App, caller: &Caller, id: SilenceId) -> Result<silence::Silence, Problem> {
    let (user, now) = (caller.bound_to().map(str::to_owned), app.now());
    let query = store::SilenceQuery { user, tag: None, id: Some(id), after: None, now, limit: 1 };
    app.engine.store().silences(query).await?.pop().ok_or_else(no_such_silence)
}

fn no_such_silence() -> Problem {
    Problem::not_found("no such silence")
}

/// The user that a silence is for: of a key that is bound to one always that user.
fn whose(input: &SilenceInput, caller: &Caller) -> Result<Option<String>, Problem> {
    if let Some(user) = &input.user {
        caller.must_be(user)?;
        return Ok(Some(user.clone()));
    }
    if input.group.is_some() && caller.bound_to().is_some() {
        return Err(Problem::forbidden("a key that is bound to a user cannot silence a group").at_field("group"));
    }
    let is_for_all = input.group.is_some() || input.tag.is_some();
    Ok(caller.bound_to().or((!is_for_all).then(|| caller.default_user())).map(str::to_owned))
}

fn shown_silence(silence: punctual_core::silence::Silence) -> Silence {
    let punctual_core::silence::Silence { id, user, group, tag, from, until, created_at, created_by } = silence;
    Silence { id: id.to_string(), user, group, tag, from, until, created_at, created_by }
}
