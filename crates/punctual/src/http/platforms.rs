//! Requests of the platforms: people's answers, and reports about messages.
//!
//! A request proves by its signature that it comes from the channel's platform, and needs no key. It is answered after everything in it
//! is committed: the platform gives anything else again, or tells the person that it did not work.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use punctual_core::channel::Channel;
use punctual_core::channel::receive::{Call, Inbound, NotRead, NotTaken, Reaction, Receive, Reply, Way};
use punctual_engine::Outcome;
use tokio::sync::Semaphore;

use super::App;
use super::input::{InPath, take};
use super::problem::Problem;
use crate::connections::Connection;

/// The largest request: WhatsApp sends up to 3 MB.
const BYTES_MAX: usize = 3 * 1024 * 1024;
/// Of how many requests people are told at once.
static TELLING: Semaphore = Semaphore::const_new(256);
/// When a platform should try again, in seconds, while the database cannot be used.
const AGAIN_AFTER_SECONDS: u32 = 5;

/// Answers a platform that asks whether this server is there.
///
/// It needs no key.
#[utoipa::path(
    get, path = "/v1/inbound/{channel}", operation_id = "greet_platform", tag = "answers",
    params(("channel" = String, Path, description = "The name of a channel whose answers come by webhook")),
    responses((status = 200, description = "What the platform wants to hear", body = String, content_type = "text/plain"),
        (status = 401, description = "It does not come from the platform")),
)]
pub(super) async fn greet(
    app: State<Arc<App>>,
    channel: InPath<String>,
    request: Request,
) -> Result<Response, Problem> {
    receive(app, channel, request).await
}

/// Takes answers and delivery reports from a channel's platform.
///
/// It needs no key: the platform signs its requests.
#[utoipa::path(
    post, path = "/v1/inbound/{channel}", operation_id = "receive", tag = "answers",
    params(("channel" = String, Path, description = "The name of a channel whose answers come by webhook")),
    request_body(content = String, description = "As the platform sends it", content_type = "*/*"),
    responses((status = 200, description = "Everything in it is recorded", content((Object = "application/json"), (String = "text/plain"))),
        (status = 401, description = "It does not prove that it comes from the platform")),
)]
pub(super) async fn receive(
    State(app): State<Arc<App>>,
    InPath(name): InPath<String>,
    request: Request,
) -> Result<Response, Problem> {
    let channel = app.engine.channels().get(&name).filter(|channel| by_webhook(channel).is_some());
    let Some(channel) = channel.cloned() else {
        return Err(Problem::not_found(format!(
            "no answers come here for `{name}`; GET /v1/channels says how they come, and the channel's `receive` sets it"
        )));
    };
    let (parts, body) = request.into_parts();
    let (body, part) = take(body, BYTES_MAX, &parts.headers, &app.unproven_bodies).await?;
    let read = read(&*channel, &parts, &body, &app);
    // The budget for bodies is for what is being read.
    drop((body, part));
    let inbounds = match read {
        Ok(inbounds) => inbounds,
        Err(NotRead::Answer(reply)) => return Ok(render(reply)),
        Err(NotRead::Malformed(why)) => {
            app.engine.metrics().count_inbound(&name, Outcome::Malformed);
            tracing::warn!(channel = %name, %why, "a request of a platform could not be understood");
            return Err(Problem::bad_request(why));
        }
        Err(why @ (NotRead::Forged | NotRead::Stale)) => {
            let n_forged = app.engine.count_forged(&name);
            // A sender of many such requests must not fill the log.
            if n_forged.is_power_of_two() {
                let why = if why == NotRead::Stale { "its proof is too old" } else { "its proof is wrong or missing" };
                tracing::warn!(channel = %name, n_forged, why, "a request does not come from the platform it names");
            }
            return Ok(StatusCode::UNAUTHORIZED.into_response());
        }
    };
    if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
        connection.authenticated();
    }
    let mut taken: Vec<(Inbound, Reaction)> = Vec::with_capacity(inbounds.len());
    for inbound in inbounds {
        match app.engine.receive(&name, inbound.clone()).await {
            Ok(reaction) => taken.push((inbound, reaction)),
            Err(NotTaken::Unavailable | NotTaken::LeaseLost) => {
                // Everything comes again, and what was taken is recognised.
                let why = "not everything in it could be recorded; send it again";
                let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", why);
                return Err(problem.retry_after(AGAIN_AFTER_SECONDS));
            }
        }
    }
    let reply = by_webhook(&channel).map_or_else(|| Reply::empty(200), |receives| receives.reply(&taken));
    tell(channel, name, taken);
    Ok(render(reply))
}

/// The part of a channel that takes requests, if its answers come by them.
fn by_webhook(channel: &Arc<dyn Channel>) -> Option<&dyn Receive> {
    channel.receives().filter(|receives| receives.way() == Way::Webhook)
}

fn read(
    channel: &dyn Channel,
    parts: &axum::http::request::Parts,
    body: &Bytes,
    app: &App,
) -> Result<Vec<Inbound>, NotRead> {
    let headers: Vec<(&str, &[u8])> =
        parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let call = Call {
        is_get: parts.method == Method::GET,
        path_and_query: parts.uri.path_and_query().map_or("", |whole| whole.as_str()),
        headers: &headers,
        body,
    };
    channel.receives().map_or(Err(NotRead::Forged), |receives| receives.read(&call, app.now()))
}

/// Tells people what a reply could not say, beside the reply. Where too many are being told, nobody waits: an answer stands without that.
fn tell(channel: Arc<dyn Channel>, name: String, taken: Vec<(Inbound, Reaction)>) {
    if taken.iter().all(|(_, reaction)| matches!(reaction, Reaction::Nothing)) {
        return;
    }
    let Ok(place) = TELLING.try_acquire() else {
        tracing::debug!(channel = %name, "too many people are being told what became of their answers");
        return;
    };
    tokio::spawn(async move {
        let _place = place;
        let Some(receives) = channel.receives() else { return };
        for (inbound, reaction) in &taken {
            if let Err(error) = receives.react(inbound, reaction).await {
                tracing::debug!(channel = %name, %error, "a person was not told what became of their answer");
            }
        }
    });
}

fn render(reply: Reply) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    (status, [(header::CONTENT_TYPE, reply.content_type)], reply.body).into_response()
}
