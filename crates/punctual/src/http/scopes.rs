//! Offsets for all events below a path. They concern several people, so a key that is bound to one user sees none.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use punctual_core::invalid::Invalid;
use punctual_core::scope;
use punctual_core::scope::Path;

use super::App;
use super::asked::offsets;
use super::auth::{Caller, Writer};
use super::conditions::{Expecting, tagged, tagged_as};
use super::input::{Input, Params};
use super::pages;
use super::problem::Problem;
use super::shown;
use crate::wire::{Scope, ScopeInput, ScopeQuery, Scopes};

/// Where the routes begin.
const ROUTE: &str = "/v1/scopes/";
/// The route of a path with several levels: described as the one with `{path}`.
pub(super) const DEEPER: &str = "/v1/scopes/{path}/{*deeper}";
/// The route of a scope of one level, with which the deeper ones are described.
pub(super) const PATH: &str = "/v1/scopes/{path}";

/// Lists scopes, by path.
#[utoipa::path(
    get, path = "/v1/scopes", operation_id = "list_scopes", tag = "events", params(ScopeQuery),
    responses((status = 200, description = "A page", body = Scopes)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let params = params.only(&["under", "limit", "cursor"])?;
    let limit = params.limit()?;
    if caller.bound_to().is_some() {
        return Ok(shown::answer(StatusCode::OK, &Scopes { scopes: Vec::new(), next_cursor: None }));
    }
    let under = params.get("under").map(|path| parsed("under", path)).transpose()?;
    let after: Option<Path> = params.cursor(|text| text.parse().ok())?;
    let read = |after, limit| app.engine.store().scopes(under.clone(), after, limit);
    let (found, next) =
        pages::read_page(limit, after, read, |_| 256, |scope: &scope::Scope| scope.path.clone()).await?;
    let scopes = found.into_iter().map(|scope| scope_of(scope, None)).collect();
    Ok(shown::answer(StatusCode::OK, &Scopes { scopes, next_cursor: next.map(|path| path.to_string()) }))
}

/// Shows one scope.
///
/// Slashes in the path divide its levels; a slash in the name of a level is written as `%2F`.
#[utoipa::path(
    get, path = "/v1/scopes/{path}", operation_id = "show_scope", tag = "events", params(("path" = String, Path, description = "The path, such as guild:1/channel:2")),
    responses((status = 200, description = "The scope", body = Scope)),
)]
pub(super) async fn show(State(app): State<Arc<App>>, caller: Caller, uri: Uri) -> Result<Response, Problem> {
    must_see(&caller)?;
    let found = app.engine.store().scope(&path_of(&uri)?).await?.ok_or_else(no_such_scope)?;
    Ok(tagged(StatusCode::OK, found.version(), &scope_of(found, None)))
}

/// Writes or replaces a scope, and plans anew the events that depend on it.
#[utoipa::path(
    put, path = "/v1/scopes/{path}", operation_id = "put_scope", tag = "events", params(("path" = String, Path, description = "The path, such as guild:1/channel:2")),
    request_body = ScopeInput,
    responses((status = 200, description = "The scope was replaced", body = Scope), (status = 201, description = "The scope is new", body = Scope)),
)]
pub(super) async fn put(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    uri: Uri,
    expecting: Expecting,
    body: Input,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    let path = path_of(&uri)?;
    let (input, mut faults) = body.partly::<ScopeInput>(ScopeInput::MADE_HERE)?;
    let missing = || Invalid::missing("offsets", "write [60, 15] for one hour and a quarter of an hour before");
    let offsets = faults.note(input.offsets.ok_or_else(missing).and_then(offsets)).unwrap_or_default();
    faults.finish()?;
    let scope = scope::Scope { path, offsets, updated_at: app.now() };
    let done = app.engine.put_scope(scope.clone(), expecting.by(caller.who())).await?;
    let status = if done.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let version = scope.version();
    let answer = shown::answer(status, &scope_of(scope.clone(), Some(done.n_events)));
    Ok(tagged_as(answer, version, &scope_of(scope, None)))
}

/// Removes a scope: events that depended on it depend on the next one up.
#[utoipa::path(
    delete, path = "/v1/scopes/{path}", operation_id = "delete_scope", tag = "events", params(("path" = String, Path, description = "The path, such as guild:1/channel:2")),
    responses((status = 204, description = "The scope is gone")),
)]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    uri: Uri,
    expecting: Expecting,
) -> Result<Response, Problem> {
    must_see(&caller)?;
    match app.engine.remove_scope(&path_of(&uri)?, expecting.by(caller.who())).await? {
        Some(_) => Ok(StatusCode::NO_CONTENT.into_response()),
        None => Err(no_such_scope()),
    }
}

/// The path in an address. Each level is decoded by itself: an escaped slash belongs to a name.
fn path_of(uri: &Uri) -> Result<Path, Invalid> {
    let level = |level: &str| {
        if !is_escaped(level) {
            let problem =
                "has a % that two digits do not follow; write %25 for a percent sign, %2F for a slash in a name";
            return Err(Invalid::new("path", problem));
        }
        let name = percent_decode_str(level).decode_utf8().map_err(|_| Invalid::new("path", "is not UTF-8"))?;
        Ok(name.replace('%', "%25").replace('/', "%2F"))
    };
    let given = uri.path().strip_prefix(ROUTE).unwrap_or_default();
    let levels: Vec<String> = given.split('/').map(level).collect::<Result<_, Invalid>>()?;
    parsed("path", &levels.join("/"))
}

/// Whether each percent sign stands for a byte, as two hexadecimal digits after it say.
fn is_escaped(text: &str) -> bool {
    let mut after = text.split('%').skip(1);
    after.all(|after| after.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)))
}

fn parsed(field: &str, path: &str) -> Result<Path, Invalid> {
    path.parse().map_err(|invalid: Invalid| Invalid::new(field, invalid.problem))
}

fn scope_of(scope: scope::Scope, replanned: Option<u64>) -> Scope {
    let scope::Scope { path, offsets, updated_at } = scope;
    let offsets = offsets.into_iter().map(|offset| offset.to_value()).collect();
    Scope { path: path.to_string(), offsets, updated_at, replanned }
}

fn must_see(caller: &Caller) -> Result<(), Problem> {
    if caller.bound_to().is_none() { Ok(()) } else { Err(no_such_scope()) }
}

fn no_such_scope() -> Problem {
    Problem::not_found("no such scope")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escaped_slash_belongs_to_the_name_of_a_level() {
        let table = [
            ("guild:1", "guild:1"),
            ("guild:1/channel:2", "guild:1/channel:2"),
            ("guild%3A1/channel%3a2", "guild:1/channel:2"),
            ("guild:1%2Fchannel:2", "guild:1%2Fchannel:2"),
            ("100%25/b%C3%BCro", "100%25/büro"),
            ("a%252Fb", "a%252Fb"),
        ];
        for (given, expect) in table {
            let path = path_of(&format!("{ROUTE}{given}").parse().unwrap()).unwrap();
            assert_eq!(path.as_str(), expect, "{given}");
        }
        for wrong in ["", "a//b", "a/", "%FF", "1/2/3/4/5/6/7/8/9", "50%", "50%2", "50%zz/a", "a/%%25"] {
            let invalid = path_of(&format!("{ROUTE}{wrong}").parse().unwrap()).unwrap_err();
            assert_eq!(invalid.field, "path", "{wrong}");
        }
    }
}
