//! The people reminders are for.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use punctual_core::decide::calendar::address_version;
use punctual_core::invalid::Invalid;
use punctual_core::user;
use punctual_engine::Erasure;

use super::App;
use super::auth::{Admin, Caller, Writer};
use super::calendar;
use super::conditions::{Expecting, tagged};
use super::input::{InPath, Input, Params};
use super::pages;
use super::problem::Problem;
use super::{asked, shown};
use crate::wire::{CalendarAddress, EraseInput, Erased, PageQuery, User, UserInput, Users};

/// How long one request goes on with an erasure.
const ERASE_FOR: Duration = Duration::from_secs(2);

/// Lists users, by id.
#[utoipa::path(
    get, path = "/v1/users", operation_id = "list_users", tag = "users", params(PageQuery),
    responses((status = 200, description = "A page", body = Users)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let params = params.only(&["limit", "cursor"])?;
    let limit = params.limit()?;
    let (users, next_cursor) = match caller.bound_to() {
        Some(bound) => (app.engine.store().user(bound).await?.into_iter().collect(), None),
        None => {
            let after = params.get("cursor").map(str::to_owned);
            let read = |after, limit| app.engine.store().users(after, limit);
            let bytes_of = |user: &user::User| user.addresses.iter().map(|to| to.address.len()).sum();
            pages::read_page(limit, after, read, bytes_of, |user| user.id.clone()).await?
        }
    };
    let now = app.now();
    let users = users.into_iter().map(|user| shown::user(user, now)).collect();
    Ok(shown::answer(StatusCode::OK, &Users { users, next_cursor }))
}

/// Shows one user.
#[utoipa::path(
    get, path = "/v1/users/{id}", operation_id = "show_user", tag = "users", params(("id" = String, Path, description = "The user")),
    responses((status = 200, description = "The user", body = User)),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    must_see(&caller, &id)?;
    let user = app.engine.store().user(&id).await?.ok_or_else(no_such_user)?;
    let calendar_url = calendar::address(&app, &id).await?.map(|(url, _)| url);
    let version = user.version();
    Ok(tagged(StatusCode::OK, version, &User { calendar_url, ..shown::user(user, app.now()) }))
}

/// Writes or replaces a user.
#[utoipa::path(
    put, path = "/v1/users/{id}", operation_id = "put_user", tag = "users", params(("id" = String, Path, description = "The user")), request_body = UserInput,
    responses((status = 200, description = "The user was replaced", body = User), (status = 201, description = "The user is new", body = User)),
)]
pub(super) async fn put(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(id): InPath<String>,
    expecting: Expecting,
    body: Input,
) -> Result<Response, Problem> {
    must_see(&caller, &id)?;
    let (input, mut faults) = body.partly::<UserInput>(UserInput::MADE_HERE)?;
    let mut user = asked::user(input, id, &app.zone, app.now(), &mut faults);
    faults.note(asked::check_addresses(&user.addresses, "addresses", app.engine.channels()));
    if !faults.is_empty() {
        faults.note(app.engine.check_plan(&user.escalate).await?);
    }
    faults.finish()?;
    let before = app.engine.store().user(&user.id).await?;
    let was_admin = before.as_ref().is_some_and(|before| before.admin);
    if user.admin && !was_admin && caller.bound_to().is_some() {
        // An admin hears about everybody's failures.
        return Err(Problem::forbidden("a key bound to a user cannot make that user an admin").at_field("admin"));
    }
    if before.as_ref().is_none_or(|before| before.escalate != user.escalate) {
        caller.may_ask(&user.escalate)?;
        app.engine.check_plan(&user.escalate).await??;
    }
    if let Some(before) = &before {
        user.created_at = before.created_at;
    }
    app.engine.put_user(user.clone(), expecting.by(caller.who())).await?;
    app.locales.forget();
    let status = if before.is_some() { StatusCode::OK } else { StatusCode::CREATED };
    let (now, version) = (user.updated_at, user.version());
    let calendar_url = calendar::address(&app, &user.id).await?.map(|(url, _)| url);
    Ok(tagged(status, version, &User { calendar_url, ..shown::user(user, now) }))
}

