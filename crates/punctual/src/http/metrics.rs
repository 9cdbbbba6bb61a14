//! Counters for Prometheus.

/// Requests, and how long they took, by route.
mod requests;

/// The text format, and who wants which.
mod text;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode, encode_registry};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use punctual_engine::ChannelStanding;

pub(super) use self::requests::{Requests, layer};
use punctual_core::key::Scope;

use super::App;
use super::ChannelLabel;
use super::auth::Caller;
use super::problem::Problem;

/// Metrics for Prometheus.
///
/// They need a key only if the server was set so.
#[utoipa::path(
    get, path = "/metrics", operation_id = "show_metrics", tag = "server",
    responses((status = 200, description = "OpenMetrics text", body = String, content_type = "application/openmetrics-text")),
)]
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    if app.metrics_key {
        let caller = Caller::of(&headers, &app).await?;
        caller.may(Scope::Read)?;
        // They count what everybody has.
        caller.must_be_unbound()?;
    }
    let mut now_known = Registry::default();
    // Counters must be readable when the database is not: that is when somebody looks. What is counted in the database stays as it
    // was then, with its age beside it.
    if let Some(counted) = app.stats.latest(&app).await {
        let pending = i64::try_from(counted.stats.pending).unwrap_or(i64::MAX);
        now_known.register("punctual_pending", "Occurrences still to come", ConstGauge::new(pending));
        let oldest = ConstGauge::new(counted.oldest_due_seconds());
        now_known.register("punctual_oldest_due_seconds", "How overdue the oldest occurrence is", oldest);
        let age = ConstGauge::new(counted.age_seconds(app.now()));
        now_known.register(
            "punctual_stats_age_seconds",
            "How long ago punctual_pending and punctual_oldest_due_seconds were read from the database",
            age,
        );
    }
    let position = ConstGauge::new(app.engine.journal().head());
    now_known.register(
        "punctual_journal_position",
        "The last position of the journal that this node knows of",
        position,
    );
    let lag = ConstGauge::new(app.engine.journal().lag_seconds(app.now()));
    now_known.register(
        "punctual_journal_lag_seconds",
        "How long something has been written that has no place in the journal yet",
        lag,
    );
    let untold = ConstGauge::new(app.engine.journal().n_untold());
    now_known.register(
        "punctual_journal_untold",
        "Positions of the journal that this node has not read for its streams yet",
        untold,
    );
    let queries = ConstCounter::new(app.engine.store().queries());
    now_known.register("punctual_queries", "Statements run on the database", queries);
    let standing = Standing::default();
    for (channel, n_dead) in app.engine.dead_by_channel() {
        let n_dead = i64::try_from(n_dead).unwrap_or(i64::MAX);
        standing.dead.get_or_create(&ChannelLabel { channel }).set(n_dead);
    }
    for channel in app.engine.channel_standings() {
        standing.add(&channel);
    }
    standing.register(&mut now_known);
    if let Some(alarm) = app.engine.alarm() {
        let health = alarm.health();
        let up = ConstGauge::new(i64::from(health.problem.is_none()));
        now_known.register("punctual_redis_up", "Whether the Redis timer works", up);
        let armed = ConstGauge::new(i64::try_from(health.armed).unwrap_or(i64::MAX));
        now_known.register("punctual_redis_armed", "Timers that are set in Redis", armed);
        let dropped = ConstCounter::new(health.dropped);
        now_known.register("punctual_redis_dropped", "Timers that could not be set in Redis or rung for", dropped);
    }
    let mut open = String::with_capacity(8 * 1024);
    encode_registry(&mut open, &app.registry)
        .and_then(|()| encode(&mut open, &now_known))
        .map_err(|error| Problem::internal(format!("the counters cannot be written: {error}")))?;
    Ok(match text::wants_open_metrics(&headers) {
        true => ([(header::CONTENT_TYPE, text::OPEN_METRICS)], open).into_response(),
        false => ([(header::CONTENT_TYPE, text::PLAIN)], text::plain(&open)).into_response(),
    })
}

/// How the channels stand at this moment.
#[derive(Default)]
struct Standing {
    sending: Family<ChannelLabel, Gauge>,
    waiting: Family<ChannelLabel, Gauge>,
    closed: Family<ClosedLabel, Gauge>,
    dead: Family<ChannelLabel, Gauge>,
    concurrency: Family<ChannelLabel, Gauge>,
    rates: Family<RateLabel, Gauge<f64, AtomicU64>>,
}

/// Which channel, and which of its rates: to a whole receiver, or to each address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RateLabel {
    channel: String,
    of: &'static str,
}

/// Which channel, and why parts of it are left alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClosedLabel {
    channel: String,
    why: &'static str,
}

impl Standing {
    fn add(&self, channel: &ChannelStanding) {
        let label = ChannelLabel { channel: channel.name.clone() };
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        self.sending.get_or_create(&label).set(number(channel.n_sending));
        self.waiting.get_or_create(&label).set(number(channel.n_waiting));
        self.concurrency.get_or_create(&label).set(number(channel.limits.concurrency));
        // A channel without dead addresses says so.
        drop(self.dead.get_or_create(&label));
        for (of, rate) in [("receiver", channel.limits.rate), ("address", channel.limits.address_rate)] {
            if let Some(rate) = rate {
                let label = RateLabel { channel: channel.name.clone(), of };
                self.rates.get_or_create(&label).set(f64::from(rate.n) / rate.per.as_secs_f64());
            }
        }
        for why in ["throttled", "broken", "trying"] {
            let n_closed = channel.closed.iter().filter(|gate| gate.why == why).count();
            let label = ClosedLabel { channel: channel.name.clone(), why };
            self.closed.get_or_create(&label).set(number(n_closed));
        }
    }

    fn register(self, registry: &mut Registry) {
        registry.register("punctual_channel_sending", "Sends under way, by channel", self.sending);
        registry.register("punctual_channel_waiting", "Messages that wait for their turn, by channel", self.waiting);
        registry.register("punctual_channel_closed", "Receivers and addresses that are left alone", self.closed);
        registry.register("punctual_dead_addresses", "Addresses that their platform calls dead, by channel", self.dead);
        let concurrency = "The most sends at once to one receiver, by channel";
        registry.register("punctual_channel_concurrency", concurrency, self.concurrency);
        let rates = "The most sends in a second, by channel, to a receiver and to an address";
        registry.register("punctual_channel_rate", rates, self.rates);
    }
}
