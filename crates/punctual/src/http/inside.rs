//! Calling the API from inside the process.
//!
//! The WebSocket and the assistants' door ask for the same things as a request over HTTP. They send their calls through the same routes, so
//! keys, limits, idempotency, problems and the journal are the same behind every door. No socket is in between.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::problem::Problem;

/// The largest answer that a call from inside gets. Pages end far below it; a batch of 10,000 may come near.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Through which door a request has come, as the journal and `created_via` say it.
///
/// It is kept in the request's extensions. What a client sends never gets there, so no client can say that it came through another door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Door {
    /// HTTP.
    #[default]
    Api,
    /// The WebSocket.
    Ws,
    /// The assistants' door.
    Mcp,
    /// The page.
    Web,
}

impl Door {
    /// The door's word.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Ws => "ws",
            Self::Mcp => "mcp",
            Self::Web => "web",
        }
    }
}

/// The routes of the API, for calls from inside.
#[derive(Clone)]
pub(super) struct Inside(Router);

/// One call.
pub(super) struct Call<'a> {
    pub(super) door: Door,
    pub(super) method: Method,
    /// The path with the query, each part of it percent-encoded.
    pub(super) path_and_query: &'a str,
    /// The headers that say who calls (`Authorization`), and others that the route reads, such as `Idempotency-Key`.
    pub(super) headers: HeaderMap,
    /// The body, in JSON.
    pub(super) body: Option<Bytes>,
    /// The session of the page that it belongs to, in place of a key.
    pub(super) session: Option<SessionToken>,
}

/// The proof that a browser has signed in, as its cookie has it. A request over the network never has one: it shows its key.
#[derive(Clone)]
pub(super) struct SessionToken(pub(super) Arc<str>);

/// The answer to a call.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Inside {
    /// Calls go to `router`, which has every route but those that call from inside.
    pub(super) fn new(router: Router) -> Self {
        Self(router)
    }

    /// What a request with the same headers and body would be answered over HTTP. Every refusal is an answer: a problem document.
    pub(super) async fn call(&self, call: Call<'_>) -> Reply {
        let response = match request(call) {
            Ok(request) => self.respond(request).await,
            Err(problem) => problem.into_response(),
        };
        whole(response).await
    }

    /// The answer as it comes, also one without an end.
    pub(super) async fn respond(&self, request: Request<Body>) -> Response {
        let Ok(response) = TowerToHyperService::new(self.0.clone()).call(request).await;
        response
    }
}

fn request(call: Call<'_>) -> Result<Request<Body>, Problem> {
    let Call { door, method, path_and_query, mut headers, body, session } = call;
    let uri: Uri = path_and_query.parse().map_err(|_| Problem::bad_request("the path or the query cannot be read"))?;
    if let Some(body) = &body {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_LENGTH, body.len().into());
    }
    let mut request = Request::new(body.map_or_else(Body::empty, Body::from));
    (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (method, uri, headers);
    request.extensions_mut().insert(door);
    session.and_then(|session| request.extensions_mut().insert(session));
    Ok(request)
}

/// Reads an answer to its end, which it must have.
async fn whole(response: Response) -> Reply {
    let (parts, body) = response.into_parts();
    let is_endless = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    let refused = |detail: &str| {
        let problem = Problem::new(StatusCode::NOT_IMPLEMENTED, "not_here", detail).into_response();
        let (parts, body) = problem.into_parts();
        (parts.status, parts.headers, body)
    };
    let (status, headers, body) = match is_endless {
        true => refused("this answer has no end; ask for it over HTTP"),
        false => (parts.status, parts.headers, body),
    };
    match to_bytes(body, ANSWER_BYTES_MAX).await {
        Ok(body) => Reply { status, headers, body },
        Err(_) => {
            let (status, headers, body) = refused("the answer is too large; ask for less, or over HTTP");
            // A problem is a short text that is there already.
            Reply { status, headers, body: to_bytes(body, usize::MAX).await.unwrap_or_default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::Extension;
    use axum::routing::{get, post};

    use super::*;

    fn call<'a>(method: Method, path_and_query: &'a str, body: Option<&'static str>) -> Call<'a> {
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static("Bearer k"))]);
        Call {
            door: Door::Ws,
            method,
            path_and_query,
            headers,
            body: body.map(|body| Bytes::from_static(body.as_bytes())),
            session: None,
        }
    }

    #[tokio::test]
    async fn a_call_reaches_its_route_with_its_key_its_body_and_its_door() {
        let echo = |Extension(door): Extension<Door>, headers: HeaderMap, uri: Uri, body: String| async move {
            let key = headers[header::AUTHORIZATION].to_str().unwrap().to_owned();
            let kind = headers[header::CONTENT_TYPE].to_str().unwrap().to_owned();
            (StatusCode::CREATED, format!("{} {key} {kind} {uri} {body}", door.word()))
        };
        let inside = Inside::new(Router::new().route("/v1/{id}", post(echo)));
        let answered = inside.call(call(Method::POST, "/v1/a%2Fb?x=1", Some("{}"))).await;
        assert_eq!(answered.status, StatusCode::CREATED);
        assert_eq!(answered.body, "ws Bearer k application/json /v1/a%2Fb?x=1 {}");
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_or_has_no_end_becomes_a_problem() {
        let endless = || async {
            let never = futures_util::stream::pending::<Result<Bytes, std::convert::Infallible>>();
            ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(never))
        };
        let large = || async { vec![b' '; ANSWER_BYTES_MAX + 1] };
        let inside = Inside::new(Router::new().route("/endless", get(endless)).route("/large", get(large)));
        for path in ["/endless", "/large", "not a path"] {
            let answered = inside.call(call(Method::GET, path, None)).await;
            let problem: serde_json::Value = serde_json::from_slice(&answered.body).unwrap();
            assert_eq!(problem["status"], answered.status.as_u16(), "{path}: {problem}");
            assert!(!answered.status.is_success(), "{path}");
        }
    }
}