/// Removes a user's entry; their reminders stay.
#[utoipa::path(
    delete, path = "/v1/users/{id}", operation_id = "delete_user", tag = "users", params(("id" = String, Path, description = "The user")),
    responses((status = 204, description = "The entry is gone")),
)]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(id): InPath<String>,
    expecting: Expecting,
) -> Result<Response, Problem> {
    must_see(&caller, &id)?;
    if !app.engine.delete_user(&id, expecting.by(caller.who())).await? {
        return Err(no_such_user());
    }
    app.locales.forget();
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Removes a person everywhere: their entry, their reminders with all that became of them, their keys, and their name in what others have.
///
/// Entries of the journal keep their position, and say `erased` where the person stood. It answers after two seconds at the latest: as long as
/// `is_done` is false, the same is asked for again, with `after`.
#[utoipa::path(
    post, path = "/v1/users/{id}/erase", operation_id = "erase_user", tag = "users", params(("id" = String, Path, description = "The user")), request_body = EraseInput,
    responses((status = 200, description = "How far it has come", body = Erased)),
)]
pub(super) async fn erase(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    InPath(id): InPath<String>,
    body: Input,
) -> Result<Response, Problem> {
    let EraseInput { confirm, after } = body.read(&[])?;
    if confirm.as_deref() != Some(&*id) {
        return Err(Invalid::new("confirm", format!("must be `{id}`: what is erased does not come back")).into());
    }
    let erasure: Erasure = after.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let erasure = app.engine.erase(&id, erasure, &caller.who(), ERASE_FOR).await?;
    app.locales.forget();
    app.auth.forget();
    let (is_done, after) = (erasure.is_done(), erasure.to_string());
    let answer = Erased { is_done, after, reminders: erasure.n_reminders, records: erasure.n_records };
    Ok(shown::answer(StatusCode::OK, &answer))
}

/// Says where a user's calendar is.
#[utoipa::path(
    get, path = "/v1/users/{id}/calendar", operation_id = "show_calendar_address", tag = "users", params(("id" = String, Path, description = "The user")),
    responses((status = 200, description = "Its address", body = CalendarAddress)),
)]
pub(super) async fn show_calendar(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    must_see(&caller, &id)?;
    let (calendar_url, version) = calendar::address(&app, &id).await?.ok_or_else(no_calendars)?;
    Ok(tagged(StatusCode::OK, version, &CalendarAddress { calendar_url }))
}

/// Changes the address of a user's calendar: earlier ones lead nowhere.
#[utoipa::path(
    post, path = "/v1/users/{id}/calendar", operation_id = "renew_calendar_address", tag = "users", params(("id" = String, Path, description = "The user")),
    responses((status = 200, description = "Its new address", body = CalendarAddress)),
)]
pub(super) async fn renew_calendar(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(id): InPath<String>,
    expecting: Expecting,
) -> Result<Response, Problem> {
    must_see(&caller, &id)?;
    let links = app.links.as_ref().ok_or_else(no_calendars)?;
    let generation = app.engine.renew_calendar(&id, expecting.by(caller.who())).await?;
    let calendar_url = links.calendar(&id, generation);
    Ok(tagged(StatusCode::OK, address_version(generation), &CalendarAddress { calendar_url }))
}

fn no_calendars() -> Problem {
    Problem::not_found("this server gives no calendars, because it has no address")
}

fn must_see(caller: &Caller, user: &str) -> Result<(), Problem> {
    if caller.sees(user) { Ok(()) } else { Err(no_such_user()) }
}

fn no_such_user() -> Problem {
    Problem::not_found("no such user")
}
