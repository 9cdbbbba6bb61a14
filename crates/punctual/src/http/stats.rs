//! Counts for people and dashboards.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use punctual_core::store::{StoreError, StoreStats};
use serde_json::json;
use tokio::sync::Mutex;

use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::{App, BELIEVED_FOR_SECONDS, wire};

/// The last counts. Counting may scan what is pending, so it is done once for all who ask within
/// ten seconds.
#[derive(Default)]
pub(super) struct Cached(Mutex<Option<(Arc<StoreStats>, Timestamp)>>);

impl Cached {
    pub(super) async fn get(&self, app: &App) -> Result<Arc<StoreStats>, StoreError> {
        // Held while counting, so that many who ask at once are one count.
        let mut cached = self.0.lock().await;
        let now = app.now();
        if let Some((stats, read_at)) = &*cached
            && (0..BELIEVED_FOR_SECONDS).contains(&(now.as_second() - read_at.as_second()))
        {
            return Ok(Arc::clone(stats));
        }
        let stats = Arc::new(app.engine.store().stats(now).await?);
        *cached = Some((Arc::clone(&stats), now));
        Ok(stats)
    }
}

/// How long ago the oldest pending occurrence was to be looked at.
pub(super) fn oldest_due_seconds(stats: &StoreStats, now: Timestamp) -> f64 {
    stats.oldest_at.map_or(0.0, |at| now.duration_since(at).as_secs_f64().max(0.0))
}

pub(super) async fn show(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    params.only(&[])?;
    caller.must_be_unbound()?;
    let stats = app.stats.get(&app).await?;
    let now = app.now();
    let reminders: serde_json::Map<_, _> =
        stats.reminders.iter().map(|(status, count)| (status.as_str().to_owned(), (*count).into())).collect();
    let metrics = app.engine.metrics();
    let body = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "now": now,
        "shadow": app.shadow,
        "timezone": app.zone.name(),
        "pending": stats.pending,
        "oldest_at": stats.oldest_at,
        "oldest_due_seconds": oldest_due_seconds(&stats, now),
        "reminders": reminders,
        "in_flight": metrics.in_flight.get(),
        "retries": metrics.retries.get(),
        "queries": app.engine.store().queries(),
    });
    Ok(wire::answer(StatusCode::OK, &body))
}
