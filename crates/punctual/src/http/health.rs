//! Whether the server lives, and whether it can work.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use tokio::sync::Mutex as AsyncMutex;

use super::{App, shown};
use crate::disk::free_bytes;
use crate::wire::{Alive, Ready};

/// How long a probe's result is believed, so that nobody can keep the disk busy by asking.
const PROBE_BELIEVED_FOR_MILLIS: i64 = 1000;
/// How long a refused request makes the server unready, unless another one works before.
const REFUSAL_REMEMBERED_FOR_SECONDS: i64 = 10;
/// With less room than this the next request may be refused, though a trial write of one row still works.
const FREE_BYTES_MIN: u64 = 1024 * 1024;

/// The last trial write and what it led to.
#[derive(Default)]
pub(super) struct Probe(AsyncMutex<Option<(Timestamp, Option<String>)>>);

impl Probe {
    /// Why a write does not work now, if it does not.
    async fn failure(&self, app: &App) -> Option<String> {
        let mut last = self.0.lock().await;
        let now = app.now();
        if let Some((at, failure)) = &*last
            && (0..PROBE_BELIEVED_FOR_MILLIS).contains(&(now.as_millisecond() - at.as_millisecond()))
        {
            return failure.clone();
        }
        let failure = app.engine.store().probe().await.err().map(|error| error.to_string());
        *last = Some((now, failure.clone()));
        failure
    }
}

/// The last request that the store refused.
#[derive(Default)]
pub(super) struct Refusal {
    last: Mutex<Option<(Timestamp, String)>>,
    /// Spares the lock while all is well.
    is_there: AtomicBool,
}

impl Refusal {
    /// Remembers that the store did not do it.
    pub(super) fn remember(&self, now: Timestamp, why: String) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, why));
        self.is_there.store(true, Ordering::Release);
    }

    /// Forgets, because the store did it.
    pub(super) fn forget(&self) {
        if self.is_there.load(Ordering::Acquire) {
            self.is_there.store(false, Ordering::Release);
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    fn recent(&self, now: Timestamp) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, why) = last.as_ref()?;
        (0..REFUSAL_REMEMBERED_FOR_SECONDS).contains(&(now.as_second() - at.as_second())).then(|| why.clone())
    }
}

/// Whether the process answers.
#[utoipa::path(
    get, path = "/healthz", operation_id = "alive", tag = "server",
    responses((status = 200, description = "It does", body = Alive)),
)]
pub(super) async fn alive() -> Response {
    shown::answer(StatusCode::OK, &Alive { status: "ok".into(), version: env!("CARGO_PKG_VERSION").into() })
}

/// Whether the process can do its work: the database takes writes, there is room, and the engine meets no
/// failure.
#[utoipa::path(
    get, path = "/readyz", operation_id = "ready", tag = "server",
    responses((status = 200, description = "It can", body = Ready), (status = 503, description = "It cannot", body = Ready)),
)]
pub(super) async fn ready(State(app): State<Arc<App>>) -> Response {
    let mut reasons: Vec<String> = Vec::new();
    let found = [
        app.probe.failure(&app).await,
        app.engine.health().store_error,
        app.refusal.recent(app.now()),
        no_room(&app.database),
    ];
    for reason in found.into_iter().flatten() {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let is_ready = reasons.is_empty();
    let standing = app.engine.health().standing;
    let standing = standing.as_ref();
    let body = Ready {
        status: if is_ready { "ready" } else { "not ready" }.into(),
        now: is_ready.then(|| app.now()),
        detail: (!is_ready).then(|| reasons.join("; ")),
        reasons: (!is_ready).then_some(reasons),
        shadow: app.shadow,
        nodes: standing.map(|standing| standing.nodes),
        shards: standing.map(|standing| standing.shards),
        // No run is lost without it; a run that another node plans may be noticed up to a second or two late.
        wake_ups: standing.map(|standing| if standing.hears { "listen" } else { "poll" }.into()),
        // Everything is sent; what receives it may not believe it.
        disagrees: standing.map(|standing| &standing.disagrees).filter(|names| !names.is_empty()).cloned(),
        // It is a second way to be woken: without it everything works.
        redis: app
            .engine
            .alarm()
            .map(|alarm| alarm.health().problem.map_or("up".into(), |problem| format!("down: {problem}"))),
    };
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    shown::answer(status, &body)
}

fn no_room(database: &Path) -> Option<String> {
    // Where it cannot be known, the trial write has to do.
    let free = free_bytes(database).ok()?;
    (free < FREE_BYTES_MIN).then(|| format!("the disk is nearly full: {} KB are free", free / 1024))
}
