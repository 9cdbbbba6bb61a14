//! Keys that may use the API. They concern everybody, so a key that is bound sees none, not even itself.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use punctual_core::clock::Random;
use punctual_core::id::hex;
use punctual_core::invalid::Invalid;
use punctual_core::key::{ApiKey, Rotation, Scope, Scopes};
use punctual_core::schedule::parse_instant;
use punctual_core::span;

use super::App;
use super::auth::{self, Caller, Keeper};
use super::input::{InPath, Input, Params};
use super::problem::Problem;
use super::read::{self, WHOLE};
use super::shown;

use crate::wire::{Key, KeyInput, Keys, ReplacedSecret, RotateInput};

/// How long the old secret of a rotated key works if nobody says.
const OVERLAP: Duration = Duration::from_secs(3600);
/// How long it may work.
const OVERLAP_MAX: Duration = Duration::from_secs(30 * 86_400);

/// A key as it is shown, with its secret when that was just made.
fn shown_key(app: &App, key: &ApiKey, secret: Option<String>) -> Key {
    let replaced = key.replaced.as_ref().filter(|replaced| replaced.until > app.now());
    Key {
        id: key.id.clone(),
        name: key.name.clone(),
        key: secret,
        prefix: key.prefix.clone(),
        user: key.user.clone(),
        channels: key.channels.clone(),
        scopes: key.scopes.said().map(|scope| Cow::Borrowed(scope.as_str())).collect(),
        rate: key.rate.map(|rate| rate.to_string()),
        expires_at: key.expires_at,
        created_at: key.created_at,
        // What was used a moment ago is written later.
        last_used_at: key.used_at.max(app.meter.used_at(&key.id)),
        replaced: replaced.map(|replaced| ReplacedSecret { prefix: replaced.prefix.clone(), until: replaced.until }),
    }
}

/// Makes a key, and shows it once.
///
/// A key can make none that may do more than itself.
#[utoipa::path(
    post, path = "/v1/keys", operation_id = "create_key", tag = "keys", request_body = KeyInput,
    responses((status = 201, description = "The key", body = Key)),
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Keeper(caller): Keeper,
    body: Input,
) -> Result<Response, Problem> {
    let KeyInput { name, user, channels, scopes, rate, expires_at } = body.read(KeyInput::MADE_HERE)?;
    let now = app.now();
    let random = &**app.engine.random();
    let made = NewSecret::make(random);
    let key = ApiKey {
        id: format!("key_{}", random_hex::<8>(random)),
        name: name.ok_or_else(|| Invalid::new("name", "is missing; say what the key is for"))?,
        prefix: Some(made.prefix.clone()),
        hash: auth::hash(&made.secret),
        user,
        channels: channels.map_or(Ok(Vec::new()), |channels| known_channels(channels, &app))?,
        scopes: scopes.map_or(Ok(Scopes::of([Scope::Write])), scopes_of)?,
        rate: rate.map(|rate| rate.parse()).transpose().map_err(|problem: String| Invalid::new("rate", problem))?,
        expires_at: expires_at.map(|text| expiry(&text, &app, now)).transpose()?,
        created_at: now,
        used_at: None,
        replaced: None,
    };
    key.validate()?;
    must_cover(&caller, key.scopes, "make")?;
    app.engine.put_key(key.clone(), caller.who()).await?;
    app.auth.forget();
    let mut response = shown_once(&app, StatusCode::CREATED, &key, made, "delete it and make another");
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/keys/{}", key.id)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// Lists keys.
#[utoipa::path(
    get, path = "/v1/keys", operation_id = "list_keys", tag = "keys",
    responses((status = 200, description = "All keys", body = Keys)),
)]
pub(super) async fn list(State(app): State<Arc<App>>, _: Keeper, params: Params) -> Result<Response, Problem> {
    params.only(&[])?;
    let keys = app.engine.store().keys().await?;
    let keys = keys.iter().map(|key| shown_key(&app, key, None)).collect();
    Ok(shown::answer(StatusCode::OK, &Keys { keys, next_cursor: None }))
}

/// Shows one key.
#[utoipa::path(
    get, path = "/v1/keys/{id}", operation_id = "show_key", tag = "keys",
    params(("id" = String, Path, description = "The id of a key")), responses((status = 200, description = "The key", body = Key)),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    _: Keeper,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    let key = app.engine.store().key_named(&id).await?.ok_or_else(no_such_key)?;
    Ok(shown::answer(StatusCode::OK, &shown_key(&app, &key, None)))
}

/// Gives a key another secret, and shows it once. The old one works for a while as well.
///
/// Everything else of the key stays as it is. A key that is rotated again while an older secret still works has two from then on: that
/// older one ends.
#[utoipa::path(
    post, path = "/v1/keys/{id}/rotate", operation_id = "rotate_key", tag = "keys", request_body = RotateInput,
    params(("id" = String, Path, description = "The id of a key")), responses((status = 200, description = "The key", body = Key)),
)]
pub(super) async fn rotate(
    State(app): State<Arc<App>>,
    Keeper(caller): Keeper,
    InPath(id): InPath<String>,
    body: Input,
) -> Result<Response, Problem> {
    let RotateInput { overlap } = read::read(body.json_or_nothing()?, WHOLE, &[])?;
    let overlap = overlap.map_or(Ok(OVERLAP), |text| overlap_of(&text))?;
    let before = app.engine.store().key_named(&id).await?.ok_or_else(no_such_key)?;
    must_cover(&caller, before.scopes, "rotate")?;
    let now = app.now();
    let made = NewSecret::make(&**app.engine.random());
    let until = now.checked_add(overlap).unwrap_or(Timestamp::MAX);
    let rotation = Rotation { hash: auth::hash(&made.secret), prefix: made.prefix.clone(), until, now };
    let key = app.engine.rotate_key(&id, rotation, caller.who()).await?.ok_or_else(no_such_key)?;
    app.auth.forget();
    Ok(shown_once(&app, StatusCode::OK, &key, made, "rotate it again"))
}

