//! The commands that are one word: cancel, pause, snooze and their kin.

use jiff::Timestamp;
use punctual_engine::SystemClock;
use serde_json::json;

use super::add::confirmation;
use super::find::find;
use super::{Context, Said, User, complaint, print, print_json, when};
use crate::cli::style::neutral;
use crate::wire::{Answer, Reminder, UserQuery};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Ids, ends of ids as lists show them, names, or messages
    #[arg(required = true, value_name = "REMINDER")]
    reminders: Vec<String>,
    #[command(flatten)]
    user: User,
}

/// An answer: what it answers, and in which words.
#[derive(Debug, clap::Args)]
pub(super) struct AnswerArgs {
    #[command(flatten)]
    which: Args,
    #[command(flatten)]
    said: Answered,
}

#[derive(Debug, clap::Args)]
struct Answered {
    /// The run that is meant, as `punctual show` numbers them [default: the first that awaits an answer]
    #[arg(long, value_name = "N")]
    run: Option<u32>,
    /// The answer in the person's own words, to be kept with it
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
}

impl Answered {
    fn answer(&self) -> Answer {
        Answer { run: self.run, text: self.text.clone(), ..Answer::default() }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct SnoozeArgs {
    /// Its id, the end of it, or its name
    #[arg(value_name = "REMINDER")]
    reminder: String,
    /// How long, such as 10m or "an hour", or until when, such as 14:30 or "until friday at 8"
    #[arg(value_name = "TIME", default_value = "10m")]
    until: Vec<String>,
    #[command(flatten)]
    said: Answered,
    #[command(flatten)]
    user: User,
}

/// The command.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verb {
    Cancel,
    Pause,
    Resume,
    Skip,
    Ack,
    Dismiss,
    Fire,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Skip => "skip",
            Self::Ack => "ack",
            Self::Dismiss => "dismiss",
            Self::Fire => "fire",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Cancel => "cancelled",
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Skip => "skipped the next run of",
            Self::Ack => "acknowledged",
            Self::Dismiss => "dismissed",
            Self::Fire => "sending",
        }
    }
}

/// Answers each of the reminders.
pub(super) async fn answer(args: &AnswerArgs, verb: Verb, context: &Context) -> anyhow::Result<()> {
    each(&args.which, verb, Some(&args.said.answer()), context).await
}

/// Does it to each of the reminders.
pub(super) async fn run(args: &Args, verb: Verb, context: &Context) -> anyhow::Result<()> {
    each(args, verb, None, context).await
}

/// One that fails does not stop the others.
async fn each(args: &Args, verb: Verb, answer: Option<&Answer>, context: &Context) -> anyhow::Result<()> {
    let user = args.user.named();
    let mut done = Vec::new();
    let mut failed = false;
    for text in &args.reminders {
        match one(text, verb, answer, user.as_deref(), context).await {
            Ok(reminder) if context.json => done.push(reminder),
            Ok(reminder) => print(&confirmation(verb.done(), &reminder, context))?,
            Err(error) if args.reminders.len() == 1 => return Err(error),
            Err(error) => {
                failed = true;
                eprintln!("error: {}: {}", neutral(text), complaint(&error));
            }
        }
    }
    if context.json {
        // One asked for, one answered; several asked for, a list.
        match args.reminders.len() {
            1 => print_json(&done.pop())?,
            _ => print_json(&json!({ "reminders": done }))?,
        }
    }
    if failed { Err(Said.into()) } else { Ok(()) }
}

async fn one(
    text: &str,
    verb: Verb,
    answer: Option<&Answer>,
    user: Option<&str>,
    context: &Context,
) -> anyhow::Result<Reminder<'static>> {
    let client = &context.client;
    let (id, user) = (find(client, text, user).await?.id, UserQuery::of(user));
    Ok(match (verb, answer) {
        (Verb::Cancel, _) => client.cancel(&id, &user).await?,
        (verb, Some(answer)) => client.answer(&id, verb.word(), &user, answer).await?,
        (verb, None) => client.command(&id, verb.word(), &user).await?,
    })
}

pub(super) async fn snooze(args: &SnoozeArgs, context: &Context) -> anyhow::Result<()> {
    let user = args.user.named();
    let reminder = find(&context.client, &args.reminder, user.as_deref()).await?;
    let answer = Answer { until: Some(args.until.join(" ")), ..args.said.answer() };
    let reminder = context.client.answer(&reminder.id, "snooze", &UserQuery::of(user.as_deref()), &answer).await?;
    if context.json {
        return print_json(&reminder);
    }
    print(&format!("{}{}", confirmation("snoozed", &reminder, context), put_off(&reminder, SystemClock::read())))
}

/// Until when a run of a series is put off; nothing where that is the next run, whose time is said already.
fn put_off(reminder: &Reminder<'_>, now: Timestamp) -> String {
    match reminder.snoozed_until.filter(|until| Some(*until) != reminder.next_run_at) {
        Some(until) => format!("  snoozed until {}\n", when::both(until, &when::zone_of(reminder), now)),
        None => String::new(),
    }
}
