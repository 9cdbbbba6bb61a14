//! Asking to be reminded.

use punctual_core::reminder::Address;
use punctual_core::span;
use punctual_engine::SystemClock;
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::schedule::{NO_TIME, When, once};
use super::style::{Style, neutral};
use super::{Context, Usage, User, find, own_zone, print, print_json, when};
use crate::config::process_env;

const EXAMPLES: &str = "\
Examples:
  punctual add \"take my medicine in 5 minutes\" --priority high --ack \"Did you take it?\"
  punctual add \"call the bank\" --at 2026-03-02T09:30
  punctual add \"stand up\" --weekly weekdays --time 09:55
  punctual add \"rotate the logs\" --cron \"0 3 * * 0\" --to webhook:https://example.org/hook";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// What to be reminded of. It may begin or end with "in 5 minutes"
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    #[command(flatten)]
    when: When,
    /// How many times at most
    #[arg(long, value_name = "N", requires = "when")]
    count: Option<u32>,
    #[command(flatten)]
    details: Details,
    #[command(flatten)]
    user: User,
}

/// What can be said about a reminder besides its words and its time; also by `update`.
#[derive(Debug, clap::Args)]
pub(super) struct Details {
    /// Where to send it, in order of preference: CHANNEL or CHANNEL:ADDRESS
    #[arg(long, value_name = "CHANNEL:ADDRESS")]
    to: Vec<String>,
    /// low, normal, high or critical
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<String>,
    /// Ask for an answer, with this question
    #[arg(long, value_name = "QUESTION", num_args = 0..=1, default_missing_value = "")]
    ack: Option<String>,
    /// How long to wait for an answer before asking again
    #[arg(long, value_name = "SPAN")]
    ack_timeout: Option<String>,
    /// A name to refer to it by
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How many times to try again when every address has failed
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// What to do with missed runs: latest, all or skip
    #[arg(long, value_name = "POLICY")]
    misfire: Option<String>,
    /// The zone its local times are meant in [env: PUNCTUAL_TZ]
    #[arg(long, value_name = "ZONE")]
    pub(super) tz: Option<String>,
}

impl Details {
    /// The fields as the API takes them.
    pub(super) fn fields(&self) -> Result<Map<String, Value>, Usage> {
        let mut fields = Map::new();
        if !self.to.is_empty() {
            let addresses: Result<Vec<Address>, _> = self.to.iter().map(|to| to.parse::<Address>()).collect();
            let addresses = addresses.map_err(|invalid| Usage(format!("--to: {}", invalid.problem)))?;
            fields.insert("to".into(), json!(addresses));
        }
        let texts = [
            ("priority", &self.priority),
            ("ack_timeout", &self.ack_timeout),
            ("name", &self.name),
            ("misfire", &self.misfire),
        ];
        for (field, text) in texts {
            if let Some(text) = text {
                fields.insert(field.into(), text.clone().into());
            }
        }
        if let Some(prompt) = &self.ack {
            fields.insert("require_ack".into(), true.into());
            if !prompt.is_empty() {
                fields.insert("ack_prompt".into(), prompt.clone().into());
            }
        }
        if let Some(retries) = self.retries {
            fields.insert("max_retries".into(), retries.into());
        }
        Ok(fields)
    }
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let text = args.text.join(" ");
    let mut body = args.details.fields()?;
    match args.when.schedule(args.count)? {
        Some(schedule) => {
            body.insert("schedule".into(), schedule);
            body.insert("message".into(), text.into());
        }
        None => {
            let (message, span) = span_in(&text).ok_or_else(|| Usage(NO_TIME.into()))?;
            body.insert("schedule".into(), once(&span));
            body.insert("message".into(), message.into());
            body.insert("original_text".into(), text.into());
        }
    }
    let user = args.user.named();
    if let Some(zone) = zone(args.details.tz.as_deref(), user.is_some())? {
        body.insert("timezone".into(), zone.into());
    }
    if let Some(user) = user {
        body.insert("user".into(), user.into());
    }
    body.insert("created_via".into(), "cli".into());
    let reminder = context.client.send(Method::POST, "/v1/reminders", Some(Value::Object(body))).await?;
    if context.json {
        return print_json(&reminder);
    }
    print(&confirmation("added", &reminder, context))
}

/// The zone to send: the one asked for. That of this machine counts only for whoever sits at it;
/// for a user that was named, the server knows better.
fn zone(asked: Option<&str>, for_another: bool) -> Result<Option<String>, Usage> {
    if asked.is_none() && process_env("PUNCTUAL_TZ").is_none() && for_another {
        return Ok(None);
    }
    Ok(own_zone(asked)?.map(|zone| zone.name().to_owned()))
}

/// What was done to which reminder, and when it is due next.
pub(super) fn confirmation(done: &str, reminder: &Value, context: &Context) -> String {
    let paint = context.paint;
    let now = SystemClock::read();
    let id = paint.with(Style::Cyan, &find::short_id(reminder));
    let message = neutral(reminder["message"].as_str().unwrap_or_default());
    let mark = paint.with(Style::Green, "✓");
    let mut text = format!("{mark} {done} {id}  {}\n", paint.with(Style::Bold, &message));
    let summary = neutral(reminder["summary"].as_str().unwrap_or_default());
    match when::instant(reminder, "next_run_at") {
        Some(at) => {
            let once = reminder["schedule"]["type"] == "once";
            let rule = if once { String::new() } else { paint.with(Style::Dim, &format!("   {summary}")) };
            text.push_str(&format!("  {}{rule}\n", when::both(at, &context.zone, now)));
        }
        None => text.push_str(&format!("  {}\n", reminder["status"].as_str().unwrap_or_default())),
    }
    text
}

/// The message and the span of a text that begins or ends with `in <span>`.
fn span_in(text: &str) -> Option<(String, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_in = |word: &str| word.eq_ignore_ascii_case("in");
    let read = |words: &[&str]| Some(words.join(" ")).filter(|span| span::parse(span).is_ok());
    // At the end: the last "in" that is followed by nothing but a span.
    for start in (1..words.len()).rev().filter(|start| is_in(words[*start])) {
        if let Some(span) = read(&words[start + 1..]) {
            return Some((words[..start].join(" "), span));
        }
    }
    // At the beginning: the longest span after "in", and the rest without its "to".
    if is_in(words.first()?) {
        for end in (2..words.len()).rev() {
            if let Some(span) = read(&words[1..end]) {
                let rest = &words[end..];
                let rest = if rest.len() > 1 && rest[0].eq_ignore_ascii_case("to") { &rest[1..] } else { rest };
                return Some((rest.join(" "), span));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_begin_or_end_with_a_span() {
        for (text, expect) in [
            ("take my medicine in 5 minutes", Some(("take my medicine", "5 minutes"))),
            ("in 5 minutes take my medicine", Some(("take my medicine", "5 minutes"))),
            ("In 1h 30m to call mum", Some(("call mum", "1h 30m"))),
            ("put the cake in the oven in 10m", Some(("put the cake in the oven", "10m"))),
            ("put the cake in the oven", None),
            ("in 5 minutes", None),
            ("in the morning", None),
            ("in", None),
            ("", None),
        ] {
            let expect = expect.map(|(message, span)| (message.to_owned(), span.to_owned()));
            assert_eq!(span_in(text), expect, "{text}");
        }
    }
}
