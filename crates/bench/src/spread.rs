//! How late, when reminders are spread over time.

use std::sync::Arc;

use anyhow::ensure;
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_core::store::Store;
use punctual_engine::SystemClock;
use serde_json::{Value, json};

use super::place::{self, Place};
use super::report::{Report, Table, count};
use super::rig::{self, plus};
use super::sink::{Received, Sink};
use super::summary::Summary;
use super::{Channel, Common, limit};

/// How long before the first instant everything is in place.
const AHEAD: SignedDuration = SignedDuration::from_secs(1);
/// How long after the last instant to wait for messages that have not come.
const WAIT_MAX: SignedDuration = SignedDuration::from_secs(30);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many reminders
    #[arg(long, default_value_t = 4_000, value_name = "N")]
    count: usize,
    /// Over how many seconds they are due
    #[arg(long, default_value_t = 20, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    over: u32,
    /// How they go out
    #[arg(long, value_enum, default_value_t = Channel::Webhook)]
    channel: Channel,
    /// How many others are pending meanwhile, due long after
    #[arg(long, default_value_t = 0, value_name = "N")]
    pending: usize,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    ensure!(args.count > 0, "--count must be at least 1");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let over = SignedDuration::from_secs(args.over.into());
    let place = Place::new(common)?;
    let store: Arc<dyn Store> = place.open().await?;
    let n_others = place::fill(&*store, args.pending).await?;
    let mut sink = Sink::open(args.channel, &*clock).await?;
    let from_now = || rig::instants(rig::soon(AHEAD), args.count, over);

    let alone = limit::timer(from_now()).await?;
    let sent = from_now();
    let give_up_at = plus(last(&sent), WAIT_MAX);
    limit::timer_and_send(sent, &sink).await?;
    let sent = Received::of(&sink.all(args.count, &*clock, give_up_at).await?);

    let engine = rig::engine(Arc::clone(&store), sink.channel()?, common.options.redis.as_deref())?;
    let running = engine.start().await?;
    let instants = from_now();
    rig::create_all(&engine, &instants, &sink.address()).await?;
    ensure!(clock.now() < instants[0], "the reminders were due before all of them were created");
    let give_up_at = plus(last(&instants), WAIT_MAX);
    clock.sleep_until(last(&instants)).await;
    let received = Received::of(&sink.all(args.count, &*clock, give_up_at).await?);
    rig::settled(&engine, give_up_at).await?;
    let n_left = place::pending(&*store).await? - n_others;
    running.stop().await;

    let mut report = Report::new(
        "spread",
        format!(
            "spread: {} reminders over {} s, {}, {} others pending; lateness where they are received",
            count(args.count),
            args.over,
            args.channel.as_str(),
            count(n_others)
        ),
    );
    let header = [""].into_iter().chain(Summary::COLUMNS).chain(["early", "received", "twice"]);
    let mut table = Table::new(header);
    table.row(row("punctual", &received.late, Some(&received)));
    table.row(row("plain timer: the limit", &alone, None));
    table.row(row(&format!("plain timer + {}", args.channel.as_str()), &sent.late, Some(&sent)));
    report.table(table);
    report.note("The limits were measured right before, in the same process, on schedules of the same length.");
    if n_left > 0 {
        report.note(format!("{} reminders are still pending, and should not be.", count(n_left)));
    }
    report.note(place.note());
    if common.options.redis.is_some() {
        report.note("The Redis timer ran beside our own.");
        report.field("redis", true);
    }
    report.field("count", args.count);
    report.field("over_seconds", args.over);
    report.field("channel", args.channel.as_str());
    report.field("pending", n_others);
    report.field("punctual", fields(&received, args.count));
    report.field("limit", alone.json());
    report.field("timer_and_send", fields(&sent, args.count));
    report.field("not_settled", n_left);
    Ok(report)
}

fn last(instants: &[Timestamp]) -> Timestamp {
    instants.last().copied().unwrap_or(Timestamp::MIN)
}

fn row(name: &str, late: &Summary, received: Option<&Received>) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    row.extend(late.cells());
    if let Some(received) = received {
        row.extend([count(received.late.n_negative()), count(received.n_received), count(received.n_again)]);
    }
    row
}

/// The numbers of one run as JSON.
fn fields(received: &Received, n_wanted: usize) -> Value {
    let mut fields = received.late.json();
    fields["early"] = json!(received.late.n_negative());
    fields["received"] = json!(received.n_received);
    fields["all_received"] = json!(received.n_received == n_wanted);
    fields["twice"] = json!(received.n_again);
    fields
}
