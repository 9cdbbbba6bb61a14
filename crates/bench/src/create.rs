//! How fast reminders are taken in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use punctual_channels::Closure;
use punctual_core::channel::{Message, Receipt};
use punctual_core::clock::{Clock, Random};
use punctual_core::reminder::Address;
use punctual_core::store::Store;
use punctual_engine::{Engine, Settings, SystemClock, SystemRandom};
use serde_json::{Value, json};

use super::http::request;
use super::load::{Load, Loaded};
use super::place::{self, Place};
use super::report::{Report, Table, count, per_second, rate, thousands};
use super::rig::{self, Wanted, plus};
use super::server::Server;
use super::summary::Summary;
use super::{Common, limit};

/// How long the disk is measured.
const FSYNCS_FOR: SignedDuration = SignedDuration::from_secs(2);
/// When the created reminders are due: long after.
const DUE_AFTER: SignedDuration = SignedDuration::from_hours(24 * 30);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many are created one by one, over HTTP
    #[arg(long, default_value_t = 30_000, value_name = "N")]
    count: usize,
    /// How many requests are under way at once
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,
    /// How many are created in batches: in this process, and again over HTTP
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    batched: usize,
    /// How many are in one batch
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    batch_size: u16,
    /// How many batches are under way at once
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    batch_concurrency: u16,
    /// Among how many users they are divided
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    users: u16,
    /// How many others are pending already
    #[arg(long, default_value_t = 0, value_name = "N")]
    pending: usize,
    /// Keep no index of texts meanwhile: the difference is what search costs a create
    #[arg(long)]
    without_search: bool,
}

/// One way of creating.
struct Measured {
    n_created: usize,
    took: SignedDuration,
    latency: Summary,
    /// Unknown where others may commit as well.
    n_commits: Option<u32>,
}

impl Measured {
    fn rate(&self) -> f64 {
        rate(self.n_created, self.took)
    }

    fn row(&self, name: &str) -> Vec<String> {
        let mut row = vec![name.to_owned(), per_second(self.rate())];
        row.extend(self.latency.cells());
        row.extend([count(self.n_created), self.n_commits.map_or_else(String::new, thousands)]);
        row
    }

    fn json(&self) -> Value {
        let mut json = self.latency.json();
        json["rate_per_second"] = json!(self.rate());
        json["created"] = json!(self.n_created);
        json["commits"] = json!(self.n_commits);
        json
    }
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    let fsyncs = limit::fsyncs(place.dir(), FSYNCS_FOR).await?;

    let store: Arc<dyn Store> = place.open().await?;
    let n_others = place::fill(&*store, args.pending).await?;
    let settings = Settings { search: !args.without_search, ..Settings::default() };
    let engine = rig::engine_with(store, nowhere(), common.options.redis.as_deref(), settings)?;
    let running = engine.start().await?;
    let batches = batches(args, &engine, &place).await?;
    running.stop().await;
    // Waits until the file is closed, so that the server can have it.
    drop(engine);

    let config = place.dir().join("bench.toml");
    std::fs::write(&config, format!("search = {}\n", !args.without_search))?;
    let config = config.to_str().context("the directory's name is no text")?;
    let server = Server::start_with(&place, &["--config", config], &*clock).await?;
    let single = over_http(Creates::single(args), &server, &place).await?;
    let batches_over_http = over_http(Creates::batches(args), &server, &place).await?;
    server.stop(&*clock).await?;

    let mut report = Report::new(
        "create",
        format!("create: durable when it has returned, for {} users, {} others pending", args.users, count(n_others)),
    );
    let header = ["", "rate"].into_iter().chain(Summary::COLUMNS).chain(["created", "commits"]);
    let mut table = Table::new(header);
    let (size, at_once) = (args.batch_size, args.batch_concurrency);
    table.row(single.row(&format!("one by one over HTTP, {} at once", args.concurrency)));
    table.row(batches_over_http.row(&format!("batches of {size} over HTTP, {at_once} at once")));
    table.row(batches.row(&format!("batches of {size} in this process, {at_once} at once")));
    let mut disk = vec!["append 4 KiB + fdatasync: the disk".to_owned(), per_second(disk_rate(&fsyncs))];
    disk.extend(fsyncs.cells());
    table.row(disk);
    report.table(table);
    report.note("Latency is that of a request or a batch, seen by the caller; the client shares the cores.");
    report.note("The disk was measured right before, in the same directory.");
    report.note(place.note());
    report.field("users", args.users);
    report.field("pending", n_others);
    report.field("concurrency", args.concurrency);
    report.field("batch_size", size);
    report.field("batch_concurrency", at_once);
    report.field("single", single.json());
    report.field("batches_over_http", batches_over_http.json());
    report.field("batches", batches.json());
    let mut disk = fsyncs.json();
    disk["rate_per_second"] = json!(disk_rate(&fsyncs));
    report.field("fsync", disk);
    Ok(report)
}

