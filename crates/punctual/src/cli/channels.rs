//! The ways to reach people.

use std::time::Duration;

use anyhow::anyhow;
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use reqwest::Method;
use serde_json::{Value, json};

use super::style::Style;
use super::table::{Cell, Table};
use super::{Context, find, print, print_json};

/// How long a test message may take.
const TEST_FOR: Duration = Duration::from_secs(30);
/// How often is looked whether it has arrived.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List channels
    List,
    /// Send a test message, and say what became of it
    Test {
        /// The channel's name
        channel: String,
        /// Where to send
        #[arg(default_value = "")]
        address: String,
    },
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => list(context).await,
        Command::Test { channel, address } => test(channel, address, context).await,
    }
}

async fn list(context: &Context) -> anyhow::Result<()> {
    let page = context.client.get("/v1/channels", &[]).await?;
    if context.json {
        return print_json(&page);
    }
    let mut table = Table::new(&["CHANNEL", "AT ONCE", ""]);
    for channel in page["channels"].as_array().into_iter().flatten() {
        table.push(vec![
            Cell::new(channel["name"].as_str().unwrap_or_default(), Style::Cyan),
            Cell::plain(&channel["concurrency"].to_string()),
            Cell::new(if channel["default"] == true { "used when nobody says where" } else { "" }, Style::Dim),
        ]);
    }
    print(&table.render(context.paint))
}

/// A test is a reminder that is due now and is not tried again: it goes the way every reminder goes.
async fn test(channel: &str, address: &str, context: &Context) -> anyhow::Result<()> {
    let body = json!({
        "message": "This is a test from punctual.",
        "schedule": { "type": "once", "at": "in 0s" },
        "to": [{ "channel": channel, "address": address }],
        "max_retries": 0,
        "created_via": "cli",
    });
    let reminder = context.client.send(Method::POST, "/v1/reminders", Some(body)).await?;
    let path = format!("/v1/reminders/{}/occurrences", find::id(&reminder));
    let clock = SystemClock::start();
    let give_up_at = clock.now() + TEST_FOR;
    let run = loop {
        let mut page = context.client.get(&path, &[]).await?;
        let run = page["occurrences"][0].take();
        if matches!(run["state"].as_str(), Some("delivered" | "failed")) || clock.now() > give_up_at {
            break run;
        }
        clock.sleep_until(clock.now() + LOOK_EVERY).await;
    };
    if context.json {
        print_json(&run)?;
    }
    if run["state"] == "delivered" {
        return if context.json { Ok(()) } else { print("delivered\n") };
    }
    Err(anyhow!("{channel}: {}", failure(&run)))
}

fn failure(run: &Value) -> String {
    let attempt = run["attempts"].as_array().and_then(|attempts| attempts.last());
    let error = attempt.and_then(|attempt| attempt["error"].as_str()).or(run["error"].as_str());
    error.map_or_else(|| format!("no answer within {} s", TEST_FOR.as_secs()), str::to_owned)
}
