//! Many requests over kept connections, as fast as they are answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, ensure};
use jiff::SignedDuration;
use punctual_engine::SystemClock;
use tokio::sync::oneshot;

use super::http::{Answer, Connection};
use super::summary::Summary;

/// Requests that are sent over HTTP.
pub(super) struct Load {
    /// Taken in turn.
    pub(super) requests: Vec<Vec<u8>>,
    pub(super) n_requests: usize,
    /// How many are under way at once.
    pub(super) concurrency: usize,
    /// Whether an answer is the one that is wanted; any other ends the bench.
    pub(super) is_right: fn(&Answer) -> bool,
}

/// How long all of it took, and each request.
pub(super) struct Loaded {
    pub(super) took: SignedDuration,
    pub(super) latency: Summary,
}

impl Load {
    /// Sends all of them. The client has one thread of its own, so that it takes no more than it needs.
    pub(super) async fn run(self, address: SocketAddr) -> anyhow::Result<Loaded> {
        let (sender, receiver) = oneshot::channel();
        std::thread::spawn(move || {
            // The bench may have been given up.
            let _ = sender.send(client(self, address));
        });
        receiver.await.context("the client ended early")?
    }
}

fn client(load: Load, address: SocketAddr) -> anyhow::Result<Loaded> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut connections = Vec::new();
        for _ in 0..load.concurrency {
            connections.push(Connection::open(address).await?);
        }
        let (load, next) = (Arc::new(load), Arc::new(AtomicUsize::new(0)));
        let begun_at = SystemClock::read();
        let tasks: Vec<_> = connections
            .into_iter()
            .map(|connection| tokio::spawn(ask(connection, Arc::clone(&load), Arc::clone(&next))))
            .collect();
        let mut latency = Vec::with_capacity(load.n_requests);
        for task in tasks {
            latency.extend(task.await??);
        }
        Ok(Loaded { took: SystemClock::read().duration_since(begun_at), latency: Summary::of(latency) })
    })
}

async fn ask(
    mut connection: Connection,
    load: Arc<Load>,
    next: Arc<AtomicUsize>,
) -> anyhow::Result<Vec<SignedDuration>> {
    let mut took = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= load.n_requests {
            return Ok(took);
        }
        let begun_at = SystemClock::read();
        let answer = connection.exchange(&load.requests[number % load.requests.len()]).await?;
        took.push(SystemClock::read().duration_since(begun_at));
        ensure!((load.is_right)(&answer), "answered {}: {}", answer.status, String::from_utf8_lossy(&answer.body));
    }
}
