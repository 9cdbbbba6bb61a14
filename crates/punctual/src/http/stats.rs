//! Counts for people and dashboards.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use punctual_core::store::{DatabaseState, JournalQuery, Start, StoreError, StoreStats};
use tokio::sync::Mutex as AsyncMutex;

use super::auth::Caller;
use super::input::Params;
use super::problem::Problem;
use super::{App, BELIEVED_FOR_SECONDS, shown};
use crate::wire::{Database, JournalState, Stats, StatsQuery};

/// How long a caller that must be answered soon, such as `/metrics`, waits for new counts.
const LATEST_WAIT_MAX: Duration = Duration::from_secs(1);

/// What was counted, and when.
pub(super) struct Counted {
    pub(super) stats: StoreStats,
    database: DatabaseState,
    read_at: Timestamp,
}

impl Counted {
    /// How overdue the oldest pending occurrence was when this was counted.
    pub(super) fn oldest_due_seconds(&self) -> f64 {
        self.stats.oldest_at.map_or(0.0, |at| self.read_at.duration_since(at).as_secs_f64().max(0.0))
    }

    /// How long ago this was counted.
    pub(super) fn age_seconds(&self, now: Timestamp) -> f64 {
        now.duration_since(self.read_at).as_secs_f64().max(0.0)
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        (0..BELIEVED_FOR_SECONDS).contains(&(now.as_second() - self.read_at.as_second()))
    }
}

/// The last counts. Counting may scan what is pending, so it is done once for all who ask within
/// ten seconds.
#[derive(Default)]
pub(super) struct Cached {
    last: Mutex<Option<Arc<Counted>>>,
    /// Held while counting, so that many who ask at once are one count.
    counting: AsyncMutex<()>,
}

impl Cached {
    /// Counts that are at most ten seconds old.
    pub(super) async fn get(&self, app: &App) -> Result<Arc<Counted>, StoreError> {
        if let Some(fresh) = self.last().filter(|last| last.is_fresh(app.now())) {
            return Ok(fresh);
        }
        let _counting = self.counting.lock().await;
        let now = app.now();
        if let Some(fresh) = self.last().filter(|last| last.is_fresh(now)) {
            return Ok(fresh);
        }
        let store = app.engine.store();
        let (stats, database) = (store.stats(now).await?, store.database().await?);
        let counted = Arc::new(Counted { stats, database, read_at: now });
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&counted));
        Ok(counted)
    }

    /// The newest counts there are, however old; those who ask later get newer ones. Only the first caller of all waits.
    async fn newest(&self, app: &Arc<App>) -> Result<Arc<Counted>, StoreError> {
        let Some(last) = self.last() else { return self.get(app).await };
        self.begin(app);
        Ok(last)
    }

    /// Counts for those who ask later, unless the counts are fresh or somebody is at it.
    pub(super) fn begin(&self, app: &Arc<App>) {
        if !self.last().is_some_and(|last| last.is_fresh(app.now())) && self.counting.try_lock().is_ok() {
            let app = Arc::clone(app);
            // The age of the counts shows whether it worked.
            tokio::spawn(async move { app.stats.get(&app).await.map(drop) });
        }
    }

    /// The newest counts there are within a second, however old. Counting goes on when it takes longer, for the next caller.
    pub(super) async fn latest(&self, app: &Arc<App>) -> Option<Arc<Counted>> {
        let counted = async {
            if self.counting.try_lock().is_err() {
                // Somebody is at it already, perhaps for long: one is enough.
                drop(self.counting.lock().await);
                return;
            }
            let app = Arc::clone(app);
            // The age of the counts shows afterwards whether it worked.
            let _ = tokio::spawn(async move { app.stats.get(&app).await.map(drop) }).await;
        };
        if !self.last().is_some_and(|last| last.is_fresh(app.now())) {
            tokio::select! {
                () = counted => {}
                () = app.engine.clock().pause(LATEST_WAIT_MAX) => {}
            }
        }
        self.last()
    }

    fn last(&self) -> Option<Arc<Counted>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Counts, at most ten seconds old; or, with `stale=true`, the last that there are, at once.
#[utoipa::path(
    get, path = "/v1/stats", operation_id = "show_stats", tag = "server", params(StatsQuery),
    responses((status = 200, description = "Counts", body = Stats)),
)]
pub(super) async fn show(State(app): State<Arc<App>>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let is_stale = params.only(&["stale"])?.flag("stale")?;
    caller.must_be_unbound()?;
    let counted = if is_stale { app.stats.newest(&app).await? } else { app.stats.get(&app).await? };
    let (stats, now) = (&counted.stats, app.now());
    let metrics = app.engine.metrics();
    // So that a caller sees what it did a moment ago.
    app.engine.store().place().await?;
    let newest = app.engine.store().journal(JournalQuery::new(Start::NEWEST, 1)).await?;
    let DatabaseState { kind, version, schema, bytes } = counted.database.clone();
    let body = Stats {
        version: env!("CARGO_PKG_VERSION").into(),
        now,
        shadow: app.shadow,
        timezone: app.zone.name().to_owned(),
        pending: stats.pending,
        oldest_at: stats.oldest_at,
        oldest_due_seconds: counted.oldest_due_seconds(),
        reminders: stats.reminders.iter().map(|(status, count)| (status.as_str().to_owned(), *count)).collect(),
        in_flight: metrics.in_flight.get(),
        retries: metrics.retries.get(),
        queries: app.engine.store().queries(),
        counted_at: counted.read_at,
        database: Database { kind: kind.into(), version, schema, bytes, error: app.engine.health().store_error },
        journal: JournalState {
            first: newest.first,
            last: newest.head,
            last_at: newest.entries.first().map(|entry| entry.at),
        },
    };
    Ok(shown::answer(StatusCode::OK, &body))
}