/// Deletes a key: it stops working at once.
#[utoipa::path(
    delete, path = "/v1/keys/{id}", operation_id = "delete_key", tag = "keys",
    params(("id" = String, Path, description = "The id of a key")), responses((status = 204, description = "The key is gone")),
)]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Keeper(caller): Keeper,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    let before = app.engine.store().key_named(&id).await?.ok_or_else(no_such_key)?;
    must_cover(&caller, before.scopes, "delete")?;
    let was_there = app.engine.delete_key(&id, caller.who()).await?;
    app.auth.forget();
    match was_there {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(no_such_key()),
    }
}

/// The answer with a secret in it. An answer that is kept for a repeat would keep the secret with it, so a repeat gets another one.
fn shown_once(app: &App, status: StatusCode, key: &ApiKey, made: NewSecret, advice: &str) -> Response {
    let mut response = shown::answer(status, &shown_key(app, key, Some(made.secret)));
    let again = Problem::conflict(
        "shown_once",
        format!("this request made the key `{}`, which was shown once; {advice}", key.id),
    );
    response.extensions_mut().insert(again.instead());
    response
}

/// A secret that nobody has seen yet.
struct NewSecret {
    secret: String,
    /// Its first characters, which are shown again.
    prefix: String,
}

impl NewSecret {
    /// 256 random bits behind a prefix by which leaks can be searched for and a person recognises the key.
    fn make(random: &dyn Random) -> Self {
        let prefix = format!("pk_{}", random_hex::<4>(random));
        Self { secret: format!("{prefix}_{}", random_hex::<32>(random)), prefix }
    }
}

/// A new key of the admin's: 256 random bits, with a prefix by which leaks can be searched for.
pub(crate) fn new_key(random: &dyn Random) -> String {
    format!("pk_{}", random_hex::<32>(random))
}

fn random_hex<const N: usize>(random: &dyn Random) -> String {
    let mut bytes = [0; N];
    random.fill(&mut bytes);
    hex(&bytes)
}

fn scopes_of(words: Vec<String>) -> Result<Scopes, Invalid> {
    if words.is_empty() {
        return Err(Invalid::new("scopes", "is empty; write such as [\"read\"] or [\"read\",\"write\"]"));
    }
    let scope = |(index, word): (usize, &String)| {
        word.parse::<Scope>().map_err(|invalid| Invalid::new(format!("scopes[{index}]"), invalid.problem))
    };
    Ok(Scopes::of(words.iter().enumerate().map(scope).collect::<Result<Vec<_>, _>>()?))
}

/// The channels of a key, each one that this server has.
fn known_channels(channels: Vec<String>, app: &App) -> Result<Vec<String>, Invalid> {
    if channels.is_empty() {
        return Err(Invalid::new("channels", "is empty; name some, or leave it out for all"));
    }
    let known = app.engine.channels();
    match channels.iter().position(|channel| !known.contains_key(channel)) {
        Some(index) => {
            let names = known.keys().cloned().collect::<Vec<_>>().join(", ");
            let problem = format!("unknown channel `{}`; known are {names}", channels[index]);
            Err(Invalid::new(format!("channels[{index}]"), problem))
        }
        None => Ok(channels),
    }
}

fn expiry(text: &str, app: &App, now: Timestamp) -> Result<Timestamp, Invalid> {
    let at = parse_instant(text, &app.zone, now).map_err(|problem| Invalid::new("expires_at", problem))?;
    if at <= now {
        return Err(Invalid::new("expires_at", "is in the past"));
    }
    Ok(at)
}

fn overlap_of(text: &str) -> Result<Duration, Invalid> {
    let wrong = |problem: String| Invalid::new("overlap", problem);
    match text.trim() {
        "0" | "0s" => Ok(Duration::ZERO),
        text => match span::parse(text).map_err(wrong)? {
            overlap if overlap > OVERLAP_MAX => Err(wrong(format!("`{text}` is too long; at most 30d are accepted"))),
            overlap => Ok(overlap),
        },
    }
}

/// Refuses a caller that would get hold of a key that may do more than its own.
fn must_cover(caller: &Caller, scopes: Scopes, verb: &str) -> Result<(), Problem> {
    match caller.scopes().cover(scopes) {
        true => Ok(()),
        false => Err(Problem::forbidden(format!(
            "this key has the scopes `{}` and cannot {verb} one with `{scopes}`, which may do more",
            caller.scopes()
        ))
        .at_field("scopes")),
    }
}

fn no_such_key() -> Problem {
    Problem::not_found("no such key")
}
