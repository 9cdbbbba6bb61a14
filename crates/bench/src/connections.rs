//! What idle connections cost, and what others notice of connections that are slow on purpose.

use std::sync::Arc;

use anyhow::{Context, ensure};
use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Common;
use super::http::{Connection, request, request_with};
use super::place::Place;
use super::receiver::{Mood, Receiver};
use super::report::{Report, Table, count};
use super::rig::{MESSAGE, plus};
use super::server::{Memory, Server};
use super::sink::Received;
use super::summary::Summary;

/// How long a server is left alone before its memory is read.
const SETTLE_FOR: SignedDuration = SignedDuration::from_secs(3);
/// How long slow clients are given: a head has ten seconds.
const SLOW_MAX: SignedDuration = SignedDuration::from_secs(15);
/// How often a slow client sends a byte.
const SLOW_EVERY: SignedDuration = SignedDuration::from_secs(1);
/// How many requests are measured each time, one after the other.
const REQUESTS: usize = 500;
/// How many of the idle connections are asked again.
const ASKED_AGAIN: usize = 100;
const LIST: &str = "/v1/reminders?limit=1";
/// How many reminders fire while lateness is measured, one after the other.
const FIRED: i32 = 200;
/// Over how long they are spread: a slow client is there for longer.
const FIRED_FOR: SignedDuration = SignedDuration::from_secs(6);
/// How long after its request the first is due.
const FIRED_AHEAD: SignedDuration = SignedDuration::from_secs(1);
/// How long to wait for messages that have not come.
const FIRED_WAIT_MAX: SignedDuration = SignedDuration::from_secs(10);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many connections are open and idle
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16_000))]
    count: u16,
    /// How many WebSockets are open and idle, afterwards
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16_000))]
    websockets: u16,
    /// How many clients send the head of a request a byte at a time
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4000))]
    slow: u16,
}

/// Connections that are open, and what they have cost.
struct Idle<T> {
    open: Vec<T>,
    /// For each, in kilobytes: right after the last was opened, and a moment later.
    kilobytes: [f64; 2],
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    raise_descriptors(u64::from(args.count.max(args.websockets)) + 256)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    drop(place.open().await?);
    let mut receiver = Receiver::start_with(Mood::Takes, 1, &*clock).await?;
    let config = place.dir().join("bench.toml");
    std::fs::write(&config, "webhook_allow_private = true\n")?;
    let config = config.to_str().context("the directory's name is no text")?;
    let server = Server::start_with(&place, &["--config", config], &*clock).await?;
    // What the first requests make for good is not a connection's.
    let alone = latency(&server).await?;
    let late_alone = lateness(&server, &mut receiver, &*clock).await?;

    let mut idle = opened(&server, args.count, &*clock, || Connection::open_asked(&server)).await?;
    let beside_idle = latency(&server).await?;
    let step = (idle.open.len() / ASKED_AGAIN).max(1);
    for connection in idle.open.iter_mut().step_by(step) {
        connection.exchange(&request("GET", LIST, Some(&server.key), b"")).await?.text().context("an idle one")?;
    }
    let http = idle.kilobytes;
    drop(idle);

    let idle = opened(&server, args.websockets, &*clock, || open_websocket(&server)).await?;
    let beside_websockets = latency(&server).await?;
    let websockets = idle.kilobytes;
    drop(idle);

    let slow = tokio::spawn(be_slow(server.address, args.slow, Arc::clone(&clock)));
    clock.sleep_until(plus(clock.now(), SLOW_EVERY)).await;
    let beside_slow = latency(&server).await?;
    let late_beside_slow = lateness(&server, &mut receiver, &*clock).await?;
    let (n_closed, closed_after) = slow.await??;
    server.stop(&*clock).await?;

