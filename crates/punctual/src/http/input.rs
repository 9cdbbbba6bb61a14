//! Bodies and queries, read with limits and with errors that say where.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;
use punctual_core::invalid::{Faults, Invalid};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::App;
use super::bodies::{Bodies, Part};
use super::problem::Problem;
use super::read::{self, WHOLE};
use super::weight::{Weight, weight};
use crate::config::keys::nearest;

/// The largest body of a request about one thing.
pub(super) const SINGLE_BYTES_MAX: usize = 1024 * 1024;
/// The largest body of a batch.
pub(super) const BATCH_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How many times its largest size a body may take once it is understood. Those of people and programs take three to ten times their own.
const WEIGHT_FACTOR: usize = 8;
/// How much of a body that is refused is read and thrown away, so that a client that sends before
/// it listens gets the answer and not a broken connection.
const DRAIN_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The whole body, at most `MAX` bytes of JSON, and what it has of the budget for bodies.
pub(super) struct Input<const MAX: usize = SINGLE_BYTES_MAX>(pub(super) Bytes, Weighed);

struct Weighed {
    weight: Weight,
    #[expect(dead_code, reason = "it is given back when the body is dropped")]
    part: Part,
}

/// A body that was read before its handler was reached, for the handler to take.
#[derive(Clone)]
pub(super) struct Taken(Arc<Mutex<Option<(Bytes, Part)>>>);

impl Taken {
    pub(super) fn new(bytes: Bytes, part: Part) -> Self {
        Self(Arc::new(Mutex::new(Some((bytes, part)))))
    }

    fn take(&self) -> Option<(Bytes, Part)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Handlers name who may ask before they name the body, so nothing of a body is read for anybody else.
impl<const MAX: usize> FromRequest<Arc<App>> for Input<MAX> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let taken = parts.extensions.get::<Taken>().and_then(Taken::take);
        let (bytes, mut part) = match taken {
            Some(taken) => taken,
            None => take(body, MAX, &parts.headers, &app.bodies).await?,
        };
        if !bytes.is_empty() {
            must_be_json(&parts.headers)?;
        }
        let weight = weight(&bytes);
        if weight.json > MAX * WEIGHT_FACTOR {
            let detail = "the body has too many values to be understood at once; send it in parts";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
        }
        if MAX == SINGLE_BYTES_MAX {
            app.bodies.grow(&mut part, weight.json).await?;
        }
        Ok(Self(bytes, Weighed { weight, part }))
    }
}

impl<const MAX: usize> Input<MAX> {
    /// About how many bytes it takes as a batch. A batch waits for its turn with it, because it takes longer.
    pub(super) fn batch_weight(&self) -> usize {
        self.1.weight.batch
    }

    /// The body as JSON.
    pub(super) fn json(&self) -> Result<Value, Problem> {
        if self.0.iter().all(u8::is_ascii_whitespace) {
            return Err(Problem::bad_request("the body is empty; send a JSON object"));
        }
        let value = self.json_with_nul()?;
        // JSON has no other way to write one.
        let may_have_one = self.0.windows(6).any(|window| window == b"\\u0000");
        match may_have_one.then(|| nul_in(&value, String::new())).flatten() {
            Some(field) => Err(Invalid::new(field, "contains a NUL character").into()),
            None => Ok(value),
        }
    }

    /// The body as one of the wire's requests. `made_here` are fields that only the server sets.
    pub(super) fn read<T: DeserializeOwned>(&self, made_here: &[&str]) -> Result<T, Problem> {
        Ok(read::read(self.json()?, WHOLE, made_here)?)
    }

    /// The same without what is wrong with it, and what that is.
    pub(super) fn partly<T: DeserializeOwned>(&self, made_here: &[&str]) -> Result<(T, Faults), Problem> {
        Ok(read::partly(&self.json()?, WHOLE, made_here)?)
    }

    /// The same, for a caller that looks for NUL characters itself.
    pub(super) fn json_with_nul(&self) -> Result<Value, Problem> {
        serde_json::from_slice(&self.0).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or_default();
            Problem::bad_request(format!("the body is not valid JSON at line {line}, column {column}: {words}"))
        })
    }

    /// The body as JSON; an empty one is an empty object.
    pub(super) fn json_or_nothing(&self) -> Result<Value, Problem> {
        if self.0.iter().all(u8::is_ascii_whitespace) {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        self.json()
    }
}

/// Where in `value` a text or a name contains a NUL character, which no database column can hold.
fn nul_in(value: &Value, at: String) -> Option<String> {
    let named = |at: String| if at.is_empty() { WHOLE.to_owned() } else { at };
    match value {
        Value::String(text) => text.contains('\0').then(|| named(at)),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| nul_in(item, format!("{at}[{index}]")))
        }
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            if name.contains('\0') {
                return Some(named(at.clone()));
            }
            nul_in(value, if at.is_empty() { name.clone() } else { format!("{at}.{name}") })
        }),
        _ => None,
    }
}

/// Refuses a call of the API with a NUL character in its path or query: no id and no name has one.
pub(super) async fn no_nul(request: Request, next: Next) -> Result<Response, Problem> {
    let has_nul = |part: &str| part.contains("%00");
    let part = match request.uri() {
        uri if !uri.path().starts_with("/v1/") => return Ok(next.run(request).await),
        uri if has_nul(uri.path()) => "path",
        uri if uri.query().is_some_and(has_nul) => "query",
        _ => return Ok(next.run(request).await),
    };
    Err(Invalid::new(part, "contains a NUL character; no id and no name has one").into())
}

