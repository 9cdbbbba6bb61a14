//! `bench crash`: the server is killed in the middle of its work, again and again, and nothing may be lost.
//!
//! Each cycle starts the real binary on the same file, creates and cancels reminders over HTTP as fast as it can, and ends the
//! server with SIGKILL at a random moment. What the server acknowledged is written down here, outside. At the end the server
//! runs once more until it has caught up, and the books are compared: every acknowledged reminder has arrived under exactly one
//! key, no acknowledged cancel was followed by a message, nothing is left half-done, and the file is intact.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, ensure};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::{Clock, Random};
use punctual_engine::{SystemClock, SystemRandom};
use serde_json::{Value, json};

use super::Common;
use super::http::{Connection, request};
use super::place::{Place, progress};
use super::report::{Report, Table, count};
use super::rig::plus;
use super::server::Server;

/// How many clients create at once.
const CLIENTS: usize = 8;
/// How long the last server may take to catch up.
const CATCH_UP: SignedDuration = SignedDuration::from_secs(120);

/// The options of this bench.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many times the server is killed
    #[arg(long, default_value_t = 1000)]
    cycles: usize,
    /// The longest a server lives before it is killed, in milliseconds after it is ready
    #[arg(long, default_value_t = 250)]
    max_ms: u64,
}

/// The reminders that the server acknowledged and those that arrived, kept outside of it.
#[derive(Default)]
struct Books {
    /// Acknowledged creates, by id.
    created: HashSet<String>,
    /// Acknowledged cancels.
    cancelled: HashSet<String>,
    /// Cancels whose answer a kill cut off: either outcome is right.
    cancel_cut_off: HashSet<String>,
    /// Every key that arrived: the reminder, how often, and when first.
    arrived: HashMap<String, Arrived>,
}

struct Arrived {
    reminder: String,
    times: usize,
    first_at: Timestamp,
    due_at: Timestamp,
}

type Shared = Arc<Mutex<Books>>;

/// Runs the cycles and compares the books.
pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let place = Place::new(common)?;
    let Some(file) = place.file().map(std::path::Path::to_owned) else {
        anyhow::bail!("crash looks into the file afterwards, so it works on SQLite only");
    };
    let settings = place.dir().join("crash.toml");
    std::fs::write(&settings, "webhook_allow_private = true\n")?;
    let settings = settings.to_str().context("the directory's name is no text")?;
    let books: Shared = Arc::default();
    let receiver = receive(books.clone()).await?;
    let clock = SystemClock::start();
    let started_at = clock.now();
    let bar = progress(args.cycles, "kills");

    for _ in 0..args.cycles {
        let server = Server::start_with(&place, &["--config", settings], &clock).await?;
        let lives_ms = (SystemRandom.unit() * args.max_ms as f64) as i64;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| tokio::spawn(load(server.address, server.key.clone(), receiver.clone(), books.clone())))
            .collect();
        clock.sleep_until(plus(clock.now(), SignedDuration::from_millis(lives_ms))).await;
        // SIGKILL: nothing of it runs any more when this returns.
        drop(server);
        for client in clients {
            client.await.context("a client panicked")?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    let server = Server::start_with(&place, &["--config", settings], &clock).await?;
    let caught_up = catch_up(&clock, &server, &books).await;
    server.stop(&clock).await?;
    caught_up?;
    let seconds = clock.now().duration_since(started_at).as_secs_f64();
    let books = lock(&books);
    report(args, &books, seconds, &place, &file)
}

/// Counts what arrives and honours no key: repeats are seen.
async fn receive(books: Shared) -> anyhow::Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.context("cannot listen on loopback")?;
    let url = format!("http://{}/hook", listener.local_addr()?);
    let app = Router::new().route("/hook", post(arrive)).with_state(books);
    tokio::spawn(async move {
        // It ends with the process; until then an error of one connection is that connection's.
        let _ = axum::serve(listener, app).await;
    });
    Ok(url)
}

async fn arrive(State(books): State<Shared>, headers: HeaderMap, body: String) -> StatusCode {
    let now = SystemClock::read();
    let parsed: Option<(String, String, Timestamp)> = (|| {
        let key = headers.get("webhook-id")?.to_str().ok()?.to_owned();
        let body: Value = serde_json::from_str(&body).ok()?;
        let reminder = body.pointer("/data/reminder_id")?.as_str()?.to_owned();
        Some((key, reminder, body.pointer("/data/due_at")?.as_str()?.parse().ok()?))
    })();
    let Some((key, reminder, due_at)) = parsed else { return StatusCode::BAD_REQUEST };
    let mut books = lock(&books);
    let entry = books.arrived.entry(key).or_insert(Arrived { reminder, times: 0, first_at: now, due_at });
    entry.times += 1;
    StatusCode::NO_CONTENT
}