    let mut report = Report::new(
        "connections",
        format!(
            "connections: {} idle, then {} WebSockets, then {} that send a request's head a byte at a time",
            count(args.count.into()),
            count(args.websockets.into()),
            count(args.slow.into())
        ),
    );
    let mut table = Table::new(["memory of the server for each", "at once", "at rest"]);
    for (name, [at_once, at_rest]) in [("idle connection, after a request", http), ("idle WebSocket", websockets)] {
        table.row([name.to_owned(), format!("{at_once:.1} kB"), format!("{at_rest:.1} kB")]);
    }
    report.table(table);
    let mut table = Table::new(["a request meanwhile"].into_iter().chain(Summary::COLUMNS));
    let all = [
        ("alone", &alone),
        ("beside the idle connections", &beside_idle),
        ("beside the WebSockets", &beside_websockets),
        ("beside the slow clients", &beside_slow),
    ];
    for (name, summary) in all {
        table.row([vec![name.to_owned()], summary.cells().to_vec()].concat());
    }
    report.table(table);
    let mut table = Table::new(["lateness of reminders that fire meanwhile"].into_iter().chain(Summary::COLUMNS));
    let lateness = [("alone", &late_alone), ("beside the slow clients", &late_beside_slow)];
    for (name, summary) in lateness {
        table.row([vec![name.to_owned()], summary.cells().to_vec()].concat());
    }
    report.table(table);
    report.note(format!("{} of {} slow clients were closed, the last after {closed_after:.1} s.", n_closed, args.slow));
    report.note(format!(
        "{} of the idle connections were asked again, and answered.",
        count(ASKED_AGAIN.min(args.count.into()))
    ));
    report.note(place.note());
    let memory = |[at_once, at_rest]: [f64; 2]| json!({ "at_once_kb": at_once, "at_rest_kb": at_rest });
    report.field("connections", args.count);
    report.field("connection", memory(http));
    report.field("websockets", args.websockets);
    report.field("websocket", memory(websockets));
    report.field("slow", args.slow);
    report.field("slow_closed", n_closed);
    report.field("slow_closed_after_seconds", closed_after);
    let latencies = all.map(|(name, summary)| (name.replace(' ', "_"), summary.json()));
    report.field("request", latencies.into_iter().collect::<serde_json::Map<String, Value>>());
    let latenesses = lateness.map(|(name, summary)| (name.replace(' ', "_"), summary.json()));
    report.field("late", latenesses.into_iter().collect::<serde_json::Map<String, Value>>());
    Ok(report)
}

/// Opens `n` connections one after the other, and says what each costs.
async fn opened<T, F: Future<Output = anyhow::Result<T>>>(
    server: &Server,
    n: u16,
    clock: &dyn Clock,
    open: impl Fn() -> F,
) -> anyhow::Result<Idle<T>> {
    clock.sleep_until(plus(clock.now(), SETTLE_FOR)).await;
    let before = server.memory()?;
    let mut all = Vec::with_capacity(n.into());
    for _ in 0..n {
        all.push(open().await?);
    }
    let each = |memory: Memory| memory.now.saturating_sub(before.now) as f64 / f64::from(n) / 1e3;
    let at_once = each(server.memory()?);
    clock.sleep_until(plus(clock.now(), SETTLE_FOR)).await;
    Ok(Idle { open: all, kilobytes: [at_once, each(server.memory()?)] })
}

impl Connection {
    /// A connection on which something was asked.
    async fn open_asked(server: &Server) -> anyhow::Result<Self> {
        let mut connection = Self::open(server.address).await?;
        connection.exchange(&request("GET", LIST, Some(&server.key), b"")).await?.text()?;
        Ok(connection)
    }
}

async fn open_websocket(server: &Server) -> anyhow::Result<TcpStream> {
    let bearer = format!("Bearer {}", server.key);
    let headers = [
        ("authorization", bearer.as_str()),
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let mut stream = TcpStream::connect(server.address).await?;
    stream.write_all(&request_with("GET", "/v1/ws", &headers, b"")).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        ensure!(stream.read_buf(&mut answer).await? > 0, "a WebSocket was not opened");
    }
    ensure!(answer.starts_with(b"HTTP/1.1 101 "), "a WebSocket was refused: {}", String::from_utf8_lossy(&answer));
    Ok(stream)
}

