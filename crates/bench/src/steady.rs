//! How long a create over HTTP takes at a steady rate, while as many reminders fire.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::ensure;
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use serde_json::json;

use super::http::{Connection, request};
use super::place::{self, Place};
use super::receiver::{Mood, Receiver};
use super::report::{Report, Table, count};
use super::rig::{MESSAGE, plus};
use super::server::Server;
use super::sink::{Arrival, Received};
use super::summary::Summary;
use super::{Common, limit};

/// How long after its create a reminder is due. From then on as many fire as are created.
const AHEAD: SignedDuration = SignedDuration::from_secs(3);
/// How long after the last instant to wait for messages that have not come.
const WAIT_MAX: SignedDuration = SignedDuration::from_secs(30);
/// How long the disk is measured.
const FSYNCS_FOR: SignedDuration = SignedDuration::from_secs(2);
/// Among how many users they are divided.
const USERS: u64 = 100;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many are created in a second, and fire in a second
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    rate: u32,
    /// For how many seconds both are measured
    #[arg(long, default_value_t = 20, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Over how many connections
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
    /// How many others are pending meanwhile, due long after
    #[arg(long, default_value_t = 0, value_name = "N")]
    pending: usize,
}

/// The creates, one every so often.
struct Pace {
    first_at: Timestamp,
    every: SignedDuration,
    n_all: u64,
    /// Those before this one go unmeasured: nothing fires yet.
    measured_from: u64,
    next: AtomicU64,
}

impl Pace {
    fn at(&self, number: u64) -> Timestamp {
        let nanos = i64::try_from(self.every.as_nanos() * i128::from(number)).unwrap_or(i64::MAX);
        plus(self.first_at, SignedDuration::from_nanos(nanos))
    }
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    let n_others = place::fill(&*place.open().await?, args.pending).await?;
    let fsyncs = limit::fsyncs(place.dir(), FSYNCS_FOR).await?;
    let mut receiver = Receiver::start_with(Mood::Takes, 1, &*clock).await?;
    let config = place.dir().join("bench.toml");
    std::fs::write(&config, "webhook_allow_private = true\n")?;
    let config = config.to_str().ok_or_else(|| anyhow::anyhow!("the directory's name is no text"))?;
    let server = Server::start_with(&place, &["--config", config], &*clock).await?;

    let (rate, seconds) = (u64::from(args.rate), u64::from(args.seconds));
    let n_before = rate * AHEAD.as_secs().unsigned_abs();
    let pace = Arc::new(Pace {
        first_at: plus(clock.now(), SignedDuration::from_millis(200)),
        every: SignedDuration::from_secs(1) / i32::try_from(args.rate)?,
        n_all: n_before + rate * seconds,
        measured_from: n_before,
        next: AtomicU64::new(0),
    });
    let cpu_before = server.cpu()?;
    let mut tasks = Vec::new();
    for _ in 0..args.connections {
        let connection = Connection::open(server.address).await?;
        let (key, url) = (server.key.clone(), receiver.url());
        tasks.push(tokio::spawn(create(connection, key, url, Arc::clone(&pace), Arc::clone(&clock))));
    }
    let mut latency = Vec::new();
    for task in tasks {
        latency.extend(task.await??);
    }
    let took = clock.now().duration_since(pace.first_at);
    let n_created = usize::try_from(pace.n_all)?;
    let give_up_at = plus(plus(clock.now(), AHEAD), WAIT_MAX);
    while receiver.count().await? < n_created && clock.now() < give_up_at {
        clock.sleep_until(plus(clock.now(), SignedDuration::from_millis(50))).await;
    }
    let cpu = server.cpu()?.checked_sub(cpu_before).unwrap_or_default();
    let arrivals = receiver.take().await?;
    server.stop(&*clock).await?;
    let (measured_from, measured_until) = (pace.at(pace.measured_from), pace.at(pace.n_all));
    let meanwhile: Vec<Arrival> =
        arrivals.iter().filter(|one| (measured_from..measured_until).contains(&one.due_at)).cloned().collect();
    let (all, meanwhile, latency) = (Received::of(&arrivals), Received::of(&meanwhile), Summary::of(latency));

    let mut report = Report::new(
        "steady",
        format!(
            "steady: {} creates a second over HTTP, each durable when it is answered, and as many sent, for {} s; {} others pending",
            count(args.rate.try_into()?),
            args.seconds,
            count(n_others)
        ),
    );
    let mut table = Table::new([""].into_iter().chain(Summary::COLUMNS));
    let mut row = |name: &str, summary: &Summary| table.row([vec![name.to_owned()], summary.cells().to_vec()].concat());
    row("a create, from when it was to be sent", &latency);
    row("lateness of what fires meanwhile", &meanwhile.late);
    row("append 4 KiB + fdatasync: the disk", &fsyncs);
    report.table(table);
    report.note(format!(
        "{} were created in {:.1} s; {} different messages came, {} of them in the measured time; {} came again, {} early.",
        count(n_created),
        took.as_secs_f64(),
        count(all.n_received),
        count(meanwhile.n_received),
        count(all.n_again),
        count(all.late.n_negative())
    ));
    let each = cpu.as_secs_f64() * 1e6 / n_created as f64;
    report.note(format!("Processor time of the server for one reminder, created and sent: {each:.0} µs."));
    report
        .note("The client and the receiver share the processors with the server. The disk was measured right before.");
    report.note(place.note());
    report.field("rate_per_second", args.rate);
    report.field("seconds", args.seconds);
    report.field("pending", n_others);
    report.field("created", n_created);
    report.field("received", all.n_received);
    report.field("twice", all.n_again);
    report.field("early", all.late.n_negative());
    report.field("create", latency.json());
    report.field("late", meanwhile.late.json());
    report.field("fsync", fsyncs.json());
    report.field("server_us", each);
    ensure!(all.n_received == n_created, "{} of {} messages came", all.n_received, n_created);
    Ok(report)
}

/// Creates what is next, until all are. A create that has to wait for a connection is late: the wait is measured with it.
async fn create(
    mut connection: Connection,
    key: String,
    url: String,
    pace: Arc<Pace>,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<Vec<SignedDuration>> {
    let mut took = Vec::new();
    loop {
        let number = pace.next.fetch_add(1, Ordering::Relaxed);
        if number >= pace.n_all {
            return Ok(took);
        }
        let at = pace.at(number);
        let body = json!({
            "user": format!("user-{}", number % USERS),
            "message": MESSAGE,
            "schedule": { "type": "once", "at": plus(at, AHEAD) },
            "to": [{ "channel": "webhook", "address": url }],
        });
        let request = request("POST", "/v1/reminders", Some(&key), body.to_string().as_bytes());
        clock.sleep_until(at).await;
        let answer = connection.exchange(&request).await?;
        if number >= pace.measured_from {
            took.push(SystemClock::read().duration_since(at));
        }
        ensure!(answer.status == 201, "answered {}: {}", answer.status, String::from_utf8_lossy(&answer.body));
    }
}
