//! Showing one reminder and what became of it.

use std::fmt::Write;

use jiff::Timestamp;
use punctual_core::id::OccurrenceId;
use punctual_core::reminder::Priority;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use serde::Serialize;

use super::add::steps_words;
use super::find::find;
use super::style::{Paint, Style, neutral, of_status, width, wrap};
use super::table::line_width;
use super::told::told;
use super::{Context, User, print, print_json, when};
use crate::wire::{Attempt, Occurrence, PageQuery, Reminder, Response, UserQuery};

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

/// A reminder with its runs, for programs.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    reminder: Reminder<'static>,
    occurrences: Vec<Occurrence>,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let client = &context.client;
    let (reminder, occurrences) = match args.reminder.parse::<OccurrenceId>() {
        Ok(id) => {
            let user = UserQuery::of(args.user.named().as_deref());
            let run = client.occurrence(&id.to_string(), &user).await?;
            (client.reminder(&id.reminder.to_string(), &user).await?, vec![run])
        }
        Err(_) => {
            let reminder = find(client, &args.reminder, args.user.named().as_deref()).await?;
            let page = PageQuery { limit: Some(args.runs.into()), cursor: None };
            let runs = client.occurrences(&reminder.id, &page).await?;
            (reminder, runs.occurrences)
        }
    };
    if context.json {
        return print_json(&Shown { reminder, occurrences });
    }
    print(&render(&reminder, &occurrences, context, SystemClock::read()))
}

fn render(reminder: &Reminder<'_>, runs: &[Occurrence], context: &Context, now: Timestamp) -> String {
    let paint = context.paint;
    let zone = &when::zone_of(reminder);
    let time = |at: Option<Timestamp>| at.map(|at| when::both(at, zone, now));
    let to: Vec<String> = reminder.to.iter().map(|to| address(&to.channel, &to.address)).collect();
    let ack = reminder.ack_prompt.as_deref().map(neutral).or_else(|| reminder.require_ack.then(|| "yes".into()));
    let status = reminder.status.as_str();
    let shown_status = match time(reminder.snoozed_until) {
        Some(until) => format!("{status}, snoozed until {until}"),
        None => status.to_owned(),
    };
    let last_status = reminder.last_status.as_ref().map_or("", |status| status.as_str());
    let rows = [
        ("id", Some(neutral(&reminder.id))),
        ("name", reminder.name.as_deref().map(neutral)),
        ("user", Some(neutral(&reminder.user))),
        ("message", Some(neutral(&reminder.message))),
        ("schedule", Some(neutral(&reminder.summary))),
        ("next", time(reminder.next_run_at)),
        ("status", Some(neutral(&shown_status))),
        ("priority", (reminder.priority != Priority::Normal).then(|| neutral(reminder.priority.as_str()))),
        ("to", (!to.is_empty()).then(|| to.join(", "))),
        ("tags", (!reminder.tags.is_empty()).then(|| neutral(&reminder.tags.join(", ")))),
        ("answer", ack),
        ("escalate", steps_words(&reminder.escalate).map(|steps| neutral(&steps))),
        ("asks for", reminder.escalates.as_deref().map(neutral)),
        ("last run", time(reminder.last_run_at).map(|at| format!("{at}  {}", neutral(last_status)))),
        ("runs", (reminder.total_runs > 0).then(|| reminder.total_runs.to_string())),
        ("created", time(Some(reminder.created_at))),
    ];
    let mut out = String::new();
    for (label, value) in rows {
        if let Some(value) = value {
            let style = match label {
                "message" => Style::Bold,
                "status" => of_status(status),
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
    for run in runs {
        let (state, number) = (run.state.as_str(), run.run_number);
        let due = when::both(run.due_at, zone, now);
        let why = match run.why.as_ref().map(|why| why.as_str()) {
            Some("quiet") => " for the end of quiet hours".to_owned(),
            Some("paused") => " for the end of a pause".to_owned(),
            Some("silenced") => " for the end of a silence".to_owned(),
            Some(why) => format!(", {}", neutral(why)),
            None => String::new(),
        };
        let due = if state == "snoozed" { format!(" until {due}") } else { format!("{why}  due {due}") };
        let _ = writeln!(out, "\nrun {number}  {}{due}", paint.with(of_status(state), &neutral(state)));
        for line in story(run, &reminder.user, zone, context.paint, now) {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// What happened to one run, in the order in which it happened.
fn story(run: &Occurrence, whose: &str, zone: &Zone, paint: Paint, now: Timestamp) -> Vec<String> {
    let mut lines = Vec::new();
    for attempt in &run.attempts {
        lines.push((attempt.started_at, attempt_line(attempt, paint)));
    }
    for response in &run.responses {
        lines.push((response.at, answer(response, whose, zone, now)));
    }
    for other in run.escalation.iter().flat_map(|escalation| &escalation.to) {
        let state = neutral(other.state.as_str());
        let line = match other.due_at > now {
            true => paint.with(Style::Dim, &format!("to ask {}", neutral(&other.user))),
            false => format!("asked {}: {}", neutral(&other.user), paint.with(of_status(&state), &state)),
        };
        lines.push((other.due_at, line));
    }
    if let Some(at) = run.escalation.as_ref().and_then(|escalation| escalation.at) {
        lines.push((at, paint.with(Style::Dim, "others are asked, unless there is an answer")));
    }
    for entry in &run.audit {
        lines.extend(told(entry, zone, now).map(|line| (entry.at, line)));
    }
    if let Some(at) = run.retry_at {
        // An error that an attempt shows is there already.
        let said = run.attempts.iter().any(|attempt| attempt.error == run.error);
        let why = after_colon(run.error.as_deref().filter(|_| !said));
        lines.push((at, paint.with(Style::Dim, &format!("to be tried again{why}"))));
    }
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(at, line)| format!("{}  {line}", when::local(at, zone, now))).collect()
}

/// An answer, such as `snooze until Mon 2 Mar 08:05 by Ana on telegram: “5 more minutes”`.
fn answer(response: &Response, whose: &str, zone: &Zone, now: Timestamp) -> String {
    // A person is named who wrote in a chat, or who was asked in the person's place, through whatever key. Else it is who made the request.
    let is_named = |user: &&String| response.channel.is_some() || user.as_str() != whose;
    let who = response.user_id.as_ref().filter(is_named).or(response.name.as_ref()).unwrap_or(&response.by);
    let until = response.until.map(|until| format!(" until {}", when::local(until, zone, now))).unwrap_or_default();
    let place = response.channel.as_ref().map(|channel| format!(" on {channel}")).unwrap_or_default();
    let words = response.response_text.as_ref().map(|text| format!(": “{text}”")).unwrap_or_default();
    neutral(&format!("{}{until} by {who}{place}{words}", response.response))
}

fn attempt_line(attempt: &Attempt, paint: Paint) -> String {
    let status = attempt.status.as_str();
    let status = paint.with(of_status(status), &neutral(status));
    let id = attempt.message_id.as_deref().map(|id| format!(", as {}", neutral(id))).unwrap_or_default();
    let together = if attempt.digest { " in one message with others" } else { "" };
    let error = after_colon(attempt.error.as_deref());
    format!("{status} to {}{id}{together}{error}", address(&attempt.channel, &attempt.address))
}

fn after_colon(text: Option<&str>) -> String {
    text.map(|text| format!(": {}", neutral(text))).unwrap_or_default()
}

fn address(channel: &str, address: &str) -> String {
    match address {
        "" => neutral(channel),
        address => format!("{}:{}", neutral(channel), neutral(address)),
    }
}
