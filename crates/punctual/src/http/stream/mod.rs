//! The journal live, as server-sent events.
//!
//! All live streams of this node get the same pages of the journal at the same moment, so a page is written once, and a stream that wants
//! all of it gets a share of the same bytes.

/// Entries as server-sent events.
mod frame;
/// Entries as news for an open page.
mod news;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use punctual_core::clock::BoxFuture;
use punctual_engine::journal::{Ended, FollowError, Follower, Page};
use tokio::sync::watch;

use self::frame::Frames;
use self::news::News;
use super::App;
use super::audit::wanted;
use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::sessions::{Session, SessionId};
use super::turns::Turns;
use crate::connections::Connection;
use crate::wire::{StreamEnd, StreamQuery};

/// How often a stream on which nothing happens shows that it lives.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
/// The most streams of one session of the page.
const STREAMS_OF_SESSION_MAX: usize = 32;
const LAST_EVENT_ID: &str = "last-event-id";

/// What all streams share.
pub(super) struct Streams {
    /// The newest page that all of them want, written once.
    newest: Mutex<Option<(Arc<Page>, Arc<Frames>)>>,
    n_open: Gauge,
    /// How many streams each session of the page has.
    pages: Mutex<HashMap<SessionId, usize>>,
    /// When the open pages look again.
    pub(super) turns: Turns,
    ended: Family<EndLabel, Counter>,
    stopping: watch::Receiver<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabel {
    reason: &'static str,
}

impl Streams {
    pub(super) fn new(stopping: watch::Receiver<bool>, registry: &mut Registry) -> Self {
        let this = Self {
            newest: Mutex::default(),
            n_open: Gauge::default(),
            pages: Mutex::default(),
            turns: Turns::default(),
            ended: Family::default(),
            stopping,
        };
        registry.register("punctual_streams", "Open streams of the journal", this.n_open.clone());
        registry.register("punctual_streams_ended", "Streams that ended, by reason", this.ended.clone());
        this
    }

    fn pages(&self) -> MutexGuard<'_, HashMap<SessionId, usize>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a page, unless its session has too many.
    fn open_page(&self, session: SessionId) -> Result<(), Problem> {
        let mut pages = self.pages();
        let n_open = pages.entry(session).or_default();
        if *n_open >= STREAMS_OF_SESSION_MAX {
            let detail = format!("this session has {n_open} open streams; the tabs of a browser share one: close some");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail).retry_after(10));
        }
        *n_open += 1;
        Ok(())
    }

    fn close_page(&self, session: &SessionId) {
        let mut pages = self.pages();
        if let Some(n_open) = pages.get_mut(session) {
            *n_open -= 1;
            if *n_open == 0 {
                pages.remove(session);
            }
        }
    }

    /// Tells when the server stops.
    pub(super) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.clone()
    }

    /// A page, written; `is_live`: others want it as well.
    pub(super) fn frames(&self, page: &Arc<Page>, is_live: bool) -> Arc<Frames> {
        if !is_live {
            return Arc::new(Frames::of(page));
        }
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*newest {
            Some((known, frames)) if Arc::ptr_eq(known, page) => Arc::clone(frames),
            _ => {
                let frames = Arc::new(Frames::of(page));
                *newest = Some((Arc::clone(page), Arc::clone(&frames)));
                frames
            }
        }
    }
}

