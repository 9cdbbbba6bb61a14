//! The journal live: subscriptions of one connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::http::{HeaderMap, Request, StatusCode};
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, Aborted};
use futures_util::stream::FuturesUnordered;
use prometheus_client::metrics::gauge::Gauge;
use punctual_core::clock::BoxFuture;
use punctual_core::invalid::Invalid;
use punctual_engine::journal::{Ended, Follower, Page};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::rpc;
use crate::http::App;
use crate::http::auth::Caller;
use crate::http::input::Params;
use crate::http::inside::Door;
use crate::http::problem::Problem;
use crate::http::stream;

/// The most subscriptions of one connection. One more is refused.
const SUBSCRIPTIONS_MAX: usize = 16;

/// The subscriptions of one connection, as its calls see them.
pub(super) struct Subscriptions {
    known: Mutex<Known>,
    permits: Arc<Semaphore>,
    n_open: Gauge,
}

#[derive(Default)]
struct Known {
    last_number: u64,
    by_number: BTreeMap<u64, Place>,
}

/// How far a subscription has come.
struct Place {
    abort: AbortHandle,
    /// Its reader has everything up to here.
    reached: i64,
    /// The last position that its reader was told.
    told: i64,
}

/// One subscription.
pub(super) struct Following {
    number: u64,
    follower: Follower,
    _permit: OwnedSemaphorePermit,
    _counted: Counted,
}

/// Counts a subscription for as long as it lives.
struct Counted(Gauge);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Subscriptions {
    pub(super) fn new(n_open: Gauge) -> Self {
        Self { known: Mutex::default(), permits: Arc::new(Semaphore::new(SUBSCRIPTIONS_MAX)), n_open }
    }

    /// Begins to follow as the stream at `path_and_query` does, and says what the subscriber is answered.
    pub(super) async fn begin(
        &self,
        app: &Arc<App>,
        headers: &HeaderMap,
        path_and_query: &str,
    ) -> Result<(Following, String), Problem> {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            let detail =
                format!("this connection has {SUBSCRIPTIONS_MAX} subscriptions, which is the most; end one first");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many", detail));
        };
        let request = Request::get(path_and_query).extension(Door::Ws).body(());
        let request = request.map_err(|_| Problem::bad_request("the parameters cannot be read"))?;
        let mut parts = request.into_parts().0;
        parts.headers = headers.clone();
        let caller = Caller::from_request_parts(&mut parts, app).await?;
        let params = Params::from_request_parts(&mut parts, app).await?;
        let (follower, _) = stream::follow(app, &caller, headers, params).await?;
        let number = {
            let mut known = self.lock();
            known.last_number += 1;
            known.last_number
        };
        self.n_open.inc();
        let answer = json!({ "subscription": number, "after": follower.position() }).to_string();
        let following = Following { number, follower, _permit: permit, _counted: Counted(self.n_open.clone()) };
        Ok((following, answer))
    }

    /// Ends a subscription: no entry of it is told after this.
    pub(super) fn end(&self, number: &str) -> Result<(), Problem> {
        let parsed: u64 = number
            .parse()
            .map_err(|_| Invalid::new("subscription", "must be the number that journal.subscribe answered"))?;
        match self.lock().by_number.remove(&parsed) {
            Some(place) => {
                place.abort.abort();
                Ok(())
            }
            None => {
                let detail = format!("this connection has no subscription {parsed}; it may have ended");
                Err(Problem::not_found(detail).at_field("subscription"))
            }
        }
    }

    /// The notifications that tell the reader why its subscriptions end, and where it goes on.
    pub(super) fn farewells(&self, reason: &str, detail: &str) -> Vec<String> {
        let farewell = |(number, place): (&u64, &Place)| {
            let (number, resume_after) = (*number, place.reached);
            let params =
                json!({ "subscription": number, "reason": reason, "detail": detail, "resume_after": resume_after });
            rpc::notification("journal.end", &params.to_string())
        };
        self.lock().by_number.iter().map(farewell).collect()
    }

    /// The notifications that tell how far subscriptions have come that had nothing to tell for a while.
    pub(super) fn positions(&self) -> Vec<String> {
        let mut notifications = Vec::new();
        for (number, place) in &mut self.lock().by_number {
            if place.reached > place.told {
                place.told = place.reached;
                let params = json!({ "subscription": number, "position": place.reached });
                notifications.push(rpc::notification("journal.position", &params.to_string()));
            }
        }
        notifications
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Next = BoxFuture<(Following, Result<Arc<Page>, Ended>)>;

/// The subscriptions of one connection, as the connection itself waits for them.
#[derive(Default)]
pub(super) struct Followings(FuturesUnordered<Abortable<Next>>);

impl Followings {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells a subscription's entries from now on.
    pub(super) fn begin(&mut self, following: Following, subscriptions: &Subscriptions) {
        let (number, position) = (following.number, following.follower.position());
        let abort = self.wait(following);
        subscriptions.lock().by_number.insert(number, Place { abort, reached: position, told: position });
    }

    fn wait(&mut self, mut following: Following) -> AbortHandle {
        let (abort, registration) = AbortHandle::new_pair();
        let next: Next = Box::pin(async move {
            let page = following.follower.next().await;
            (following, page)
        });
        self.0.push(Abortable::new(next, registration));
        abort
    }

    /// What a subscription tells next: the notifications, none of them where the page has nothing that is wanted. It may be dropped before it
    /// is ready: nothing is lost.
    pub(super) async fn next(&mut self, app: &App, subscriptions: &Subscriptions) -> Result<Vec<Bytes>, Ended> {
        let (following, page) = match self.0.next().await {
            Some(Ok(next)) => next,
            // It was ended.
            Some(Err(Aborted)) => return Ok(Vec::new()),
            None => return std::future::pending().await,
        };
        let page = page?;
        let (number, follower) = (following.number, &following.follower);
        let mut known = subscriptions.lock();
        // It may have been ended since the page came.
        let Some(place) = known.by_number.get_mut(&number) else { return Ok(Vec::new()) };
        let frames = app.streams.frames(&page, follower.is_live());
        let wanted = page.entries.iter().enumerate().filter(|(_, entry)| follower.wants(entry));
        let notifications: Vec<Bytes> = wanted.map(|(index, _)| entry(number, frames.json(index))).collect();
        place.reached = follower.position();
        if !notifications.is_empty() {
            place.told = place.reached;
        }
        place.abort = self.wait(following);
        Ok(notifications)
    }
}

/// The notification of an entry, whose JSON is an object.
fn entry(number: u64, json: &[u8]) -> Bytes {
    const BEGIN: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"journal.entry\",\"params\":{\"subscription\":";
    let mut text = Vec::with_capacity(BEGIN.len() + 24 + json.len());
    text.extend_from_slice(BEGIN.as_bytes());
    text.extend_from_slice(format!("{number},").as_bytes());
    text.extend_from_slice(json.get(1..).unwrap_or(b"}"));
    text.push(b'}');
    text.into()
}
