//! Asking to be reminded.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_client::Failure;
use punctual_core::phrase::{self, Lang, Meaning};
use punctual_core::reminder::Address;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;

use super::schedule::{NO_TIME, When};
use super::style::{Style, neutral};
use super::{Context, Usage, User, asked_zone, find, print, print_json, texts, when};
use crate::wire::{MisfireInput, Reminder, ReminderInput, Span, Step, StepInput, Understood, Word};

const EXAMPLES: &str = "\
Examples:
  punctual add \"take my medicine in 5 minutes\" --priority high --ack \"Did you take it?\"
  punctual add \"call mom tomorrow at 8\"
  punctual add \"radnim danom u 8, vikendom u 10 popij lijek\" --lang hr
  punctual add \"take my medicine at 8\" --ack --escalate 5m:bob --escalate 15m:group:on-call
  punctual add \"call the bank\" --at 2026-03-02T09:30
  punctual add \"stand up\" --weekly weekdays --time 09:55
  punctual add \"rotate the logs\" --cron \"0 3 * * 0\" --to webhook:https://example.org/hook";

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
    /// The language of the text: en, de, hr, sr, sr-Cyrl, bs, es or fr [default: the user's, else worked out]
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
    /// How long to wait for an answer before asking again; with --ack
    #[arg(long, value_name = "SPAN")]
    ack_timeout: Option<String>,
    /// Who is asked when nobody has answered for so long: AFTER:USER or AFTER:group:NAME, such as 5m:bob; may be given several times.
    /// Empty: nobody
    #[arg(long, value_name = "AFTER:WHO")]
    escalate: Vec<String>,
    /// A word by which it is found and silenced together with others; may be given several times. Empty: none
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
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
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub(super) tz: Option<String>,
}

impl Details {
    /// What it says about a reminder.
    pub(super) fn input(&self) -> Result<ReminderInput, Usage> {
        let to: Result<Vec<Address>, _> = self.to.iter().map(|to| to.parse::<Address>()).collect();
        let to = to.map_err(|invalid| Usage(format!("--to: {}", invalid.problem)))?;
        let prompt = self.ack.clone().filter(|prompt| !prompt.is_empty());
        Ok(ReminderInput {
            to: (!to.is_empty()).then(|| to.into_iter().map(Into::into).collect()),
            only: self.only,
            priority: self.priority.as_deref().map(Word::new),
            ack_timeout: self.ack_timeout.clone().map(Span),
            name: self.name.clone().map(Some),
            misfire: self.misfire.as_deref().map(|policy| MisfireInput::Policy(Word::new(policy))),
            require_ack: self.ack.as_ref().map(|_| true),
            ack_prompt: prompt.map(Some),
            escalate: steps(&self.escalate)?,
            max_retries: self.retries,
            tags: (!self.tags.is_empty()).then(|| self.tags.iter().filter(|tag| !tag.is_empty()).cloned().collect()),
            ..ReminderInput::default()
        })
    }

    /// Refuses to say how long an answer is waited for where none is asked for: it would count for nothing.
    pub(super) fn check_answer(&self, is_asked_for: bool) -> Result<(), Usage> {
        let escalates = self.escalate.iter().any(|step| !step.is_empty());
        if self.ack_timeout.is_none() || self.ack.is_some() || escalates || is_asked_for {
            return Ok(());
        }
        Err(Usage("--ack-timeout says how long an answer is waited for, and none is asked for; add --ack".into()))
    }
}

/// Who is asked next, as options say it; an empty one alone means nobody, and none that nothing is said.
pub(super) fn steps(given: &[String]) -> Result<Option<Vec<StepInput>>, Usage> {
    let read = |text: &String| match text.split_once(':') {
        Some((after, to)) => Ok(StepInput { after: Span(after.to_owned()), to: to.to_owned() }),
        None => Err(Usage(format!("--escalate: `{text}` does not say who; write 5m:bob or 15m:group:on-call"))),
    };
    let steps = given.iter().filter(|text| !text.is_empty()).map(read).collect::<Result<Vec<_>, _>>()?;
    Ok((!given.is_empty()).then_some(steps))
}