/// Streams what happens, as server-sent events.
///
/// Each entry of the journal is one event: its `event` is the kind, its `id` the position, its `data` the entry as `/v1/audit` shows it. A
/// reader that was cut off goes on with the header `Last-Event-ID`, on any node, and misses nothing. Before the server ends a stream it says
/// why in an event `end`, with `reason`, `detail` and `resume_after`. A key bound to a user sees that user's entries and no others.
#[utoipa::path(
    get, path = "/v1/stream", operation_id = "stream_journal", tag = "server",
    params(StreamQuery, ("Last-Event-ID" = Option<i64>, Header, description = "The position after which to begin")),
    responses((status = 200, description = "Events without an end", body = String, content_type = "text/event-stream")),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    connection: Option<Extension<Arc<Connection>>>,
    params: Params,
) -> Result<Response, Problem> {
    let (follower, caller) = follow(&app, &caller, &headers, params).await?;
    let open = Open::new(Arc::clone(&app), connection.map(|Extension(connection)| connection), &caller)?;
    let news = caller.session().map(|_| News::default());
    let keep_alive = app.engine.clock().pause(ALIVE_EVERY);
    let stopping = app.streams.stopping.clone();
    let told = follower.position();
    let streaming = Streaming { open, caller, follower, news, told, keep_alive, stopping, is_begun: false };
    let body = Body::from_stream(futures_util::stream::unfold(streaming, |mut streaming| async move {
        streaming.next().await.map(|bytes| (Ok::<_, Infallible>(bytes), streaming))
    }));
    let mut response = (StatusCode::OK, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // A proxy that collects an answer before it hands it on would keep the events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Follows the journal as a stream with these parameters does. Returns with it the caller as it is now.
pub(super) async fn follow(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    params: Params,
) -> Result<(Follower, Caller), Problem> {
    let params = params.only(&["user", "reminder", "tag", "kind", "after"])?;
    let (field, text) = match headers.get(LAST_EVENT_ID).filter(|value| !value.is_empty()) {
        Some(value) => ("Last-Event-ID", Some(value.to_str().unwrap_or_default())),
        None => ("after", params.get("after")),
    };
    let after = text.map(|text| position(field, text)).transpose()?;
    let query = wanted(caller, &params)?;
    let follower = app.engine.follow(after).await.map_err(|error| refused(error, field, after))?.only(query);
    // From here on a deletion of the key is seen in the journal; one before it is seen now.
    let caller = caller.check_again(app).await?;
    Ok((follower, caller))
}

fn position(field: &str, text: &str) -> Result<i64, Problem> {
    match text.trim().parse() {
        Ok(position) if position >= 0 => Ok(position),
        _ => {
            let detail =
                format!("{field}: is no position of the journal; write the `id` of the last event that you have");
            Err(Problem::bad_request(detail).at_field(field))
        }
    }
}

/// Why nobody can stream from this position, and what would be right.
fn refused(error: FollowError, field: &str, after: Option<i64>) -> Problem {
    let detail = format!("{field}: {}: {error}", after.unwrap_or_default());
    match error {
        FollowError::Removed { first } => {
            let advice = format!("{detail}; begin again after {}: what was before that is lost", first - 1);
            Problem::new(StatusCode::GONE, "removed", advice).at_field(field)
        }
        FollowError::Ahead { head } => {
            let advice = format!("{detail}; the database may have been restored: begin again after {head}");
            Problem::conflict("ahead", advice).at_field(field)
        }
        FollowError::Store(error) => error.into(),
    }
}

/// One open stream.
struct Streaming {
    open: Open,
    caller: Caller,
    follower: Follower,
    /// An open page is told less than a program.
    news: Option<News>,
    /// The reader has everything up to here.
    told: i64,
    keep_alive: BoxFuture<()>,
    stopping: watch::Receiver<bool>,
    is_begun: bool,
}

impl Streaming {
    /// What to write next; `None`: the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.open.ended.is_some() {
            return None;
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            return Some(frame::opening(self.follower.position()));
        }
        let (app, connection) = (Arc::clone(&self.open.app), self.open.connection.clone());
        loop {
            self.told = self.follower.position();
            // A reader that is behind is busy, and needs no sign of life.
            let is_idle = self.follower.has_caught_up();
            let page = tokio::select! { biased;
                () = stops(&mut self.stopping) => Err(Ended::Stopping),
                () = given_up(connection.as_deref()) => {
                    let detail = "the reader took next to nothing for 20 seconds: read all the time, or come back later";
                    return Some(self.end("too_slow", detail));
                }
                page = self.follower.next() => page,
                () = pause(self.news.as_mut()) => match self.take_news() {
                    Some(news) => return Some(news),
                    None => continue,
                },
                () = &mut self.keep_alive, if is_idle => {
                    self.keep_alive = app.engine.clock().pause(ALIVE_EVERY);
                    let is_over = self.caller.session().is_some() && !self.caller.works(&app).await;
                    return Some(match self.caller.has_expired(app.now()) {
                        true => self.end("key_expired", "the key has expired"),
                        false if is_over => self.end("key_expired", "the session has ended"),
                        false => frame::alive(self.follower.position()),
                    });
                }
            };
            let page = match page {
                Ok(page) => page,
                Err(Ended::TooSlow) => {
                    let detail = "the reader took less than was written: read faster, or ask for less";
                    return Some(self.end("too_slow", detail));
                }
                Err(Ended::Stopping) => return Some(self.end("stopping", "this server stops")),
            };
            if self.caller.has_expired(app.now()) {
                return Some(self.end("key_expired", "the key has expired"));
            }
            let is_live = self.follower.is_live();
            let frames = app.streams.frames(&page, is_live);
            let is_deleted = frames.keys_deleted.iter().any(|id| *id == *self.caller.id);
            // A reader that is behind reads what it asks for, and so may not read that its key was deleted.
            if is_deleted || !is_live && !self.caller.works(&app).await {
                return Some(self.end("key_deleted", "the key was deleted"));
            }
            if frames.keys_rotated.iter().any(|id| *id == *self.caller.id) {
                // The secret that opened this stream may have an end now. While the store cannot say, it works.
                match self.caller.check_again(&app).await {
                    Ok(caller) => self.caller = caller,
                    Err(problem) if problem.is_unauthorized() => {
                        return Some(self.end("key_expired", "the key has another secret now"));
                    }
                    Err(_) => {}
                }
            }
            let wanted = match &mut self.news {
                None => {
                    Some(frames.wanted(&page, |entry| self.follower.wants(entry))).filter(|wanted| !wanted.is_empty())
                }
                Some(news) => {
                    page.entries.iter().filter(|entry| self.follower.wants(entry)).for_each(|entry| news.add(entry));
                    self.take_news()
                }
            };
            if wanted.is_some() {
                return wanted;
            }
        }
    }

    /// The news that an open page may have now.
    fn take_news(&mut self) -> Option<Bytes> {
        let app = &self.open.app;
        self.news.as_mut()?.take(self.follower.position(), &**app.engine.clock())
    }

    /// Ends the stream with a reason.
    fn end(&mut self, reason: &'static str, detail: &str) -> Bytes {
        self.open.ended = Some(reason);
        self.open.resume_after = self.told;
        let (reason, detail) = (reason.to_owned(), detail.to_owned());
        frame::end(&StreamEnd { reason, detail, resume_after: self.told })
    }
}

