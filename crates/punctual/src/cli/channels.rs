//! The ways to reach people.

use std::fmt::Write;

use anyhow::anyhow;
use punctual_core::channel::SendOutcome;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;

use super::style::{Style, neutral};
use super::table::{Cell, Table};
use super::{Context, print, print_json, when};
use crate::wire::{Gate, PageQuery, Receives, Revive, Test};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List channels, how much each may send, and what is held back
    List,
    /// Send a real test message, and explain the answer
    Test {
        /// The channel's name
        channel: String,
        /// Where to send
        #[arg(default_value = "")]
        address: String,
    },
    /// List addresses that their platform calls dead
    Dead,
    /// Use a dead address again
    Revive {
        /// The channel's name
        channel: String,
        /// Which address
        address: String,
    },
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => list(context).await,
        Command::Test { channel, address } => test(channel, address, context).await,
        Command::Dead => dead(context).await,
        Command::Revive { channel, address } => revive(channel, address, context).await,
    }
}

async fn list(context: &Context) -> anyhow::Result<()> {
    let page = context.client.channels().await?;
    if context.json {
        return print_json(&page);
    }
    let mut table =
        Table::new(&["CHANNEL", "KIND", "AT ONCE", "RATE", "EACH ADDRESS", "SENDING", "WAITING", "ANSWERS", ""]);
    let (mut closed, mut troubles) = (String::new(), String::new());
    let zone = context.zone().await?;
    for channel in &page.channels {
        // A bound key does not see how much goes by a channel.
        let count = |n: Option<usize>| n.map_or_else(|| "–".to_owned(), |n| n.to_string());
        table.push(vec![
            Cell::new(&channel.name, Style::Cyan),
            Cell::plain(&channel.kind),
            Cell::plain(&channel.concurrency.to_string()),
            Cell::plain(channel.rate.as_deref().unwrap_or("–")),
            Cell::plain(channel.address_rate.as_deref().unwrap_or("–")),
            Cell::plain(&count(channel.sending)),
            Cell::plain(&count(channel.waiting)),
            answers_cell(channel.receives.as_ref()),
            Cell::new(if channel.default { "used when nobody says where" } else { "" }, Style::Dim),
        ]);
        if let Some(error) = channel.receives.as_ref().and_then(|receives| receives.error.as_deref()) {
            let _ = writeln!(troubles, "{}: {}", channel.name, neutral(error));
        }
        for gate in channel.closed.iter().flatten() {
            let _ = writeln!(closed, "{} {}", channel.name, gate_line(gate, &zone));
        }
    }
    print(&table.render(context.paint))?;
    for warning in &page.warnings {
        print(&format!("\n{} {}\n", context.paint.with(Style::Yellow, "warning:"), neutral(warning)))?;
    }
    if !troubles.is_empty() {
        print(&format!("\nNo answers come now:\n{troubles}"))?;
    }
    if closed.is_empty() { Ok(()) } else { print(&format!("\nLeft alone now:\n{closed}")) }
}

/// How answers come, such as `connected`.
fn answers_cell(receives: Option<&Receives>) -> Cell {
    let Some(receives) = receives else { return Cell::new("–", Style::Dim) };
    let style = match &*receives.state {
        "refused" => Style::Red,
        "connecting" => Style::Yellow,
        _ => Style::Green,
    };
    match (&*receives.state, &receives.node) {
        ("elsewhere", Some(node)) => Cell::plain(&format!("at {}", neutral(node))),
        (state, _) => Cell::new(&neutral(state), style),
    }
}

/// Such as `https://example.org:443: broken until Mon 2 Mar 08:00:05 Europe/Berlin  in 3 s (12 failures in a row)`.
fn gate_line(gate: &Gate, zone: &Zone) -> String {
    let why = match &*gate.why {
        "throttled" => "asked to wait",
        "broken" => "only fails",
        "trying" => "is being tried again",
        why => &neutral(why),
    };
    let until = gate.until.map(|at| when::both(at, zone, SystemClock::read()));
    let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
    let failures = match gate.failures {
        0 => String::new(),
        n => format!(" ({n} failures in a row)"),
    };
    format!("{}: {why}{until}{failures}", neutral(&gate.to))
}

async fn test(channel: &str, address: &str, context: &Context) -> anyhow::Result<()> {
    let told = context.client.test_channel(channel, &Test { address: Some(address.to_owned()), message: None }).await?;
    if context.json {
        print_json(&told)?;
    }
    let (outcome, meaning) = (neutral(told.outcome.as_str()), neutral(&told.meaning));
    let error = told.error.as_deref().map(|error| format!(": {}", neutral(error))).unwrap_or_default();
    if told.outcome != SendOutcome::Sent {
        return Err(anyhow!("{channel}: {outcome}{error}; {meaning}"));
    }
    if context.json {
        return Ok(());
    }
    let id = told.message_id.as_deref().map(|id| format!(", as {}", neutral(id))).unwrap_or_default();
    print(&format!("{}{id}, in {:.0} ms: {meaning}\n", context.paint.with(Style::Green, "sent"), told.took_ms))
}

async fn dead(context: &Context) -> anyhow::Result<()> {
    let page = context.client.dead_addresses(&PageQuery { limit: Some(500), cursor: None }).await?;
    if context.json {
        return print_json(&page);
    }
    if page.dead_addresses.is_empty() {
        return print("No address is known to be dead.\n");
    }
    let zone = context.zone().await?;
    let mut table = Table::new(&["CHANNEL", "ADDRESS", "SINCE", "WHY"]);
    for dead in &page.dead_addresses {
        table.push(vec![
            Cell::new(&neutral(&dead.channel), Style::Cyan),
            Cell::plain(&neutral(&dead.address)),
            Cell::plain(&when::labelled(dead.since, &zone, SystemClock::read())),
            Cell::plain(&neutral(&dead.reason)),
        ]);
    }
    print(&table.render(context.paint))
}

async fn revive(channel: &str, address: &str, context: &Context) -> anyhow::Result<()> {
    let told = context.client.revive(channel, &Revive { address: Some(address.to_owned()) }).await?;
    match context.json {
        true => print_json(&told),
        false => print(&format!("{channel}:{} is used again\n", neutral(address))),
    }
}
