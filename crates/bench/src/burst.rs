//! How fast, when all are due at one instant.

/// The same with several nodes.
mod nodes;

use std::sync::Arc;

use anyhow::{Context, ensure};
use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_core::store::Store;
use punctual_engine::SystemClock;

use super::place::{self, Place};
use super::report::{Report, Table, count, milliseconds, per_second, rate};
use super::rig::{self, plus};
use super::sink::{Received, Sink};
use super::{Channel, Common, limit};

/// How long before the instant creating begins: enough for a million.
const AHEAD: SignedDuration = SignedDuration::from_secs(3);
/// How long before the instant everything must have been created, so that claiming is not hurried.
const CREATED_BEFORE: SignedDuration = SignedDuration::from_secs(1);
/// How long after the instant to wait for messages that have not come.
const WAIT_MAX: SignedDuration = SignedDuration::from_secs(60);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many reminders
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    count: usize,
    /// How they go out
    #[arg(long, value_enum, default_value_t = Channel::Webhook)]
    channel: Channel,
    /// How many others are pending meanwhile, due long after
    #[arg(long, default_value_t = 0, value_name = "N")]
    pending: usize,
    /// To how many addresses, each a receiver of its own
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=250))]
    addresses: u8,
    /// With so many nodes on one PostgreSQL, each a process of its own, and with one of them for comparison
    #[arg(long, value_name = "N", requires = "database", value_parser = clap::value_parser!(u16).range(2..=64))]
    nodes: Option<u16>,
    /// How often each is measured when there are several nodes; the middle one counts
    #[arg(long, default_value_t = 3, value_name = "N", requires = "nodes", value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    ensure!(args.count > 0, "--count must be at least 1");
    if let Some(nodes) = args.nodes {
        ensure!(args.channel == Channel::Webhook, "--nodes: the nodes are other processes, so only --channel webhook");
        return nodes::run(args, usize::from(nodes), common).await;
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    let store: Arc<dyn Store> = place.open().await?;
    let n_others = place::fill(&*store, args.pending).await?;
    let mut sink = Sink::open_many(args.channel, args.addresses, &*clock).await?;

    let begun_at = limit::sends(args.count, &sink).await?;
    let sent = Received::of(&sink.all(args.count, &*clock, plus(begun_at, WAIT_MAX)).await?);
    let sent_for = sent.last_at.context("nothing arrived without punctual either")?.duration_since(begun_at);

    let engine = rig::engine(Arc::clone(&store), sink.channel()?, common.options.redis.as_deref())?;
    let running = engine.start().await?;
    // A hundred thousand are created in a second on a slow machine.
    let seconds = i64::try_from(args.count / 50_000).unwrap_or(0);
    let instant = rig::soon(plus_seconds(AHEAD, seconds));
    rig::create_all_to(&engine, &vec![instant; args.count], |number| sink.address_of(number)).await?;
    ensure!(
        plus(clock.now(), CREATED_BEFORE) < instant,
        "the instant came before all reminders were created; try again, or with a smaller --count"
    );
    let give_up_at = plus(instant, WAIT_MAX);
    clock.sleep_until(instant).await;
    // Looked at before the arrivals are fetched, because that takes its time.
    clock.sleep_until(plus(instant, SignedDuration::from_millis(2))).await;
    let settled_at = rig::settled(&engine, give_up_at).await?;
    let received = Received::of(&sink.all(args.count, &*clock, give_up_at).await?);
    let n_left = place::pending(&*store).await? - n_others;
    running.stop().await;
    let took = received.last_at.context("nothing arrived")?.duration_since(instant);
    let settled = settled_at.duration_since(instant);

    let mut report = Report::new(
        "burst",
        format!(
            "burst: {} reminders at one instant, {} to {} address(es), {} others pending",
            count(args.count),
            args.channel.as_str(),
            args.addresses,
            count(n_others)
        ),
    );
    let mut table = Table::new(["", "rate", "first", "p50", "last", "all settled", "early", "received", "twice"]);
    let late = &received.late;
    table.row([
        "punctual".to_owned(),
        per_second(rate(received.n_received, took)),
        late.percentile(0.0).map_or_else(String::new, milliseconds),
        late.percentile(50.0).map_or_else(String::new, milliseconds),
        milliseconds(took),
        milliseconds(settled),
        count(late.n_negative()),
        count(received.n_received),
        count(received.n_again),
    ]);
    table.row([
        format!("plain loop of the same {}: the limit", args.channel.as_str()),
        per_second(rate(sent.n_received, sent_for)),
        String::new(),
        String::new(),
        milliseconds(sent_for),
        String::new(),
        String::new(),
        count(sent.n_received),
        count(sent.n_again),
    ]);
    report.table(table);
    report.note(format!(
        "At most {} sends at once to one receiver, both times. The limit was measured right before, in the same process.",
        sink.concurrency()
    ));
    if n_left > 0 {
        report.note(format!("{} reminders are still pending, and should not be.", count(n_left)));
    }
    report.note(place.note());
    if common.options.redis.is_some() {
        report.note("The Redis timer ran beside our own.");
        report.field("redis", true);
    }
    report.field("count", args.count);
    report.field("channel", args.channel.as_str());
    report.field("addresses", args.addresses);
    report.field("pending", n_others);
    report.field("rate_per_second", rate(received.n_received, took));
    report.field("lateness", late.json());
    report.field("last_arrival_ms", took.as_secs_f64() * 1e3);
    report.field("settled_ms", settled.as_secs_f64() * 1e3);
    report.field("early", late.n_negative());
    report.field("received", received.n_received);
    report.field("all_received", received.n_received == args.count);
    report.field("twice", received.n_again);
    report.field("not_settled", n_left);
    report.field("limit_per_second", rate(sent.n_received, sent_for));
    Ok(report)
}

fn plus_seconds(span: SignedDuration, seconds: i64) -> SignedDuration {
    span.saturating_add(SignedDuration::from_secs(seconds))
}
