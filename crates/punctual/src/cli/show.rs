//! Showing one reminder and what became of it.

use std::fmt::Write;

use jiff::Timestamp;
use punctual_core::id::OccurrenceId;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use serde_json::{Value, json};

use super::find::{self, find};
use super::style::{Paint, Style, neutral, of_status, width, wrap};
use super::table::line_width;
use super::{Context, User, print, print_json, when};

/// Where values begin.
const LABEL_WIDTH: usize = 10;
/// The narrowest that values are wrapped to.
const VALUE_WIDTH_MIN: usize = 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its id, the end of it, or its name; or the id of one of its runs
    #[arg(value_name = "REMINDER")]
    reminder: String,
    /// How many runs to show
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=500))]
    runs: u16,
    #[command(flatten)]
    user: User,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let (mut reminder, runs) = match args.reminder.parse::<OccurrenceId>() {
        Ok(id) => {
            let user = find::of(args.user.named().as_deref());
            let run = context.client.get(&format!("/v1/occurrences/{id}"), &user).await?;
            (context.client.get(&format!("/v1/reminders/{}", id.reminder), &user).await?, json!([run]))
        }
        Err(_) => {
            let reminder = find(&context.client, &args.reminder, args.user.named().as_deref()).await?;
            let path = format!("/v1/reminders/{}/occurrences", find::id(&reminder));
            let mut runs = context.client.get(&path, &[("limit", args.runs.to_string())]).await?;
            (reminder, runs["occurrences"].take())
        }
    };
    if context.json {
        reminder["occurrences"] = runs;
        return print_json(&reminder);
    }
    print(&render(&reminder, &runs, context, SystemClock::read()))
}

fn render(reminder: &Value, runs: &Value, context: &Context, now: Timestamp) -> String {
    let paint = context.paint;
    let text = |field: &str| reminder[field].as_str().map(neutral);
    let zone = &when::zone_of(reminder).unwrap_or_else(Zone::utc);
    let time = |field: &str| when::instant(reminder, field).map(|at| when::both(at, zone, now));
    let to: Vec<String> = reminder["to"].as_array().into_iter().flatten().map(address).collect();
    let ack =
        text("ack_prompt").or_else(|| reminder["require_ack"].as_bool().filter(|wanted| *wanted).map(|_| "yes".into()));
    let status = text("status").unwrap_or_default();
    let shown_status = match time("snoozed_until") {
        Some(until) => format!("{status}, snoozed until {until}"),
        None => status.clone(),
    };
    let rows = [
        ("id", text("id")),
        ("name", text("name")),
        ("user", text("user")),
        ("message", text("message")),
        ("schedule", text("summary")),
        ("next", time("next_run_at")),
        ("status", Some(shown_status)),
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
            let style = match label {
                "message" => Style::Bold,
                "status" => of_status(&status),
                _ => Style::Plain,
            };
            let max = line_width().map_or(usize::MAX, |max| max.saturating_sub(LABEL_WIDTH).max(VALUE_WIDTH_MIN));
            let lines = wrap(&value, max, usize::MAX);
            let lines: Vec<String> = lines.iter().map(|line| paint.with(style, line)).collect();
            let fill = " ".repeat(LABEL_WIDTH.saturating_sub(width(label)));
            let value = lines.join(&format!("\n{}", " ".repeat(LABEL_WIDTH)));
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{}{fill}{value}", paint.with(Style::Dim, label));
        }
    }
    for run in runs.as_array().into_iter().flatten() {
        let state = run["state"].as_str().unwrap_or_default();
        let due = when::instant(run, "due_at").map(|at| when::both(at, zone, now)).unwrap_or_default();
        let number = run["run_number"].as_u64().unwrap_or_default();
        let why = match run["why"].as_str() {
            Some("quiet") => " for the end of quiet hours",
            Some("paused") => " for the end of a pause",
            _ => "",
        };
        let due = if state == "snoozed" { format!(" until {due}") } else { format!("{why}  due {due}") };
        let _ = writeln!(out, "\nrun {number}  {}{due}", paint.with(of_status(state), state));
        for line in story(run, zone, context.paint, now) {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// What happened to one run, in the order in which it happened.
fn story(run: &Value, zone: &Zone, paint: Paint, now: Timestamp) -> Vec<String> {
    let list = |field: &str| run[field].as_array().into_iter().flatten();
    let word = |value: &Value, field: &str| neutral(value[field].as_str().unwrap_or_default());
    let mut lines = Vec::new();
    for attempt in list("attempts") {
        lines.push((when::instant(attempt, "started_at"), attempt_line(attempt, paint)));
    }
    for response in list("responses") {
        let line = format!("{} by {}", word(response, "response"), word(response, "by"));
        lines.push((when::instant(response, "at"), line));
    }
    // Answers are in the audit trail as well.
    for entry in list("audit").filter(|entry| !matches!(entry["action"].as_str(), Some("ack" | "snooze" | "dismiss"))) {
        let detail = entry["detail"].as_str().map(|detail| format!(": {}", neutral(detail))).unwrap_or_default();
        lines.push((when::instant(entry, "at"), format!("{}{detail}", word(entry, "action"))));
    }
    if let Some(at) = when::instant(run, "retry_at") {
        // What an attempt has said is there already.
        let said = list("attempts").any(|attempt| attempt["error"] == run["error"]);
        let why = run["error"].as_str().filter(|_| !said).map(|why| format!(": {}", neutral(why))).unwrap_or_default();
        lines.push((Some(at), paint.with(Style::Dim, &format!("to be tried again{why}"))));
    }
    lines.sort_by_key(|(at, _)| *at);
    let show = |(at, line): (Option<Timestamp>, String)| {
        let at = at.map(|at| when::local(at, zone, now)).unwrap_or_default();
        format!("{at}  {line}")
    };
    lines.into_iter().map(show).collect()
}

fn attempt_line(attempt: &Value, paint: Paint) -> String {
    let status = attempt["status"].as_str().unwrap_or_default();
    let status = paint.with(of_status(status), status);
    let id = attempt["message_id"].as_str().map(|id| format!(", as {}", neutral(id))).unwrap_or_default();
    let together = if attempt["digest"].as_bool() == Some(true) { " in one message with others" } else { "" };
    let error = attempt["error"].as_str().map(|error| format!(": {}", neutral(error))).unwrap_or_default();
    format!("{status} to {}{id}{together}{error}", address(attempt))
}

fn address(value: &Value) -> String {
    let part = |field: &str| neutral(value[field].as_str().unwrap_or_default());
    match part("address") {
        address if address.is_empty() => part("channel"),
        address => format!("{}:{address}", part("channel")),
    }
}
