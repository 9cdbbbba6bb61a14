//! Keys that may use the API. They concern everybody, so a key that is bound sees none, not even itself.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use punctual_core::channel::Rate;
use punctual_core::clock::Random;
use punctual_core::id::hex;
use punctual_core::invalid::{Faults, Invalid};
use punctual_core::key::{ApiKey, Rotation, Scope, Scopes};
use punctual_core::schedule::parse_instant;
use punctual_core::span;

use super::App;
use super::auth::{self, Caller, Keeper};
use super::conditions::{Expecting, located, tagged, tagged_as};
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
/// A key can make none that may do more than itself, works longer or asks more often. What is left out of these is the key's own.
#[utoipa::path(
    post, path = "/v1/keys", operation_id = "create_key", tag = "keys", request_body = KeyInput,
    responses((status = 201, description = "The key", body = Key)),
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Keeper(caller): Keeper,
    body: Input,
) -> Result<Response, Problem> {
    let (input, mut faults) = body.partly::<KeyInput>(KeyInput::MADE_HERE)?;
    let KeyInput { name, user, channels, scopes, rate, expires_at } = input;
    let now = app.now();
    let random = &**app.engine.random();
    let made = NewSecret::make(random);
    let key = ApiKey {
        id: format!("key_{}", random_hex::<8>(random)),
        name: faults.note(name.ok_or_else(|| Invalid::missing("name", "say what the key is for"))).unwrap_or_default(),
        prefix: Some(made.prefix.clone()),
        hash: auth::hash(&made.secret),
        user,
        channels: faults.note(known_channels(channels, &app)).unwrap_or_default(),
        scopes: faults.note(scopes_of(scopes)).unwrap_or(Scopes::of([Scope::Write])),
        rate: faults.note(rate.map(|rate| rate_of(&rate)).transpose()).flatten().or(caller.rate()),
        // A key that ends or has a rate makes none without.
        expires_at: faults
            .note(expires_at.map(|text| expiry(&text, &app, now)).transpose())
            .flatten()
            .or(caller.expires_at()),
        created_at: now,
        used_at: None,
        replaced: None,
    };
    faults.settle();
    faults.note(key.validate());
    faults.finish()?;
    must_cover(&caller, key.scopes, "make")?;
    must_outlast(&caller, &key, "make")?;
    app.engine.put_key(key.clone(), caller.who()).await?;
    app.auth.forget();
    let response = shown_once(&app, StatusCode::CREATED, &key, made, "delete it and make another");
    Ok(located(response, &format!("/v1/keys/{}", key.id)))
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
    Ok(tagged(StatusCode::OK, key.version(), &shown_key(&app, &key, None)))
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
    expecting: Expecting,
    body: Input,
) -> Result<Response, Problem> {
    let (input, mut faults): (RotateInput, Faults) = read::partly(&body.json_or_nothing()?, WHOLE, &[])?;
    let overlap = faults.note(input.overlap.map_or(Ok(OVERLAP), |text| overlap_of(&text))).unwrap_or(OVERLAP);
    faults.finish()?;
    let before = app.engine.store().key_named(&id).await?.ok_or_else(no_such_key)?;
    must_cover(&caller, before.scopes, "rotate")?;
    must_outlast(&caller, &before, "rotate")?;
    let now = app.now();
    let made = NewSecret::make(&**app.engine.random());
    let until = now.checked_add(overlap).unwrap_or(Timestamp::MAX);
    let rotation = Rotation { hash: auth::hash(&made.secret), prefix: made.prefix.clone(), until, now };
    let key = app.engine.rotate_key(&id, rotation, expecting.by(caller.who())).await?.ok_or_else(no_such_key)?;
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
    expecting: Expecting,
) -> Result<Response, Problem> {
    let before = app.engine.store().key_named(&id).await?.ok_or_else(no_such_key)?;
    must_cover(&caller, before.scopes, "delete")?;
    let was_there = app.engine.delete_key(&id, expecting.by(caller.who())).await?;
    app.auth.forget();
    match was_there {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(no_such_key()),
    }
}

/// The answer with a secret in it. An answer that is kept for a repeat would keep the secret with it, so a repeat gets another one.
fn shown_once(app: &App, status: StatusCode, key: &ApiKey, made: NewSecret, advice: &str) -> Response {
    let response = shown::answer(status, &shown_key(app, key, Some(made.secret)));
    let mut response = tagged_as(response, key.version(), &shown_key(app, key, None));
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

fn rate_of(text: &str) -> Result<Rate, Invalid> {
    text.parse().map_err(|problem: String| Invalid::new("rate", problem))
}

fn scopes_of(words: Option<Vec<String>>) -> Result<Scopes, Invalid> {
    let Some(words) = words else { return Ok(Scopes::of([Scope::Write])) };
    if words.is_empty() {
        return Err(Invalid::new("scopes", "is empty; write such as [\"read\"] or [\"read\",\"write\"]"));
    }
    let (mut scopes, mut faults) = (Vec::new(), Faults::default());
    for (index, word) in words.iter().enumerate() {
        let scope = word.parse::<Scope>().map_err(|invalid| Invalid::new(format!("scopes[{index}]"), invalid.problem));
        scopes.extend(faults.note(scope));
    }
    faults.finish()?;
    Ok(Scopes::of(scopes))
}

/// The channels of a key, each one that this server has.
fn known_channels(channels: Option<Vec<String>>, app: &App) -> Result<Vec<String>, Invalid> {
    let Some(channels) = channels else { return Ok(Vec::new()) };
    if channels.is_empty() {
        return Err(Invalid::new("channels", "is empty; name some, or leave it out for all"));
    }
    let (known, mut faults) = (app.engine.channels(), Faults::default());
    for (index, channel) in channels.iter().enumerate().filter(|(_, channel)| !known.contains_key(*channel)) {
        let names = known.keys().cloned().collect::<Vec<_>>().join(", ");
        let problem = format!("unknown channel `{channel}`; known are {names}");
        faults.add(Invalid::new(format!("channels[{index}]"), problem));
    }
    faults.finish()?;
    Ok(channels)
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

/// Refuses a caller that would get hold of a key that works longer or asks more often than its own.
fn must_outlast(caller: &Caller, key: &ApiKey, verb: &str) -> Result<(), Problem> {
    if let Some(end) = caller.expires_at()
        && key.expires_at.is_none_or(|at| at > end)
    {
        let detail = format!("this key ends at {end} and cannot {verb} one that works longer");
        return Err(Problem::forbidden(detail).at_field("expires_at"));
    }
    if let Some(own) = caller.rate()
        && key.rate.is_none_or(|rate| is_more(rate, own))
    {
        let per = span::format(own.per);
        let detail = format!("this key may ask {} times in {per} and cannot {verb} one that may ask more often", own.n);
        return Err(Problem::forbidden(detail).at_field("rate"));
    }
    Ok(())
}

/// Whether a key of this rate may at any time ask more often than one of the other.
fn is_more(rate: Rate, than: Rate) -> bool {
    let per_second = |rate: Rate| f64::from(rate.n) / rate.per.as_secs_f64();
    rate.n > than.n || per_second(rate) > per_second(than)
}

fn no_such_key() -> Problem {
    Problem::not_found("no such key")
}
