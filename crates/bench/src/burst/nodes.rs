//! The same with several nodes: what they send together, beside what one of them sends alone.

use std::sync::Arc;

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_core::store::Store;
use punctual_engine::SystemClock;
use serde_json::{Value, json};

use super::{AHEAD, Args, CREATED_BEFORE, WAIT_MAX, plus_seconds};
use crate::nodes::Nodes;
use crate::place::{self, Place};
use crate::report::{Report, Table, count, milliseconds, per_second, rate};
use crate::rig::{self, plus};
use crate::sink::{Received, Sink};
use crate::{Channel, Common, limit};

/// One burst.
struct Burst {
    instant: Timestamp,
    received: Received,
    last_at: Timestamp,
    settled_at: Timestamp,
    /// How many each node sent.
    shares: Vec<usize>,
}

impl Burst {
    fn took(&self) -> SignedDuration {
        self.last_at.duration_since(self.instant)
    }

    fn rate(&self) -> f64 {
        rate(self.received.n_received, self.took())
    }
}

pub(super) async fn run(args: &Args, n_nodes: usize, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    let store: Arc<dyn Store> = place.open().await?;
    let n_others = place::fill(&*store, args.pending).await?;
    let mut sink = Sink::open(Channel::Webhook, &*clock).await?;

    let begun_at = limit::sends(args.count, &sink).await?;
    let sent = Received::of(&sink.all(args.count, &*clock, plus(begun_at, WAIT_MAX)).await?);
    let sent_for = sent.last_at.context("nothing arrived without punctual either")?.duration_since(begun_at);

    let one = middle(args, 1, &place, &mut sink, &*clock).await?;
    let all = middle(args, n_nodes, &place, &mut sink, &*clock).await?;
    let n_left = place::pending(&*store).await? - n_others;
    let ratio = all.rate() / one.rate();

    let mut report = Report::new(
        "burst",
        format!(
            "burst: {} reminders at one instant, webhook, {n_nodes} nodes and one, {} others pending; the middle of {} rounds each",
            count(args.count),
            count(n_others),
            args.rounds
        ),
    );
    let mut table = Table::new([
        "",
        "rate",
        "first",
        "p50",
        "last",
        "all settled",
        "early",
        "received",
        "twice",
        "sent by each node",
    ]);
    table.row(row("1 node", &one));
    table.row(row(&format!("{n_nodes} nodes"), &all));
    let mut limit =
        vec!["plain loop of the same webhook: the limit".to_owned(), per_second(rate(sent.n_received, sent_for))];
    limit.extend([String::new(), String::new(), milliseconds(sent_for), String::new(), String::new()]);
    limit.extend([count(sent.n_received), count(sent.n_again)]);
    table.row(limit);
    report.table(table);
    report.note(format!("{n_nodes} nodes together sent at {:.0}% of one node's rate.", ratio * 100.0));
    if n_left > 0 {
        report.note(format!("{} reminders are still pending, and should not be.", count(n_left)));
    }
    report.note(place.note());
    report.field("count", args.count);
    report.field("nodes", n_nodes);
    report.field("pending", n_others);
    report.field("one_node", fields(&one));
    report.field("all_nodes", fields(&all));
    report.field("ratio", ratio);
    report.field("not_settled", n_left);
    report.field("limit_per_second", rate(sent.n_received, sent_for));
    Ok(report)
}

/// The middle one of several bursts, by rate.
async fn middle(
    args: &Args,
    n_nodes: usize,
    place: &Place,
    sink: &mut Sink,
    clock: &dyn Clock,
) -> anyhow::Result<Burst> {
    let nodes = Nodes::start(place, n_nodes, clock).await?;
    let mut bursts = Vec::new();
    for _ in 0..args.rounds {
        bursts.push(burst(args, &nodes, sink, clock).await?);
    }
    nodes.stop(clock).await?;
    bursts.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
    let middle = bursts.len() / 2;
    bursts.into_iter().nth(middle).context("--rounds must be at least 1")
}

async fn burst(args: &Args, nodes: &Nodes, sink: &mut Sink, clock: &dyn Clock) -> anyhow::Result<Burst> {
    let before = nodes.attempts().await?;
    // Over HTTP, a thousand are created in a second on a slow machine.
    let seconds = i64::try_from(args.count / 1_000).unwrap_or(0);
    let instant = rig::soon(plus_seconds(AHEAD, seconds));
    nodes.create(&sink.address().address, &vec![instant; args.count]).await?;
    ensure!(
        plus(clock.now(), CREATED_BEFORE) < instant,
        "the instant came before all reminders were created; try again, or with a smaller --count"
    );
    let give_up_at = plus(instant, WAIT_MAX);
    clock.sleep_until(instant).await;
    let received = Received::of(&sink.all(args.count, clock, give_up_at).await?);
    let settled_at = nodes.settled(clock, give_up_at).await?;
    let after = nodes.attempts().await?;
    let shares = before.iter().zip(after).map(|(before, after)| after - before).collect();
    let last_at = received.last_at.context("nothing arrived")?;
    Ok(Burst { instant, received, last_at, settled_at, shares })
}

fn row(name: &str, burst: &Burst) -> Vec<String> {
    let late = &burst.received.late;
    let shares: Vec<String> = burst.shares.iter().map(|n| count(*n)).collect();
    vec![
        name.to_owned(),
        per_second(burst.rate()),
        late.percentile(0.0).map_or_else(String::new, milliseconds),
        late.percentile(50.0).map_or_else(String::new, milliseconds),
        milliseconds(burst.took()),
        milliseconds(burst.settled_at.duration_since(burst.instant)),
        count(late.n_negative()),
        count(burst.received.n_received),
        count(burst.received.n_again),
        shares.join(" "),
    ]
}

/// The numbers of one burst as JSON.
fn fields(burst: &Burst) -> Value {
    json!({
        "rate_per_second": burst.rate(),
        "lateness": burst.received.late.json(),
        "last_arrival_ms": burst.took().as_secs_f64() * 1e3,
        "early": burst.received.late.n_negative(),
        "received": burst.received.n_received,
        "twice": burst.received.n_again,
        "sent_by_each_node": burst.shares,
    })
}
