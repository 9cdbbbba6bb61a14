//! Showing one reminder and what became of it.

use std::fmt::Write;

use jiff::Timestamp;
use punctual_engine::SystemClock;
use serde_json::Value;

use super::find::{self, find};
use super::style::{Style, neutral, of_status, width};
use super::{Context, User, print, print_json, when};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its id, the end of it, or its name
    #[arg(value_name = "REMINDER")]
    reminder: String,
    /// How many runs to show
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=500))]
    runs: u16,
    #[command(flatten)]
    user: User,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let mut reminder = find(&context.client, &args.reminder, args.user.named().as_deref()).await?;
    let path = format!("/v1/reminders/{}/occurrences", find::id(&reminder));
    let mut runs = context.client.get(&path, &[("limit", args.runs.to_string())]).await?;
    let runs = runs["occurrences"].take();
    if context.json {
        reminder["occurrences"] = runs;
        return print_json(&reminder);
    }
    print(&render(&reminder, &runs, context, SystemClock::read()))
}

fn render(reminder: &Value, runs: &Value, context: &Context, now: Timestamp) -> String {
    let paint = context.paint;
    let text = |field: &str| reminder[field].as_str().map(neutral);
    let time = |field: &str| when::instant(reminder, field).map(|at| when::both(at, &context.zone, now));
    let to: Vec<String> = reminder["to"].as_array().into_iter().flatten().map(address).collect();
    let ack =
        text("ack_prompt").or_else(|| reminder["require_ack"].as_bool().filter(|wanted| *wanted).map(|_| "yes".into()));
    let status = text("status").unwrap_or_default();
    let rows = [
        ("id", text("id")),
        ("name", text("name")),
        ("user", text("user")),
        ("message", text("message").map(|message| paint.with(Style::Bold, &message))),
        ("schedule", text("summary")),
        ("next", time("next_run_at")),
        ("status", Some(paint.with(of_status(&status), &status))),
        ("priority", text("priority").filter(|priority| priority != "normal")),
        ("to", (!to.is_empty()).then(|| to.join(", "))),
        ("answer", ack),
        ("last run", time("last_run_at").map(|at| format!("{at}  {}", text("last_status").unwrap_or_default()))),
        ("runs", reminder["total_runs"].as_u64().filter(|runs| *runs > 0).map(|runs| runs.to_string())),
        ("created", time("created_at")),
    ];
    let mut out = String::new();
    for (label, value) in rows {
        if let Some(value) = value {
            let fill = " ".repeat(10_usize.saturating_sub(width(label)));
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{}{fill}{value}", paint.with(Style::Dim, label));
        }
    }
    for run in runs.as_array().into_iter().flatten() {
        let state = run["state"].as_str().unwrap_or_default();
        let due = when::instant(run, "due_at").map(|at| when::both(at, &context.zone, now)).unwrap_or_default();
        let number = run["run_number"].as_u64().unwrap_or_default();
        let why = match run["why"].as_str() {
            Some("quiet") => " for the end of quiet hours",
            Some("paused") => " for the end of a pause",
            _ => "",
        };
        let _ = writeln!(out, "\nrun {number}  {}{why}  due {due}", paint.with(of_status(state), state));
        for attempt in run["attempts"].as_array().into_iter().flatten() {
            let _ = writeln!(out, "  {}", attempt_line(attempt, context, now));
        }
        for response in run["responses"].as_array().into_iter().flatten() {
            let word = |field: &str| neutral(response[field].as_str().unwrap_or_default());
            let at = when::instant(response, "at").map(|at| when::local(at, &context.zone, now)).unwrap_or_default();
            let _ = writeln!(out, "  {at}  {} by {}", word("response"), word("by"));
        }
    }
    out
}

fn attempt_line(attempt: &Value, context: &Context, now: Timestamp) -> String {
    let at = when::instant(attempt, "started_at").map(|at| when::local(at, &context.zone, now)).unwrap_or_default();
    let status = attempt["status"].as_str().unwrap_or_default();
    let status = context.paint.with(of_status(status), status);
    let error = attempt["error"].as_str().map(|error| format!(": {}", neutral(error))).unwrap_or_default();
    format!("{at}  {status} to {}{error}", address(attempt))
}

fn address(value: &Value) -> String {
    let part = |field: &str| neutral(value[field].as_str().unwrap_or_default());
    match part("address") {
        address if address.is_empty() => part("channel"),
        address => format!("{}:{address}", part("channel")),
    }
}
