//! The assistants' door over HTTP (`/mcp`): who asks, from where, and in which session. What is asked is answered in [`crate::mcp`].
//!
//! Every request shows its key. Clients of revision 2026-07-28 have no sessions. Those of earlier revisions have one, so that they can be asked
//! back; it belongs to the key that began it.

/// The door in the description of the API.
mod described;

/// Sessions, and whose they are.
mod sessions;

use std::sync::{Arc, Once};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use punctual_client as client;
use punctual_client::{Client, Failure, Transport};
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, Extensions, ProtocolVersion};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::json;
use tower_http::catch_panic::CatchPanicLayer;

pub(super) use self::described::described;
use self::sessions::Sessions;
use super::App;
use super::auth::Caller;
use super::conditions::unconditional;
use super::input::{SINGLE_BYTES_MAX, take};
use super::inside::{Call, Door, Inside};
use super::problem::Problem;
use super::{panicked, wrong_method};
use crate::connections::Connection;
use crate::mcp::{self, Acting, Server};

/// The most of a plain refusal that is passed on.
const REFUSAL_BYTES_MAX: usize = 4096;
/// A session ends when nothing was asked in it for so long. Its client begins another.
const IDLE_MAX: Duration = Duration::from_secs(60 * 60);
const SESSION_ID: &str = "mcp-session-id";

/// What answers at `/mcp`.
struct Mcp {
    app: Arc<App>,
    service: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Sessions,
    /// The end of the server is noticed from the first request on.
    watched: Once,
}

/// The route, which is not one of the API's: calls from inside do not find it.
pub(super) fn routes(app: &Arc<App>, inside: &Inside) -> Router {
    let mut manager = LocalSessionManager::default();
    manager.session_config.keep_alive = Some(IDLE_MAX);
    let manager = Arc::new(manager);
    let server = Server::new(Within(inside.clone()), Arc::clone(app.engine.clock()));
    let config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(SINGLE_BYTES_MAX)
        // They are looked at here.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let service = StreamableHttpService::new(move || Ok(server.clone()), Arc::clone(&manager), config);
    let mcp = Mcp { app: Arc::clone(app), service, sessions: Sessions::new(manager), watched: Once::new() };
    // There is nothing that the server would say unasked, so there is nothing to GET.
    let methods = post(serve).delete(serve).fallback(wrong_method);
    let methods = methods.layer(from_fn(unconditional));
    Router::new().route("/mcp", methods).layer(CatchPanicLayer::custom(panicked)).with_state(Arc::new(mcp))
}

async fn serve(State(mcp): State<Arc<Mcp>>, request: Request) -> Response {
    match mcp.answer(request).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

impl Mcp {
    async fn answer(&self, request: Request) -> Result<Response, Problem> {
        let (mut parts, body) = request.into_parts();
        self.app.check_origin(&parts.headers)?;
        let caller = Caller::of(&parts.headers, &self.app).await?;
        if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
            connection.authenticated();
        }
        caller.count(&mut parts, &self.app)?;
        // Its body has a time and a place like every other.
        let (body, _part) = take(body, SINGLE_BYTES_MAX, &parts.headers, &self.app.bodies).await?;
        let request = Request::from_parts(parts, Body::from(body.clone()));
        self.watch();
        let session = match request.headers().get(SESSION_ID) {
            Some(id) => Some(self.sessions.used(id.to_str().unwrap_or_default(), &caller.id)?),
            None => None,
        };
        if session.is_none() && may_begin_session(request.headers()) {
            self.sessions.make_room(&caller.id).await?;
        }
        let is_end = *request.method() == Method::DELETE;
        let is_json = is_json(request.headers());
        let mut response = self.service.handle(request).await.map(Body::new);
        if is_end && response.status() == StatusCode::ACCEPTED {
            // It has ended, and some clients take "accepted" for a failure.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if is_plain_refusal(&response) {
            return match response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_json {
                true => Ok(not_a_message(&body)),
                false => Err(explained(response).await),
            };
        }
        match (session, response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok())) {
            (None, Some(id)) => self.sessions.began(id, &caller.id),
            (Some(id), _) if is_end => self.sessions.ended(&id),
            _ => {}
        }
        Ok(response)
    }

    /// Ends what is open when the server stops.
    fn watch(&self) {
        self.watched.call_once(|| {
            let (mut stopping, token) = (self.app.streams.stopping(), self.service.config.cancellation_token.clone());
            tokio::spawn(async move {
                // A server that is gone has stopped.
                let _ = stopping.wait_for(|stops| *stops).await;
                token.cancel();
            });
        });
    }
}

