//! Asking to be reminded.

use jiff::{SignedDuration, Timestamp};
use punctual_core::phrase::{self, Lang, Meaning};
use punctual_core::reminder::Address;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::schedule::{NO_TIME, When};
use super::style::{Style, neutral};
use super::{Context, Usage, User, asked_zone, find, print, print_json, texts, when};

const EXAMPLES: &str = "\
Examples:
  punctual add \"take my medicine in 5 minutes\" --priority high --ack \"Did you take it?\"
  punctual add \"call mom tomorrow at 8\"
  punctual add \"radnim danom u 8, vikendom u 10 popij lijek\" --lang hr
  punctual add \"call the bank\" --at 2026-03-02T09:30
  punctual add \"stand up\" --weekly weekdays --time 09:55
  punctual add \"rotate the logs\" --cron \"0 3 * * 0\" --to webhook:https://example.org/hook";

/// How far the clocks of the server and of this machine may be apart, and how long a question may take.
const SLACK: SignedDuration = SignedDuration::from_secs(60);

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// What to be reminded of, and when: "call mom tomorrow at 8". With an option that says when, the text is taken
    /// whole
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    #[command(flatten)]
    when: When,
    /// How many times at most
    #[arg(long, value_name = "N", requires = "when")]
    count: Option<u32>,
    /// The language of the text: en, de, hr, sr, sr-Cyrl or bs [default: the user's, else worked out]
    #[arg(long, value_name = "LANG", conflicts_with = "when")]
    lang: Option<String>,
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
    /// Try nothing but --to: the user's other addresses do not come after it
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    only: Option<bool>,
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
    /// The zone its local times are meant in [env: PUNCTUAL_TZ] [default: the user's, else the server's]
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
        if let Some(only) = self.only {
            fields.insert("only".into(), only.into());
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
    let lang = texts::lang(args.lang.as_deref())?;
    let mut body = args.details.fields()?;
    let user = args.user.named();
    // Only a zone that was asked for: without one the server knows the user's, and its own.
    if let Some(zone) = asked_zone(args.details.tz.as_deref())? {
        body.insert("timezone".into(), zone.name().into());
    }
    if let Some(user) = user {
        body.insert("user".into(), user.into());
    }
    body.insert("created_via".into(), "cli".into());
    let note = match args.when.schedule(args.count)? {
        Some(schedule) => {
            body.insert("schedule".into(), schedule);
            body.insert("message".into(), text.into());
            None
        }
        None => {
            let said = understood(&text, lang, &body, context).await?;
            body.insert("schedule".into(), said.schedule);
            body.insert("message".into(), said.message.into());
            body.insert("original_text".into(), text.into());
            said.note
        }
    };
    let reminder = context.client.send(Method::POST, "/v1/reminders", Some(Value::Object(body))).await?;
    warn(&reminder);
    if context.json {
        return print_json(&reminder);
    }
    print(&confirmation_with("added", &reminder, note.as_deref(), context))
}

/// What a text asks for.
#[derive(Debug, PartialEq)]
struct Said {
    schedule: Value,
    message: String,
    /// How the time in it was taken, where the next run does not say it.
    note: Option<String>,
}

/// Asks the server, who knows the user's language and zone, what `text` says.
async fn understood(
    text: &str,
    lang: Option<Lang>,
    body: &Map<String, Value>,
    context: &Context,
) -> anyhow::Result<Said> {
    if let Some(reason) = hopeless(text, lang, SystemClock::read()) {
        return Err(no_time(&reason).into());
    }
    let mut question = Map::from_iter([("text".to_owned(), text.into())]);
    question.extend(lang.map(|lang| ("lang".to_owned(), lang.tag().into())));
    for (field, name) in [("timezone", "tz"), ("user", "user")] {
        question.extend(body.get(field).map(|value| (name.to_owned(), value.clone())));
    }
    let answer = context.client.send(Method::POST, "/v1/parse", Some(Value::Object(question))).await?;
    Ok(said(&answer, SystemClock::read())?)
}

/// Why `text` has no time in it, if that is so in every language: the server need not be asked then.
fn hopeless(text: &str, lang: Option<Lang>, now: Timestamp) -> Option<String> {
    let zone = Zone::utc();
    let reason = |lang| match phrase::parse(text, lang, &zone, now).meaning {
        Meaning::None { reason } => Some(reason),
        _ => None,
    };
    let first = reason(lang)?;
    let others = if lang.is_some() { &[][..] } else { &Lang::ALL[..] };
    others.iter().all(|lang| reason(Some(*lang)).is_some()).then_some(first)
}

