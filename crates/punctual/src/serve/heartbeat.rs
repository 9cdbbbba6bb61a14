//! The dead-man's switch: a monitor outside is told that everything works, for as long as it does.
//!
//! Silence is the alarm. So the monitor is not called while the store fails, while something is overdue, while a receiver only
//! fails, and after a delivery was given up: whoever watches then learns of it even if this process can tell nobody.

use std::time::Duration;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use punctual_core::shard::Shards;
use punctual_core::store::Window;
use punctual_engine::Engine;
use punctual_engine::metrics::OccurrenceLabels;
use reqwest::Client;
use tokio::sync::watch;

use crate::config::HeartbeatConfig;

/// How overdue something may be before it is no longer on its way.
const OVERDUE_AFTER: SignedDuration = SignedDuration::from_secs(30);
/// How long one call may take.
const CALL_FOR: Duration = Duration::from_secs(10);

/// Calls the monitor until the server stops.
pub(super) async fn run(engine: Engine, config: HeartbeatConfig, mut stopping: watch::Receiver<bool>) {
    let client = match client() {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "the monitor cannot be called");
            return;
        }
    };
    let mut pulse = Pulse::of(&engine);
    loop {
        match pulse.problem(&engine).await {
            None => call(&client, &config).await,
            Some(problem) => tracing::warn!(%problem, "the monitor is not told that everything works"),
        }
        tokio::select! {
            () = engine.clock().pause(config.every) => {}
            _ = stopping.wait_for(|stop| *stop) => return,
        }
    }
}

fn client() -> anyhow::Result<Client> {
    let builder = Client::builder().timeout(CALL_FOR).user_agent(concat!("punctual/", env!("CARGO_PKG_VERSION")));
    builder.build().context("cannot make an HTTP client")
}

async fn call(client: &Client, config: &HeartbeatConfig) {
    // The URL is a secret, so neither it nor an error that repeats it is shown.
    match client.get(config.url.expose()).send().await {
        Ok(response) if response.status().is_success() => tracing::debug!("the monitor was told"),
        Ok(response) => tracing::warn!(status = %response.status(), "the monitor did not take it"),
        Err(error) => tracing::warn!(error = %error.without_url(), "the monitor cannot be reached"),
    }
}

/// What was known at the last beat.
struct Pulse {
    n_given_up: u64,
}

impl Pulse {
    fn of(engine: &Engine) -> Self {
        Self { n_given_up: n_given_up(engine) }
    }

    /// Why not everything that is due is being delivered, if that is so.
    async fn problem(&mut self, engine: &Engine) -> Option<String> {
        let n_given_up = n_given_up(engine);
        let before = std::mem::replace(&mut self.n_given_up, n_given_up);
        if let Some(error) = engine.health().store_error {
            return Some(error);
        }
        match overdue_since(engine, engine.clock().now()).await {
            Err(error) => return Some(error.to_string()),
            Ok(Some(since)) => return Some(format!("something has been overdue since {since}")),
            Ok(None) => {}
        }
        if let Some((channel, gate)) = broken(engine) {
            return Some(format!("{channel} only fails at {gate}"));
        }
        (n_given_up > before).then(|| format!("{} deliveries were given up", n_given_up - before))
    }
}

async fn overdue_since(engine: &Engine, now: Timestamp) -> anyhow::Result<Option<Timestamp>> {
    let from = now.checked_sub(OVERDUE_AFTER).unwrap_or(Timestamp::MIN);
    let window = Window { from, until: from, shards: Shards::ALL, limit: 1 };
    Ok(engine.store().upcoming(window).await?.overdue_since)
}

fn broken(engine: &Engine) -> Option<(String, String)> {
    engine.channel_standings().into_iter().find_map(|channel| {
        let gate = channel.closed.into_iter().find(|gate| gate.why == "broken")?;
        Some((channel.name, gate.to))
    })
}

fn n_given_up(engine: &Engine) -> u64 {
    let vias = ["timer", "redis", "peer", "fallback", "recovery", "manual"];
    let count = |via| engine.metrics().occurrences.get_or_create(&OccurrenceLabels { state: "failed", via }).get();
    vias.into_iter().map(count).sum()
}

/// Starts it, if there is a monitor.
pub(super) fn start(engine: &Engine, config: Option<HeartbeatConfig>, stop: &watch::Sender<bool>) {
    if let Some(config) = config {
        tracing::info!("a monitor is called every {} s, for as long as everything works", config.every.as_secs());
        tokio::spawn(run(engine.clone(), config, stop.subscribe()));
    }
}
