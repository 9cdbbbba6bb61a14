//! Keys that may use the API.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use punctual_core::clock::Random;
use punctual_core::id::hex;
use punctual_core::invalid::Invalid;
use punctual_core::schedule::parse_instant;
use punctual_core::user::ApiKey;

use super::App;
use super::auth::{self, Admin};
use super::input::{InPath, Input, Params};
use super::problem::Problem;
use super::shown;
use crate::wire::{Key, KeyInput, Keys};

/// A key as it is shown, with its secret when it was just made.
fn shown_key(key: &ApiKey, secret: Option<String>) -> Key {
    let scopes = if key.write { &["read", "write"][..] } else { &["read"] };
    Key {
        id: key.id.clone(),
        name: key.name.clone(),
        key: secret,
        user: key.user.clone(),
        scopes: scopes.iter().map(|scope| Cow::Borrowed(*scope)).collect(),
        expires_at: key.expires_at,
        created_at: key.created_at,
    }
}

/// Makes a key, and shows it once.
#[utoipa::path(
    post, path = "/v1/keys", operation_id = "create_key", tag = "keys", request_body = KeyInput,
    responses((status = 201, description = "The key", body = Key)),
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    body: Input,
) -> Result<Response, Problem> {
    let KeyInput { name, user, scopes, expires_at } = body.read(KeyInput::MADE_HERE)?;
    let now = app.now();
    let name = bounded("name", name)?.ok_or_else(|| Invalid::new("name", "is missing; say what the key is for"))?;
    let user = bounded("user", user)?;
    let write = scopes.map(may_write).transpose()?.unwrap_or(true);
    let expires_at = match expires_at {
        Some(text) => {
            let at = parse_instant(&text, &app.zone, now).map_err(|problem| Invalid::new("expires_at", problem))?;
            if at <= now {
                return Err(Invalid::new("expires_at", "is in the past").into());
            }
            Some(at)
        }
        None => None,
    };
    let random = &**app.engine.random();
    let secret = new_key(random);
    let id = format!("key_{}", random_hex::<8>(random));
    let key = ApiKey { id, name, hash: auth::hash(&secret), user, write, expires_at, created_at: now };
    app.engine.put_key(key.clone(), caller.who()).await?;
    app.auth.forget();
    let mut response = shown::answer(StatusCode::CREATED, &shown_key(&key, Some(secret)));
    // An answer that is kept for a repeat would keep the key with it.
    let again = Problem::conflict(
        "shown_once",
        format!("this request made the key `{}`, which was shown once; delete it and make another", key.id),
    );
    response.extensions_mut().insert(again.instead());
    Ok(response)
}

/// Lists keys.
#[utoipa::path(
    get, path = "/v1/keys", operation_id = "list_keys", tag = "keys",
    responses((status = 200, description = "All keys", body = Keys)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, _: Admin, params: Params) -> Result<Response, Problem> {
    params.only(&[])?;
    let keys = app.engine.store().keys().await?;
    let keys = keys.iter().map(|key| shown_key(key, None)).collect();
    Ok(shown::answer(StatusCode::OK, &Keys { keys, next_cursor: None }))
}

/// Deletes a key: it stops working at once.
#[utoipa::path(
    delete, path = "/v1/keys/{id}", operation_id = "delete_key", tag = "keys",
    params(("id" = String, Path, description = "The id of a key")), responses((status = 204, description = "The key is gone")),
)]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    let was_there = app.engine.delete_key(&id, caller.who()).await?;
    app.auth.forget();
    match was_there {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(Problem::not_found("no such key")),
    }
}

/// A new key: 256 random bits, with a prefix by which leaks can be searched for.
pub(crate) fn new_key(random: &dyn Random) -> String {
    format!("pk_{}", random_hex::<32>(random))
}

fn random_hex<const N: usize>(random: &dyn Random) -> String {
    let mut bytes = [0; N];
    random.fill(&mut bytes);
    hex(&bytes)
}

/// Whether the key may write. Every key may read.
fn may_write(scopes: Vec<String>) -> Result<bool, Invalid> {
    if scopes.is_empty() {
        return Err(Invalid::new("scopes", "is empty; write [\"read\"] or [\"read\",\"write\"]"));
    }
    let mut write = false;
    for (index, scope) in scopes.iter().enumerate() {
        match scope.as_str() {
            "read" => {}
            "write" => write = true,
            other => {
                let problem = format!("\"{other}\" is not one of \"read\", \"write\"");
                return Err(Invalid::new(format!("scopes[{index}]"), problem));
            }
        }
    }
    Ok(write)
}

fn bounded(field: &str, text: Option<String>) -> Result<Option<String>, Invalid> {
    match text {
        Some(text) if text.trim().is_empty() => Err(Invalid::new(field, "is empty")),
        Some(text) if text.len() > 256 => {
            Err(Invalid::new(field, format!("is {} bytes long; at most 256 are accepted", text.len())))
        }
        text => Ok(text),
    }
}
