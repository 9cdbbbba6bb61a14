//! How long a restart takes, and how much memory.

use std::sync::Arc;

use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use serde_json::{Value, json};

use super::Common;
use super::place::{self, Place};
use super::report::{Report, Table, count, milliseconds};
use super::rig::plus;
use super::server::{Memory, Server};
use super::summary::Summary;

/// How long after it is ready the memory is read: by then it has asked what is to come.
const SETTLE_FOR: SignedDuration = SignedDuration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many reminders are pending
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pending: usize,
    /// How many times it is started
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
}

/// A number of starts on one database.
struct Measured {
    ready: Summary,
    /// The most of all runs, in bytes.
    memory: Memory,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    let n_pending = {
        let store = place.open().await?;
        place::fill(&*store, args.pending).await?
    };
    let full = starts(&place, args.runs, &*clock).await?;
    let empty = match place.within("empty")? {
        Some(empty) => Some(starts(&empty, args.runs, &*clock).await?),
        None => None,
    };

    let mut report =
        Report::new("start", format!("start: `punctual serve` from nothing to listening, {} times", args.runs));
    let mut table = Table::new(["", "ready p50", "max", "memory", "at most"]);
    table.row(full.row(&format!("{} pending", count(n_pending))));
    if let Some(empty) = &empty {
        table.row(empty.row("nothing pending: the limit"));
    }
    report.table(table);
    report.note("Memory is resident, one second after it was ready. The limit was measured right after.");
    let program = std::env::current_exe().and_then(std::fs::metadata).map(|program| program.len());
    if let Ok(bytes) = program {
        report.note(format!("The program has {:.1} MB.", Memory::megabytes(bytes)));
        report.field("program_mb", Memory::megabytes(bytes));
    }
    report.note(place.note());
    report.field("pending", n_pending);
    report.field("runs", args.runs);
    report.field("full", full.json());
    report.field("empty", empty.as_ref().map(Measured::json));
    Ok(report)
}

async fn starts(place: &Place, n_runs: u16, clock: &dyn Clock) -> anyhow::Result<Measured> {
    let mut ready = Vec::new();
    let mut memory = Memory { now: 0, peak: 0 };
    for _ in 0..n_runs {
        let server = Server::start(place, clock).await?;
        ready.push(server.ready_after);
        clock.sleep_until(plus(clock.now(), SETTLE_FOR)).await;
        let found = server.memory()?;
        memory = Memory { now: memory.now.max(found.now), peak: memory.peak.max(found.peak) };
        server.stop(clock).await?;
    }
    Ok(Measured { ready: Summary::of(ready), memory })
}

impl Measured {
    fn row(&self, name: &str) -> Vec<String> {
        let span = |span: Option<SignedDuration>| span.map_or_else(String::new, milliseconds);
        let memory = |bytes| format!("{:.1} MB", Memory::megabytes(bytes));
        vec![
            name.to_owned(),
            span(self.ready.percentile(50.0)),
            span(self.ready.max()),
            memory(self.memory.now),
            memory(self.memory.peak),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "ready": self.ready.json(),
            "memory_mb": Memory::megabytes(self.memory.now),
            "memory_max_mb": Memory::megabytes(self.memory.peak),
        })
    }
}
