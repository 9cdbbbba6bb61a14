//! The dead-man's switch: a monitor outside is told that everything works, for as long as it does.
//!
//! Silence is the alarm. So the monitor is not called while the store fails, while something is overdue, while a receiver only
//! fails, and after a delivery was given up: the person who watches then learns of it even if this process can tell nobody.
//!
//! All nodes of a team call one monitor, so a node that works must not speak over one that does not. What is overdue and what was
//! given up is therefore asked of the store, where it is the same for all.

use std::time::Duration;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use punctual_core::shard::Shards;
use punctual_core::store::UpcomingQuery;
use punctual_engine::Engine;
use reqwest::Client;
use tokio::sync::watch;

use crate::config::HeartbeatConfig;

/// How overdue something may be before it is no longer on its way.
const OVERDUE_AFTER: SignedDuration = SignedDuration::from_secs(30);
/// For how many beats nothing is said after a delivery was given up. Nodes beat at different moments, and monitors forgive one
/// beat or two.
const SILENT_BEATS: u32 = 3;
/// No more than so many that were given up are counted.
const GIVEN_UP_MAX: usize = 1000;
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
    loop {
        match problem(&engine, config.every).await {
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

/// Why not everything that is due is being delivered, if that is so.
async fn problem(engine: &Engine, every: Duration) -> Option<String> {
    if let Some(error) = engine.health().store_error {
        return Some(error);
    }
    let now = engine.clock().now();
    match overdue_since(engine, now).await {
        Err(error) => return Some(error.to_string()),
        Ok(Some(since)) => return Some(format!("something has been overdue since {since}")),
        Ok(None) => {}
    }
    if let Some((channel, gate)) = broken(engine) {
        return Some(format!("{channel} only fails at {gate}"));
    }
    let since = now.checked_sub(every.saturating_mul(SILENT_BEATS)).unwrap_or(Timestamp::MIN);
    match engine.store().failed_since(since, GIVEN_UP_MAX).await {
        Err(error) => Some(error.to_string()),
        Ok(0) => None,
        Ok(n_given_up) => Some(format!("{n_given_up} deliveries were given up since {since}")),
    }
}

async fn overdue_since(engine: &Engine, now: Timestamp) -> anyhow::Result<Option<Timestamp>> {
    let from = now.checked_sub(OVERDUE_AFTER).unwrap_or(Timestamp::MIN);
    let window = UpcomingQuery { from, until: from, shards: Shards::ALL, limit: 1 };
    Ok(engine.store().upcoming(window).await?.overdue_since)
}

fn broken(engine: &Engine) -> Option<(String, String)> {
    engine.channel_standings().into_iter().find_map(|channel| {
        let gate = channel.closed.into_iter().find(|gate| gate.n_failed > 0)?;
        Some((channel.name, gate.to))
    })
}

/// Starts it, if there is a monitor.
pub(super) fn start(engine: &Engine, config: Option<HeartbeatConfig>, stop: &watch::Sender<bool>) {
    if let Some(config) = config {
        tracing::info!("a monitor is called every {} s, for as long as everything works", config.every.as_secs());
        tokio::spawn(run(engine.clone(), config, stop.subscribe()));
    }
}
