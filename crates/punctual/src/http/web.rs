//! The page's way into the API: every call of a page goes through the routes, in the session of its browser.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use punctual_client as client;
use punctual_client::{Client, Failure, Transport};
use punctual_web::{House, NoEntry, Proof};
use tower_http::catch_panic::CatchPanicLayer;

use super::auth::Caller;
use super::inside::{Call, Door, Inside, SessionToken};
use super::problem::Problem;
use super::sessions::{LASTS, Shown};
use super::{App, panicked};
use crate::connections::Connection;

/// The parts that the pages need; `None` where no key could sign in to them.
pub(super) fn house(app: &Arc<App>, inside: &Inside) -> Option<Arc<dyn House>> {
    let links = app.links.as_ref().filter(|_| app.sessions.is_some())?;
    let own: Option<Uri> = links.base().parse().ok();
    let is_secure = own.as_ref().is_some_and(|own| own.scheme_str() == Some("https"));
    // Cookies are kept by host and not by port, and several servers may run on one machine.
    let port = own.as_ref().and_then(Uri::port_u16);
    let cookie = match (is_secure, port) {
        (true, None) => "__Host-punctual".to_owned(),
        (true, Some(port)) => format!("__Host-punctual-{port}"),
        (false, port) => format!("punctual-{}", port.unwrap_or(80)),
    };
    Some(Arc::new(Within { app: Arc::clone(app), inside: inside.clone(), cookie, is_secure }))
}

/// The pages.
pub(super) fn routes(house: Arc<dyn House>) -> Router {
    punctual_web::router(house).layer(CatchPanicLayer::custom(panicked))
}

/// Shows a page to somebody who mistyped an address in a browser. A program is answered as ever, and so is everybody who asks the API.
pub(super) async fn missing(State(house): State<Arc<dyn House>>, request: Request, next: Next) -> Response {
    let is_for_a_person =
        request.method() == Method::GET && !request.uri().path().starts_with("/v1") && prefers_html(request.headers());
    let headers = is_for_a_person.then(|| request.headers().clone());
    let response = next.run(request).await;
    let is_problem =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/problem+json");
    match headers.filter(|_| response.status() == StatusCode::NOT_FOUND && is_problem) {
        Some(headers) => punctual_web::missing(&*house, &headers).await,
        None => response,
    }
}

/// Whether pages are named before anything else that is named.
fn prefers_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    accepted.trim_start().to_ascii_lowercase().starts_with("text/html")
}

/// The server in this process.
struct Within {
    app: Arc<App>,
    inside: Inside,
    cookie: String,
    is_secure: bool,
}

#[async_trait]
impl House for Within {
    fn now(&self) -> Timestamp {
        self.app.now()
    }

    fn cookie(&self) -> &str {
        &self.cookie
    }

    fn is_secure(&self) -> bool {
        self.is_secure
    }

    fn client(&self, session: &str) -> Client {
        Client::over(InSession { inside: self.inside.clone(), session: SessionToken(session.into()) })
    }

    fn peer(&self, request: &axum::http::Extensions) -> Option<IpAddr> {
        request.get::<Arc<Connection>>()?.peer()
    }

    async fn begin(&self, proof: Proof<'_>, from: Option<IpAddr>) -> Result<punctual_web::Begun, NoEntry> {
        let shown = match proof {
            Proof::Key(key) => Shown::Key(key),
            Proof::Link(link) => Shown::Link(link),
        };
        let session = self.app.sign_in(shown, from).await.map_err(no_entry)?;
        // The first counts of a large database take a while, and whoever has signed in may look at them next.
        self.app.stats.begin(&self.app);
        Ok(punctual_web::Begun { session, lasts: LASTS })
    }

    async fn end(&self, session: &str, everywhere: bool) -> Result<(), NoEntry> {
        let caller = Caller::in_session(session, &self.app).await.map_err(no_entry)?;
        self.app.sign_out(&caller, everywhere).await.map_err(no_entry)
    }

    async fn turn(&self) {
        self.app.streams.turns.wait(&**self.app.engine.clock()).await;
    }

    async fn stream(&self, session: &str, query: &str, request: Request) -> Response {
        let (parts, _) = request.into_parts();
        let Ok(uri) = Uri::try_from(format!("/v1/stream?{query}")) else {
            return Problem::bad_request("the query cannot be read").into_response();
        };
        let mut inner = Request::new(Body::empty());
        *inner.uri_mut() = uri;
        if let Some(id) = parts.headers.get("last-event-id") {
            inner.headers_mut().insert("last-event-id", id.clone());
        }
        // A reader that takes nothing is noticed by what carries it.
        if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
            connection.authenticated();
            inner.extensions_mut().insert(Arc::clone(connection));
        }
        inner.extensions_mut().insert(Door::Web);
        inner.extensions_mut().insert(SessionToken(session.into()));
        self.inside.respond(inner).await
    }
}

fn no_entry(problem: Problem) -> NoEntry {
    match StatusCode::from_u16(problem.document().status) {
        Ok(StatusCode::UNAUTHORIZED) => NoEntry::Wrong,
        Ok(StatusCode::TOO_MANY_REQUESTS) => NoEntry::TooMany { seconds: problem.retry_after_seconds().unwrap_or(60) },
        _ => NoEntry::Unavailable,
    }
}

/// The API within this process, asked in a session.
struct InSession {
    inside: Inside,
    session: SessionToken,
}

#[async_trait]
impl Transport for InSession {
    fn name(&self) -> &str {
        "this server"
    }

    async fn ask(&self, request: client::Request) -> Result<client::Response, Failure> {
        let (parts, body) = request.into_parts();
        let mut headers = parts.headers;
        headers.remove(header::AUTHORIZATION);
        let call = Call {
            door: Door::Web,
            method: parts.method,
            path_and_query: &parts.uri.to_string(),
            headers,
            body: (!body.is_empty()).then_some(body),
            session: Some(self.session.clone()),
        };
        let answered = self.inside.call(call).await;
        let mut response = client::Response::new(client::Body::whole(answered.body));
        (*response.status_mut(), *response.headers_mut()) = (answered.status, answered.headers);
        Ok(response)
    }
}
