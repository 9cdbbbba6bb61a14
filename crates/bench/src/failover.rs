//! `bench failover`: one of several nodes is killed in the middle of its work, again and again.
//!
//! The other nodes take over the runs that it had not claimed when they see that these are late, and the runs that it had claimed when
//! their lease has ended; a run that it had sent already is sent once more under the same key. The bench reads from the database which
//! runs were claimed, right after the kill.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::{Clock, Random};
use punctual_core::id::OccurrenceId;
use punctual_core::reminder::Address;
use punctual_engine::{SystemClock, SystemRandom, machine};
use punctual_store::postgres::Session;
use serde_json::Value;

use super::nodes::{Asked, Nodes};
use super::place::{Place, progress};
use super::report::{Report, Table, count};
use super::rig::{self, plus};
use super::sink::{Arrival, Sink};
use super::summary::Summary;
use super::{Channel, Common};

/// How long before the first instant everything is in place.
const AHEAD: SignedDuration = SignedDuration::from_secs(2);
/// How long after the last instant to wait for messages that have not come: a lease, and more.
const WAIT_MAX: SignedDuration = SignedDuration::from_secs(40);
/// How often to look whether everything has ended.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_millis(50);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many nodes, one of which is killed
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=64))]
    nodes: u16,
    /// How many times one is killed
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    kills: u16,
    /// How many reminders around each kill
    #[arg(long, default_value_t = 4_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    /// Over how many seconds they are due
    #[arg(long, default_value_t = 8, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=600))]
    over: u32,
}

