//! How fast a message broker takes messages, each of them confirmed.

mod nats;
mod rabbitmq;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use jiff::SignedDuration;
use punctual_core::channel::Channel;
use punctual_core::reminder::Address;
use punctual_engine::SystemClock;
use serde_json::{Value, json};

pub(super) use nats::run as nats;
pub(super) use rabbitmq::run as rabbitmq;

use super::report::{Report, Table, count, per_second, rate};
use super::rig::{self, CHANNEL, MESSAGE};
use super::summary::Summary;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the broker is, such as amqp://guest:guest@127.0.0.1:5672 or nats://127.0.0.1:4222
    #[arg(long, value_name = "URL")]
    url: String,
    /// How many messages
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    count: u32,
    /// How many of them at once
    #[arg(long, default_value_t = 1_024, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    in_flight: u16,
}

/// The time that sending all of them took.
struct Measured {
    per_second: f64,
    took: Summary,
}

impl Measured {
    fn json(&self) -> Value {
        json!({ "per_second": self.per_second, "message": self.took.json() })
    }
}

/// The body that the plain client sends: as long as an event is.
fn plain_body() -> String {
    const EVENT_BYTES: usize = 480;
    MESSAGE.repeat(EVENT_BYTES / MESSAGE.len())
}

/// Sends all messages through `channel`.
async fn through(channel: impl Channel, address: &str, args: &Args) -> anyhow::Result<Measured> {
    let channel = Arc::new(channel);
    let to = Address::new(CHANNEL, address);
    // The connection is made before the measuring begins.
    channel.send(&rig::message(&to, SystemClock::read())).await?;
    flood(args, move || {
        let channel = Arc::clone(&channel);
        let message = rig::message(&to, SystemClock::read());
        async move { Ok(channel.send(&message).await.map(drop)?) }
    })
    .await
}

/// Calls `send` as often and as many at once as `args` say.
async fn flood<Sending>(
    args: &Args,
    send: impl Fn() -> Sending + Clone + Send + Sync + 'static,
) -> anyhow::Result<Measured>
where
    Sending: Future<Output = anyhow::Result<()>> + Send,
{
    let n = args.count as usize;
    let n_begun = Arc::new(AtomicUsize::new(0));
    let begun_at = SystemClock::read();
    let workers: Vec<_> = (0..args.in_flight)
        .map(|_| {
            let (send, n_begun) = (send.clone(), Arc::clone(&n_begun));
            tokio::spawn(async move {
                let mut took = Vec::new();
                while n_begun.fetch_add(1, Ordering::Relaxed) < n {
                    let begun_at = SystemClock::read();
                    send().await?;
                    took.push(SystemClock::read().duration_since(begun_at));
                }
                anyhow::Ok(took)
            })
        })
        .collect();
    let mut took: Vec<SignedDuration> = Vec::with_capacity(n);
    for worker in workers {
        took.extend(worker.await.context("a worker panicked")??);
    }
    Ok(Measured { per_second: rate(n, SystemClock::read().duration_since(begun_at)), took: Summary::of(took) })
}

fn report(workload: &str, args: &Args, channel: &Measured, plain: &Measured) -> Report {
    let n = args.count as usize;
    let title = format!("{workload}: {} messages, {} at once, each confirmed", count(n), count(args.in_flight.into()));
    let mut report = Report::new(workload, title);
    let mut table = Table::new(["", "confirmed", "a message: p50", "p90", "p99", "max"]);
    for (name, measured) in [("punctual's channel", channel), ("the plain client: the limit", plain)] {
        table.row([name.to_owned(), per_second(measured.per_second)].into_iter().chain(measured.took.cells()));
    }
    report.table(table);
    report.field("count", n);
    report.field("in_flight", args.in_flight);
    report.field("channel", channel.json());
    report.field("limit", plain.json());
    report
}