/// Waits until the server stops.
pub(super) async fn stops(stopping: &mut watch::Receiver<bool>) {
    // A server that is gone has stopped.
    let _ = stopping.wait_for(|stops| *stops).await;
}

/// Waits until an open page may have further news.
async fn pause(news: Option<&mut News>) {
    match news {
        Some(news) => news.pause().await,
        None => std::future::pending().await,
    }
}

/// Waits until the connection gives its reader up.
async fn given_up(connection: Option<&Connection>) {
    match connection {
        Some(connection) => connection.given_up().await,
        None => std::future::pending().await,
    }
}

/// Counts a stream for as long as it is open.
struct Open {
    app: Arc<App>,
    /// What carries it.
    connection: Option<Arc<Connection>>,
    /// The id of the key that opened it.
    key: Arc<str>,
    /// The session of the page that opened it.
    session: Option<SessionId>,
    ended: Option<&'static str>,
    /// The position of the reader that was told the reason.
    resume_after: i64,
}

impl Open {
    fn new(app: Arc<App>, connection: Option<Arc<Connection>>, caller: &Caller) -> Result<Self, Problem> {
        let session = caller.session().map(Session::id);
        if let Some(session) = session {
            app.streams.open_page(session)?;
        }
        app.streams.n_open.inc();
        if let Some(connection) = &connection {
            connection.is_endless();
        }
        Ok(Self { app, connection, key: caller.id.clone(), session, ended: None, resume_after: 0 })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let streams = &self.app.streams;
        streams.n_open.dec();
        if let Some(session) = &self.session {
            streams.close_page(session);
        }
        // A reader that took nothing was closed before it could be told anything. Without any reason of ours the reader went away.
        let is_unread = self.connection.as_ref().is_some_and(|connection| connection.is_unread());
        let reason = if is_unread { "unread" } else { self.ended.unwrap_or("closed") };
        streams.ended.get_or_create(&EndLabel { reason }).inc();
        let key = &*self.key;
        match reason {
            "unread" => tracing::info!(key, "a stream of the journal was cut off: its reader took nothing"),
            "too_slow" => {
                tracing::info!(
                    key,
                    resume_after = self.resume_after,
                    "a stream of the journal ended: its reader was too slow"
                );
            }
            _ => {}
        }
    }
}
