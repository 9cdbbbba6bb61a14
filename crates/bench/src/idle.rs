//! What it costs to wait.

use std::sync::Arc;

use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;

use super::Common;
use super::place::{self, Place};
use super::report::{Report, Table, count};
use super::rig::plus;
use super::server::{Memory, Server};

/// How long a server that has just started is left alone before the measurement begins.
const SETTLE_FOR: SignedDuration = SignedDuration::from_secs(2);
/// Reading the server's counters makes it count what is pending, unless it has just done so. That query is ours.
const OWN_QUERIES: u64 = 1;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many reminders are pending
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pending: usize,
    /// For how many seconds; the safety sweep comes every 300
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(11..=280))]
    seconds: u32,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    let n_pending = {
        let store = place.open().await?;
        place::fill(&*store, args.pending).await?
    };

    let server = Server::start(&place, &*clock).await?;
    clock.sleep_until(plus(clock.now(), SETTLE_FOR)).await;
    // Read twice: the first read has counted what is pending, the second finds that count and asks nothing.
    server.queries().await?;
    let queries_before = server.queries().await?;
    let (cpu_before, begun_at) = (server.cpu()?, clock.now());
    clock.sleep_until(plus(begun_at, SignedDuration::from_secs(args.seconds.into()))).await;
    let (cpu_after, ended_at) = (server.cpu()?, clock.now());
    server.queries().await?;
    let queries_after = server.queries().await?;
    let memory = server.memory()?;
    server.stop(&*clock).await?;

    let span = ended_at.duration_since(begun_at);
    let cpu = cpu_after.checked_sub(cpu_before).unwrap_or_default();
    let percent = cpu.as_secs_f64() / span.as_secs_f64() * 100.0;
    let n_queries = queries_after.saturating_sub(queries_before + OWN_QUERIES);
    let mut report = Report::new(
        "idle",
        format!("idle: `punctual serve` for {} s with {} pending, none of them due", args.seconds, count(n_pending)),
    );
    let mut table = Table::new(["", "queries", "processor time", "of one core", "memory"]);
    table.row([
        "punctual".to_owned(),
        n_queries.to_string(),
        format!("{:.0} ms", cpu.as_secs_f64() * 1e3),
        format!("{percent:.3} %"),
        format!("{:.1} MB", Memory::megabytes(memory.now)),
    ]);
    table.row(["the limit", "0", "0 ms", "0 %", ""].map(str::to_owned));
    report.table(table);
    report.note("The query that reading the counters costs is left out. Processor time is counted in steps of 10 ms.");
    report.note(place.note());
    report.field("pending", n_pending);
    report.field("seconds", args.seconds);
    report.field("queries", n_queries);
    report.field("cpu_ms", cpu.as_secs_f64() * 1e3);
    report.field("cpu_percent_of_one_core", percent);
    report.field("memory_mb", Memory::megabytes(memory.now));
    Ok(report)
}
