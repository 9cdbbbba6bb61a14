//! The WebSocket: JSON-RPC 2.0 over one connection, in both directions.
//!
//! ```text
//! opening ─ key ─▶ session ─ message ─▶ calls ─ a method's route ─▶ Inside ─▶ answer
//!                     ▲ pages of the journal, for subscriptions
//! ```
//!
//! A method calls the route that does the same over HTTP, so it takes, checks, refuses and answers the same.

/// The opening.
mod handshake;

/// One connection, from its opening to its end.
mod session;

/// Whether a client still lives.
mod heard;

/// The frames of one connection.
mod wire;

/// Memory for messages that come in.
mod meter;

/// What one message asks for, done.
mod calls;

/// JSON-RPC 2.0.
mod rpc;

/// The methods, each with its route.
mod methods;

/// The journal live.
mod journal;

/// Why the server ends a connection, and waiting for it.
mod ends;

/// Noticing that keys change.
mod keys;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use hyper::upgrade::OnUpgrade;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use punctual_core::clock::Clock;

use self::calls::Calls;
use self::ends::Ends;
use self::journal::Subscriptions;
use self::keys::Keys;
use self::session::Session;
use super::App;
use super::auth::Caller;
use super::bodies::Bodies;
use super::input::{Params, SINGLE_BYTES_MAX};
use super::inside::Inside;
use super::problem::Problem;
use crate::connections::Connection;

/// The longest message. A connection with a longer one is closed.
const MESSAGE_BYTES_MAX: usize = SINGLE_BYTES_MAX;

/// What all WebSockets share.
pub(super) struct Sockets {
    n_open: Gauge,
    n_subscriptions: Gauge,
    ended: Family<EndLabel, Counter>,
    /// Memory for messages.
    bodies: Bodies,
    keys: Keys,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabel {
    reason: &'static str,
}

impl Sockets {
    pub(super) fn new(clock: Arc<dyn Clock>, registry: &mut Registry) -> Self {
        let this = Self {
            n_open: Gauge::default(),
            n_subscriptions: Gauge::default(),
            ended: Family::default(),
            bodies: Bodies::of_messages(clock),
            keys: Keys::new(),
        };
        registry.register("punctual_websockets", "Open WebSockets", this.n_open.clone());
        let help = "Subscriptions to the journal over WebSockets";
        registry.register("punctual_websocket_subscriptions", help, this.n_subscriptions.clone());
        registry.register("punctual_websockets_ended", "WebSockets that ended, by reason", this.ended.clone());
        this
    }
}

/// Opens a WebSocket that speaks JSON-RPC 2.0.
///
/// Each text frame is a request, a notification or a batch of at most 100. `cron.add` takes a reminder, or `user` and `text`, and answers the
/// reminder; `cron.list` takes the filters of `GET /v1/reminders`; `cron.remove` takes `id` and answers `{"removed":true}`. The same is there under
/// `reminders.`, with `batch`, `get`, `update`, `ack`, `snooze`, `dismiss`, `pause`, `resume`, `skip`, `fire`, `undo`, `resend` and `occurrences`; also
/// `occurrences.get`, `events.put`, `.batch`, `.list`, `.get`, `.remove`, `.put_instance` and `.remove_instance`, `inbound`, `parse` and `journal.list`. A
/// method takes, refuses and answers what its route does; an error has the problem document in `data`. `journal.subscribe` takes the
/// parameters of `GET /v1/stream` and answers `{"subscription","after"}`; then each entry is a notification `journal.entry` with the entry and
/// its `subscription`, until `journal.unsubscribe`. The close frame says why the server ends a connection.
#[utoipa::path(
    get, path = "/v1/ws", operation_id = "open_websocket", tag = "server",
    responses((status = 101, description = "From here on both sides speak WebSocket")),
)]
pub(super) async fn open(
    State(app): State<Arc<App>>,
    inside: Option<Extension<Inside>>,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    handshake::take_key(&mut parts.headers);
    let caller = Caller::from_request_parts(&mut parts, &app).await?;
    Params::from_request_parts(&mut parts, &app).await?.only(&[])?;
    app.check_origin(&parts.headers)?;
    let response = handshake::accept(&parts.headers)?;
    let connection = parts.extensions.remove::<Arc<Connection>>();
    // hyper offers it where the connection can go on without HTTP. We take the connection ourselves.
    let offered = parts.extensions.remove::<OnUpgrade>();
    let (Some(Extension(inside)), Some(connection), Some(_)) = (inside, connection, offered) else {
        let detail = "this connection cannot become a WebSocket; connect with HTTP/1.1";
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "not_here", detail));
    };
    let key = parts.headers.remove(header::AUTHORIZATION);
    let headers: HeaderMap = key.map(|key| (header::AUTHORIZATION, key)).into_iter().collect();
    let subscriptions = Subscriptions::new(app.sockets.n_subscriptions.clone());
    let session = Session {
        ends: Ends::new(Arc::clone(&app), headers.clone(), caller.clone(), Arc::clone(&connection)),
        open: Open::new(Arc::clone(&app), Arc::clone(&connection), &caller),
        calls: Arc::new(Calls { app, inside, headers, subscriptions }),
    };
    connection.then(Box::new(|stream| Box::pin(session.run(stream))));
    Ok(response)
}

/// Counts a WebSocket for as long as it is open.
struct Open {
    app: Arc<App>,
    connection: Arc<Connection>,
    /// The id of the key that opened it.
    key: Arc<str>,
    ended: Option<&'static str>,
}

impl Open {
    fn new(app: Arc<App>, connection: Arc<Connection>, caller: &Caller) -> Self {
        app.sockets.n_open.inc();
        Self { app, connection, key: caller.id.clone(), ended: None }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let sockets = &self.app.sockets;
        sockets.n_open.dec();
        // A reader that took nothing was closed before it could be told anything. Without any reason of ours the client went away.
        let reason = if self.connection.is_unread() { "unread" } else { self.ended.unwrap_or("closed") };
        sockets.ended.get_or_create(&EndLabel { reason }).inc();
        let key = &*self.key;
        match reason {
            "unread" => tracing::info!(key, "a WebSocket was cut off: its reader took nothing"),
            "too_slow" => tracing::info!(key, "a WebSocket was closed: its reader was too slow"),
            _ => {}
        }
    }
}