/// What is asked for by a text that the server has understood like this.
fn said(answer: &Value, now: Timestamp) -> Result<Said, Usage> {
    let text = |field: &str| answer[field].as_str().unwrap_or_default().to_owned();
    let summary = text("summary");
    let once = |field: &str| json!({ "type": "once", "at": answer[field] });
    let is_before = |field: &str, bound: Timestamp| when::instant(answer, field).is_some_and(|at| at < bound);
    let (schedule, note) = match answer["kind"].as_str().unwrap_or_default() {
        "recurring" => (answer["schedule"].clone(), Some(summary.clone())),
        "instant" if is_before("at", now - SLACK) => {
            return Err(Usage(format!("that is in the past: {summary}; say a time to come")));
        }
        "instant" | "duration" => (once("at"), None),
        // `by friday` begins now; to be reminded now is not what it asks for.
        "interval" if is_before("from", now + SLACK) => {
            return Err(Usage(format!("that has begun already: {summary}; say at what time to be reminded")));
        }
        "interval" => (once("from"), Some(format!("{summary}; due when it begins"))),
        _ => return Err(no_time(&text("reason"))),
    };
    let message = text("rest");
    if message.is_empty() {
        return Err(Usage(format!("say also what to be reminded of; the text says only when: {summary}")));
    }
    Ok(Said { schedule, message, note })
}

/// Why there is no time in a text, and how else it can be said.
fn no_time(reason: &str) -> Usage {
    let options = NO_TIME.split(';').next().unwrap_or_default().trim_start_matches("say when: ");
    Usage(format!("{reason}; or say it by an option: {options}"))
}

/// Says what is wrong with a reminder that was made or changed all the same.
pub(super) fn warn(reminder: &Value) {
    for warning in reminder["warnings"].as_array().into_iter().flatten() {
        let text = |field: &str| neutral(warning[field].as_str().unwrap_or_default());
        eprintln!("warning: {}: {}", text("field"), text("detail"));
    }
}

/// What was done to which reminder, and when it is due next.
pub(super) fn confirmation(done: &str, reminder: &Value, context: &Context) -> String {
    confirmation_with(done, reminder, None, context)
}

/// The same, with a note on how its time was taken.
fn confirmation_with(done: &str, reminder: &Value, note: Option<&str>, context: &Context) -> String {
    let paint = context.paint;
    let now = SystemClock::read();
    let id = paint.with(Style::Cyan, &find::short_id(reminder));
    let message = neutral(reminder["message"].as_str().unwrap_or_default());
    let mark = paint.with(Style::Green, "✓");
    let mut text = format!("{mark} {done} {id}  {}\n", paint.with(Style::Bold, &message));
    let is_once = reminder["schedule"]["type"] == "once";
    let rule = note.or_else(|| reminder["summary"].as_str().filter(|_| !is_once));
    let rule = rule.map(|rule| paint.with(Style::Dim, &format!("   {}", neutral(rule)))).unwrap_or_default();
    let zone = when::zone_of(reminder).unwrap_or_else(Zone::utc);
    match when::instant(reminder, "next_run_at") {
        Some(at) => text.push_str(&format!("  {}{rule}\n", when::both(at, &zone, now))),
        None => text.push_str(&format!("  {}\n", reminder["status"].as_str().unwrap_or_default())),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::understood::Understood;

    /// What `text` asks for at ten on a Sunday in Berlin.
    fn asked(text: &str) -> Result<Said, Usage> {
        let zone = Zone::named("Europe/Berlin").unwrap();
        let now = "2026-03-01T10:00:00+01:00".parse().unwrap();
        let answer = Understood::of(phrase::parse(text, Some(Lang::En), &zone, now), &zone, now);
        said(&serde_json::to_value(answer).unwrap(), now)
    }

    #[test]
    fn a_text_says_what_and_when() {
        let once = |at: &str| json!({ "type": "once", "at": at });
        for (text, message, schedule) in [
            ("take my medicine in 5 minutes", "take my medicine", once("2026-03-01T10:05:00+01:00")),
            ("in 5 minutes take my medicine", "take my medicine", once("2026-03-01T10:05:00+01:00")),
            ("In 1h 30m to call mum", "call mum", once("2026-03-01T11:30:00+01:00")),
            ("put the cake in the oven in 10m", "put the cake in the oven", once("2026-03-01T10:10:00+01:00")),
            ("call mom tomorrow at 8", "call mom", once("2026-03-02T08:00:00+01:00")),
            ("20 minutes pizza", "pizza", once("2026-03-01T10:20:00+01:00")),
            (
                "every weekday at 7:30 stand up",
                "stand up",
                json!({ "type": "weekly", "time": "07:30", "days": ["weekdays"] }),
            ),
        ] {
            let said = asked(text).unwrap();
            assert_eq!((said.message.as_str(), said.schedule), (message, schedule), "{text}");
        }
        let note = |text: &str| asked(text).unwrap().note;
        assert_eq!(note("call mom tomorrow at 8"), None, "the next run says it");
        assert_eq!(note("stand up every day at 8").unwrap(), "every day at 08:00, Europe/Berlin");
    }

    #[test]
    fn what_cannot_be_asked_for_is_refused_with_the_reason() {
        for (text, words) in [
            ("put the cake in the oven", "or say it by an option: --in 5m"),
            ("in 5 minutes", "what to be reminded of"),
            ("call mom yesterday at 5", "in the past: Sat 28 Feb 2026"),
            ("finish it by friday", "has begun already: from Sun 1 Mar 2026"),
            ("", "no time was found"),
        ] {
            let Usage(error) = asked(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
