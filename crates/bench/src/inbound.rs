//! How soon and how fast answers are taken: presses on the buttons of a platform, and words that an application hands over.
//!
//! The runs that are answered are sent before, by an engine in this process. What is measured is the whole way through `punctual serve`; in the end
//! every run must have exactly one answer.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use jiff::SignedDuration;
use punctual_channels::Closure;
use punctual_core::channel::{Message, Receipt};
use punctual_core::clock::{Clock, Random, within};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::State;
use punctual_core::reminder::{AckPolicy, Address, Reminder};
use punctual_core::store::Store;
use punctual_engine::{SystemClock, SystemRandom};
use serde_json::{Value, json};

use super::Common;
use super::http::{Answer, Connection, request, request_with};
use super::load::Load;
use super::place::Place;
use super::report::{Report, Table, count, per_second, rate};
use super::rig::{self, Wanted, plus};
use super::server::Server;
use super::summary::Summary;
use super::telegram::{TOKEN, Telegram};

/// How many reminders are created in one transaction.
const BATCH: usize = 1_000;
/// How long nobody is asked again.
const ACK_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// How long the reminders may take to be sent, and a press to be taken.
const WAIT_MAX: SignedDuration = SignedDuration::from_secs(120);
/// The number of the first person's chat; each reminder is another person's.
const FIRST_CHAT: i64 = 1_000_000;
/// How many look at once whether every run has its answer.
const CHECKERS: usize = 8;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many presses are made one after the other: by long polling, and again by webhook
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    presses: u32,
    /// How many of these a second
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rate: u16,
    /// How many answers are given as fast as they are taken: in words, and again as presses by webhook
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    answers: u32,
    /// How many of these are under way at once
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,
}

/// A run that waits for its answer.
#[derive(Debug, Clone)]
struct Asked {
    run: OccurrenceId,
    user: String,
    chat: i64,
}

/// Answers as fast as they are taken.
struct Fast {
    n: usize,
    took: SignedDuration,
    latency: Summary,
    /// Processor time of the server for one answer.
    cpu: SignedDuration,
}

impl Fast {
    fn rate(&self) -> f64 {
        rate(self.n, self.took)
    }

    fn cpu_micros(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.n as f64
    }

    fn row(&self, name: &str) -> Vec<String> {
        let mut row = vec![name.to_owned(), per_second(self.rate())];
        row.extend(self.latency.cells());
        row.extend([count(self.n), format!("{:.0} µs", self.cpu_micros())]);
        row
    }

    fn json(&self) -> Value {
        let mut json = self.latency.json();
        json["rate_per_second"] = json!(self.rate());
        json["answers"] = json!(self.n);
        json["server_cpu_us"] = json!(self.cpu_micros());
        json
    }
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    let (presses, answers) = (usize::try_from(args.presses)?, usize::try_from(args.answers)?);
    let asked = prepare(2 * presses + 2 * answers, &place, &*clock).await?;
    let (polled, rest) = asked.split_at(presses);
    let (hooked, rest) = rest.split_at(presses);
    let (in_words, pressed) = rest.split_at(answers);

    let mut platform = Telegram::start(&clock).await?;
    let server = serve(&place, &platform, "connection", &*clock).await?;
    soon(&*clock, platform.asked()).await.context("the server does not poll")??;
    let by_poll = by_poll(polled, args, &mut platform, &*clock).await?;
    let words = |asked: &Asked| {
        let body = json!({ "user": asked.user, "channel": rig::CHANNEL, "text": "done" }).to_string();
        request("POST", "/v1/inbound", Some(&server.key), body.as_bytes())
    };
    let words = fast(in_words.iter().map(words).collect(), is_handled, args, &server).await?;
    server.stop(&*clock).await?;

    let server = serve(&place, &platform, "webhook", &*clock).await?;
    let secret = soon(&*clock, platform.secret()).await.context("the server set no webhook")??;
    let press = |asked: &Asked| {
        let body = platform.pressed(asked.run, asked.chat).to_string();
        let headers = [("x-telegram-bot-api-secret-token", secret.as_str())];
        request_with("POST", &format!("/v1/inbound/{}", rig::CHANNEL), &headers, body.as_bytes())
    };
    let by_webhook = by_webhook(hooked.iter().map(press).collect(), args, &server, &*clock).await?;
    let presses_fast = fast(pressed.iter().map(press).collect(), is_taken, args, &server).await?;
    server.stop(&*clock).await?;
    check(&place, asked).await?;

