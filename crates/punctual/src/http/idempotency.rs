//! The same request answered the same: a layer around every POST.
//!
//! A request with an `Idempotency-Key` is looked up first. What changes reminders keeps its answer in the transaction of the change,
//! so there is no instant at which one exists without the other. Everything else is written down as begun before it is done
//! and as answered after: if the process dies in between, a repeat is told that nobody knows, and does nothing. The key is kept
//! with the caller's id: two callers who choose the same key do not meet.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use punctual_core::id::hex;
use punctual_core::store::{Answer, Answered, ReminderView, Repeat, StoreError};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tracing::Instrument;

use super::App;
use super::auth::{Anyone, hash};
use super::conditions::located;
use super::input::{BATCH_BYTES_MAX, SINGLE_BYTES_MAX, Taken, take};
use super::problem::Problem;
use super::shown;

/// Routes whose handlers keep the answer in the transaction of what they do.
const IN_ONE_TRANSACTION: [&str; 4] =
    ["/v1/reminders", "/v1/reminders/batch", "/v1/reminders/{id}/{verb}", "/v1/events/batch"];
/// Routes with large bodies.
const LARGE: [&str; 5] =
    ["/v1/reminders/batch", "/v1/import", "/v1/import/calendar", "/v1/import/lines", "/v1/events/batch"];
/// The route that needs no key of the API: the link is the proof.
const LINK: &str = "/a/{token}";
/// The route of the platforms, which have no key of the API either, and may send a header of this name for reasons of their own.
pub(super) const PLATFORMS: &str = "/v1/inbound/{channel}";
/// The largest answer that is kept; a larger one is given and forgotten.
const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A request that may come again.
#[derive(Clone)]
pub(super) struct Repeatable {
    key: String,
    request: [u8; 32],
}

/// The request's `Idempotency-Key`, if it has one.
pub(super) struct Repeated(pub(super) Option<Repeatable>);

/// Put on a response that must not be kept: the answer to the request when it comes again.
#[derive(Clone)]
pub(super) struct Instead(pub(super) Answer);

impl<S: Send + Sync> FromRequestParts<S> for Repeated {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.extensions.remove()))
    }
}

/// Answers a POST that was answered before as it was; does every other, once.
pub(super) async fn layer(State(app): State<Arc<App>>, request: Request, next: Next) -> Result<Response, Problem> {
    let is_platforms = request.extensions().get::<MatchedPath>().is_some_and(|path| path.as_str() == PLATFORMS);
    let is_post = request.method() == Method::POST && !is_platforms;
    if !is_post {
        return Ok(next.run(request).await);
    }
    let Some(key) = key_of(request.headers())? else { return Ok(next.run(request).await) };
    let (mut parts, body) = request.into_parts();
    let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
    let is_link = path == LINK;
    if is_link && !is_ours(&app, parts.uri.path()) {
        // A link that no server of ours has made: the body is not read, and nothing is written.
        return Ok(next.run(Request::from_parts(parts, body)).await);
    }
    let caller = match is_link {
        true => format!("link {}", hex(&hash(parts.uri.path())[..8])),
        false => Anyone::from_request_parts(&mut parts, &app).await?.0.id.to_string(),
    };
    let max = if LARGE.contains(&path.as_str()) { BATCH_BYTES_MAX } else { SINGLE_BYTES_MAX };
    let (body, part) = take(body, max, &parts.headers, &app.bodies).await?;
    let repeatable = Repeatable { key: format!("{caller}:{key}"), request: digest(&parts, &body) };
    parts.extensions.insert(Taken::new(body, part));
    if let Some(response) = repeatable.answered(&app, &path).await? {
        return Ok(response);
    }
    if IN_ONE_TRANSACTION.contains(&path.as_str()) {
        parts.extensions.insert(repeatable.clone());
        let response = next.run(Request::from_parts(parts, Body::empty())).await;
        // The same request may have been faster on another connection, and have changed what this one found.
        if response.status() == StatusCode::CONFLICT
            && let Some(answered) = repeatable.answered(&app, &path).await?
        {
            return Ok(answered);
        }
        return Ok(response);
    }
    match app.engine.store().begin_answer(&repeatable.key, repeatable.request, app.now()).await {
        Ok(()) => {}
        Err(StoreError::KeyUsed) => {
            // Forgotten in between: it was refused, and the caller may try again.
            return Ok(repeatable.answered(&app, &path).await?.unwrap_or_else(|| in_progress().into_response()));
        }
        Err(error) => return Err(error.into()),
    }
    // A caller that goes away must not leave it begun and not answered.
    let work = async move {
        let response = next.run(Request::from_parts(parts, Body::empty())).await;
        repeatable.finish(&app, response).await
    };
    let work = tokio::spawn(work.in_current_span());
    match work.await {
        Ok(response) => Ok(response),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Problem::internal("the server is stopping; whether this was done is not known")),
        },
    }
}

