//! Changing a reminder.

use reqwest::Method;
use serde_json::Value;

use super::add::{Details, confirmation, warn};
use super::find::{self, find};
use super::schedule::When;
use super::{Context, Usage, User, asked_zone, print, print_json};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its id, the end of it, or its name
    #[arg(value_name = "REMINDER")]
    reminder: String,
    /// What to say instead
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    when: When,
    /// How many times at most
    #[arg(long, value_name = "N", requires = "when")]
    count: Option<u32>,
    #[command(flatten)]
    details: Details,
    /// Ask for no answer
    #[arg(long, conflicts_with = "ack")]
    no_ack: bool,
    #[command(flatten)]
    user: User,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let mut body = args.details.fields()?;
    if let Some(message) = &args.message {
        body.insert("message".into(), message.clone().into());
    }
    if let Some(schedule) = args.when.schedule(args.count)? {
        body.insert("schedule".into(), schedule);
    }
    if args.no_ack {
        body.insert("require_ack".into(), false.into());
    }
    // Here only a zone that was asked for: a changed message must not move a reminder to where its
    // writer sits.
    if let Some(zone) = args.details.tz.as_deref().map(|name| asked_zone(Some(name))).transpose()?.flatten() {
        body.insert("timezone".into(), zone.name().into());
    }
    if body.is_empty() {
        return Err(
            Usage("nothing to change; say what, such as --message TEXT, --at TIME or --priority high".into()).into()
        );
    }
    let user = args.user.named();
    let before = find(&context.client, &args.reminder, user.as_deref()).await?;
    let path = format!("/v1/reminders/{}", find::id(&before));
    let reminder = context.client.change(Method::PATCH, &path, user.as_deref(), Some(Value::Object(body))).await?;
    warn(&reminder);
    if context.json {
        return print_json(&reminder);
    }
    print(&confirmation("changed", &reminder, context))
}
