//! `bench cost`: the work that one reminder makes for the database and for the node, at a steady rate.
//!
//! Reminders are created in small batches, each due a few seconds later, and go to a function of this process that costs
//! nothing. Processor time is measured while as many are delivered as are created. Rows, commits and the log are counted over the whole life of
//! all reminders: what is claimed ahead of a moment belongs to those after it, and a server tells its counts late.

/// The counters.
mod meter;

use std::sync::Arc;

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::{Clock, Random};
use punctual_core::reminder::Address;
use punctual_core::store::Store;
use punctual_engine::{Engine, SystemClock, SystemRandom};
use punctual_store::sqlite::{Options, SqliteStore};

use super::place::{self, Place};
use super::report::{Report, Table, count, milliseconds, rate};
use super::rig::{self, Wanted, plus};
use super::sink::{Arrival, Received, Sink};
use super::{Channel, Common};
use meter::{Meter, Reading};

/// How long reminders are due before the counters are read for the first time.
const WARM_UP: SignedDuration = SignedDuration::from_secs(2);
/// How long after the last instant to wait for messages that have not come.
const WAIT_MAX: SignedDuration = SignedDuration::from_secs(30);
/// How long after its last session has ended a server has all counts.
const COUNTS_LATE: SignedDuration = SignedDuration::from_secs(1);
/// How many batches can be under way at once.
const WRITERS: u32 = 4;

#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    /// How many reminders are created in a second, and delivered
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// For how many seconds the counters run
    #[arg(long, default_value_t = 12, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// How many reminders are created at once
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    batch: u32,
    /// How many seconds after its creation a reminder is due
    #[arg(long, default_value_t = 3, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3_600))]
    ahead: u32,
}

impl Args {
    fn ahead(&self) -> SignedDuration {
        SignedDuration::from_secs(self.ahead.into())
    }
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    // The sessions that make the tables have ended, and have told their counts, before the first reading.
    drop(open(&place).await?);
    clock.sleep_until(plus(clock.now(), COUNTS_LATE)).await;
    let (store, meter) = open(&place).await?;
    let before = place::pending(&*store).await?;
    let mut sink = Sink::open(Channel::InProcess, &*clock).await?;
    let engine = rig::engine(Arc::clone(&store), sink.channel()?, common.options.redis.as_deref())?;
    let running = engine.start().await?;
    let unused = meter.read().await?;

    let begin_at = rig::soon(SignedDuration::ZERO);
    let from = plus(plus(begin_at, args.ahead()), WARM_UP);
    let to = plus(from, SignedDuration::from_secs(args.seconds.into()));
    let load = Arc::new(Load::new(args, begin_at, to, sink.address()));
    let write = |writer| tokio::spawn(Arc::clone(&load).write(writer, engine.clone()));
    let writers: Vec<_> = (0..WRITERS).map(write).collect();
    clock.sleep_until(from).await;
    let first = (meter.read().await?, clock.now());
    clock.sleep_until(to).await;
    let last = (meter.read().await?, clock.now());
    for writer in writers {
        writer.await.context("a writer panicked")??;
    }

    let n_created = load.n_reminders() as usize;
    let give_up_at = plus(plus(to, args.ahead()), WAIT_MAX);
    clock.sleep_until(plus(to, args.ahead())).await;
    let arrivals = sink.all(n_created, &*clock, give_up_at).await?;
    rig::settled(&engine, give_up_at).await?;
    let n_left = place::pending(&*store).await?.saturating_sub(before);
    running.stop().await;
    drop((engine, store));
    // Each session that has ended has told its counts.
    clock.sleep_until(plus(clock.now(), COUNTS_LATE)).await;
    let whole = Cost { of: meter.read().await?.since(&unused), n: n_created };
    let all = Received::of(&arrivals);
    ensure!(
        (all.n_received, all.n_again, n_left) == (n_created, 0, 0),
        "of {n_created} reminders, {} arrived, {} came again, and {n_left} are still pending",
        all.n_received,
        all.n_again
    );

    let within = |arrival: &&Arrival| (first.1..last.1).contains(&arrival.at);
    let arrivals: Vec<Arrival> = arrivals.iter().filter(within).cloned().collect();
    let cost = Cost { of: last.0.since(&first.0), n: arrivals.len() };
    let span = last.1.duration_since(first.1);
    let mut report = report(args, &whole, &cost, &Received::of(&arrivals), span, &meter).await?;
    report.note(place.note());
    Ok(report)
}

async fn open(place: &Place) -> anyhow::Result<(Arc<dyn Store>, Meter)> {
    match place.file() {
        Some(file) => {
            let store = Arc::new(SqliteStore::open(file, Options::default())?);
            Ok((store.clone(), Meter::of_sqlite(store, file)?))
        }
        None => Ok((place.open().await?, Meter::of_postgres(&place.url()).await?)),
    }
}

/// The reminders that are created, one batch after the other, at a steady rate.
struct Load {
    args: Args,
    begin_at: Timestamp,
    n_batches: u32,
    to: Address,
}