/// Reads a body of at most `max` bytes.
pub(super) async fn take(
    body: Body,
    max: usize,
    headers: &HeaderMap,
    bodies: &Bodies,
) -> Result<(Bytes, Part), Problem> {
    let too_large = || {
        let detail = format!("the body is larger than {} MB; nothing of it was used", max / 1024 / 1024);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    };
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    // A client that asks first has not sent yet: it is told before it does.
    if announced.is_some_and(|length| length > max) && headers.contains_key(header::EXPECT) {
        return Err(too_large());
    }
    let broken = |error: axum::Error| Problem::bad_request(format!("the body could not be read: {error}"));
    let (mut coming, mut part) = (bodies.coming(), Part::default());
    let mut stream = body.into_data_stream();
    let (mut bytes, mut length) = (Vec::new(), 0);
    let mut refused = None;
    loop {
        let chunk = match coming.wait(stream.next()).await {
            Ok(chunk) => chunk.transpose().map_err(broken)?,
            Err(problem) => return Err(refused.unwrap_or(problem)),
        };
        let Some(chunk) = chunk else { break };
        coming.came(chunk.len());
        length += chunk.len();
        if refused.is_none() {
            refused = match length > max {
                true => Some(too_large()),
                false => bodies.grow(&mut part, length).await.err(),
            };
            if refused.is_some() {
                coming.refuse();
                (bytes, part) = (Vec::new(), Part::default());
            } else if announced == Some(chunk.len()) {
                return Ok((chunk, part));
            } else {
                bytes.extend_from_slice(&chunk);
            }
        } else if length > DRAIN_BYTES_MAX {
            break;
        }
    }
    match refused {
        Some(problem) => Err(problem),
        None => Ok((bytes.into(), part)),
    }
}

fn must_be_json(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let kind = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind == "application/json" || kind == "application/merge-patch+json" {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "wrong_content_type",
        format!("the body is `{kind}`; send JSON with `Content-Type: application/json`"),
    ))
}

/// The part of a path for which the route has a name, such as `{id}`.
pub(super) struct InPath<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(error) => Err(Problem::bad_request(format!("the path cannot be read: {error}"))),
        }
    }
}

/// The query's parameters.
pub(super) struct Params(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        match query {
            Ok(axum::extract::Query(pairs)) => Ok(Self(pairs)),
            Err(error) => Err(Problem::bad_request(format!("the query cannot be read: {error}"))),
        }
    }
}

impl Params {
    /// Refuses parameters that are not `known`.
    pub(super) fn only(self, known: &[&str]) -> Result<Self, Problem> {
        self.must_be_known(known)?;
        Ok(self)
    }

    /// Refuses parameters that are not `known`.
    pub(super) fn must_be_known(&self, known: &[&str]) -> Result<(), Problem> {
        match self.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let hint = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if known.is_empty() => "none is".to_owned(),
                    None => format!("known are {}", known.join(", ")),
                };
                Err(Problem::bad_request(format!("the query parameter `{name}` is not known; {hint}")).at_field(name))
            }
        }
    }

    /// The last value of `name`; one that is empty counts as not given.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().rev().find(|(key, _)| key == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Whether `name` is there, with a value or without.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// The value of `name`, which is one number or word: it is neither empty nor there twice.
    pub(super) fn one(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut given = self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        match (given.next(), given.next()) {
            (None, _) => Ok(None),
            (Some(""), None) => Err(Problem::bad_request(format!("{name}: is empty; leave it out")).at_field(name)),
            (Some(value), None) => Ok(Some(value)),
            (Some(_), Some(_)) => {
                Err(Problem::bad_request(format!("{name}: is there twice; give it once")).at_field(name))
            }
        }
    }

    /// Whether `name` is true; it is not where nobody says.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.one(name)? {
            Some("true" | "1") => Ok(true),
            None | Some("false" | "0") => Ok(false),
            Some(other) => {
                Err(Problem::bad_request(format!("{name}: `{other}` is neither true nor false")).at_field(name))
            }
        }
    }

    /// Whether the newest is wanted first (`order`).
    pub(super) fn is_newest_first(&self) -> Result<bool, Problem> {
        match self.get("order") {
            None | Some("oldest") => Ok(false),
            Some("newest") => Ok(true),
            Some(other) => {
                let detail = format!("order: `{other}` is not one of oldest, newest");
                Err(Problem::bad_request(detail).at_field("order"))
            }
        }
    }

    /// How many to list.
    pub(super) fn limit(&self) -> Result<usize, Problem> {
        let Some(text) = self.one("limit")? else { return Ok(50) };
        match text.parse::<usize>() {
            Ok(limit @ 1..=500) => Ok(limit),
            _ => Err(Problem::bad_request(format!("limit: `{text}` is not a number from 1 to 500")).at_field("limit")),
        }
    }

    /// The cursor, read by `parse`.
    pub(super) fn cursor<T>(&self, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Problem> {
        let Some(text) = self.get("cursor") else { return Ok(None) };
        match parse(text) {
            Some(cursor) => Ok(Some(cursor)),
            None => Err(Problem::bad_request("cursor: use the next_cursor of the page before").at_field("cursor")),
        }
    }
}