/// `5m bob, 15m group:on-call`; none without steps.
pub(super) fn steps_words(steps: &[Step]) -> Option<String> {
    let words: Vec<String> = steps.iter().map(|step| format!("{} {}", step.after.0, step.to)).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let text = args.text.join(" ");
    let lang = texts::lang(args.lang.as_deref())?;
    args.details.check_answer(false)?;
    let mut input = args.details.input()?;
    // Only a zone that was asked for: without one the server knows the user's, and its own.
    input.timezone = asked_zone(args.details.tz.as_deref())?.map(|zone| zone.name().to_owned());
    input.user = args.user.named();
    input.created_via = Some("cli".into());
    match args.when.schedule(args.count)? {
        Some(schedule) => (input.schedule, input.message) = (Some(schedule), Some(text.clone())),
        None => (input.text, input.lang) = (Some(text.clone()), lang.map(|lang| lang.tag().to_owned())),
    }
    let reminder = match context.client.create(&input).await {
        Ok(reminder) => reminder,
        Err(failure) => {
            let usage = input.text.as_deref().and_then(|text| misunderstood(&failure, text, lang));
            return Err(usage.map_or_else(|| failure.into(), anyhow::Error::from));
        }
    };
    warn(&reminder);
    if context.json {
        return print_json(&reminder);
    }
    print(&confirmation("added", &reminder, context))
}

/// The problem with the sentence, if that is why there is no reminder.
fn misunderstood(failure: &Failure, text: &str, lang: Option<Lang>) -> Option<Usage> {
    let problem = match failure {
        Failure::Refused(refused) if refused.is_of_many() => return None,
        Failure::Refused(refused) => {
            refused.problem.as_ref().filter(|problem| problem.field.as_deref() == Some("text"))?
        }
        // No server is needed to say that there is no time in it.
        Failure::Unreachable(_) => return hopeless(text, lang, SystemClock::read()).map(|reason| no_time(&reason)),
        _ => return None,
    };
    let detail = problem.errors.first().map_or(problem.detail.as_str(), |error| &error.detail);
    match &*problem.code {
        "not_understood" => Some(no_time(detail)),
        _ => Some(Usage(detail.to_owned())),
    }
}

/// Why `text` has no time in it, if that is so in every language.
fn hopeless(text: &str, lang: Option<Lang>, now: Timestamp) -> Option<String> {
    let zone = Zone::utc();
    let reason = |lang| {
        let parsed = phrase::parse(text, lang, &zone, now);
        match &parsed.meaning {
            Meaning::None { reason } => Some(parsed.with_suggestion(reason, &zone)),
            _ => None,
        }
    };
    let first = reason(lang)?;
    let others = if lang.is_some() { &[][..] } else { &Lang::ALL[..] };
    others.iter().all(|lang| reason(Some(*lang)).is_some()).then_some(first)
}

/// Why there is no time in a text, and how else it can be said.
fn no_time(reason: &str) -> Usage {
    let options = NO_TIME.split(';').next().unwrap_or_default().trim_start_matches("say when: ");
    Usage(format!("{reason}; or say it by an option: {options}"))
}

/// Says what is wrong with a reminder that was made or changed all the same.
pub(super) fn warn(reminder: &Reminder<'_>) {
    for warning in &reminder.warnings {
        eprintln!("warning: {}: {}", neutral(&warning.field), neutral(&warning.detail));
    }
}

/// What was done to which reminder, and when it is due next.
pub(super) fn confirmation(done: &str, reminder: &Reminder<'_>, context: &Context) -> String {
    let paint = context.paint;
    let now = SystemClock::read();
    let id = paint.with(Style::Cyan, &find::short_id(reminder));
    let mark = paint.with(Style::Green, "✓");
    let mut text = format!("{mark} {done} {id}  {}\n", paint.with(Style::Bold, &neutral(&reminder.message)));
    let rule = rule(reminder).map(|rule| paint.with(Style::Dim, &format!("   {}", neutral(&rule)))).unwrap_or_default();
    match reminder.next_run_at {
        Some(at) => text.push_str(&format!("  {}{rule}\n", when::both(at, &when::zone_of(reminder), now))),
        None if reminder.status.as_str() == done => {}
        None => text.push_str(&format!("  {}\n", neutral(reminder.status.as_str()))),
    }
    for other in reminder.understood.iter().flat_map(|understood| understood.alternatives()) {
        text.push_str(&paint.with(Style::Dim, &format!("  or did you mean: {}", neutral(&other.summary))));
        text.push('\n');
    }
    text
}

/// How its time was taken, where the next run does not say it.
fn rule<'a>(reminder: &'a Reminder<'_>) -> Option<Cow<'a, str>> {
    match reminder.understood.as_deref() {
        Some(Understood::Recurring { summary, .. }) => Some(summary.into()),
        Some(Understood::Interval { due: None, summary, .. }) => Some(format!("{summary}; due when it begins").into()),
        // A time in another language is said back in it, and a slip of the keyboard with the word that was taken for it.
        Some(Understood::Instant { summary, .. }) if !reminder.summary.ends_with(summary) => Some(summary.into()),
        _ => Some(reminder.summary.as_str().into()).filter(|_| !reminder.schedule.is_once()),
    }
}