    let mut report = Report::new(
        "inbound",
        format!("inbound: answers that were recorded, {} presses a second, then as fast as they are taken", args.rate),
    );
    let mut table = Table::new([&[""][..], &Summary::COLUMNS].concat());
    let row = |name: &str, spans: &Summary| [vec![name.to_owned()], spans.cells().to_vec()].concat();
    table.row(row("a press by long polling, until the person is told", &by_poll));
    table.row(row("a press by webhook, until it is answered", &by_webhook));
    report.table(table);
    let header = ["", "rate"].into_iter().chain(Summary::COLUMNS).chain(["answers", "server's processor"]);
    let mut table = Table::new(header);
    table.row(words.row(&format!("in words over HTTP, {} at once", args.concurrency)));
    table.row(presses_fast.row(&format!("presses by webhook, {} at once", args.concurrency)));
    report.table(table);
    report.note("A person is told, and a request is answered, after the commit. Every run has exactly one answer.");
    report.note(
        "The platform and the clients share the cores with the server, which also shows each answer in its message.",
    );
    report.note(place.note());
    report.field("rate", args.rate);
    report.field("concurrency", args.concurrency);
    report.field("press_by_poll", by_poll.json());
    report.field("press_by_webhook", by_webhook.json());
    report.field("words", words.json());
    report.field("presses", presses_fast.json());
    Ok(report)
}

/// Sends reminders that want an answer, each to a person of its own; nobody is asked twice.
async fn prepare(n: usize, place: &Place, clock: &dyn Clock) -> anyhow::Result<Vec<Asked>> {
    let store: Arc<dyn Store> = place.open().await?;
    let sent = Closure::new(|message: Message| {
        // As Telegram names the first message of a chat.
        let message_id = Some(format!("{}/1", message.to.address));
        async { Ok(Receipt { message_id, ..Receipt::default() }) }
    });
    let engine = rig::engine(store, Arc::new(sent), None)?;
    let running = engine.start().await?;
    // A database may hold the people of an earlier bench.
    let now = SystemClock::read();
    let mut asked = Vec::with_capacity(n);
    for first in (0..n).step_by(BATCH) {
        let due_at = SystemClock::read();
        let one = |number: usize| {
            let chat = FIRST_CHAT + i64::try_from(number).unwrap_or(0);
            let user = format!("bench-{}-{number}", now.as_millisecond());
            let to = vec![Address::new(rig::CHANNEL, chat.to_string())];
            let ack = Some(AckPolicy { timeout: ACK_TIMEOUT, ..AckPolicy::default() });
            let reminder = rig::reminder(Wanted { user: user.clone(), due_at, to }, SystemRandom.ten(), due_at);
            (Asked { run: first_run(reminder.id), user, chat }, Reminder { ack, only: true, ..reminder })
        };
        let (some, reminders): (Vec<Asked>, Vec<Reminder>) = (first..n.min(first + BATCH)).map(one).unzip();
        engine.create(reminders, "bench", None).await?;
        asked.extend(some);
    }
    let give_up_at = plus(clock.now(), WAIT_MAX);
    let last = asked.last().map(|asked| asked.run);
    // The last ones are due after all others, and claims go in order.
    while let Some(last) = last
        && !is_waiting(&**engine.store(), last).await?
    {
        ensure!(clock.now() < give_up_at, "the reminders were not sent in time");
        clock.sleep_until(plus(clock.now(), SignedDuration::from_millis(20))).await;
    }
    rig::settled(&engine, give_up_at).await?;
    running.stop().await;
    Ok(asked)
}

fn first_run(reminder: ReminderId) -> OccurrenceId {
    OccurrenceId { reminder, run: 1 }
}

async fn is_waiting(store: &dyn Store, run: OccurrenceId) -> anyhow::Result<bool> {
    let trail = store.occurrence(run).await?;
    Ok(trail.is_some_and(|trail| matches!(trail.occurrence.state, State::AwaitingAck { .. })))
}