/// Creates reminders, and cancels some, until the server is gone. Only acknowledged reminders are written down.
async fn load(server: SocketAddr, key: String, receiver: String, books: Shared) {
    // Every error here is the server's end, which is what this waits for.
    let Ok(mut connection) = Connection::open(server).await else { return };
    loop {
        let ahead_ms = (SystemRandom.unit() * 400.0) as u64;
        let body = json!({
            "user": "crash", "message": "survive", "schedule": {"type": "once", "at": format!("{ahead_ms}ms")},
            "priority": "critical", "to": [{"channel": "webhook", "address": receiver}],
        });
        let create = request("POST", "/v1/reminders", Some(&key), body.to_string().as_bytes());
        let Ok(answer) = connection.exchange(&create).await else { return };
        let Ok(created) = serde_json::from_slice::<Value>(&answer.body) else { return };
        let Some(id) = created["id"].as_str().filter(|_| answer.status == 201) else { return };
        lock(&books).created.insert(id.to_owned());
        if SystemRandom.unit() < 0.2 {
            let cancel = request("DELETE", &format!("/v1/reminders/{id}"), Some(&key), b"");
            let Ok(answer) = connection.exchange(&cancel).await else {
                lock(&books).cancel_cut_off.insert(id.to_owned());
                return;
            };
            if answer.status < 300 {
                lock(&books).cancelled.insert(id.to_owned());
            }
        }
    }
}

/// Waits until every acknowledged reminder has arrived or was cancelled, and nothing else is to come.
async fn catch_up(clock: &SystemClock, server: &Server, books: &Shared) -> anyhow::Result<()> {
    let deadline = plus(clock.now(), CATCH_UP);
    let mut connection = Connection::open(server.address).await?;
    let ask = request("GET", "/v1/stats", Some(&server.key), b"");
    loop {
        let stats: Value = serde_json::from_slice(&connection.exchange(&ask).await?.body)?;
        let n_missing = lock(books).missing();
        if n_missing == 0 && stats["pending"] == 0 {
            return Ok(());
        }
        ensure!(
            clock.now() < deadline,
            "{n_missing} acknowledged reminders have not arrived after {} s; the server says {stats}",
            CATCH_UP.as_secs()
        );
        clock.sleep_until(plus(clock.now(), SignedDuration::from_millis(200))).await;
    }
}

impl Books {
    /// How many acknowledged reminders have neither arrived nor been cancelled.
    fn missing(&self) -> usize {
        let arrived: HashSet<_> = self.arrived.values().map(|arrived| arrived.reminder.as_str()).collect();
        let is_missing = |id: &&String| {
            !arrived.contains(id.as_str()) && !self.cancelled.contains(*id) && !self.cancel_cut_off.contains(*id)
        };
        self.created.iter().filter(is_missing).count()
    }
}

fn report(args: &Args, books: &Books, seconds: f64, place: &Place, file: &std::path::Path) -> anyhow::Result<Report> {
    let mut keys_of: HashMap<&str, usize> = HashMap::new();
    let (mut n_repeats, mut n_early, mut n_after_cancel, mut n_cut_off) = (0, 0, 0, 0);
    for arrived in books.arrived.values() {
        *keys_of.entry(&arrived.reminder).or_default() += 1;
        n_repeats += arrived.times - 1;
        n_early += usize::from(arrived.first_at < arrived.due_at);
        n_after_cancel += usize::from(books.cancelled.contains(&arrived.reminder));
        n_cut_off += usize::from(!books.created.contains(&arrived.reminder));
    }
    let n_extra: usize = keys_of.values().map(|n_keys| n_keys - 1).sum();
    let found = punctual_store::sqlite::check(file)?;
    let broken = [
        ("lost", books.missing()),
        ("extra_effects", n_extra),
        ("sent_after_cancel", n_after_cancel),
        ("early", n_early),
        ("left_behind", found.n_left_behind),
    ];

    let n_created = books.created.len();
    let title = format!(
        "crash: {} kills in {seconds:.0} s, {} reminders acknowledged, {} of them cancelled",
        count(args.cycles),
        count(n_created),
        count(books.cancelled.len())
    );
    let mut report = Report::new("crash", title);
    report.field("kills", args.cycles);
    report.field("seconds", seconds);
    report.field("acknowledged", n_created);
    report.field("cancelled", books.cancelled.len());
    report.field("repeats_under_the_same_key", n_repeats);
    report.field("created_without_an_acknowledgement", n_cut_off);
    report.field("database", found.quick_check.clone());
    let mut table = Table::new(["must be 0", ""]);
    for (name, n) in broken {
        report.field(name, n);
        table.row([name.replace('_', " "), count(n)]);
    }
    report.table(table);
    report.note(format!(
        "{} repeats under the same key: a receiver that honours the key sees none of them",
        count(n_repeats)
    ));
    report.note(format!("{} reminders written whose acknowledgement the kill cut off", count(n_cut_off)));
    report.note(format!("database: {}", found.quick_check));
    report.note(place.note());
    let intact = found.quick_check == "ok" && broken.iter().all(|(_, n)| *n == 0);
    ensure!(intact, "a guarantee was broken\n{}", report.text());
    Ok(report)
}

fn lock(books: &Shared) -> std::sync::MutexGuard<'_, Books> {
    // A panicking client ends the run; the books are whole all the same.
    books.lock().unwrap_or_else(PoisonError::into_inner)
}
