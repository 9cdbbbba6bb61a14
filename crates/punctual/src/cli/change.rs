//! The commands that are one word: cancel, pause, snooze and their kin.

use reqwest::Method;
use serde_json::{Value, json};

use super::add::confirmation;
use super::find::{self, find};
use super::{Context, Said, User, complaint, print, print_json};
use crate::cli::style::neutral;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Ids, ends of ids as lists show them, names, or messages
    #[arg(required = true, value_name = "REMINDER")]
    reminders: Vec<String>,
    #[command(flatten)]
    user: User,
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
    user: User,
}

/// What is done.
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

/// Does it to each of the reminders; one that fails does not stop the others.
pub(super) async fn run(args: &Args, verb: Verb, context: &Context) -> anyhow::Result<()> {
    let user = args.user.named();
    let mut done = Vec::new();
    let mut failed = false;
    for text in &args.reminders {
        match one(text, verb, user.as_deref(), context).await {
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
            1 => print_json(&done.pop().unwrap_or_default())?,
            _ => print_json(&json!({ "reminders": done }))?,
        }
    }
    if failed { Err(Said.into()) } else { Ok(()) }
}

async fn one(text: &str, verb: Verb, user: Option<&str>, context: &Context) -> anyhow::Result<Value> {
    let reminder = find(&context.client, text, user).await?;
    let path = format!("/v1/reminders/{}", find::id(&reminder));
    match verb {
        Verb::Cancel => context.client.send(Method::DELETE, &path, None).await,
        verb => context.client.send(Method::POST, &format!("{path}/{}", verb.word()), None).await,
    }
}

pub(super) async fn snooze(args: &SnoozeArgs, context: &Context) -> anyhow::Result<()> {
    let reminder = find(&context.client, &args.reminder, args.user.named().as_deref()).await?;
    let path = format!("/v1/reminders/{}/snooze", find::id(&reminder));
    let body = json!({ "until": args.until.join(" ") });
    let reminder = context.client.send(Method::POST, &path, Some(body)).await?;
    if context.json {
        return print_json(&reminder);
    }
    print(&confirmation("snoozed", &reminder, context))
}
