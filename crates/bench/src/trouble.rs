//! How late, beside receivers in trouble.
//!
//! Healthy messages are spread over time as in `spread`. Beside them, as many as asked for go to a receiver that never answers, to
//! one that always asks to wait a second, and to one that always fails. The healthy ones should not notice.

use std::sync::Arc;

use anyhow::ensure;
use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_core::reminder::Address;
use punctual_engine::SystemClock;
use serde_json::json;

use super::place::Place;
use super::receiver::{Mood, Receiver};
use super::report::{Report, Table, count};
use super::rig::{self, CHANNEL, plus};
use super::sink::{Received, Sink};
use super::summary::Summary;
use super::{Channel, Common, limit};

/// How long before the first instant everything is in place.
const AHEAD: SignedDuration = SignedDuration::from_secs(2);
/// How long after the last instant to wait for messages that have not come.
const WAIT_MAX: SignedDuration = SignedDuration::from_secs(30);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many healthy reminders
    #[arg(long, default_value_t = 4_000, value_name = "N")]
    count: usize,
    /// How many more to each receiver in trouble
    #[arg(long, default_value_t = 400, value_name = "N")]
    each: usize,
    /// Over how many seconds they are due
    #[arg(long, default_value_t = 20, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    over: u32,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    ensure!(args.count > 0, "--count must be at least 1");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let over = SignedDuration::from_secs(args.over.into());
    let place = Place::new(common)?;
    let store = place.open().await?;
    let mut sink = Sink::open(Channel::Webhook, &*clock).await?;
    let from_now = |count| rig::instants(rig::soon(AHEAD), count, over);

    let alone = limit::timer(from_now(args.count)).await?;
    // The same without trouble, for comparison.
    let calm = {
        let engine = rig::engine(Arc::clone(&store), sink.channel()?, common.options.redis.as_deref())?;
        let running = engine.start().await?;
        let instants = from_now(args.count);
        rig::create_all(&engine, &instants, &sink.address()).await?;
        let give_up_at = plus(instants[instants.len() - 1], WAIT_MAX);
        let received = Received::of(&sink.all(args.count, &*clock, give_up_at).await?);
        running.stop().await;
        received
    };

    let mut troubled = Vec::new();
    for mood in [Mood::Hangs, Mood::Throttles, Mood::Fails] {
        troubled.push(Receiver::start_with(mood, 1, &*clock).await?);
    }
    let engine = rig::engine(Arc::clone(&store), sink.channel()?, common.options.redis.as_deref())?;
    let running = engine.start().await?;
    let instants = from_now(args.count);
    for receiver in &troubled {
        let instants = rig::instants(instants[0], args.each, over);
        rig::create_all(&engine, &instants, &Address::new(CHANNEL, receiver.url())).await?;
    }
    rig::create_all(&engine, &instants, &sink.address()).await?;
    ensure!(clock.now() < instants[0], "the reminders were due before all of them were created");
    let last = instants[instants.len() - 1];
    clock.sleep_until(last).await;
    let healthy = Received::of(&sink.all(args.count, &*clock, plus(last, WAIT_MAX)).await?);
    let mut seen = Vec::new();
    for receiver in &mut troubled {
        seen.push(receiver.seen().await?);
    }
    // A send that hangs is given up after a while; the bench need not wait for it.
    drop(running);

    let title = format!(
        "trouble: {} healthy reminders over {} s beside {} each to a receiver that hangs, one that throttles and one that fails",
        count(args.count),
        args.over,
        count(args.each)
    );
    let mut report = Report::new("trouble", title);
    let mut table = Table::new([""].into_iter().chain(Summary::COLUMNS).chain(["received", "twice"]));
    for (name, received) in [("healthy, beside trouble", &healthy), ("the same without trouble", &calm)] {
        let mut row = vec![name.to_owned()];
        row.extend(received.late.cells());
        row.extend([count(received.n_received), count(received.n_again)]);
        table.row(row);
    }
    let mut row = vec!["plain timer: the limit".to_owned()];
    row.extend(alone.cells());
    table.row(row);
    report.table(table);
    let mut table = Table::new(["receiver", "messages due", "requests", "open at most", "while asked to wait"]);
    for (name, seen) in ["hangs", "throttles (1 s)", "fails"].into_iter().zip(&seen) {
        let numbers = [args.each, seen.n_requests, seen.n_open_max, seen.n_too_soon].map(count);
        table.row([name.to_owned()].into_iter().chain(numbers));
    }
    report.table(table);
    report.note("Requests are counted when the last healthy message had come.");
    report.note(place.note());
    report.field("count", args.count);
    report.field("each", args.each);
    report.field("healthy", healthy.late.json());
    report.field("calm", calm.late.json());
    report.field("limit", alone.json());
    report.field("received", healthy.n_received);
    report.field("twice", healthy.n_again);
    for (name, seen) in ["hangs", "throttles", "fails"].into_iter().zip(&seen) {
        let fields = json!({ "requests": seen.n_requests, "open_max": seen.n_open_max, "too_soon": seen.n_too_soon });
        report.field(name, fields);
    }
    Ok(report)
}
