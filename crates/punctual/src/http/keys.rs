//! Keys that may use the API.

use std::fmt::Write;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use punctual_core::clock::Random;
use punctual_core::invalid::Invalid;
use punctual_core::schedule::parse_instant;
use punctual_core::user::ApiKey;
use serde::Serialize;
use serde_json::Value;

use super::App;
use super::auth::{self, Admin};
use super::fields::Fields;
use super::input::{InPath, Input, Params};
use super::problem::{Problem, WHOLE};
use super::wire;

/// A key as it is shown. The key itself is there only when it was just made.
#[derive(Serialize)]
struct KeyJson<'a> {
    id: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    user: Option<&'a str>,
    scopes: &'static [&'static str],
    expires_at: Option<Timestamp>,
    created_at: Timestamp,
}

impl<'a> KeyJson<'a> {
    fn new(key: &'a ApiKey, secret: Option<&'a str>) -> Self {
        Self {
            id: &key.id,
            name: &key.name,
            key: secret,
            user: key.user.as_deref(),
            scopes: if key.write { &["read", "write"] } else { &["read"] },
            expires_at: key.expires_at,
            created_at: key.created_at,
        }
    }
}

pub(super) async fn create(State(app): State<Arc<App>>, _: Admin, body: Input) -> Result<Response, Problem> {
    let mut fields =
        Fields::of(body.json()?, WHOLE, &["name", "user", "scopes", "expires_at"], &["id", "key", "created_at"])?;
    let now = app.now();
    let name = bounded("name", fields.text("name")?)?
        .ok_or_else(|| Invalid::new("name", "is missing; say what the key is for"))?;
    let user = bounded("user", fields.text("user")?)?;
    let write = scopes(&mut fields)?;
    let expires_at = match fields.text("expires_at")? {
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
    let id = format!("key_{}", hex::<8>(random));
    let key = ApiKey { id, name, hash: auth::hash(&secret), user, write, expires_at, created_at: now };
    app.engine.store().put_key(key.clone()).await?;
    app.auth.forget();
    let mut response = wire::answer(StatusCode::CREATED, &KeyJson::new(&key, Some(&secret)));
    // What is kept so that a repeat is answered the same would keep the key.
    let again = Problem::conflict(
        "shown_once",
        format!("this request made the key `{}`, which was shown once; delete it and make another", key.id),
    );
    response.extensions_mut().insert(again.instead());
    Ok(response)
}

pub(super) async fn list(State(app): State<Arc<App>>, _: Admin, params: Params) -> Result<Response, Problem> {
    params.only(&[])?;
    let keys = app.engine.store().keys().await?;
    let to_value = |key| serde_json::to_value(KeyJson::new(key, None)).expect("a key always becomes JSON");
    Ok(wire::page("keys", keys.iter().map(to_value).collect(), None))
}

pub(super) async fn delete(
    State(app): State<Arc<App>>,
    _: Admin,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    let was_there = app.engine.store().delete_key(&id).await?;
    app.auth.forget();
    match was_there {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(Problem::not_found("no such key")),
    }
}

/// A new key: 256 random bits, with a prefix by which leaks can be searched for.
pub(crate) fn new_key(random: &dyn Random) -> String {
    format!("pk_{}", hex::<32>(random))
}

fn hex<const N: usize>(random: &dyn Random) -> String {
    let mut bytes = [0; N];
    random.fill(&mut bytes);
    bytes.iter().fold(String::with_capacity(2 * N), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether the key may write. Every key may read.
fn scopes(fields: &mut Fields) -> Result<bool, Invalid> {
    let Some(items) = fields.list("scopes")? else { return Ok(true) };
    if items.is_empty() {
        return Err(Invalid::new("scopes", "is empty; write [\"read\"] or [\"read\",\"write\"]"));
    }
    let mut write = false;
    for (index, item) in items.iter().enumerate() {
        match item {
            Value::String(word) if word == "read" => {}
            Value::String(word) if word == "write" => write = true,
            other => {
                return Err(Invalid::new(
                    format!("scopes[{index}]"),
                    format!("{other} is not one of \"read\", \"write\""),
                ));
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
