//! The ways to reach people.

use std::fmt::Write;

use anyhow::anyhow;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::escaped;
use super::style::{Style, neutral};
use super::table::{Cell, Table};
use super::{Context, print, print_json, when};

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
    let page = context.client.get("/v1/channels", &[]).await?;
    if context.json {
        return print_json(&page);
    }
    let mut table = Table::new(&["CHANNEL", "KIND", "AT ONCE", "RATE", "EACH ADDRESS", "SENDING", "WAITING", ""]);
    let mut closed = String::new();
    let zone = context.zone().await?;
    let channels = || page["channels"].as_array().into_iter().flatten();
    for channel in channels() {
        let text = |field: &str| channel[field].as_str().unwrap_or("–").to_owned();
        table.push(vec![
            Cell::new(&text("name"), Style::Cyan),
            Cell::plain(&text("kind")),
            Cell::plain(&channel["concurrency"].to_string()),
            Cell::plain(&text("rate")),
            Cell::plain(&text("address_rate")),
            Cell::plain(&channel["sending"].to_string()),
            Cell::plain(&channel["waiting"].to_string()),
            Cell::new(if channel["default"] == true { "used when nobody says where" } else { "" }, Style::Dim),
        ]);
        for gate in channel["closed"].as_array().into_iter().flatten() {
            let _ = writeln!(closed, "{} {}", text("name"), gate_line(gate, &zone));
        }
    }
    print(&table.render(context.paint))?;
    for warning in page["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        print(&format!("\n{} {}\n", context.paint.with(Style::Yellow, "warning:"), neutral(warning)))?;
    }
    if closed.is_empty() { Ok(()) } else { print(&format!("\nLeft alone now:\n{closed}")) }
}

/// Such as `https://example.org:443: broken until Mon 2 Mar 08:00:05 Europe/Berlin  in 3 s (12 failures in a row)`.
fn gate_line(gate: &Value, zone: &Zone) -> String {
    let why = match gate["why"].as_str() {
        Some("throttled") => "asked to wait",
        Some("broken") => "only fails",
        _ => "is being tried again",
    };
    let until = when::instant(gate, "until").map(|at| when::both(at, zone, SystemClock::read()));
    let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
    let failures = match gate["failures"].as_u64() {
        Some(n) if n > 0 => format!(" ({n} failures in a row)"),
        _ => String::new(),
    };
    format!("{}: {why}{until}{failures}", neutral(gate["to"].as_str().unwrap_or_default()))
}

async fn test(channel: &str, address: &str, context: &Context) -> anyhow::Result<()> {
    let path = format!("/v1/channels/{}/test", escaped(channel));
    let told = context.client.send(Method::POST, &path, Some(json!({ "address": address }))).await?;
    if context.json {
        print_json(&told)?;
    }
    let text = |field: &str| told[field].as_str().map(neutral);
    let (outcome, meaning) = (text("outcome").unwrap_or_default(), text("meaning").unwrap_or_default());
    let error = text("error").map(|error| format!(": {error}")).unwrap_or_default();
    if outcome != "sent" {
        return Err(anyhow!("{channel}: {outcome}{error}; {meaning}"));
    }
    if context.json {
        return Ok(());
    }
    let id = text("message_id").map(|id| format!(", as {id}")).unwrap_or_default();
    let took = told["took_ms"].as_f64().unwrap_or_default();
    print(&format!("{}{id}, in {took:.0} ms: {meaning}\n", context.paint.with(Style::Green, "sent")))
}

async fn dead(context: &Context) -> anyhow::Result<()> {
    let page = context.client.get("/v1/dead-addresses", &[("limit", "500".into())]).await?;
    if context.json {
        return print_json(&page);
    }
    let dead = page["dead_addresses"].as_array().map(Vec::as_slice).unwrap_or_default();
    if dead.is_empty() {
        return print("No address is known to be dead.\n");
    }
    let zone = context.zone().await?;
    let mut table = Table::new(&["CHANNEL", "ADDRESS", "SINCE", "WHY"]);
    for entry in dead {
        let text = |field: &str| neutral(entry[field].as_str().unwrap_or_default());
        let since = when::instant(entry, "since").map(|at| when::labelled(at, &zone, SystemClock::read()));
        table.push(vec![
            Cell::new(&text("channel"), Style::Cyan),
            Cell::plain(&text("address")),
            Cell::plain(&since.unwrap_or_default()),
            Cell::plain(&text("reason")),
        ]);
    }
    print(&table.render(context.paint))
}

async fn revive(channel: &str, address: &str, context: &Context) -> anyhow::Result<()> {
    let path = format!("/v1/channels/{}/revive", escaped(channel));
    let told = context.client.send(Method::POST, &path, Some(json!({ "address": address }))).await?;
    match context.json {
        true => print_json(&told),
        false => print(&format!("{channel}:{} is used again\n", neutral(address))),
    }
}