/// What became of the reminders around the kills.
#[derive(Default)]
struct Found {
    /// Lateness of what the dead node had not claimed and others were to send.
    unclaimed: Vec<SignedDuration>,
    /// Of what it had claimed and not sent.
    claimed: Vec<SignedDuration>,
    n_sent_before: usize,
    n_again: usize,
    n_extra_again: usize,
    n_early: usize,
    n_lost: usize,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    ensure!(
        common.options.database.is_some(),
        "failover needs several nodes on one PostgreSQL: --database postgres://…"
    );
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    // Refuses a database that is not the bench's, and makes the schema.
    drop(place.open().await?);
    let session = Session::open(&place.url(), &machine()).await?;
    let mut sink = Sink::open(Channel::Webhook, &*clock).await?;
    let mut nodes = Nodes::start(&place, usize::from(args.nodes), &*clock).await?;
    let mut found = Found::default();
    let bar = progress(usize::from(args.kills), "kills");
    for _ in 0..args.kills {
        round(args, &mut nodes, &session, &mut sink, &*clock, &mut found).await?;
        nodes.add(&place, &*clock).await?;
        nodes.divided(&*clock).await?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    nodes.stop(&*clock).await?;
    report(args, found, &place)
}

/// Kills one node in the middle of a steady load and waits until everything has ended.
async fn round(
    args: &Args,
    nodes: &mut Nodes,
    session: &Session,
    sink: &mut Sink,
    clock: &dyn Clock,
    found: &mut Found,
) -> anyhow::Result<()> {
    let over = SignedDuration::from_secs(args.over.into());
    let first = rig::soon(AHEAD);
    let instants = rig::instants(first, args.count as usize, over);
    let to = sink.address().address;
    let asked = nodes.create(&to, &instants).await?;
    ensure!(clock.now() < first, "the reminders were due before all of them were created; try a smaller --count");
    // Somewhere in the middle third.
    let share = (1.0 + SystemRandom.unit()) / 3.0;
    clock.sleep_until(plus(first, SignedDuration::from_secs_f64(over.as_secs_f64() * share))).await;

    let victim = (SystemRandom.unit() * nodes.servers.len() as f64) as usize;
    let victim = nodes.servers.remove(victim);
    let pid = victim.id();
    // SIGKILL: nothing of it runs any more when this returns.
    drop(victim);
    let killed_at = clock.now();
    let sql =
        format!("select reminder_id::text from punctual.occurrence where state = 'processing' and node like '{pid}-%'");
    let claimed: HashSet<String> = session.texts(&sql).await?.into_iter().collect();

    let give_up_at = plus(instants.last().copied().unwrap_or(first), WAIT_MAX);
    while session
        .texts("select 'one' from punctual.occurrence where wake_at < now() + interval '1 minute' limit 1")
        .await?
        != [""; 0]
    {
        ensure!(clock.now() < give_up_at, "some reminders have not ended long after the kill");
        clock.sleep_until(plus(clock.now(), LOOK_AGAIN)).await;
    }
    let arrivals = sink.all(asked.len(), clock, give_up_at).await?;
    compare(&asked, &claimed, &arrivals, &to, killed_at, found)
}

fn compare(
    asked: &[Asked],
    claimed: &HashSet<String>,
    arrivals: &[Arrival],
    to: &str,
    killed_at: Timestamp,
    found: &mut Found,
) -> anyhow::Result<()> {
    let mut by_key: HashMap<&str, Vec<&Arrival>> = HashMap::new();
    for arrival in arrivals {
        found.n_early += usize::from(arrival.late().is_negative());
        by_key.entry(&arrival.key).or_default().push(arrival);
    }
    let to = Address::new("webhook", to);
    for Asked { id, due_at } in asked {
        let reminder = id.parse().map_err(|error| anyhow::anyhow!("{error}"))?;
        let key = OccurrenceId { reminder, run: 1 }.idempotency_key(&to, 0);
        let Some(came) = by_key.get(key.as_str()) else {
            found.n_lost += 1;
            continue;
        };
        let first = came.iter().min_by_key(|arrival| arrival.at).context("a key without arrivals")?;
        let is_claimed = claimed.contains(id);
        if is_claimed && first.at <= killed_at {
            found.n_sent_before += 1;
            found.n_again += came.len() - 1;
            continue;
        }
        found.n_extra_again += came.len() - 1;
        if is_claimed {
            found.claimed.push(first.late());
        } else if *due_at > killed_at {
            found.unclaimed.push(first.late());
        }
    }
    Ok(())
}

fn report(args: &Args, found: Found, place: &Place) -> anyhow::Result<Report> {
    let title = format!(
        "failover: one of {} nodes killed {} times, {} reminders over {} s around each kill; lateness where they are received",
        args.nodes,
        args.kills,
        count(args.count as usize),
        args.over
    );
    let mut report = Report::new("failover", title);
    let mut table = Table::new([""].into_iter().chain(["reminders"]).chain(Summary::COLUMNS));
    let (unclaimed, claimed) = (Summary::of(found.unclaimed), Summary::of(found.claimed));
    for (name, late) in
        [("due after the kill, not claimed", &unclaimed), ("claimed by the dead node, not sent", &claimed)]
    {
        table.row([name.to_owned(), count(late.len())].into_iter().chain(late.cells()));
    }
    report.table(table);
    report.note(format!(
        "{} more were claimed and had been sent when the node died, too late to be written down; {} of them were sent once more \
         under the same key, when the lease had ended.",
        count(found.n_sent_before),
        count(found.n_again)
    ));
    report.note(place.note());
    let counted = |late: &Summary| -> Value {
        let mut fields = late.json();
        fields["reminders"] = late.len().into();
        fields
    };
    report.field("nodes", args.nodes);
    report.field("kills", args.kills);
    report.field("unclaimed", counted(&unclaimed));
    report.field("claimed", counted(&claimed));
    report.field("sent_before_the_kill", found.n_sent_before);
    report.field("sent_again_under_the_same_key", found.n_again);
    let broken = [("lost", found.n_lost), ("early", found.n_early), ("twice_without_need", found.n_extra_again)];
    for (name, n) in broken {
        report.field(name, n);
    }
    ensure!(broken.iter().all(|(_, n)| *n == 0), "a guarantee was broken: {broken:?}\n{}", report.text());
    Ok(report)
}
