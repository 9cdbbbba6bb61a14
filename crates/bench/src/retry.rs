//! How much memory, while many wait to be tried again.
//!
//! A node holds a bounded number of deliveries at once, and the store keeps the others. So five times as many should cost no more.

use std::sync::Arc;

use anyhow::ensure;
use jiff::SignedDuration;
use punctual_core::clock::{Clock, Random};
use punctual_core::reminder::Address;
use punctual_core::store::Create;
use punctual_engine::{SystemClock, SystemRandom};
use serde_json::json;

use super::Common;
use super::place::Place;
use super::receiver::{Mood, Receiver};
use super::report::{Report, Table, count};
use super::rig::{self, Wanted, plus};
use super::server::{Memory, Server};

/// How long before the instant creating begins.
const AHEAD: SignedDuration = SignedDuration::from_secs(4);
/// And a second more for so many, which are created meanwhile.
const CREATED_A_SECOND: usize = 10_000;
/// How many times as many are waited for in the end.
const TIMES: usize = 5;
/// How long to wait until all have been tried once.
const WAIT_MAX: SignedDuration = SignedDuration::from_secs(120);
const LOOK_AGAIN: SignedDuration = SignedDuration::from_millis(200);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many deliveries wait
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    count: usize,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    ensure!(args.count > 0, "--count must be at least 1");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    let mut receiver = Receiver::start_with(Mood::Fails, 1, &*clock).await?;
    let n_few = args.count.div_ceil(TIMES);
    let few = match place.within("few")? {
        Some(few) => measure(&few, n_few, &receiver, &*clock).await?,
        None => measure(&place, n_few, &receiver, &*clock).await?,
    };
    let many = measure(&place, args.count, &receiver, &*clock).await?;
    let seen = receiver.seen().await?;

    let title = format!("retry: memory of the server while {} deliveries wait to be tried again", count(args.count));
    let mut report = Report::new("retry", title);
    let mut table = Table::new(["deliveries", "at the start", "while they wait", "at most"]);
    for (n, (start, waiting)) in [(n_few, few), (args.count, many)] {
        let megabytes = |bytes| format!("{:.1} MB", Memory::megabytes(bytes));
        table.row([count(n), megabytes(start.now), megabytes(waiting.now), megabytes(waiting.peak)]);
        report.field(
            if n == args.count { "many" } else { "few" },
            json!({ "count": n, "start_mb": Memory::megabytes(start.now), "waiting_mb": Memory::megabytes(waiting.now),
                "max_mb": Memory::megabytes(waiting.peak) }),
        );
    }
    report.table(table);
    report.note(format!(
        "Memory is resident. The receiver fails and was called {} times in all.",
        count(seen.n_requests)
    ));
    report.note(place.note());
    Ok(report)
}

/// The memory of a server at its start, and while `n_waiting` wait.
async fn measure(
    place: &Place,
    n_waiting: usize,
    receiver: &Receiver,
    clock: &dyn Clock,
) -> anyhow::Result<(Memory, Memory)> {
    let instant = {
        let store = place.open().await?;
        let instant = rig::soon(plus_seconds(AHEAD, n_waiting / CREATED_A_SECOND));
        let to = Address::new("webhook", receiver.url());
        let now = clock.now();
        for batch in (0..n_waiting).collect::<Vec<_>>().chunks(1000) {
            let wanted = |number: &usize| Wanted { user: format!("u{number}"), due_at: instant, to: vec![to.clone()] };
            let new = batch.iter().map(|number| rig::new_reminder(wanted(number), SystemRandom.ten(), now));
            let create = Create { reminders: new.collect(), who: "bench".into(), answered: None, now };
            store.create(create).await?;
        }
        instant
    };
    let server = Server::start_with(place, &["--webhook-allow-private"], clock).await?;
    ensure!(clock.now() < instant, "the instant came before the server was ready; try a smaller --count");
    let start = server.memory()?;
    clock.sleep_until(instant).await;
    let give_up_at = plus(instant, WAIT_MAX);
    loop {
        let n_failed = server.metric("punctual_attempts_total").await?;
        if n_failed >= n_waiting as f64 || clock.now() > give_up_at {
            break;
        }
        clock.sleep_until(plus(clock.now(), LOOK_AGAIN)).await;
    }
    let waiting = server.memory()?;
    server.stop(clock).await?;
    Ok((start, waiting))
}

fn plus_seconds(span: SignedDuration, seconds: usize) -> SignedDuration {
    span.saturating_add(SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(0)))
}