impl Load {
    fn new(args: &Args, begin_at: Timestamp, end_at: Timestamp, to: Address) -> Self {
        let seconds = end_at.duration_since(begin_at).as_secs();
        let n_batches = u64::from(args.rate) * seconds.unsigned_abs() / u64::from(args.batch);
        Self { args: args.clone(), begin_at, n_batches: u32::try_from(n_batches).unwrap_or(u32::MAX), to }
    }

    fn n_reminders(&self) -> u32 {
        self.n_batches * self.args.batch
    }

    /// When the reminder of this number is created.
    fn at(&self, number: u32) -> Timestamp {
        plus(self.begin_at, SignedDuration::from_micros(i64::from(number) * 1_000_000 / i64::from(self.args.rate)))
    }

    /// Creates the batches of one of the writers, each when it is time.
    async fn write(self: Arc<Self>, writer: u32, engine: Engine) -> anyhow::Result<()> {
        let clock = Arc::clone(engine.clock());
        for batch in (writer..self.n_batches).step_by(WRITERS as usize) {
            let first = batch * self.args.batch;
            clock.sleep_until(self.at(first)).await;
            let now = clock.now();
            let reminder = |number: u32| {
                let due_at = plus(self.at(number), self.args.ahead());
                let wanted = Wanted { user: format!("bench-{number}"), due_at, to: vec![self.to.clone()] };
                rig::reminder(wanted, SystemRandom.ten(), now)
            };
            engine.create((first..first + self.args.batch).map(reminder).collect(), "bench", None).await?;
        }
        Ok(())
    }
}

/// The cost of so many reminders together.
struct Cost {
    of: Reading,
    n: usize,
}

impl Cost {
    /// One reminder's share.
    fn each(&self, all: u64) -> f64 {
        all as f64 / self.n as f64
    }

    fn micros(&self, all: Option<SignedDuration>) -> Option<f64> {
        Some(all?.as_secs_f64() * 1e6 / self.n as f64)
    }
}

async fn report(
    args: &Args,
    whole: &Cost,
    cost: &Cost,
    received: &Received,
    span: SignedDuration,
    meter: &Meter,
) -> anyhow::Result<Report> {
    ensure!(cost.n > 0, "no reminder arrived while the counters ran");
    let database = meter.database().await?;
    let title = format!(
        "cost: {} reminders in {:.1} s, {} a second; created {} at once, due {} s later, on {database}",
        count(cost.n),
        span.as_secs_f64(),
        count(rate(cost.n, span).round() as usize),
        args.batch,
        args.ahead
    );
    let mut report = Report::new("cost", title);
    let Reading { commits, updates, inserts, log_bytes, .. } = whole.of;
    let Reading { database: in_database, node, .. } = cost.of;
    let (in_database, node) = (cost.micros(in_database), cost.micros(node));
    let unknown = || "unknown".to_owned();
    let micros = |micros: Option<f64>| micros.map_or_else(unknown, |micros| format!("{micros:.0} µs"));
    let late = |percent| received.late.percentile(percent).map_or_else(unknown, milliseconds);
    let mut table = Table::new(["", "each"]);
    for (name, each) in [
        ("commits", format!("{:.3}", whole.each(commits))),
        ("row updates", format!("{:.2}", whole.each(updates))),
        ("row inserts", format!("{:.2}", whole.each(inserts))),
        ("log (WAL)", log_bytes.map_or_else(unknown, |bytes| format!("{:.2} kB", whole.each(bytes) / 1e3))),
        ("the database's processor time", micros(in_database)),
        ("the node's processor time", micros(node)),
        ("lateness, p50", late(50.0)),
        ("lateness, p99", late(99.0)),
    ] {
        table.row([name.to_owned(), each]);
    }
    report.table(table);
    report.note(format!(
        "Commits, rows and log are those of all {} reminders, from their creation until the last was settled.",
        count(whole.n)
    ));
    report.note("The node's time includes making the reminders. The receiver is a function of the same process.");
    match meter {
        Meter::Sqlite { .. } => report.note("The database's time is that of SQLite's threads in this process."),
        Meter::Postgres { .. } => {
            report.note("Log and processor time are the whole server's, so nobody else should use it.")
        }
    }
    if let Some(problem) = meter.problem() {
        report.note(format!("The database's processor time is unknown: {problem}."));
    }
    report.field("database", database);
    report.field("reminders", cost.n);
    report.field("reminders_counted", whole.n);
    report.field("rate_per_second", rate(cost.n, span));
    report.field("batch", args.batch);
    report.field("ahead_seconds", args.ahead);
    report.field("commits", whole.each(commits));
    report.field("updates", whole.each(updates));
    report.field("inserts", whole.each(inserts));
    report.field("wal_bytes", log_bytes.map(|bytes| whole.each(bytes)));
    report.field("database_us", in_database);
    report.field("node_us", node);
    report.field("lateness", received.late.json());
    Ok(report)
}