/// Whether a request without a session may begin one: those of later revisions never do.
fn may_begin_session(headers: &HeaderMap) -> bool {
    // Revisions are dates, and compare like them.
    let revision = headers.get("mcp-protocol-version").and_then(|revision| revision.to_str().ok());
    revision.is_none_or(|revision| revision < ProtocolVersion::V_2026_07_28.as_str())
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}

/// Whether the protocol's library refuses a request before it is a message, in words of its own.
fn is_plain_refusal(response: &Response) -> bool {
    response.status().as_u16() >= 400 && !is_json(response.headers())
}

/// The answer to a body of JSON's type that is no message, as JSON-RPC has it.
fn not_a_message(body: &[u8]) -> Response {
    let (code, message) = match serde_json::from_slice::<IgnoredAny>(body) {
        Err(error) => (ErrorCode::PARSE_ERROR, format!("the body is not JSON: {error}")),
        Ok(_) => {
            let right = "send one request, notification or answer of JSON-RPC 2.0; there are no batches";
            (ErrorCode::INVALID_REQUEST, format!("the body is no message: {right}"))
        }
    };
    // Which request it was cannot be told.
    let answer = json!({ "jsonrpc": "2.0", "id": null, "error": ErrorData::new(code, message, None) });
    (StatusCode::BAD_REQUEST, Json(answer)).into_response()
}

/// The same refusal as every other door says it.
async fn explained(response: Response) -> Problem {
    let status = response.status();
    let words = to_bytes(response.into_body(), REFUSAL_BYTES_MAX).await.unwrap_or_default();
    let words = String::from_utf8_lossy(&words).into_owned();
    let (status, code) = match status {
        StatusCode::NOT_FOUND => (status, "not_found"),
        StatusCode::NOT_ACCEPTABLE => (status, "not_acceptable"),
        StatusCode::PAYLOAD_TOO_LARGE => (status, "too_large"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (status, "wrong_content_type"),
        StatusCode::UNPROCESSABLE_ENTITY => (status, "invalid"),
        status if status.is_client_error() => (StatusCode::BAD_REQUEST, "bad_request"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    };
    Problem::new(status, code, words)
}

/// A request acts with the key that it shows.
struct Within(Inside);

impl mcp::Door for Within {
    fn acting(&self, extensions: &Extensions) -> Result<Acting, ErrorData> {
        let parts = extensions.get::<Parts>();
        let key = parts.and_then(|parts| parts.headers.get(header::AUTHORIZATION)).cloned();
        let key = key.ok_or_else(|| ErrorData::invalid_request("the request shows no key", None))?;
        Ok(Acting { client: Client::over(WithKey { inside: self.0.clone(), key }), user: None })
    }
}

/// The API within this process, asked with a key.
struct WithKey {
    inside: Inside,
    key: HeaderValue,
}

#[async_trait]
impl Transport for WithKey {
    fn name(&self) -> &str {
        "this server"
    }

    async fn ask(&self, request: client::Request) -> Result<client::Response, Failure> {
        let (parts, body) = request.into_parts();
        let mut headers = parts.headers;
        headers.insert(header::AUTHORIZATION, self.key.clone());
        let call = Call {
            door: Door::Mcp,
            method: parts.method,
            path_and_query: &parts.uri.to_string(),
            headers,
            body: (!body.is_empty()).then_some(body),
            session: None,
        };
        let answered = self.inside.call(call).await;
        let mut response = client::Response::new(client::Body::whole(answered.body));
        (*response.status_mut(), *response.headers_mut()) = (answered.status, answered.headers);
        Ok(response)
    }
}