/// Whether a path holds a link that this server or one beside it has made.
fn is_ours(app: &App, path: &str) -> bool {
    let token = path.rsplit('/').next().unwrap_or_default();
    app.links.as_ref().is_some_and(|links| links.read(token).is_some())
}

fn key_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str().ok().map(str::trim).filter(|key| (1..=255).contains(&key.len())) {
        Some(key) => Ok(Some(key.to_owned())),
        None => Err(Problem::bad_request("the Idempotency-Key must be 1 to 255 visible ASCII characters")),
    }
}

/// The fingerprint of a request: of its path and its body.
fn digest(parts: &Parts, body: &[u8]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(parts.uri.path_and_query().map_or("", |whole| whole.as_str()).as_bytes());
    digest.update([0]);
    digest.update(body);
    digest.finalize().into()
}

fn in_progress() -> Problem {
    Problem::conflict(
        "in_progress",
        "a request with this Idempotency-Key has begun and has not been answered; wait for it. If it was cut off, nobody knows \
         whether it was done: look, and then use a new key",
    )
}

impl Repeatable {
    /// The answer this request has had already, if it has.
    async fn answered(&self, app: &App, path: &str) -> Result<Option<Response>, Problem> {
        let Some(answered) = app.engine.store().answered(&self.key).await? else { return Ok(None) };
        if answered.request != self.request {
            return Err(Problem::conflict(
                "key_reused",
                "this Idempotency-Key was used for a different request; use a new key for each",
            ));
        }
        let Some(answer) = answered.answer else { return Err(in_progress()) };
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        let place = (status == StatusCode::CREATED).then(|| place_of(path, &answer.body)).flatten();
        let mut response = shown::answer_bytes(status, answer.body.into_bytes());
        if let Some(place) = place {
            response = located(response, &place);
        }
        let headers = response.headers_mut();
        if status.is_client_error() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        }
        headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
        Ok(Some(response))
    }

    /// Keeps what was answered. A refused request has changed nothing, and does not use up its key.
    async fn finish(&self, app: &App, response: Response) -> Response {
        let (mut parts, body) = response.into_parts();
        let Ok(body) = to_bytes(body, usize::MAX).await else {
            return Problem::internal("the answer could not be put together").into_response();
        };
        let instead: Option<Instead> = parts.extensions.remove();
        let answer = instead.map(|instead| instead.0).or_else(|| kept(&parts, &body));
        if let Err(error) = app.engine.store().finish_answer(&self.key, answer).await {
            tracing::warn!(%error, "an answer was not kept; the same request will be told that it is not known");
        }
        Response::from_parts(parts, Body::from(body))
    }

    /// The answer to keep with reminders that are created.
    pub(super) fn with(&self, status: StatusCode, body: &str) -> (String, Answered) {
        let answer = Some(Answer { status: status.as_u16(), body: body.to_owned() });
        (self.key.clone(), Answered { request: self.request, answer })
    }

    /// The answer to keep with a reminder that is changed.
    pub(super) fn of_change(self, show: impl Fn(&ReminderView) -> String + Send + Sync + 'static) -> Repeat {
        let answer = move |view: &ReminderView| Answer { status: StatusCode::OK.as_u16(), body: show(view) };
        Repeat { key: self.key, request: self.request, answer: Arc::new(answer) }
    }
}

/// Where the thing is that an answer shows, of those that POST to `path` makes.
fn place_of(path: &str, answer: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Made {
        id: String,
    }
    let made: Made = serde_json::from_str(answer).ok()?;
    Some(format!("{path}/{}", made.id))
}

/// The answer, if it is one that can be given again.
fn kept(parts: &axum::http::response::Parts, body: &Bytes) -> Option<Answer> {
    let is_json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if !parts.status.is_success() || !is_json || body.len() > KEPT_BYTES_MAX {
        return None;
    }
    let body = String::from_utf8(body.to_vec()).ok()?;
    Some(Answer { status: parts.status.as_u16(), body })
}