/// Starts a server whose channel is the platform's bot.
async fn serve(place: &Place, platform: &Telegram, receive: &str, clock: &dyn Clock) -> anyhow::Result<Server> {
    let config = place.dir().join("inbound.toml");
    let text = format!(
        "[channels.{}]\nkind = \"telegram\"\ntoken = \"{TOKEN}\"\napi_url = \"http://{}\"\nreceive = \"{receive}\"\n",
        rig::CHANNEL,
        platform.address
    );
    std::fs::write(&config, text).with_context(|| format!("cannot write {}", config.display()))?;
    let config = config.to_str().context("the directory's name is no text")?;
    Server::start_with(place, &["--config", config], clock).await
}

/// Presses at a steady rate. The platform sees how long each takes until the person is told.
async fn by_poll(asked: &[Asked], args: &Args, platform: &mut Telegram, clock: &dyn Clock) -> anyhow::Result<Summary> {
    for (asked, at) in asked.iter().zip(paced(asked.len(), args)) {
        clock.sleep_until(at).await;
        platform.press(asked.run, asked.chat);
    }
    let mut spans = Vec::with_capacity(asked.len());
    while spans.len() < asked.len() {
        let Some(Some(span)) = within(clock, WAIT_MAX.unsigned_abs(), platform.told.recv()).await else {
            bail!("{} of {} presses were taken within {WAIT_MAX}", spans.len(), asked.len());
        };
        spans.push(span);
    }
    Ok(Summary::of(spans))
}

/// Requests of the platform at a steady rate, one after the other.
async fn by_webhook(
    requests: Vec<Vec<u8>>,
    args: &Args,
    server: &Server,
    clock: &dyn Clock,
) -> anyhow::Result<Summary> {
    let mut connection = Connection::open(server.address).await?;
    let mut spans = Vec::with_capacity(requests.len());
    for (request, at) in requests.iter().zip(paced(requests.len(), args)) {
        clock.sleep_until(at).await;
        let begun_at = clock.run_for();
        let answer = connection.exchange(request).await?;
        spans.push(SignedDuration::try_from(clock.run_for().saturating_sub(begun_at))?);
        ensure!(is_taken(&answer), "a press was not taken: {}", String::from_utf8_lossy(&answer.body));
    }
    Ok(Summary::of(spans))
}

/// The instants of so many presses.
fn paced(n: usize, args: &Args) -> Vec<jiff::Timestamp> {
    let over = SignedDuration::from_secs_f64(n as f64 / f64::from(args.rate));
    rig::instants(rig::soon(SignedDuration::ZERO), n, over)
}

async fn fast(
    requests: Vec<Vec<u8>>,
    is_right: fn(&Answer) -> bool,
    args: &Args,
    server: &Server,
) -> anyhow::Result<Fast> {
    let n = requests.len();
    let cpu_before = server.cpu()?;
    let load = Load { requests, n_requests: n, concurrency: args.concurrency.into(), is_right };
    let loaded = load.run(server.address).await?;
    Ok(Fast { n, took: loaded.took, latency: loaded.latency, cpu: server.cpu()? - cpu_before })
}

/// Whether words were taken for an answer, and recorded.
fn is_handled(answer: &Answer) -> bool {
    let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    answer.status == 200 && said["handled"] == true && said["refused"].is_null()
}

/// Whether the server took a press. Its answer is the same for a press that it took before; the runs tell these apart.
fn is_taken(answer: &Answer) -> bool {
    answer.status == 200 && !answer.body.is_empty()
}

/// Fails unless every run has exactly one answer, and is done.
async fn check(place: &Place, asked: Vec<Asked>) -> anyhow::Result<()> {
    let store = place.open().await?;
    let size = asked.len().div_ceil(CHECKERS).max(1);
    let tasks: Vec<_> = asked
        .chunks(size)
        .map(|some| {
            let (store, some) = (Arc::clone(&store), some.to_vec());
            tokio::spawn(async move {
                for asked in some {
                    let run = asked.run;
                    let trail = store.occurrence(run).await?.with_context(|| format!("the run {run} is gone"))?;
                    let (state, n) = (trail.occurrence.state.kind(), trail.responses.len());
                    let is_done = matches!(trail.occurrence.state, State::Completed { .. });
                    ensure!(is_done && n == 1, "the run {run} has {n} answers and is {state}");
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// Waits, but not for ever.
async fn soon<T>(clock: &dyn Clock, future: impl Future<Output = T>) -> anyhow::Result<T> {
    within(clock, WAIT_MAX.unsigned_abs(), future).await.context("it took too long")
}
