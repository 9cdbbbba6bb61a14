//! People who belong together. They concern everybody, so a key that is bound to one user sees none.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use punctual_core::feed::{Feed, FeedKey, FeedKind, shown_source};
use punctual_core::group;
use punctual_core::invalid::Invalid;
use punctual_core::store::StoreError;

use super::App;
use super::auth::{Caller, Writer};
use super::conditions::{Expecting, tagged};
use super::input::{InPath, Input, Params};
use super::pages;
use super::problem::Problem;
use super::shown;
use crate::wire::{Group, GroupInput, Groups, PageQuery};

/// Lists groups, by name.
#[utoipa::path(
    get, path = "/v1/groups", operation_id = "list_groups", tag = "groups", params(PageQuery),
    responses((status = 200, description = "A page", body = Groups)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let params = params.only(&["limit", "cursor"])?;
    let limit = params.limit()?;
    let (groups, next_cursor) = match caller.bound_to() {
        Some(_) => (Vec::new(), None),
        None => {
            let after = params.get("cursor").map(str::to_owned);
            let read = |after, limit| app.engine.store().groups(after, limit);
            let bytes_of = |group: &group::Group| group.users.iter().map(String::len).sum();
            pages::read_page(limit, after, read, bytes_of, |group| group.name.clone()).await?
        }
    };
    let rotas = rotas(&app, &groups).await?;
    let now = app.now();
    let groups = groups.into_iter().map(|group| shown_group(group, &rotas, now)).collect();
    Ok(shown::answer(StatusCode::OK, &Groups { groups, next_cursor }))
}

/// Shows one group.
#[utoipa::path(
    get, path = "/v1/groups/{name}", operation_id = "show_group", tag = "groups", params(("name" = String, Path, description = "The group")),
    responses((status = 200, description = "The group", body = Group)),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    match found(&app, name).await? {
        Some(group) => {
            let rotas = rotas(&app, std::slice::from_ref(&group)).await?;
            Ok(tagged(StatusCode::OK, group.version(), &shown_group(group, &rotas, app.now())))
        }
        None => Err(no_such_group()),
    }
}

/// Writes or replaces a group.
#[utoipa::path(
    put, path = "/v1/groups/{name}", operation_id = "put_group", tag = "groups", params(("name" = String, Path, description = "The group")),
    request_body = GroupInput,
    responses((status = 200, description = "The group was replaced", body = Group), (status = 201, description = "The group is new", body = Group)),
)]
pub(super) async fn put(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(name): InPath<String>,
    expecting: Expecting,
    body: Input,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    let (input, mut faults) = body.partly::<GroupInput>(GroupInput::MADE_HERE)?;
    let now = app.now();
    let missing = || Invalid::missing("users", "name the users, such as [\"bob\",\"eve\"]");
    let before = found(&app, name.clone()).await?;
    let rota = faults.note(rota(&app, input.rota, before.as_ref())).flatten();
    let users = input.users.or_else(|| rota.is_some().then(Vec::new));
    let mut group = group::Group {
        name,
        mode: faults.note(input.mode.map(|word| word.known("mode")).transpose()).flatten().unwrap_or_default(),
        users: faults.note(users.ok_or_else(missing)).unwrap_or_default(),
        rota,
        shifts: Vec::new(),
        created_at: now,
        updated_at: now,
    };
    faults.settle();
    faults.note(group.validate());
    faults.finish()?;
    if let Some(before) = &before {
        group.created_at = before.created_at;
    }
    app.engine.put_group(group.clone(), expecting.by(caller.who())).await?;
    let status = if before.is_some() { StatusCode::OK } else { StatusCode::CREATED };
    // The group is written, whether its calendar can be looked up or not.
    let rotas = rotas(&app, std::slice::from_ref(&group)).await.unwrap_or_default();
    Ok(tagged(status, group.version(), &shown_group(group, &rotas, now)))
}

/// Removes a group; its users stay.
#[utoipa::path(
    delete, path = "/v1/groups/{name}", operation_id = "delete_group", tag = "groups", params(("name" = String, Path, description = "The group")),
    responses((status = 204, description = "The group is gone")),
)]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    InPath(name): InPath<String>,
    expecting: Expecting,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    match app.engine.delete_group(&name, expecting.by(caller.who())).await? {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(no_such_group()),
    }
}

/// The calendar that a group names, as it is kept. An answer shows it without what may be a secret; who sends that back means the same one.
fn rota(app: &App, asked: Option<String>, before: Option<&group::Group>) -> Result<Option<String>, Invalid> {
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else { return Ok(None) };
    let kept = before.and_then(|before| before.rota.clone());
    if kept.as_deref().map(shown_source).is_some_and(|shown| shown == asked) {
        return Ok(kept);
    }
    let sources = app.sources.as_ref().ok_or_else(|| Invalid::new("rota", "is not read by this server"))?;
    sources.check("rota", &asked).map(Some)
}

async fn found(app: &App, name: String) -> Result<Option<group::Group>, Problem> {
    Ok(app.engine.store().groups_of(vec![name]).await?.pop())
}

fn must_see(caller: &Caller) -> Result<(), Problem> {
    if caller.bound_to().is_none() { Ok(()) } else { Err(no_such_group()) }
}

fn no_such_group() -> Problem {
    Problem::not_found("no such group")
}

/// The calendars of those of a page of groups that have one, by the same order.
async fn rotas(app: &App, groups: &[group::Group]) -> Result<Vec<Feed>, StoreError> {
    let with_rota: Vec<&group::Group> = groups.iter().filter(|group| group.rota.is_some()).collect();
    let Some((first, others)) = with_rota.split_first() else { return Ok(Vec::new()) };
    let store = app.engine.store();
    let mut rotas = store.feeds(FeedKind::Group, Some(first.name.clone()), None, 1).await?;
    if !others.is_empty() {
        // No other group lies between them, for groups and their calendars are listed by name.
        rotas.extend(store.feeds(FeedKind::Group, None, Some(FeedKey::of_group(&first.name)), others.len()).await?);
    }
    Ok(rotas)
}

/// The group as it is at `now`, and what is wrong with its calendar among `rotas`.
fn shown_group(group: group::Group, rotas: &[Feed], now: Timestamp) -> Group {
    let is_now = |shift: &&group::Shift| shift.from_at <= now && now < shift.until_at;
    let on_duty = group.rota.as_ref().map(|_| {
        let mut people: Vec<String> = Vec::new();
        for shift in group.shifts.iter().filter(is_now) {
            if !people.contains(&shift.user) {
                people.push(shift.user.clone());
            }
        }
        people
    });
    let read = rotas.iter().find(|feed| feed.key.owner == group.name && group.rota.as_ref() == Some(&feed.source));
    let (problem, problems) = read.map(|feed| (feed.problem.clone(), feed.problems.clone())).unwrap_or_default();
    let rota = group.rota.as_deref().map(shown_source);
    let group::Group { name, mode, users, created_at, updated_at, .. } = group;
    Group { name, users, mode: mode.into(), rota, on_duty, problem, problems, created_at, updated_at }
}