fn disk_rate(fsyncs: &Summary) -> f64 {
    rate(fsyncs.len(), FSYNCS_FOR)
}

fn commits_since(before: Option<u32>, place: &Place) -> anyhow::Result<Option<u32>> {
    Ok(place.commits()?.zip(before).map(|(now, before)| now.wrapping_sub(before)))
}

/// Straight into the engine.
async fn batches(args: &Args, engine: &Engine, place: &Place) -> anyhow::Result<Measured> {
    let due_at = plus(rig::soon(SignedDuration::ZERO), DUE_AFTER);
    let (size, n_users) = (usize::from(args.batch_size), usize::from(args.users));
    let n_batches = args.batched / size;
    let commits_before = place.commits()?;
    let next = Arc::new(AtomicUsize::new(0));
    let begun_at = SystemClock::read();
    let tasks: Vec<_> = (0..args.batch_concurrency)
        .map(|_| {
            let (engine, next) = (engine.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                let mut took = Vec::new();
                while next.fetch_add(1, Ordering::Relaxed) < n_batches {
                    let now = SystemClock::read();
                    let to = || vec![Address::new(rig::CHANNEL, "")];
                    let wanted = |number| Wanted { user: user(number % n_users), due_at, to: to() };
                    let some = (0..size).map(|number| rig::reminder(wanted(number), SystemRandom.ten(), now));
                    engine.create(some.collect(), "bench", None).await?;
                    took.push(SystemClock::read().duration_since(now));
                }
                anyhow::Ok(took)
            })
        })
        .collect();
    let mut latency = Vec::new();
    for task in tasks {
        latency.extend(task.await??);
    }
    Ok(Measured {
        n_created: n_batches * size,
        took: SystemClock::read().duration_since(begun_at),
        latency: Summary::of(latency),
        n_commits: commits_since(commits_before, place)?,
    })
}

/// Creates that are sent over HTTP.
struct Creates {
    path: &'static str,
    /// Taken in turn.
    bodies: Vec<String>,
    per_request: usize,
    n_requests: usize,
    concurrency: usize,
}

impl Creates {
    fn single(args: &Args) -> Self {
        let due_at = due();
        Self {
            path: "/v1/reminders",
            bodies: (0..args.users.into()).map(|number| body(number, due_at).to_string()).collect(),
            per_request: 1,
            n_requests: args.count,
            concurrency: args.concurrency.into(),
        }
    }

    fn batches(args: &Args) -> Self {
        let (due_at, size) = (due(), usize::from(args.batch_size));
        let reminders: Vec<Value> = (0..size).map(|number| body(number % usize::from(args.users), due_at)).collect();
        Self {
            path: "/v1/reminders/batch",
            bodies: vec![json!({ "reminders": reminders }).to_string()],
            per_request: size,
            n_requests: args.batched / size,
            concurrency: args.batch_concurrency.into(),
        }
    }
}

fn due() -> Timestamp {
    plus(rig::soon(SignedDuration::ZERO), DUE_AFTER)
}

fn user(number: usize) -> String {
    format!("user-{number}")
}

fn body(number: usize, due_at: Timestamp) -> Value {
    json!({
        "user": user(number),
        "message": rig::MESSAGE,
        "schedule": { "type": "once", "at": due_at },
        "to": ["console"],
    })
}

/// Against a server in another process.
async fn over_http(creates: Creates, server: &Server, place: &Place) -> anyhow::Result<Measured> {
    let commits_before = place.commits()?;
    let Creates { path, bodies, per_request, n_requests, concurrency } = creates;
    let requests = bodies.iter().map(|body| request("POST", path, Some(&server.key), body.as_bytes())).collect();
    let load = Load { requests, n_requests, concurrency, is_right: |answer| answer.status == 201 };
    let Loaded { took, latency } = load.run(server.address).await?;
    let n_commits = commits_since(commits_before, place)?;
    Ok(Measured { n_created: n_requests * per_request, took, latency, n_commits })
}

/// A channel for reminders that are never due.
fn nowhere() -> Arc<dyn punctual_core::channel::Channel> {
    Arc::new(Closure::new(|_: Message| async { Ok(Receipt::default()) }))
}