/// How long requests take, one after the other on a new connection.
async fn latency(server: &Server) -> anyhow::Result<Summary> {
    let mut connection = Connection::open(server.address).await?;
    let list = request("GET", LIST, Some(&server.key), b"");
    let mut took = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let begun_at = SystemClock::read();
        connection.exchange(&list).await?.text()?;
        took.push(SystemClock::read().duration_since(begun_at));
    }
    Ok(Summary::of(took))
}

/// How late reminders are that fire one after the other.
async fn lateness(server: &Server, receiver: &mut Receiver, clock: &dyn Clock) -> anyhow::Result<Summary> {
    let first_at = plus(clock.now(), FIRED_AHEAD);
    let reminder = |number: i32| {
        json!({
            "user": "slow",
            "message": MESSAGE,
            "schedule": { "type": "once", "at": plus(first_at, FIRED_FOR / FIRED * number) },
            "to": [{ "channel": "webhook", "address": receiver.url() }],
        })
    };
    let batch = json!({ "reminders": (0..FIRED).map(reminder).collect::<Vec<Value>>() }).to_string();
    let mut connection = Connection::open(server.address).await?;
    let batch = request("POST", "/v1/reminders/batch", Some(&server.key), batch.as_bytes());
    connection.exchange(&batch).await?.text()?;
    let (n_fired, give_up_at) = (usize::try_from(FIRED)?, plus(plus(first_at, FIRED_FOR), FIRED_WAIT_MAX));
    while receiver.count().await? < n_fired && clock.now() < give_up_at {
        clock.sleep_until(plus(clock.now(), SignedDuration::from_millis(50))).await;
    }
    let fired = Received::of(&receiver.take().await?);
    ensure!(fired.n_received == n_fired, "{} of {n_fired} messages came", fired.n_received);
    Ok(fired.late)
}

/// Sends heads a byte at a time; returns how many of the clients were closed, and when the last was, in seconds.
async fn be_slow(address: std::net::SocketAddr, n: u16, clock: Arc<dyn Clock>) -> anyhow::Result<(usize, f64)> {
    let mut open = Vec::new();
    for _ in 0..n {
        open.push(TcpStream::connect(address).await?);
    }
    let (begun_at, mut closed_after) = (clock.run_for(), 0.0);
    let mut bytes = b"GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: ".iter().chain(std::iter::repeat(&b'x'));
    while !open.is_empty() && clock.run_for().saturating_sub(begun_at).as_secs_f64() < SLOW_MAX.as_secs_f64() {
        let byte = *bytes.next().unwrap_or(&b'x');
        let before = open.len();
        let mut still = Vec::with_capacity(before);
        for mut stream in open {
            let is_closed = stream.try_read(&mut [0; 64]).is_ok_and(|n| n == 0);
            if !is_closed && stream.write_all(&[byte]).await.is_ok() {
                still.push(stream);
            }
        }
        open = still;
        if open.len() < before {
            closed_after = clock.run_for().saturating_sub(begun_at).as_secs_f64();
        }
        clock.sleep_until(plus(clock.now(), SLOW_EVERY)).await;
    }
    Ok((usize::from(n) - open.len(), closed_after))
}

/// Lets this process and those that it starts have so many descriptors for clients: a server keeps more than half for itself.
fn raise_descriptors(n_wanted: u64) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let n_needed = 2 * n_wanted + 64;
        ensure!(
            maximum.is_none_or(|maximum| maximum >= n_needed),
            "this machine allows {} descriptors, and the server needs {n_needed}; raise it (`ulimit -Hn`), or measure fewer",
            maximum.unwrap_or(u64::MAX)
        );
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).context("more descriptors were refused")?;
    }
    #[cfg(not(unix))]
    let _ = n_wanted;
    Ok(())
}
